/*
 * Chat completions: the request without its messages (openai_chat_messages.c). Differences between
 * servers come from the table in chat_server.c; optional fields are sent only when requested. Runs
 * on the thread of the agent that makes the request.
 */
#include "llm/dialect/openai_chat.h"

#include "base/buf.h"
#include "base/str.h"
#include "json/jw.h"
#include "llm/dialect/chat_server.h"
#include "llm/dialect/dialect.h"
#include "llm/dialect/wire.h"
#include "llm/model.h"

static void write_tools(const struct llm_request *req, struct jw *w)
{
    jw_key(w, "tools");
    jw_array(w);
    for (size_t i = 0; i < req->tool_count; i++) {
        jw_object(w);
        jw_kcstr(w, "type", "function");
        jw_key(w, "function");
        jw_object(w);
        jw_kstr(w, "name", req->tools[i].name);
        jw_key(w, "description");
        wire_description(w, &req->tools[i]);
        jw_key(w, "parameters");
        wire_tool_schema(w, &req->tools[i]);
        jw_object_end(w);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void write_choice(const struct llm_request *req, const struct chat_server *server,
                         struct jw *w)
{
    if (req->no_parallel_calls)
        jw_kbool(w, "parallel_tool_calls", false);
    if (req->choice == CHOICE_AUTO || (server->habits & CHAT_AUTO_CHOICE))
        return;
    if (req->choice != CHOICE_NAMED) {
        jw_kcstr(w, "tool_choice", req->choice == CHOICE_NONE ? "none" : "required");
        return;
    }
    jw_key(w, "tool_choice");
    jw_object(w);
    jw_kcstr(w, "type", "function");
    jw_key(w, "function");
    jw_object(w);
    jw_kstr(w, "name", req->choice_name);
    jw_object_end(w);
    jw_object_end(w);
}

static void write_one(struct jw *w, const char *key, const char *member, const char *value)
{
    jw_key(w, key);
    jw_object(w);
    jw_kcstr(w, member, value);
    jw_object_end(w);
}

static void write_thinking(const struct llm_request *req, const struct chat_server *server,
                           struct jw *w)
{
    bool is_forced = req->tool_count && (req->choice == CHOICE_ANY || req->choice == CHOICE_NAMED);
    /* Servers with a switch for thinking reject a forced call while thinking is on. */
    bool off =
        req->thinking == THINKING_OFF || req->effort == EFFORT_NONE ||
        (is_forced && (server->thinking == SWITCH_TYPE || server->thinking == SWITCH_ENABLE) &&
         !(server->habits & CHAT_AUTO_CHOICE));
    bool on = req->thinking == THINKING_BUDGET && !off;
    enum effort effort = effort_fit(req->model->efforts, off ? EFFORT_NONE : req->effort);

    /* Omitted if there is no such level: the nearest one would still think. */
    if (off && effort != EFFORT_NONE && server->thinking != SWITCH_NONE)
        effort = EFFORT_UNSET;
    if (effort != EFFORT_UNSET && server->thinking != SWITCH_OBJECT)
        jw_kcstr(w, "reasoning_effort", effort_name(effort));

    switch (server->thinking) {
    case SWITCH_NONE:
        break;
    case SWITCH_TYPE:
        if (off || on)
            write_one(w, "thinking", "type", off ? "disabled" : "enabled");
        break;
    case SWITCH_ENABLE:
        if (off || on)
            jw_kbool(w, "enable_thinking", on);
        if (on)
            jw_ki64(w, "thinking_budget", req->thinking_budget);
        break;
    case SWITCH_TEMPLATE:
        if (!off && !on)
            break;
        jw_key(w, "chat_template_kwargs");
        jw_object(w);
        jw_kbool(w, "enable_thinking", on);
        jw_object_end(w);
        break;
    case SWITCH_OBJECT:
        if (!off && !on && effort == EFFORT_UNSET)
            break;
        jw_key(w, "reasoning");
        jw_object(w);
        if (on)
            jw_ki64(w, "max_tokens", req->thinking_budget);
        else
            jw_kcstr(w, "effort", off ? "none" : effort_name(effort));
        jw_object_end(w);
        break;
    }
}

static void write_output_schema(const struct llm_request *req, struct jw *w)
{
    jw_key(w, "response_format");
    jw_object(w);
    jw_kcstr(w, "type", "json_schema");
    jw_key(w, "json_schema");
    jw_object(w);
    jw_kcstr(w, "name", "answer");
    jw_key(w, "schema");
    wire_schema(w, req->output_schema);
    jw_object_end(w);
    jw_object_end(w);
}

static void write_body(const struct llm_request *req, const struct chat_server *server,
                       struct jw *w)
{
    int64_t max_tokens = wire_max_tokens(req);

    jw_object(w);
    jw_kstr(w, "model", model_wire_name(req->model));
    jw_kbool(w, "stream", !req->no_stream);
    if (!req->no_stream && !req->no_stream_options) {
        jw_key(w, "stream_options");
        jw_object(w);
        jw_kbool(w, "include_usage", true);
        jw_object_end(w);
    }
    if (max_tokens)
        jw_ki64(w, req->model->max_completion_tokens ? "max_completion_tokens" : "max_tokens",
                max_tokens);
    write_thinking(req, server, w);
    if (req->tool_count) {
        write_tools(req, w);
        write_choice(req, server, w);
        if (!req->no_stream && (server->habits & CHAT_TOOL_STREAM))
            jw_kbool(w, "tool_stream", true);
    }
    if (!req->no_stream && (server->habits & CHAT_PROGRESS))
        jw_kbool(w, "return_progress", true);
    if (req->output_schema.len)
        write_output_schema(req, w);
    if (req->user_id.len)
        jw_kstr(w, "user", req->user_id);
    jw_key(w, "messages");
    openai_chat_messages(req, server, w);
    jw_object_end(w);
}

int openai_chat_body(const struct llm_request *req, struct buf *out, struct err *err)
{
    size_t start = out->len;
    struct jw w;

    (void)buf_room(out, wire_head_room(req));
    jw_init(&w, out, JW_CLEAN);
    write_body(req, chat_server_find(req->model), &w);
    return wire_check(out, start, err);
}
