/*
 * stream_json: events in, lines out. Whichever thread its observer runs on.
 *
 * One function per kind of line. A line takes its uuid from its event; where an event makes several
 * lines, the further ones change the first eight digits.
 */
#include "proto/stream_json.h"

#include <inttypes.h>
#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "json/json.h"
#include "json/jw.h"

void stream_json_init(struct stream_json *r, const struct stream_json_options *options,
                      const struct stream_json_session *session)
{
    *r = (struct stream_json){.options = *options, .session = session};
    buf_init(&r->message_id, 1024);
    buf_init(&r->model, 1024);
}

static void drop_held(struct stream_json *r)
{
    VEC_EACH(&r->held, it) {
        event_unref(*it);
    }
    r->held.len = 0;
}

void stream_json_release(struct stream_json *r)
{
    drop_held(r);
    vec_release(&r->held);
    map_release(&r->progress);
    buf_release(&r->message_id);
    buf_release(&r->model);
}

static void write_usage(struct jw *w, const struct llm_usage *u)
{
    jw_object(w);
    jw_ki64(w, "input_tokens", u->input);
    jw_ki64(w, "cache_creation_input_tokens", u->cache_write);
    jw_ki64(w, "cache_read_input_tokens", u->cache_read);
    jw_ki64(w, "output_tokens", u->output);
    jw_key(w, "server_tool_use");
    jw_object(w);
    jw_ki64(w, "web_search_requests", u->web_searches);
    jw_object_end(w);
    jw_kcstr(w, "service_tier", "standard");
    jw_key(w, "cache_creation");
    jw_object(w);
    jw_ki64(w, "ephemeral_1h_input_tokens", u->cache_write_1h);
    jw_ki64(w, "ephemeral_5m_input_tokens", u->cache_write - u->cache_write_1h);
    jw_object_end(w);
    jw_object_end(w);
}

const char *stream_json_category(int err_code, int status)
{
    switch ((enum err_code)err_code) {
    case ERR_RETRY_LATER:
        return status == 529 || status == 503 ? "overloaded" : "rate_limit";
    case ERR_AUTH:
        return "authentication_failed";
    case ERR_QUOTA:
        return "billing_error";
    case ERR_NOT_FOUND:
        return "model_not_found";
    case ERR_BAD_INPUT:
    case ERR_TOO_BIG:
    case ERR_CONTEXT_FULL:
    case ERR_UNSUPPORTED:
    case ERR_DENIED:
        return "invalid_request";
    case ERR_NETWORK:
    case ERR_TIMEOUT:
    case ERR_PROTOCOL:
        return "server_error";
    default:
        return "unknown";
    }
}

/* A line in the making. */
struct line {
    struct jw w;
    const struct event *event;
    unsigned number; /* of its event's lines */
};

static struct jw *line_begin(struct line *l, struct buf *out, const struct event *e,
                             unsigned number, const char *type, const char *subtype)
{
    *l = (struct line){.event = e, .number = number};
    jw_init(&l->w, out, JW_CLEAN);
    jw_object(&l->w);
    jw_kcstr(&l->w, "type", type);
    if (subtype)
        jw_kcstr(&l->w, "subtype", subtype);
    return &l->w;
}

static void line_end(struct line *l)
{
    static const char digits[] = "0123456789abcdef";
    char uuid[ID_UUID_LEN + 1];

    memcpy(uuid, l->event->uuid, sizeof(uuid));
    for (unsigned n = l->number, i = 0; n; n >>= 4, i++) {
        const char *was = strchr(digits, uuid[7 - i]);

        uuid[7 - i] = digits[((was && *was ? (unsigned)(was - digits) : 0) + (n & 15)) & 15];
    }
    jw_kcstr(&l->w, "session_id", l->event->session);
    jw_kcstr(&l->w, "uuid", uuid);
    jw_object_end(&l->w);
    buf_addc(l->w.out, '\n');
}

static void put_time(struct jw *w, const struct event *e)
{
    char when[25];

    clock_iso(e->time_ms, when);
    jw_kcstr(w, "timestamp", when);
}

