/* Rows of the published form decided by truth table, for labels.py. Nothing of the package is used.

   A formula is a letter, ~(x), (x&y), (x|y) or (x>y); a row is A,B,E,H1,H2,H3. */

#include <stdint.h>
#include <stdlib.h>

enum { UNREADABLE = 1, WRONG_LABEL = 2, WRONG_GUESSES = 4 };

typedef struct {
    char *postfix;
    int length;
} Formula;

typedef struct {
    const char *at, *end;
} Text;

static int is_letter(char c) { return c >= 'a' && c <= 'z'; }

static int take(Text *text, char c) {
    if (text->at == text->end || *text->at != c) return 0;
    text->at++;
    return 1;
}

/* Read a formula in postfix order; 0 if there is none. */
static int parse(Text *text, Formula *f) {
    char operator;
    if (text->at == text->end) return 0;
    if (is_letter(*text->at)) {
        f->postfix[f->length++] = *text->at++;
        return 1;
    }
    if (take(text, '~')) {
        if (!take(text, '(') || !parse(text, f)) return 0;
        operator = '~';
    } else {
        if (!take(text, '(') || !parse(text, f) || text->at == text->end) return 0;
        operator = *text->at++;
        if (operator != '&' && operator != '|' && operator != '>') return 0;
        if (!parse(text, f)) return 0;
    }
    f->postfix[f->length++] = operator;
    return take(text, ')');
}

/* The values of a formula in 64 rows of the truth table. */
static uint64_t values(const Formula *f, const uint64_t *of_letter, uint64_t *stack) {
    uint64_t *top = stack;
    for (int i = 0; i < f->length; i++) {
        char c = f->postfix[i];
        if (is_letter(c)) {
            *top++ = of_letter[c - 'a'];
        } else if (c == '~') {
            top[-1] = ~top[-1];
        } else {
            uint64_t right = *--top, left = top[-1];
            top[-1] = c == '&' ? left & right : c == '|' ? left | right : ~left | right;
        }
    }
    return stack[0];
}

/* Whether B is true in every row of the truth table where A is. */
static int entails(const Formula *a, const Formula *b, uint32_t letters, int variables,
                   uint64_t *stack) {
    static const uint64_t alternating[6] = {
        0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0,
        0xFF00FF00FF00FF00, 0xFFFF0000FFFF0000, 0xFFFFFFFF00000000,
    };
    uint64_t of_letter[26];
    long words = variables > 6 ? 1L << (variables - 6) : 1;
    for (long word = 0; word < words; word++) {
        int number = 0;
        for (int i = 0; i < 26; i++) {
            if (!(letters >> i & 1)) continue;
            /* Variable number j has bit j of the number of the row as its value. */
            of_letter[i] = number < 6 ? alternating[number] : -(uint64_t)(word >> (number - 6) & 1);
            number++;
        }
        if (values(a, of_letter, stack) & ~values(b, of_letter, stack)) return 0;
    }
    return 1;
}

/* The letters of the negation normal form with their signs: positive ones, and negative ones. */
static void literals(const Formula *f, uint32_t found[2], char *signs) {
    int depth = 1;
    signs[0] = 0;
    found[0] = found[1] = 0;
    /* From the root on: an operator says which signs its arguments have, the right one first. */
    for (int i = f->length - 1; i >= 0; i--) {
        char c = f->postfix[i], sign = signs[--depth];
        if (is_letter(c)) {
            found[(int)sign] |= 1u << (c - 'a');
        } else if (c == '~') {
            signs[depth++] = !sign;
        } else {
            signs[depth++] = c == '>' ? !sign : sign;
            signs[depth++] = sign;
        }
    }
}

/* A number for a formula whose letters are replaced by the order in which they come. */
static uint64_t key(const Formula *f, signed char *order, int *known, uint64_t hash) {
    for (int i = 0; i < f->length; i++) {
        int c = f->postfix[i];
        if (is_letter(c)) {
            signed char *number = &order[c - 'a'];
            if (*number < 0) *number = (*known)++;
            c = 'a' + *number;
        }
        hash = (hash ^ c) * 0x9E3779B97F4A7C15;
        hash ^= hash >> 29;
    }
    return hash;
}

static int bit(Text *text) {
    if (!take(text, ',') || text->at == text->end || (*text->at != '0' && *text->at != '1')) {
        return -1;
    }
    return *text->at++ - '0';
}

/* Decide every row of a text that ends with a line break.

   For each: what is wrong with it; how many variables it has; and numbers for the pair, its premise
   and its conclusion, up to renaming. No label is compared where there are more than `most`. */
void judge(const char *text, long length, int most, uint8_t *faults, uint8_t *variables,
           uint64_t *keys) {
    const char *line = text, *end = text + length;
    for (; line < end; faults++, variables++, keys += 3) {
        const char *stop = line;
        while (*stop != '\n') stop++;
        long size = stop - line;
        char *memory = malloc(3 * size + 3);
        uint64_t *stack = malloc((size + 1) * sizeof(uint64_t));
        Formula a = {memory, 0}, b = {memory + size + 1, 0};
        char *signs = memory + 2 * size + 2;
        Text rest = {line, stop};
        int bits[4] = {-1, -1, -1, -1};
        int is_pair = parse(&rest, &a) && take(&rest, ',') && parse(&rest, &b);
        for (int i = 0; is_pair && i < 4; i++) is_pair = (bits[i] = bit(&rest)) >= 0;
        *faults = *variables = 0;
        if (!is_pair || rest.at != stop) {
            *faults = UNREADABLE;
        } else {
            uint32_t of_a[2], of_b[2];
            literals(&a, of_a, signs);
            literals(&b, of_b, signs);
            uint32_t letters_a = of_a[0] | of_a[1], letters_b = of_b[0] | of_b[1];
            uint32_t letters = letters_a | letters_b;
            *variables = __builtin_popcount(letters);
            if (*variables <= most && entails(&a, &b, letters, *variables, stack) != bits[0]) {
                *faults |= WRONG_LABEL;
            }
            int has_no_new = !(letters_b & ~letters_a);
            int has_no_new_literal = !(of_b[0] & ~of_a[0]) && !(of_b[1] & ~of_a[1]);
            if (bits[1] != (a.length >= b.length) || bits[2] != has_no_new ||
                bits[3] != has_no_new_literal) {
                *faults |= WRONG_GUESSES;
            }
            signed char order[26];
            int known = 0;
            for (int i = 0; i < 26; i++) order[i] = -1;
            keys[1] = key(&a, order, &known, 1);
            keys[2] = key(&b, order, &known, 2);
            keys[0] = (keys[1] ^ keys[2] * 0xC2B2AE3D27D4EB4F) * 0x9E3779B97F4A7C15;
        }
        free(memory);
        free(stack);
        line = stop + 1;
    }
}
