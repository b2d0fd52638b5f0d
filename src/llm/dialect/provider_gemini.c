/*
 * Gemini: reading the answer.
 *
 * Each event is a whole GenerateContentResponse with the next few parts, and only the end of the
 * stream marks its end. So stop reasons are noted as they come, and end() decides: complete if
 * there was a finishReason and some output, broken otherwise.
 *
 * Runs on the thread of the agent that made the call. The request is in gemini_request.c.
 */
#include "llm/dialect/gemini.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/dialect/dialect.h"
#include "llm/model.h"
#include "llm/reply.h"
#include "net/retry.h"

struct gemini_figures {
    int64_t prompt, tools, cached, candidates, thoughts, searches;
    bool known;
};

struct decoder {
    struct reply *reply;
    struct arena event; /* the event being read */
    struct gemini_figures figures;
    enum llm_stop stop; /* STOP_NONE = no finishReason yet */
    bool is_vague;      /* it was OTHER, which is unspecific */
    bool said;          /* anything */
};

static struct decoder *decoder_new(const struct llm_request *req, struct reply *reply)
{
    struct decoder *d = mem_zalloc(sizeof(*d));

    (void)req;
    d->reply = reply;
    return d;
}

static void decoder_free(struct decoder *d)
{
    if (!d)
        return;
    arena_release(&d->event);
    free(d);
}

static int fail(struct llm_fault *fault, struct err *err, enum err_code code, bool retry,
                const char *what, struct str word)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(sizeof(fault->text));

    buf_adds(&text, what);
    buf_add(&text, str_clip(word, 100));
    *fault = (struct llm_fault){.code = code, .retry = retry, .wait_ms = -1};
    fault_text(fault, buf_str(&text));
    return err_set(err, code, "%s", fault->text);
}

/* Errors. */

/* There is no point in waiting for a daily quota. */
static bool is_daily_quota(const struct json *details)
{
    JSON_EACH(details, it) {
        const struct json *violations = json_get(it, "violations");

        JSON_EACH(violations, v) {
            struct str id = json_get_str(v, "quotaId");

            if (str_find_nocase(id, STR("perday")) < id.len)
                return true;
        }
    }
    return false;
}

static int64_t retry_delay(const struct json *details)
{
    JSON_EACH(details, it) {
        struct str type = json_get_str(it, "@type");

        if (str_ends(type, STR("google.rpc.RetryInfo")))
            return retry_text_ms(json_get_str(it, "retryDelay"));
    }
    return -1;
}

static bool is_bad_key(const struct json *details)
{
    JSON_EACH(details, it) {
        if (str_is(json_get_str(it, "reason"), "API_KEY_INVALID"))
            return true;
    }
    return false;
}

/* Refines the interpretation of the status with what the error says. */
static void refine(const struct json *error, struct llm_fault *f)
{
    const struct json *details = json_get(error, "details");
    struct str text = fault_message(error);
    struct str status = json_get_str(error, "status");
    int64_t wait_ms;

    if (!json_is(details, JSON_ARRAY))
        details = NULL;
    wait_ms = retry_delay(details);
    if (wait_ms >= 0)
        f->wait_ms = wait_ms;
    if (str_is(status, "UNAVAILABLE"))
        f->overloaded = true;
    if (is_bad_key(details) || str_has(text, STR("API_KEY_INVALID"))) {
        f->code = ERR_AUTH;
        f->retry = false;
    } else if (str_is(status, "RESOURCE_EXHAUSTED")) {
        /* "You exceeded your current quota" is also the message for the quota per minute. */
        f->retry = !is_daily_quota(details);
        f->code = f->retry ? ERR_RETRY_LATER : ERR_QUOTA;
    }
}

/* On endpoints without alt=sse an error is wrapped in an array. */
static const struct json *error_in(const struct json *v)
{
    const struct json *error = json_get(json_is(v, JSON_ARRAY) ? json_first(v) : v, "error");

    return json_is(error, JSON_OBJECT) ? error : NULL;
}

