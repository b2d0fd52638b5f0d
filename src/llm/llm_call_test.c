/*
 * Calls over real sockets: every row of the table of faults, and the events for the listener.
 * Delays are a millisecond here, so nothing waits for real.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "conf/conf.h"
#include "llm/dialect/dialect.h"
#include "llm/llm_call.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "llm/scenario/canned.h"
#include "net/retry.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "unit.h"

static struct net *net;
static struct conf *conf;

static const struct retry_policy quick = {
    .max_tries = 10, .first_ms = 1, .cap_ms = 2, .asked_cap_ms = 60000};

/* The answer "Hello, world", as each dialect says it. */
#define ANTHROPIC_START                                                                            \
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\","       \
    "\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-5\",\"content\":[],"    \
    "\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n"                                    \
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"             \
    "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"                                     \
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"             \
    "\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello, \"}}\n\n"
#define ANTHROPIC_BODY                                                                             \
    ANTHROPIC_START                                                                                \
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"             \
    "\"delta\":{\"type\":\"text_delta\",\"text\":\"world\"}}\n\n"                                  \
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"           \
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"          \
    "\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":5}}\n\n"                    \
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
#define ANTHROPIC_WHOLE                                                                            \
    "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-5\"," \
    "\"content\":[{\"type\":\"text\",\"text\":\"Hello, world\"}],\"stop_reason\":\"end_turn\","    \
    "\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}"
#define CHAT_TEXT                                                                                  \
    "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":"          \
    "\"assistant\",\"content\":\"Hello, \"},\"finish_reason\":null}]}\n\n"                         \
    "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":"       \
    "\"world\"},\"finish_reason\":null}]}\n\n"                                                     \
    "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},"                 \
    "\"finish_reason\":\"stop\"}]}\n\n"                                                            \
    "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,"         \
    "\"completion_tokens\":5,\"total_tokens\":15}}\n\n"
#define GEMINI_BODY                                                                                \
    "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":"                \
    "\"Hello, world\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{"                          \
    "\"promptTokenCount\":10,\"candidatesTokenCount\":5,\"totalTokenCount\":15}}\n\n"
#define CHAT_BODY CHAT_TEXT "data: [DONE]\n\n"

#define ERROR_BODY(type, text)                                                                     \
    STR_INIT("{\"type\":\"error\",\"error\":{\"type\":\"" type "\",\"message\":\"" text "\"}}")
#define ERROR_EVENT(type, text)                                                                    \
    STR_INIT(ANTHROPIC_START "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"" type \
                             "\",\"message\":\"" text "\"}}\n\n")
#define STATUS(line) "HTTP/1.1 " line "\r\ncontent-type: application/json\r\n"

#define GOOD                                                                                       \
    {                                                                                              \
        CANNED_EVENTS, STR_INIT(ANTHROPIC_BODY), 0                                                 \
    }
#define CUT                                                                                        \
    {                                                                                              \
        CANNED_EVENTS, STR_INIT(ANTHROPIC_START), 0                                                \
    }
#define OVERLOADED                                                                                 \
    {                                                                                              \
        STATUS("529 Overloaded"), ERROR_BODY("overloaded_error", "Overloaded"), 0                  \
    }
#define BROKEN_SERVER                                                                              \
    {                                                                                              \
        STATUS("500 Oops"), ERROR_BODY("api_error", "Internal error"), 0                           \
    }

