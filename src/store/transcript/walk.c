/*
 * Walks from the leaf to the boundary. Messages that a compaction kept are before their boundary in
 * the file and after it in the conversation: their links are changed for one attempt, which
 * succeeds if it ends at that boundary. If none does, the original links are used.
 */
#include <string.h>

#include "base/arena.h"
#include "json/json.h"
#include "store/transcript/chain.h"

#define MAX_ATTEMPTS 16 /* boundaries with kept messages that are tried, newest first */
#define MAX_KEPT 100000 /* messages that a boundary may name */
#define MARGIN 256      /* lines within which all blocks and results of an answer stand */

/* The messages kept by one boundary. */
struct keep {
    uint32_t boundary;
    uint32_t anchor; /* parent of the first one; its other children are attached to the last one */
    VEC(uint32_t) nodes;   /* oldest first */
    VEC(uint32_t) written; /* their original parents */
    bool is_lost;          /* one of them was not scanned */
};

static void keep_release(struct keep *k)
{
    vec_release(&k->nodes);
    vec_release(&k->written);
}

/* Adds a kept line; one that was removed since is not kept any more, which is not an error. */
static bool keep_add(struct chain *c, struct keep *k, uint32_t node)
{
    if (node == NODE_NONE || node == k->boundary || node == k->anchor || k->nodes.len >= MAX_KEPT ||
        c->nodes[node].marks & MARK_PATH)
        return false;
    c->nodes[node].marks |= MARK_PATH;
    vec_push(&k->nodes, node);
    return true;
}

static uint32_t keep_find(struct chain *c, struct keep *k, const struct json *id)
{
    struct str text = json_str(id);
    uint32_t node = chain_find(c, uid_of(text));

    k->is_lost |= node == NODE_NONE && text.len;
    return node;
}

/* preservedMessages: all are named. */
static bool keep_list(struct chain *c, struct keep *k, const struct json *list)
{
    JSON_EACH(json_get(list, "uuids"), id) {
        if (!keep_add(c, k, keep_find(c, k, id)))
            return false;
    }
    return true;
}

/* preservedSegment: from the tail by its parents to the head. */
static bool keep_segment(struct chain *c, struct keep *k, const struct json *segment)
{
    uint32_t head = keep_find(c, k, json_get(segment, "headUuid"));
    uint32_t at = keep_find(c, k, json_get(segment, "tailUuid"));

    if (head == NODE_NONE)
        return false;
    while (keep_add(c, k, at)) {
        struct uid parent = c->nodes[at].parent;

        if (at == head) {
            for (size_t i = 0, j = k->nodes.len - 1; i < j; i++, j--) {
                uint32_t swap = k->nodes.ptr[i];

                k->nodes.ptr[i] = k->nodes.ptr[j];
                k->nodes.ptr[j] = swap;
            }
            return true;
        }
        at = chain_find(c, parent);
        k->is_lost |= at == NODE_NONE && !uid_is_none(parent);
    }
    return false;
}

static bool keep_read(struct chain *c, struct keep *k)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *meta = json_get(chain_json(c, k->boundary, &arena), "compactMetadata");
    const struct json *list = json_get(meta, "preservedMessages");
    const struct json *segment = json_get(meta, "preservedSegment");
    bool is_list = json_is(list, JSON_OBJECT);
    size_t live = 0;
    bool is_whole;

    k->anchor = keep_find(c, k, json_get(is_list ? list : segment, "anchorUuid"));
    is_whole =
        k->anchor != NODE_NONE && (is_list ? keep_list(c, k, list) : keep_segment(c, k, segment));
    VEC_EACH(&k->nodes, it) {
        c->nodes[*it].marks &= (uint8_t)~MARK_PATH;
        if (chain_is_live(&c->nodes[*it]))
            k->nodes.ptr[live++] = *it;
    }
    k->nodes.len = live;
    if (is_whole && !chain_is_live(&c->nodes[k->anchor])) {
        k->anchor = chain_up(c, k->anchor);
        if (k->anchor == NODE_NONE)
            k->anchor = k->boundary;
    }
    return is_whole;
}

