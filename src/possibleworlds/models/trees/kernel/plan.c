#include "plan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

size_t plan_size(const PlanHeader *header) {
    const size_t numbers =
        3 * ((size_t)header->n_domains + 1) + (size_t)header->n_trees + (size_t)header->n_products;
    return sizeof *header + numbers * sizeof(int32_t) + (size_t)header->n_nodes * sizeof(Node);
}

void plan_open(const void *memory, Plan *plan) {
    const PlanHeader *header = memory;
    const size_t domains = (size_t)header->n_domains + 1;
    plan->header = header;
    plan->first_node = (const int32_t *)(header + 1);
    plan->first_product = plan->first_node + domains;
    plan->first_tree = plan->first_product + domains;
    plan->root = plan->first_tree + domains;
    plan->node = (const Node *)(plan->root + header->n_trees);
    plan->product_slot = (const int32_t *)(plan->node + header->n_nodes);
}

/* A plan in the making; nodes are numbered through all domains until the end. */
typedef struct {
    Node *node;
    int32_t *domain;             /* of each node */
    int32_t (*uses)[N_SLOTS];    /* of each node: how many others have it at which place */
    int32_t *root, *stack, *table;
    size_t table_mask;
    int32_t n_nodes;
} Draft;

/* The number of a node, which is new unless the domain has the same one already. */
static int32_t intern(Draft *draft, int32_t domain, int32_t symbol, int32_t left, int32_t right) {
    uint64_t hash = (uint64_t)(uint32_t)left * 0x9E3779B97F4A7C15u;
    hash = (hash ^ (uint32_t)right) * 0xC2B2AE3D27D4EB4Fu;
    hash = (hash ^ ((uint64_t)(uint32_t)domain << 8) ^ (uint32_t)symbol) * 0x9E3779B97F4A7C15u;
    size_t at = (size_t)(hash >> 32) & draft->table_mask;
    for (; draft->table[at] >= 0; at = (at + 1) & draft->table_mask) {
        const int32_t i = draft->table[at];
        const Node *other = &draft->node[i];
        if (other->symbol == symbol && draft->domain[i] == domain && other->argument[0] == left &&
            other->argument[1] == right)
            return i;
    }
    const int32_t i = draft->n_nodes++;
    draft->table[at] = i;
    draft->domain[i] = domain;
    draft->node[i] = (Node){symbol, {left, right}, {-1, -1}, 0, 0};
    if (left >= 0) draft->uses[left][slot_of(symbol, 0)]++;
    if (right >= 0) draft->uses[right][slot_of(symbol, 1)]++;
    return i;
}

/* Returns whether all formulas are in reverse Polish. */
static bool intern_trees(Draft *draft, const Trees *trees) {
    for (int32_t t = 0; t < trees->n_trees; t++) {
        const int64_t formula = trees->formula[t];
        const int32_t domain = t / trees->domain_size;
        int32_t *top = draft->stack;
        for (int64_t i = trees->offset[formula]; i < trees->offset[formula + 1]; i++) {
            const int32_t symbol = trees->code[i];
            if (symbol >= N_OPERATORS) {
                if (symbol >= N_OPERATORS + N_VARIABLES) return false;
                const uint8_t *names = trees->variable + (size_t)t * N_VARIABLES;
                const int32_t name = names[symbol - N_OPERATORS];
                if (name >= N_VARIABLES) return false;
                *top++ = intern(draft, domain, N_OPERATORS + name, -1, -1);
            } else {
                if (top - draft->stack < (symbol ? 2 : 1)) return false;
                const int32_t right = symbol ? *--top : -1;
                top[-1] = intern(draft, domain, symbol, top[-1], right);
            }
        }
        if (top != draft->stack + 1) return false;
        draft->root[t] = draft->stack[0];
    }
    return true;
}

/* Give products to nodes that several others have at the same place; returns how many. */
static int32_t number_products(Draft *draft) {
    int32_t n = 0;
    for (int32_t i = 0; i < draft->n_nodes; i++) {
        draft->node[i].first_product = n;
        for (int32_t slot = 0; slot < N_SLOTS; slot++) {
            const int32_t product = draft->uses[i][slot] > 1 ? n++ : -1;
            draft->uses[i][slot] = product; /* from here on: which product, not how many uses */
        }
        draft->node[i].n_products = n - draft->node[i].first_product;
    }
    return n;
}

