/* The arguments of both passes of a TreeNet, whatever the width of vectors.
 *
 * Nodes have a row each: the variables, and then the inner nodes, in groups of one operator. All
 * arguments of a group are in rows before it. A negation has one argument.
 */
#ifndef POSSIBLEWORLDS_TREENET_H
#define POSSIBLEWORLDS_TREENET_H

#include "groups.h"

typedef struct {
    Groups nodes;
    int32_t d;                       /* the size of a vector, a multiple of 16 */
    const float *w13, *b13, *w2;     /* [7, d, 2 d], [4, 2 d], [4, d, d] */
    float *x;                        /* [inner, 2 d]: the arguments */
    float *hidden;                   /* [inner, d]: the sigmoids */
    float *scales;                   /* [inner]: 1 / |h| */
    float *vectors;                  /* [variables + inner, d]; those of variables are given */
    float *grad_vectors;               /* the same: added to; NULL: forward pass */
    float *grad_w13, *grad_b13, *grad_w2;  /* added to */
    float *scratch;                  /* as much as `treenet_scratch` says */
} TreeNet;

/* Numbers of scratch memory: packed parameters, and two matrices of a group. */
static inline size_t treenet_scratch(size_t d, size_t largest) {
    return 18 * d * d + 8 * d + 4 * d * largest;
}

#endif
