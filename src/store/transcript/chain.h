/*
 * Finds the conversation in a transcript: the path from the newest leaf to its root, or to the last
 * boundary, in order.
 *
 * Removed lines (snips, tombstones) and lines that are not messages (progress, unknown kinds) are
 * skipped: their children are attached to the nearest remaining ancestor. A boundary without
 * children, or whose last line is missing, was never finished and counts as removed. Of two lines
 * with the same id the later one is used.
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
    MARK_GONE = 1,    /* removed */
    MARK_CHILD = 2,   /* has a child */
    MARK_LOST = 4,    /* has a parent that was not scanned */
    MARK_PATH = 8,    /* used by chain_up() and others while they run */
    MARK_SEEN = 16,   /* on the path from the leaf */
    MARK_BARREN = 32, /* no message at or above it */
    MARK_KEPT = 64,   /* preserved by the boundary that is being tried */
    MARK_CHAIN = 128, /* part of the result */
};

struct chain {
    const struct line_source *source;
    const struct load_spec *spec;
    bool is_agent;   /* the chain consists of sidechain entries */
    bool is_partial; /* some lines were not scanned */

    struct node *nodes; /* in file order */
    uint32_t count;
    uint32_t *slots; /* hash table of ids: node numbers */
    size_t slot_mask;

    VEC(uint32_t) entries; /* the chain, oldest first */
    bool has_boundary;     /* it begins with a boundary, namely: */
    uint64_t boundary;
    bool wants_more; /* a line that was not scanned is needed: call scan_widen() and build again */
    struct strv warnings;
};

/* Builds the chain from the nodes of all fully scanned parts. ERR_NOT_FOUND: the requested leaf
 * does not exist. */
int chain_build(struct chain *c, const struct scan *s, const struct load_spec *spec,
                struct err *err);
void chain_release(struct chain *c);

uint32_t chain_find(const struct chain *c, struct uid id); /* or NODE_NONE */

/* For chain.c, walk.c and sibling.c only. */
static inline bool chain_is_live(const struct node *n)
{
    return !(n->marks & MARK_GONE);
}
/* The nearest remaining ancestor. NODE_NONE at the top; MARK_LOST on the node then means that there
 * should be one. */
uint32_t chain_up(struct chain *c, uint32_t node);
void chain_warn(struct chain *c, const char *text);
/* The parsed line of a node; NULL if it is invalid. */
const struct json *chain_json(const struct chain *c, uint32_t node, struct arena *arena);

/* Collects entries from the leaf up, oldest first. */
void walk_chain(struct chain *c, uint32_t leaf);
/* Inserts parallel calls and results that are not on the path. */
void sibling_put_back(struct chain *c, uint32_t leaf);
