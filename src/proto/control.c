/*
 * control: what clients may ask for, one function and one row each. The thread of the client's
 * loop; nothing here waits for the agent.
 */
#include "proto/control.h"

#include <inttypes.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/strv.h"
#include "conf/plugin.h"
#include "goal/goal.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/model.h"
#include "llm/room.h"
#include "proto/control_files.h"
#include "proto/control_goal.h"
#include "proto/control_hooks.h"
#include "proto/control_initialize.h"
#include "proto/control_mcp.h"
#include "proto/control_rewind.h"
#include "proto/control_settings.h"
#include "proto/control_tasks.h"
#include "proto/peer.h"
#include "slash/slash.h"
#include "tasks/agents.h"
#include "tools/background.h"

#define CONTROL_MAX_ANSWER ((size_t)64 << 20)
#define CONTROL_UNKNOWN "Unsupported control request subtype"

/* Writes the members of the response: 0; 1: it will be mailed later; -1. */
typedef int (*control_fn)(struct control_call *call, struct jw *w, struct err *err);

static void write_strings(struct jw *w, const char *key, const struct strv *list)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < list->len; i++)
        jw_cstr(w, list->ptr[i]);
    jw_array_end(w);
}

static void write_none(struct jw *w, const char *key)
{
    jw_key(w, key);
    jw_array(w);
    jw_array_end(w);
}

/* ---- what it does now ---- */

/* The display of waiting input learns of it only here; an owner has the answer. */
static void tell_dropped(const struct control_call *call, struct str uuid)
{
    struct event *e;

    if (call->owner)
        return;
    e = host_event(call->session->host, EVENT_NOTICE);
    e->level = LEVEL_INFO;
    e->id = arena_str(&e->arena, uuid);
    e->text = STR("a waiting message was withdrawn by another program");
    feed_emit(host_feed(call->session->host), e, /*cancel=*/NULL);
}

static int do_interrupt(struct control_call *call, struct jw *w, struct err *err)
{
    CLEANUP(strv_release) struct strv queued = STRV_INIT;
    bool drop = json_get_bool(call->request, "cancel_queued", false);

    (void)err;
    host_interrupt(call->session->host, drop, &queued);
    if (!call->session->stops_tasks_itself)
        agents_stop_background(host_agents(call->session->host));
    peer_take_back_asks(call->peer); /* clients expect that before the answer */
    for (size_t i = 0; drop && i < queued.len; i++)
        tell_dropped(call, str_of(queued.ptr[i]));
    if (drop) {
        write_none(w, "still_queued");
        write_strings(w, "cancelled", &queued);
    } else {
        write_strings(w, "still_queued", &queued);
    }
    return 0;
}

static int do_rename_session(struct control_call *call, struct jw *w, struct err *err)
{
    (void)w;
    return host_rename(call->session->host, json_get_str(call->request, "title"), err);
}

static int do_set_permission_mode(struct control_call *call, struct jw *w, struct err *err)
{
    struct str name = json_get_str(call->request, "mode");
    enum permit_mode mode;

    if (!permit_mode_parse(name, &mode))
        return err_set(err, ERR_BAD_INPUT, "there is no permission mode \"%.*s\"",
                       STR_ARG(str_clip(name, 60)));
    if (permit_set_mode(host_permit(call->session->host), mode, err) < 0)
        return -1;
    /* A goal that plan mode has held goes on when it is left. */
    if (goal_exit_code(host_goal(call->session->host)) >= 0 &&
        host_wake(call->session->host, err) < 0)
        return -1;
    jw_kcstr(w, "mode", permit_mode_name(mode));
    return 0;
}

static int do_set_model(struct control_call *call, struct jw *w, struct err *err)
{
    const struct json *wanted = json_get(call->request, "model"); /* none, or null: the first one */
    CLEANUP(buf_release) struct buf name = BUF_INIT(1024);

    if (wanted && !json_is(wanted, JSON_NULL) && !json_is(wanted, JSON_STRING))
        return err_set(err, ERR_BAD_INPUT, "model must be a string");
    if (host_set_model(call->session->host, json_str(wanted), &name, err) < 0)
        return -1;
    host_model_changed(call->session->host);
    jw_kstr(w, "model", buf_str(&name));
    return 0;
}

