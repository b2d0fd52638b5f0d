/*
 * The conversation. If a draft was sent without getting an answer (an API failure) and more text is
 * added, a copy replaces it, because sent messages may be shared and remember their bytes.
 */
#include "llm/history.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "base/map.h"
#include "base/mem.h"

void history_release(struct history *h)
{
    VEC_EACH(&h->list, m) {
        message_unref(*m);
    }
    vec_release(&h->list);
    message_unref(h->draft);
    h->draft = NULL;
    strv_release(&h->open);
}

static size_t history_block_bytes(const struct block *b)
{
    size_t n = b->text.len + b->input.len + b->name.len + b->raw.len + b->signature.len;

    for (size_t i = 0; i < b->content_len; i++)
        n += history_block_bytes(&b->content[i]);
    /* Images cost about as many tokens as this many bytes of text, whatever their size. */
    return b->kind == BLOCK_IMAGE ? n + 6000 : n + b->data.len;
}

size_t message_bytes(const struct message *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->len; i++)
        n += history_block_bytes(&m->blocks[i]);
    return n;
}

static struct message *history_draft(struct history *h)
{
    struct message *last = h->list.len ? h->list.ptr[h->list.len - 1] : NULL;

    if (h->draft)
        return h->draft;
    h->draft = message_new(ROLE_USER, 1);
    if (last && last->role == ROLE_USER) {
        for (size_t i = 0; i < last->len; i++)
            message_add(h->draft, &last->blocks[i]);
        message_unref(last);
        h->list.len--;
    }
    return h->draft;
}

void history_say(struct history *h, const struct block *block)
{
    if (h->open.len)
        BUG("call %s has no result yet", h->open.ptr[0]);
    message_add(history_draft(h), block);
    h->bytes += history_block_bytes(block);
}

void history_say_text(struct history *h, struct str text)
{
    struct block block = {.kind = BLOCK_TEXT, .text = text};

    history_say(h, &block);
}

void history_answer(struct history *h, const struct block *result)
{
    if (result->kind != BLOCK_TOOL_RESULT)
        BUG("a result of kind %d", (int)result->kind);
    if (!h->open.len || !str_is(result->id, h->open.ptr[0]))
        BUG("a result for %.*s, but %s is open", STR_ARG(result->id),
            h->open.len ? h->open.ptr[0] : "no call");
    message_add(history_draft(h), result);
    h->bytes += history_block_bytes(result);
    h->media += history_result_media(result);
    mem_freep(&h->open.ptr[0]);
    for (size_t i = 0; i < h->open.len; i++) /* including the terminating NULL */
        h->open.ptr[i] = h->open.ptr[i + 1];
    h->open.len--;
}

void history_seal(struct history *h)
{
    if (h->open.len)
        BUG("call %s has no result yet", h->open.ptr[0]);
    if (h->draft)
        vec_push(&h->list, TAKE_PTR(h->draft));
}

struct message *const *history_messages(struct history *h, size_t *ret_count)
{
    history_seal(h);
    if (!h->list.len || h->list.ptr[h->list.len - 1]->role != ROLE_USER)
        BUG("a model call with nothing said");
    if (!h->epoch)
        h->epoch = id_random() | 1;
    *ret_count = h->list.len;
    return h->list.ptr;
}

void history_reply(struct history *h, struct message *reply)
{
    if (h->draft || !h->list.len || h->list.ptr[h->list.len - 1]->role != ROLE_USER)
        BUG("an answer to nothing");
    vec_push(&h->list, message_ref(reply));
    for (size_t i = 0; i < reply->len; i++) {
        h->bytes += history_block_bytes(&reply->blocks[i]);
        if (reply->blocks[i].kind == BLOCK_TOOL_USE)
            strv_add(&h->open, reply->blocks[i].id);
    }
}

const struct message *history_last_reply(const struct history *h)
{
    for (size_t i = h->list.len; i-- > 0;) {
        if (h->list.ptr[i]->role == ROLE_ASSISTANT)
            return h->list.ptr[i];
    }
    return NULL;
}

