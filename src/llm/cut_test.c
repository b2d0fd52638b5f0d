/*
 * Streams cut at every byte, in every dialect (tests/data/streams: the same thoughts, words and
 * call in each). Cut in two, an answer is the same answer; cut off, it is either complete or void,
 * never half; and a call that gets a cut answer first ends with the whole one, heard once. The last
 * part runs over real sockets: at some places in the usual round, at every byte when TENAX_HEAVY is
 * set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/mem.h"
#include "llm/dialect/dialect.h"
#include "llm/dialect/heard_check.h"
#include "llm/llm_call.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "llm/reply.h"
#include "llm/scenario/canned.h"
#include "net/retry.h"
#include "net/sse.h"
#include "unit.h"

static struct stream {
    const char *dialect, *model;
    struct buf body;
} streams[] = {
    {.dialect = "anthropic", .model = "claude-sonnet-5"},
    {.dialect = "openai-chat", .model = "deepseek-v4-pro"},
    {.dialect = "openai-responses", .model = "gpt-6-sol"},
    {.dialect = "gemini", .model = "gemini-3.8-flash"},
};

static const char words[] = "\u00dcn\u00efcode \u2013 \u4e16\u754c \U0001f30d";

static int load_streams(void **state)
{
    const char *source = getenv("TENAX_SOURCE");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(4096);
        struct err err = {0};

        buf_addf(&path, "%s/tests/data/streams/%s.sse", source ? source : ".", streams[i].dialect);
        if (file_slurp(buf_cstr(&path), 1 << 20, &streams[i].body, &err) < 0)
            fail_msg("%s", err.text);
    }
    return 0;
}

static int free_streams(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(streams); i++)
        buf_release(&streams[i].body);
    return 0;
}

/* One decoding, as an attempt does it. */
struct decoding {
    const struct dialect *dialect;
    struct reply *reply;
    struct decoder *decoder;
    struct llm_fault fault;
};

static int decode_event(struct str name, struct str data, void *arg, struct err *err)
{
    struct decoding *d = arg;

    if (reply_is_finished(d->reply))
        return 0;
    return d->dialect->event(d->decoder, name, data, &d->fault, err);
}

/* The message of these two pieces as JSON, or NULL when there is no complete one. */
static char *decode(const struct stream *s, struct str first, struct str second)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct model model;
    struct llm_request request = {.model = &model};
    struct decoding d = {.dialect = dialect_find(str_of(s->dialect))};
    struct sse *sse = sse_new(1 << 20, decode_event, &d);
    struct err err = {0};
    bool done;

    id_seed(7); /* the same ids every time */
    model_find(str_of(s->dialect), str_of(s->model), &model);
    d.reply = reply_new(NULL, NULL);
    reply_origin(d.reply, model.provider, model.name);
    d.decoder = d.dialect->decoder_new(&request, d.reply);
    done = sse_feed(sse, first, &err) == 0 && sse_feed(sse, second, &err) == 0 &&
           sse_end(sse, &err) == 0 &&
           (reply_is_finished(d.reply) || d.dialect->end(d.decoder, &d.fault, &err) == 0) &&
           reply_is_finished(d.reply);
    if (done) {
        struct message *m = reply_take(d.reply);

        message_write(m, &json);
        message_unref(m);
    } else if (!err.code || !err.text[0]) {
        fail_msg("%s failed without a reason", s->dialect);
    }
    d.dialect->decoder_free(d.decoder);
    reply_free(d.reply);
    sse_free(sse);
    return done ? buf_take(&json) : NULL;
}

