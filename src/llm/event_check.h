/*
 * Helper for tests and fuzzers: writes events as text and checks the guarantees of event.h.
 *
 * One line per event; deltas of a block are joined, so that the same answer gives the same text
 * however it was split. Only the form of ids is shown. A violation aborts, which tests and fuzzers
 * both notice.
 */
#pragma once

#include "base/buf.h"
#include "base/mem.h"
#include "llm/event.h"
#include "llm/message.h"

struct event_check {
    struct buf text;
    size_t deltas; /* total number */
    size_t blocks; /* closed so far */
    bool started, open, stopped, delta_told;
    enum block_kind kind; /* of the open one */
    struct buf said;      /* of the open one */
    int fail_at;          /* the n-th event (from 1) fails with ERR_CANCELLED; 0 = none */
    int events;
};

#define EVENT_CHECK_INIT                                                                           \
    {                                                                                              \
        .text = BUF_INIT(BUF_NO_LIMIT), .said = BUF_INIT(BUF_NO_LIMIT)                             \
    }

#define EVENT_MUST(what)                                                                           \
    do {                                                                                           \
        if (!(what))                                                                               \
            BUG("event %d breaks the promise %s", c->events, #what);                               \
    } while (0)

static inline void event_check_release(struct event_check *c)
{
    buf_release(&c->text);
    buf_release(&c->said);
}

static inline const char *event_check_kind(enum block_kind kind)
{
    static const char *const names[] = {"text",        "thinking", "redacted", "tool_use",
                                        "tool_result", "image",    "document", "other"};

    return names[kind];
}

static inline void event_check_usage(struct event_check *c, const struct llm_usage *u)
{
    buf_addf(&c->text, " in=%lld out=%lld read=%lld write=%lld/%lld think=%lld%s",
             (long long)u->input, (long long)u->output, (long long)u->cache_read,
             (long long)u->cache_write, (long long)u->cache_write_1h, (long long)u->thinking,
             u->known ? "" : " unknown");
}

static inline void event_check_stop(struct event_check *c, const struct llm_event *ev)
{
    const struct block *b = ev->block;
    struct str whole = b->kind == BLOCK_TOOL_USE ? b->input : b->text;

    EVENT_MUST(str_eq(whole, buf_str(&c->said)) || (ev->replaced && b->kind == BLOCK_TEXT));
    buf_addf(&c->text, "%zu %s", ev->index, event_check_kind(b->kind));
    if (b->kind == BLOCK_TOOL_USE)
        buf_addf(&c->text, " %.*s", STR_ARG(b->name));
    if (whole.len)
        buf_addf(&c->text, " [%.*s]", STR_ARG(whole));
    if (b->data.len)
        buf_addf(&c->text, " data=%.*s", STR_ARG(b->data));
    if (b->signature.len)
        buf_addf(&c->text, " signature=%.*s", STR_ARG(b->signature));
    if (b->raw.len)
        buf_addf(&c->text, " raw=%.*s", STR_ARG(b->raw));
    if (b->input_bad)
        buf_adds(&c->text, " bad");
    buf_addc(&c->text, '\n');
}

static inline int event_check_fn(const struct llm_event *ev, void *arg, struct err *err)
{
    struct event_check *c = arg;

    c->events++;
    EVENT_MUST(!c->stopped);
    switch (ev->kind) {
    case LLM_MESSAGE_START:
        EVENT_MUST(!c->started && ev->id.len);
        c->started = true;
        buf_addf(&c->text, "start %.*s\n", STR_ARG(ev->model));
        break;
    case LLM_BLOCK_START:
        EVENT_MUST(c->started && !c->open && !c->delta_told && ev->index == c->blocks && ev->block);
        if (ev->block->kind == BLOCK_TOOL_USE)
            EVENT_MUST(ev->block->id.len == 30 && str_starts(ev->block->id, STR("toolu_")));
        c->open = true;
        c->kind = ev->block->kind;
        buf_clear(&c->said);
        break;
    case LLM_BLOCK_DELTA:
        EVENT_MUST(c->open && ev->index == c->blocks && ev->text.len);
        EVENT_MUST(c->kind == BLOCK_TEXT || c->kind == BLOCK_THINKING || c->kind == BLOCK_TOOL_USE);
        buf_add(&c->said, ev->text);
        c->deltas++;
        break;
    case LLM_BLOCK_STOP:
        EVENT_MUST(c->open && ev->index == c->blocks && ev->block && ev->block->kind == c->kind);
        event_check_stop(c, ev);
        c->open = false;
        c->blocks++;
        break;
    case LLM_MESSAGE_DELTA:
        EVENT_MUST(c->started && !c->open && !c->delta_told && ev->stop != STOP_NONE);
        c->delta_told = true;
        buf_addf(&c->text, "stop %s", llm_stop_name(ev->stop));
        if (ev->stop_sequence.len)
            buf_addf(&c->text, " [%.*s]", STR_ARG(ev->stop_sequence));
        if (ev->text.len)
            buf_addf(&c->text, " (%.*s)", STR_ARG(ev->text));
        event_check_usage(c, &ev->usage);
        buf_addc(&c->text, '\n');
        break;
    case LLM_MESSAGE_STOP:
        EVENT_MUST(c->delta_told);
        c->stopped = true;
        break;
    case LLM_WAITING:
        break;
    default:
        EVENT_MUST(!"a decoder tells only of the message");
    }
    if (c->events == c->fail_at)
        return err_set(err, ERR_CANCELLED, "the observer has enough");
    return 0;
}
