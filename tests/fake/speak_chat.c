/*
 * OpenAI Chat Completions, with the reasoning_content of its relatives. Figures come in a chunk of
 * their own, and only when the request asked for them.
 */
#include "speak.h"

#include "base/err.h"
#include "base/map.h"
#include "json/json.h"

#define CREATED 1767225600 /* a fixed day: answers are the same in every run */

static const struct error_name error_names[] = {
    {400, "invalid_request_error"},
    {401, "invalid_request_error"},
    {403, "invalid_request_error"},
    {404, "invalid_request_error"},
    {413, "invalid_request_error"},
    {429, "rate_limit_exceeded"},
    {0, "server_error"},
};

static bool takes(struct str path)
{
    return str_ends(path, STR("/chat/completions"));
}

/* ---- reading ---- */

static int read_calls(struct ask *ask, const struct json *message, struct map *calls,
                      struct err *err)
{
    JSON_EACH(json_get(message, "tool_calls"), call) {
        struct str id = json_get_str(call, "id");

        if (!id.len || !json_get_str(json_get(call, "function"), "name").len ||
            !json_is(json_path(call, "function.arguments"), JSON_STRING))
            return ask_refuse(err, "tool_calls need id, function.name and function.arguments");
        map_set(calls, id, ask);
        viewer_called(&ask->viewer);
    }
    return 0;
}

static int read_message(struct ask *ask, const struct json *message, struct map *calls,
                        struct err *err)
{
    struct str role = json_get_str(message, "role");
    const struct json *content = json_get(message, "content");
    struct scenario_viewer *v = &ask->viewer;

    if (str_is(role, "tool")) {
        struct str id = json_get_str(message, "tool_call_id");

        if (!map_remove(calls, id))
            return ask_refuse(err, "messages with role 'tool' must be a response to a preceding "
                                   "message with 'tool_calls'");
        if (!each_text(content, v, viewer_result))
            viewer_result(v, STR(""));
        return 0;
    }
    if (calls->len)
        return ask_refuse(
            err,
            "An assistant message with 'tool_calls' must be followed by tool messages "
            "responding to each 'tool_call_id'. The following tool_call_ids did not "
            "have response messages: %.*s",
            STR_ARG(calls->entries[0].key));
    if (str_is(role, "system") || str_is(role, "developer")) {
        each_text(content, v, viewer_system);
    } else if (str_is(role, "user")) {
        if (!each_text(content, v, viewer_user) && !json_len(content))
            return ask_refuse(err, "a user message without content");
    } else if (str_is(role, "assistant")) {
        if (json_is(content, JSON_STRING))
            viewer_said(v, json_str(content));
        return read_calls(ask, message, calls, err);
    } else {
        return ask_refuse(err,
                          "Invalid value: '%.*s'. Supported values are: 'system', 'assistant', "
                          "'user', 'tool', and 'developer'.",
                          STR_ARG(str_clip(role, 40)));
    }
    return 0;
}

static int read_request(struct ask *ask, struct map *calls, struct err *err)
{
    if (!ask->model.len)
        return ask_refuse(err, "you must provide a model parameter");
    if (!json_len(json_get(ask->body, "messages")))
        return ask_refuse(err, "[] is too short - 'messages'");
    if (json_get(ask->body, "stream_options") && !ask->stream)
        return ask_refuse(err, "The 'stream_options' parameter is only allowed when 'stream' is "
                               "enabled.");
    JSON_EACH(json_get(ask->body, "messages"), message) {
        if (read_message(ask, message, calls, err) < 0)
            return -1;
    }
    if (calls->len)
        return ask_refuse(err, "An assistant message with 'tool_calls' must be followed by tool "
                               "messages responding to each 'tool_call_id'.");
    return 0;
}

static int read_ask(struct ask *ask, struct err *err)
{
    struct map calls = MAP_INIT;
    int result;

    ask->model = json_get_str(ask->body, "model");
    ask->stream = json_get_bool(ask->body, "stream", false);
    ask->want_usage = !ask->stream ||
                      json_get_bool(json_get(ask->body, "stream_options"), "include_usage", false);
    result = read_request(ask, &calls, err);
    map_release(&calls);
    return result;
}

