/*
 * The last turns of a conversation that goes on: lines of its transcript made into the events they
 * were once, so that they look the same. UI thread.
 */
#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "host/record/typed.h"
#include "json/json.h"
#include "store/transcript/load.h"
#include "tui/chat/chat.h"
#include "tui/chat/chat_state.h"

#define HISTORY_ENTRIES                                                                            \
    200 /* at most so many lines of the transcript, however few turns they are */
#define HISTORY_LINE ((uint32_t)16 << 20) /* bytes; a longer one is left out */

static void tell(struct chat *c, struct event *e)
{
    chat_event(c, e, /*now_ms=*/0);
    event_unref(e);
}

/* Calls whose results never came: the process ended while they ran. */
static void tell_cut_off(struct chat *c)
{
    while (c->calls.len) {
        const struct chat_call *call = &c->calls.ptr[0];
        struct event *e = event_new(EVENT_TOOL_DONE);

        e->id = arena_str(&e->arena, str_of(call->id));
        e->name = arena_str(&e->arena, str_of(call->name));
        e->is_error = true;
        e->text = STR("Interrupted: tenax ended before it was done");
        tell(c, e);
    }
}

static void tell_said(struct chat *c, const struct json *entry)
{
    const struct json *message = json_get(entry, "message");
    struct event *e = event_new(EVENT_USER);
    const struct json *content = json_get(message, "content");
    CLEANUP(buf_release) struct buf text = BUF_INIT(CHAT_MAX_TEXT);
    CLEANUP(buf_release) struct buf typed = BUF_INIT(CHAT_MAX_TEXT);

    buf_add(&text, json_str(content));
    JSON_EACH(content, it) {
        struct str part = json_get_str(it, "text");

        if (!part.len || str_starts(part, STR("<system-reminder>")))
            continue;
        if (text.len)
            buf_addc(&text, '\n');
        buf_add(&text, part);
    }
    e->user =
        str_starts(buf_str(&text), STR("[Request interrupted by user")) ? USER_MARKER : USER_INPUT;
    e->text =
        arena_str(&e->arena, typed_find(buf_str(&text), &typed) ? buf_str(&typed) : buf_str(&text));
    e->json = arena_str(&e->arena, json_raw(message));
    tell(c, e);
}

static void tell_text(struct chat *c, struct str text)
{
    static const enum event_kind kinds[] = {EVENT_BLOCK_STARTED, EVENT_BLOCK_DELTA,
                                            EVENT_BLOCK_DONE};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct event *e = event_new(kinds[i]);

        e->block = BLOCK_TEXT;
        if (kinds[i] != EVENT_BLOCK_STARTED)
            e->text = arena_str(&e->arena, text);
        tell(c, e);
    }
}

static void tell_call(struct chat *c, const struct json *block)
{
    struct event *e = event_new(EVENT_TOOL_STARTED);

    e->id = arena_str(&e->arena, json_get_str(block, "id"));
    e->name = arena_str(&e->arena, json_get_str(block, "name"));
    e->json = arena_str(&e->arena, json_raw(json_get(block, "input")));
    tell(c, e);
}

static void tell_result(struct chat *c, const struct json *entry, const struct json *block)
{
    const struct json *content = json_get(block, "content");
    struct chat_call *call = calls_find(c, json_get_str(block, "tool_use_id"));
    struct event *e;

    if (!call)
        return; /* its call is not shown */
    e = event_new(EVENT_TOOL_DONE);
    e->id = arena_str(&e->arena, json_get_str(block, "tool_use_id"));
    e->name = arena_str(&e->arena, str_of(call->name));
    e->is_error = json_get_bool(block, "is_error", false);
    e->error = json_get_bool(entry, "isDenied", false) ? ERR_DENIED : ERR_NONE;
    e->json = arena_str(&e->arena, json_raw(block));
    e->text = arena_str(&e->arena, json_is(content, JSON_STRING)
                                       ? json_str(content)
                                       : json_get_str(json_first(content), "text"));
    if (json_is(json_get(entry, "toolUseResult"), JSON_OBJECT))
        e->data = arena_str(&e->arena, json_raw(json_get(entry, "toolUseResult")));
    tell(c, e);
}