static int do_set_max_thinking_tokens(struct control_call *call, struct jw *w, struct err *err)
{
    const struct json *wanted = json_get(call->request, "max_thinking_tokens");
    struct str display = json_get_str(call->request, "thinking_display");
    int64_t tokens = 0;

    (void)w;
    if (display.len)
        host_hide_thinking(call->session->host, str_is(display, "omitted"));
    if (json_type(wanted) == JSON_NULL) {
        host_set_thinking(call->session->host, THINKING_DEFAULT, 0);
        return 0;
    }
    if (!json_i64(wanted, &tokens) || tokens < 0)
        return err_set(err, ERR_BAD_INPUT, "max_thinking_tokens must be a number or null");
    host_set_thinking(call->session->host, tokens ? THINKING_BUDGET : THINKING_OFF, tokens);
    return 0;
}

static int do_cancel_async_message(struct control_call *call, struct jw *w, struct err *err)
{
    struct str uuid = json_get_str(call->request, "message_uuid");
    bool found = host_unqueue(call->session->host, uuid);

    (void)err;
    if (found)
        tell_dropped(call, uuid);
    jw_kbool(w, "cancelled", found);
    return 0;
}

/* ---- what one may know ---- */

static int64_t context_tokens(const struct event *step)
{
    return step ? step->usage.input + step->usage.cache_read + step->usage.cache_write +
                      step->usage.output
                : 0;
}

static void write_category(struct jw *w, const char *id, const char *name, const char *kind,
                           int64_t tokens)
{
    jw_object(w);
    jw_kcstr(w, "id", id);
    jw_kcstr(w, "name", name);
    jw_kcstr(w, "kind", kind);
    jw_ki64(w, "tokens", tokens);
    jw_kcstr(w, "color", "inactive");
    jw_object_end(w);
}

static int do_get_context_usage(struct control_call *call, struct jw *w, struct err *err)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf provider = BUF_INIT(1024);
    struct event *step = host_last_step(call->session->host);
    int64_t used = context_tokens(step);
    int64_t window = 0;
    struct model model;
    struct window_room room;

    (void)err;
    event_unref(step);
    host_model(call->session->host, &provider, &name, &window);
    jw_key(w, "categories");
    jw_array(w);
    write_category(w, "messages", "Messages", "used", used);
    write_category(w, "free_space", "Free space", "free", window > used ? window - used : 0);
    jw_array_end(w);
    jw_ki64(w, "totalTokens", used);
    jw_ki64(w, "maxTokens", window);
    jw_ki64(w, "rawMaxTokens", window);
    jw_ki64(w, "percentage", window ? used * 100 / window : 0);
    write_none(w, "gridRows");
    jw_kstr(w, "model", buf_str(&name));
    write_none(w, "memoryFiles");
    write_none(w, "mcpTools");
    write_none(w, "agents");
    model_find(buf_str(&provider), buf_str(&name), &model);
    room_of(host_conf(call->session->host), &model, &room);
    jw_kbool(w, "isAutoCompactEnabled", room.automatic);
    jw_key(w, "apiUsage");
    jw_null(w);
    return 0;
}

static const struct turn_report *report_of(const struct event *turn)
{
    static const struct turn_report none;

    return turn ? turn->report : &none;
}

static int do_get_usage(struct control_call *call, struct jw *w, struct err *err)
{
    struct event *turn = host_last_turn(call->session->host);
    const struct turn_report *report = report_of(turn);
    struct host_lines lines;

    (void)err;
    host_lines(call->session->host, &lines);
    jw_key(w, "session");
    jw_object(w);
    jw_key(w, "total_cost_usd");
    jw_double(w, report->total_usd);
    jw_ki64(w, "total_api_duration_ms", report->total_api_ms);
    jw_ki64(w, "total_duration_ms", report->total_ms);
    jw_ki64(w, "total_lines_added", lines.added);
    jw_ki64(w, "total_lines_removed", lines.removed);
    jw_key(w, "model_usage");
    stream_json_model_usage(w, report);
    jw_object_end(w);
    jw_key(w, "subscription_type");
    jw_null(w);
    jw_kbool(w, "rate_limits_available", false);
    jw_key(w, "rate_limits");
    jw_null(w);
    event_unref(turn);
    return 0;
}

static int do_get_session_cost(struct control_call *call, struct jw *w, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(256);
    struct event *turn = host_last_turn(call->session->host);
    const struct turn_report *report = report_of(turn);

    (void)err;
    buf_addf(&text, "Total cost: $%.4f%s", report->total_usd,
             report->cost_unknown ? " (a model without known prices is not counted)" : "");
    jw_kstr(w, "text", buf_str(&text));
    jw_key(w, "total_cost_usd");
    jw_double(w, report->total_usd);
    jw_key(w, "modelUsage");
    stream_json_model_usage(w, report);
    event_unref(turn);
    return 0;
}

