/* The scripted provider: what it says, when, and what its faults look like. The
 * clock is virtual. */
#include "llm/scenario/scripted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "llm/dialect/dialect.h"
#include "llm/event_check.h"
#include "llm/message.h"
#include "llm/model.h"
#include "llm/reply.h"
#include "unit.h"

static char folder[] = "/tmp/scripted-test-XXXXXX";

static struct scripted *open_text(const char *text)
{
    struct scripted *s = NULL;
    struct err err = {0};
    char path[100];

    snprintf(path, sizeof(path), "%s/s", folder);
    if (file_replace(path, str_of(text), 0600, &err) < 0 || scripted_open(path, &s, &err) < 0)
        fail_msg("%s", err.text);
    unlink(path);
    return s;
}

struct attempt {
    struct event_check check;
    struct reply *reply;
    struct scripted_call *call;
    struct llm_fault fault;
    struct err err;
};

static void attempt_begin(struct attempt *a, struct scripted *s, const struct llm_request *request)
{
    *a = (struct attempt){.check = EVENT_CHECK_INIT};
    a->reply = reply_new(event_check_fn, &a->check);
    a->call = scripted_call_new(s, request, a->reply);
}

/* Runs to the end; the virtual clock goes from deadline to deadline. */
static int attempt_run(struct attempt *a)
{
    for (;;) {
        int r = scripted_call_tick(a->call, &a->fault, &a->err);
        int64_t wait = scripted_call_deadline(a->call) - clock_mono_ms();

        if (r)
            return r;
        assert_true(wait > 0);
        clock_advance_ms(wait);
    }
}

static void attempt_end(struct attempt *a)
{
    scripted_call_free(a->call);
    reply_free(a->reply);
    event_check_release(&a->check);
}

static void request_make(struct llm_request *request, struct model *model, struct message **one)
{
    model_find(STR("scripted"), STR("m"), model);
    *one = message_user_text(STR("hello"));
    *request = (struct llm_request){
        .model = model,
        .messages = one,
        .message_count = 1,
    };
}

static void test_says_in_pieces(void **state)
{
    struct scripted *s = open_text("step\n"
                                   "  if-prompt hello\n"
                                   "  chunk 4\n"
                                   "  pace 10ms\n"
                                   "  think hm\n"
                                   "  text abcdef\n"
                                   "  pause 1s\n"
                                   "  text gh\n"
                                   "  call Bash {\"a\":1}\n"
                                   "  usage input=3 output=4 cache_read=2 thinking=1\n");
    int64_t start = clock_mono_ms();
    struct llm_request request;
    struct message *one;
    struct model model;
    struct attempt a;

    (void)state;
    request_make(&request, &model, &one);
    attempt_begin(&a, s, &request);
    assert_int_equal(attempt_run(&a), 1);
    assert_string_equal(buf_cstr(&a.check.text), "start m\n"
                                                 "0 thinking [hm]\n"
                                                 "1 text [abcdefgh]\n"
                                                 "2 tool_use Bash [{\"a\":1}]\n"
                                                 "stop tool_use in=3 out=4 read=2 write=0/0 think=1"
                                                 "\n");
    assert_int_equal(a.check.deltas, 6);
    assert_int_equal(clock_mono_ms() - start, 6 * 10 + 1000);
    attempt_end(&a);

    attempt_begin(&a, s, &request); /* nothing is left to say */
    assert_int_equal(attempt_run(&a), -1);
    assert_int_equal(a.fault.code, ERR_BAD_INPUT);
    assert_false(a.fault.retry);
    assert_non_null(strstr(a.err.text, "answers this call (1 answers given, 0 of 1 steps left)"));
    attempt_end(&a);
    message_unref(one);
    scripted_free(s);
}

