/*
 * OpenAI Responses: reading the answer.
 *
 * A table maps each event to its effect on the output items (responses_output.c) or to the end of
 * the response. The stream is complete only with a terminal event.
 *
 * Runs on the thread of the agent that made the call. The request is in openai_responses_request.c.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/json.h"
#include "llm/dialect/dialect.h"
#include "llm/dialect/openai.h"
#include "llm/dialect/openai_responses.h"
#include "llm/dialect/responses_output.h"
#include "llm/reply.h"

struct decoder {
    struct reply *reply;
    struct arena arena; /* the event being read */
    struct responses_output output;
};

static struct decoder *decoder_new(const struct llm_request *req, struct reply *reply)
{
    struct decoder *d = mem_zalloc(sizeof(*d));

    (void)req;
    d->reply = reply;
    responses_output_init(&d->output, reply);
    return d;
}

static void decoder_free(struct decoder *d)
{
    if (!d)
        return;
    responses_output_release(&d->output);
    arena_release(&d->arena);
    free(d);
}

static int64_t figure(const struct json *object, const char *dotted)
{
    int64_t n = 0;

    llm_figure(json_path(object, dotted), &n);
    return n;
}

static void read_usage(struct decoder *d, const struct json *usage)
{
    int64_t input = figure(usage, "input_tokens");
    int64_t cached = figure(usage, "input_tokens_details.cached_tokens");
    int64_t written = figure(usage, "input_tokens_details.cache_write_tokens");

    if (!json_is(usage, JSON_OBJECT))
        return;
    input = input > cached ? input - cached : 0;
    input = input > written ? input - written : 0;
    reply_usage(d->reply, &(struct llm_usage){
                              .input = input,
                              .output = figure(usage, "output_tokens"),
                              .cache_read = cached,
                              .cache_write = written,
                              .thinking = figure(usage, "output_tokens_details.reasoning_tokens"),
                              .web_searches = d->output.searches,
                              .known = true,
                          });
}

static int start(struct decoder *d, const struct json *response, struct err *err)
{
    return reply_start(d->reply, STR(""), json_get_str(response, "model"), err);
}

/* Completed or incomplete (which some servers report only in the status). Items that were not
 * reported one by one are in the response. */
static int finish(struct decoder *d, const struct json *response, bool complete, struct err *err)
{
    const struct json *output = json_get(response, "output");
    struct str reason = json_get_str(json_get(response, "incomplete_details"), "reason");
    enum llm_stop stop = STOP_END_TURN;
    int64_t index = 0;

    if (start(d, response, err) < 0)
        return -1;
    if (json_is(output, JSON_ARRAY)) {
        JSON_EACH(output, item) {
            if (index == REPLY_MAX_BLOCKS)
                return err_set(err, ERR_TOO_BIG, "the answer has more than %d items",
                               REPLY_MAX_BLOCKS);
            if (responses_output_done(&d->output, index++, item, err) < 0)
                return -1;
        }
    }
    if (responses_output_end(&d->output, err) < 0)
        return -1;
    if (!complete || str_is(json_get_str(response, "status"), "incomplete"))
        stop = str_is(reason, "content_filter") ? STOP_REFUSAL : STOP_MAX_TOKENS;
    else if (d->output.refused)
        stop = STOP_REFUSAL;
    read_usage(d, json_get(response, "usage"));
    reply_stop(d->reply, stop, STR(""));
    if (stop == STOP_END_TURN && json_get(response, "status") &&
        !str_is(json_get_str(response, "status"), "completed"))
        reply_stop_unclear(d->reply);
    return reply_finish(d->reply, err);
}

/* An event as its handler sees it. */
struct response_event {
    const struct json *v;
    int64_t index; /* output_index */
    struct llm_fault *fault;
};

typedef int (*handler_fn)(struct decoder *d, const struct response_event *e, struct err *err);

static int on_response(struct decoder *d, const struct response_event *e, struct err *err)
{
    return start(d, json_get(e->v, "response"), err);
}

static int on_item_added(struct decoder *d, const struct response_event *e, struct err *err)
{
    return responses_output_added(&d->output, e->index, json_get(e->v, "item"), err);
}

static int on_item_done(struct decoder *d, const struct response_event *e, struct err *err)
{
    return responses_output_done(&d->output, e->index, json_get(e->v, "item"), err);
}

static int64_t part_of(const struct response_event *e, const char *key)
{
    int64_t part = json_get_i64(e->v, key, 0);

    return part > 0 ? part : 0;
}

static int on_text_delta(struct decoder *d, const struct response_event *e, struct err *err)
{
    return responses_output_text(&d->output, e->index, part_of(e, "content_index"),
                                 json_get_str(e->v, "delta"), /*refusal=*/false, /*final=*/false,
                                 err);
}

static int on_text_done(struct decoder *d, const struct response_event *e, struct err *err)
{
    return responses_output_text(&d->output, e->index, part_of(e, "content_index"),
                                 json_get_str(e->v, "text"), /*refusal=*/false, /*final=*/true,
                                 err);
}

static int on_refusal_delta(struct decoder *d, const struct response_event *e, struct err *err)
{
    return responses_output_text(&d->output, e->index, part_of(e, "content_index"),
                                 json_get_str(e->v, "delta"), /*refusal=*/true, /*final=*/false,
                                 err);
}

