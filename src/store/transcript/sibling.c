/*
 * Parallel calls make the chain a tree: each block of an answer is attached to the one before it
 * and each result to its call, but only one of the branches continues. Lines off the path are found
 * by their answer's id and inserted: blocks after blocks, then results, both in the file's order.
 */
#include <stdlib.h>

#include "store/transcript/chain.h"

/* An answer on the chain. */
struct group {
    uint64_t answer; /* 0: a free slot */
    size_t last;     /* place of its last block */
};

struct groups {
    struct group *slots;
    size_t mask;
};

/* A line to insert. */
struct extra {
    size_t at; /* after this place */
    uint32_t node;
    bool is_result;
};

static struct group *groups_slot(const struct groups *g, uint64_t answer)
{
    size_t at = (answer >> 1) & g->mask; /* its lowest bit is always set */

    while (g->slots[at].answer && g->slots[at].answer != answer)
        at = (at + 1) & g->mask;
    return &g->slots[at];
}

static void groups_make(struct groups *g, const struct chain *c)
{
    size_t size = 16;

    while (size < c->entries.len * 2)
        size *= 2;
    *g = (struct groups){mem_zalloc(size * sizeof(*g->slots)), size - 1};
    for (size_t i = 0; i < c->entries.len; i++) {
        const struct node *n = &c->nodes[c->entries.ptr[i]];

        if (n->kind == ENTRY_ASSISTANT && n->answer)
            *groups_slot(g, n->answer) = (struct group){n->answer, i};
    }
}

/* The answer that a line is a block or result of; 0 if none. */
static uint64_t answer_of(struct chain *c, uint32_t i)
{
    const struct node *n = &c->nodes[i];
    uint32_t up;

    if (n->kind == ENTRY_ASSISTANT)
        return n->answer;
    if (!(n->flags & LOAD_TOOL_RESULT))
        return 0;
    up = chain_up(c, i);
    return up != NODE_NONE && c->nodes[up].kind == ENTRY_ASSISTANT ? c->nodes[up].answer : 0;
}

static int compare_extras(const void *a, const void *b)
{
    const struct extra *x = a;
    const struct extra *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->is_result != y->is_result)
        return x->is_result ? 1 : -1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* How many entries up to and with `at` are the answer's blocks. */
static size_t block_run(const struct chain *c, size_t at, uint64_t answer)
{
    size_t n = 0;

    while (n <= at && c->nodes[c->entries.ptr[at - n]].answer == answer)
        n++;
    return n;
}

/* How many entries from `at` on are its results. */
static size_t result_run(struct chain *c, size_t at, uint64_t answer)
{
    size_t n = 0;

    while (at + n < c->entries.len && c->nodes[c->entries.ptr[at + n]].flags & LOAD_TOOL_RESULT &&
           answer_of(c, c->entries.ptr[at + n]) == answer)
        n++;
    return n;
}

struct numbers {
    VEC(uint32_t) list;
};

/* Merges a run of the chain and its siblings in the file's order, if the chain has it; `last` stays
 * at the end. */
static void merge(struct numbers *out, const uint32_t *run, size_t run_len,
                  const struct extra *extras, size_t extra_len, uint32_t last)
{
    size_t i = 0;
    size_t j = 0;

    while (i < run_len || j < extra_len) {
        bool takes_run =
            j == extra_len || (i < run_len && run[i] != last && run[i] < extras[j].node);

        vec_push(&out->list, takes_run ? run[i++] : extras[j++].node);
    }
}

/* Finds the lines of answers on the chain that are not on it, with the place to insert them. */
static struct extra *find_extras(struct chain *c, uint32_t asked, size_t *ret_len)
{
    VEC(struct extra) found = VEC_INIT;
    struct groups groups;

    groups_make(&groups, c);
    for (uint32_t i = 0; i < c->count; i++) {
        const struct node *n = &c->nodes[i];
        const struct group *g;
        uint64_t answer;

        if (n->marks & (MARK_GONE | MARK_CHAIN) || (n->flags & LOAD_SIDECHAIN && !c->is_agent))
            continue;
        answer = answer_of(c, i);
        if (!answer)
            continue;
        g = groups_slot(&groups, answer);
        /* Where the chain was asked to end, the answer's results would come after. */
        if (g->answer && c->entries.ptr[g->last] != asked)
            *vec_add(&found) = (struct extra){g->last, i, n->kind != ENTRY_ASSISTANT};
    }
    mem_freep(&groups.slots);
    if (found.len)
        qsort(found.ptr, found.len, sizeof(*found.ptr), compare_extras);
    *ret_len = found.len;
    return found.ptr;
}

void sibling_put_back(struct chain *c, uint32_t leaf)
{
    uint32_t asked = c->spec->leaf.len ? leaf : NODE_NONE;
    struct numbers all = {VEC_INIT};
    struct extra *extras;
    size_t from = 0; /* entries before this are in `all` */
    size_t len;
    size_t next;

    if (!c->entries.len || c->wants_more)
        return;
    extras = find_extras(c, asked, &len);
    for (size_t i = 0; i < len; i = next) {
        size_t at = extras[i].at;
        uint64_t answer = c->nodes[c->entries.ptr[at]].answer;
        size_t blocks = block_run(c, at, answer);
        size_t results = result_run(c, at + 1, answer);
        size_t middle = i; /* where its results begin */

        while (middle < len && extras[middle].at == at && !extras[middle].is_result)
            middle++;
        next = middle;
        while (next < len && extras[next].at == at)
            next++;
        while (from < at + 1 - blocks)
            vec_push(&all.list, c->entries.ptr[from++]);
        merge(&all, c->entries.ptr + from, blocks, extras + i, middle - i, NODE_NONE);
        merge(&all, c->entries.ptr + from + blocks, results, extras + middle, next - middle, asked);
        from += blocks + results;
    }
    while (len && from < c->entries.len)
        vec_push(&all.list, c->entries.ptr[from++]);
    for (size_t i = 0; i < len; i++)
        c->nodes[extras[i].node].marks |= MARK_CHAIN;
    if (len) {
        c->entries.len = 0;
        VEC_EACH(&all.list, it) {
            vec_push(&c->entries, *it);
        }
    }
    vec_release(&all.list);
    mem_freep(&extras);
}
