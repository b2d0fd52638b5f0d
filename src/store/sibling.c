/*
 * Calls that ran side by side leave the chain a tree: each block of an answer hangs on the one
 * before it, each result on its call, and only one of the ends goes on. What is beside the way is
 * found by its answer's id and put back: blocks behind blocks, then results, both in the file's
 * order.
 */
#include <stdlib.h>

#include "store/chain.h"

/* An answer on the chain. */
struct group {
    uint64_t answer; /* 0: a free slot */
    size_t last;     /* place of its last block */
};

struct groups {
    struct group *slots;
    size_t mask;
};

/* One to be put back. */
struct extra {
    size_t at; /* behind this place */
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

/* The answer that a line is a block or a result of; 0: none. */
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

/* Two lists in the file's order as far as they are; the last one of the chain stays last when it
 * was asked for. */
struct merge {
    struct chain *c;
    const uint32_t *chain;
    size_t chain_len;
    const struct extra *extras;
    size_t extra_len;
    uint32_t last; /* or NODE_NONE */
};

static void merge_into(const struct merge *m, uint32_t *out)
{
    size_t i = 0;
    size_t j = 0;

    while (i < m->chain_len || j < m->extra_len) {
        bool is_chain = j == m->extra_len || (i < m->chain_len && m->chain[i] != m->last &&
                                              m->chain[i] < m->extras[j].node);

        *out++ = is_chain ? m->chain[i++] : m->extras[j++].node;
    }
}

/* How many entries from `at` on are results of the answer. */
static size_t result_run(struct chain *c, size_t at, uint64_t answer)
{
    size_t n = 0;

    while (at + n < c->entries.len && c->nodes[c->entries.ptr[at + n]].flags & LOAD_TOOL_RESULT &&
           answer_of(c, c->entries.ptr[at + n]) == answer)
        n++;
    return n;
}

/* How many entries up to and with `at` are its blocks. */
static size_t block_run(const struct chain *c, size_t at, uint64_t answer)
{
    size_t n = 0;

    while (n <= at && c->nodes[c->entries.ptr[at - n]].answer == answer)
        n++;
    return n;
}

void sibling_put_back(struct chain *c, uint32_t leaf)
{
    VEC(struct extra) extras = VEC_INIT;
    VEC(uint32_t) all = VEC_INIT;
    bool is_asked = c->spec->leaf.len > 0;
    struct groups groups;
    size_t from = 0;

    if (!c->entries.len || c->wants_more)
        return;
    groups_make(&groups, c);
    for (uint32_t i = 0; i < c->count; i++) {
        const struct node *n = &c->nodes[i];
        uint64_t answer;
        const struct group *g;

        if (n->marks & (MARK_GONE | MARK_CHAIN) || (n->flags & LOAD_SIDECHAIN && !c->is_agent))
            continue;
        answer = answer_of(c, i);
        if (!answer)
            continue;
        g = groups_slot(&groups, answer);
        /* Where the chain was asked to end, an answer's own results come behind. */
        if (!g->answer || (is_asked && c->entries.ptr[g->last] == leaf))
            continue;
        *vec_add(&extras) = (struct extra){g->last, i, n->kind != ENTRY_ASSISTANT};
    }
    mem_freep(&groups.slots);
    if (extras.len)
        qsort(extras.ptr, extras.len, sizeof(*extras.ptr), compare_extras);
    for (size_t i = 0, next; i < extras.len; i = next) {
        size_t at = extras.ptr[i].at;
        uint64_t answer = c->nodes[c->entries.ptr[at]].answer;
        size_t blocks = block_run(c, at, answer);
        size_t results = result_run(c, at + 1, answer);
        size_t middle = i;

        if (blocks > at + 1 - from)
            blocks = at + 1 - from;
        while (middle < extras.len && extras.ptr[middle].at == at && !extras.ptr[middle].is_result)
            middle++;
        next = middle;
        while (next < extras.len && extras.ptr[next].at == at)
            next++;
        while (from < at + 1 - blocks)
            vec_push(&all, c->entries.ptr[from++]);
        for (size_t k = 0; k < blocks + results + (next - i); k++)
            vec_add(&all);
        merge_into(&(struct merge){c, c->entries.ptr + from, blocks, extras.ptr + i, middle - i,
                                   NODE_NONE},
                   all.ptr + all.len - (blocks + results + (next - i)));
        merge_into(&(struct merge){c, c->entries.ptr + from + blocks, results, extras.ptr + middle,
                                   next - middle, is_asked ? leaf : NODE_NONE},
                   all.ptr + all.len - (results + (next - middle)));
        from += blocks + results;
    }
    if (extras.len) {
        while (from < c->entries.len)
            vec_push(&all, c->entries.ptr[from++]);
        for (size_t i = 0; i < extras.len; i++)
            c->nodes[extras.ptr[i].node].marks |= MARK_CHAIN;
        vec_release(&c->entries);
        c->entries.ptr = all.ptr;
        c->entries.len = all.len;
        c->entries.cap = all.cap;
    }
    vec_release(&extras);
}