static const struct fault_case {
    const char *name;
    struct canned answers[8];
    const char *dialect; /* NULL: anthropic */
    int max_tries;       /* 0: 10 */
    int64_t idle_ms;     /* 0: the usual */
    bool fallback;
    enum err_code code; /* NONE: it answers */
    const char *text;   /* part of the error, or of the first retry's or fallback's text */
    int requests;
    int retries;
    int status;       /* of the first retry, or of the failed call */
    int64_t delay_ms; /* of the first retry; 0: not looked at */
} cases[] = {
    {"plain", {GOOD}, .requests = 1},

    /* The server says no, and means "later". */
    {"429 with retry-after-ms",
     {{"HTTP/1.1 429 Slow\r\nretry-after-ms: 37\r\nretry-after: 9\r\n",
       ERROR_BODY("rate_limit_error", "slow down")},
      GOOD},
     .requests = 2,
     .retries = 1,
     .status = 429,
     .delay_ms = 37,
     .text = "slow down"},
    {"429 without a word how long",
     {{"HTTP/1.1 429 Slow\r\n", ERROR_BODY("rate_limit_error", "slow down")}, GOOD},
     .requests = 2,
     .retries = 1,
     .status = 429,
     .text = "slow down"},
    {"429 for longer than we wait",
     {{"HTTP/1.1 429 Slow\r\nretry-after: 7200\r\n", ERROR_BODY("rate_limit_error", "slow down")}},
     .code = ERR_RETRY_LATER,
     .text = "slow down (HTTP 429); it asks to wait for 120 minutes",
     .requests = 1,
     .status = 429},
    {"408",
     {{STATUS("408 Timeout"), STR_INIT("{}")}, GOOD},
     .requests = 2,
     .retries = 1,
     .status = 408},
    {"409",
     {{STATUS("409 Conflict"), STR_INIT("{}")}, GOOD},
     .requests = 2,
     .retries = 1,
     .status = 409},
    {"500",
     {BROKEN_SERVER, GOOD},
     .requests = 2,
     .retries = 1,
     .status = 500,
     .text = "Internal error"},
    {"502 with a web page",
     {{"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\n",
       STR_INIT("<html><body>Bad gateway</body></html>")},
      GOOD},
     .requests = 2,
     .retries = 1,
     .status = 502},
    {"503 and nothing",
     {{STATUS("503 Unavailable"), STR_INIT("")}, GOOD},
     .requests = 2,
     .retries = 1,
     .status = 503},
    {"504",
     {{STATUS("504 Late"), STR_INIT("{}")}, GOOD},
     .requests = 2,
     .retries = 1,
     .status = 504},
    {"529 twice",
     {OVERLOADED, OVERLOADED, GOOD},
     .requests = 3,
     .retries = 2,
     .status = 529,
     .text = "Overloaded"},
    {"529 three times, nobody to fall back on",
     {OVERLOADED, OVERLOADED, OVERLOADED, GOOD},
     .requests = 4,
     .retries = 3,
     .status = 529},
    {"529 three times, with a fallback",
     {OVERLOADED, OVERLOADED, OVERLOADED, GOOD},
     .fallback = true,
     .requests = 4,
     .retries = 2,
     .status = 529,
     .text = "claude-sonnet-5 is overloaded; continuing with claude-haiku-4-5"},
    {"overloaded in the middle of an answer, three times, with a fallback",
     {{CANNED_EVENTS, ERROR_EVENT("overloaded_error", "Overloaded")},
      {CANNED_EVENTS, ERROR_EVENT("overloaded_error", "Overloaded")},
      {CANNED_EVENTS, ERROR_EVENT("overloaded_error", "Overloaded")},
      GOOD},
     .fallback = true,
     .requests = 4,
     .retries = 2,
     .status = 200,
     .text = "claude-sonnet-5 is overloaded; continuing with claude-haiku-4-5"},
    {"529 not in a row",
     {OVERLOADED, OVERLOADED, BROKEN_SERVER, OVERLOADED, OVERLOADED, GOOD},
     .fallback = true,
     .requests = 6,
     .retries = 5,
     .status = 529},
    {"never better",
     {BROKEN_SERVER},
     .max_tries = 3,
     .code = ERR_NETWORK,
     .text = "anthropic: Internal error (HTTP 500); gave up after 3 tries",
     .requests = 3,
     .retries = 2,
     .status = 500},
    {"the fallback is overloaded, too",
     {OVERLOADED},
     .max_tries = 4,
     .fallback = true,
     .code = ERR_RETRY_LATER,
     .text = "gave up after 4 tries",
     .requests = 7,
     .retries = 5,
     .status = 529},

    /* The server says no, and means it. */
    {"400",
     {{STATUS("400 Bad"), ERROR_BODY("invalid_request_error", "messages: too few")}},
     .code = ERR_BAD_INPUT,
     .text = "anthropic: messages: too few (HTTP 400)",
     .requests = 1,
     .status = 400},
    {"a model without tools",
     {{STATUS("400 Bad"), ERROR_BODY("invalid_request_error", "m does not support tools")}},
     .code = ERR_UNSUPPORTED,
     .text =
         "m does not support tools (HTTP 400); claude-sonnet-5 cannot use tools here, so choose",
     .requests = 1,
     .status = 400},
    {"400 with a request id that would colour the screen",
     {{"HTTP/1.1 400 Bad\r\nrequest-id: req_\x1b[31m7\r\n",
       ERROR_BODY("invalid_request_error", "no")}},
     .code = ERR_BAD_INPUT,
     .text = "anthropic: no (HTTP 400) [req_[31m7]",
     .requests = 1,
     .status = 400},
    {"401",
     {{STATUS("401 No"), ERROR_BODY("authentication_error", "invalid x-api-key")}},
     .code = ERR_AUTH,
     .text = "invalid x-api-key",
     .requests = 1,
     .status = 401},
    {"402",
     {{STATUS("402 Pay"), ERROR_BODY("billing_error", "pay first")}},
     .code = ERR_QUOTA,
     .text = "pay first",
     .requests = 1,
     .status = 402},
    {"404",
     {{STATUS("404 No"), ERROR_BODY("not_found_error", "model: x")}},
     .code = ERR_NOT_FOUND,
     .text = "model: x",
     .requests = 1,
     .status = 404},
    {"context full",
     {{STATUS("400 Bad"),
       ERROR_BODY("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum")}},
     .code = ERR_CONTEXT_FULL,
     .text = "prompt is too long",
     .requests = 1,
     .status = 400},
    {"a key in the complaint is hidden",
     {{STATUS("401 No"), ERROR_BODY("authentication_error", "bad key test-key-0123456789")}},
     .code = ERR_AUTH,
     .text = "bad key [hidden]",
     .requests = 1,
     .status = 401},
    {"an endless error",
     {{"HTTP/1.1 400 Bad\r\ncontent-length: 99999999\r\n", STR_INIT("{\"error\":"), CANNED_HANG}},
     .idle_ms = 1500,
     .code = ERR_BAD_INPUT,
     .text = "HTTP 400",
     .requests = 1,
     .status = 400},

    /* It is not a model's answer at all. */
    {"redirect",
     {{"HTTP/1.1 307 There\r\nlocation: https://evil.example:8/v1/messages\r\n", STR_INIT("")},
      GOOD},
     .code = ERR_PROTOCOL,
     .text = "redirect to https://evil.example:8;",
     .requests = 1,
     .status = 307},
    {"a web page",
     {{"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n", STR_INIT("<!doctype html><html>Log in")}},
     .code = ERR_PROTOCOL,
     .text = "answered with a web page",
     .requests = 1,
     .status = 200},
    {"garbage without a type",
     {{"HTTP/1.1 200 OK\r\n", STR_INIT("\x01\x02 what is this")}},
     .code = ERR_PROTOCOL,
     .text = "answered with something else",
     .requests = 1,
     .status = 200},
    {"garbage that claims to be JSON",
     {{CANNED_JSON, STR_INIT("{\"id\":")}, GOOD},
     .requests = 2,
     .retries = 1,
     .status = 200},
    {"garbage between the events",
     {{CANNED_EVENTS, STR_INIT(ANTHROPIC_START "data: {\"type\":\n\n" ANTHROPIC_BODY)}, GOOD},
     .requests = 2,
     .retries = 1,
     .status = 200},
    {"no events at all",
     {{CANNED_EVENTS, STR_INIT("hello\n\nhello\n\n")}, GOOD},
     .requests = 2,
     .retries = 1,
     .status = 200},
    {"the right events under the wrong type",
     {{"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n", STR_INIT(ANTHROPIC_BODY)}},
     .requests = 1},
    {"the right events under no type",
     {{"HTTP/1.1 200 OK\r\n", STR_INIT(ANTHROPIC_BODY)}},
     .requests = 1},
    {"not streamed, though asked to", {{CANNED_JSON, STR_INIT(ANTHROPIC_WHOLE)}}, .requests = 1},
    {"not streamed, under no type",
     {{"HTTP/1.1 200 OK\r\n", STR_INIT(ANTHROPIC_WHOLE)}},
     .requests = 1},
    {"empty body",
     {{CANNED_EVENTS, STR_INIT("")}, GOOD},
     .requests = 2,
     .retries = 1,
     .status = 200,
     .text = "answered with nothing"},

    /* The connection breaks. */
    {"closed before the head", {{NULL}, GOOD}, .requests = 2, .retries = 1},
    {"closed in the middle", {CUT, GOOD}, .requests = 2, .retries = 1, .status = 200},
    {"reset in the middle",
     {{CANNED_EVENTS, STR_INIT(ANTHROPIC_START), CANNED_RESET}, GOOD},
     .requests = 2,
     .retries = 1,
     .status = 200},
    {"cut short of its length",
     {{CANNED_EVENTS "content-length: 5000\r\n", STR_INIT(ANTHROPIC_START)}, GOOD},
     .requests = 2,
     .retries = 1,
     .status = 200,
     .text = "broke off"},
    {"reset behind the last event",
     {{CANNED_EVENTS "content-length: 5000\r\n", STR_INIT(ANTHROPIC_BODY)}},
     .requests = 1},
    {"an error of a gateway's own, with 200",
     {{CANNED_JSON, STR_INIT("{\"code\":401,\"msg\":\"token expired\",\"success\":false}")}},
     .code = ERR_AUTH,
     .text = "anthropic: token expired",
     .requests = 1,
     .status = 200},
    {"one that is no status",
     {{CANNED_JSON, STR_INIT("{\"code\":1234,\"msg\":\"odd\",\"success\":false}")}, GOOD},
     .requests = 2,
     .retries = 1,
     .text = "odd",
     .status = 200},
    {"the same, chat",
     {{CANNED_JSON, STR_INIT("{\"choices\":null,\"base_resp\":{\"status_code\":1008,"
                             "\"status_msg\":\"insufficient balance\"}}")}},
     .dialect = "openai-chat",
     .code = ERR_QUOTA,
     .text = "insufficient balance",
     .requests = 1,
     .status = 200},
    {"nor an answer, but with nothing to say",
     {{CANNED_JSON, STR_INIT("{\"base_resp\":{\"status_code\":0,\"status_msg\":\"success\"}}")},
      GOOD},
     .requests = 2,
     .retries = 1,
     .text = "is not a message",
     .status = 200},
    {"hangs behind the last event",
     {{CANNED_EVENTS "content-length: 5000\r\n", STR_INIT(ANTHROPIC_BODY), CANNED_HANG}},
     .requests = 1},
    {"hangs behind the stop reason, chat",
     {{CANNED_EVENTS, STR_INIT(CHAT_TEXT), CANNED_HANG}},
     .dialect = "openai-chat",
     .idle_ms = 9000,
     .requests = 1},
    {"hangs behind the stop reason, gemini",
     {{CANNED_EVENTS, STR_INIT(GEMINI_BODY), CANNED_HANG}},
     .dialect = "gemini",
     .idle_ms = 9000,
     .requests = 1},
    {"silent in the middle",
     {{CANNED_EVENTS, STR_INIT(ANTHROPIC_START), CANNED_HANG}, GOOD},
     .idle_ms = 1500,
     .requests = 2,
     .retries = 1,
     .status = 200,
     .text = "nothing arrived for"},
    {"silent from the start",
     {{NULL, STR_INIT(""), CANNED_HANG}, GOOD},
     .idle_ms = 1500,
     .requests = 2,
     .retries = 1,
     .text = "nothing arrived for"},
    {"broken three times, then asked for the whole",
     {CUT, CUT, CUT, {CANNED_JSON, STR_INIT(ANTHROPIC_WHOLE)}},
     .requests = 4,
     .retries = 3,
     .status = 200},
    {"the whole fails, too: streaming again",
     {CUT, CUT, CUT, BROKEN_SERVER, GOOD},
     .requests = 5,
     .retries = 4,
     .status = 200},

    /* The content type says something else. */
    {"events as JSON", {{CANNED_JSON, STR_INIT(ANTHROPIC_BODY)}}, .requests = 1},
    {"events as lines of JSON",
     {{"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n", STR_INIT(CHAT_BODY)}},
     .dialect = "openai-chat",
     .requests = 1},
    {"a whole answer as events", {{CANNED_EVENTS, STR_INIT(ANTHROPIC_WHOLE)}}, .requests = 1},
    {"an error as events",
     {{CANNED_EVENTS, ERROR_BODY("invalid_request_error", "model is not loaded")}},
     .code = ERR_BAD_INPUT,
     .text = "model is not loaded",
     .requests = 1,
     .status = 200},

    /* Errors inside a stream. */
    {"an error event that may pass",
     {{CANNED_EVENTS, ERROR_EVENT("api_error", "hiccup")}, GOOD},
     .requests = 2,
     .retries = 1,
     .status = 200,
     .text = "hiccup"},
    {"an error event that will not pass",
     {{CANNED_EVENTS, ERROR_EVENT("invalid_request_error", "no such thing")}},
     .code = ERR_BAD_INPUT,
     .text = "no such thing",
     .requests = 1,
     .status = 200},

    {"stream_options refused",
     {{STATUS("400 Bad"),
       STR_INIT("{\"error\":{\"message\":\"Unknown parameter: stream_options\",\"type\":"
                "\"invalid_request_error\",\"param\":\"stream_options\"}}")},
      {CANNED_EVENTS, STR_INIT(CHAT_BODY)}},
     .dialect = "openai-chat",
     .requests = 2},
};