static int do_list_models(struct control_call *call, struct jw *w, struct err *err)
{
    (void)err;
    control_write_models(call, w);
    return 0;
}

static int do_list_permission_rules(struct control_call *call, struct jw *w, struct err *err)
{
    CLEANUP(buf_release) struct buf rules = BUF_INIT(CONTROL_MAX_ANSWER);
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    struct host *h = call->session->host;

    (void)err;
    permit_write(host_permit(h), &rules);
    workspace_dirs(host_workspace(h), &dirs);
    jw_key(w, "state");
    jw_object(w);
    jw_kraw(w, "rules", rules.len ? buf_str(&rules) : STR("[]"));
    write_strings(w, "directories", &dirs);
    jw_kcstr(w, "mode", permit_mode_name(permit_mode(host_permit(h))));
    jw_object_end(w);
    return 0;
}

static int do_get_binary_version(struct control_call *call, struct jw *w, struct err *err)
{
    (void)call;
    (void)err;
    jw_kcstr(w, "version", TENAX_VERSION);
    return 0;
}

/* Both are read anew whenever they are needed, so that telling them is all there is to do. */
static int do_reload_skills(struct control_call *call, struct jw *w, struct err *err)
{
    (void)err;
    jw_key(w, "skills");
    control_write_commands(call->session->slash, w, /*skills_only=*/true);
    control_say_commands(call, /*answer=*/NULL);
    return 0;
}

static int do_reload_output_styles(struct control_call *call, struct jw *w, struct err *err)
{
    (void)err;
    control_write_styles(call, w);
    return 0;
}

static int do_reload_plugins(struct control_call *call, struct jw *w, struct err *err)
{
    const struct plugins *now;

    if (host_reload_plugins(call->session->host, err) < 0)
        return -1;
    now = plugins_get(host_conf(call->session->host));
    jw_key(w, "plugins");
    plugins_write(now, w);
    jw_ki64(w, "error_count", (int64_t)now->problems.len);
    jw_key(w, "plugin_errors");
    plugins_write_problems(now, w);
    jw_key(w, "commands");
    control_write_commands(call->session->slash, w, /*skills_only=*/false);
    control_say_commands(call, /*answer=*/NULL);
    return 0;
}

/* Whether anybody watches what the client passes on. Lines are never held back, so that makes no
 * difference; hosts send it to every CLI and take an error for an old one. */
static int do_set_has_subscribers(struct control_call *call, struct jw *w, struct err *err)
{
    const struct json *has = json_get(call->request, "has_subscribers");

    (void)w;
    if (!json_is(has, JSON_NULL) && !json_is(has, JSON_BOOL))
        return err_set(err, ERR_BAD_INPUT, "has_subscribers must be true, false or null");
    return 0;
}

/* ---- our own ---- */

/* Another process wants to resume the session: it can when there is nothing left to do here.
 * Earlier input is processed first. */
static int do_release_session(struct control_call *call, struct jw *w, struct err *err)
{
    struct host *h = call->session->host;
    int64_t began_ms;
    bool is_busy = host_in_turn(h) || goal_is_running(host_goal(h));

    if (is_busy || (!call->session->ends_itself &&
                    (background_running(host_workspace(h), /*names=*/NULL, &began_ms) ||
                     !peer_session_let_go(call->session))))
        return err_set(err, ERR_BUSY, "the session is in use");
    jw_kbool(w, "released", true);
    return 0;
}

/* uuids: of lines that shall leave the conversation. It happens when the agent is idle, and a
 * notice says what came of it. */
static int do_snip_messages(struct control_call *call, struct jw *w, struct err *err)
{
    CLEANUP(strv_release) struct strv uuids = STRV_INIT;

    (void)w;
    JSON_EACH(json_get(call->request, "uuids"), it) {
        if (json_str(it).len)
            strv_add(&uuids, json_str(it));
    }
    if (!uuids.len)
        return err_set(err, ERR_BAD_INPUT, "uuids must name at least one message");
    return host_snip(call->session->host, &uuids, err);
}

/* Only on the socket. from_seq: absent, only future events. answer_asks: it may be asked for
 * permissions, too. */
