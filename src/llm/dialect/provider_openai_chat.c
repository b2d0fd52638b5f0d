/*
 * OpenAI Chat Completions and the many compatible servers: reading the answer.
 *
 * Chunks have pieces of text, reasoning and calls without marking their ends, so everything is
 * passed on piece by piece (reply_say(), reply_call()) and the reply builds blocks. This file
 * decides which call a piece belongs to, where this server puts reasoning and figures, and when the
 * answer is complete: a finish_reason is required, [DONE] is not.
 *
 * Runs on the thread of the agent that made the call. The request is in openai_chat_request.c.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/dialect/chat_details.h"
#include "llm/dialect/chat_figures.h"
#include "llm/dialect/chat_server.h"
#include "llm/dialect/chat_think.h"
#include "llm/dialect/dialect.h"
#include "llm/dialect/openai.h"
#include "llm/dialect/openai_chat.h"
#include "llm/model.h"
#include "llm/reply.h"

#define NO_INDEX INT64_MIN

/* Its place in the list is its key at the reply. */
struct piece_call {
    int64_t index; /* the server's, or NO_INDEX */
    struct str id; /* the server's, or empty */
    bool named;
    size_t chunk; /* the last chunk with a piece of it */
};

struct decoder {
    struct reply *reply;
    const struct model *model;
    const struct chat_server *server;
    struct arena event; /* the chunk being read */
    struct arena ids;
    VEC(struct piece_call) calls;
    size_t chunk;
    struct chat_think think;
    struct chat_details details;
    struct chat_figures figures;
    enum llm_stop stop;
    bool has_reason; /* there was a finish_reason */
    bool is_unclear; /* the reason is unknown */
    bool refused;
    bool said; /* anything */
    bool has_deltas;
};

struct reason_row {
    const char *reason;
    enum llm_stop stop;  /* STOP_NONE: the answer failed, with … */
    enum err_code fault; /* … this */
    bool overloaded;
};

static const struct reason_row reason_rows[] = {
    {"stop", STOP_END_TURN},
    {"STOP", STOP_END_TURN}, /* gateways that do not translate, and small servers */
    {"end_turn", STOP_END_TURN},
    {"eos", STOP_END_TURN},
    {"eos_token", STOP_END_TURN},
    {"tool_use", STOP_TOOL_USE},
    {"tool_calls", STOP_TOOL_USE},
    {"function_call", STOP_TOOL_USE},
    {"length", STOP_MAX_TOKENS},
    {"max_tokens", STOP_MAX_TOKENS},     /* gateways to Anthropic's models that do not translate */
    {"MAX_TOKENS", STOP_MAX_TOKENS},     /* … to Google's */
    {"model_length", STOP_CONTEXT_FULL}, /* Mistral */
    {"refusal", STOP_REFUSAL},
    {"content_filter", STOP_REFUSAL},
    {"sensitive", STOP_REFUSAL},
    {"model_context_window_exceeded", STOP_CONTEXT_FULL},
    {"error", STOP_NONE, ERR_NETWORK},
    {"network_error", STOP_NONE, ERR_NETWORK},
    {"abort", STOP_NONE, ERR_NETWORK},
    {"insufficient_system_resource", STOP_NONE, ERR_RETRY_LATER, .overloaded = true},
};

/* Fields with readable reasoning; the first non-empty one is used. */
static const char *const reasoning_fields[] = {"reasoning_content", "reasoning", "reasoning_text"};

static int say(enum block_kind kind, struct str text, void *arg, struct err *err)
{
    struct decoder *d = arg;

    d->said = true;
    return reply_say(d->reply, kind, text, err);
}

static struct decoder *decoder_new(const struct llm_request *req, struct reply *reply)
{
    struct decoder *d = mem_zalloc(sizeof(*d));

    d->reply = reply;
    d->model = req->model;
    d->server = chat_server_find(req->model);
    d->figures = CHAT_FIGURES_INIT;
    chat_think_init(&d->think, say, d);
    return d;
}

static void decoder_free(struct decoder *d)
{
    if (!d)
        return;
    chat_think_release(&d->think);
    chat_details_release(&d->details);
    vec_release(&d->calls);
    arena_release(&d->ids);
    arena_release(&d->event);
    free(d);
}

