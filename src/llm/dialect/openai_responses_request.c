/*
 * OpenAI Responses: the request.
 *
 * Each message becomes a sequence of input items, which the message stores. One rule needs care: a
 * reasoning item must be followed by the item it led to, or the server rejects the whole request.
 * So reasoning is held back until an item follows, and dropped if none does. Runs on the thread of
 * the agent that makes the request.
 */
#include "llm/dialect/openai_responses.h"

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/dialect/dialect.h"
#include "llm/dialect/wire.h"
#include "llm/message.h"
#include "llm/model.h"

static void write_input_text(struct jw *w, struct str text)
{
    jw_object(w);
    jw_kcstr(w, "type", "input_text");
    jw_kstr(w, "text", text);
    jw_object_end(w);
}

/* One text, image or document as an element of a content or output array. */
static void write_part(struct wire_writer *c, const struct block *b)
{
    struct jw *w = c->w;

    if (b->text.len) {
        write_input_text(w, b->text);
    } else if (b->kind != BLOCK_IMAGE && b->kind != BLOCK_DOCUMENT) {
        return;
    } else if (!wire_takes(c->req, b)) {
        CLEANUP(buf_release) struct buf note = BUF_INIT(BUF_NO_LIMIT);

        wire_left_out(c->req, b, &note);
        write_input_text(w, buf_str(&note));
    } else if (b->kind == BLOCK_IMAGE) {
        jw_object(w);
        jw_kcstr(w, "type", "input_image");
        jw_key(w, "image_url");
        wire_url(w, b);
        jw_kcstr(w, "detail", "auto");
        jw_object_end(w);
    } else {
        jw_object(w);
        jw_kcstr(w, "type", "input_file");
        if (b->data.len)
            jw_kstr(w, "filename", wire_file_name(b));
        jw_key(w, b->data.len ? "file_data" : "file_url");
        wire_url(w, b);
        jw_object_end(w);
    }
}

static bool is_plain(const struct block *result)
{
    for (size_t i = 0; i < result->content_len; i++)
        if (!result->content[i].text.len && result->content[i].kind != BLOCK_TEXT)
            return false;
    return true;
}

static void write_output(struct wire_writer *c, const struct block *b)
{
    struct jw *w = c->w;

    if (is_plain(b)) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

        wire_result_text(b, &text);
        wire_result_str(w, b, buf_str(&text));
        return;
    }
    jw_array(w);
    if (b->is_error)
        write_input_text(w, STR("Error:"));
    for (size_t i = 0; i < b->content_len; i++)
        write_part(c, &b->content[i]);
    jw_array_end(w);
}

static void write_result(struct wire_writer *c, size_t at, const struct block *b)
{
    const struct block *call = wire_call(c->req, at, b->id);
    const struct json *data = call ? block_data(call, c->req->model, &c->arena) : NULL;
    struct str id = json_get_str(data, "id");

    jw_object(c->w);
    jw_kcstr(c->w, "type",
             json_get_bool(data, "custom", false) ? "custom_tool_call_output"
                                                  : "function_call_output");
    jw_kstr(c->w, "call_id", id.len ? id : b->id);
    jw_key(c->w, "output");
    write_output(c, b);
    jw_object_end(c->w);
}

static void begin_message(struct jw *w, const char *role)
{
    jw_object(w);
    jw_kcstr(w, "type", "message");
    jw_kcstr(w, "role", role);
    jw_key(w, "content");
    jw_array(w);
}

static void end_message(struct jw *w)
{
    jw_array_end(w);
    jw_object_end(w);
}

static void write_user(struct wire_writer *c, size_t at)
{
    const struct message *m = c->req->messages[at];
    size_t rest = 0;

    for (size_t i = 0; i < m->len; i++) {
        const struct block *b = &m->blocks[i];

        if (b->kind == BLOCK_TOOL_RESULT)
            write_result(c, at, b);
        else if (b->text.len || b->kind == BLOCK_IMAGE || b->kind == BLOCK_DOCUMENT)
            rest++;
    }
    if (!rest)
        return;
    begin_message(c->w, "user");
    for (size_t i = 0; i < m->len; i++)
        if (m->blocks[i].kind != BLOCK_TOOL_RESULT)
            write_part(c, &m->blocks[i]);
    end_message(c->w);
}

