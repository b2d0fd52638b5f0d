/*
 * The chain: parents, removed lines, and the newest leaf. walk.c follows the links, sibling.c
 * handles parallel calls. Each step is linear in the number of lines, for any links: paths over
 * removed lines are shortened as they are used. Any thread; one thread per chain.
 */
#include "store/transcript/chain.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "json/json.h"

void chain_release(struct chain *c)
{
    mem_freep(&c->nodes);
    mem_freep(&c->slots);
    vec_release(&c->entries);
    strv_release(&c->warnings);
}

void chain_warn(struct chain *c, const char *text)
{
    if (!strv_has(&c->warnings, str_of(text)))
        strv_adds(&c->warnings, text);
}

const struct json *chain_json(const struct chain *c, uint32_t node, struct arena *arena)
{
    return source_json(c->source, c->nodes[node].offset, c->nodes[node].len, arena);
}

/* ---- ids ---- */

static uint32_t *chain_slot(const struct chain *c, struct uid id)
{
    size_t at = id.hi & c->slot_mask;

    while (c->slots[at] != NODE_NONE && !uid_eq(c->nodes[c->slots[at]].id, id))
        at = (at + 1) & c->slot_mask;
    return &c->slots[at];
}

uint32_t chain_find(const struct chain *c, struct uid id)
{
    return uid_is_none(id) ? NODE_NONE : *chain_slot(c, id);
}

static void chain_index(struct chain *c)
{
    size_t size = 16;

    while (size < (size_t)c->count * 2)
        size *= 2;
    c->slots = mem_alloc(size * sizeof(*c->slots));
    memset(c->slots, 0xff, size * sizeof(*c->slots));
    c->slot_mask = size - 1;
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t *slot = chain_slot(c, c->nodes[i].id);

        if (*slot != NODE_NONE)
            c->nodes[*slot].marks |= MARK_GONE;
        *slot = i;
        if (!entry_kind_is_link(c->nodes[i].kind))
            c->nodes[i].marks |= MARK_GONE;
    }
}

/* ---- removed lines ---- */

static void chain_take_out(struct chain *c, const struct json *id)
{
    uint32_t target = chain_find(c, uid_of(json_str(id)));

    if (target != NODE_NONE)
        c->nodes[target].marks |= MARK_GONE;
}

static void chain_apply_removals(struct chain *c)
{
    unsigned flags = LINE_TOMBSTONE | (c->spec->whole ? 0u : LINE_SNIP);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;

    for (uint32_t i = 0; i < c->count; i++) {
        const struct json *line;

        if (!(c->nodes[i].flags & flags))
            continue;
        arena_reset(&arena);
        line = chain_json(c, i, &arena);
        if (c->nodes[i].flags & flags & LINE_TOMBSTONE)
            chain_take_out(c, json_get(line, "targetUuid"));
        if (!(c->nodes[i].flags & flags & LINE_SNIP))
            continue;
        JSON_EACH(json_get(line, "removedUuids"), id) {
            chain_take_out(c, id);
        }
        JSON_EACH(json_path(line, "snipMetadata.removedUuids"), id) {
            chain_take_out(c, id);
        }
    }
}

/* A compaction is written in one piece, and what it keeps is attached to its last line. If that
 * line is missing, the compaction was not completed: its lines and its summary are removed. */
static void chain_drop_unfinished(struct chain *c, uint32_t boundary)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *line = chain_json(c, boundary, &arena);
    struct str anchor = json_str(json_path(line, "compactMetadata.preservedMessages.anchorUuid"));
    uint32_t last = boundary;

    if (!anchor.len || chain_find(c, uid_of(anchor)) != NODE_NONE)
        return;
    c->nodes[boundary].marks |= MARK_GONE;
    for (uint32_t i = boundary + 1; i < c->count && chain_find(c, c->nodes[i].parent) == last &&
                                    c->nodes[i].flags & (LOAD_SUMMARY | LOAD_META);
         i++) {
        c->nodes[i].marks |= MARK_GONE;
        last = i;
    }
}