static void tell_entry(struct chat *c, const struct load_entry *at, const struct json *entry)
{
    const struct json *content = json_path(entry, "message.content");

    if (at->flags & (LOAD_META | LOAD_SUMMARY))
        return;
    if (at->kind == ENTRY_USER && !(at->flags & LOAD_TOOL_RESULT)) {
        tell_cut_off(c);
        tell_said(c, entry);
        return;
    }
    if (at->kind == ENTRY_ASSISTANT && json_str(content).len)
        tell_text(c, json_str(content));
    JSON_EACH(content, it) {
        struct str type = json_get_str(it, "type");

        if (str_is(type, "text") && at->kind == ENTRY_ASSISTANT)
            tell_text(c, json_get_str(it, "text"));
        else if (str_is(type, "tool_use"))
            tell_call(c, it);
        else if (str_is(type, "tool_result"))
            tell_result(c, entry, it);
    }
}

/* A verdict on a goal; a sentinel only says whether there is one. */
static void tell_goal(struct chat *c, const struct json *entry)
{
    const struct json *a = json_get(entry, "attachment");
    struct event *e;

    if (!str_is(json_get_str(a, "type"), "goal_status") || json_get_bool(a, "sentinel", false))
        return;
    e = event_new(EVENT_GOAL);
    e->name = STR("goal_verdict");
    e->json = arena_str(&e->arena, json_raw(a));
    tell(c, e);
}

/* A call that a hook has put off is taken up when the session goes on: it was not cut off. */
static bool ends_deferred(const struct json *entry)
{
    return str_is(json_get_str(entry, "subtype"), "turn_duration") &&
           str_is(json_get_str(entry, "reason"), turn_end_name(END_TOOL_DEFERRED));
}

/* Where the last turns begin. */
static size_t history_from(const struct load *load, size_t turns)
{
    size_t count = load_count(load);
    size_t from = count;

    for (size_t i = count; i > 0 && turns > 0 && count - i < HISTORY_ENTRIES; i--) {
        const struct load_entry *e = load_at(load, i - 1);

        from = i - 1;
        if (e->flags & LOAD_BOUNDARY)
            break;
        if (e->kind == ENTRY_USER &&
            !(e->flags & (LOAD_META | LOAD_TOOL_RESULT | LOAD_SUMMARY | LOAD_BOUNDARY)))
            turns--;
    }
    return from;
}

static int history_entries(struct chat *c, struct load *load, size_t from, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;

    for (size_t i = from; i < load_count(load); i++) {
        const struct load_entry *at = load_at(load, i);
        const struct json *entry = NULL;
        struct str line;

        if ((at->kind != ENTRY_USER && at->kind != ENTRY_ASSISTANT && at->kind != ENTRY_SYSTEM &&
             at->kind != ENTRY_ATTACHMENT) ||
            at->len > HISTORY_LINE)
            continue;
        if (load_read(load, at->offset, at->len, &line, err) < 0)
            return -1;
        arena_reset(&arena);
        if (json_parse(&arena, line, &entry, /*ret_info=*/NULL, /*err=*/NULL) < 0)
            continue;
        if (at->kind == ENTRY_ATTACHMENT)
            tell_goal(c, entry);
        else if (at->kind != ENTRY_SYSTEM)
            tell_entry(c, at, entry);
        else if (ends_deferred(entry))
            calls_clear(c);
    }
    return 0;
}

/* Without messages that only the model reads: the user would not recognize them. */
static size_t count_messages(const struct load *load, size_t to)
{
    size_t n = 0;

    for (size_t i = 0; i < to; i++) {
        const struct load_entry *e = load_at(load, i);

        n += (e->kind == ENTRY_USER || e->kind == ENTRY_ASSISTANT) && !(e->flags & LOAD_META);
    }
    return n;
}

static void load_freep(struct load **l)
{
    load_free(*l);
}

int chat_history(struct chat *c, const char *path, size_t turns, bool runs, struct cancel *cancel,
                 struct err *err)
{
    CLEANUP(load_freep) struct load *load = NULL;
    CLEANUP(buf_release) struct buf text = BUF_INIT(200);
    size_t from, before;

    if (load_open(path, &(struct load_spec){0}, cancel, &load, err) < 0)
        return -1;
    from = history_from(load, turns);
    before = count_messages(load, from);
    if (before) {
        buf_addf(&text, "%zu earlier message%s (Ctrl-O)", before, before == 1 ? "" : "s");
        chat_note(c, ROLE_FAINT, buf_str(&text));
    }
    if (history_entries(c, load, from, err) < 0)
        return -1;
    if (!runs)
        tell_cut_off(c);
    c->doing = DOING_WAIT;
    c->told_interrupt = false;
    return 0;
}
