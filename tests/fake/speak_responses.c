/*
 * OpenAI Responses: items, each opened, told in deltas and closed whole; every event numbered.
 */
#include "speak.h"

#include "base/err.h"
#include "base/map.h"
#include "json/json.h"

static bool takes(struct str path)
{
    return str_ends(path, STR("/responses"));
}

/* ---- reading ---- */

static int read_item(struct ask *ask, const struct json *item, struct map *calls, struct err *err)
{
    struct scenario_viewer *v = &ask->viewer;
    struct str type = json_get_str(item, "type");
    struct str role = json_get_str(item, "role");
    struct str call_id = json_get_str(item, "call_id");
    const struct json *content = json_get(item, "content");

    if (str_is(type, "function_call")) {
        if (!call_id.len || !json_get_str(item, "name").len ||
            !json_is(json_get(item, "arguments"), JSON_STRING))
            return ask_refuse(err, "function_call needs call_id, name and arguments");
        map_set(calls, call_id, ask);
        viewer_called(v);
    } else if (str_is(type, "function_call_output")) {
        if (!map_remove(calls, call_id))
            return ask_refuse(err, "No tool call found for function call output with call_id %.*s.",
                              STR_ARG(str_clip(call_id, 60)));
        if (!each_text(json_get(item, "output"), v, viewer_result))
            viewer_result(v, STR(""));
    } else if (str_is(type, "reasoning")) {
        struct str opaque = json_get_str(item, "encrypted_content");

        if (opaque.len && !opaque_is_ours("openai", opaque))
            return ask_refuse(err, "The encrypted content could not be verified.");
        if (!json_next(item))
            return ask_refuse(err, "Item of type 'reasoning' was provided without its required "
                                   "following item.");
    } else if (str_is(role, "assistant")) {
        each_text(content, v, viewer_said);
    } else if (str_is(role, "user")) {
        each_text(content, v, viewer_user);
    } else if (str_is(role, "system") || str_is(role, "developer")) {
        each_text(content, v, viewer_system);
    } else {
        return ask_refuse(err, "Invalid value: '%.*s' in input", STR_ARG(str_clip(type, 40)));
    }
    return 0;
}

static int read_input(struct ask *ask, struct map *calls, struct err *err)
{
    const struct json *input = json_get(ask->body, "input");

    if (!ask->model.len)
        return ask_refuse(err, "Missing required parameter: 'model'.");
    each_text(json_get(ask->body, "instructions"), &ask->viewer, viewer_system);
    if (json_is(input, JSON_STRING)) {
        viewer_user(&ask->viewer, json_str(input));
        return 0;
    }
    if (!json_len(input))
        return ask_refuse(err, "Missing required parameter: 'input'.");
    JSON_EACH(input, item) {
        if (read_item(ask, item, calls, err) < 0)
            return -1;
    }
    if (calls->len)
        return ask_refuse(err, "No tool output found for function call %.*s.",
                          STR_ARG(calls->entries[0].key));
    return 0;
}

static int read_ask(struct ask *ask, struct err *err)
{
    struct map calls = MAP_INIT;
    int result;

    ask->model = json_get_str(ask->body, "model");
    ask->stream = json_get_bool(ask->body, "stream", false);
    JSON_EACH(json_get(ask->body, "include"), it)
        ask->want_opaque = ask->want_opaque || str_is(json_str(it), "reasoning.encrypted_content");
    result = read_input(ask, &calls, err);
    map_release(&calls);
    return result;
}

/* ---- telling ---- */

static void put_id(const struct passage *p, const char *key, struct jw *w)
{
    const char *prefix = p->kind == PART_CALL ? "fc_" : p->kind == PART_THINKING ? "rs_" : "msg_";

    jw_kid(w, key, prefix, p->serial, p->index);
}

static void put_text_part(const char *type, struct str text, struct jw *w)
{
    jw_object(w);
    jw_kcstr(w, "type", type);
    if (str_is(str_of(type), "output_text"))
        jw_kraw(w, "annotations", STR("[]"));
    jw_kstr(w, "text", text);
    jw_object_end(w);
}

