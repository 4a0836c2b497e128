/* The arguments of both passes of a TreeLSTM, whatever the width of vectors.
 *
 * Nodes have a row each: the variables, and then the inner nodes, in groups of one operator. All
 * arguments of a group are in rows before it. Gates are in the order u, i, o, f, f; a negation has
 * one argument and one forget gate.
 */
#ifndef POSSIBLEWORLDS_TREELSTM_H
#define POSSIBLEWORLDS_TREELSTM_H

#include "groups.h"

enum { N_GATES = 5 };

typedef struct {
    Groups nodes;
    int32_t d;                /* the number of cells, a multiple of 16 */
    const float *w_not;       /* [d, 4 d] */
    const float *w_binary;    /* [3, 2 d, 5 d] */
    const float *biases;      /* [4, 5 d] */
    float *x;                 /* [inner, 2 d]: hidden states of the arguments */
    float *gates;             /* [inner, 5 d]; the backward pass replaces them by their gradients */
    float *hidden, *cells;    /* [variables + inner, d]; those of variables are given */
    float *grad_hidden;         /* [variables + inner, d]: added to; NULL: forward pass */
    float *grad_cells;          /* the same */
    float *scratch;           /* [34 d d + 2 d rows of the largest group] */
} TreeLstm;

#endif