/* What a listener hears: the text since the last word that made it void. */
struct seen {
    struct buf text;
    int retries, fallbacks;
    int status;
    int64_t delay_ms;
    char first[400];
    bool stop_at_delta;
    struct cancel *cancel_at_retry;
};

static int listen_to(const struct llm_event *ev, void *arg, struct err *err)
{
    struct seen *s = arg;

    if (ev->kind == LLM_BLOCK_DELTA) {
        buf_add(&s->text, ev->text);
        if (s->stop_at_delta)
            return err_set(err, ERR_DENIED, "heard enough");
    }
    if (ev->kind != LLM_RETRY && ev->kind != LLM_FALLBACK)
        return 0;
    buf_clear(&s->text);
    if (ev->kind == LLM_FALLBACK || !s->retries++)
        snprintf(s->first, sizeof(s->first), "%.*s", STR_ARG(ev->text));
    if (ev->kind == LLM_FALLBACK)
        s->fallbacks++;
    else if (s->retries == 1)
        s->delay_ms = ev->delay_ms;
    s->status = s->status ? s->status : ev->status;
    if (s->cancel_at_retry)
        cancel_set(s->cancel_at_retry);
    return 0;
}

static void make_provider(struct provider *p, const char *dialect, const char *url,
                          const char *model)
{
    bool chat = strcmp(dialect, "openai-chat") == 0;
    const char *name = chat ? "openai" : dialect;

    *p = (struct provider){.dialect = dialect_find(str_of(dialect)), .source = KEY_ENV};
    assert_non_null(p->dialect);
    p->name = mem_dup(name, strlen(name));
    p->base_url = mem_dup(url, strlen(url));
    p->key = mem_dup("test-key-0123456789", 19);
    secret_add(str_of(p->key));
    p->model_name = mem_dup(model, strlen(model));
    model_find(str_of(p->name), str_of(p->model_name), &p->model);
}