static void *finish(const Draft *draft, const Trees *trees, int32_t n_products, size_t *size) {
    PlanHeader header = {trees->n_trees, 0, draft->n_nodes, n_products, 0, 0};
    header.n_domains = (trees->n_trees + trees->domain_size - 1) / trees->domain_size;
    *size = plan_size(&header);
    char *memory = malloc(*size);
    if (!memory) return NULL;
    memcpy(memory, &header, sizeof header);
    Plan plan;
    plan_open(memory, &plan);
    int32_t *first_node = (int32_t *)plan.first_node, *root = (int32_t *)plan.root;
    int32_t *first_product = (int32_t *)plan.first_product, *slots = (int32_t *)plan.product_slot;
    int32_t *first_tree = (int32_t *)plan.first_tree;
    Node *nodes = (Node *)plan.node;

    int32_t i = 0;
    for (int32_t domain = 0; domain < header.n_domains; domain++) {
        const int32_t base = i, tree = domain * trees->domain_size;
        const int32_t base_product = draft->node[i].first_product;
        first_node[domain] = base;
        first_product[domain] = base_product;
        first_tree[domain] = tree;
        for (; i < draft->n_nodes && draft->domain[i] == domain; i++) {
            Node node = draft->node[i];
            for (int32_t slot = 0; slot < N_SLOTS; slot++)
                if (draft->uses[i][slot] >= 0) slots[draft->uses[i][slot]] = slot;
            for (int32_t side = 0; side < 2; side++) {
                const int32_t argument = node.argument[side];
                if (argument < 0) continue;
                const int32_t product = draft->uses[argument][slot_of(node.symbol, side)];
                node.argument[side] = argument - base;
                node.product[side] = product < 0 ? -1 : product - base_product;
            }
            node.first_product -= base_product;
            nodes[i] = node;
        }
        const int32_t end = i < draft->n_nodes ? draft->node[i].first_product : n_products;
        if (i - base > header.most_nodes) header.most_nodes = i - base;
        if (end - base_product > header.most_products) header.most_products = end - base_product;
        for (int32_t t = tree; t < trees->n_trees && t < tree + trees->domain_size; t++)
            root[t] = draft->root[t] - base;
    }
    first_node[header.n_domains] = draft->n_nodes;
    first_product[header.n_domains] = n_products;
    first_tree[header.n_domains] = trees->n_trees;
    memcpy(memory, &header, sizeof header); /* now that it is known how much a domain has at most */
    return memory;
}

void *plan_build(const Trees *trees, size_t *size) {
    size_t length = 1, longest = 1;
    for (int32_t t = 0; t < trees->n_trees; t++) {
        const int64_t *offset = trees->offset + trees->formula[t];
        const size_t symbols = (size_t)(offset[1] - offset[0]);
        length += symbols;
        if (symbols > longest) longest = symbols;
    }
    Draft draft = {0};
    size_t table_size = 16;
    while (table_size < 2 * length) table_size *= 2;
    draft.table_mask = table_size - 1;
    draft.node = malloc(length * sizeof *draft.node);
    draft.domain = malloc(length * sizeof *draft.domain);
    draft.uses = calloc(length, sizeof *draft.uses);
    draft.root = malloc(((size_t)trees->n_trees + 1) * sizeof *draft.root);
    draft.stack = malloc(longest * sizeof *draft.stack);
    draft.table = malloc(table_size * sizeof *draft.table);
    void *plan = NULL;
    if (draft.node && draft.domain && draft.uses && draft.root && draft.stack && draft.table) {
        memset(draft.table, -1, table_size * sizeof *draft.table);
        if (intern_trees(&draft, trees)) {
            plan = finish(&draft, trees, number_products(&draft), size);
        }
    }
    free(draft.node);
    free(draft.domain);
    free(draft.uses);
    free(draft.root);
    free(draft.stack);
    free(draft.table);
    return plan;
}