static void fault(int status, struct str body, struct str retry_after, struct str retry_after_ms,
                  struct str should_retry, struct llm_fault *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;

    *ret = (struct llm_fault){.wait_ms = -1};
    fault_from_status(ret, status, body, retry_after, retry_after_ms);
    refine(fault_find(body, &arena), ret);
    if (str_is(should_retry, "false"))
        ret->retry = false;
}

/* An error inside an answer that began with status 200. */
static int fail_by_error(const struct json *error, struct llm_fault *f, struct err *err)
{
    int64_t status = json_get_i64(error, "code", 0);

    *f = (struct llm_fault){.wait_ms = -1};
    fault_from_status(f, status >= 400 && status <= 599 ? (int)status : 500, json_raw(error),
                      STR(""), STR(""));
    refine(error, f);
    return err_set(err, f->code, "%s", f->text);
}

/* Parts. */

/* Text and thoughts. A signed part is a block of its own, because merging it with others would
 * invalidate the signature. */
static int read_text(struct decoder *d, struct str text, bool thought, const struct json *signature,
                     struct err *err)
{
    enum block_kind kind = thought ? BLOCK_THINKING : BLOCK_TEXT;

    if (!text.len) {
        if (!signature)
            return 0;
        /* It belongs after a part, and is sent back as an empty part. */
        if (reply_close(d->reply, err) < 0)
            return -1;
        reply_data_last(d->reply, "trailingSignature", json_raw(signature));
        return 0;
    }
    d->said = true;
    if (!signature)
        return reply_say(d->reply, kind, text, err);
    if (reply_open(d->reply, &(struct block){.kind = kind, .text = text}, STR(""), err) < 0)
        return -1;
    reply_data(d->reply, "thoughtSignature", json_raw(signature));
    return reply_close(d->reply, err);
}

static int read_call(struct decoder *d, const struct json *call, const struct json *signature,
                     struct err *err)
{
    const struct json *args = json_get(call, "args");
    struct str name = json_get_str(call, "name");

    if (!name.len)
        return err_set(err, ERR_PROTOCOL, "the server sent a tool call without a name");
    if (json_get(call, "partialArgs"))
        return err_set(err, ERR_PROTOCOL, "the server sent arguments in pieces, unasked");
    d->said = true;
    if (reply_open(
            d->reply,
            &(struct block){.kind = BLOCK_TOOL_USE,
                            .name = name,
                            .input = json_type(args) == JSON_NULL ? STR("") : json_raw(args)},
            json_get_str(call, "id"), err) < 0)
        return -1;
    if (signature)
        reply_data(d->reply, "thoughtSignature", json_raw(signature));
    return reply_close(d->reply, err);
}

/* Code run at the server, images, and future kinds: kept whole, as a block of type gemini_part. */
static int keep_part(struct decoder *d, const struct json *part, struct err *err)
{
    CLEANUP(buf_release) struct buf raw = BUF_INIT(BUF_NO_LIMIT);
    struct jw w;

    jw_init(&w, &raw, 0);
    jw_object(&w);
    jw_kcstr(&w, "type", "gemini_part");
    jw_kraw(&w, "part", json_raw(part));
    jw_object_end(&w);
    d->said = true;
    if (reply_open(d->reply, &(struct block){.kind = BLOCK_OTHER, .raw = buf_str(&raw)}, STR(""),
                   err) < 0)
        return -1;
    return reply_close(d->reply, err);
}

static int read_part(struct decoder *d, const struct json *part, struct err *err)
{
    const struct json *call = json_get(part, "functionCall");
    const struct json *text = json_get(part, "text");
    const struct json *signature = json_get(part, "thoughtSignature");

    if (!json_str(signature).len)
        signature = NULL;
    if (json_is(call, JSON_OBJECT))
        return read_call(d, call, signature, err);
    if (json_is(text, JSON_STRING))
        return read_text(d, json_str(text), json_get_bool(part, "thought", false), signature, err);
    if (!json_is(part, JSON_OBJECT) || !json_len(part))
        return 0;
    return keep_part(d, part, err);
}

struct reason_row {
    const char *reason;
    enum llm_stop stop; /* STOP_NONE: an invalid call, worth a retry */
};