static void expect_answer(const struct llm_call_result *result, const struct seen *seen)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

    message_text(result->message, &text);
    assert_string_equal(buf_cstr(&text), "Hello, world");
    assert_string_equal(buf_cstr(&seen->text), "Hello, world"); /* nothing twice, nothing half */
    assert_int_equal(result->stop, STOP_END_TURN);
    assert_int_equal(result->usage.input, 10);
    assert_int_equal(result->usage.output, 5);
    assert_true(result->total_ms >= result->first_token_ms);
    assert_true(str_starts(str_of(result->request_id), STR("req_"))); /* theirs or ours */
}

static void run_case(const struct fault_case *row)
{
    CLEANUP(provider_release) struct provider provider, fallback;
    struct message *message = message_user_text(STR("hi"));
    struct llm_request request = {.messages = &message, .message_count = 1};
    struct seen seen = {.text = BUF_INIT(1 << 20)};
    struct retry_policy policy = quick;
    struct llm_call_result result = {0};
    struct canned_server server;
    struct err err = {0};
    size_t count = 0;
    int r;

    while (count < ARRAY_LEN(row->answers) &&
           (row->answers[count].head || row->answers[count].body.ptr || !count))
        count++;
    if (!count)
        count = 1;
    canned_start(&server, row->answers, count);
    make_provider(&provider, row->dialect ? row->dialect : "anthropic", server.url,
                  "claude-sonnet-5");
    make_provider(&fallback, "anthropic", server.url, "claude-haiku-4-5");
    if (row->max_tries)
        policy.max_tries = row->max_tries;
    request.model = &provider.model;

    struct llm_call_options options = {
        .provider = &provider,
        .fallbacks = &fallback,
        .fallback_count = row->fallback ? 1 : 0,
        .idle_ms = row->idle_ms,
        .retry = &policy,
    };
    r = llm_call_run(net, &options, &request, NULL, listen_to, &seen, &result, &err);
    canned_stop(&server);
    print_message("    %d requests, %d retries: %s\n", (int)server.requests.len, seen.retries,
                  r < 0 ? err.text : seen.first);

    assert_int_equal(r < 0 ? err.code : ERR_NONE, row->code);
    assert_int_equal(server.requests.len, row->requests);
    assert_int_equal(seen.retries, row->retries);
    if (row->text)
        assert_non_null(strstr(r < 0 ? err.text : seen.first, row->text));
    if (row->retries)
        assert_int_equal(seen.status, row->status);
    if (row->delay_ms)
        assert_int_equal(seen.delay_ms, row->delay_ms);
    if (r == 0) {
        expect_answer(&result, &seen);
        assert_int_equal(result.attempts, row->requests);
        assert_int_equal(seen.fallbacks, row->fallback && result.model == &fallback.model);
        assert_ptr_equal(result.model, seen.fallbacks ? &fallback.model : &provider.model);
    }
    if (strstr(row->name, "asked for the whole") || strstr(row->name, "streaming again")) {
        assert_non_null(strstr(canned_request(&server, 2), "\"stream\":true"));
        assert_null(strstr(canned_request(&server, 3), "\"stream\":true"));
        assert_non_null(strstr(canned_request(&server, 3), "accept: application/json"));
    }
    if (strcmp(row->name, "stream_options refused") == 0) {
        assert_non_null(strstr(canned_request(&server, 0), "stream_options"));
        assert_null(strstr(canned_request(&server, 1), "stream_options"));
        assert_true(provider.no_stream_options); /* and so from now on */
    }
    if (seen.fallbacks)
        assert_non_null(strstr(canned_request(&server, 3), "claude-haiku-4-5"));

    llm_call_result_release(&result);
    buf_release(&seen.text);
    message_unref(message);
    canned_release(&server);
}

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("row %zu: %s\n", i, cases[i].name);
        run_case(&cases[i]);
    }
}