static void chain_finish_compactions(struct chain *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->nodes[i].flags & LINE_KEEPS && chain_is_live(&c->nodes[i]))
            chain_drop_unfinished(c, i);
    }
}

/* ---- links ---- */

/* The new parent for children of a removed boundary: its parent, or the line before it. */
static struct uid chain_parent(const struct chain *c, uint32_t i)
{
    const struct node *n = &c->nodes[i];
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;

    if (!(n->flags & LOAD_BOUNDARY) || chain_is_live(n) || !uid_is_none(n->parent))
        return n->parent;
    return uid_of(json_get_str(chain_json(c, i, &arena), "logicalParentUuid"));
}

static void chain_link(struct chain *c, uint32_t i)
{
    struct uid parent = chain_parent(c, i);

    c->nodes[i].up = chain_find(c, parent);
    if (!uid_is_none(parent) && c->nodes[i].up == NODE_NONE)
        c->nodes[i].marks |= MARK_LOST;
}

uint32_t chain_up(struct chain *c, uint32_t node)
{
    uint32_t top = c->nodes[node].up;
    uint32_t last = node;
    uint32_t next;
    unsigned lost;

    if (top == NODE_NONE || chain_is_live(&c->nodes[top]))
        return top;
    while (top != NODE_NONE && !chain_is_live(&c->nodes[top]) &&
           !(c->nodes[top].marks & MARK_PATH)) {
        c->nodes[top].marks |= MARK_PATH;
        last = top;
        top = c->nodes[top].up;
    }
    lost = top == NODE_NONE ? c->nodes[last].marks & MARK_LOST : 0;
    if (top != NODE_NONE && !chain_is_live(&c->nodes[top]))
        top = NODE_NONE; /* removed lines form a cycle */
    /* Path compression: the next walk from here takes one step. */
    for (uint32_t i = c->nodes[node].up; i != NODE_NONE && c->nodes[i].marks & MARK_PATH;
         i = next) {
        next = c->nodes[i].up;
        c->nodes[i].up = top;
        c->nodes[i].marks = (uint8_t)((c->nodes[i].marks & ~MARK_PATH) | lost);
    }
    c->nodes[node].up = top;
    c->nodes[node].marks |= (uint8_t)lost;
    return top;
}

static bool chain_is_ours(const struct chain *c, const struct node *n)
{
    return chain_is_live(n) && (c->is_agent || !(n->flags & LOAD_SIDECHAIN));
}

static void chain_mark_parent(struct chain *c, uint32_t i)
{
    uint32_t up = chain_up(c, i);

    if (up != NODE_NONE)
        c->nodes[up].marks |= MARK_CHILD;
}

/* Marks lines that have children; a boundary without one is unfinished (its summary was not
 * written), and the lines before it still are the conversation. */
static void chain_mark_children(struct chain *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (chain_is_ours(c, &c->nodes[i]) && !(c->nodes[i].flags & LOAD_BOUNDARY))
            chain_mark_parent(c, i);
    }
    for (uint32_t i = c->count; i-- > 0;) {
        struct node *n = &c->nodes[i];

        if (!chain_is_ours(c, n) || !(n->flags & LOAD_BOUNDARY))
            continue;
        if (n->marks & MARK_CHILD) {
            chain_mark_parent(c, i);
        } else {
            n->marks |= MARK_GONE;
            chain_link(c, i); /* to the line before it */
        }
    }
}

/* ---- the leaf ---- */

static bool is_message(const struct node *n)
{
    return n->kind != ENTRY_SYSTEM || n->flags & LOAD_BOUNDARY;
}

/* System lines that have only each other as ancestors are not a conversation, even if newest. */
static bool chain_has_message(struct chain *c, uint32_t i)
{
    uint32_t last = i;

    while (i != NODE_NONE && !(c->nodes[i].marks & MARK_BARREN)) {
        if (is_message(&c->nodes[i]))
            return true;
        c->nodes[i].marks |= MARK_BARREN;
        last = i;
        i = chain_up(c, i);
    }
    if (i == NODE_NONE && c->is_partial && c->nodes[last].marks & MARK_LOST)
        c->wants_more = true;
    return false;
}

