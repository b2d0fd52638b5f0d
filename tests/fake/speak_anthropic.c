/*
 * Anthropic Messages. Thinking blocks end with a signature made from their text; a request that
 * brings one back changed is refused, as the vendor does.
 */
#include "speak.h"

#include "base/err.h"
#include "base/map.h"
#include "http.h"
#include "json/json.h"

static const struct error_name error_names[] = {
    {400, "invalid_request_error"}, {401, "authentication_error"}, {402, "billing_error"},
    {403, "permission_error"},      {404, "not_found_error"},      {408, "timeout_error"},
    {409, "conflict_error"},        {413, "request_too_large"},    {429, "rate_limit_error"},
    {504, "timeout_error"},         {529, "overloaded_error"},     {0, "api_error"},
};

static bool takes(struct str path)
{
    return str_ends(path, STR("/messages")) || str_ends(path, STR("/messages/count_tokens"));
}

/* ---- reading ---- */

struct reader {
    struct ask *ask;
    struct err *err;
    struct map calls; /* of the assistant message before, not yet answered */
    size_t breakpoints;
    size_t begun; /* the message that the assistant began the last turn with; 0: none yet */
    bool thought; /* it begins with a thought */
};

static int read_thinking(struct reader *r, const struct json *block, size_t i)
{
    struct str text = json_get_str(block, "thinking");

    if (!opaque_is_good("anthropic", text, json_get_str(block, "signature")))
        return ask_refuse(r->err, "messages.%zu.content: Invalid `signature` in `thinking` block",
                          i);
    return 0;
}

static int read_assistant_block(struct reader *r, const struct json *block, struct str type,
                                size_t i)
{
    struct scenario_viewer *v = &r->ask->viewer;

    if (str_is(type, "thinking"))
        return read_thinking(r, block, i);
    if (str_is(type, "text"))
        viewer_said(v, json_get_str(block, "text"));
    if (str_is(type, "tool_use")) {
        struct str id = json_get_str(block, "id");

        if (!id.len || !json_is(json_get(block, "input"), JSON_OBJECT))
            return ask_refuse(r->err, "messages.%zu.content: tool_use needs id and input", i);
        if (map_set(&r->calls, id, r))
            return ask_refuse(r->err, "messages: `tool_use` ids must be unique");
        viewer_called(v);
    }
    return 0;
}

static int read_user_block(struct reader *r, const struct json *block, struct str type, size_t i,
                           bool *seen_text)
{
    struct scenario_viewer *v = &r->ask->viewer;
    struct str id = json_get_str(block, "tool_use_id");

    if (str_is(type, "text")) {
        *seen_text = true;
        viewer_user(v, json_get_str(block, "text"));
    }
    if (!str_is(type, "tool_result"))
        return 0;
    if (*seen_text)
        return ask_refuse(r->err, "messages.%zu: tool_result blocks must come before text", i);
    if (!map_remove(&r->calls, id))
        return ask_refuse(r->err,
                          "messages.%zu.content: unexpected `tool_use_id` found in `tool_result` "
                          "blocks: %.*s. Each `tool_result` block must have a corresponding "
                          "`tool_use` block in the previous message.",
                          i, STR_ARG(str_clip(id, 60)));
    if (!each_text(json_get(block, "content"), v, viewer_result))
        viewer_result(v, STR(""));
    return 0;
}

static int read_block(struct reader *r, const struct json *block, bool user, size_t i,
                      bool *seen_text)
{
    struct str type = json_get_str(block, "type");

    r->breakpoints += json_get(block, "cache_control") != NULL;
    if (str_is(type, "text") && !json_get_str(block, "text").len)
        return ask_refuse(r->err, "messages: text content blocks must be non-empty");
    if (user)
        return read_user_block(r, block, type, i, seen_text);
    return read_assistant_block(r, block, type, i);
}

static bool has_type(const struct json *content, const char *type)
{
    JSON_EACH(json_is(content, JSON_ARRAY) ? content : NULL, block) {
        if (str_is(json_get_str(block, "type"), type))
            return true;
    }
    return false;
}

/* Calls and their results are one turn of the assistant's. */
static void note_turn(struct reader *r, const struct json *content, bool user, size_t i)
{
    struct str first = json_get_str(json_first(content), "type");

    if (user && !has_type(content, "tool_result")) {
        r->begun = 0;
    } else if (!user && !r->begun) {
        r->begun = i;
        r->thought = str_is(first, "thinking") || str_is(first, "redacted_thinking");
    }
}