static int do_observe(struct control_call *call, struct jw *w, struct err *err)
{
    struct feed *feed = host_feed(call->session->host);
    const struct json *wanted = json_get(call->request, "from_seq");
    int64_t from = 0;

    if (call->owner)
        return err_set(err, ERR_UNSUPPORTED, "standard output sees everything already");
    if (call->looks_only && json_get_bool(call->request, "answer_asks", false))
        return err_set(err, ERR_DENIED, CONTROL_LOOKS_ONLY);
    if (wanted && (!json_i64(wanted, &from) || from < 0))
        return err_set(err, ERR_BAD_INPUT, "from_seq must be a number");
    jw_kcstr(w, "session_id", host_session(call->session->host));
    jw_ki64(w, "first_seq", (int64_t)feed_first(feed));
    jw_ki64(w, "next_seq", (int64_t)feed_next(feed));
    peer_observe(call->peer, wanted ? (uint64_t)from : FEED_NOW, OBSERVER_REMOTE);
    if (json_get_bool(call->request, "answer_asks", false))
        peer_answer_asks(call->peer);
    return 0;
}

static const struct control_row {
    const char *subtype;
    control_fn fn;
    bool looks; /* changes nothing, or sees to it itself */
} control_rows[] = {
    {"initialize", control_initialize, true},
    {"interrupt", do_interrupt},
    {"rename_session", do_rename_session},
    {"set_permission_mode", do_set_permission_mode},
    {"set_model", do_set_model},
    {"set_max_thinking_tokens", do_set_max_thinking_tokens},
    {"cancel_async_message", do_cancel_async_message},
    {"stop_task", control_stop_task},
    {"background_tasks", control_background_tasks},
    {"get_task_output", control_get_task_output, true},
    {"mcp_status", control_mcp_status, true},
    {"mcp_set_servers", control_mcp_set_servers},
    {"mcp_reconnect", control_mcp_reconnect},
    {"mcp_toggle", control_mcp_toggle},
    {"mcp_message", control_mcp_message},
    {"get_context_usage", do_get_context_usage, true},
    {"get_usage", do_get_usage, true},
    {"get_session_cost", do_get_session_cost, true},
    {"get_settings", control_get_settings, true},
    {"apply_flag_settings", control_apply_flag_settings},
    {"update_settings", control_update_settings},
    {"list_models", do_list_models, true},
    {"list_permission_rules", do_list_permission_rules, true},
    {"get_binary_version", do_get_binary_version, true},
    {"read_file", control_read_file, true},
    {"seed_read_state", control_seed_read_state},
    {"register_repo_root", control_register_repo_root},
    {"reload_plugins", do_reload_plugins, true},
    {"reload_skills", do_reload_skills, true},
    {"reload_output_styles", do_reload_output_styles, true},
    {"get_hooks_listing", control_get_hooks_listing, true},
    {"set_has_subscribers", do_set_has_subscribers, true},
    {"rewind_files", control_rewind_files},
    {"rewind_conversation", control_rewind_conversation},
    {"snip_messages", do_snip_messages},
    {"observe", do_observe, true},
    {"release_session", do_release_session},
    {"goal", control_goal, true},
};

static const struct control_row *control_find(struct str subtype)
{
    for (size_t i = 0; i < ARRAY_LEN(control_rows); i++) {
        if (str_is(subtype, control_rows[i].subtype))
            return &control_rows[i];
    }
    return NULL;
}

void control_respond(struct str request_id, struct str body, const struct err *err, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "type", "control_response");
    jw_key(&w, "response");
    jw_object(&w);
    jw_kcstr(&w, "subtype", err ? "error" : "success");
    jw_kstr(&w, "request_id", request_id);
    if (err) {
        jw_kcstr(&w, "error", err->text);
        if (str_starts(str_of(err->text), STR(CONTROL_UNKNOWN)))
            jw_kcstr(&w, "error_code", "unsupported_request");
    } else {
        jw_kraw(&w, "response", body);
    }
    jw_object_end(&w);
    jw_object_end(&w);
    buf_addc(out, '\n');
}

void control_answer(struct control_call *call, struct buf *out)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(CONTROL_MAX_ANSWER);
    struct str subtype = json_get_str(call->request, "subtype");
    const struct control_row *row = control_find(subtype);
    struct err err = {0};
    struct jw w;
    int rc;

    jw_init(&w, &body, JW_CLEAN);
    jw_object(&w);
    if (row && call->looks_only && !row->looks)
        rc = err_set(&err, ERR_DENIED, CONTROL_LOOKS_ONLY);
    else if (row)
        rc = row->fn(call, &w, &err);
    else
        rc = err_set(&err, ERR_UNSUPPORTED, CONTROL_UNKNOWN ": %.*s",
                     STR_ARG(str_clip(subtype, 200)));
    if (rc == 1)
        return; /* it will come by mail */
    if (rc == 0) {
        jw_object_end(&w);
        rc = buf_check(&body, &err);
    }
    control_respond(call->request_id, buf_str(&body), rc < 0 ? &err : NULL, out);
}
