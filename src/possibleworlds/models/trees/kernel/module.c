/* sat3 for a batch of trees, LSTMs, TreeLSTMs and TreeNets: the Python module around the passes.
 *
 * The passes are compiled for several kinds of processor, and the widest vectors that the one at
 * hand has are chosen when the module is loaded. Arrays come by the buffer protocol, so that the
 * memory of tensors is read and written in place; each is checked to be as large as it must be.
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"

#if !defined(__GNUC__)
#error "vector types need GCC or Clang"
#elif defined(__MINGW32__) && !defined(__clang__)
#error "GCC does not align vectors on the stack of Windows"
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are only passed to what is inlined */
#endif

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(x) JOIN(x, SUFFIX)

#define SUFFIX narrow
#define LANES 4
#if defined(__aarch64__)
#define ENGINE "neon"
#define REGISTERS 32
#else
#define ENGINE "baseline"
#define REGISTERS 16
#endif
#include "products.inc"
#include "passes.inc"
#undef SUFFIX
#undef LANES
#undef ENGINE
#undef REGISTERS

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define SUFFIX avx2
#define LANES 8
#define ENGINE "avx2"
#define REGISTERS 16
#include "products.inc"
#include "passes.inc"
#undef SUFFIX
#undef LANES
#undef ENGINE
#undef REGISTERS
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,fma")
#endif
#define SUFFIX avx512
#define LANES 16
#define ENGINE "avx512"
#define REGISTERS 32
#include "products.inc"
#include "passes.inc"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#define MOST_ENGINES 3
static const Engine *engines[MOST_ENGINES]; /* those that run here, the best first */
static int n_engines;

static void choose_engines(void) {
    n_engines = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) engines[n_engines++] = &engine_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        engines[n_engines++] = &engine_avx2;
#endif
    engines[n_engines++] = &engine_narrow;
}

/* ---- arguments ------------------------------------------------------------------------------ */

static bool wrong(const char *what) {
    PyErr_SetString(PyExc_ValueError, what);
    return false;
}

static const Engine *engine_of(int number) {
    if (number >= 0 && number < n_engines) return engines[number];
    wrong("no such engine");
    return NULL;
}

enum { MOST_BUFFERS = 16 };
typedef struct {
    Py_buffer view[MOST_BUFFERS];
    int n;
} Buffers;

static void release(Buffers *buffers) {
    while (buffers->n) PyBuffer_Release(&buffers->view[--buffers->n]);
}

/* The memory of an object with at least so many bytes; NULL with an exception where it has less. */
static void *memory_of(Buffers *buffers, PyObject *object, size_t size, int flags, const char *name) {
    Py_buffer *view = &buffers->view[buffers->n];
    if (PyObject_GetBuffer(object, view, flags)) return NULL;
    buffers->n++;
    if ((size_t)view->len >= size) return view->buf ? view->buf : "";
    PyErr_Format(PyExc_ValueError, "%s has %zd bytes, not %zu", name, view->len, size);
    return NULL;
}

#define READ(object, count, name) \
    memory_of(&buffers, object, sizeof(float) * (size_t)(count), PyBUF_SIMPLE, name)
#define WRITE(object, count, name) \
    memory_of(&buffers, object, sizeof(float) * (size_t)(count), PyBUF_WRITABLE, name)

static bool open_plan(PyObject *bytes, Plan *plan) {
    char *memory;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(bytes, &memory, &size)) return false;
    if ((size_t)size < sizeof(PlanHeader) || (size_t)size != plan_size((const PlanHeader *)memory))
        return wrong("not a plan");
    plan_open(memory, plan);
    return true;
}

/* ---- functions ------------------------------------------------------------------------------ */

PyDoc_STRVAR(plan_doc,
             "plan(code, offsets, formula, variables, domain_size) -> bytes\n\n"
             "Find the distinct subformulas of trees; every domain_size of them share worlds.");