static int read_message(struct reader *r, const struct json *message, size_t i)
{
    struct str role = json_get_str(message, "role");
    const struct json *content = json_get(message, "content");
    bool user = str_is(role, "user"), seen_text = false;

    if (str_is(role, "system")) {
        each_text(content, &r->ask->viewer, viewer_system);
        return 0;
    }
    if (!user && !str_is(role, "assistant"))
        return ask_refuse(r->err, "messages.%zu.role: Input should be 'user' or 'assistant'", i);
    if (i == 0 && !user)
        return ask_refuse(r->err, "messages: first message must use the \"user\" role");
    if (json_is(content, JSON_STRING)) {
        if (!json_str(content).len)
            return ask_refuse(r->err, "messages.%zu: content must be non-empty", i);
        each_text(content, &r->ask->viewer, user ? viewer_user : viewer_said);
    } else if (!json_len(content)) {
        return ask_refuse(r->err, "messages.%zu: content must be non-empty", i);
    }
    if (!json_is(content, JSON_ARRAY))
        content = NULL;
    note_turn(r, content, user, i);
    JSON_EACH(content, block) {
        if (read_block(r, block, user, i, &seen_text) < 0)
            return -1;
    }
    if (user && r->calls.len)
        return ask_refuse(r->err,
                          "messages.%zu: `tool_use` ids were found without `tool_result` blocks "
                          "immediately after: %.*s",
                          i, STR_ARG(r->calls.entries[0].key));
    return 0;
}

/* Ends with the model's own words, where no tool of the server's stands open (pause_turn). */
static bool is_prefilled(const struct json *last)
{
    const struct json *content = json_get(last, "content");

    return str_is(json_get_str(last, "role"), "assistant") && !has_type(content, "server_tool_use");
}

static int read_request(struct reader *r)
{
    const struct json *body = r->ask->body;
    bool counting = str_ends(r->ask->path, STR("/count_tokens"));
    size_t i = 0;

    if (!http_header(r->ask->http, "anthropic-version").len)
        return ask_refuse(r->err, "anthropic-version: header is required");
    if (!r->ask->model.len)
        return ask_refuse(r->err, "model: Field required");
    if (!counting && json_get_i64(body, "max_tokens", 0) < 1)
        return ask_refuse(r->err, "max_tokens: Field required");
    if (!json_len(json_get(body, "messages")))
        return ask_refuse(r->err, "messages: at least one message is required");
    JSON_EACH(json_get(body, "tools"), tool)
        r->breakpoints += json_get(tool, "cache_control") != NULL;
    if (json_is(json_get(body, "system"), JSON_ARRAY)) {
        JSON_EACH(json_get(body, "system"), block)
            r->breakpoints += json_get(block, "cache_control") != NULL;
    }
    each_text(json_get(body, "system"), &r->ask->viewer, viewer_system);
    JSON_EACH(json_get(body, "messages"), message) {
        if (read_message(r, message, i++) < 0)
            return -1;
    }
    if (r->calls.len)
        return ask_refuse(r->err,
                          "messages: `tool_use` ids were found without `tool_result` blocks");
    if (is_prefilled(json_at(json_get(body, "messages"), i - 1)))
        return ask_refuse(r->err, "This model does not support assistant message prefill. The "
                                  "conversation must end with a user message.");
    if (r->begun && !r->thought &&
        str_is(json_get_str(json_get(body, "thinking"), "type"), "enabled"))
        return ask_refuse(
            r->err,
            "messages.%zu.content.0.type: Expected `thinking` or `redacted_thinking`. "
            "When `thinking` is enabled, a final `assistant` message must start with a "
            "thinking block",
            r->begun);
    if (r->breakpoints > 4)
        return ask_refuse(r->err,
                          "A maximum of 4 blocks with cache_control may be provided. Found %zu.",
                          r->breakpoints);
    return 0;
}

static int read_ask(struct ask *ask, struct err *err)
{
    struct reader r = {.ask = ask, .err = err};
    int result;

    ask->model = json_get_str(ask->body, "model");
    ask->stream = json_get_bool(ask->body, "stream", false);
    result = read_request(&r);
    map_release(&r.calls);
    return result;
}

/* ---- telling ---- */

