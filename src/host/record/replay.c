/*
 * replay: turns the lines of a transcript into events.
 */
#include "host/record/replay.h"

#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "host/host.h"
#include "host/record/typed.h"
#include "json/json.h"
#include "store/transcript/load.h"

#define REPLAY_LINE ((uint32_t)64 << 20) /* bytes; longer ones are skipped */
#define REPLAY_TEXT ((size_t)64 << 20)

struct replay {
    const char *session;
    struct host *host; /* whose it is; NULL: it is not open here */
    replay_fn fn;
    void *arg;
    int64_t turn;
    bool in_turn;
    int64_t time_ms;    /* of the line */
    struct map open;    /* id of a call without its result → its event (TOOL_STARTED) */
    struct buf message; /* id of the answer that is being told */
    bool was_interrupted;
    struct buf error; /* why the turn failed; or empty */
};

static struct event *make(struct replay *r, enum event_kind kind)
{
    struct event *e = event_new(kind);

    e->by.session = r->session;
    e->by.agent = IDENTITY_MAIN;
    e->turn = r->turn;
    e->time_ms = r->time_ms;
    return e;
}

static void tell(struct replay *r, struct event *e)
{
    r->fn(r->arg, e);
    event_unref(e);
}

/* Ends calls without a result: the process ended while they ran. */
static void tell_cut_off(struct replay *r)
{
    while (r->open.len) {
        struct event *call = map_remove(&r->open, r->open.entries[0].key);
        struct event *e = make(r, EVENT_TOOL_DONE);

        e->id = arena_str(&e->arena, call->id);
        e->name = arena_str(&e->arena, call->name);
        e->is_error = true;
        e->text = STR("Interrupted: tenax ended before it was done");
        event_unref(call);
        tell(r, e);
    }
}

/* "API Error: 400 text", as turn_report_text() writes it. */
static struct turn_report *make_report(struct replay *r, struct arena *arena)
{
    struct turn_report *report = arena_zalloc(arena, sizeof(*report));
    struct str text = buf_str(&r->error);
    struct str number;
    int64_t status;

    report->end = r->was_interrupted ? END_ABORTED_STREAMING : END_API_ERROR;
    report->is_error = !r->was_interrupted;
    if (str_starts(text, STR("API Error: ")))
        text = str_from(text, strlen("API Error: "));
    number = str_first(text, str_chr(text, ' '));
    if (number.len == 3 && str_to_i64(number, &status, /*err=*/NULL) == 0) {
        report->api_status = (int)status;
        text = str_from(text, number.len + 1);
    }
    report->error = arena_str(arena, text);
    return report;
}

static void end_turn(struct replay *r)
{
    tell_cut_off(r);
    if (r->in_turn) {
        struct event *e = make(r, EVENT_TURN_DONE);

        if (r->was_interrupted || r->error.len)
            e->report = make_report(r, &e->arena);
        tell(r, e);
    }
    r->in_turn = r->was_interrupted = false;
    buf_clear(&r->message);
    buf_clear(&r->error);
}

static void begin_turn(struct replay *r, struct str uuid)
{
    struct event *e;

    end_turn(r);
    r->turn++;
    r->in_turn = true;
    e = make(r, EVENT_TURN_STARTED);
    e->id = arena_str(&e->arena, uuid);
    tell(r, e);
}

static void tell_said(struct replay *r, const struct json *entry)
{
    const struct json *message = json_get(entry, "message");
    const struct json *content = json_get(message, "content");
    CLEANUP(buf_release) struct buf text = BUF_INIT(REPLAY_TEXT);
    CLEANUP(buf_release) struct buf typed = BUF_INIT(REPLAY_TEXT);
    struct str uuid = json_get_str(entry, "uuid");
    struct event *e;

    buf_add(&text, json_str(content));
    JSON_EACH(content, it) {
        struct str part = json_get_str(it, "text");

        if (!part.len || str_starts(part, STR("<system-reminder>")))
            continue;
        if (text.len)
            buf_addc(&text, '\n');
        buf_add(&text, part);
    }
    if (str_starts(buf_str(&text), STR("[Request interrupted by user"))) {
        r->was_interrupted = true;
        return;
    }
    begin_turn(r, uuid);
    e = make(r, EVENT_USER);
    e->user = USER_INPUT;
    e->id = arena_str(&e->arena, uuid);
    e->text =
        arena_str(&e->arena, typed_find(buf_str(&text), &typed) ? buf_str(&typed) : buf_str(&text));
    e->json = arena_str(&e->arena, json_raw(message));
    tell(r, e);
}

static void tell_block(struct replay *r, enum block_kind kind, const struct json *block,
                       struct str text)
{
    static const enum event_kind kinds[] = {EVENT_BLOCK_STARTED, EVENT_BLOCK_DELTA,
                                            EVENT_BLOCK_DONE};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct event *e;

        if (kinds[i] == EVENT_BLOCK_DELTA && !text.len)
            continue;
        e = make(r, kinds[i]);
        e->block = kind;
        e->id = arena_str(&e->arena, json_get_str(block, "id"));
        e->name = arena_str(&e->arena, json_get_str(block, "name"));
        if (kinds[i] != EVENT_BLOCK_STARTED)
            e->text = arena_str(&e->arena, text);
        if (kinds[i] == EVENT_BLOCK_DONE)
            e->json = arena_str(&e->arena, block ? json_raw(block) : STR("{}"));
        tell(r, e);
    }
}

