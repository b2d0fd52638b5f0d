/*
 * stream_step: what the model says, block by block. Pure.
 *
 * Without partial messages the blocks of a step are held until it is known to stand; with them they
 * go out piece by piece, as the raw events of the Messages API.
 */
#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "json/json.h"
#include "llm/event.h"
#include "llm/message.h"
#include "llm/rate.h"
#include "proto/stream_json.h"
#include "proto/stream_line.h"
#include "proto/stream_parts.h"

/* What one agent is saying. */
struct stream_step {
    struct buf message_id, model, request_id;
    size_t thought;           /* bytes of the thinking that is going on */
    size_t told_thought;      /* tokens of it that were reported, about */
    struct llm_usage usage;   /* as in message_start */
    enum block_kind open;     /* of the block that has begun */
    VEC(struct event *) held; /* blocks that may still turn out void */
};

static struct stream_step *step_of(const struct stream_json *r, const struct event *e)
{
    return map_get(&r->steps, str_of(e->by.agent));
}

static void step_free(struct stream_step *s)
{
    if (!s)
        return;
    VEC_EACH(&s->held, it) {
        event_unref(*it);
    }
    vec_release(&s->held);
    buf_release(&s->message_id);
    buf_release(&s->model);
    buf_release(&s->request_id);
    mem_freep(&s);
}

/* Of other agents only whole lines go out, unless their text is asked for. */
static bool stream_is_partial(const struct stream_json *r, const struct event *e)
{
    return r->options.partial && (r->options.forward || identity_is_main(&e->by) || !e->by.depth);
}

void stream_step_void(struct stream_json *r, const struct event *e)
{
    step_free(map_remove(&r->steps, str_of(e->by.agent)));
}

void stream_steps_release(struct stream_json *r)
{
    MAP_EACH(&r->steps, it) {
        step_free(it->value);
    }
    map_release(&r->steps);
}

static void message_head(const struct stream_step *s, struct jw *w)
{
    jw_kstr(w, "id", buf_str(&s->message_id));
    jw_kcstr(w, "type", "message");
    jw_kcstr(w, "role", "assistant");
    jw_kstr(w, "model", buf_str(&s->model));
}

static void message_rest(const struct stream_step *s, struct jw *w)
{
    jw_key(w, "stop_reason");
    jw_null(w);
    jw_key(w, "stop_sequence");
    jw_null(w);
    jw_key(w, "usage");
    llm_usage_write(w, &s->usage);
}

static void render_assistant(const struct stream_step *s, const struct event *block,
                             struct str request_id, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, block, 0, "assistant", NULL);

    jw_key(w, "message");
    jw_object(w);
    message_head(s, w);
    jw_key(w, "content");
    jw_array(w);
    line_block(w, block->json);
    jw_array_end(w);
    message_rest(s, w);
    jw_object_end(w);
    line_parent(w, block);
    if (request_id.len)
        jw_kstr(w, "request_id", request_id);
    if (block->aborted)
        jw_kbool(w, "aborted", true);
    line_time(w, block);
    line_end(&l);
}

/* {"type":"stream_event","event":{"type":…: the caller writes the rest of the inner object. */
static struct jw *partial_begin(struct stream_line *l, struct buf *out, const struct event *e,
                                unsigned number, const char *type)
{
    struct jw *w = line_begin(l, out, e, number, "stream_event", NULL);

    jw_key(w, "event");
    jw_object(w);
    jw_kcstr(w, "type", type);
    return w;
}

static void partial_end(const struct stream_step *s, struct stream_line *l)
{
    jw_object_end(&l->w);
    line_parent(&l->w, l->event);
    if (s->message_id.len)
        jw_kstr(&l->w, "api_message_id", buf_str(&s->message_id));
    line_end(l);
}

static void partial_message_start(const struct stream_step *s, const struct event *e,
                                  struct buf *out)
{
    struct stream_line l;
    struct jw *w = partial_begin(&l, out, e, 0, "message_start");