/* Thinking must be sent back in the field that it came in. */
static int say_reasoning(struct decoder *d, struct str text, const char *field, struct err *err)
{
    bool is_new = !reply_is_open(d->reply, BLOCK_THINKING);
    char json[40];
    int n;

    if (!text.len)
        return 0;
    if (say(BLOCK_THINKING, text, d, err) < 0)
        return -1;
    if (!field || !is_new) /* stored once per block, not per delta */
        return 0;
    n = snprintf(json, sizeof(json), "\"%s\"", field);
    reply_data(d->reply, "field", str_make(json, (size_t)n));
    return 0;
}

static int read_reasoning(struct decoder *d, const struct json *delta, struct err *err)
{
    const struct json *details = json_get(delta, "reasoning_details");
    bool told = false;

    for (size_t i = 0; i < ARRAY_LEN(reasoning_fields) && !told; i++) {
        struct str text = json_get_str(delta, reasoning_fields[i]);

        told = text.len > 0;
        if (say_reasoning(d, text, reasoning_fields[i], err) < 0)
            return -1;
    }
    JSON_EACH(details, it) {
        struct str text;

        if (!json_is(details, JSON_ARRAY) || !json_is(it, JSON_OBJECT))
            continue;
        if (chat_details_add(&d->details, it, &text, err) < 0)
            return -1;
        if (!told && say_reasoning(d, text, /*field=*/NULL, err) < 0)
            return -1;
    }
    return 0;
}

/* Mistral: content as a list of text and thinking. */
static int read_content_list(struct decoder *d, const struct json *content, struct err *err)
{
    JSON_EACH(content, part) {
        const struct json *thinking = json_get(part, "thinking");

        if (chat_think_feed(&d->think, json_get_str(part, "text"), err) < 0 ||
            say_reasoning(d, json_str(thinking), "content", err) < 0)
            return -1;
        if (!json_is(thinking, JSON_ARRAY))
            continue;
        JSON_EACH(thinking, it) {
            if (say_reasoning(d, json_get_str(it, "text"), "content", err) < 0)
                return -1;
        }
    }
    return 0;
}

static int read_content(struct decoder *d, const struct json *delta, struct err *err)
{
    const struct json *content = json_get(delta, "content");
    struct str refusal = json_get_str(delta, "refusal");

    if (json_is(content, JSON_ARRAY)) {
        if (read_content_list(d, content, err) < 0)
            return -1;
    } else if (chat_think_feed(&d->think, json_str(content), err) < 0) {
        return -1;
    }
    if (!refusal.len)
        return 0;
    d->refused = true;
    return say(BLOCK_TEXT, refusal, d, err);
}

static size_t call_key(const struct decoder *d, const struct piece_call *call)
{
    return (size_t)(call - d->calls.ptr);
}

static struct piece_call *find_by_id(struct decoder *d, int64_t index, struct str id)
{
    for (size_t i = d->calls.len; id.len && i-- > 0;) {
        struct piece_call *c = &d->calls.ptr[i];

        if (str_eq(c->id, id) && (index == NO_INDEX || c->index == index))
            return c;
    }
    return NULL;
}

/* The call that a piece continues, or NULL when it starts a new one. */
static struct piece_call *find_call(struct decoder *d, int64_t index, struct str id,
                                    struct str name, bool has_arguments)
{
    struct piece_call *call = find_by_id(d, index, id);

    if (call)
        return call;
    for (size_t i = d->calls.len; i-- > 0 && !call;)
        if (index == NO_INDEX || d->calls.ptr[i].index == index)
            call = &d->calls.ptr[i];
    /* Some servers send no index or always 0; a new id then separates the calls. */
    if (!call || (id.len && call->id.len))
        return NULL;
    /* Without ids, a new call is: a second name in one chunk, or a name with arguments after
     * complete arguments. A name alone may be a repetition. */
    if (name.len && call->chunk == d->chunk)
        return NULL;
    if (name.len && has_arguments && reply_call_is_complete(d->reply, call_key(d, call)))
        return NULL;
    return call;
}