static const struct reason_row reason_rows[] = {
    {"STOP", STOP_END_TURN},
    {"MAX_TOKENS", STOP_MAX_TOKENS},
    {"SAFETY", STOP_REFUSAL},
    {"RECITATION", STOP_REFUSAL},
    {"LANGUAGE", STOP_REFUSAL},
    {"BLOCKLIST", STOP_REFUSAL},
    {"PROHIBITED_CONTENT", STOP_REFUSAL},
    {"SPII", STOP_REFUSAL},
    {"IMAGE_SAFETY", STOP_REFUSAL},
    {"IMAGE_PROHIBITED_CONTENT", STOP_REFUSAL},
    {"MALFORMED_FUNCTION_CALL", STOP_NONE},
    {"UNEXPECTED_TOOL_CALL", STOP_NONE},
    {"TOO_MANY_TOOL_CALLS", STOP_NONE},
};

static int read_reason(struct decoder *d, struct str reason, struct llm_fault *f, struct err *err)
{
    if (!reason.len || str_is(reason, "FINISH_REASON_UNSPECIFIED"))
        return 0;
    d->stop = STOP_END_TURN; /* OTHER, and unknown reasons */
    d->is_vague = true;
    for (size_t i = 0; i < ARRAY_LEN(reason_rows); i++) {
        if (!str_is(reason, reason_rows[i].reason))
            continue;
        d->stop = reason_rows[i].stop;
        d->is_vague = false;
        if (d->stop == STOP_NONE)
            return fail(f, err, ERR_NETWORK, /*retry=*/true, "the model made a bad call: ", reason);
    }
    return 0;
}

/* Several events have figures; one that is missing in a later event keeps its value. */
static void read_usage(struct decoder *d, const struct json *usage)
{
    struct gemini_figures *f = &d->figures;
    int64_t input;

    if (!json_is(usage, JSON_OBJECT))
        return;
    llm_figure(json_get(usage, "promptTokenCount"), &f->prompt);
    llm_figure(json_get(usage, "toolUsePromptTokenCount"), &f->tools);
    llm_figure(json_get(usage, "cachedContentTokenCount"), &f->cached);
    llm_figure(json_get(usage, "candidatesTokenCount"), &f->candidates);
    llm_figure(json_get(usage, "thoughtsTokenCount"), &f->thoughts);
    input = f->prompt > f->cached ? f->prompt - f->cached : 0;
    reply_usage(d->reply, &(struct llm_usage){.input = input + f->tools,
                                              .output = f->candidates + f->thoughts,
                                              .cache_read = f->cached,
                                              .thinking = f->thoughts,
                                              .web_searches = f->searches,
                                              .known = true});
}

/* The sources of the answer: pages found by Google's search. They come after the text, whose block
 * a signature may have closed already. */
static void read_grounding(struct decoder *d, const struct json *grounding)
{
    const struct json *chunks = json_get(grounding, "groundingChunks");
    const struct json *queries = json_get(grounding, "webSearchQueries");

    if (json_is(chunks, JSON_ARRAY) && reply_is_open(d->reply, BLOCK_TEXT)) {
        JSON_EACH(chunks, chunk) {
            reply_citation(d->reply, json_raw(chunk));
        }
    } else if (json_is(chunks, JSON_ARRAY)) {
        reply_data_last(d->reply, "groundingChunks", json_raw(chunks));
    }
    if (json_is(queries, JSON_ARRAY) && json_len(queries))
        d->figures.searches = (int64_t)json_len(queries);
}

static int read_response(struct decoder *d, const struct json *v, struct llm_fault *f,
                         struct err *err)
{
    const struct json *candidates = json_get(v, "candidates");
    const struct json *candidate = json_is(candidates, JSON_ARRAY) ? json_first(candidates) : NULL;
    const struct json *parts = json_get(json_get(candidate, "content"), "parts");
    struct str blocked = json_get_str(json_get(v, "promptFeedback"), "blockReason");