static uint32_t chain_newest(struct chain *c)
{
    uint32_t message = NODE_NONE;
    uint32_t any = NODE_NONE;

    for (uint32_t i = c->count; i-- > 0;) {
        const struct node *n = &c->nodes[i];

        if (!chain_is_ours(c, n))
            continue;
        if (!(n->marks & MARK_CHILD) && chain_has_message(c, i))
            return i;
        if (message == NODE_NONE && is_message(n))
            message = i;
        if (any == NODE_NONE)
            any = i;
    }
    c->wants_more = c->is_partial;
    /* A cycle of links has no leaf. */
    return message != NODE_NONE ? message : any;
}

/* Finds the requested leaf by its id or its answer's; NODE_NONE and true means an empty chain. */
static bool chain_asked(struct chain *c, uint32_t *ret)
{
    struct uid id = uid_of(c->spec->leaf);
    uint32_t leaf = chain_find(c, id);

    for (uint32_t i = c->count; leaf == NODE_NONE && i-- > 0;) {
        if (c->nodes[i].answer == id.lo && c->nodes[i].kind == ENTRY_ASSISTANT &&
            chain_is_ours(c, &c->nodes[i]))
            leaf = i;
    }
    if (leaf == NODE_NONE)
        return false;
    if (c->spec->is_before && !uid_eq(c->nodes[leaf].id, id)) {
        for (uint32_t up = leaf;
             up != NODE_NONE && c->nodes[up].answer == id.lo && !(c->nodes[up].marks & MARK_BARREN);
             up = chain_up(c, up)) {
            c->nodes[up].marks |= MARK_BARREN; /* end of a cycle */
            leaf = up;
        }
    }
    *ret = leaf;
    if (c->spec->is_before || !chain_is_live(&c->nodes[leaf])) {
        *ret = chain_up(c, leaf);
        if (*ret == NODE_NONE && c->nodes[leaf].marks & MARK_LOST)
            c->wants_more = c->is_partial;
    }
    return true;
}

/* ---- all of it ---- */

static void chain_collect(struct chain *c, const struct scan *s)
{
    size_t count = 0;
    bool has_main = false;

    for (size_t i = s->full_from; i < s->part_count; i++) {
        count += s->parts[i].nodes.len;
        has_main |= s->parts[i].has_main;
    }
    /* Node numbers have 32 bits; of a file with more lines only so many are used. */
    c->count = count < NODE_NONE ? (uint32_t)count : NODE_NONE - 1;
    c->is_agent = s->is_agent && !has_main;
    c->is_partial = s->full_from > 0;
    c->nodes = mem_alloc((size_t)c->count * sizeof(*c->nodes) + 1);
    count = c->count;
    for (size_t i = s->part_count; i-- > s->full_from;) {
        const struct scan_part *p = &s->parts[i];
        size_t n = p->nodes.len < count ? p->nodes.len : count;

        count -= n;
        if (n)
            memcpy(c->nodes + count, p->nodes.ptr + (p->nodes.len - n), n * sizeof(*c->nodes));
    }
}

int chain_build(struct chain *c, const struct scan *s, const struct load_spec *spec,
                struct err *err)
{
    uint32_t leaf;

    *c = (struct chain){.source = s->source, .spec = spec};
    chain_collect(c, s);
    chain_index(c);
    chain_apply_removals(c);
    chain_finish_compactions(c);
    for (uint32_t i = 0; i < c->count; i++)
        chain_link(c, i);
    chain_mark_children(c);
    if (!spec->leaf.len) {
        leaf = chain_newest(c);
    } else if (!chain_asked(c, &leaf)) {
        c->wants_more = c->is_partial;
        if (c->wants_more)
            return 0;
        return err_set(err, ERR_NOT_FOUND, "the transcript has no message '%.*s'",
                       STR_ARG(str_clip(spec->leaf, 100)));
    }
    if (leaf == NODE_NONE || c->wants_more)
        return 0;
    walk_chain(c, leaf);
    sibling_put_back(c, leaf);
    return 0;
}
