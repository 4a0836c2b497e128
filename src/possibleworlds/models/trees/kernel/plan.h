/* What is to be evaluated: the distinct subformulas of a batch, each domain's in an order where
 * arguments come first.
 *
 * A domain is a set of trees that are evaluated in the same worlds, so that equal subformulas have
 * equal vectors there and are evaluated once. Where several nodes have the same subformula at the
 * same place, W1 times its vectors is computed once, too: a `Product`.
 *
 * Example, one domain with the trees (a & b) > a and a & b, which in reverse Polish are ab&a> ab&:
 *   nodes     0: a    1: b    2: & of 0, 1    3: > of 2, 0
 *   roots     3, 2
 *   products  none: no two distinct nodes have the same argument at the same place
 */
#ifndef POSSIBLEWORLDS_PLAN_H
#define POSSIBLEWORLDS_PLAN_H

#include <stddef.h>
#include <stdint.h>

enum { N_OPERATORS = 4, N_VARIABLES = 26, N_SLOTS = 7 };

typedef struct {
    int32_t symbol;        /* 0-3 for ~ & | >, from 4 on a variable */
    int32_t argument[2];   /* nodes of the same domain, counted from its first; -1: none */
    int32_t product[2];    /* the product to use for the argument, likewise; -1: none */
    int32_t first_product; /* the products of this node itself, */
    int32_t n_products;    /* and how many */
} Node;

typedef struct {
    int32_t n_trees, n_domains, n_nodes, n_products;
    int32_t most_nodes, most_products; /* of any domain */
} PlanHeader;

typedef struct {
    const PlanHeader *header;
    const int32_t *first_node;    /* of each domain, and the end of the last */
    const int32_t *first_product; /* likewise */
    const int32_t *first_tree;    /* likewise */
    const int32_t *root;          /* of each tree: its node, counted from the first of the domain */
    const Node *node;
    const int32_t *product_slot;  /* of each product: the place for which it is */
} Plan;

/* The formulas of a batch: code[offset[f]] to code[offset[f + 1]] is formula f in reverse Polish. */
typedef struct {
    const uint8_t *code;
    const int64_t *offset;
    const int64_t *formula;  /* of each tree */
    const uint8_t *variable; /* [trees, 26]: what each tree has in the place of a, b, ... */
    int32_t n_trees;
    int32_t domain_size; /* trees in each domain, the last may have fewer */
} Trees;

/* The slot of an operator's argument: ~, & left, & right, | left, ... */
static inline int32_t slot_of(int32_t symbol, int32_t side) {
    return symbol ? 2 * symbol - 1 + side : 0;
}

/* The size in bytes of a plan, which begins with its header. */
size_t plan_size(const PlanHeader *header);

/* Find the parts of a plan. */
void plan_open(const void *memory, Plan *plan);

/* Build a plan in memory from malloc; NULL where that fails or a formula is not well-formed. */
void *plan_build(const Trees *trees, size_t *size);

#endif
