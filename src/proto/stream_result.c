/*
 * stream_result: how a turn ended and what it cost. Pure.
 */
#include <math.h>
#include <string.h>

#include "agent/event.h"
#include "base/id.h"
#include "base/secret.h"
#include "context/notice.h"
#include "llm/model.h"
#include "proto/stream_json.h"
#include "proto/stream_line.h"
#include "proto/stream_parts.h"

/* An API failure is reported as a message of the assistant. */
static void render_synthetic(const struct event *e, struct buf *out)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct turn_report *report = e->report;
    static const struct llm_usage nothing;
    struct stream_line l;
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
    turn_report_text(report, &text);
    jw_kstr(w, "text", buf_str(&text));
    jw_object_end(w);
    jw_array_end(w);
    jw_kcstr(w, "stop_reason", "stop_sequence");
    jw_kcstr(w, "stop_sequence", "");
    jw_key(w, "usage");
    llm_usage_write(w, &nothing);
    jw_object_end(w);
    line_parent(w, e);
    jw_kstr(w, "error", report->category);
    line_end(&l);
}

/* As clients know those that serve Claude; others by their own names. */
static void write_provider(struct jw *w, struct str name)
{
    struct model m = {0};
    size_t i = 0;

    while (model_at(i, &m) && !str_eq(m.name, name))
        i++;
    if (str_eq(m.name, name))
        jw_kstr(w, "provider", str_is(m.provider, "anthropic") ? STR("firstParty") : m.provider);
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
        if (m->usage.thinking)
            jw_ki64(w, "thinkingTokens", m->usage.thinking);
        jw_ki64(w, "cacheReadInputTokens", m->usage.cache_read);
        jw_ki64(w, "cacheCreationInputTokens", m->usage.cache_write);
        jw_ki64(w, "webSearchRequests", m->usage.web_searches);
        jw_key(w, "costUSD"); /* clients count on a number */
        jw_double(w, isnan(m->usd) ? 0 : m->usd);
        if (isnan(m->usd))
            jw_kbool(w, "costUnknown", true);
        jw_ki64(w, "contextWindow", m->window);
        jw_ki64(w, "maxOutputTokens", m->max_output);
        jw_kstr(w, "canonicalModel", m->model);
        write_provider(w, m->model);
        jw_object_end(w);
    }
    jw_object_end(w);
}

static void render_goal(struct jw *w, const struct turn_goal *goal)
{
    jw_key(w, "goal");
    jw_object(w);
    jw_kcstr(w, "status", goal->status);
    jw_kstr(w, "reason", goal->reason);
    jw_ki64(w, "exit_code", goal->exit_code);
    jw_object_end(w);
}

/* What went wrong in the turn, and what the goal says that is no success. */
static void render_errors(struct jw *w, const struct turn_report *report)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    jw_key(w, "errors");
    jw_array(w);
    if (report->error.len)
        jw_str(w, report->error);
    if (report->goal.subtype) {
        buf_addf(&text, "The goal of this session is %s", report->goal.status);
        if (report->goal.reason.len)
            buf_addf(&text, ": %.*s", STR_ARG(report->goal.reason));
        jw_str(w, buf_str(&text));
    }
    jw_array_end(w);
}

static void render_result(const struct event *e, struct buf *out)
{
    const struct turn_report *report = e->report;
    const char *subtype = turn_report_subtype(report);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    bool success = strcmp(subtype, "success") == 0;
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "result", subtype);

    jw_kbool(w, "is_error", turn_report_is_error(report));
    jw_key(w, "api_error_status");
    if (report->api_status)
        jw_i64(w, report->api_status);
    else
        jw_null(w);
    jw_ki64(w, "duration_ms", report->duration_ms);
    jw_ki64(w, "duration_api_ms", report->duration_api_ms);
    jw_ki64(w, "num_turns", report->steps);
    turn_report_text(report, &text);
    if (success || report->goal.subtype) /* an answer is one, whatever the goal says */
        jw_kstr(w, "result", report->structured.len ? report->structured : buf_str(&text));
    jw_kcstr(w, "stop_reason",
             report->deferred.len        ? "tool_deferred"
             : report->stop == STOP_NONE ? NULL
                                         : llm_stop_name(report->stop));
    jw_key(w, "total_cost_usd");
    jw_double(w, report->total_usd);
    jw_key(w, "usage");
    llm_usage_write(w, &report->usage);
    jw_key(w, "modelUsage");
    stream_json_model_usage(w, report);
    jw_kraw(w, "permission_denials", report->denials.len ? report->denials : STR("[]"));
    if (report->deferred.len)
        jw_kraw(w, "deferred_tool_use", report->deferred);
    if (report->structured.len)
        jw_kraw(w, "structured_output", report->structured);
    if (e->json.len)
        jw_kraw(w, "goal_status", e->json);
    if (report->goal.status)
        render_goal(w, &report->goal);
    jw_kcstr(w, "terminal_reason", turn_end_name(report->end));
    if (report->notice_run)
        notice_write_origin(w, str_of(report->notice_run));
    jw_ki64(w, "queued_turn_count", (int64_t)report->queued);
    jw_ki64(w, "result_index", report->index);
    if (report->first_input.len) {
        jw_kstr(w, "user_message_uuid", report->first_input);
        jw_kraw(w, "user_message_uuids", report->inputs);
    }
    if (!success)
        render_errors(w, report);
    line_end(&l);
}

void stream_json_failure(struct str text, struct buf *out)
{
    static const struct llm_usage nothing;
    CLEANUP(buf_release) struct buf line = BUF_INIT(STREAM_JSON_MAX_LINE);
    char id[ID_UUID_LEN + 1];
    struct jw w;

    jw_init(&w, &line, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "type", "result");
    jw_kcstr(&w, "subtype", "error_during_execution");
    jw_kbool(&w, "is_error", true);
    jw_ki64(&w, "duration_ms", 0);
    jw_ki64(&w, "duration_api_ms", 0);
    jw_ki64(&w, "num_turns", 0);
    jw_kcstr(&w, "stop_reason", NULL);
    jw_ki64(&w, "total_cost_usd", 0);
    jw_key(&w, "usage");
    llm_usage_write(&w, &nothing);
    jw_kraw(&w, "modelUsage", STR("{}"));
    jw_kraw(&w, "permission_denials", STR("[]"));
    jw_key(&w, "errors");
    jw_array(&w);
    jw_str(&w, text);
    jw_array_end(&w);
    id_uuid(id);
    jw_kcstr(&w, "session_id", id);
    id_uuid(id);
    jw_kcstr(&w, "uuid", id);
    jw_object_end(&w);
    buf_addc(&line, '\n');
    secret_scrub(&line);
    buf_add(out, buf_str(&line));
}

/* Ended by a hook: that is not an error, but the user will want to know why. */
static void render_why(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 2, "system", "informational");

    jw_kstr(w, "content", e->report->error);
    jw_kcstr(w, "level", "warning");
    line_end(&l);
}

void stream_turn_done(struct stream_json *r, const struct event *e, struct buf *out)
{
    stream_step_void(r, e);
    map_release(&r->progress);
    r->progress = (struct map)MAP_INIT;
    if (e->report->category.len)
        render_synthetic(e, out);
    if (!e->report->is_error && e->report->error.len)
        render_why(e, out);
    render_result(e, out);
}