static void write_text_item(struct wire_writer *c, const struct block *b)
{
    const struct json *data = block_data(b, c->req->model, &c->arena);
    bool refusal = json_get_bool(data, "refusal", false);
    struct str phase = json_get_str(data, "phase");

    begin_message(c->w, "assistant");
    jw_object(c->w);
    jw_kcstr(c->w, "type", refusal ? "refusal" : "output_text");
    jw_kstr(c->w, refusal ? "refusal" : "text", b->text);
    jw_object_end(c->w);
    jw_array_end(c->w);
    if (phase.len)
        jw_kstr(c->w, "phase", phase);
    jw_object_end(c->w);
}

static void write_call_item(struct wire_writer *c, const struct block *b)
{
    CLEANUP(buf_release) struct buf input = BUF_INIT(BUF_NO_LIMIT);
    const struct json *data = block_data(b, c->req->model, &c->arena);
    bool custom = json_get_bool(data, "custom", false);
    struct str id = json_get_str(data, "id");

    block_input(b, &input);
    jw_object(c->w);
    jw_kcstr(c->w, "type", custom ? "custom_tool_call" : "function_call");
    jw_kstr(c->w, "call_id", id.len ? id : b->id);
    jw_key(c->w, "name");
    wire_name(c->w, b->name);
    if (custom) {
        const struct json *v = NULL;

        json_parse_copy(&c->arena, buf_str(&input), &v, /*ret_info=*/NULL, /*err=*/NULL);
        jw_kstr(c->w, "input", json_get_str(v, "input"));
    } else {
        jw_kstr(c->w, "arguments", buf_str(&input));
    }
    jw_object_end(c->w);
}

/* The hosted calls that are accepted without their id. Others are useful only to a server that
 * stored them. */
static bool is_welcome_back(const struct json *item)
{
    return str_is(json_get_str(item, "type"), "web_search_call");
}

static void write_without_id(struct jw *w, const struct json *item)
{
    jw_object(w);
    JSON_EACH(item, it) {
        if (str_is(json_key(it), "id"))
            continue;
        jw_key_str(w, json_key(it));
        jw_json(w, it);
    }
    jw_object_end(w);
}

/* A hosted call of this provider, unchanged; NULL if it must not be sent back. */
static const struct json *hosted_item(struct wire_writer *c, const struct block *b)
{
    const struct json *item = NULL;

    if (!block_data(b, c->req->model, &c->arena) ||
        json_parse(&c->arena, b->raw, &item, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return NULL;
    return is_welcome_back(item) ? item : NULL;
}

/* Reasoning that the server can use again: encrypted, or its raw text, but not a summary alone. */
static const struct json *reasoning_item(struct wire_writer *c, const struct block *b)
{
    const struct json *item = json_get(block_data(b, c->req->model, &c->arena), "item");

    if (json_get_str(item, "encrypted_content").len || json_len(json_get(item, "content")))
        return item;
    return NULL;
}

static void write_assistant(struct wire_writer *c, const struct message *m)
{
    VEC(const struct json *) held = VEC_INIT;

    for (size_t i = 0; i < m->len; i++) {
        const struct block *b = &m->blocks[i];
        const struct json *hosted = b->kind == BLOCK_OTHER ? hosted_item(c, b) : NULL;
        const struct json *reasoning = b->kind == BLOCK_THINKING ? reasoning_item(c, b) : NULL;

        if (reasoning)
            vec_push(&held, reasoning);
        if (b->kind == BLOCK_OTHER && !hosted)
            held.len = 0; /* the following item was dropped, so this one is dropped, too */
        if (!hosted && b->kind != BLOCK_TOOL_USE && !(b->kind == BLOCK_TEXT && b->text.len))
            continue;

        VEC_EACH(&held, it)
            jw_json(c->w, *it);
        held.len = 0;
        if (hosted)
            write_without_id(c->w, hosted);
        else if (b->kind == BLOCK_TOOL_USE)
            write_call_item(c, b);
        else
            write_text_item(c, b);
    }
    vec_release(&held);
}

static void write_message(struct wire_writer *c, size_t at)
{
    const struct message *m = c->req->messages[at];

    if (m->role == ROLE_USER)
        write_user(c, at);
    else
        write_assistant(c, m);
}

static void write_input(const struct llm_request *req, struct jw *w)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);

    wire_key(req, "openai-responses", &key);
    jw_array(w);
    for (size_t i = 0; i < req->message_count; i++) {
        struct str items = wire_list(req, i, buf_str(&key), write_message);

        if (items.len)
            jw_raw(w, items);
    }
    if (req->tail.len) {
        begin_message(w, "user");
        write_input_text(w, req->tail);
        end_message(w);
    }
    jw_array_end(w);
}

