/*
 * stream_json: events in, lines out. Whichever thread its observer runs on.
 *
 * One function per kind of line. What the model says is in stream_step.c, the end of a turn in
 * stream_result.c.
 */
#include "proto/stream_json.h"

#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/secret.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/fault.h"
#include "proto/shorten.h"
#include "proto/stream_line.h"
#include "proto/stream_parts.h"

void stream_json_init(struct stream_json *r, const struct stream_json_options *options,
                      const struct stream_json_session *session)
{
    *r = (struct stream_json){.options = *options, .session = session};
}

void stream_json_release(struct stream_json *r)
{
    stream_steps_release(r);
    map_release(&r->progress);
}

/* ---- system lines ---- */

static void write_names(struct jw *w, const char *key, const char *const *names)
{
    jw_key(w, key);
    jw_array(w);
    for (; names && *names; names++)
        jw_cstr(w, *names);
    jw_array_end(w);
}

/* The tool that starts agents has the name that clients have always known. */
static void write_tools(struct jw *w, struct str json)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *names = NULL;

    jw_key(w, "tools");
    jw_array(w);
    if (json.len && json_parse(&arena, json, &names, /*ret_info=*/NULL, /*err=*/NULL) == 0) {
        JSON_EACH(names, name) {
            jw_str(w, str_is(json_str(name), "Agent") ? STR("Task") : json_str(name));
        }
    }
    jw_array_end(w);
}

static void render_init(struct stream_json *r, const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "init");

    jw_kstr(w, "cwd", e->text);
    write_tools(w, e->json);
    jw_kraw(w, "additional_directories", e->data.len ? e->data : STR("[]"));
    jw_kraw(w, "mcp_servers", e->show.len ? e->show : STR("[]"));
    jw_kstr(w, "model", e->model);
    jw_kcstr(w, "permissionMode", e->mode);
    write_names(w, "slash_commands", r->session->commands);
    if (r->session->terminal && *r->session->terminal)
        write_names(w, "terminal_slash_commands", r->session->terminal);
    jw_kcstr(w, "apiKeySource", r->session->key_source);
    jw_kcstr(w, "claude_code_version", TENAX_VERSION);
    jw_kstr(w, "output_style", e->name.len ? e->name : STR("default"));
    jw_kcstr(w, "view_mode", "default");
    jw_kraw(w, "agents", e->agents.len ? e->agents : STR("[]"));
    write_names(w, "skills", r->session->skills);
    jw_kraw(w, "plugins", r->session->plugins ? str_of(r->session->plugins) : STR("[]"));
    if (r->session->plugin_errors)
        jw_kraw(w, "plugin_errors", str_of(r->session->plugin_errors));
    jw_key(w, "capabilities"); /* of the control language: what an interrupt answers */
    jw_array(w);
    jw_cstr(w, "interrupt_receipt_v1");
    jw_cstr(w, "interrupt_cancel_queued_v1");
    jw_array_end(w);
    line_end(&l);
}

static void render_state(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "session_state_changed");

    jw_kcstr(w, "state", event_state_name(e->state));
    jw_kbool(w, "sdk_host_only", true);
    line_end(&l);
}

static void render_mode(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "status");

    jw_key(w, "status");
    jw_null(w);
    jw_kcstr(w, "permissionMode", e->mode);
    line_end(&l);
}

static void render_retry(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "api_retry");

    jw_ki64(w, "attempt", e->attempt > 1 ? e->attempt - 1 : 1); /* retries, not tries */
    jw_ki64(w, "max_retries", e->max_tries > 1 ? e->max_tries - 1 : 1);
    jw_ki64(w, "retry_delay_ms", e->delay_ms);
    jw_key(w, "error_status");
    if (e->status)
        jw_i64(w, e->status);
    else
        jw_null(w);
    jw_kcstr(w, "error", fault_name(e->error, e->is_overloaded));
    jw_kstr(w, "message", e->text);
    line_end(&l);
}

