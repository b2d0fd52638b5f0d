/*
 * Changes to earlier parts of a conversation: replacing the older part by a summary, replacing a
 * result by a stub, removing a middle part.
 *
 * Messages are never modified, only replaced, because sent messages may be shared and remember
 * their bytes. Cuts are made only where no earlier message belongs to a later one. Agent thread.
 */
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "llm/history.h"

struct message_list {
    struct message **ptr;
    size_t len;
    size_t cap;
};

static void add_all(struct message *to, const struct message *from)
{
    for (size_t i = 0; i < from->len; i++)
        message_add(to, &from->blocks[i]);
}

/* ---- Compaction ---- */

/* True if nothing before the message belongs to it: an answer, or user text without results. */
static bool can_lead(const struct message *m)
{
    return m->role == ROLE_ASSISTANT || !message_count(m, BLOCK_TOOL_RESULT);
}

size_t history_tail(struct history *h, size_t max_bytes)
{
    size_t used = 0;
    size_t at;

    history_seal(h);
    at = h->list.len;
    for (size_t i = h->list.len; i-- > 0;) {
        const struct message *m = h->list.ptr[i];
        bool is_job = i + 1 == h->list.len && m->role == ROLE_USER && can_lead(m);

        used += message_bytes(m);
        if (used > max_bytes && !is_job)
            break;
        if (can_lead(m))
            at = i;
    }
    return at;
}

void history_entries(const struct history *h, size_t first, struct strv *ret)
{
    for (size_t i = first; i < h->list.len; i++) {
        const struct message *m = h->list.ptr[i];

        for (size_t b = 0; b < m->len; b++) {
            struct str entry = m->blocks[b].entry;

            if (entry.len && (!ret->len || !str_is(entry, ret->ptr[ret->len - 1])))
                strv_add(ret, entry);
        }
    }
}

/* Replaces all messages by these; takes the references. */
static void history_set(struct history *h, struct message_list *list)
{
    VEC_EACH(&h->list, m) {
        message_unref(*m);
    }
    h->list.len = 0;
    VEC_EACH(list, m) {
        vec_push(&h->list, *m);
    }
    vec_release(list);
    history_recount(h);
}

void history_compact(struct history *h, const struct block *blocks, size_t count, size_t first)
{
    struct message_list list = VEC_INIT;
    struct message *head = message_new(ROLE_USER, count + 4);

    history_seal(h);
    for (size_t i = 0; i < count; i++)
        message_add(head, &blocks[i]);
    vec_push(&list, head);
    if (first < h->list.len && !can_lead(h->list.ptr[first]))
        BUG("a cut between a call and its result");
    for (size_t i = first; i < h->list.len; i++) {
        if (i == first && h->list.ptr[i]->role == ROLE_USER)
            add_all(head, h->list.ptr[i]);
        else
            vec_push(&list, message_ref(h->list.ptr[i]));
    }
    history_set(h, &list);
}

/* ---- Replacing everything ---- */

void history_replace(struct history *h, struct message *const *list, size_t count)
{
    if (h->open.len)
        BUG("a conversation is replaced while calls are open");
    VEC_EACH(&h->list, m) {
        message_unref(*m);
    }
    h->list.len = 0;
    message_unref(h->draft);
    h->draft = NULL;
    history_recount(h); /* resets the counts */
    history_restore(h, list, count);
}

/* ---- Results ---- */

void history_stub(struct history *h, struct str tool_use_id, struct str text)
{
    struct block stub = {.kind = BLOCK_TEXT, .text = text};
    struct message *old = h->draft;

    if (!old)
        BUG("no draft to change");
    h->draft = message_new(ROLE_USER, old->len);
    for (size_t i = 0; i < old->len; i++) {
        struct block b = old->blocks[i];

        if (b.kind == BLOCK_TOOL_RESULT && str_eq(b.id, tool_use_id)) {
            b.content = &stub;
            b.content_len = 1;
        }
        message_add(h->draft, &b);
    }
    h->bytes = h->bytes - message_bytes(old) + message_bytes(h->draft);
    message_unref(old);
}

/* ---- Snips ---- */

static bool names_some(const struct map *entries, const struct message *m, bool only_results)
{
    for (size_t i = 0; m && i < m->len; i++) {
        if ((!only_results || m->blocks[i].kind == BLOCK_TOOL_RESULT) &&
            map_has(entries, m->blocks[i].entry))
            return true;
    }
    return false;
}