/* The item of a block, as it is when begun or when done. */
static void put_item(const struct answer *a, const struct passage *p, bool done, struct jw *w)
{
    CLEANUP(buf_release) struct buf opaque = BUF_INIT(200);

    jw_object(w);
    put_id(p, "id", w);
    switch (p->kind) {
    case PART_THINKING:
        jw_kcstr(w, "type", "reasoning");
        if (a->ask->want_opaque) {
            opaque_make("openai", done ? buf_str(&p->text) : STR("begun"), &opaque);
            jw_kstr(w, "encrypted_content", buf_str(&opaque));
        }
        jw_key(w, "summary");
        jw_array(w);
        if (done && p->text.len)
            put_text_part("summary_text", buf_str(&p->text), w);
        jw_array_end(w);
        break;
    case PART_CALL:
        jw_kcstr(w, "type", "function_call");
        jw_kcstr(w, "status", done ? "completed" : "in_progress");
        jw_kstr(w, "arguments", done ? buf_str(&p->text) : STR(""));
        jw_kid(w, "call_id", "call_", p->serial, p->index);
        jw_kstr(w, "name", p->name);
        break;
    default:
        jw_kcstr(w, "type", "message");
        jw_kcstr(w, "status", done ? "completed" : "in_progress");
        jw_key(w, "content");
        jw_array(w);
        if (done)
            put_text_part("output_text", buf_str(&p->text), w);
        jw_array_end(w);
        jw_kcstr(w, "role", "assistant");
    }
    jw_object_end(w);
}

static void put_usage(const struct llm_usage *u, struct jw *w)
{
    jw_object(w);
    jw_ki64(w, "input_tokens", usage_prompt(u));
    jw_key(w, "input_tokens_details");
    jw_object(w);
    jw_ki64(w, "cached_tokens", u->cache_read);
    jw_object_end(w);
    jw_ki64(w, "output_tokens", u->output);
    jw_key(w, "output_tokens_details");
    jw_object(w);
    jw_ki64(w, "reasoning_tokens", u->thinking);
    jw_object_end(w);
    jw_ki64(w, "total_tokens", usage_prompt(u) + u->output);
    jw_object_end(w);
}

static const char *incomplete_reason(const struct answer *a)
{
    switch (a->stop) {
    case STOP_MAX_TOKENS:
    case STOP_CONTEXT_FULL:
        return "max_output_tokens";
    case STOP_REFUSAL:
        return "content_filter";
    default:
        return NULL;
    }
}

enum status {
    IN_PROGRESS,
    DONE,
    FAILED,
};

static void put_failure(const struct answer *a, struct jw *w)
{
    jw_object(w);
    jw_kstr(w, "code", a->error->type.len ? a->error->type : STR("server_error"));
    jw_kstr(w, "message", a->error->text);
    jw_object_end(w);
}

static void put_response(const struct answer *a, enum status status, struct jw *w)
{
    CLEANUP(passages_release) passages list = VEC_INIT;
    const char *reason = status == DONE ? incomplete_reason(a) : NULL;
    static const char *const names[] = {"in_progress", "completed", "failed"};

    jw_object(w);
    jw_kcstr(w, "id", a->id);
    jw_kcstr(w, "object", "response");
    jw_ki64(w, "created_at", 1767225600);
    jw_kcstr(w, "status", reason ? "incomplete" : names[status]);
    jw_key(w, "error");
    if (status == FAILED)
        put_failure(a, w);
    else
        jw_null(w);
    jw_key(w, "incomplete_details");
    if (reason) {
        jw_object(w);
        jw_kcstr(w, "reason", reason);
        jw_object_end(w);
    } else {
        jw_null(w);
    }
    jw_kstr(w, "model", a->ask->model);
    jw_key(w, "output");
    jw_array(w);
    if (status == DONE) {
        passages_make(a, &list);
        VEC_EACH(&list, it)
            put_item(a, it, true, w);
    }
    jw_array_end(w);
    jw_kbool(w, "store", json_get_bool(a->ask->body, "store", true));
    jw_key(w, "usage");
    if (status == DONE && a->usage.known)
        put_usage(&a->usage, w);
    else
        jw_null(w);
    jw_object_end(w);
}

struct memory {
    int64_t number; /* of the next event */
};

static void begin(struct tell *t, const char *name, struct jw *w)
{
    struct memory *m = t->state;

    tape_event(t->tape, name, w);
    jw_object(w);
    jw_kcstr(w, "type", name);
    jw_ki64(w, "sequence_number", m->number++);
}