static void tell_call(struct replay *r, const struct json *block)
{
    struct event *e = make(r, EVENT_TOOL_STARTED);

    e->id = arena_str(&e->arena, json_get_str(block, "id"));
    e->name = arena_str(&e->arena, json_get_str(block, "name"));
    e->json = arena_str(&e->arena, json_raw(json_get(block, "input")));
    tell_block(r, BLOCK_TOOL_USE, block, STR(""));
    event_unref(map_set(&r->open, e->id, event_ref(e)));
    tell(r, e);
}

static void tell_answer(struct replay *r, const struct json *entry)
{
    const struct json *message = json_get(entry, "message");
    const struct json *content = json_get(message, "content");
    struct str id = json_get_str(message, "id");

    if (!r->in_turn) /* one without a prompt */
        begin_turn(r, json_get_str(entry, "uuid"));
    if (!id.len || !str_eq(id, buf_str(&r->message))) { /* each line has one block of it */
        struct event *e = make(r, EVENT_STEP_STARTED);

        buf_clear(&r->message);
        buf_add(&r->message, id);
        e->message_id = arena_str(&e->arena, id);
        e->model = arena_str(&e->arena, json_get_str(message, "model"));
        tell(r, e);
    }
    if (json_str(content).len)
        tell_block(r, BLOCK_TEXT, /*block=*/NULL, json_str(content));
    JSON_EACH(content, it) {
        struct str type = json_get_str(it, "type");

        if (str_is(type, "text"))
            tell_block(r, BLOCK_TEXT, it, json_get_str(it, "text"));
        else if (str_is(type, "thinking"))
            tell_block(r, BLOCK_THINKING, it, json_get_str(it, "thinking"));
        else if (str_is(type, "tool_use"))
            tell_call(r, it);
    }
}

static void tell_result(struct replay *r, const struct json *entry, const struct json *block)
{
    const struct json *content = json_get(block, "content");
    struct event *call = map_remove(&r->open, json_get_str(block, "tool_use_id"));
    struct event *e;

    if (!call)
        return; /* its call was not replayed */
    e = make(r, EVENT_TOOL_DONE);
    e->id = arena_str(&e->arena, call->id);
    e->name = arena_str(&e->arena, call->name);
    e->is_error = json_get_bool(block, "is_error", false);
    e->error = json_get_bool(entry, "isDenied", false) ? ERR_DENIED : ERR_NONE;
    e->json = arena_str(&e->arena, json_raw(block));
    e->text = arena_str(&e->arena, json_is(content, JSON_STRING)
                                       ? json_str(content)
                                       : json_get_str(json_first(content), "text"));
    if (json_is(json_get(entry, "toolUseResult"), JSON_OBJECT))
        e->data = arena_str(&e->arena, json_raw(json_get(entry, "toolUseResult")));
    event_unref(call);
    tell(r, e);
}

static void tell_entry(struct replay *r, const struct load_entry *at, const struct json *entry)
{
    if (at->flags & (LOAD_META | LOAD_SUMMARY | LOAD_SIDECHAIN | LOAD_BOUNDARY))
        return;
    if (at->kind == ENTRY_ASSISTANT && at->flags & LOAD_API_ERROR) {
        buf_clear(&r->error);
        buf_add(&r->error, json_get_str(json_first(json_path(entry, "message.content")), "text"));
        return;
    }
    if (at->kind == ENTRY_ASSISTANT) {
        tell_answer(r, entry);
        return;
    }
    if (!(at->flags & LOAD_TOOL_RESULT)) {
        tell_said(r, entry);
        return;
    }
    JSON_EACH(json_path(entry, "message.content"), it) {
        if (str_is(json_get_str(it, "type"), "tool_result"))
            tell_result(r, entry, it);
    }
}

static int tell_all(struct replay *r, struct load *load, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    bool was_in_turn = r->host && host_in_turn(r->host);

    for (size_t i = 0; i < load_count(load); i++) {
        const struct load_entry *at = load_at(load, i);
        const struct json *entry = NULL;
        struct str line;

        if ((at->kind != ENTRY_USER && at->kind != ENTRY_ASSISTANT) || at->len > REPLAY_LINE)
            continue;
        if (load_read(load, at->offset, at->len, &line, err) < 0)
            return -1;
        arena_reset(&arena);
        if (json_parse(&arena, line, &entry, /*ret_info=*/NULL, /*err=*/NULL) < 0)
            continue;
        r->time_ms = entry_time_parse(json_get_str(entry, "timestamp"));
        tell_entry(r, at, entry);
    }
    /* The last turn of a session at work is not over, and its calls are not cut off. */
    if (!was_in_turn && !(r->host && host_in_turn(r->host)))
        end_turn(r);
    return 0;
}

static int replay(struct host *h, const char *path, const char *session, struct cancel *cancel,
                  replay_fn fn, void *arg, struct err *err)
{
    struct replay r = {.session = session,
                       .host = h,
                       .fn = fn,
                       .arg = arg,
                       .message = BUF_INIT(1024),
                       .error = BUF_INIT(REPLAY_TEXT)};
    struct load *load = NULL;
    int rc;

    if (!*path || !file_exists(path))
        return 0;
    if (load_open(path, &(struct load_spec){.whole = true}, cancel, &load, err) < 0)
        return -1;
    rc = tell_all(&r, load, err);
    MAP_EACH(&r.open, it) {
        event_unref(it->value);
    }
    map_release(&r.open);
    buf_release(&r.message);
    buf_release(&r.error);
    load_free(load);
    return rc;
}

int replay_session(struct host *h, struct cancel *cancel, replay_fn fn, void *arg, struct err *err)
{
    return replay(h, host_transcript(h), host_session(h), cancel, fn, arg, err);
}

int replay_file(const char *path, const char *session, struct cancel *cancel, replay_fn fn,
                void *arg, struct err *err)
{
    return replay(/*h=*/NULL, path, session, cancel, fn, arg, err);
}
