/*
 * The conversation among all that a transcript holds: from the newest leaf to its root, or to the
 * last boundary, in order.
 *
 * Removed lines (snips, tombstones) and other than messages (progress, unknown kinds) are skipped:
 * their children hang on the nearest remaining ancestor. A boundary without children, or whose last
 * line is missing, was never finished, and counts as removed. Of two lines with one id the later
 * one counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strv.h"
#include "base/vec.h"
#include "store/transcript/load.h"
#include "store/transcript/scan.h"

struct err;
struct json;

/* node.marks */
enum chain_marks {
    MARK_GONE = 1,    /* taken out */
    MARK_CHILD = 2,   /* something hangs on it */
    MARK_LOST = 4,    /* has a parent, but not among the scanned lines */
    MARK_PATH = 8,    /* for chain_up() and others, while they run */
    MARK_SEEN = 16,   /* on the way from the leaf */
    MARK_BARREN = 32, /* no message at or above it */
    MARK_KEPT = 64,   /* preserved over the boundary that is being tried */
    MARK_CHAIN = 128, /* in the result */
};

struct chain {
    const struct line_source *source;
    const struct load_spec *spec;
    bool is_agent;   /* sidechain entries are the chain */
    bool is_partial; /* there are lines that were not scanned */

    struct node *nodes; /* in the file's order */
    uint32_t count;
    uint32_t *slots; /* hash table of ids: numbers of nodes */
    size_t slot_mask;

    VEC(uint32_t) entries; /* the chain, oldest first */
    bool has_boundary;     /* it begins with one, which stands there: */
    uint64_t boundary;
    bool wants_more; /* something named a line that was not scanned: widen, and build anew */
    struct strv warnings;
};

/* From the nodes of all parts that are full. ERR_NOT_FOUND: the leaf that was asked for. */
int chain_build(struct chain *c, const struct scan *s, const struct load_spec *spec,
                struct err *err);
void chain_release(struct chain *c);

uint32_t chain_find(const struct chain *c, struct uid id); /* or NODE_NONE */

/* For the files that build it (chain.c, walk.c, sibling.c). */
static inline bool chain_is_live(const struct node *n)
{
    return !(n->marks & MARK_GONE);
}
/* The nearest ancestor that is left; NODE_NONE at the top, where MARK_LOST says of the node itself
 * whether more should be there. */
uint32_t chain_up(struct chain *c, uint32_t node);
void chain_warn(struct chain *c, const char *text);
/* The line of a node, parsed; NULL when it cannot be. */
const struct json *chain_json(const struct chain *c, uint32_t node, struct arena *arena);

/* From the leaf up, into entries, oldest first. */
void walk_chain(struct chain *c, uint32_t leaf);
/* Parallel calls and results that are beside the way, put where they belong. */
void sibling_put_back(struct chain *c, uint32_t leaf);