static void render_notice(const struct event *e, struct buf *out)
{
    static const char *const levels[] = {
        [LEVEL_INFO] = "info", [LEVEL_WARNING] = "warning", [LEVEL_ERROR] = "error"};
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "informational");

    jw_kstr(w, "content", e->text);
    jw_kcstr(w, "level", levels[e->level]);
    line_end(&l);
}

static void render_fallback(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "model_fallback");

    jw_kcstr(w, "trigger", "overloaded");
    jw_kstr(w, "original_model", e->data);
    jw_kstr(w, "fallback_model", e->model);
    jw_kstr(w, "content", e->text);
    line_end(&l);
}

/* Hosts that follow the state of a session follow each message, too. */
static void render_lifecycle(const struct stream_json *r, const struct event *e, unsigned number,
                             struct str uuid, const char *state, struct buf *out)
{
    struct stream_line l;
    struct jw *w;

    if (!r->options.states || !uuid.len)
        return;
    w = line_begin(&l, out, e, number, "command_lifecycle", NULL);
    jw_kstr(w, "command_uuid", uuid);
    jw_kcstr(w, "state", state);
    line_end(&l);
}

/* The turn is over, and with it all messages that it has heard. */
static void render_completed(const struct stream_json *r, const struct event *e, struct buf *out)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    bool is_cut = e->report->end == END_ABORTED_STREAMING || e->report->end == END_ABORTED_TOOLS;
    const struct json *inputs = NULL;
    unsigned number = 0x100;

    if (!r->options.states || !e->report->inputs.len ||
        json_parse(&arena, e->report->inputs, &inputs, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    JSON_EACH(inputs, uuid) {
        render_lifecycle(r, e, number++, json_str(uuid), is_cut ? "cancelled" : "completed", out);
    }
}

static const char *hook_outcome(const struct event *e)
{
    if (e->error == ERR_CANCELLED)
        return "cancelled";
    return e->is_error ? "error" : "success";
}

static void render_hook(const struct stream_json *r, const struct event *e, struct buf *out)
{
    const char *subtype = e->kind == EVENT_HANDLER_STARTED    ? "hook_started"
                          : e->kind == EVENT_HANDLER_PROGRESS ? "hook_progress"
                                                              : "hook_response";
    struct stream_line l;
    struct jw *w;

    if (!r->options.hooks && !str_is(e->text, "SessionStart") && !str_is(e->text, "Setup"))
        return;
    w = line_begin(&l, out, e, 0, "system", subtype);
    jw_kstr(w, "hook_id", e->id);
    jw_kstr(w, "hook_name", e->name);
    jw_kstr(w, "hook_event", e->text);
    if (e->kind != EVENT_HANDLER_STARTED) {
        jw_kstr(w, "output", e->json.len ? e->json : e->data);
        jw_kstr(w, "stdout", e->json);
        jw_kstr(w, "stderr", e->data);
    }
    if (e->kind == EVENT_HANDLER_DONE) {
        if (e->has_code)
            jw_ki64(w, "exit_code", e->code);
        jw_kcstr(w, "outcome", hook_outcome(e));
    }
    line_end(&l);
}

static struct jw *task_begin_line(struct stream_line *l, struct buf *out, const struct event *e,
                                  const char *subtype)
{
    struct jw *w = line_begin(l, out, e, 0, "system", subtype);

    jw_kstr(w, "task_id", e->id);
    if (e->task)
        jw_kcstr(w, "run_id", e->task->run);
    if (e->tool_id.len && e->kind != EVENT_TASK_UPDATED)
        jw_kstr(w, "tool_use_id", e->tool_id);
    return w;
}

static void write_task_usage(struct jw *w, const struct event_task *task)
{
    jw_key(w, "usage");
    jw_object(w);
    jw_ki64(w, "total_tokens", task->tokens);
    jw_ki64(w, "tool_uses", task->tool_uses);
    jw_ki64(w, "duration_ms", task->duration_ms);
    jw_object_end(w);
}

static void render_task_started(const struct event *e, struct buf *out)
{
    const struct event_task *task = e->task;
    struct stream_line l;
    struct jw *w = task_begin_line(&l, out, e, "task_started");

    jw_kstr(w, "description", e->text);
    if (task) {
        if (task->type)
            jw_kcstr(w, "subagent_type", task->type);
        jw_kbool(w, "is_backgrounded", task->is_background);
        if (task->depth)
            jw_ki64(w, "spawn_depth", task->depth);
        if (strcmp(task->owner, IDENTITY_MAIN) != 0)
            jw_kcstr(w, "parent_task_id", task->owner);
        jw_kcstr(w, "task_type", task->kind);
        if (task->prompt.len)
            jw_kstr(w, "prompt", task->prompt);
    }
    line_end(&l);
}

static void render_task_progress(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = task_begin_line(&l, out, e, "task_progress");

    jw_kstr(w, "description", e->text);
    if (e->task->type)
        jw_kcstr(w, "subagent_type", e->task->type);
    write_task_usage(w, e->task);
    if (e->task->tool.len)
        jw_kstr(w, "last_tool_name", e->task->tool);
    line_end(&l);
}

static void render_task_updated(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = task_begin_line(&l, out, e, "task_updated");

    jw_kraw(w, "patch", e->json);
    line_end(&l);
}

static void render_task_done(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = task_begin_line(&l, out, e, "task_notification");

    jw_kstr(w, "status", str_is(e->name, "killed") ? STR("stopped") : e->name);
    jw_kstr(w, "output_file", e->data);
    jw_kstr(w, "summary", e->text);
    if (e->task && e->task->has_usage)
        write_task_usage(w, e->task);
    line_end(&l);
}

static void render_tasks(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "background_tasks_changed");

    jw_kraw(w, "tasks", e->json);
    line_end(&l);
}