static int read_call(struct decoder *d, const struct json *piece, const struct json *function,
                     struct err *err)
{
    const struct json *arguments = json_get(function, "arguments");
    const struct json *extra = json_get(piece, "extra_content");
    struct str id = json_get_str(piece, "id");
    struct str name = json_get_str(function, "name");
    /* An object instead of a string counts as its text. */
    struct str text = json_is(arguments, JSON_OBJECT) ? json_raw(arguments) : json_str(arguments);
    int64_t index = json_get_i64(piece, "index", NO_INDEX);
    struct piece_call *call = find_call(d, index, id, name, str_trim(text).len > 0);

    if (!call) {
        if (d->calls.len == REPLY_MAX_BLOCKS)
            return err_set(err, ERR_TOO_BIG, "the answer has more than %d calls", REPLY_MAX_BLOCKS);
        call = vec_add(&d->calls);
        *call = (struct piece_call){.index = index};
    }
    if (id.len && !call->id.len)
        call->id = arena_str(&d->ids, id);
    call->named = call->named || name.len;
    call->chunk = d->chunk;
    d->said = true;
    if (reply_call(d->reply, call_key(d, call), name, id, err) < 0)
        return -1;
    if (json_is(extra, JSON_OBJECT))
        reply_data(d->reply, "extra_content", json_raw(extra));
    if (json_is(arguments, JSON_OBJECT))
        return reply_input(d->reply, text, err);
    return reply_delta(d->reply, text, err);
}

static int read_calls(struct decoder *d, const struct json *delta, struct err *err)
{
    const struct json *calls = json_get(delta, "tool_calls");
    const struct json *legacy = json_get(delta, "function_call");

    /* White space before the first call is dropped; any other held text is part of the answer. */
    if ((json_len(calls) || legacy) && d->think.state == THINK_START &&
        chat_think_end(&d->think, err) < 0)
        return -1;
    if (json_is(calls, JSON_ARRAY)) {
        JSON_EACH(calls, piece) {
            if (json_is(piece, JSON_OBJECT) &&
                read_call(d, piece, json_get(piece, "function"), err) < 0)
                return -1;
        }
    }
    if (json_is(legacy, JSON_OBJECT))
        return read_call(d, /*piece=*/NULL, legacy, err);
    return 0;
}

static int read_progress(struct decoder *d, const struct json *progress, struct err *err)
{
    if (!json_is(progress, JSON_OBJECT))
        return 0;
    return reply_waiting(d->reply, json_get_i64(progress, "processed", 0),
                         json_get_i64(progress, "total", 0), json_get_i64(progress, "cache", 0),
                         err);
}

static int read_reason(struct decoder *d, struct str reason, struct llm_fault *fault,
                       struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(300);

    if (!reason.len)
        return 0;
    d->has_reason = true;
    d->stop = STOP_END_TURN; /* an unknown reason also ends the answer */
    d->is_unclear = true;
    for (size_t i = 0; i < ARRAY_LEN(reason_rows); i++) {
        const struct reason_row *row = &reason_rows[i];

        if (!str_is(reason, row->reason))
            continue;
        d->stop = row->stop;
        d->is_unclear = false;
        if (row->stop != STOP_NONE)
            break;
        *fault = (struct llm_fault){
            .code = row->fault, .retry = true, .overloaded = row->overloaded, .wait_ms = -1};
        buf_addf(&text, "the server broke off its answer: %s", row->reason);
        fault_text(fault, buf_str(&text));
        return err_set(err, fault->code, "%s", fault->text);
    }
    return 0;
}

static int read_choice(struct decoder *d, const struct json *choice, struct llm_fault *fault,
                       struct err *err)
{
    const struct json *delta = json_get(choice, "delta");

    /* A whole answer, streamed or not; after deltas it repeats their text. */
    if (json_is(delta, JSON_OBJECT))
        d->has_deltas = true;
    else
        delta = d->has_deltas ? NULL : json_get(choice, "message");
    if (read_reasoning(d, delta, err) < 0 || read_content(d, delta, err) < 0 ||
        read_calls(d, delta, err) < 0)
        return -1;
    chat_figures_usage(&d->figures, json_get(choice, "usage")); /* Kimi */
    return read_reason(d, json_get_str(choice, "finish_reason"), fault, err);
}

static const struct json *first_choice(const struct json *chunk)
{
    const struct json *choices = json_get(chunk, "choices");

    if (!json_is(choices, JSON_ARRAY))
        return NULL;
    JSON_EACH(choices, it) {
        if (json_get_i64(it, "index", 0) == 0)
            return it;
    }
    return NULL;
}