    jw_key(w, "message");
    jw_object(w);
    message_head(s, w);
    line_empty_list(w, "content");
    message_rest(s, w);
    jw_object_end(w);
    jw_object_end(w);
    line_parent(w, e);
    if (e->ttft_ms > 0)
        jw_ki64(w, "ttft_ms", e->ttft_ms);
    line_end(&l);
}

/* Blocks of these kinds arrive whole: they start when they are done. */
static bool comes_whole(enum block_kind kind)
{
    return kind != BLOCK_TEXT && kind != BLOCK_THINKING && kind != BLOCK_TOOL_USE;
}

static void partial_block_start(const struct stream_step *s, const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = partial_begin(&l, out, e, 1, "content_block_start");

    jw_ki64(w, "index", (int64_t)e->index);
    jw_key(w, "content_block");
    if (comes_whole(e->block)) {
        line_block(w, e->json);
    } else {
        jw_object(w);
        if (e->block == BLOCK_TEXT) {
            jw_kcstr(w, "type", "text");
            jw_kcstr(w, "text", "");
        } else if (e->block == BLOCK_THINKING) {
            jw_kcstr(w, "type", "thinking");
            jw_kcstr(w, "thinking", "");
            jw_kcstr(w, "signature", "");
        } else {
            jw_kcstr(w, "type", "tool_use");
            jw_kstr(w, "id", e->id);
            jw_kstr(w, "name", e->name);
            jw_key(w, "input");
            jw_object(w);
            jw_object_end(w);
        }
        jw_object_end(w);
    }
    partial_end(s, &l);
}

static void partial_delta(const struct stream_step *s, const struct event *e, unsigned number,
                          const char *type, const char *member, struct str text, struct buf *out)
{
    struct stream_line l;
    struct jw *w = partial_begin(&l, out, e, number, "content_block_delta");

    jw_ki64(w, "index", (int64_t)e->index);
    jw_key(w, "delta");
    jw_object(w);
    jw_kcstr(w, "type", type);
    jw_kstr(w, member, text);
    jw_object_end(w);
    partial_end(s, &l);
}

static void partial_block_delta(const struct stream_step *s, const struct event *e, struct buf *out)
{
    if (s->open == BLOCK_TEXT)
        partial_delta(s, e, 0, "text_delta", "text", e->text, out);
    else if (s->open == BLOCK_THINKING)
        partial_delta(s, e, 0, "thinking_delta", "thinking", e->text, out);
    else if (s->open == BLOCK_TOOL_USE)
        partial_delta(s, e, 0, "input_json_delta", "partial_json", e->text, out);
}

static void partial_signature(const struct stream_step *s, const struct event *e, struct buf *out)
{
    struct arena arena = ARENA_INIT;
    const struct json *block = NULL;

    if (json_parse(&arena, e->json, &block, NULL, NULL) == 0 &&
        json_get_str(block, "signature").len)
        partial_delta(s, e, 2, "signature_delta", "signature", json_get_str(block, "signature"),
                      out);
    arena_release(&arena);
}

/* The block's own line comes right before its content_block_stop. */
static void partial_block_done(const struct stream_step *s, const struct event *e, struct buf *out)
{
    struct stream_line l;

    if (comes_whole(e->block))
        partial_block_start(s, e, out);
    if (e->block == BLOCK_THINKING)
        partial_signature(s, e, out);
    render_assistant(s, e, buf_str(&s->request_id), out);
    jw_ki64(partial_begin(&l, out, e, 3, "content_block_stop"), "index", (int64_t)e->index);
    partial_end(s, &l);
}

static void partial_message_stop(const struct stream_step *s, const struct event *e,
                                 struct buf *out)
{
    struct stream_line l;
    struct jw *w = partial_begin(&l, out, e, 0, "message_delta");

    jw_key(w, "delta");
    jw_object(w);
    jw_kcstr(w, "stop_reason", e->stop == STOP_NONE ? NULL : llm_stop_name(e->stop));
    jw_key(w, "stop_sequence");
    if (e->data.len)
        jw_str(w, e->data);
    else
        jw_null(w);
    jw_object_end(w);
    jw_key(w, "usage");
    llm_usage_write(w, &e->usage);
    partial_end(s, &l);
    partial_begin(&l, out, e, 1, "message_stop");
    partial_end(s, &l);
}