static void write_search(const struct llm_search *search, struct jw *w)
{
    jw_object(w);
    jw_kcstr(w, "type", "web_search");
    if (search->allowed && search->allowed->len) {
        jw_key(w, "filters");
        jw_object(w);
        jw_key(w, "allowed_domains");
        jw_array(w);
        for (size_t i = 0; i < search->allowed->len; i++)
            jw_cstr(w, search->allowed->ptr[i]);
        jw_array_end(w);
        jw_object_end(w);
    }
    jw_object_end(w);
}

static void write_tools(const struct llm_request *req, struct jw *w)
{
    jw_key(w, "tools");
    jw_array(w);
    for (size_t i = 0; i < req->tool_count; i++) {
        jw_object(w);
        jw_kcstr(w, "type", "function");
        jw_kstr(w, "name", req->tools[i].name);
        jw_key(w, "description");
        wire_description(w, &req->tools[i]);
        jw_key(w, "parameters");
        wire_tool_schema(w, &req->tools[i]);
        jw_kbool(w, "strict", false); /* the default can be true, which rejects free-form schemas */
        jw_object_end(w);
    }
    if (req->search)
        write_search(req->search, w);
    jw_array_end(w);
    if (req->no_parallel_calls)
        jw_kbool(w, "parallel_tool_calls", false);
    if (req->choice == CHOICE_NAMED) {
        jw_key(w, "tool_choice");
        jw_object(w);
        jw_kcstr(w, "type", "function");
        jw_kstr(w, "name", req->choice_name);
        jw_object_end(w);
    } else if (req->choice != CHOICE_AUTO) {
        jw_kcstr(w, "tool_choice", req->choice == CHOICE_NONE ? "none" : "required");
    }
}

static void write_reasoning(const struct llm_request *req, struct jw *w)
{
    bool off = req->thinking == THINKING_OFF;
    enum effort effort = effort_fit(req->model->efforts, off ? EFFORT_NONE : req->effort);

    if (req->model->thinking == MODEL_THINKS_NOT)
        return;
    /* Other models answer both with 400. */
    jw_key(w, "include");
    jw_array(w);
    jw_cstr(w, "reasoning.encrypted_content");
    jw_array_end(w);
    if (effort == EFFORT_UNSET && !req->show_thinking)
        return;
    jw_key(w, "reasoning");
    jw_object(w);
    if (effort != EFFORT_UNSET)
        jw_kcstr(w, "effort", effort_name(effort));
    if (req->show_thinking)
        jw_kcstr(w, "summary", "auto");
    jw_object_end(w);
}

static void write_format(const struct llm_request *req, struct jw *w)
{
    jw_key(w, "text");
    jw_object(w);
    jw_key(w, "format");
    jw_object(w);
    jw_kcstr(w, "type", "json_schema");
    jw_kcstr(w, "name", "answer");
    jw_key(w, "schema");
    wire_schema(w, req->output_schema);
    jw_kbool(w, "strict", false);
    jw_object_end(w);
    jw_object_end(w);
}

int openai_responses_body(const struct llm_request *req, struct buf *out, struct err *err)
{
    int64_t max_tokens = wire_max_tokens(req);
    size_t start = out->len;
    struct jw w;

    (void)buf_room(out, wire_head_room(req));
    jw_init(&w, out, JW_CLEAN);
    jw_object(&w);
    jw_kstr(&w, "model", model_wire_name(req->model));
    jw_kbool(&w, "stream", !req->no_stream);
    jw_kbool(&w, "store", false);
    write_reasoning(req, &w);
    if (max_tokens)
        jw_ki64(&w, "max_output_tokens", max_tokens);
    if (req->output_schema.len)
        write_format(req, &w);
    if (req->user_id.len)
        jw_kstr(&w, "safety_identifier", req->user_id);
    if (req->system.len) {
        jw_key(&w, "instructions");
        wire_system(&w, req);
    }
    if (req->tool_count || req->search)
        write_tools(req, &w);
    jw_key(&w, "input");
    write_input(req, &w);
    jw_object_end(&w);
    return wire_check(out, start, err);
}
