/* The arguments of both passes of an LSTM, whatever the width of vectors.
 *
 * Sequences are sorted, the longest first, and their symbols are stored step by step: at step t
 * the first size[t] sequences are still being read, and have the next size[t] rows. So nothing is
 * padded. For sequences abc, de and f: size = 3 2 1, symbol = a d f b e c.
 *
 * What a symbol adds to the gates, W_ih x + b, is a row of a table, as there are few symbols.
 */
#ifndef POSSIBLEWORLDS_LSTM_H
#define POSSIBLEWORLDS_LSTM_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int32_t n_steps, n_symbols, d; /* d: the number of cells, a multiple of 16 */
    const int32_t *size;           /* [steps] */
    const uint8_t *symbol;         /* [rows] */
    const float *table;            /* [symbols, 4 d]: gates are in the order i, f, g, o */
    const float *w;                /* [4 d, d] */
    float *gates, *cells, *hidden; /* [rows, 4 d], [rows, d], [rows, d]; kept for the backward pass,
                                      which replaces gates by their gradients */
    float *last;                   /* [sequences, d]: the final hidden states */
    const float *grad_last;          /* NULL: forward pass */
    float *grad_table, *grad_w;        /* added to */
    float *scratch;                /* [4 d d + 2 sequences d] */
} Lstm;

#endif