/* Under the uuid it has in the transcript. */
static void render_rewound(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "rewound");

    jw_kstr(w, "user_message_id", e->id);
    jw_kbool(w, "files", !str_is(e->name, "conversation"));
    jw_kbool(w, "conversation", !str_is(e->name, "files"));
    jw_kstr(w, "text", e->text);
    jw_ki64(w, "post_tokens", e->post_tokens);
    line_end(&l);
}

/* With partial messages: clients show that the answer has yet to begin. */
static void render_requesting(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "status");

    jw_kcstr(w, "status", "requesting");
    line_end(&l);
}

static void render_compacting(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "status");

    jw_kcstr(w, "status", "compacting");
    line_end(&l);
}

/* That it is over, and the boundary, under the uuid it has in the transcript. */
static void render_compacted(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, e->is_error ? 0 : 1, "system", "status");

    jw_key(w, "status");
    jw_null(w);
    jw_kcstr(w, "compact_result", e->is_error ? "failed" : "success");
    if (e->is_error)
        jw_kstr(w, "compact_error", e->text);
    line_end(&l);
    if (e->is_error)
        return;
    w = line_begin(&l, out, e, 0, "system", "compact_boundary");
    jw_key(w, "compact_metadata");
    jw_object(w);
    jw_kstr(w, "trigger", e->name);
    jw_ki64(w, "pre_tokens", e->pre_tokens);
    jw_ki64(w, "post_tokens", e->post_tokens);
    jw_ki64(w, "duration_ms", e->duration_ms);
    jw_object_end(w);
    line_end(&l);
}

/* ---- tools and users ---- */

/* The structured result, for programs; left out where the line would become too long. */
static void render_tool_data(struct jw *w, const struct event *e, size_t line_bytes)
{
    size_t bytes = e->data.len ? e->data.len : e->text.len * SHORTEN_ESCAPES;

    if (line_bytes + bytes > SHORTEN_LINE_BYTES)
        return;
    jw_key(w, "tool_use_result");
    if (e->data.len) {
        jw_raw(w, e->data);
        return;
    }
    jw_str_begin(w);
    if (e->is_error)
        jw_str_part(w, STR("Error: "));
    jw_str_part(w, e->text);
    jw_str_end(w);
}

/* A call that was denied without asking the user. */
static void render_denied(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 1, "system", "permission_denied");

    jw_kstr(w, "tool_name", e->name);
    jw_kstr(w, "tool_use_id", e->id);
    if (!identity_is_main(&e->by))
        jw_kcstr(w, "agent_id", e->by.agent);
    jw_kcstr(w, "decision_reason_type", e->denied_by);
    jw_kstr(w, "decision_reason", e->show);
    jw_kstr(w, "message", e->text);
    line_end(&l);
}