static void put_usage(const struct llm_usage *u, int64_t output, bool details, struct jw *w)
{
    jw_key(w, "usage");
    jw_object(w);
    jw_ki64(w, "input_tokens", u->input);
    jw_ki64(w, "cache_creation_input_tokens", u->cache_write);
    jw_ki64(w, "cache_read_input_tokens", u->cache_read);
    jw_key(w, "cache_creation");
    jw_object(w);
    jw_ki64(w, "ephemeral_5m_input_tokens", u->cache_write - u->cache_write_1h);
    jw_ki64(w, "ephemeral_1h_input_tokens", u->cache_write_1h);
    jw_object_end(w);
    jw_ki64(w, "output_tokens", output);
    if (details && u->thinking) {
        jw_key(w, "output_tokens_details");
        jw_object(w);
        jw_ki64(w, "thinking_tokens", u->thinking);
        jw_object_end(w);
    }
    jw_kcstr(w, "service_tier", "standard");
    jw_object_end(w);
}

static void put_stop(const struct answer *a, struct jw *w)
{
    jw_kcstr(w, "stop_reason", llm_stop_name(a->stop));
    jw_key(w, "stop_sequence");
    if (a->stop == STOP_SEQUENCE)
        jw_str(w, a->step->stop_sequence);
    else
        jw_null(w);
    if (a->stop == STOP_REFUSAL) {
        jw_key(w, "stop_details");
        jw_raw(w, STR("{\"type\":\"refusal\",\"category\":null,"
                      "\"explanation\":\"the scenario\\nsays no\"}"));
    }
}

static void put_head(const struct answer *a, struct jw *w)
{
    jw_kcstr(w, "id", a->id);
    jw_kcstr(w, "type", "message");
    jw_kcstr(w, "role", "assistant");
    jw_kstr(w, "model", a->ask->model);
}

static void begin(struct tell *t, const char *name, struct jw *w)
{
    tape_event(t->tape, name, w);
    jw_object(w);
    jw_kcstr(w, "type", name);
}

static void end(struct tell *t, struct jw *w)
{
    jw_object_end(w);
    tape_event_end(t->tape);
}

static void tell_open(struct tell *t)
{
    struct jw w;

    begin(t, "content_block_start", &w);
    jw_ki64(&w, "index", (int64_t)t->now.index);
    jw_key(&w, "content_block");
    jw_object(&w);
    switch (t->now.kind) {
    case PART_THINKING:
        jw_kcstr(&w, "type", "thinking");
        jw_kcstr(&w, "thinking", "");
        jw_kcstr(&w, "signature", "");
        break;
    case PART_CALL:
        jw_kcstr(&w, "type", "tool_use");
        jw_kid(&w, "id", "toolu_", t->now.serial, t->now.index);
        jw_kstr(&w, "name", t->now.name);
        jw_key(&w, "input");
        jw_raw(&w, STR("{}"));
        break;
    default:
        jw_kcstr(&w, "type", "text");
        jw_kcstr(&w, "text", "");
    }
    jw_object_end(&w);
    end(t, &w);
    if (t->now.index == 0) {
        begin(t, "ping", &w);
        end(t, &w);
    }
}

static void put_delta(struct tell *t, const char *type, const char *key, struct str text)
{
    struct jw w;

    begin(t, "content_block_delta", &w);
    jw_ki64(&w, "index", (int64_t)t->now.index);
    jw_key(&w, "delta");
    jw_object(&w);
    jw_kcstr(&w, "type", type);
    jw_kstr(&w, key, text);
    jw_object_end(&w);
    end(t, &w);
}

static void tell_piece(struct tell *t, struct str piece)
{
    if (t->now.kind == PART_THINKING)
        put_delta(t, "thinking_delta", "thinking", piece);
    else if (t->now.kind == PART_CALL)
        put_delta(t, "input_json_delta", "partial_json", piece);
    else
        put_delta(t, "text_delta", "text", piece);
}

static void tell_close(struct tell *t)
{
    struct jw w;

    if (t->now.kind == PART_THINKING) {
        CLEANUP(buf_release) struct buf signature = BUF_INIT(200);

        opaque_make("anthropic", buf_str(&t->now.text), &signature);
        put_delta(t, "signature_delta", "signature", buf_str(&signature));
    }
    begin(t, "content_block_stop", &w);
    jw_ki64(&w, "index", (int64_t)t->now.index);
    end(t, &w);
}

