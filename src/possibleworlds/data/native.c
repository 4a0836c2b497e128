/* The inner loops of the generator. Each does what a function of this folder does in numpy or Python,
 * which is the reference; results are the same to the last bit.
 *
 * Formulas are in reverse Polish notation, as columns of an array of codes (see sample.py) or as text.
 * Arrays come by the buffer protocol. Whatever they hold, no memory outside of them is touched.
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NOT, AND, OR, IMPLIES, N_OPERATORS, N_VARIABLES = 26, PADDING = N_OPERATORS + N_VARIABLES };

static PyObject *wrong(const char *what) {
    PyErr_SetString(PyExc_ValueError, what);
    return NULL;
}

/* ---- sampling ------------------------------------------------------------------------------- */

PyDoc_STRVAR(sample_doc,
             "sample(codes, operators, variables, draw)\n\n"
             "Fill the columns of codes with random formulas: sample.sample_codes. draw(n) returns\n"
             "2 n random numbers below 1, in single precision.");

typedef struct {
    uint8_t *codes;
    const int32_t *operators;
    const float *variables;
    int32_t *sizes;  /* of what is still to be written: a stack for each formula */
    int32_t *level;  /* the top of the stack */
    int32_t *active; /* the formulas that are not complete */
    Py_ssize_t count, room, n_active;
} Sample;

/* Write a symbol of every formula that is not complete; whether all numbers are below 1. */
static bool write_symbols(Sample *s, uint8_t *line, const float *draw, const float *split) {
    Py_ssize_t n_left = 0;
    for (Py_ssize_t a = 0; a < s->n_active; a++) {
        if (!(draw[a] >= 0 && draw[a] < 1 && split[a] >= 0 && split[a] < 1)) return false;
        const int32_t i = s->active[a];
        int32_t *top = s->sizes + i * s->room + s->level[i];
        const int32_t size = *top;
        if (size == 0) {
            line[i] = (uint8_t)(N_OPERATORS + (uint8_t)(draw[a] * s->variables[i]));
            if (--s->level[i] < 0) continue;
        } else {
            const uint8_t code = (uint8_t)(draw[a] * (float)N_OPERATORS);
            line[i] = code;
            *top = size - 1;
            if (code != NOT) {
                top[0] = (int32_t)((double)split[a] * size);
                top[1] = size - 1 - top[0];
                s->level[i]++;
            }
        }
        s->active[n_left++] = i;
    }
    s->n_active = n_left;
    return true;
}

static bool sample_all(Sample *s, Py_ssize_t longest, PyObject *draw) {
    for (Py_ssize_t place = longest - 1; place >= 0; place--) {
        Py_buffer drawn;
        PyObject *array = PyObject_CallFunction(draw, "n", s->n_active);
        if (!array) return false;
        const bool failed = PyObject_GetBuffer(array, &drawn, PyBUF_SIMPLE);
        Py_DECREF(array); /* the buffer keeps it */
        if (failed) return false;
        const float *numbers = drawn.buf;
        const bool drawn_well =
            drawn.len == 2 * s->n_active * (Py_ssize_t)sizeof(float) &&
            write_symbols(s, s->codes + place * s->count, numbers, numbers + s->n_active);
        PyBuffer_Release(&drawn);
        if (!drawn_well) return wrong("not the random numbers that were to be drawn");
    }
    return true;
}