static void name_all(struct map *entries, const struct message *m, bool only_results)
{
    for (size_t i = 0; m && i < m->len; i++) {
        if ((!only_results || m->blocks[i].kind == BLOCK_TOOL_RESULT) && m->blocks[i].entry.len)
            map_set(entries, m->blocks[i].entry, entries);
    }
}

/* Adds the whole answer and the results of its calls when any of them is named. */
static void widen(const struct history *h, struct map *entries)
{
    for (size_t i = 0; i < h->list.len; i++) {
        const struct message *m = h->list.ptr[i];
        const struct message *next = i + 1 < h->list.len ? h->list.ptr[i + 1] : NULL;

        if (m->role != ROLE_ASSISTANT ||
            !(names_some(entries, m, /*only_results=*/false) || names_some(entries, next, true)))
            continue;
        name_all(entries, m, /*only_results=*/false);
        name_all(entries, next, /*only_results=*/true);
    }
}

static struct message *without(const struct message *m, const struct map *entries)
{
    struct message *rest = message_new(m->role, m->len);

    for (size_t i = 0; i < m->len; i++) {
        if (!map_has(entries, m->blocks[i].entry))
            message_add(rest, &m->blocks[i]);
    }
    return rest;
}

/* The remaining messages; adjacent user messages are merged. */
static void snip_rest(const struct history *h, const struct map *entries, struct message_list *ret)
{
    VEC_EACH(&h->list, it) {
        struct message *m = *it;
        struct message *last = ret->len ? ret->ptr[ret->len - 1] : NULL;
        struct message *rest =
            names_some(entries, m, /*only_results=*/false) ? without(m, entries) : message_ref(m);

        if (!rest->len) {
            message_unref(rest);
        } else if (last && last->role == ROLE_USER && rest->role == ROLE_USER) {
            struct message *both = message_new(ROLE_USER, last->len + rest->len);

            add_all(both, last);
            add_all(both, rest);
            ret->ptr[ret->len - 1] = both;
            message_unref(last);
            message_unref(rest);
        } else {
            vec_push(ret, rest);
        }
    }
}

static void list_release(struct message_list *list)
{
    VEC_EACH(list, m) {
        message_unref(*m);
    }
    vec_release(list);
}

static int snip_find(const struct history *h, const struct strv *entries, struct map *ret,
                     struct err *err)
{
    for (size_t i = 0; i < entries->len; i++) {
        CLEANUP(map_release) struct map one = MAP_INIT;
        bool found = false;

        map_set(&one, str_of(entries->ptr[i]), &one);
        for (size_t m = 0; m < h->list.len && !found; m++)
            found = names_some(&one, h->list.ptr[m], /*only_results=*/false);
        if (!found)
            return err_set(err, ERR_NOT_FOUND, "the conversation has no message %s",
                           entries->ptr[i]);
        map_set(ret, str_of(entries->ptr[i]), ret);
    }
    return 0;
}

int history_snip_check(struct history *h, struct strv *io_entries, struct err *err)
{
    CLEANUP(map_release) struct map entries = MAP_INIT;
    CLEANUP(list_release) struct message_list rest = VEC_INIT;
    struct err why = {0};

    if (h->open.len)
        return err_set(err, ERR_BAD_INPUT, "calls are still running");
    history_seal(h);
    if (snip_find(h, io_entries, &entries, err) < 0)
        return -1;
    widen(h, &entries);
    snip_rest(h, &entries, &rest);
    if (!rest.len)
        return err_set(err, ERR_BAD_INPUT, "nothing of the conversation would be left");
    if (history_check(rest.ptr, rest.len, &why) < 0)
        return err_set(err, ERR_BAD_INPUT, "the rest would not be a conversation: %s", why.text);
    strv_clear(io_entries);
    MAP_EACH(&entries, it) {
        strv_add(io_entries, it->key);
    }
    return 0;
}

void history_snip(struct history *h, const struct strv *entries)
{
    CLEANUP(map_release) struct map map = MAP_INIT;
    struct message_list rest = VEC_INIT;

    history_seal(h);
    for (size_t i = 0; i < entries->len; i++)
        map_set(&map, str_of(entries->ptr[i]), &map);
    snip_rest(h, &map, &rest);
    history_set(h, &rest);
}