    if (error_in(v))
        return fail_by_error(error_in(v), f, err);
    if (!json_is(v, JSON_OBJECT))
        return err_set(err, ERR_PROTOCOL, "the server sent something that is not an answer");
    if (blocked.len && !candidate)
        return fail(f, err, ERR_DENIED, /*retry=*/false, "the prompt was blocked: ", blocked);
    read_usage(d, json_get(v, "usageMetadata"));
    if (reply_start(d->reply, STR(""), json_get_str(v, "modelVersion"), err) < 0)
        return -1;
    if (json_is(parts, JSON_ARRAY)) {
        JSON_EACH(parts, part) {
            if (read_part(d, part, err) < 0)
                return -1;
        }
    }
    if (json_is(json_get(candidate, "groundingMetadata"), JSON_OBJECT)) {
        read_grounding(d, json_get(candidate, "groundingMetadata"));
        read_usage(d, json_get(v, "usageMetadata"));
    }
    return read_reason(d, json_get_str(candidate, "finishReason"), f, err);
}

static int event(struct decoder *d, struct str name, struct str data, struct llm_fault *f,
                 struct err *err)
{
    const struct json *v = NULL;

    (void)name;
    arena_reset(&d->event);
    if (json_parse(&d->event, data, &v, /*ret_info=*/NULL, err) < 0)
        return err_set(err, ERR_PROTOCOL, "the server sent something that is not JSON");
    return read_response(d, v, f, err);
}

static int end(struct decoder *d, struct llm_fault *f, struct err *err)
{
    if (reply_is_finished(d->reply))
        return 0;
    if (d->stop == STOP_NONE)
        return err_set(err, ERR_PROTOCOL, "the stream ended before the answer was complete");
    if (!d->said && (d->stop == STOP_END_TURN || d->is_vague))
        return fail(f, err, ERR_NETWORK, /*retry=*/true, "the model answered nothing", STR(""));
    reply_stop(d->reply, d->stop, STR(""));
    if (d->is_vague)
        reply_stop_unclear(d->reply);
    return reply_finish(d->reply, err);
}

static bool is_said(const struct decoder *d)
{
    return d->stop != STOP_NONE;
}

/* One answer, or a list of them, which a stream without alt=sse is. */
static int whole(struct decoder *d, struct str body, struct llm_fault *f, struct err *err)
{
    const struct json *v = NULL;

    arena_reset(&d->event);
    if (json_parse(&d->event, body, &v, /*ret_info=*/NULL, err) < 0)
        return err_set(err, ERR_PROTOCOL, "the server sent something that is not JSON");
    if (!json_is(v, JSON_ARRAY)) {
        if (read_response(d, v, f, err) < 0)
            return -1;
    } else {
        JSON_EACH(v, it) {
            if (read_response(d, it, f, err) < 0)
                return -1;
        }
    }
    return end(d, f, err);
}

/* Asking. */

static void path(const struct llm_request *req, struct buf *out)
{
    struct str model = model_wire_name(req->model);

    if (str_starts(model, STR("models/")))
        model = str_from(model, 7);
    buf_adds(out, "/v1beta/models/");
    for (size_t i = 0; i < model.len; i++) {
        char c = model.ptr[i];

        if (str_is_alnum(c) || c == '-' || c == '_' || c == '.')
            buf_addc(out, c);
        else
            buf_addf(out, "%%%02X", (unsigned char)c);
    }
    buf_adds(out, req->no_stream ? ":generateContent" : ":streamGenerateContent?alt=sse");
}

static void headers(const struct llm_request *req, struct str key, bool bearer, struct strv *out)
{
    (void)req;
    if (!key.len)
        return;
    if (bearer)
        strv_addf(out, "authorization: Bearer %.*s", STR_ARG(key));
    else
        strv_addf(out, "x-goog-api-key: %.*s", STR_ARG(key));
}

const struct dialect dialect_gemini = {
    .name = "gemini",
    .searches = true,
    .path = path,
    .headers = headers,
    .body = gemini_body,
    .decoder_new = decoder_new,
    .event = event,
    .end = end,
    .is_said = is_said,
    .whole = whole,
    .decoder_free = decoder_free,
    .fault = fault,
};