/* Tool results, the prompt of the turn, the tail and the system prompt can be asked for. */
static void test_conditions(void **state)
{
    struct scripted *s = open_text("step\n  if-result FAILED\n  if-prompt hello\n"
                                   "  if-prompt tail\n  if-system sys\n  text yes\n"
                                   "step\n  sticky\n  text no\n");
    static const struct block call = {
        .kind = BLOCK_TOOL_USE, .id = STR_INIT("toolu_1"), .name = STR_INIT("Bash")};
    static struct block inside[] = {
        {.kind = BLOCK_TEXT, .text = STR_INIT("one")},
        {.kind = BLOCK_TEXT, .text = STR_INIT("FAILED")},
    };
    static const struct block result = {.kind = BLOCK_TOOL_RESULT,
                                        .id = STR_INIT("toolu_1"),
                                        .content = inside,
                                        .content_len = ARRAY_LEN(inside)};
    struct message *messages[3];
    struct llm_request request;
    struct model model;
    struct attempt a;

    (void)state;
    request_make(&request, &model, messages);
    messages[1] = message_new(ROLE_ASSISTANT, 1);
    message_add(messages[1], &call);
    messages[2] = message_new(ROLE_USER, 1);
    message_add(messages[2], &result);
    request.message_count = 3;
    request.system = STR("the system");
    for (int with_tail = 0; with_tail < 2; with_tail++) {
        request.tail = with_tail ? STR("a tail") : STR("");
        attempt_begin(&a, s, &request);
        assert_int_equal(attempt_run(&a), 1);
        assert_non_null(
            strstr(buf_cstr(&a.check.text), with_tail ? "0 text [yes]" : "0 text [no]"));
        attempt_end(&a);
    }
    for (size_t i = 0; i < ARRAY_LEN(messages); i++)
        message_unref(messages[i]);
    scripted_free(s);
}

static const struct fault_row {
    const char *fault;
    int result; /* of the run: 1 when it does no harm here */
    enum err_code code;
    bool retry;
    int64_t wait_ms;
    int status;
    const char *said; /* must have been emitted before it */
} fault_rows[] = {
    {"status 529 \"busy\" retry-after=2", -1, ERR_RETRY_LATER, true, 2000, 529, ""},
    {"status 401 \"who?\"", -1, ERR_AUTH, false, -1, 401, ""},
    {"cut 10", -1, ERR_NETWORK, true, -1, 0, "start m"},
    {"reset 10", -1, ERR_NETWORK, true, -1, 0, "start m"},
    {"stall 10", -1, ERR_TIMEOUT, true, -1, 0, "start m"},
    {"hang", -1, ERR_TIMEOUT, true, -1, 0, ""},
    {"refuse", -1, ERR_NETWORK, true, -1, 0, ""},
    {"tls expired", -1, ERR_NETWORK, true, -1, 0, ""},
    {"error \"boom\" type=overloaded_error", -1, ERR_RETRY_LATER, true, -1, 0, "start m"},
    {"error \"slow\" type=rate_limit_error", -1, ERR_RETRY_LATER, true, -1, 0, "start m"},
    {"redirect 302 http://x/", -1, ERR_PROTOCOL, false, -1, 0, ""},
    {"gzip", 1, ERR_NONE, false, 0, 0, "stop end_turn"},
    {"slow 1 5ms", 1, ERR_NONE, false, 0, 0, "stop end_turn"},
};

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fault_rows); i++) {
        const struct fault_row *row = &fault_rows[i];
        char text[200];
        struct scripted *s;
        struct llm_request request;
        struct message *one;
        struct model model;
        struct attempt a;
        int r;

        snprintf(text, sizeof(text), "step\n text one\n text two\n fault %s\n", row->fault);
        s = open_text(text);
        request_make(&request, &model, &one);
        attempt_begin(&a, s, &request);
        r = attempt_run(&a);
        if (r != row->result || !strstr(buf_cstr(&a.check.text), row->said))
            fail_msg("%s: result %d, said '%s'", row->fault, r, buf_cstr(&a.check.text));
        if (r < 0 &&
            (a.fault.code != row->code || a.fault.retry != row->retry ||
             a.fault.wait_ms != row->wait_ms || scripted_call_status(a.call) != row->status))
            fail_msg("%s: %s, retry %d, wait %lld, status %d", row->fault,
                     err_code_name(a.fault.code), a.fault.retry, (long long)a.fault.wait_ms,
                     scripted_call_status(a.call));
        attempt_end(&a);
        if (r < 0) { /* the retry gets the answer, whole */
            attempt_begin(&a, s, &request);
            assert_int_equal(attempt_run(&a), 1);
            assert_non_null(strstr(buf_cstr(&a.check.text), "0 text [onetwo]\n"));
            attempt_end(&a);
        }
        message_unref(one);
        scripted_free(s);
    }
}

static void test_bad_file(void **state)
{
    struct scripted *s = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(scripted_open("/nonexistent/x.scenario", &s, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_null(s);
    scripted_free(NULL);
}

static int setup(void **state)
{
    (void)state;
    clock_make_virtual(1000000);
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(folder);
}

UNIT_TEST(scripted)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_says_in_pieces),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_bad_file),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