/* Who decided about the call, for hosts that show it. */
static void render_tool_meta(struct jw *w, const struct event *e)
{
    if (!e->decider)
        return;
    jw_key(w, "tool_result_meta");
    jw_array(w);
    jw_object(w);
    jw_kstr(w, "id", e->id);
    if (e->error == ERR_DENIED)
        jw_kcstr(w, "non_execution_kind", e->denied_by ? "permission-rule" : "user-rejected");
    jw_key(w, "permission_decision");
    jw_object(w);
    jw_kcstr(w, "decision", e->error == ERR_DENIED ? "reject" : "accept");
    jw_kcstr(w, "source", e->decider);
    if (e->decided_by)
        jw_kcstr(w, "reason_type", e->decided_by);
    jw_object_end(w);
    jw_object_end(w);
    jw_array_end(w);
}

static void render_tool_done(const struct event *e, struct buf *out)
{
    size_t start = out->len;
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "user", NULL);

    jw_key(w, "message");
    jw_object(w);
    jw_kcstr(w, "role", "user");
    jw_key(w, "content");
    jw_array(w);
    line_block(w, e->json);
    jw_array_end(w);
    jw_object_end(w);
    line_parent(w, e);
    render_tool_data(w, e, out->len - start);
    line_time(w, e);
    render_tool_meta(w, e);
    line_end(&l);
}

/* One line a second is enough. */
static void render_progress(struct stream_json *r, const struct event *e, struct buf *out)
{
    intptr_t seconds = (intptr_t)(e->duration_ms / 1000); /* one that just began needs no line */
    struct stream_line l;
    struct jw *w;

    if (e->ended || !seconds || (intptr_t)map_get(&r->progress, e->id) >= seconds)
        return;
    map_set(&r->progress, e->id, (void *)seconds);
    w = line_begin(&l, out, e, 0, "tool_progress", NULL);
    jw_kstr(w, "tool_use_id", e->id);
    jw_kstr(w, "tool_name", e->name);
    line_parent(w, e);
    jw_key(w, "elapsed_time_seconds");
    jw_double(w, (double)e->duration_ms / 1000);
    line_end(&l);
}

/* Reminders are between tenax and the model. */
static bool is_reminder(const struct event *e)
{
    return (e->user == USER_ADDED || e->user == USER_NOTICE || e->user == USER_NOTICE_BETWEEN) &&
           str_starts(str_trim(e->text), STR("<system-reminder>"));
}

static void render_user(const struct stream_json *r, const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w;

    bool is_childs = !identity_is_main(&e->by);

    if ((e->user == USER_INPUT && !r->options.replay && !is_childs) || is_reminder(e))
        return;
    w = line_begin(&l, out, e, 0, "user", NULL);
    jw_kraw(w, "message", e->json);
    line_parent(w, e);
    if (e->user == USER_INPUT && !is_childs) {
        jw_kbool(w, "isReplay", true);
        line_time(w, e);
        jw_kcstr(w, "session_id", e->by.session);
        jw_kstr(w, "uuid", e->id.len ? e->id : str_of(e->uuid)); /* the client's own */
        jw_object_end(w);
        buf_addc(out, '\n');
        return;
    }
    if (e->user == USER_ADDED)
        jw_kbool(w, "isSynthetic", true);
    line_time(w, e);
    line_end(&l);
}

/* Lines that speak of the session as a whole. */
#define OF_MAIN                                                                                    \
    (EVENT_BIT(EVENT_TURN_STARTED) | EVENT_BIT(EVENT_STATE) | EVENT_BIT(EVENT_MODE) |              \
     EVENT_BIT(EVENT_RETRY) | EVENT_BIT(EVENT_REQUESTING) | EVENT_BIT(EVENT_COMPACTING) |          \
     EVENT_BIT(EVENT_COMPACTED) | EVENT_BIT(EVENT_TURN_DONE))