/* Whether one of them is among the first lines that were scanned. */
static bool keep_is_near(const struct keep *k, uint32_t margin)
{
    VEC_EACH(&k->nodes, it) {
        if (*it < margin)
            return true;
    }
    return false;
}

/* Changes the links of kept lines, or changes them back. */
static void keep_apply(struct chain *c, struct keep *k)
{
    for (size_t i = 0; i < k->nodes.len; i++) {
        struct node *n = &c->nodes[k->nodes.ptr[i]];

        chain_up(c, k->nodes.ptr[i]);
        vec_push(&k->written, n->up);
        n->up = i ? k->nodes.ptr[i - 1] : k->anchor;
        n->marks |= MARK_KEPT;
    }
}

/* A copied conversation has them after their boundary, so their position proves nothing. */
static void keep_note(struct chain *c, const struct keep *k)
{
    VEC_EACH(&k->nodes, it) {
        c->nodes[*it].flags |= LOAD_PRESERVED;
    }
}

static void keep_undo(struct chain *c, struct keep *k)
{
    for (size_t i = 0; i < k->written.len; i++) {
        c->nodes[k->nodes.ptr[i]].up = k->written.ptr[i];
        c->nodes[k->nodes.ptr[i]].marks &= (uint8_t)~MARK_KEPT;
    }
}

/* If there are no later messages, the kept ones come last. */
static uint32_t keep_leaf(const struct chain *c, const struct keep *k, uint32_t leaf)
{
    bool is_last = leaf == k->anchor && k->nodes.len && !c->spec->leaf.len;

    return is_last ? k->nodes.ptr[k->nodes.len - 1] : leaf;
}

static uint32_t walk_up(struct chain *c, const struct keep *k, uint32_t i)
{
    uint32_t up = chain_up(c, i);

    if (k && k->nodes.len && up == k->anchor && !(c->nodes[i].marks & MARK_KEPT))
        return k->nodes.ptr[k->nodes.len - 1];
    return up;
}

/* Adds the lines between the leaf and its boundary, newest first; returns the boundary, or
 * NODE_NONE. */
static uint32_t walk_try(struct chain *c, uint32_t leaf, const struct keep *k, bool *ret_lost,
                         bool *ret_circle)
{
    *ret_lost = false;
    *ret_circle = false;
    for (uint32_t i = leaf; i != NODE_NONE;) {
        uint32_t up;

        if (c->nodes[i].marks & MARK_SEEN) {
            *ret_circle = true;
            break;
        }
        c->nodes[i].marks |= MARK_SEEN;
        vec_push(&c->entries, i);
        if (c->nodes[i].flags & LOAD_BOUNDARY)
            return i;
        up = walk_up(c, k, i);
        *ret_lost = up == NODE_NONE && c->nodes[i].marks & MARK_LOST;
        i = up;
    }
    return NODE_NONE;
}

static void walk_forget(struct chain *c, size_t from)
{
    for (size_t i = from; i < c->entries.len; i++)
        c->nodes[c->entries.ptr[i]].marks &= (uint8_t)~MARK_SEEN;
    c->entries.len = from;
}

/* The line before the boundary. */
static uint32_t walk_beyond(struct chain *c, uint32_t boundary)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    uint32_t up = chain_up(c, boundary);
    struct str logical;

    if (up != NODE_NONE)
        return up;
    logical = json_get_str(chain_json(c, boundary, &arena), "logicalParentUuid");
    up = chain_find(c, uid_of(logical));
    return up == NODE_NONE || chain_is_live(&c->nodes[up]) ? up : chain_up(c, up);
}

/* For readers, who also see the lines before the boundary: kept lines are shown at their original
 * place. */