static int on_refusal_done(struct decoder *d, const struct response_event *e, struct err *err)
{
    return responses_output_text(&d->output, e->index, part_of(e, "content_index"),
                                 json_get_str(e->v, "refusal"), /*refusal=*/true, /*final=*/true,
                                 err);
}

static int on_arguments_delta(struct decoder *d, const struct response_event *e, struct err *err)
{
    return responses_output_arguments(&d->output, e->index, json_get_str(e->v, "delta"),
                                      /*final=*/false, err);
}

static int on_arguments_done(struct decoder *d, const struct response_event *e, struct err *err)
{
    return responses_output_arguments(&d->output, e->index, json_get_str(e->v, "arguments"),
                                      /*final=*/true, err);
}

static int on_summary_delta(struct decoder *d, const struct response_event *e, struct err *err)
{
    return responses_output_reasoning(&d->output, e->index, part_of(e, "summary_index"),
                                      json_get_str(e->v, "delta"), err);
}

static int on_reasoning_delta(struct decoder *d, const struct response_event *e, struct err *err)
{
    return responses_output_reasoning(&d->output, e->index, part_of(e, "content_index"),
                                      json_get_str(e->v, "delta"), err);
}

static int on_failed(struct decoder *d, const struct response_event *e, struct err *err)
{
    (void)d;
    return openai_error(json_path(e->v, "response.error"), e->fault, err);
}

static int on_completed(struct decoder *d, const struct response_event *e, struct err *err)
{
    /* Some servers end every stream like this and report a failure only inside the event. */
    if (json_len(json_path(e->v, "response.error")))
        return on_failed(d, e, err);
    return finish(d, json_get(e->v, "response"), /*complete=*/true, err);
}

static int on_incomplete(struct decoder *d, const struct response_event *e, struct err *err)
{
    return finish(d, json_get(e->v, "response"), /*complete=*/false, err);
}

/* Events that are not listed report progress of hosted tools, or repeat output_item.done. */
static const struct handler_row {
    const char *type;
    handler_fn run;
} handler_rows[] = {
    {"response.output_text.delta", on_text_delta},
    {"response.function_call_arguments.delta", on_arguments_delta},
    {"response.reasoning_summary_text.delta", on_summary_delta},
    {"response.reasoning_text.delta", on_reasoning_delta},
    {"response.refusal.delta", on_refusal_delta},
    {"response.created", on_response},
    {"response.in_progress", on_response},
    {"response.queued", on_response},
    {"response.output_item.added", on_item_added},
    {"response.output_item.done", on_item_done},
    {"response.output_text.done", on_text_done},
    {"response.refusal.done", on_refusal_done},
    {"response.function_call_arguments.done", on_arguments_done},
    {"response.completed", on_completed},
    {"response.incomplete", on_incomplete},
    {"response.failed", on_failed},
};

static int parse(struct decoder *d, struct str data, const struct json **ret, struct err *err)
{
    arena_reset(&d->arena);
    if (json_parse(&d->arena, data, ret, /*ret_info=*/NULL, err) < 0 || !json_is(*ret, JSON_OBJECT))
        return err_set(err, ERR_PROTOCOL, "the server sent something that is not a response event");
    return 0;
}

static int event(struct decoder *d, struct str name, struct str data, struct llm_fault *fault,
                 struct err *err)
{
    const struct json *v = NULL;
    struct str type;

    if (reply_is_finished(d->reply) || str_eq(str_trim(data), STR("[DONE]")))
        return 0;
    if (parse(d, data, &v, err) < 0)
        return -1;
    if (openai_error_in(v))
        return openai_error(openai_error_in(v), fault, err);

    struct response_event e = {v, json_get_i64(v, "output_index", 0), fault};
    if (e.index < 0 || e.index >= REPLY_MAX_BLOCKS)
        return err_set(err, ERR_PROTOCOL, "an output item has an impossible number");
    type = json_get_str(v, "type");
    if (!type.len)
        type = name;
    for (size_t i = 0; i < ARRAY_LEN(handler_rows); i++)
        if (str_is(type, handler_rows[i].type))
            return handler_rows[i].run(d, &e, err);
    return 0;
}

static int end(struct decoder *d, struct llm_fault *fault, struct err *err)
{
    (void)fault;
    if (reply_is_finished(d->reply))
        return 0;
    return err_set(err, ERR_PROTOCOL, "the stream ended before the response was complete");
}

static int whole(struct decoder *d, struct str body, struct llm_fault *fault, struct err *err)
{
    const struct json *v = NULL;
    struct str status;

    if (parse(d, body, &v, err) < 0)
        return -1;
    if (openai_error_in(v))
        return openai_error(openai_error_in(v), fault, err);
    status = json_get_str(v, "status");
    if (!json_is(json_get(v, "output"), JSON_ARRAY) ||
        (status.len && !str_is(status, "completed") && !str_is(status, "incomplete")))
        return err_set(err, ERR_PROTOCOL, "the server sent something that is not a whole response");
    return finish(d, v, /*complete=*/true, err);
}

static void path(const struct llm_request *req, struct buf *out)
{
    (void)req;
    buf_adds(out, "/responses");
}

const struct dialect dialect_openai_responses = {
    .name = "openai-responses",
    .searches = true,
    .path = path,
    .headers = openai_headers,
    .body = openai_responses_body,
    .decoder_new = decoder_new,
    .event = event,
    .end = end,
    .whole = whole,
    .decoder_free = decoder_free,
    .fault = openai_fault,
};
