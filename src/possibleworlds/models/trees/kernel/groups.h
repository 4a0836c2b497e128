/* The inner nodes of trees, in groups of one operator, each with its arguments before it. */
#ifndef POSSIBLEWORLDS_GROUPS_H
#define POSSIBLEWORLDS_GROUPS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const int32_t *group;    /* [groups, 2]: operator, and number of rows */
    const int64_t *argument; /* [inner, 2]: rows; a negation's second one is ignored */
    int32_t n_groups;
    size_t n, largest;       /* rows of all groups, and of the largest */
} Groups;

static inline int32_t arity_of(int32_t op) { return op ? 2 : 1; }

#endif