/* ---- telling ---- */

static const char *finish_reason(const struct answer *a)
{
    switch (a->stop) {
    case STOP_TOOL_USE:
        return "tool_calls";
    case STOP_MAX_TOKENS:
        return "length";
    case STOP_REFUSAL:
        return "content_filter";
    case STOP_CONTEXT_FULL:
        return "model_context_window_exceeded";
    default:
        return "stop";
    }
}

static void put_usage(const struct llm_usage *u, struct jw *w)
{
    jw_key(w, "usage");
    jw_object(w);
    jw_ki64(w, "prompt_tokens", usage_prompt(u));
    jw_ki64(w, "completion_tokens", u->output);
    jw_ki64(w, "total_tokens", usage_prompt(u) + u->output);
    jw_key(w, "prompt_tokens_details");
    jw_object(w);
    jw_ki64(w, "cached_tokens", u->cache_read);
    jw_object_end(w);
    jw_key(w, "completion_tokens_details");
    jw_object(w);
    jw_ki64(w, "reasoning_tokens", u->thinking);
    jw_object_end(w);
    jw_object_end(w);
}

static void put_head(const struct answer *a, const char *object, struct jw *w)
{
    jw_kcstr(w, "id", a->id);
    jw_kcstr(w, "object", object);
    jw_ki64(w, "created", CREATED);
    jw_kstr(w, "model", a->ask->model);
    jw_kcstr(w, "system_fingerprint", "fp_fake");
}

/* A chunk up to and with the beginning of its delta object. */
static void begin(const struct answer *a, struct tape *tape, struct jw *w)
{
    tape_event(tape, NULL, w);
    jw_object(w);
    put_head(a, "chat.completion.chunk", w);
    jw_key(w, "choices");
    jw_array(w);
    jw_object(w);
    jw_ki64(w, "index", 0);
    jw_key(w, "delta");
    jw_object(w);
}

static void end(const struct answer *a, struct tape *tape, const char *finish, struct jw *w)
{
    jw_object_end(w);
    jw_key(w, "logprobs");
    jw_null(w);
    jw_kcstr(w, "finish_reason", finish);
    jw_object_end(w);
    jw_array_end(w);
    if (a->ask->want_usage) {
        jw_key(w, "usage");
        jw_null(w);
    }
    jw_object_end(w);
    tape_event_end(tape);
}

static void tell_call_fragment(struct tell *t, bool first, struct str piece)
{
    struct jw w;

    begin(t->answer, t->tape, &w);
    jw_key(&w, "tool_calls");
    jw_array(&w);
    jw_object(&w);
    jw_ki64(&w, "index", (int64_t)t->now.calls);
    if (first) {
        jw_kid(&w, "id", "call_", t->now.serial, t->now.index);
        jw_kcstr(&w, "type", "function");
    }
    jw_key(&w, "function");
    jw_object(&w);
    if (first)
        jw_kstr(&w, "name", t->now.name);
    jw_kstr(&w, "arguments", piece);
    jw_object_end(&w);
    jw_object_end(&w);
    jw_array_end(&w);
    end(t->answer, t->tape, NULL, &w);
}

static void tell_open(struct tell *t)
{
    if (t->now.kind == PART_CALL)
        tell_call_fragment(t, true, STR(""));
}

static void tell_piece(struct tell *t, struct str piece)
{
    struct jw w;

    if (t->now.kind == PART_CALL) {
        tell_call_fragment(t, false, piece);
        return;
    }
    begin(t->answer, t->tape, &w);
    jw_kstr(&w, t->now.kind == PART_THINKING ? "reasoning_content" : "content", piece);
    end(t->answer, t->tape, NULL, &w);
}

static void tell_close(struct tell *t)
{
    (void)t;
}

static const struct teller teller = {tell_open, tell_piece, tell_close};

