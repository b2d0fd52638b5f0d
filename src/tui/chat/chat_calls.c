/*
 * Calls between their first byte and their result: in the live region, beside each other. When one
 * is settled it becomes an item of the queue; results come in the order of the calls. UI thread.
 */
#include <string.h>

#include "agent/event.h"
#include "base/mem.h"
#include "tui/chat/chat_state.h"
#include "tui/chat/tool_result.h"
#include "tui/chat/tool_view.h"

#define CALLS_OUTPUT 5     /* rows of output of a call that runs alone */
#define CALLS_OUTPUT_FEW 3 /* and of one among a few */
#define CALLS_FEW 3
#define CALLS_LONG_MS 5000 /* a command that runs so long may be meant for the background */
#define CALLS_MAX_PROGRESS ((size_t)64 << 10)

static void call_release(struct chat_call *call)
{
    mem_freep(&call->id);
    mem_freep(&call->name);
    buf_release(&call->input);
    buf_release(&call->progress);
    event_unref(call->started);
}

struct chat_call *calls_find(struct chat *c, struct str id)
{
    VEC_EACH(&c->calls, it) {
        if (str_is(id, it->id))
            return it;
    }
    return NULL;
}

void calls_begin(struct chat *c, struct str id, struct str name, int64_t now_ms)
{
    struct chat_call *call = vec_add(&c->calls);

    *call = (struct chat_call){
        .id = mem_dup(id.ptr, id.len), .name = mem_dup(name.ptr, name.len), .begun_ms = now_ms};
    buf_init(&call->input, CHAT_MAX_PART);
    buf_init(&call->progress, CALLS_MAX_PROGRESS);
}

void calls_input(struct chat *c, struct str part)
{
    struct chat_call *call = c->calls.len ? &c->calls.ptr[c->calls.len - 1] : NULL;

    if (!call || call->started)
        return;
    call->input_bytes += part.len;
    buf_add(&call->input, str_first(part, CHAT_MAX_PART - call->input.len));
}

void calls_started(struct chat *c, const struct event *e, int64_t now_ms)
{
    struct chat_call *call = calls_find(c, e->id);

    if (!call) {
        calls_begin(c, e->id, e->name, now_ms);
        call = &c->calls.ptr[c->calls.len - 1];
    }
    event_unref(call->started);
    call->started = event_ref((struct event *)e); /* counting changes no event */
    call->begun_ms = now_ms;
}

void chat_asked(struct chat *c, struct str id)
{
    strv_add(&c->asked, id);
}

void chat_answered(struct chat *c, struct str id, int64_t now_ms)
{
    struct chat_call *call = calls_find(c, id);

    for (size_t i = 0; i < c->asked.len; i++) {
        if (!str_is(id, c->asked.ptr[i]))
            continue;
        mem_freep(&c->asked.ptr[i]);
        c->asked.ptr[i] = c->asked.ptr[--c->asked.len];
        c->asked.ptr[c->asked.len] = NULL;
        break;
    }
    if (call)
        call->begun_ms = now_ms;
}

void calls_progress(struct chat *c, const struct event *e)
{
    struct chat_call *call = calls_find(c, e->id);

    if (!call)
        return;
    call->has_ended = e->ended;
    call->has_failed = e->ended && e->is_error;
    buf_clear(&call->progress);
    buf_add(&call->progress, str_clip(e->text, CALLS_MAX_PROGRESS));
}

void calls_activity(struct chat *c, struct str id, struct str text)
{
    struct chat_call *call = calls_find(c, id);

    if (!call || call->has_ended)
        return;
    buf_clear(&call->progress);
    buf_add(&call->progress, str_clip(text, CALLS_MAX_PROGRESS));
}