/* A block as the API has it: without the keys that are only ours. */
static void write_block(struct jw *w, struct str json)
{
    struct arena arena = ARENA_INIT;
    const struct json *block = NULL;
    bool is_result;

    if (json_parse(&arena, json, &block, NULL, NULL) < 0)
        BUG("an event's block does not parse");
    is_result = str_is(json_get_str(block, "type"), "tool_result");
    jw_object(w);
    JSON_EACH(block, member) {
        struct str key = json_key(member);

        if (str_is(key, "provider_data") || str_is(key, "input_text") ||
            (is_result && str_is(key, "name")))
            continue;
        jw_key_str(w, key);
        jw_json(w, member);
    }
    jw_object_end(w);
    arena_release(&arena);
}

static void put_no_parent(struct jw *w)
{
    jw_key(w, "parent_tool_use_id");
    jw_null(w); /* the main agent */
}

static void empty_list(struct jw *w, const char *key)
{
    jw_key(w, key);
    jw_array(w);
    jw_array_end(w);
}

/* ---- system lines ---- */

static void render_init(struct stream_json *r, const struct event *e, struct buf *out)
{
    struct line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "init");
    const struct buf *servers = r->session->mcp_servers;

    jw_kstr(w, "cwd", e->text);
    jw_kraw(w, "tools", e->json.len ? e->json : STR("[]"));
    jw_kraw(w, "mcp_servers", servers && servers->len ? buf_str(servers) : STR("[]"));
    jw_kstr(w, "model", e->model);
    jw_kcstr(w, "permissionMode", e->mode);
    empty_list(w, "slash_commands");
    jw_kcstr(w, "apiKeySource", r->session->key_source);
    jw_kcstr(w, "claude_code_version", TENAX_VERSION);
    jw_kcstr(w, "output_style", r->session->output_style);
    empty_list(w, "agents");
    empty_list(w, "skills");
    empty_list(w, "plugins");
    line_end(&l);
}

static void render_state(const struct event *e, struct buf *out)
{
    struct line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "session_state_changed");

    jw_kcstr(w, "state", event_state_name(e->state));
    jw_kbool(w, "sdk_host_only", true);
    line_end(&l);
}

static void render_mode(const struct event *e, struct buf *out)
{
    struct line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "status");

    jw_key(w, "status");
    jw_null(w);
    jw_kcstr(w, "permissionMode", e->mode);
    line_end(&l);
}

static void render_retry(const struct event *e, struct buf *out)
{
    struct line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "api_retry");

    jw_ki64(w, "attempt", e->attempt > 1 ? e->attempt - 1 : 1); /* retries, not tries */
    jw_ki64(w, "max_retries", e->max_tries > 1 ? e->max_tries - 1 : 1);
    jw_ki64(w, "retry_delay_ms", e->delay_ms);
    jw_key(w, "error_status");
    if (e->status)
        jw_i64(w, e->status);
    else
        jw_null(w);
    jw_kcstr(w, "error", stream_json_category((int)e->error, e->status));
    jw_kstr(w, "message", e->text);
    line_end(&l);
}

static void render_notice(const struct event *e, struct buf *out)
{
    static const char *const levels[] = {
        [LEVEL_INFO] = "info", [LEVEL_WARNING] = "warning", [LEVEL_ERROR] = "error"};
    struct line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "informational");

    jw_kstr(w, "content", e->text);
    jw_kcstr(w, "level", levels[e->level]);
    line_end(&l);
}

static void render_hook(const struct stream_json *r, const struct event *e, struct buf *out)
{
    bool done = e->kind == EVENT_HOOK_DONE;
    struct line l;
    struct jw *w;

    if (!r->options.hooks && !str_is(e->text, "SessionStart") && !str_is(e->text, "Setup"))
        return;
    w = line_begin(&l, out, e, 0, "system", done ? "hook_response" : "hook_started");
    jw_kstr(w, "hook_id", e->id);
    jw_kstr(w, "hook_name", e->name);
    jw_kstr(w, "hook_event", e->text);
    if (done) {
        jw_kstr(w, "output", e->json.len ? e->json : e->data);
        jw_kstr(w, "stdout", e->json);
        jw_kstr(w, "stderr", e->data);
        jw_kcstr(w, "outcome", e->is_error ? "error" : "success");
    }
    line_end(&l);
}