void history_restore(struct history *h, struct message *const *list, size_t count)
{
    struct err err = {0};

    if (h->list.len || h->draft)
        BUG("a conversation is remembered in the middle of another");
    if (history_check(list, count, &err) < 0)
        BUG("a conversation is remembered that breaks the rules: %s", err.text);
    for (size_t i = 0; i < count; i++) {
        vec_push(&h->list, message_ref(list[i]));
        h->bytes += message_bytes(list[i]);
        h->media += history_count_media(list[i]);
    }
}

size_t history_bytes(const struct history *h, size_t first)
{
    size_t n = h->draft ? message_bytes(h->draft) : 0;

    for (size_t i = first; i < h->list.len; i++)
        n += message_bytes(h->list.ptr[i]);
    return n;
}

void history_recount(struct history *h)
{
    h->epoch = 0; /* a new epoch: the provider must not rely on the old messages */
    h->bytes = history_bytes(h, 0);
    h->media = h->draft ? history_count_media(h->draft) : 0;
    VEC_EACH(&h->list, m) {
        h->media += history_count_media(*m);
    }
}

/* Checks the results in a user message against the calls of the message before it. */
static int history_check_pair(const struct message *calls, const struct message *results,
                              struct err *err)
{
    size_t at = 0;

    for (size_t i = 0; calls && i < calls->len; i++) {
        const struct block *call = &calls->blocks[i];

        if (call->kind != BLOCK_TOOL_USE)
            continue;
        if (!results || at == results->len || results->blocks[at].kind != BLOCK_TOOL_RESULT)
            return err_set(err, ERR_BAD_INPUT, "call %.*s has no result", STR_ARG(call->id));
        if (!str_eq(results->blocks[at].id, call->id))
            return err_set(err, ERR_BAD_INPUT, "a result for %.*s where %.*s is due",
                           STR_ARG(results->blocks[at].id), STR_ARG(call->id));
        at++;
    }
    for (; results && at < results->len; at++) {
        if (results->blocks[at].kind == BLOCK_TOOL_RESULT)
            return err_set(err, ERR_BAD_INPUT, "a result for %.*s, which was not called",
                           STR_ARG(results->blocks[at].id));
    }
    return 0;
}

int history_check(struct message *const *list, size_t count, struct err *err)
{
    CLEANUP(map_release) struct map ids = MAP_INIT;

    for (size_t i = 0; i < count; i++) {
        enum role want = i % 2 ? ROLE_ASSISTANT : ROLE_USER;

        if (list[i]->role != want)
            return err_set(err, ERR_BAD_INPUT, "message %zu has the wrong role", i);
        if (!list[i]->len)
            return err_set(err, ERR_BAD_INPUT, "message %zu is empty", i);
        if (want == ROLE_USER && history_check_pair(i ? list[i - 1] : NULL, list[i], err) < 0)
            return -1;
        for (size_t b = 0; want == ROLE_ASSISTANT && b < list[i]->len; b++) {
            const struct block *call = &list[i]->blocks[b];

            if (call->kind != BLOCK_TOOL_USE)
                continue;
            if (map_has(&ids, call->id))
                return err_set(err, ERR_BAD_INPUT, "the id %.*s is used twice", STR_ARG(call->id));
            map_set(&ids, call->id, list[i]);
        }
    }
    if (count && list[count - 1]->role == ROLE_ASSISTANT)
        return history_check_pair(list[count - 1], NULL, err);
    return 0;
}

bool history_has_call(const struct history *h, size_t first, const char *tool, struct str input)
{
    for (size_t i = first; i < h->list.len; i++) {
        const struct message *m = h->list.ptr[i];

        for (size_t b = 0; b < m->len; b++) {
            if (m->blocks[b].kind == BLOCK_TOOL_USE && str_is(m->blocks[b].name, tool) &&
                str_has(m->blocks[b].input, input))
                return true;
        }
    }
    return false;
}
