#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "json/json.h"
#include "proto/rpc/rpc.h"
#include "unit.h"

struct side {
    struct buf out;  /* the output */
    struct buf told; /* calls of the speaker */
    struct rpc *rpc;
    VEC(struct rpc_call *) calls; /* not answered yet */
};

static void on_send(void *arg, struct str line)
{
    buf_add(&((struct side *)arg)->out, line);
}

/* "now" is answered at once, all others later. */
static void on_request(void *arg, struct rpc_call *call)
{
    struct side *s = arg;

    buf_addf(&s->told, "%.*s(%.*s) ", STR_ARG(call->method), STR_ARG(call->id));
    if (str_is(call->method, "now"))
        rpc_answer(call, STR("{\"a\":1}"));
    else if (str_is(call->method, "no"))
        rpc_refusef(call, RPC_METHOD, "no %s", "such");
    else
        vec_push(&s->calls, call);
}

static void on_notified(void *arg, struct str method, const struct json *params)
{
    buf_addf(&((struct side *)arg)->told, "%.*s[%.*s] ", STR_ARG(method),
             STR_ARG(json_raw(params)));
}

static void on_taken_back(void *arg, struct rpc_call *call)
{
    buf_addf(&((struct side *)arg)->told, "back(%.*s) ", STR_ARG(call->id));
}

static void side_init(struct side *s, bool is_bare)
{
    struct rpc_spec spec = {
        .is_bare = is_bare,
        .send = on_send,
        .request = on_request,
        .notified = on_notified,
        .taken_back = on_taken_back,
        .arg = s,
    };

    *s = (struct side){.out = BUF_INIT(1 << 20), .told = BUF_INIT(1 << 20)};
    s->rpc = rpc_new(&spec);
}

static void side_release(struct side *s)
{
    rpc_close(s->rpc);
    VEC_EACH(&s->calls, call) {
        rpc_answer(*call, STR(""));
    }
    vec_release(&s->calls);
    buf_release(&s->out);
    buf_release(&s->told);
}

static const struct line_case {
    const char *line;
    const char *told; /* what the speaker was given */
    const char *out;  /* the answer; "": there is none */
    const char *bare; /* the same where the wire has no "jsonrpc" */
} line_cases[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"now\"}", "now(1) ",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n", "{\"id\":1,\"result\":{\"a\":1}}\n"},
    {"{\"id\":\"x\",\"method\":\"now\",\"params\":{}}", "now(\"x\") ", "\"id\":\"x\",\"result\"",
     "\"id\":\"x\",\"result\""},
    {"{\"id\":2,\"method\":\"no\"}", "no(2) ",
     "\"error\":{\"code\":-32601,\"message\":\"no such\"}", "\"code\":-32601"},
    {"{\"method\":\"hi\",\"params\":[1]}", "hi[[1]] ", "", ""},
    {"  ", "", "", ""},
    {"{\"id\":1,", "", "\"id\":null,\"error\":{\"code\":-32700", ""},
    {"\xff\xfe garbage", "", "\"code\":-32700", ""},
    {"[{\"id\":1,\"method\":\"now\"}]", "",
     "\"code\":-32600,\"message\":\"Invalid request: batches", ""},
    {"17", "", "\"code\":-32600", ""},
    {"{}", "", "\"code\":-32600,\"message\":\"Invalid request: it has no method", ""},
    {"{\"id\":null,\"method\":\"now\"}", "", "\"code\":-32600", ""},
    {"{\"id\":1.5,\"method\":\"now\"}", "", "\"code\":-32600", ""},
    {"{\"id\":{},\"method\":\"now\"}", "", "\"code\":-32600", ""},
    {"{\"id\":1,\"method\":7}", "", "\"code\":-32600", ""},
    {"{\"id\":99,\"result\":{}}", "", "", ""}, /* an answer to nothing */
    {NULL, "", "\"code\":-32600,\"message\":\"Invalid request: a line of more than 64 MB", ""},
};

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(line_cases); i++) {
        const struct line_case *c = &line_cases[i / 2];
        const char *want = i % 2 ? c->bare : c->out;
        struct side s;

        side_init(&s, i % 2);
        rpc_line(s.rpc, c->line ? str_of(c->line) : (struct str){0});
        if (!str_is(buf_str(&s.told), c->told) || (*want == 0) != (s.out.len == 0) ||
            !str_has(buf_str(&s.out), str_of(want)))
            fail_msg("%s: told \"%s\", said \"%s\"", c->line ? c->line : "(too long)",
                     buf_cstr(&s.told), buf_cstr(&s.out));
        side_release(&s);
    }
}