/* A call by hand, for what the table cannot say. */
struct rig {
    struct canned_server server;
    struct provider provider;
    struct message *message;
    struct llm_request request;
    struct llm_call_options options;
    struct seen seen;
    struct llm_call_result result;
    struct err err;
};

static void rig_start(struct rig *g, const struct canned *answers, size_t count)
{
    *g = (struct rig){.seen.text = BUF_INIT(1 << 20)};
    canned_start(&g->server, answers, count);
    make_provider(&g->provider, "anthropic", g->server.url, "claude-sonnet-5");
    g->message = message_user_text(STR("hi"));
    g->request = (struct llm_request){
        .model = &g->provider.model, .messages = &g->message, .message_count = 1};
    g->options = (struct llm_call_options){.provider = &g->provider, .retry = &quick};
}

static int rig_run(struct rig *g, struct cancel *cancel)
{
    return llm_call_run(net, &g->options, &g->request, cancel, listen_to, &g->seen, &g->result,
                        &g->err);
}

/* After canned_stop(). */
static void rig_release(struct rig *g)
{
    llm_call_result_release(&g->result);
    buf_release(&g->seen.text);
    message_unref(g->message);
    provider_release(&g->provider);
    canned_release(&g->server);
}

static void test_listener_stops_it(void **state)
{
    static const struct canned answers[] = {GOOD};
    struct rig g;

    (void)state;
    rig_start(&g, answers, 1);
    g.seen.stop_at_delta = true;
    assert_int_equal(rig_run(&g, NULL), -1);
    assert_int_equal(g.err.code, ERR_DENIED);
    assert_string_equal(g.err.text, "heard enough");
    assert_int_equal(g.seen.retries, 0);
    assert_null(g.result.message);
    canned_stop(&g.server);
    assert_int_equal(g.server.requests.len, 1);
    rig_release(&g);
}

static void test_cancel_while_waiting(void **state)
{
    static const struct canned answers[] = {BROKEN_SERVER};
    struct retry_policy slow = {
        .max_tries = 5, .first_ms = 3600 * 1000, .cap_ms = 3600 * 1000, .asked_cap_ms = 1000};
    struct cancel *cancel = cancel_new(NULL);
    struct rig g;

    (void)state;
    rig_start(&g, answers, 1);
    g.options.retry = &slow;
    g.seen.cancel_at_retry = cancel;
    assert_int_equal(rig_run(&g, cancel), -1);
    assert_int_equal(g.err.code, ERR_CANCELLED);
    assert_int_equal(g.seen.retries, 1);
    canned_stop(&g.server);
    rig_release(&g);
    cancel_unref(cancel);
}