static void render_task_started(const struct event *e, struct buf *out)
{
    struct line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "task_started");

    jw_kstr(w, "task_id", e->id);
    if (e->tool_id.len)
        jw_kstr(w, "tool_use_id", e->tool_id);
    jw_kstr(w, "description", e->text);
    line_end(&l);
}

static void render_task_done(const struct event *e, struct buf *out)
{
    struct line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "task_notification");

    jw_kstr(w, "task_id", e->id);
    if (e->tool_id.len)
        jw_kstr(w, "tool_use_id", e->tool_id);
    jw_kstr(w, "status", str_is(e->name, "killed") ? STR("stopped") : e->name);
    jw_kstr(w, "output_file", e->data);
    jw_kstr(w, "summary", e->text);
    line_end(&l);
}

static void render_compacted(const struct event *e, struct buf *out)
{
    struct line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "compact_boundary");

    jw_key(w, "compact_metadata");
    jw_object(w);
    jw_kcstr(w, "trigger", "auto");
    jw_ki64(w, "pre_tokens", e->usage.input + e->usage.cache_read + e->usage.cache_write);
    jw_object_end(w);
    line_end(&l);
}

/* ---- the answer ---- */

static void message_head(const struct stream_json *r, struct jw *w)
{
    jw_kstr(w, "id", buf_str(&r->message_id));
    jw_kcstr(w, "type", "message");
    jw_kcstr(w, "role", "assistant");
    jw_kstr(w, "model", buf_str(&r->model));
}

static void message_rest(const struct stream_json *r, struct jw *w)
{
    jw_key(w, "stop_reason");
    jw_null(w);
    jw_key(w, "stop_sequence");
    jw_null(w);
    jw_key(w, "usage");
    write_usage(w, &r->usage);
}

static void render_assistant(const struct stream_json *r, const struct event *block,
                             struct str request_id, struct buf *out)
{
    struct line l;
    struct jw *w = line_begin(&l, out, block, 0, "assistant", NULL);

    jw_key(w, "message");
    jw_object(w);
    message_head(r, w);
    jw_key(w, "content");
    jw_array(w);
    write_block(w, block->json);
    jw_array_end(w);
    message_rest(r, w);
    jw_object_end(w);
    put_no_parent(w);
    if (request_id.len)
        jw_kstr(w, "request_id", request_id);
    put_time(w, block);
    line_end(&l);
}

/* {"type":"stream_event","event":{"type":…: the caller writes the rest of the inner object. */
static struct jw *partial_begin(struct line *l, struct buf *out, const struct event *e,
                                unsigned number, const char *type)
{
    struct jw *w = line_begin(l, out, e, number, "stream_event", NULL);

    jw_key(w, "event");
    jw_object(w);
    jw_kcstr(w, "type", type);
    return w;
}

static void partial_end(struct line *l)
{
    jw_object_end(&l->w);
    put_no_parent(&l->w);
    line_end(l);
}

static void partial_message_start(const struct stream_json *r, const struct event *e,
                                  struct buf *out)
{
    struct line l;
    struct jw *w = partial_begin(&l, out, e, 0, "message_start");

    jw_key(w, "message");
    jw_object(w);
    message_head(r, w);
    empty_list(w, "content");
    message_rest(r, w);
    jw_object_end(w);
    jw_object_end(w);
    put_no_parent(w);
    if (e->ttft_ms > 0)
        jw_ki64(w, "ttft_ms", e->ttft_ms);
    line_end(&l);
}

/* Blocks of these kinds arrive whole: they start when they are done. */
static bool comes_whole(enum block_kind kind)
{
    return kind != BLOCK_TEXT && kind != BLOCK_THINKING && kind != BLOCK_TOOL_USE;
}

