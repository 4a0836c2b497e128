/* The arguments of the forward and backward pass, whatever the width of vectors. */
#ifndef POSSIBLEWORLDS_PASSES_H
#define POSSIBLEWORLDS_PASSES_H

#include <stdbool.h>

#include "lstm.h"
#include "plan.h"
#include "treelstm.h"
#include "treenet.h"

/* Worlds that pass through the trees at once: few enough for the cache, enough to fill the tiles
 * of a matrix product. */
enum { BLOCK = 32 };

typedef struct {
    Plan plan;
    int32_t n, d, k;                  /* worlds of a domain; size of a vector; size of a world */
    const float *worlds;              /* [domains, n, k] */
    const float *w4, *w1, *b1, *wf;   /* [26, k, d], [7, d, d], [4, d], [2, d] */
    float *units, *scales;            /* [nodes, n, d padded], [nodes, n]; NULL: keep none */
    float *scores;                    /* [2, trees, n] */
    const float *grad_scores;           /* [2, trees, n]; NULL: no backward pass */
    float *grad_worlds;                 /* [domains, n, k] or NULL */
    float *grad_w4, *grad_w1, *grad_b1, *grad_wf; /* added to; or all NULL */
    float *scratch;                   /* as much as `scratch_size` says, aligned like `units` */
    int32_t first_block, last_block;  /* which of domains x blocks a domain to do */
    int32_t forward;                  /* whether `units` are yet to be computed */
} Passes;

/* One set of functions for each width of vectors. */
typedef struct {
    const char *name;
    int32_t lanes;
    size_t (*scratch_size)(const Passes *); /* in numbers */
    void (*run)(const Passes *);
    void (*lstm_forward)(const Lstm *);
    void (*lstm_backward)(const Lstm *);
    void (*treelstm_forward)(const TreeLstm *);
    void (*treelstm_backward)(const TreeLstm *);
    void (*treenet_forward)(const TreeNet *);
    void (*treenet_backward)(const TreeNet *);
} Engine;

static inline int32_t padded(int32_t size, int32_t lanes) {
    return (size + lanes - 1) / lanes * lanes;
}

/* Whether there is no backward pass, now or later, so that worlds can share vectors. */
static inline bool only_evaluates(const Passes *p) { return !p->units && !p->grad_scores; }

/* The only row of W4^v, [k, d], that is not zero: the component of a world that variable v depends
 * on; -1 if there are several. */
static inline int32_t only_component(const float *w4, int32_t k, int32_t d) {
    int32_t component = -1;
    for (int32_t i = 0; i < k; i++)
        for (int32_t j = 0; j < d; j++)
            if (w4[(size_t)i * d + j] != 0) {
                if (component >= 0 && component != i) return -1;
                component = i;
            }
    return component;
}

/* Blocks of a domain, as equal as they can be. */
static inline int32_t n_blocks(int32_t n) { return (n + BLOCK - 1) / BLOCK; }

static inline int32_t block_start(int32_t n, int32_t block) {
    return (int32_t)((int64_t)n * block / n_blocks(n));
}

#endif