static PyObject *py_plan(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *code, *offsets, *formula, *variables, *plan = NULL;
    Trees trees;
    Buffers buffers = {.n = 0};
    if (!PyArg_ParseTuple(args, "OOOOi", &code, &offsets, &formula, &variables, &trees.domain_size))
        return NULL;
    if (trees.domain_size < 1) {
        wrong("domain_size is not positive");
        return NULL;
    }
    trees.code = memory_of(&buffers, code, 0, PyBUF_SIMPLE, "code");
    trees.offset = trees.code ? memory_of(&buffers, offsets, 8, PyBUF_SIMPLE, "offsets") : NULL;
    trees.formula = trees.offset ? memory_of(&buffers, formula, 0, PyBUF_SIMPLE, "formula") : NULL;
    if (!trees.formula) goto done;
    const Py_ssize_t length = buffers.view[0].len, n_formulas = buffers.view[1].len / 8 - 1;
    const Py_ssize_t n_trees = buffers.view[2].len / 8;
    if (n_trees > INT32_MAX / N_VARIABLES) {
        wrong("too many trees");
        goto done;
    }
    trees.n_trees = (int32_t)n_trees;
    const size_t n_names = (size_t)n_trees * N_VARIABLES;
    trees.variable = memory_of(&buffers, variables, n_names, PyBUF_SIMPLE, "variables");
    if (!trees.variable) goto done;
    int64_t total = 0;
    for (Py_ssize_t t = 0; t < n_trees; t++) {
        const int64_t f = trees.formula[t];
        if (f < 0 || f >= n_formulas || trees.offset[f] < 0 ||
            trees.offset[f + 1] < trees.offset[f] || trees.offset[f + 1] > length) {
            wrong("a formula lies outside of the code");
            goto done;
        }
        total += trees.offset[f + 1] - trees.offset[f];
    }
    if (total > INT32_MAX / 16) {
        wrong("too many nodes");
        goto done;
    }
    size_t size;
    void *memory = plan_build(&trees, &size);
    if (memory) {
        plan = PyBytes_FromStringAndSize(memory, (Py_ssize_t)size);
        free(memory);
    } else {
        wrong("a formula is not in reverse Polish, or there is not enough memory");
    }
done:
    release(&buffers);
    return plan;
}

PyDoc_STRVAR(sizes_doc,
             "sizes(engine, plan, n, d, k, kept, grad_scores, grad_worlds, grad_parameters)\n"
             "-> units, scratch, blocks\n\n"
             "The numbers that `run` needs room for, and how many blocks of worlds there are.");

static PyObject *py_sizes(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *bytes;
    Passes p = {0};
    int number, kept, grad_scores, grad_worlds, grad_parameters;
    if (!PyArg_ParseTuple(args, "iOiiipppp", &number, &bytes, &p.n, &p.d, &p.k, &kept, &grad_scores,
                          &grad_worlds, &grad_parameters))
        return NULL;
    const Engine *engine = engine_of(number);
    if (!engine || !open_plan(bytes, &p.plan)) return NULL;
    static float some;
    p.units = kept ? &some : NULL;
    p.grad_scores = grad_scores ? &some : NULL;
    p.grad_worlds = grad_worlds ? &some : NULL;
    p.grad_w1 = grad_parameters ? &some : NULL;
    const PlanHeader *header = p.plan.header;
    const size_t units = (size_t)header->n_nodes * p.n * (padded(p.d, engine->lanes) + 1);
    return Py_BuildValue("nni", (Py_ssize_t)units, (Py_ssize_t)engine->scratch_size(&p),
                         header->n_domains * n_blocks(p.n));
}

PyDoc_STRVAR(run_doc,
             "run(engine, plan, n, d, k, worlds, w4, w1, b1, wf, units, scratch, scores,\n"
             "    grad_scores, grad_worlds, grad_parameters, first_block, last_block)\n\n"
             "Evaluate some blocks of worlds, unless scores is None; and where grad_scores is not\n"
             "None, give the gradients of worlds and, one after the other, of parameters (which\n"
             "are added to), unless None. Without units, both passes must go together.");