static PyObject *sample(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer codes, operators, variables;
    PyObject *draw;
    if (!PyArg_ParseTuple(args, "w*y*y*O", &codes, &operators, &variables, &draw)) return NULL;
    Sample s = {.codes = codes.buf, .operators = operators.buf, .variables = variables.buf};
    s.count = operators.len / (Py_ssize_t)sizeof(int32_t);
    bool fits = s.count > 0 && s.count <= INT32_MAX && operators.len == variables.len;
    int32_t most = 0;
    for (Py_ssize_t i = 0; fits && i < s.count; i++) {
        if (s.operators[i] > most) most = s.operators[i];
        fits = s.operators[i] >= 0 && s.variables[i] >= 1 && s.variables[i] <= N_VARIABLES;
    }
    const Py_ssize_t longest = 2 * (Py_ssize_t)most + 1;
    /* A binary operator adds one level: there are never more than operators. */
    s.room = (Py_ssize_t)most + 1;
    s.n_active = s.count;
    if (!fits || codes.len / longest != s.count || codes.len % longest) {
        wrong("arrays of other sizes, or numbers out of bounds");
    } else {
        s.sizes = malloc((size_t)(s.count * s.room) * sizeof(int32_t));
        s.level = calloc((size_t)s.count, sizeof(int32_t));
        s.active = malloc((size_t)s.count * sizeof(int32_t));
        if (!s.sizes || !s.level || !s.active) {
            PyErr_NoMemory();
        } else {
            memset(codes.buf, PADDING, (size_t)codes.len);
            for (Py_ssize_t i = 0; i < s.count; i++) {
                s.active[i] = (int32_t)i;
                s.sizes[i * s.room] = s.operators[i];
            }
            sample_all(&s, longest, draw);
        }
        free(s.sizes);
        free(s.level);
        free(s.active);
    }
    PyBuffer_Release(&codes);
    PyBuffer_Release(&operators);
    PyBuffer_Release(&variables);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* ---- truth tables --------------------------------------------------------------------------- */

PyDoc_STRVAR(truth_doc,
             "truth(codes, columns, words, n)\n\n"
             "Compute the truth values of the columns of codes, n words each, from those of the\n"
             "variables: sample.truth_words.");

/* Evaluate one formula; whether it is one. The stack has room for so many values of n words. */
static bool evaluate(const uint8_t *code, Py_ssize_t stride, Py_ssize_t longest,
                     const uint64_t *columns, Py_ssize_t n_columns, uint64_t *stack,
                     Py_ssize_t room, Py_ssize_t n) {
    Py_ssize_t depth = 0;
    for (Py_ssize_t place = 0; place < longest; place++, code += stride) {
        uint64_t *end = stack + depth * n;
        if (*code == PADDING) continue;
        if (*code >= N_OPERATORS) {
            if (*code - N_OPERATORS >= n_columns || depth == room) return false;
            memcpy(end, columns + (*code - N_OPERATORS) * n, (size_t)n * sizeof *end);
            depth++;
            continue;
        }
        if (depth < (*code == NOT ? 1 : 2)) return false;
        uint64_t *top = end - n, *left = *code == NOT ? top : top - n;
        switch (*code) {
            case NOT:
                for (Py_ssize_t w = 0; w < n; w++) top[w] = ~top[w];
                continue;
            case AND:
                for (Py_ssize_t w = 0; w < n; w++) left[w] &= top[w];
                break;
            case OR:
                for (Py_ssize_t w = 0; w < n; w++) left[w] |= top[w];
                break;
            case IMPLIES:
                for (Py_ssize_t w = 0; w < n; w++) left[w] = ~left[w] | top[w];
                break;
        }
        depth--;
    }
    return depth == 1;
}

static PyObject *truth(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer codes, columns, words;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(args, "y*y*w*n", &codes, &columns, &words, &n)) return NULL;
    const Py_ssize_t size = n * (Py_ssize_t)sizeof(uint64_t);
    const Py_ssize_t count = n > 0 ? words.len / size : 0;
    const Py_ssize_t longest = count ? codes.len / count : 0, room = longest / 2 + 1;
    uint64_t *stack = NULL;
    if (count * size != words.len || count * longest != codes.len || (n > 0 && columns.len % size)) {
        wrong("arrays of other sizes");
    } else if (!(stack = malloc((size_t)(room * size) + 1))) {
        PyErr_NoMemory();
    } else {
        for (Py_ssize_t i = 0; i < count; i++) {
            if (!evaluate((const uint8_t *)codes.buf + i, count, longest, columns.buf,
                          columns.len / size, stack, room, n)) {
                wrong("not a formula in reverse Polish notation");
                break;
            }
            memcpy((uint64_t *)words.buf + i * n, stack, (size_t)size);
        }
    }
    free(stack);
    PyBuffer_Release(&codes);
    PyBuffer_Release(&columns);
    PyBuffer_Release(&words);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* ---- 4-tuples ------------------------------------------------------------------------------- */

PyDoc_STRVAR(match_doc,
             "match(words, side, most) -> list of (i1, j1, i2, j2)\n\n"
             "Match the entailments of a group, given by the truth values of its formulas, left\n"
             "ones first: fourtuples.matches.");

typedef struct {
    const uint64_t *left, *right;
    Py_ssize_t side, n;
} Words;

static bool refuted(const Words *g, Py_ssize_t i, Py_ssize_t j) {
    const uint64_t *left = g->left + i * g->n, *right = g->right + j * g->n;
    for (Py_ssize_t w = 0; w < g->n; w++)
        if (left[w] & ~right[w]) return true;
    return false;
}

static bool all_words_are(uint64_t value, const uint64_t *words, Py_ssize_t n) {
    while (n && *words == value) words++, n--;
    return !n;
}

static bool match_group(const Words *g, Py_ssize_t most, uint8_t *used_left, uint8_t *used_right,
                        Py_ssize_t (*waiting)[2], PyObject *matches) {
    Py_ssize_t n_waiting = 0, examined = 0;
    for (Py_ssize_t shift = 0; shift < g->side; shift++)
        for (Py_ssize_t i2 = 0; i2 < g->side; i2++) {
            const Py_ssize_t j2 = (i2 + shift) % g->side;
            if (refuted(g, i2, j2)) continue;
            if (all_words_are(0, g->left + i2 * g->n, g->n) ||
                all_words_are(UINT64_MAX, g->right + j2 * g->n, g->n)) {
                examined++;
            } else if (!used_left[i2] && !used_right[j2]) {
                examined++;
                used_left[i2] = used_right[j2] = 1;
                Py_ssize_t place = 0;
                while (place < n_waiting && !(refuted(g, waiting[place][0], j2) &&
                                              refuted(g, i2, waiting[place][1])))
                    place++;
                if (place < n_waiting) {
                    PyObject *match =
                        Py_BuildValue("(nnnn)", waiting[place][0], waiting[place][1], i2, j2);
                    const bool failed = !match || PyList_Append(matches, match);
                    Py_XDECREF(match);
                    if (failed) return false;
                    n_waiting--;
                    memmove(waiting + place, waiting + place + 1,
                            (size_t)(n_waiting - place) * sizeof *waiting);
                } else {
                    waiting[n_waiting][0] = i2;
                    waiting[n_waiting++][1] = j2;
                }
            }
            if (examined == most) return true;
        }
    return true;
}

static PyObject *match(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer words;
    Py_ssize_t side, most;
    if (!PyArg_ParseTuple(args, "y*nn", &words, &side, &most)) return NULL;
    PyObject *matches = NULL;
    const Py_ssize_t line = 2 * side * (Py_ssize_t)sizeof(uint64_t);
    if (side < 1 || side > UINT16_MAX || words.len % line) {
        wrong("not the words of two sides");
    } else {
        Words g = {.left = words.buf, .side = side, .n = words.len / line};
        g.right = g.left + side * g.n;
        uint8_t *used = calloc((size_t)(2 * side), 1);
        /* A left formula waits at most once. */
        Py_ssize_t(*waiting)[2] = malloc((size_t)side * sizeof *waiting);
        if (!used || !waiting) {
            PyErr_NoMemory();
        } else if ((matches = PyList_New(0))) {
            if (!match_group(&g, most, used, used + side, waiting, matches)) Py_CLEAR(matches);
        }
        free(used);
        free(waiting);
    }
    PyBuffer_Release(&words);
    return matches;
}

/* ---- text ----------------------------------------------------------------------------------- */

PyDoc_STRVAR(line_doc,
             "line(a, b, label) -> str\n\n"
             "Write a row as a line of a data file: files.format_rows.");

typedef struct {
    char symbol;   /* what stands to the left of what is being written: ~( or ( or an operator */
    bool positive; /* of an operator: whether its left argument is not negated in normal form */
} Waiting;

/* Write the text from its end on; whether the formula is one. */
static bool write_text(const char *rpn, Py_ssize_t length, char *end, Waiting *waiting,
                       uint32_t literals[2]) {
    Py_ssize_t depth = 0;
    bool positive = true;
    for (Py_ssize_t place = length - 1; place >= 0; place--) {
        const char symbol = rpn[place];
        if (symbol == '~') {
            *--end = ')';
            waiting[depth++].symbol = '~';
            positive = !positive;
        } else if (symbol == '&' || symbol == '|' || symbol == '>') {
            *--end = ')';
            waiting[depth++].symbol = '(';
            waiting[depth++] = (Waiting){symbol, positive != (symbol == '>')};
        } else if (symbol >= 'a' && symbol <= 'z') {
            *--end = symbol;
            literals[positive] |= UINT32_C(1) << (symbol - 'a');
            bool complete = true; /* until there is a left argument to be written */
            while (depth && complete) {
                const Waiting next = waiting[--depth];
                complete = next.symbol == '~' || next.symbol == '(';
                if (next.symbol == '~') *--end = '(';
                *--end = next.symbol;
                if (!complete) positive = next.positive;
            }
            if (complete) return place == 0;
        } else {
            return false;
        }
    }
    return false;
}

typedef struct {
    const char *rpn;
    Py_ssize_t length;    /* of the formula, */
    Py_ssize_t text_size; /* and of its text */
    uint32_t literals[2]; /* negated and plain ones, bit sets of variables */
} Side;

static bool open_side(PyObject *formula, Side *side) {
    side->rpn = PyUnicode_AsUTF8AndSize(formula, &side->length);
    if (!side->rpn) return false;
    side->text_size = side->length;
    for (Py_ssize_t i = 0; i < side->length; i++)
        if (side->rpn[i] < 'a' || side->rpn[i] > 'z') side->text_size += 2; /* brackets */
    return true;
}

static PyObject *line(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *first, *second;
    int label;
    Side a = {0}, b = {0};
    if (!PyArg_ParseTuple(args, "UUp", &first, &second, &label)) return NULL;
    if (!open_side(first, &a) || !open_side(second, &b)) return NULL;
    const Py_ssize_t longer = a.length > b.length ? a.length : b.length;
    const Py_ssize_t bits = a.text_size + 1 + b.text_size, size = bits + 9;
    char *text = malloc((size_t)size);
    Waiting *waiting = malloc((size_t)(2 * longer + 1) * sizeof *waiting);
    PyObject *result = NULL;
    if (!text || !waiting) {
        PyErr_NoMemory();
    } else if (!write_text(a.rpn, a.length, text + a.text_size, waiting, a.literals) ||
               !write_text(b.rpn, b.length, text + bits, waiting, b.literals)) {
        wrong("not a formula of the data in reverse Polish notation");
    } else {
        const uint32_t *la = a.literals, *lb = b.literals;
        const bool heuristics[4] = {label, a.length >= b.length,
                                    !((lb[0] | lb[1]) & ~(la[0] | la[1])),
                                    !((lb[0] & ~la[0]) | (lb[1] & ~la[1]))};
        text[a.text_size] = ',';
        for (int i = 0; i < 4; i++) {
            text[bits + 2 * i] = ',';
            text[bits + 2 * i + 1] = heuristics[i] ? '1' : '0';
        }
        text[size - 1] = '\n';
        result = PyUnicode_FromStringAndSize(text, size);
    }
    free(text);
    free(waiting);
    return result;
}

/* ---- keys ----------------------------------------------------------------------------------- */

PyDoc_STRVAR(keys_doc,
             "keys(a, b) -> pair, premise, conclusion\n\n"
             "Compute the keys of a row: keys.row_keys.");

static const char SYMBOLS[] = "~&|>abcdefghijklmnopqrstuvwxyz";
static const uint64_t RIGHT = UINT64_C(0x9E3779B97F4A7C15);

static uint64_t hashed(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

typedef struct {
    uint64_t sum[PADDING];       /* of random numbers that stand for the places of a symbol */
    int number[PADDING];         /* of a variable in the order of first occurrence, from 1 */
    int variable[N_VARIABLES];   /* the symbols that have numbers 1, 2, ... */
    int n_variables;
} Sets;

static bool find_sets(PyObject *formula, Sets *sets) {
    Py_ssize_t length;
    const char *rpn = PyUnicode_AsUTF8AndSize(formula, &length);
    if (!rpn) return false;
    memset(sets, 0, sizeof *sets);
    for (Py_ssize_t place = 0; place < length; place++) {
        const char *place_of = rpn[place] ? strchr(SYMBOLS, rpn[place]) : NULL;
        if (!place_of) return wrong("not a formula of the data");
        const int symbol = (int)(place_of - SYMBOLS);
        sets->sum[symbol] += hashed((uint64_t)place + 1);
        if (symbol >= N_OPERATORS && !sets->number[symbol]) {
            sets->variable[sets->n_variables++] = symbol;
            sets->number[symbol] = sets->n_variables;
        }
    }
    return true;
}

static PyObject *keys(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *first, *second;
    Sets a, b;
    if (!PyArg_ParseTuple(args, "UU", &first, &second)) return NULL;
    if (!find_sets(first, &a) || !find_sets(second, &b)) return NULL;
    uint64_t pair = 0, premise = 0, conclusion = 0;
    for (int s = 0; s < PADDING; s++) {
        const uint64_t name = s < N_OPERATORS ? (uint64_t)SYMBOLS[s] : 0; /* of an operator */
        pair += hashed(a.sum[s] + RIGHT * b.sum[s] + name);
        premise += hashed(a.sum[s] + name);
        if (name) conclusion += hashed(b.sum[s] + name);
    }
    int last = a.n_variables;
    for (int n = 0; n < b.n_variables; n++) {
        const int s = b.variable[n], number = a.number[s] ? a.number[s] : ++last;
        conclusion += hashed(b.sum[s] + RIGHT * (uint64_t)number);
    }
    return Py_BuildValue("KKK", pair ? pair : 1, premise ? premise : 1,
                         conclusion ? conclusion : 1);
}

static PyMethodDef methods[] = {
    {"sample", sample, METH_VARARGS, sample_doc},
    {"truth", truth, METH_VARARGS, truth_doc},
    {"match", match, METH_VARARGS, match_doc},
    {"line", line, METH_VARARGS, line_doc},
    {"keys", keys, METH_VARARGS, keys_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "The generator in C.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