void calls_done(struct chat *c, const struct event *e)
{
    struct chat_call *call = calls_find(c, e->id);
    bool is_brief = !e->is_error && !c->verbose && tool_result_is_brief(e->name);
    struct chat_item *it = NULL;

    if (!todos_take(c, (struct event *)e)) { /* counting changes no event */
        it = chat_add(c, is_brief ? ITEM_BRIEF : ITEM_CALL);
        it->done = event_ref((struct event *)e);
    }
    if (!call)
        return;
    if (it)
        it->started = TAKE_PTR(call->started);
    call_release(call);
    memmove(call, call + 1, (size_t)(c->calls.ptr + c->calls.len - (call + 1)) * sizeof(*call));
    c->calls.len--;
}

const struct chat_call *calls_running(const struct chat *c, size_t *ret_count)
{
    const struct chat_call *first = NULL;

    *ret_count = 0;
    VEC_EACH(&c->calls, it) {
        if (it->has_ended)
            continue;
        first = first ? first : it;
        ++*ret_count;
    }
    return first;
}

void calls_clear(struct chat *c)
{
    VEC_EACH(&c->calls, it) {
        call_release(it);
    }
    c->calls.len = 0;
}

/* ---- As lines ---- */

static void draw_more(size_t n, const struct view *v, struct lines *ret)
{
    CLEANUP(lines_release) struct lines row = LINES_INIT;

    lines_putf(&row, STYLE(ROLE_FAINT), "  and %zu more", n);
    lines_end(&row);
    lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
}

/* The first command that has run for long: one key is for all of them. */
static const struct chat_call *calls_long(const struct chat *c, const struct view *v)
{
    if (v->plain || c->needs_person || c->is_agent)
        return NULL;
    VEC_EACH(&c->calls, it) {
        if (it->started && !it->has_ended && str_is_word_of(str_of(it->name), "Bash Agent Task") &&
            v->now_ms - it->begun_ms >= CALLS_LONG_MS)
            return it;
    }
    return NULL;
}

void calls_draw(const struct chat *c, const struct view *v, size_t max_rows, struct lines *ret)
{
    size_t each = c->calls.len == 1           ? CALLS_OUTPUT + 1
                  : c->calls.len <= CALLS_FEW ? CALLS_OUTPUT_FEW + 1
                                              : 2;
    const struct chat_call *slow = calls_long(c, v);
    size_t before = lines_count(ret);
    size_t left = c->calls.len;

    if (!left)
        return;
    lines_end(ret);
    VEC_EACH(&c->calls, it) {
        size_t used = lines_count(ret) - before;
        size_t room;
        struct tool_view t = {
            .name = str_of(it->name),
            .input = it->started ? it->started->json : buf_str(&it->input),
            .is_partial = !it->started,
            .input_bytes = it->input_bytes,
            .progress = buf_str(&it->progress),
            .has_ended = it->has_ended,
            .is_error = it->has_failed,
            .elapsed_ms =
                it->started && !strv_has(&c->asked, str_of(it->id)) ? v->now_ms - it->begun_ms : 0,
            .dir = c->dir,
            .hint = it == slow ? STR("Ctrl-B to run in the background") : STR(""),
        };

        if (used + 1 >= max_rows && left > 1) {
            draw_more(left, v, ret);
            return;
        }
        left--;
        room = max_rows > used + left ? max_rows - used - left : 1; /* the others have theirs */
        tool_view_running(&t, v, room < each + (it == slow) ? room : each + (it == slow), ret);
    }
}

void calls_draw_done(struct chat *c, const struct chat_item *it, const struct view *v,
                     struct lines *ret)
{
    const struct event *e = it->done;
    struct tool_view t = {
        .name = e->name,
        .input = it->started ? it->started->json : STR("{}"),
        .elapsed_ms = e->duration_ms,
        .dir = c->dir,
        .is_error = e->is_error,
        .is_denied = e->error == ERR_DENIED,
        .is_whole = c->verbose,
        .text = e->text,
        .result = e->json,
        .data = e->data,
    };

    if (!tool_view_done(&t, v, ret))
        return;
    buf_clear(&c->last_id);
    buf_add(&c->last_id, e->id);
}