static void test_nobody_listens(void **state)
{
    static const struct canned answers[] = {GOOD};
    struct retry_policy twice = quick;
    struct rig g;

    (void)state;
    rig_start(&g, answers, 1);
    canned_stop(&g.server); /* the port is free again */
    twice.max_tries = 2;
    g.options.retry = &twice;
    assert_int_equal(rig_run(&g, NULL), -1);
    assert_int_equal(g.err.code, ERR_NETWORK);
    assert_non_null(strstr(g.err.text, "anthropic: cannot connect"));
    assert_non_null(strstr(g.err.text, "gave up after 2 tries"));
    assert_int_equal(g.seen.retries, 1);
    rig_release(&g);
}

static void test_huge_line(void **state)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
    struct canned answer = {CANNED_EVENTS};
    struct rig g;

    (void)state;
    buf_adds(&body, "data: {\"text\":\"");
    memset(buf_room(&body, 33 << 20), 'x', 33 << 20);
    buf_grown(&body, 33 << 20);
    answer.body = buf_str(&body);
    rig_start(&g, &answer, 1);
    assert_int_equal(rig_run(&g, NULL), -1);
    print_message("%s\n", g.err.text);
    assert_int_equal(g.err.code, ERR_TOO_BIG);
    assert_int_equal(g.seen.retries, 0);
    canned_stop(&g.server);
    rig_release(&g);
}

static void test_headers_on_the_wire(void **state)
{
    static const struct canned answers[] = {GOOD};
    struct rig g;
    const char *sent;

    (void)state;
    rig_start(&g, answers, 1);
    strv_adds(&g.provider.headers, "x-team: a");
    strv_adds(&g.provider.headers, "User-Agent: mine"); /* the user's word wins */
    assert_int_equal(rig_run(&g, NULL), 0);
    assert_string_equal(g.result.request_id, "req_7");
    canned_stop(&g.server);
    sent = canned_request(&g.server, 0);
    assert_int_equal(strncmp(sent, "POST /v1/messages HTTP/1.1\r\n", 28), 0);
    assert_non_null(strstr(sent, "content-type: application/json\r\n"));
    assert_non_null(strstr(sent, "accept: text/event-stream\r\n"));
    assert_non_null(strstr(sent, "x-api-key: test-key-0123456789\r\n"));
    assert_non_null(strstr(sent, "x-team: a\r\n"));
    assert_non_null(strstr(sent, "User-Agent: mine\r\n"));
    assert_null(strstr(sent, "tenax/"));
    assert_null(strstr(sent, "authorization:"));
    rig_release(&g);
}