static const struct teller teller = {tell_open, tell_piece, tell_close};

static void tell_error(struct tell *t)
{
    const struct scenario_fault *f = t->answer->error;
    struct jw w;

    begin(t, "error", &w);
    jw_key(&w, "error");
    jw_object(&w);
    jw_kstr(&w, "type", f->type.len ? f->type : STR("overloaded_error"));
    jw_kstr(&w, "message", f->text);
    jw_object_end(&w);
    end(t, &w);
}

static void stream(const struct answer *a, struct tape *tape)
{
    struct tell t = {.answer = a, .tape = tape};
    struct jw w;

    begin(&t, "message_start", &w);
    jw_key(&w, "message");
    jw_object(&w);
    put_head(a, &w);
    jw_key(&w, "content");
    jw_raw(&w, STR("[]"));
    jw_key(&w, "stop_reason");
    jw_null(&w);
    jw_key(&w, "stop_sequence");
    jw_null(&w);
    if (a->usage.known) /* the first figure of the output is only a beginning */
        put_usage(&a->usage, a->usage.output ? 1 : 0, false, &w);
    jw_object_end(&w);
    end(&t, &w);

    if (!tell(&t, &teller)) {
        tell_error(&t);
        return;
    }

    begin(&t, "message_delta", &w);
    jw_key(&w, "delta");
    jw_object(&w);
    put_stop(a, &w);
    jw_object_end(&w);
    if (a->usage.known)
        put_usage(&a->usage, a->usage.output, true, &w);
    end(&t, &w);
    begin(&t, "message_stop", &w);
    end(&t, &w);
}

static void put_passage(const struct passage *p, struct jw *w)
{
    CLEANUP(buf_release) struct buf signature = BUF_INIT(200);

    jw_object(w);
    switch (p->kind) {
    case PART_THINKING:
        opaque_make("anthropic", buf_str(&p->text), &signature);
        jw_kcstr(w, "type", "thinking");
        jw_kstr(w, "thinking", buf_str(&p->text));
        jw_kstr(w, "signature", buf_str(&signature));
        break;
    case PART_CALL:
        jw_kcstr(w, "type", "tool_use");
        jw_kid(w, "id", "toolu_", p->serial, p->index);
        jw_kstr(w, "name", p->name);
        jw_kraw(w, "input", p->text.len ? buf_str(&p->text) : STR("{}"));
        break;
    default:
        jw_kcstr(w, "type", "text");
        jw_kstr(w, "text", buf_str(&p->text));
    }
    jw_object_end(w);
}

static void whole(const struct answer *a, struct jw *w)
{
    CLEANUP(passages_release) passages list = VEC_INIT;

    if (str_ends(a->ask->path, STR("/count_tokens"))) {
        jw_object(w);
        jw_ki64(w, "input_tokens", usage_prompt(&a->usage));
        jw_object_end(w);
        return;
    }
    passages_make(a, &list);
    jw_object(w);
    put_head(a, w);
    jw_key(w, "content");
    jw_array(w);
    VEC_EACH(&list, it)
        put_passage(it, w);
    jw_array_end(w);
    put_stop(a, w);
    if (a->usage.known)
        put_usage(&a->usage, a->usage.output, true, w);
    jw_object_end(w);
}

static void error(int status, struct str type, struct str text, struct str request_id, struct jw *w)
{
    jw_object(w);
    jw_kcstr(w, "type", "error");
    jw_key(w, "error");
    jw_object(w);
    jw_kstr(w, "type", error_type(error_names, status, type));
    jw_kstr(w, "message", text);
    jw_object_end(w);
    jw_kstr(w, "request_id", request_id);
    jw_object_end(w);
}

static void models(struct jw *w)
{
    jw_raw(w, STR("{\"data\":[{\"type\":\"model\",\"id\":\"fake-1\",\"display_name\":\"Fake 1\","
                  "\"created_at\":\"2026-01-01T00:00:00Z\"}],\"has_more\":false,"
                  "\"first_id\":\"fake-1\",\"last_id\":\"fake-1\"}"));
}

const struct speaker speak_anthropic = {
    .name = "anthropic",
    .id_prefix = "msg_",
    .request_header = "request-id",
    .takes = takes,
    .read = read_ask,
    .stream = stream,
    .whole = whole,
    .error = error,
    .models = models,
};
