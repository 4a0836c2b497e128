/* Runs the kernel without Python, on fixed formulas and numbers, and prints all that it computes:
 * to compare processors (test_native.py). Usage: kernel N D K */
#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(x) JOIN(x, SUFFIX)
#define SUFFIX narrow
#define LANES 4
#define ENGINE "narrow"
#if defined(__aarch64__)
#define REGISTERS 32
#else
#define REGISTERS 16
#endif
#include "products.inc"
#include "passes.inc"

/* Numbers from -1 to 1, the same everywhere. */
static float *numbers(size_t size) {
    static uint32_t state = 1;
    float *all = aligned_alloc(64, (size * sizeof(float) + 63) / 64 * 64);
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        all[i] = (float)(state >> 8) / (1 << 23) - 1;
    }
    return all;
}

static float *zeros(size_t size) {
    float *all = numbers(size);
    memset(all, 0, size * sizeof(float));
    return all;
}

static void print(const float *all, size_t size) {
    for (size_t i = 0; i < size; i++) printf("%.9g\n", all[i]);
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const size_t n = (size_t)atoi(argv[1]), d = (size_t)atoi(argv[2]), k = (size_t)atoi(argv[3]);
    /* ab&a> | ab& | a~~ | abc||a>~, as four trees in two domains */
    const uint8_t code[] = {4, 5, 1, 4, 3, 4, 5, 1, 4, 0, 0, 4, 5, 6, 2, 2, 4, 3, 0};
    const int64_t offset[] = {0, 5, 8, 11, 19}, formula[] = {0, 1, 2, 3};
    uint8_t variable[4 * N_VARIABLES];
    for (int i = 0; i < 4 * N_VARIABLES; i++) variable[i] = (uint8_t)(i % N_VARIABLES);
    const Trees trees = {code, offset, formula, variable, 4, 2};
    size_t size;
    void *memory = plan_build(&trees, &size);
    if (!memory) return 1;
    Passes p = {.n = (int32_t)n, .d = (int32_t)d, .k = (int32_t)k, .forward = 1};
    plan_open(memory, &p.plan);
    const PlanHeader *header = p.plan.header;
    const size_t n_worlds = (size_t)header->n_domains * n * k, n_scores = 8 * n;
    const size_t w4 = N_VARIABLES * k * d, w1 = N_SLOTS * d * d, b1 = N_OPERATORS * d;
    p.worlds = numbers(n_worlds);
    p.w4 = numbers(w4), p.w1 = numbers(w1), p.b1 = numbers(b1), p.wf = numbers(2 * d);
    p.grad_scores = numbers(n_scores);
    p.scores = zeros(n_scores), p.grad_worlds = zeros(n_worlds);
    p.grad_w4 = zeros(w4), p.grad_w1 = zeros(w1), p.grad_b1 = zeros(b1), p.grad_wf = zeros(2 * d);
    p.scratch = zeros(engine_narrow.scratch_size(&p));
    p.last_block = header->n_domains * n_blocks(p.n);
    engine_narrow.run(&p);
    print(p.scores, n_scores);
    print(p.grad_worlds, n_worlds);
    print(p.grad_w4, w4);
    print(p.grad_w1, w1);
    print(p.grad_b1, b1);
    print(p.grad_wf, 2 * d);
    return 0;
}