/* A pending id is taken; once it is answered it is free. */
static void test_repeated_id(void **state)
{
    struct side s;

    (void)state;
    side_init(&s, false);
    rpc_line(s.rpc, STR("{\"id\":1,\"method\":\"later\"}"));
    rpc_line(s.rpc, STR("{\"id\":1,\"method\":\"later\"}"));
    assert_int_equal(s.calls.len, 1);
    assert_true(str_has(buf_str(&s.out), STR("\"id\":1,\"error\":{\"code\":-32600")));
    rpc_answer(s.calls.ptr[--s.calls.len], STR("{}"));
    buf_clear(&s.out);
    rpc_line(s.rpc, STR("{\"id\":1,\"method\":\"now\"}"));
    assert_true(str_has(buf_str(&s.out), STR("\"result\":{\"a\":1}")));
    side_release(&s);
}

static void test_taken_back(void **state)
{
    struct side s;

    (void)state;
    side_init(&s, false);
    rpc_line(s.rpc, STR("{\"id\":5,\"method\":\"later\"}"));
    rpc_line(s.rpc, STR("{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":6}}"));
    assert_int_equal(s.out.len, 0);
    rpc_line(s.rpc, STR("{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":5}}"));
    assert_true(str_has(buf_str(&s.out), STR("\"id\":5,\"error\":{\"code\":-32800")));
    assert_true(str_has(buf_str(&s.told), STR("back(5)")));
    buf_clear(&s.out);
    rpc_answer(s.calls.ptr[--s.calls.len], STR("{}")); /* too late */
    assert_int_equal(s.out.len, 0);
    side_release(&s);
}

static void test_too_many(void **state)
{
    struct side s;

    (void)state;
    side_init(&s, false);
    for (int i = 0; i <= RPC_MAX_CALLS; i++) {
        char line[64];

        snprintf(line, sizeof(line), "{\"id\":%d,\"method\":\"later\"}", i);
        rpc_line(s.rpc, str_of(line));
    }
    assert_int_equal(s.calls.len, RPC_MAX_CALLS);
    assert_true(str_has(buf_str(&s.out), STR("\"id\":256,\"error\":{\"code\":-32001")));
    side_release(&s);
}

struct answered {
    int count, failed, gone;
};

static void on_answer(void *arg, const struct json *result, const struct json *error)
{
    struct answered *a = arg;

    a->count++;
    a->failed += error != NULL;
    a->gone += !result && !error;
}

/* The first answer counts; one that comes twice or too late is ignored. */
static void test_asked(void **state)
{
    struct answered a = {0};
    struct side s;
    int64_t id;

    (void)state;
    side_init(&s, false);
    assert_int_equal(rpc_ask(s.rpc, "may_i", STR("{}"), on_answer, &a), 0);
    assert_true(str_has(buf_str(&s.out), STR("\"method\":\"may_i\",\"id\":0,\"params\":{}}\n")));
    rpc_line(s.rpc, STR("{\"id\":0,\"result\":{}}"));
    rpc_line(s.rpc, STR("{\"id\":0,\"result\":{}}"));
    assert_int_equal(a.count, 1);
    id = rpc_ask(s.rpc, "may_i", STR("{}"), on_answer, &a);
    rpc_take_back(s.rpc, id);
    assert_true(str_has(buf_str(&s.out), STR("$/cancel_request")));
    rpc_line(s.rpc, STR("{\"id\":1,\"result\":{}}"));
    assert_int_equal(a.count, 1);
    (void)rpc_ask(s.rpc, "may_i", STR("{}"), on_answer, &a);
    rpc_line(s.rpc, STR("{\"id\":2,\"error\":{\"code\":1,\"message\":\"no\"}}"));
    assert_int_equal(a.failed, 1);
    (void)rpc_ask(s.rpc, "may_i", STR("{}"), on_answer, &a);
    side_release(&s);
    assert_int_equal(a.gone, 1);
}

UNIT_TEST(rpc)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),      cmocka_unit_test(test_repeated_id),
        cmocka_unit_test(test_taken_back), cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