static SSL_CTX *self_signed(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    assert_int_equal(SSL_CTX_use_certificate(ctx, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
    X509_free(cert);
    EVP_PKEY_free(key);
    return ctx;
}

static void hang_up(struct conn *c)
{
    (void)c;
}

/* A handshake that breaks is tried again; a certificate that is not trusted stays so. */
static void test_tls(void **state)
{
    static const struct {
        bool tls;
        enum err_code code;
        int accepted;
        const char *text;
    } rows[] = {
        {true, ERR_DENIED, 1, "is not trusted"},
        {false, ERR_NETWORK, 3, "gave up after 3 tries"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static const struct canned none[] = {{0}};
        struct retry_policy thrice = quick;
        struct server server = {.serve = hang_up, .tls = rows[i].tls ? self_signed() : NULL};
        char url[64];
        struct rig g;

        thrice.max_tries = 3;
        rig_start(&g, none, 1);
        canned_stop(&g.server);
        assert_int_equal(server_start_at(&server, "127.0.0.1"), 0);
        snprintf(url, sizeof(url), "https://127.0.0.1:%d", server.port);
        mem_freep(&g.provider.base_url);
        g.provider.base_url = mem_dup(url, strlen(url));
        g.options.retry = &thrice;
        assert_int_equal(rig_run(&g, NULL), -1);
        print_message("row %zu: %s\n", i, g.err.text);
        assert_int_equal(g.err.code, rows[i].code);
        assert_non_null(strstr(g.err.text, rows[i].text));
        assert_true(server.accepted >= rows[i].accepted);
        assert_int_equal(g.seen.retries, rows[i].accepted - 1);
        server_stop(&server);
        rig_release(&g);
    }
}

/* The helper is asked again for a key that was refused, and what it says goes out as both kinds. */
static void test_key_helper(void **state)
{
    static const struct canned answers[] = {
        {STATUS("401 No"), ERROR_BODY("authentication_error", "expired"), 0},
        GOOD,
    };
    static const struct canned never[] = {
        {STATUS("401 No"), ERROR_BODY("authentication_error", "expired"), 0},
    };
    static const char *const helpers[] = {"echo new-key-987654", "exit 4", "echo 'a b'"};

    (void)state;
    for (size_t i = 0; i <= ARRAY_LEN(helpers); i++) {
        struct rig g;

        print_message("row %zu\n", i);
        rig_start(&g, i < 3 ? answers : never, i < 3 ? 2 : 1);
        g.provider.source = KEY_HELPER;
        g.provider.helper = mem_dup(helpers[i % 3], strlen(helpers[i % 3]));
        g.provider.helper_ttl_ms = 1000000;
        g.provider.key_at_ms = clock_mono_ms();
        g.provider.conf = conf_ref(conf);
        if (i == 0) {
            assert_int_equal(rig_run(&g, NULL), 0);
            expect_answer(&g.result, &g.seen);
            assert_int_equal(g.result.attempts, 2);
            canned_stop(&g.server);
            assert_non_null(strstr(canned_request(&g.server, 0), "x-api-key: test-key-01"));
            assert_non_null(strstr(canned_request(&g.server, 1), "x-api-key: new-key-987654\r\n"));
            assert_non_null(
                strstr(canned_request(&g.server, 1), "authorization: Bearer new-key-987654\r\n"));
        } else {
            assert_int_equal(rig_run(&g, NULL), -1);
            print_message("    %s\n", g.err.text);
            assert_int_equal(g.err.code, ERR_AUTH);
            canned_stop(&g.server);
            assert_int_equal(g.server.requests.len,
                             i < 3 ? 1 : 2); /* asked once more, no further */
        }
        rig_release(&g);
    }
}

/* A key that has had its time is renewed before the request; at a time of 0, before each. */
static void test_stale_key(void **state)
{
    static const struct canned answers[] = {GOOD};

    (void)state;
    for (int64_t ttl_ms = 0; ttl_ms <= 50; ttl_ms += 50) {
        struct rig g;

        rig_start(&g, answers, 1);
        g.provider.source = KEY_HELPER;
        g.provider.helper = mem_dup("echo fresh-key-1", 16);
        g.provider.helper_ttl_ms = ttl_ms;
        g.provider.key_at_ms = clock_mono_ms() - 50;
        g.provider.conf = conf_ref(conf);
        assert_int_equal(rig_run(&g, NULL), 0);
        canned_stop(&g.server);
        assert_int_equal(g.server.requests.len, 1);
        assert_non_null(strstr(canned_request(&g.server, 0), "x-api-key: fresh-key-1\r\n"));
        rig_release(&g);
    }
}

/* A scenario goes the same way, without any network; its clock may stand still. */
static void test_scripted(void **state)
{
    static const struct {
        const char *scenario;
        enum err_code code;
        const char *text;
        int attempts;
    } rows[] = {
        {"step\n  text Hello, world\n  usage input=10 output=5\n", .attempts = 1},
        {"step\n  fault status 529 \"busy\" times=2\n  fault cut 10\n  text Hello, world\n"
         "  usage input=10 output=5\n",
         .attempts = 4},
        {"step\n  pace 20ms\n  text Hello, world\n  usage input=10 output=5\n", .attempts = 1},
        {"step\n  fault status 400 \"no\"\n  text x\n", ERR_BAD_INPUT, "scripted: no", 1},
        {"step\n  if-prompt \"something else\"\n  text x\n", ERR_BAD_INPUT, "no step", 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char path[] = "/tmp/tenax-scenario-XXXXXX";
        CLEANUP(fd_closep) int fd = mkstemp(path);
        CLEANUP(provider_release) struct provider provider = {0};
        CLEANUP(buf_release) struct buf want = BUF_INIT(1000);
        struct message *message = message_user_text(STR("hi"));
        struct llm_request request = {.messages = &message, .message_count = 1};
        struct llm_call_options options = {.provider = &provider, .retry = &quick};
        struct seen seen = {.text = BUF_INIT(1 << 20)};
        struct llm_call_result result = {0};
        struct err err = {0};
        int r;

        print_message("row %zu: %s", i, rows[i].scenario);
        assert_int_equal(fd_write_all(fd, str_of(rows[i].scenario), &err), 0);
        buf_addf(&want, "scripted/%s", path);
        r = provider_select(conf, buf_str(&want), NULL, &provider, &err);
        remove(path);
        if (r < 0)
            fail_msg("%s", err.text);
        request.model = &provider.model;
        r = llm_call_run(NULL, &options, &request, NULL, listen_to, &seen, &result, &err);
        assert_int_equal(r < 0 ? err.code : ERR_NONE, rows[i].code);
        if (r < 0) {
            print_message("    %s\n", err.text);
            assert_non_null(strstr(err.text, rows[i].text));
        } else {
            expect_answer(&result, &seen);
            assert_int_equal(result.attempts, rows[i].attempts);
        }
        llm_call_result_release(&result);
        buf_release(&seen.text);
        message_unref(message);
    }
}

/* Mail, until there was another retry, or text, or the end. */
static int pump(struct llm_call *call, struct mailbox *to, struct rig *g)
{
    int retries = g->seen.retries;
    size_t len = g->seen.text.len;
    int r = 0;

    while (r == 0 && g->seen.retries == retries && g->seen.text.len == len) {
        struct mail *m;

        /* Without a deadline: one would be over at once, because no one moves the clock. */
        assert_int_equal(mailbox_take(to, NULL, -1, &m, &g->err), 0);
        r = llm_call_mail(call, m, &g->err);
        mail_free(m);
    }
    return r;
}

/* The call waits for so long, asks for nothing before, and goes on after. */
static void expect_wait(struct llm_call *call, struct rig *g, int64_t least_ms, int64_t most_ms)
{
    int64_t ahead_ms = llm_call_deadline(call) - clock_mono_ms();

    print_message("waits %d ms\n", (int)ahead_ms);
    assert_true(ahead_ms >= least_ms && ahead_ms <= most_ms);
    clock_advance_ms(ahead_ms - 1);
    assert_int_equal(llm_call_tick(call, &g->err), 0);
    assert_int_equal(llm_call_deadline(call) - clock_mono_ms(), 1);
    clock_advance_ms(1);
    assert_int_equal(llm_call_tick(call, &g->err), 0);
}

/* By hand and under a clock that stands still: back-off and silence are measured by it alone. The
 * clock stays like that, so this comes late, and what follows lives with it. */
static void test_deadlines(void **state)
{
    static const struct canned answers[] = {
        BROKEN_SERVER,
        BROKEN_SERVER,
        {CANNED_EVENTS, STR_INIT(ANTHROPIC_START), CANNED_HANG},
        GOOD,
    };
    struct mailbox *to = mailbox_new();
    struct llm_call *call;
    struct rig g;
    int r;

    (void)state;
    clock_make_virtual(1000000);
    rig_start(&g, answers, 4);
    g.options.retry = NULL; /* the real one */
    call = llm_call_start(net, &g.options, &g.request, to, listen_to, &g.seen, &g.err);
    assert_non_null(call);
    assert_int_equal(pump(call, to, &g), 0);
    expect_wait(call, &g, 375, 500);
    assert_int_equal(pump(call, to, &g), 0);
    expect_wait(call, &g, 750, 1000);
    assert_int_equal(pump(call, to, &g), 0);
    assert_string_equal(buf_cstr(&g.seen.text), "Hello, ");
    assert_int_equal(g.seen.retries, 2);
    expect_wait(call, &g, 90000, 90000); /* silence */
    assert_int_equal(g.seen.retries, 3);
    assert_int_equal(g.seen.text.len, 0);
    assert_false(llm_call_cut(call, &g.result)); /* the broken part is void, whoever stops now */
    expect_wait(call, &g, 1500, 2000);
    do
        r = pump(call, to, &g);
    while (r == 0);
    assert_int_equal(r, 1);
    assert_int_equal(llm_call_take(call, &g.result, &g.err), 0);
    expect_answer(&g.result, &g.seen);
    assert_int_equal(g.result.attempts, 4);
    assert_true(g.result.total_ms >= 90000);
    llm_call_free(call);
    mailbox_close(to);
    mailbox_unref(to);
    canned_stop(&g.server);
    rig_release(&g);
}

/* Whatever arrives ends a silence, also what says nothing: a head, a ping, a comment. */
static void test_pings_count(void **state)
{
    static const struct canned answers[] = {
        {CANNED_EVENTS, STR_INIT("event: ping\ndata: {\"type\":\"ping\"}\n\n"), CANNED_HANG},
        {CANNED_EVENTS, STR_INIT(": still here\n\n"), CANNED_HANG},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct mailbox *to = mailbox_new();
        struct llm_call *call;
        struct rig g;
        bool heard = false;

        rig_start(&g, &answers[i], 1);
        call = llm_call_start(net, &g.options, &g.request, to, listen_to, &g.seen, &g.err);
        assert_non_null(call);
        while (!heard) {
            struct mail *m;

            assert_int_equal(mailbox_take(to, NULL, -1, &m, &g.err), 0);
            heard = ((struct net_mail *)m)->what == NET_BYTES;
            clock_advance_ms(50000);
            assert_int_equal(llm_call_mail(call, m, &g.err), 0);
            assert_int_equal(llm_call_deadline(call) - clock_mono_ms(), 90000);
            mail_free(m);
        }
        assert_int_equal(llm_call_tick(call, &g.err), 0);
        assert_int_equal(g.seen.retries, 0);
        llm_call_free(call);
        mailbox_close(to);
        mailbox_unref(to);
        canned_stop(&g.server);
        rig_release(&g);
    }
}

static int set_up(void **state)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", "HOME=/nonexistent",
                                      "TENAX_HOME=/nonexistent", NULL};
    struct conf_sources from = {
        .dir = "/", .environ = (char *const *)env, .etc = "/nonexistent", .trusted = true};
    struct err err = {0};

    (void)state;
    net = net_new(&(struct net_options){0}, &err);
    if (!net || conf_load(&from, &conf, &err) < 0)
        fail_msg("%s", err.text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    net_free(net);
    conf_unref(conf);
    proc_shutdown();
    return 0;
}

UNIT_TEST(llm_call)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_listener_stops_it),
        cmocka_unit_test(test_cancel_while_waiting),
        cmocka_unit_test(test_nobody_listens),
        cmocka_unit_test(test_huge_line),
        cmocka_unit_test(test_headers_on_the_wire),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_key_helper),
        cmocka_unit_test(test_stale_key),
        cmocka_unit_test(test_scripted),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_pings_count),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