static void test_in_two_pieces(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        const struct stream *s = &streams[i];
        struct str body = buf_str(&s->body);
        CLEANUP(mem_freep) char *whole = decode(s, body, (struct str){0});

        print_message("%s: %zu bytes\n%s\n", s->dialect, body.len, whole ? whole : "(nothing)");
        assert_non_null(whole);
        assert_non_null(strstr(whole, "Let me look \u00e9"));
        assert_non_null(strstr(whole, words));
        assert_non_null(strstr(whole, "{\"command\":\"ls -l \\\"x\\\"\"}"));
        for (size_t at = 0; at <= body.len; at++) {
            CLEANUP(mem_freep) char *got = decode(s, str_first(body, at), str_from(body, at));

            if (!got || strcmp(got, whole) != 0)
                fail_msg("%s, in two pieces at byte %zu: %s", s->dialect, at,
                         got ? got : "(nothing)");
        }
    }
}

static void test_cut_off(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        const struct stream *s = &streams[i];
        struct str body = buf_str(&s->body);
        CLEANUP(mem_freep) char *whole = decode(s, body, (struct str){0});
        size_t complete = 0; /* the first place where nothing is missing */

        for (size_t at = 0; at <= body.len; at++) {
            CLEANUP(mem_freep) char *got = decode(s, str_first(body, at), (struct str){0});

            if (got && strcmp(got, whole) != 0)
                fail_msg("%s, cut off at byte %zu, is taken for complete: %s", s->dialect, at, got);
            if (got && !complete)
                complete = at;
        }
        print_message("%s: complete from byte %zu of %zu on\n", s->dialect, complete, body.len);
        assert_true(complete > body.len / 2);
    }
}

static void call_with_cut(struct net *net, const struct stream *s, size_t at)
{
    static const struct retry_policy quick = {
        .max_tries = 3, .first_ms = 1, .cap_ms = 1, .asked_cap_ms = 1};
    const struct canned answers[] = {
        {CANNED_EVENTS, str_first(buf_str(&s->body), at), at % 3 ? CANNED_CLOSE : CANNED_RESET},
        {CANNED_EVENTS, buf_str(&s->body), CANNED_CLOSE},
    };
    struct heard_check heard = {.text = BUF_INIT(1 << 20)};
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct message *message = message_user_text(STR("hi"));
    struct provider provider = {.dialect = dialect_find(str_of(s->dialect))};
    struct llm_request request = {.messages = &message, .message_count = 1};
    struct llm_call_options options = {.provider = &provider, .retry = &quick};
    struct llm_call_result result = {0};
    struct canned_server server;
    struct err err = {0};

    canned_start(&server, answers, ARRAY_LEN(answers));
    provider.name = mem_dup(s->dialect, strlen(s->dialect));
    provider.base_url = mem_dup(server.url, strlen(server.url));
    model_find(str_of(provider.name), str_of(s->model), &provider.model);
    if (llm_call_run(net, &options, &request, NULL, heard_check_fn, &heard, &result, &err) < 0)
        fail_msg("%s, cut at byte %zu: %s", s->dialect, at, err.text);
    canned_stop(&server);
    message_text(result.message, &text);
    if (strcmp(buf_cstr(&text), words) != 0 || strcmp(buf_cstr(&heard.text), words) != 0)
        fail_msg("%s, cut at byte %zu: heard '%s', got '%s'", s->dialect, at, buf_cstr(&heard.text),
                 buf_cstr(&text));
    assert_int_equal(message_count(result.message, BLOCK_TOOL_USE), 1);
    assert_int_equal(result.stop, STOP_TOOL_USE);
    assert_int_equal(result.attempts, (int)server.requests.len);
    buf_release(&heard.text);
    llm_call_result_release(&result);
    message_unref(message);
    provider_release(&provider);
    canned_release(&server);
}

static void test_calls(void **state)
{
    size_t step = getenv("TENAX_HEAVY") ? 1 : 151;
    struct err err = {0};
    struct net *net = net_new(&(struct net_options){0}, &err);

    (void)state;
    assert_non_null(net);
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        for (size_t at = 1; at <= streams[i].body.len; at += step)
            call_with_cut(net, &streams[i], at);
    }
    net_free(net);
}

UNIT_TEST(cut)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_two_pieces),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_calls),
    };

    return cmocka_run_group_tests(tests, load_streams, free_streams);
}