static void render(struct stream_json *r, const struct event *e, struct buf *out)
{
    switch (e->kind) {
    case EVENT_TURN_STARTED:
        render_init(r, e, out);
        break;
    case EVENT_REQUESTING:
        if (r->options.partial)
            render_requesting(e, out);
        break;
    case EVENT_STEP_STARTED:
        stream_step_started(r, e, out);
        break;
    case EVENT_BLOCK_STARTED:
    case EVENT_BLOCK_DELTA:
    case EVENT_BLOCK_DONE:
        stream_step_block(r, e, out);
        break;
    case EVENT_STEP_DONE:
        stream_step_done(r, e, out);
        break;
    case EVENT_STEP_CUT:
        stream_step_cut(r, e, out);
        break;
    case EVENT_STEP_VOID:
        stream_step_void(r, e);
        break;
    case EVENT_TOOL_STARTED:
    case EVENT_WAITING:
    case EVENT_MODEL:        /* its turns name it */
    case EVENT_HOOK_STARTED: /* its handlers are reported one by one */
    case EVENT_HOOK_DONE:
        break; /* the tool_use block has it already; not needed */
    case EVENT_TOOL_PROGRESS:
        render_progress(r, e, out);
        break;
    case EVENT_TOOL_DONE:
        if (e->denied_by)
            render_denied(e, out);
        render_tool_done(e, out);
        break;
    case EVENT_USER:
        if (e->user == USER_INPUT && e->is_named)
            render_lifecycle(r, e, 0x100, e->id, "started", out);
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
    case EVENT_HANDLER_STARTED:
    case EVENT_HANDLER_PROGRESS:
    case EVENT_HANDLER_DONE:
        render_hook(r, e, out);
        break;
    case EVENT_TASK_STARTED:
        render_task_started(e, out);
        break;
    case EVENT_TASK_PROGRESS:
        render_task_progress(e, out);
        break;
    case EVENT_TASK_UPDATED:
        render_task_updated(e, out);
        break;
    case EVENT_TASK_DONE:
        render_task_done(e, out);
        break;
    case EVENT_TASKS:
        render_tasks(e, out);
        break;
    case EVENT_COMPACTING:
        render_compacting(e, out);
        break;
    case EVENT_COMPACTED:
        render_compacted(e, out);
        break;
    case EVENT_REWOUND:
        render_rewound(e, out);
        break;
    case EVENT_GOAL:
        stream_goal(e, out);
        break;
    case EVENT_ACTIVE_GOAL:
        stream_active_goal(e, out);
        break;
    case EVENT_COMMAND:
        stream_command(e, out);
        break;
    case EVENT_COMMAND_PROGRESS: /* what it has said comes with its answer */
    case EVENT_GOAL_ROW:         /* and this with the next verdict or result */
        break;
    case EVENT_NOTICE:
        if (str_is(e->name, "model_fallback"))
            render_fallback(e, out);
        else
            render_notice(e, out);
        break;
    case EVENT_TURN_DONE:
        render_completed(r, e, out);
        stream_turn_done(r, e, out);
        break;
    }
}

/* What another agent than main says is shown as far as its task is main's own. */
static bool is_passed_over(const struct stream_json *r, const struct event *e)
{
    if (identity_is_main(&e->by) || !e->by.depth)
        return false;
    if (e->by.depth > 1)
        return true;
    return !e->by.in_background && !r->options.forward && e->kind == EVENT_BLOCK_DONE &&
           e->block != BLOCK_TOOL_USE;
}

void stream_json_event(struct stream_json *r, const struct event *e, struct buf *out)
{
    CLEANUP(buf_release) struct buf lines = BUF_INIT(STREAM_JSON_MAX_LINE);

    if (is_passed_over(r, e))
        return;

    if (!identity_is_main(&e->by) && EVENT_BIT(e->kind) & OF_MAIN) {
        if (e->kind == EVENT_TURN_DONE)
            stream_step_void(r, e);
        return;
    }
    render(r, e, &lines);
    if (!lines.len)
        return;
    secret_scrub(&lines);
    buf_add(out, buf_str(&lines));
}