static PyObject *py_run(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *bytes, *worlds, *w4, *w1, *b1, *wf, *units, *scratch, *scores, *grad_scores, *grad_worlds;
    PyObject *grad_parameters;
    Passes p = {0};
    Buffers buffers = {.n = 0};
    int number;
    if (!PyArg_ParseTuple(args, "iOiiiOOOOOOOOOOOii", &number, &bytes, &p.n, &p.d, &p.k, &worlds,
                          &w4, &w1, &b1, &wf, &units, &scratch, &scores, &grad_scores, &grad_worlds,
                          &grad_parameters, &p.first_block, &p.last_block))
        return NULL;
    const Engine *engine = engine_of(number);
    if (!engine || !open_plan(bytes, &p.plan)) return NULL;
    const PlanHeader *header = p.plan.header;
    const size_t d = (size_t)p.d, k = (size_t)p.k, n = (size_t)p.n;
    const size_t n_vectors = (size_t)header->n_nodes * n, n_worlds = (size_t)header->n_domains * n;
    const size_t n_scores = 2 * (size_t)header->n_trees * n;
    const size_t w4_size = N_VARIABLES * k * d, w1_size = N_SLOTS * d * d, b1_size = N_OPERATORS * d;
    PyObject *result = NULL;
    if (p.n < 1 || p.d < 1 || p.k < 1 || p.first_block < 0 ||
        p.last_block > header->n_domains * n_blocks(p.n)) {
        wrong("a size is not positive, or a block is none");
        goto done;
    }
    if (!(p.worlds = READ(worlds, n_worlds * k, "worlds"))) goto done;
    if (!(p.w4 = READ(w4, w4_size, "w4"))) goto done;
    if (!(p.w1 = READ(w1, w1_size, "w1"))) goto done;
    if (!(p.b1 = READ(b1, b1_size, "b1"))) goto done;
    if (!(p.wf = READ(wf, 2 * d, "wf"))) goto done;
    if (units != Py_None) {
        const size_t width = (size_t)padded(p.d, engine->lanes);
        if (!(p.units = WRITE(units, n_vectors * (width + 1), "units"))) goto done;
        p.scales = p.units + n_vectors * width;
    }
    p.forward = scores != Py_None;
    if (p.forward && !(p.scores = WRITE(scores, n_scores, "scores"))) goto done;
    if (grad_scores != Py_None) {
        if (!(p.grad_scores = READ(grad_scores, n_scores, "grad_scores"))) goto done;
        if (grad_worlds != Py_None && !(p.grad_worlds = WRITE(grad_worlds, n_worlds * k, "grad_worlds")))
            goto done;
        if (grad_parameters != Py_None) {
            const size_t size = w4_size + w1_size + b1_size + 2 * d;
            if (!(p.grad_w4 = WRITE(grad_parameters, size, "grad_parameters"))) goto done;
            p.grad_w1 = p.grad_w4 + w4_size;
            p.grad_b1 = p.grad_w1 + w1_size;
            p.grad_wf = p.grad_b1 + b1_size;
        }
    }
    if (!p.units && !p.forward) {
        wrong("no units, and none to be computed");
        goto done;
    }
    if (!(p.scratch = WRITE(scratch, engine->scratch_size(&p), "scratch"))) goto done;
    if (((uintptr_t)p.units | (uintptr_t)p.scratch) % (sizeof(float) * (size_t)engine->lanes)) {
        wrong("units or scratch do not begin at a whole vector");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    engine->run(&p);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    release(&buffers);
    return result;
}

enum { MOST_CELLS = 1 << 12 };

static bool is_size(int32_t d) {
    if (d >= 16 && d % 16 == 0 && d <= MOST_CELLS) return true;
    return wrong("the size is not a multiple of 16, or too large");
}

PyDoc_STRVAR(lstm_doc,
             "lstm(engine, d, sizes, symbols, table, w, gates, cells, hidden, last,\n"
             "     scratch, grad_last, grad_table, grad_w)\n\n"
             "Read sequences, or, unless grad_last is None, add to the gradients of table and w\n"
             "(see lstm.h).");

static PyObject *py_lstm(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *sizes, *symbols, *table, *w, *gates, *cells, *hidden, *last, *scratch, *grad_last;
    PyObject *grad_table, *grad_w, *result = NULL;
    Lstm p = {0};
    Buffers buffers = {.n = 0};
    int number;
    if (!PyArg_ParseTuple(args, "iiOOOOOOOOOOOO", &number, &p.d, &sizes, &symbols, &table, &w,
                          &gates, &cells, &hidden, &last, &scratch, &grad_last, &grad_table, &grad_w))
        return NULL;
    const Engine *engine = engine_of(number);
    if (!engine) return NULL;
    if (!is_size(p.d)) return NULL;
    const size_t d = (size_t)p.d;
    size_t rows = 0;
    if (!(p.size = memory_of(&buffers, sizes, 4, PyBUF_SIMPLE, "sizes"))) goto done;
    p.n_steps = (int32_t)(buffers.view[0].len / 4);
    for (int32_t t = 0; t < p.n_steps; t++) {
        if (p.size[t] < 1 || (t && p.size[t] > p.size[t - 1])) {
            wrong("sizes are not positive, or increase");
            goto done;
        }
        rows += (size_t)p.size[t];
    }
    const size_t n = (size_t)p.size[0];
    if (!(p.symbol = memory_of(&buffers, symbols, rows, PyBUF_SIMPLE, "symbols"))) goto done;
    if (!(p.table = READ(table, 4 * d, "table"))) goto done;
    p.n_symbols = (int32_t)((size_t)buffers.view[2].len / (sizeof(float) * 4 * d));
    for (size_t i = 0; i < rows; i++)
        if (p.symbol[i] >= p.n_symbols) {
            wrong("a symbol is not in the table");
            goto done;
        }
    if (!(p.w = READ(w, 4 * d * d, "w"))) goto done;
    if (!(p.gates = WRITE(gates, rows * 4 * d, "gates"))) goto done;
    if (!(p.cells = WRITE(cells, rows * d, "cells"))) goto done;
    if (!(p.hidden = WRITE(hidden, rows * d, "hidden"))) goto done;
    if (!(p.scratch = WRITE(scratch, 4 * d * d + 2 * n * d, "scratch"))) goto done;
    if (grad_last == Py_None) {
        if (!(p.last = WRITE(last, n * d, "last"))) goto done;
    } else {
        if (!(p.grad_last = READ(grad_last, n * d, "grad_last"))) goto done;
        if (!(p.grad_table = WRITE(grad_table, (size_t)p.n_symbols * 4 * d, "grad_table"))) goto done;
        if (!(p.grad_w = WRITE(grad_w, 4 * d * d, "grad_w"))) goto done;
    }
    const uintptr_t all = (uintptr_t)p.gates | (uintptr_t)p.cells | (uintptr_t)p.hidden |
                          (uintptr_t)p.scratch | (uintptr_t)p.grad_table | (uintptr_t)p.grad_w;
    if (all % (sizeof(float) * (size_t)engine->lanes)) {
        wrong("an array does not begin at a whole vector");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    (p.grad_last ? engine->lstm_backward : engine->lstm_forward)(&p);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    release(&buffers);
    return result;
}

/* The inner nodes of trees; false with an exception where an argument comes too late. */
static bool open_groups(Buffers *buffers, PyObject *groups, PyObject *arguments, Groups *nodes) {
    if (!(nodes->group = memory_of(buffers, groups, 0, PyBUF_SIMPLE, "groups"))) return false;
    nodes->n_groups = (int32_t)(buffers->view[buffers->n - 1].len / 8);
    for (int32_t k = 0; k < nodes->n_groups; k++) {
        const int32_t op = nodes->group[2 * k], size = nodes->group[2 * k + 1];
        if (op < 0 || op >= N_OPERATORS || size < 1)
            return wrong("a group has no operator or no rows");
        nodes->n += (size_t)size;
        if ((size_t)size > nodes->largest) nodes->largest = (size_t)size;
    }
    const size_t bytes = nodes->n * 2 * sizeof(int64_t);
    nodes->argument = memory_of(buffers, arguments, bytes, PyBUF_SIMPLE, "arguments");
    const int64_t *argument = nodes->argument;
    if (!argument) return false;
    int64_t first = N_VARIABLES; /* the first row of a group */
    for (int32_t k = 0; k < nodes->n_groups; k++) {
        const int32_t size = nodes->group[2 * k + 1], arity = arity_of(nodes->group[2 * k]);
        for (int32_t i = 0; i < size; i++, argument += 2)
            for (int32_t side = 0; side < arity; side++)
                if (argument[side] < 0 || argument[side] >= first)
                    return wrong("an argument does not come before its group");
        first += size;
    }
    return true;
}

PyDoc_STRVAR(treelstm_doc,
             "treelstm(engine, d, groups, arguments, w_not, w_binary, biases, x, gates, hidden,\n"
             "         cells, scratch, grad_hidden, grad_cells)\n\n"
             "Encode trees, or, unless grad_hidden is None, compute the gradients of gates, hidden\n"
             "states and cells (see treelstm.h).");

static PyObject *py_treelstm(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *groups, *arguments, *w_not, *w_binary, *biases, *x, *gates, *hidden, *cells, *scratch;
    PyObject *grad_hidden, *grad_cells, *result = NULL;
    TreeLstm p = {0};
    Buffers buffers = {.n = 0};
    int number;
    if (!PyArg_ParseTuple(args, "iiOOOOOOOOOOOO", &number, &p.d, &groups, &arguments, &w_not,
                          &w_binary, &biases, &x, &gates, &hidden, &cells, &scratch, &grad_hidden,
                          &grad_cells))
        return NULL;
    const Engine *engine = engine_of(number);
    if (!engine) return NULL;
    if (!is_size(p.d)) return NULL;
    const size_t d = (size_t)p.d;
    if (!open_groups(&buffers, groups, arguments, &p.nodes)) goto done;
    const size_t n = p.nodes.n, largest = p.nodes.largest;
    if (!n) { /* variables alone, and arrays that are empty and so not aligned */
        result = Py_NewRef(Py_None);
        goto done;
    }
    const size_t rows = (N_VARIABLES + n) * d;
    if (!(p.w_not = READ(w_not, 4 * d * d, "w_not"))) goto done;
    if (!(p.w_binary = READ(w_binary, 30 * d * d, "w_binary"))) goto done;
    if (!(p.biases = READ(biases, N_OPERATORS * N_GATES * d, "biases"))) goto done;
    if (!(p.x = WRITE(x, n * 2 * d, "x"))) goto done;
    if (!(p.gates = WRITE(gates, n * N_GATES * d, "gates"))) goto done;
    if (!(p.hidden = WRITE(hidden, rows, "hidden"))) goto done;
    if (!(p.cells = WRITE(cells, rows, "cells"))) goto done;
    if (!(p.scratch = WRITE(scratch, 34 * d * d + 2 * d * largest, "scratch"))) goto done;
    if (grad_hidden != Py_None) {
        if (!(p.grad_hidden = WRITE(grad_hidden, rows, "grad_hidden"))) goto done;
        if (!(p.grad_cells = WRITE(grad_cells, rows, "grad_cells"))) goto done;
    }
    const uintptr_t all = (uintptr_t)p.biases | (uintptr_t)p.x | (uintptr_t)p.gates |
                          (uintptr_t)p.hidden | (uintptr_t)p.cells | (uintptr_t)p.scratch |
                          (uintptr_t)p.grad_hidden | (uintptr_t)p.grad_cells;
    if (all % (sizeof(float) * (size_t)engine->lanes)) {
        wrong("an array does not begin at a whole vector");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    (p.grad_hidden ? engine->treelstm_backward : engine->treelstm_forward)(&p);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    release(&buffers);
    return result;
}

PyDoc_STRVAR(treenet_doc,
             "treenet(engine, d, groups, arguments, w13, b13, w2, x, hidden, scales, vectors,\n"
             "        scratch, grad_vectors, grad_w13, grad_b13, grad_w2)\n\n"
             "Encode trees, or, unless grad_vectors is None, add to the gradients of vectors and\n"
             "parameters (see treenet.h).");

static PyObject *py_treenet(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *groups, *arguments, *w13, *b13, *w2, *x, *hidden, *scales, *vectors, *scratch;
    PyObject *grad_vectors, *grad_w13, *grad_b13, *grad_w2, *result = NULL;
    TreeNet p = {0};
    Buffers buffers = {.n = 0};
    int number;
    if (!PyArg_ParseTuple(args, "iiOOOOOOOOOOOOOO", &number, &p.d, &groups, &arguments, &w13, &b13,
                          &w2, &x, &hidden, &scales, &vectors, &scratch, &grad_vectors, &grad_w13,
                          &grad_b13, &grad_w2))
        return NULL;
    const Engine *engine = engine_of(number);
    if (!engine) return NULL;
    if (!is_size(p.d)) return NULL;
    const size_t d = (size_t)p.d;
    if (!open_groups(&buffers, groups, arguments, &p.nodes)) goto done;
    const size_t n = p.nodes.n, w13_size = N_SLOTS * 2 * d * d, w2_size = N_OPERATORS * d * d;
    if (!n) { /* variables alone, and arrays that are empty and so not aligned */
        result = Py_NewRef(Py_None);
        goto done;
    }
    if (!(p.w13 = READ(w13, w13_size, "w13"))) goto done;
    if (!(p.b13 = READ(b13, N_OPERATORS * 2 * d, "b13"))) goto done;
    if (!(p.w2 = READ(w2, w2_size, "w2"))) goto done;
    if (!(p.x = WRITE(x, n * 2 * d, "x"))) goto done;
    if (!(p.hidden = WRITE(hidden, n * d, "hidden"))) goto done;
    if (!(p.scales = WRITE(scales, n, "scales"))) goto done;
    if (!(p.vectors = WRITE(vectors, (N_VARIABLES + n) * d, "vectors"))) goto done;
    if (!(p.scratch = WRITE(scratch, treenet_scratch(d, p.nodes.largest), "scratch"))) goto done;
    if (grad_vectors != Py_None) {
        const size_t size = (N_VARIABLES + n) * d;
        if (!(p.grad_vectors = WRITE(grad_vectors, size, "grad_vectors"))) goto done;
        if (!(p.grad_w13 = WRITE(grad_w13, w13_size, "grad_w13"))) goto done;
        if (!(p.grad_b13 = WRITE(grad_b13, N_OPERATORS * 2 * d, "grad_b13"))) goto done;
        if (!(p.grad_w2 = WRITE(grad_w2, w2_size, "grad_w2"))) goto done;
    }
    const uintptr_t all = (uintptr_t)p.x | (uintptr_t)p.hidden | (uintptr_t)p.vectors |
                          (uintptr_t)p.scratch | (uintptr_t)p.grad_vectors | (uintptr_t)p.grad_w13 |
                          (uintptr_t)p.grad_b13 | (uintptr_t)p.grad_w2;
    if (all % (sizeof(float) * (size_t)engine->lanes)) {
        wrong("an array does not begin at a whole vector");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    (p.grad_vectors ? engine->treenet_backward : engine->treenet_forward)(&p);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    release(&buffers);
    return result;
}

static PyMethodDef methods[] = {
    {"plan", py_plan, METH_VARARGS, plan_doc},
    {"sizes", py_sizes, METH_VARARGS, sizes_doc},
    {"run", py_run, METH_VARARGS, run_doc},
    {"lstm", py_lstm, METH_VARARGS, lstm_doc},
    {"treelstm", py_treelstm, METH_VARARGS, treelstm_doc},
    {"treenet", py_treenet, METH_VARARGS, treenet_doc},
    {NULL, NULL, 0, NULL},
};

static int fill_module(PyObject *module) {
    choose_engines();
    PyObject *names = PyTuple_New(n_engines);
    if (!names) return -1;
    for (int i = 0; i < n_engines; i++)
        if (PyTuple_SetItem(names, i, PyUnicode_FromString(engines[i]->name))) return -1;
    const int failed = PyModule_AddObjectRef(module, "ENGINES", names);
    Py_DECREF(names);
    return failed;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill_module}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "_kernel",
    "sat3, LSTMs, TreeLSTMs and TreeNets in C.",
    0,
    methods,
    slots,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&definition); }