static int read_chunk(struct decoder *d, struct str data, struct llm_fault *fault, struct err *err)
{
    const struct json *chunk = NULL;
    const struct json *error;

    arena_reset(&d->event);
    if (json_parse(&d->event, data, &chunk, /*ret_info=*/NULL, err) < 0 ||
        !json_is(chunk, JSON_OBJECT))
        return err_set(err, ERR_PROTOCOL, "the server sent something that is not a chat chunk");
    error = openai_error_in(chunk);
    if (error)
        return openai_error(error, fault, err);

    d->chunk++;
    if (reply_start(d->reply, STR(""), json_get_str(chunk, "model"), err) < 0 ||
        read_progress(d, json_get(chunk, "prompt_progress"), err) < 0 ||
        read_choice(d, first_choice(chunk), fault, err) < 0)
        return -1;
    chat_figures_usage(&d->figures, json_get(chunk, "usage"));
    chat_figures_timings(&d->figures, json_get(chunk, "timings"));
    return 0;
}

static void attach_details(struct decoder *d)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);

    if (!d->details.list.len)
        return;
    chat_details_write(&d->details, &json);
    reply_data(d->reply, "reasoning_details", buf_str(&json));
}

/* Corrects the stop reason by the figures. */
static enum llm_stop final_stop(const struct decoder *d)
{
    const struct chat_figures *f = &d->figures;
    int64_t window = d->model->known ? d->model->window : 0;

    if (d->refused)
        return STOP_REFUSAL;
    if (window > 0 && (d->server->habits & CHAT_SILENT_OVERFLOW) && f->prompt > window)
        return STOP_CONTEXT_FULL;
    if (window > 0 && d->stop == STOP_MAX_TOKENS && f->prompt > 0 &&
        f->prompt + (f->completion > 0 ? f->completion : 0) >= window)
        return STOP_CONTEXT_FULL; /* "length" means both */
    if (d->stop == STOP_TOOL_USE && !reply_has_calls(d->reply))
        return STOP_END_TURN;
    return d->stop;
}

/* done: the server sent [DONE], which counts as a stop reason if there was an answer. */
static int finish(struct decoder *d, bool done, struct err *err)
{
    if (chat_think_end(&d->think, err) < 0)
        return -1;
    if (!d->has_reason && !(done && d->said))
        return err_set(err, ERR_PROTOCOL, "the stream ended before the answer was complete");
    VEC_EACH(&d->calls, call) {
        if (!call->named)
            return err_set(err, ERR_PROTOCOL, "the server sent a tool call without a name");
    }
    attach_details(d);
    chat_figures_tell(&d->figures, d->reply);
    reply_stop(d->reply, final_stop(d), STR(""));
    if (d->is_unclear)
        reply_stop_unclear(d->reply);
    return reply_finish(d->reply, err);
}

static int event(struct decoder *d, struct str name, struct str data, struct llm_fault *fault,
                 struct err *err)
{
    (void)name;
    if (reply_is_finished(d->reply))
        return 0;
    if (str_eq(str_trim(data), STR("[DONE]")))
        return finish(d, /*done=*/true, err);
    return read_chunk(d, data, fault, err);
}

static int end(struct decoder *d, struct llm_fault *fault, struct err *err)
{
    (void)fault;
    if (reply_is_finished(d->reply))
        return 0;
    return finish(d, /*done=*/false, err);
}

static bool is_said(const struct decoder *d)
{
    return d->has_reason;
}

static int whole(struct decoder *d, struct str body, struct llm_fault *fault, struct err *err)
{
    if (read_chunk(d, body, fault, err) < 0)
        return -1;
    return finish(d, /*done=*/true, err);
}

static void path(const struct llm_request *req, struct buf *out)
{
    (void)req;
    buf_adds(out, "/chat/completions");
}

const struct dialect dialect_openai_chat = {
    .name = "openai-chat",
    .path = path,
    .headers = openai_headers,
    .body = openai_chat_body,
    .decoder_new = decoder_new,
    .event = event,
    .end = end,
    .is_said = is_said,
    .whole = whole,
    .decoder_free = decoder_free,
    .fault = openai_fault,
};