#define THOUGHT_BYTES 4  /* of a token, about */
#define THOUGHT_EVERY 64 /* tokens between two lines */

/* How far thinking has come, while nothing of it is shown. */
static void render_thought(struct stream_step *s, const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w;

    s->thought += e->text.len;
    if (s->thought / THOUGHT_BYTES < s->told_thought + THOUGHT_EVERY || !identity_is_main(&e->by))
        return;
    w = line_begin(&l, out, e, 5, "system", "thinking_tokens");
    jw_ki64(w, "estimated_tokens", (int64_t)(s->thought / THOUGHT_BYTES));
    jw_ki64(w, "estimated_tokens_delta", (int64_t)(s->thought / THOUGHT_BYTES - s->told_thought));
    s->told_thought = s->thought / THOUGHT_BYTES;
    line_end(&l);
}

void stream_step_started(struct stream_json *r, const struct event *e, struct buf *out)
{
    struct stream_step *s = mem_zalloc(sizeof(*s));

    buf_init(&s->message_id, 1024);
    buf_add(&s->message_id, e->message_id);
    buf_init(&s->model, 1024);
    buf_add(&s->model, e->model);
    buf_init(&s->request_id, 1024);
    buf_add(&s->request_id, e->request_id);
    s->usage = e->usage;
    step_free(map_set(&r->steps, str_of(e->by.agent), s));
    if (stream_is_partial(r, e))
        partial_message_start(s, e, out);
}

void stream_step_block(struct stream_json *r, const struct event *e, struct buf *out)
{
    struct stream_step *s = step_of(r, e);

    if (!s)
        return;
    if (e->kind == EVENT_BLOCK_STARTED) {
        s->open = e->block;
        s->thought = s->told_thought = 0;
    }
    if (e->kind == EVENT_BLOCK_DELTA && s->open == BLOCK_THINKING)
        render_thought(s, e, out);
    if (!stream_is_partial(r, e)) {
        if (e->kind == EVENT_BLOCK_DONE)
            vec_push(&s->held, event_ref((struct event *)e)); /* counting changes no event */
        return;
    }
    if (e->kind == EVENT_BLOCK_DONE)
        partial_block_done(s, e, out);
    else if (e->kind == EVENT_BLOCK_DELTA)
        partial_block_delta(s, e, out);
    else if (!comes_whole(e->block))
        partial_block_start(s, e, out);
}

/* What the server says of a subscription's limits. */
static void render_rate(const struct event *e, struct buf *out)
{
    const struct llm_rate *rate = e->rate;
    const struct llm_rate_window *window =
        strcmp(rate->claim, "seven_day") == 0 ? &rate->seven_day : &rate->five_hour;
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 7, "rate_limit_event", NULL);

    jw_key(w, "rate_limit_info");
    jw_object(w);
    jw_kcstr(w, "status", rate->status[0] ? rate->status : "allowed");
    if (window->known && window->resets_at)
        jw_ki64(w, "resetsAt", window->resets_at);
    if (rate->claim[0])
        jw_kcstr(w, "rateLimitType", rate->claim);
    if (window->known) {
        jw_key(w, "utilization");
        jw_double(w, window->used);
    }
    jw_object_end(w);
    line_end(&l);
}

/* Texts stand; other blocks do not. */
void stream_step_cut(struct stream_json *r, const struct event *e, struct buf *out)
{
    const struct stream_step *s = step_of(r, e);

    for (size_t i = 0; s && i < s->held.len; i++) {
        if (s->held.ptr[i]->block == BLOCK_TEXT)
            render_assistant(s, s->held.ptr[i], e->request_id, out);
    }
    stream_step_void(r, e);
}

void stream_step_done(struct stream_json *r, const struct event *e, struct buf *out)
{
    const struct stream_step *s = step_of(r, e);

    if (s && stream_is_partial(r, e))
        partial_message_stop(s, e, out);
    for (size_t i = 0; s && i < s->held.len; i++)
        render_assistant(s, s->held.ptr[i], e->request_id, out);
    if (e->rate)
        render_rate(e, out);
    stream_step_void(r, e);
}