static void walk_drop_kept(struct chain *c, size_t from, uint32_t beyond)
{
    size_t len = from;

    /* The boundary may follow a line that is not kept, such as the end of a turn. */
    for (uint32_t n = 0;
         n < c->count && beyond != NODE_NONE && !(c->nodes[beyond].marks & MARK_KEPT); n++)
        beyond = chain_up(c, beyond);
    if (beyond == NODE_NONE || !(c->nodes[beyond].marks & MARK_KEPT))
        return;
    for (size_t i = from; i < c->entries.len; i++) {
        uint32_t node = c->entries.ptr[i];

        if (c->nodes[node].marks & MARK_KEPT)
            c->nodes[node].marks &= (uint8_t)~MARK_SEEN;
        else
            c->entries.ptr[len++] = node;
    }
    c->entries.len = len;
}

/* From a leaf to its boundary, with the lines that it keeps; returns where to continue, or
 * NODE_NONE. `before`: tries only boundaries before this one. */
static uint32_t walk_part(struct chain *c, uint32_t leaf, uint32_t before)
{
    size_t from = c->entries.len;
    unsigned attempts = 0;
    uint32_t boundary;
    bool is_lost;
    bool is_circle;

    for (uint32_t i = before; i-- > 0 && attempts < MAX_ATTEMPTS;) {
        CLEANUP(keep_release) struct keep k = {.boundary = i};
        uint32_t beyond;

        if (!(c->nodes[i].flags & LINE_KEEPS) || !chain_is_live(&c->nodes[i]))
            continue;
        attempts++;
        if (!keep_read(c, &k)) {
            c->wants_more |= k.is_lost && c->is_partial;
            chain_warn(c, "messages that a compaction kept are not in the transcript; "
                          "only its summary is used");
            continue;
        }
        keep_apply(c, &k);
        boundary = walk_try(c, keep_leaf(c, &k, leaf), &k, &is_lost, &is_circle);
        if (boundary == i) {
            c->wants_more |= c->is_partial && keep_is_near(&k, MARGIN);
            beyond = c->spec->whole ? walk_beyond(c, i) : NODE_NONE;
            if (c->spec->whole)
                walk_drop_kept(c, from, beyond);
            else
                keep_note(c, &k);
            keep_undo(c, &k);
            c->has_boundary = true;
            c->boundary = c->nodes[i].offset;
            return beyond;
        }
        walk_forget(c, from);
        keep_undo(c, &k);
    }
    boundary = walk_try(c, leaf, /*k=*/NULL, &is_lost, &is_circle);
    if (is_circle)
        chain_warn(c, "the transcript's links go in a circle; earlier lines are left out");
    if (is_lost && c->is_partial)
        c->wants_more = true;
    else if (is_lost)
        chain_warn(c, "the beginning of the conversation is not in the transcript");
    if (boundary == NODE_NONE)
        return NODE_NONE;
    c->has_boundary = true;
    c->boundary = c->nodes[boundary].offset;
    return c->spec->whole ? walk_beyond(c, boundary) : NODE_NONE;
}

void walk_chain(struct chain *c, uint32_t leaf)
{
    uint32_t before = c->count;

    while (leaf != NODE_NONE && !c->wants_more) {
        uint32_t last;

        leaf = walk_part(c, leaf, before);
        if (!c->entries.len)
            break;
        last = c->entries.ptr[c->entries.len - 1];
        before = c->nodes[last].flags & LOAD_BOUNDARY ? last : before;
    }
    for (size_t i = 0, j = c->entries.len; i < j--; i++) {
        uint32_t swap = c->entries.ptr[i];

        c->entries.ptr[i] = c->entries.ptr[j];
        c->entries.ptr[j] = swap;
    }
    VEC_EACH(&c->entries, it) {
        c->nodes[*it].marks |= MARK_CHAIN;
    }
}