static void error(int status, struct str type, struct str text, struct str request_id, struct jw *w)
{
    struct str word = error_type(error_names, status, type);

    (void)request_id;
    jw_object(w);
    jw_key(w, "error");
    jw_object(w);
    jw_kstr(w, "message", text);
    jw_kstr(w, "type", word);
    jw_key(w, "param");
    jw_null(w);
    jw_key(w, "code");
    if (status == 401 && !type.len)
        jw_cstr(w, "invalid_api_key");
    else if (status == 404 && !type.len)
        jw_cstr(w, "model_not_found");
    else if (str_is(word, "invalid_request_error"))
        jw_null(w);
    else
        jw_str(w, word);
    jw_object_end(w);
    jw_object_end(w);
}

static void stream(const struct answer *a, struct tape *tape)
{
    struct tell t = {.answer = a, .tape = tape};
    struct jw w;

    begin(a, tape, &w);
    jw_kcstr(&w, "role", "assistant");
    jw_kcstr(&w, "content", "");
    end(a, tape, NULL, &w);

    if (!tell(&t, &teller)) {
        tape_event(tape, NULL, &w);
        error(500, a->error->type, a->error->text, STR(""), &w);
        tape_event_end(tape);
        return;
    }

    begin(a, tape, &w);
    end(a, tape, finish_reason(a), &w);
    if (a->ask->want_usage && a->usage.known) {
        tape_event(tape, NULL, &w);
        jw_object(&w);
        put_head(a, "chat.completion.chunk", &w);
        jw_key(&w, "choices");
        jw_raw(&w, STR("[]"));
        put_usage(&a->usage, &w);
        jw_object_end(&w);
        tape_event_end(tape);
    }
    buf_adds(&tape->bytes, "data: [DONE]\n\n");
}

static void put_calls(const struct passage *list, size_t len, struct jw *w)
{
    jw_key(w, "tool_calls");
    jw_array(w);
    for (size_t i = 0; i < len; i++) {
        if (list[i].kind != PART_CALL)
            continue;
        jw_object(w);
        jw_kid(w, "id", "call_", list[i].serial, list[i].index);
        jw_kcstr(w, "type", "function");
        jw_key(w, "function");
        jw_object(w);
        jw_kstr(w, "name", list[i].name);
        jw_kstr(w, "arguments", buf_str(&list[i].text));
        jw_object_end(w);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void put_message(const struct answer *a, struct jw *w)
{
    CLEANUP(passages_release) passages list = VEC_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf thoughts = BUF_INIT(BUF_NO_LIMIT);
    bool called = false;

    passages_make(a, &list);
    VEC_EACH(&list, it) {
        if (it->kind == PART_TEXT)
            buf_add(&text, buf_str(&it->text));
        if (it->kind == PART_THINKING)
            buf_add(&thoughts, buf_str(&it->text));
        called = called || it->kind == PART_CALL;
    }
    jw_key(w, "message");
    jw_object(w);
    jw_kcstr(w, "role", "assistant");
    if (thoughts.len)
        jw_kstr(w, "reasoning_content", buf_str(&thoughts));
    jw_key(w, "content");
    if (text.len || !called)
        jw_str(w, buf_str(&text));
    else
        jw_null(w);
    jw_key(w, "refusal");
    jw_null(w);
    if (called)
        put_calls(list.ptr, list.len, w);
    jw_object_end(w);
}

static void whole(const struct answer *a, struct jw *w)
{
    jw_object(w);
    put_head(a, "chat.completion", w);
    jw_key(w, "choices");
    jw_array(w);
    jw_object(w);
    jw_ki64(w, "index", 0);
    put_message(a, w);
    jw_key(w, "logprobs");
    jw_null(w);
    jw_kcstr(w, "finish_reason", finish_reason(a));
    jw_object_end(w);
    jw_array_end(w);
    if (a->usage.known)
        put_usage(&a->usage, w);
    jw_object_end(w);
}

static void models(struct jw *w)
{
    jw_raw(w, STR("{\"object\":\"list\",\"data\":[{\"id\":\"fake-1\",\"object\":\"model\","
                  "\"created\":1767225600,\"owned_by\":\"fake\"}]}"));
}

const struct speaker speak_chat = {
    .name = "openai-chat",
    .id_prefix = "chatcmpl-",
    .request_header = "x-request-id",
    .takes = takes,
    .read = read_ask,
    .stream = stream,
    .whole = whole,
    .error = error,
    .models = models,
};