static void partial_block_start(const struct event *e, struct buf *out)
{
    struct line l;
    struct jw *w = partial_begin(&l, out, e, 1, "content_block_start");

    jw_ki64(w, "index", (int64_t)e->index);
    jw_key(w, "content_block");
    if (comes_whole(e->block)) {
        write_block(w, e->json);
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
    partial_end(&l);
}

static void partial_delta(const struct event *e, unsigned number, const char *type,
                          const char *member, struct str text, struct buf *out)
{
    struct line l;
    struct jw *w = partial_begin(&l, out, e, number, "content_block_delta");

    jw_ki64(w, "index", (int64_t)e->index);
    jw_key(w, "delta");
    jw_object(w);
    jw_kcstr(w, "type", type);
    jw_kstr(w, member, text);
    jw_object_end(w);
    partial_end(&l);
}

static void partial_block_delta(const struct stream_json *r, const struct event *e, struct buf *out)
{
    if (r->open == BLOCK_TEXT)
        partial_delta(e, 0, "text_delta", "text", e->text, out);
    else if (r->open == BLOCK_THINKING)
        partial_delta(e, 0, "thinking_delta", "thinking", e->text, out);
    else if (r->open == BLOCK_TOOL_USE)
        partial_delta(e, 0, "input_json_delta", "partial_json", e->text, out);
}

static void partial_signature(const struct event *e, struct buf *out)
{
    struct arena arena = ARENA_INIT;
    const struct json *block = NULL;

    if (json_parse(&arena, e->json, &block, NULL, NULL) == 0 &&
        json_get_str(block, "signature").len)
        partial_delta(e, 2, "signature_delta", "signature", json_get_str(block, "signature"), out);
    arena_release(&arena);
}

/* The block's own line comes right before its content_block_stop. */
static void partial_block_done(const struct stream_json *r, const struct event *e, struct buf *out)
{
    struct line l;

    if (comes_whole(e->block))
        partial_block_start(e, out);
    if (e->block == BLOCK_THINKING)
        partial_signature(e, out);
    render_assistant(r, e, (struct str){0}, out);
    jw_ki64(partial_begin(&l, out, e, 3, "content_block_stop"), "index", (int64_t)e->index);
    partial_end(&l);
}

static void partial_message_stop(const struct event *e, struct buf *out)
{
    struct line l;
    struct jw *w = partial_begin(&l, out, e, 0, "message_delta");

    jw_key(w, "delta");
    jw_object(w);
    jw_kcstr(w, "stop_reason", e->stop == STOP_NONE ? NULL : llm_stop_name(e->stop));
    jw_key(w, "stop_sequence");
    jw_null(w);
    jw_object_end(w);
    jw_key(w, "usage");
    write_usage(w, &e->usage);
    partial_end(&l);
    partial_begin(&l, out, e, 1, "message_stop");
    partial_end(&l);
}

static void step_started(struct stream_json *r, const struct event *e, struct buf *out)
{
    drop_held(r);
    r->in_step = true;
    buf_clear(&r->message_id);
    buf_add(&r->message_id, e->message_id);
    buf_clear(&r->model);
    buf_add(&r->model, e->model);
    r->usage = e->usage;
    if (r->options.partial)
        partial_message_start(r, e, out);
}

static void step_block(struct stream_json *r, const struct event *e, struct buf *out)
{
    if (!r->in_step)
        return;
    if (e->kind == EVENT_BLOCK_STARTED)
        r->open = e->block;
    if (!r->options.partial) {
        if (e->kind == EVENT_BLOCK_DONE)
            vec_push(&r->held, event_ref((struct event *)e)); /* counting changes no event */
        return;
    }
    if (e->kind == EVENT_BLOCK_DONE)
        partial_block_done(r, e, out);
    else if (e->kind == EVENT_BLOCK_DELTA)
        partial_block_delta(r, e, out);
    else if (!comes_whole(e->block))
        partial_block_start(e, out);
}

static void step_done(struct stream_json *r, const struct event *e, struct buf *out)
{
    if (r->in_step && r->options.partial)
        partial_message_stop(e, out);
    VEC_EACH(&r->held, it) {
        render_assistant(r, *it, e->request_id, out);
    }
    drop_held(r);
    r->in_step = false;
}

/* ---- tools and users ---- */

static void render_tool_done(const struct event *e, struct buf *out)
{
    struct line l;
    struct jw *w = line_begin(&l, out, e, 0, "user", NULL);

    jw_key(w, "message");
    jw_object(w);
    jw_kcstr(w, "role", "user");
    jw_key(w, "content");
    jw_array(w);
    write_block(w, e->json);
    jw_array_end(w);
    jw_object_end(w);
    put_no_parent(w);
    jw_key(w, "tool_use_result");
    if (e->data.len) {
        jw_raw(w, e->data);
    } else {
        jw_str_begin(w);
        if (e->is_error)
            jw_str_part(w, STR("Error: "));
        jw_str_part(w, e->text);
        jw_str_end(w);
    }
    put_time(w, e);
    line_end(&l);
}

/* One line a second is enough for anybody. */
static void render_progress(struct stream_json *r, const struct event *e, struct buf *out)
{
    intptr_t seconds = (intptr_t)(e->duration_ms / 1000) + 1;
    struct line l;
    struct jw *w;

    if ((intptr_t)map_get(&r->progress, e->id) >= seconds)
        return;
    map_set(&r->progress, e->id, (void *)seconds);
    w = line_begin(&l, out, e, 0, "tool_progress", NULL);
    jw_kstr(w, "tool_use_id", e->id);
    jw_kstr(w, "tool_name", e->name);
    put_no_parent(w);
    jw_key(w, "elapsed_time_seconds");
    jw_double(w, (double)e->duration_ms / 1000);
    line_end(&l);
}

/* Reminders are between tenax and the model. */
static bool is_reminder(const struct event *e)
{
    return e->user == USER_ADDED && str_starts(str_trim(e->text), STR("<system-reminder>"));
}

static void render_user(const struct stream_json *r, const struct event *e, struct buf *out)
{
    struct line l;
    struct jw *w;

    if ((e->user == USER_INPUT && !r->options.replay) || is_reminder(e))
        return;
    w = line_begin(&l, out, e, 0, "user", NULL);
    jw_kraw(w, "message", e->json);
    put_no_parent(w);
    if (e->user == USER_INPUT) {
        jw_kbool(w, "isReplay", true);
        put_time(w, e);
        jw_kcstr(w, "session_id", e->session);
        jw_kstr(w, "uuid", e->id.len ? e->id : str_of(e->uuid)); /* the client's own */
        jw_object_end(w);
        buf_addc(out, '\n');
        return;
    }
    if (e->user == USER_ADDED)
        jw_kbool(w, "isSynthetic", true);
    put_time(w, e);
    line_end(&l);
}

/* ---- the end of a turn ---- */

/* An API failure is told as if the assistant had said it. */
static void render_synthetic(const struct event *e, struct buf *out)
{
    const struct turn_report *report = e->report;
    static const struct llm_usage nothing;
    struct line l;
    struct jw *w = line_begin(&l, out, e, 1, "assistant", NULL);

    jw_key(w, "message");
    jw_object(w);
    jw_kcstr(w, "id", e->uuid);
    jw_kcstr(w, "type", "message");
    jw_kcstr(w, "role", "assistant");
    jw_kcstr(w, "model", "<synthetic>");
    jw_key(w, "content");
    jw_array(w);
    jw_object(w);
    jw_kcstr(w, "type", "text");
    jw_kstr(w, "text", report->result);
    jw_object_end(w);
    jw_array_end(w);
    jw_kcstr(w, "stop_reason", "stop_sequence");
    jw_kcstr(w, "stop_sequence", "");
    jw_key(w, "usage");
    write_usage(w, &nothing);
    jw_object_end(w);
    put_no_parent(w);
    jw_kstr(w, "error", report->category);
    line_end(&l);
}

void stream_json_model_usage(struct jw *w, const struct turn_report *report)
{
    jw_object(w);
    for (size_t i = 0; i < report->model_count; i++) {
        const struct model_spent *m = &report->models[i];

        jw_key_str(w, m->model);
        jw_object(w);
        jw_ki64(w, "inputTokens", m->usage.input);
        jw_ki64(w, "outputTokens", m->usage.output);
        jw_ki64(w, "cacheReadInputTokens", m->usage.cache_read);
        jw_ki64(w, "cacheCreationInputTokens", m->usage.cache_write);
        jw_ki64(w, "webSearchRequests", m->usage.web_searches);
        jw_key(w, "costUSD");
        jw_double(w, m->usd); /* null when the prices are not known */
        jw_ki64(w, "contextWindow", m->window);
        jw_ki64(w, "maxOutputTokens", m->max_output);
        jw_object_end(w);
    }
    jw_object_end(w);
}

static void render_result(const struct event *e, struct buf *out)
{
    const struct turn_report *report = e->report;
    const char *subtype = turn_end_subtype(report->end);
    bool success = strcmp(subtype, "success") == 0;
    struct line l;
    struct jw *w = line_begin(&l, out, e, 0, "result", subtype);

    jw_kbool(w, "is_error", report->is_error);
    if (report->category.len) {
        jw_key(w, "api_error_status");
        if (report->api_status)
            jw_i64(w, report->api_status);
        else
            jw_null(w);
    }
    jw_ki64(w, "duration_ms", report->duration_ms);
    jw_ki64(w, "duration_api_ms", report->duration_api_ms);
    jw_ki64(w, "num_turns", report->steps);
    if (success)
        jw_kstr(w, "result", report->result);
    jw_kcstr(w, "stop_reason", report->stop == STOP_NONE ? NULL : llm_stop_name(report->stop));
    jw_key(w, "total_cost_usd");
    jw_double(w, report->total_usd);
    jw_key(w, "usage");
    write_usage(w, &report->usage);
    jw_key(w, "modelUsage");
    stream_json_model_usage(w, report);
    jw_kraw(w, "permission_denials", report->denials.len ? report->denials : STR("[]"));
    if (report->structured.len)
        jw_kraw(w, "structured_output", report->structured);
    jw_kcstr(w, "terminal_reason", turn_end_name(report->end));
    if (report->queued)
        jw_ki64(w, "queued_turn_count", (int64_t)report->queued);
    if (!success) {
        jw_key(w, "errors");
        jw_array(w);
        if (report->error.len)
            jw_str(w, report->error);
        jw_array_end(w);
    }
    line_end(&l);
}

static void turn_done(struct stream_json *r, const struct event *e, struct buf *out)
{
    drop_held(r);
    r->in_step = false;
    map_release(&r->progress);
    r->progress = (struct map)MAP_INIT;
    if (e->report->category.len)
        render_synthetic(e, out);
    render_result(e, out);
}

static void render(struct stream_json *r, const struct event *e, struct buf *out)
{
    switch (e->kind) {
    case EVENT_TURN_STARTED:
        render_init(r, e, out);
        break;
    case EVENT_STEP_STARTED:
        step_started(r, e, out);
        break;
    case EVENT_BLOCK_STARTED:
    case EVENT_BLOCK_DELTA:
    case EVENT_BLOCK_DONE:
        step_block(r, e, out);
        break;
    case EVENT_STEP_DONE:
        step_done(r, e, out);
        break;
    case EVENT_STEP_VOID:
        drop_held(r);
        r->in_step = false;
        break;
    case EVENT_TOOL_STARTED:
    case EVENT_WAITING:
        break; /* the tool_use block has said it; nobody asks */
    case EVENT_TOOL_PROGRESS:
        render_progress(r, e, out);
        break;
    case EVENT_TOOL_DONE:
        render_tool_done(e, out);
        break;
    case EVENT_USER:
        render_user(r, e, out);
        break;
    case EVENT_RETRY:
        render_retry(e, out);
        break;
    case EVENT_STATE:
        if (r->options.states)
            render_state(e, out);
        break;
    case EVENT_MODE:
        render_mode(e, out);
        break;
    case EVENT_HOOK_STARTED:
    case EVENT_HOOK_DONE:
        render_hook(r, e, out);
        break;
    case EVENT_TASK_STARTED:
        render_task_started(e, out);
        break;
    case EVENT_TASK_DONE:
        render_task_done(e, out);
        break;
    case EVENT_COMPACTED:
        render_compacted(e, out);
        break;
    case EVENT_NOTICE:
        render_notice(e, out);
        break;
    case EVENT_TURN_DONE:
        turn_done(r, e, out);
        break;
    }
}

void stream_json_event(struct stream_json *r, const struct event *e, struct buf *out)
{
    CLEANUP(buf_release) struct buf lines = BUF_INIT(STREAM_JSON_MAX_LINE);

    render(r, e, &lines);
    if (!lines.len)
        return;
    secret_scrub(&lines);
    buf_add(out, buf_str(&lines));
}