static void end(struct tell *t, struct jw *w)
{
    jw_object_end(w);
    tape_event_end(t->tape);
}

/* An event about the open item; `place` is the second index, where there is one. */
static void begin_item(struct tell *t, const char *name, const char *place, struct jw *w)
{
    begin(t, name, w);
    put_id(&t->now, "item_id", w);
    jw_ki64(w, "output_index", (int64_t)t->now.index);
    if (place)
        jw_ki64(w, place, 0);
}

static void tell_item(struct tell *t, const char *name, bool done)
{
    struct jw w;

    begin(t, name, &w);
    jw_ki64(&w, "output_index", (int64_t)t->now.index);
    jw_key(&w, "item");
    put_item(t->answer, &t->now, done, &w);
    end(t, &w);
}

static void tell_part(struct tell *t, const char *name, struct str text)
{
    bool thinking = t->now.kind == PART_THINKING;
    struct jw w;

    begin_item(t, name, thinking ? "summary_index" : "content_index", &w);
    jw_key(&w, "part");
    put_text_part(thinking ? "summary_text" : "output_text", text, &w);
    end(t, &w);
}

static void tell_text(struct tell *t, const char *name, const char *place, const char *key,
                      struct str text)
{
    struct jw w;

    begin_item(t, name, place, &w);
    jw_kstr(&w, key, text);
    end(t, &w);
}

static void tell_open(struct tell *t)
{
    tell_item(t, "response.output_item.added", false);
    if (t->now.kind == PART_TEXT)
        tell_part(t, "response.content_part.added", STR(""));
    if (t->now.kind == PART_THINKING)
        tell_part(t, "response.reasoning_summary_part.added", STR(""));
}

static void tell_piece(struct tell *t, struct str piece)
{
    if (t->now.kind == PART_CALL)
        tell_text(t, "response.function_call_arguments.delta", NULL, "delta", piece);
    else if (t->now.kind == PART_THINKING)
        tell_text(t, "response.reasoning_summary_text.delta", "summary_index", "delta", piece);
    else
        tell_text(t, "response.output_text.delta", "content_index", "delta", piece);
}

static void tell_close(struct tell *t)
{
    struct str text = buf_str(&t->now.text);

    if (t->now.kind == PART_CALL) {
        tell_text(t, "response.function_call_arguments.done", NULL, "arguments", text);
    } else if (t->now.kind == PART_THINKING) {
        tell_text(t, "response.reasoning_summary_text.done", "summary_index", "text", text);
        tell_part(t, "response.reasoning_summary_part.done", text);
    } else {
        tell_text(t, "response.output_text.done", "content_index", "text", text);
        tell_part(t, "response.content_part.done", text);
    }
    tell_item(t, "response.output_item.done", true);
}

static const struct teller teller = {tell_open, tell_piece, tell_close};

static void tell_response(struct tell *t, const char *name, enum status status)
{
    struct jw w;

    begin(t, name, &w);
    jw_key(&w, "response");
    put_response(t->answer, status, &w);
    end(t, &w);
}

static void stream(const struct answer *a, struct tape *tape)
{
    struct memory memory = {0};
    struct tell t = {.answer = a, .tape = tape, .state = &memory};

    tell_response(&t, "response.created", IN_PROGRESS);
    tell_response(&t, "response.in_progress", IN_PROGRESS);
    if (!tell(&t, &teller))
        tell_response(&t, "response.failed", FAILED);
    else if (incomplete_reason(a))
        tell_response(&t, "response.incomplete", DONE);
    else
        tell_response(&t, "response.completed", DONE);
}

static void whole(const struct answer *a, struct jw *w)
{
    put_response(a, DONE, w);
}

/* Errors and the list of models are the other OpenAI dialect's. */
static void error(int status, struct str type, struct str text, struct str request_id, struct jw *w)
{
    speak_chat.error(status, type, text, request_id, w);
}

static void models(struct jw *w)
{
    speak_chat.models(w);
}

const struct speaker speak_responses = {
    .name = "openai-responses",
    .id_prefix = "resp_",
    .request_header = "x-request-id",
    .takes = takes,
    .read = read_ask,
    .stream = stream,
    .whole = whole,
    .error = error,
    .models = models,
};
