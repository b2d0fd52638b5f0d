/*
 * Asks: the first answer wins, the others are withdrawn, no thread waits indefinitely.
 */
#include "host/asks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "unit.h"

static atomic_int waiting_now;
static atomic_int changes;

static void on_waiting(bool waiting, void *arg)
{
    (void)arg;
    assert_int_equal(atomic_exchange(&waiting_now, waiting), !waiting);
    atomic_fetch_add(&changes, 1);
}

struct question {
    struct asks *asks;
    struct cancel *cancel;
    int result;
    struct err err;
    struct ask_answer answer;
    struct thread *thread;
};

static void put(void *arg)
{
    struct question *q = arg;
    struct asker *asker = asks_asker(q->asks);
    struct ask ask = {.tool_name = STR("Write"), .input = STR("{\"a\":1}"), .reason_type = "mode"};

    q->answer = (struct ask_answer)ASK_ANSWER_INIT;
    q->result = asker->put(asker, &ask, q->cancel, &q->answer, &q->err);
}

static void question_start(struct question *q, struct asks *asks)
{
    *q = (struct question){.asks = asks, .cancel = cancel_new(NULL)};
    q->thread = thread_start("ask", put, q, NULL);
}

static void question_end(struct question *q)
{
    thread_join(q->thread);
    cancel_unref(q->cancel);
}

static struct ask_mail *next(struct mailbox *mb)
{
    struct mail *m = NULL;

    assert_int_equal(mailbox_take(mb, NULL, -1, &m, NULL), 0);
    assert_ptr_equal(m->kind, &ask_mail_kind);
    return (struct ask_mail *)m;
}

static uint64_t expect(struct mailbox *mb, enum ask_mail_what what)
{
    struct ask_mail *m = next(mb);
    uint64_t id = m->id;

    assert_int_equal(m->what, what);
    if (what == ASK_PUT)
        assert_true(str_is(m->ask->tool_name, "Write"));
    mail_free(&m->mail);
    return id;
}

static void test_first_answer_wins(void **state)
{
    struct asks *asks = asks_new(on_waiting, NULL);
    struct mailbox *a = mailbox_new();
    struct mailbox *b = mailbox_new();
    struct ask_front *fa = asks_join(asks, a);
    struct ask_front *fb = asks_join(asks, b);
    struct ask_answer yes = ASK_ANSWER_INIT;
    struct ask_answer no = ASK_ANSWER_INIT;
    struct question q;
    uint64_t id;

    (void)state;
    question_start(&q, asks);
    id = expect(a, ASK_PUT);
    assert_int_equal(expect(b, ASK_PUT), id);
    yes.allowed = true;
    buf_adds(&yes.input, "{\"a\":2}");
    assert_true(asks_answer(asks, fb, id, &yes));
    assert_false(asks_answer(asks, fa, id, &no)); /* too late */
    question_end(&q);
    assert_int_equal(q.result, 0);
    assert_true(q.answer.allowed);
    assert_string_equal(buf_cstr(&q.answer.input), "{\"a\":2}");
    ask_answer_release(&q.answer);
    assert_int_equal(expect(a, ASK_WITHDRAWN), id);
    assert_null(mailbox_try(b)); /* it knows */
    assert_false(atomic_load(&waiting_now));
    ask_front_leave(fa);
    ask_front_leave(fb);
    mailbox_unref(a);
    mailbox_unref(b);
    asks_free(asks);
}

static void test_nobody_there(void **state)
{
    struct asks *asks = asks_new(on_waiting, NULL);
    struct mailbox *mb = mailbox_new();
    struct ask_front *front;
    struct question q;

    (void)state;
    question_start(&q, asks);
    question_end(&q);
    assert_int_equal(q.result, -1);
    assert_int_equal(q.err.code, ERR_UNSUPPORTED);

    /* The last one leaves while it waits. */
    front = asks_join(asks, mb);
    question_start(&q, asks);
    expect(mb, ASK_PUT);
    ask_front_leave(front);
    question_end(&q);
    assert_int_equal(q.err.code, ERR_UNSUPPORTED);
    mailbox_unref(mb);
    asks_free(asks);
}

static void test_cancel_and_failure(void **state)
{
    struct asks *asks = asks_new(on_waiting, NULL);
    struct mailbox *mb = mailbox_new();
    struct mailbox *late = mailbox_new();
    struct ask_front *front = asks_join(asks, mb);
    struct ask_front *other;
    struct question q;
    uint64_t id;

    (void)state;
    question_start(&q, asks);
    id = expect(mb, ASK_PUT);
    other = asks_join(asks, late); /* is asked too */
    assert_int_equal(expect(late, ASK_PUT), id);
    assert_true(asks_is_waiting(asks, id));
    cancel_set(q.cancel);
    assert_false(asks_is_waiting(asks, id)); /* whether or not the asker has woken up */
    question_end(&q);
    assert_int_equal(q.err.code, ERR_CANCELLED);
    assert_int_equal(expect(mb, ASK_WITHDRAWN), id);
    assert_int_equal(expect(late, ASK_WITHDRAWN), id);

    question_start(&q, asks);
    id = expect(mb, ASK_PUT);
    assert_true(asks_fail(asks, front, id, STR("it broke")));
    question_end(&q);
    assert_int_equal(q.err.code, ERR_DENIED);
    assert_string_equal(q.err.text, "Tool permission request failed: Error: it broke");
    ask_front_leave(front);
    ask_front_leave(other);
    mailbox_unref(mb);
    mailbox_unref(late);
    asks_free(asks);
}

#define RACERS 4
#define ROUNDS 200

static void race(void *arg)
{
    struct question *q = arg;

    for (int i = 0; i < ROUNDS; i++) {
        struct err err = {0};
        struct ask ask = {.tool_name = STR("Write")};
        CLEANUP(ask_answer_release) struct ask_answer answer = ASK_ANSWER_INIT;
        struct asker *asker = asks_asker(q->asks);

        if (asker->put(asker, &ask, q->cancel, &answer, &err) == 0)
            q->result++;
    }
}

static void answer_all(void *arg)
{
    struct question *q = arg;
    struct mailbox *mb = mailbox_new();
    struct ask_front *front = asks_join(q->asks, mb);
    struct mail *m;

    while (mailbox_take(mb, q->cancel, -1, &m, NULL) == 0) {
        struct ask_mail *am = (struct ask_mail *)m;
        struct ask_answer answer = ASK_ANSWER_INIT;

        if (am->what == ASK_PUT && asks_answer(q->asks, front, am->id, &answer))
            q->result++;
        mail_free(m);
    }
    ask_front_leave(front);
    mailbox_close(mb);
    mailbox_unref(mb);
}

/* Many ask, several answer: each ask is answered once, and the state ends where it began. */
static void test_races(void **state)
{
    struct asks *asks = asks_new(on_waiting, NULL);
    struct mailbox *mb = mailbox_new();
    struct ask_front *keeper = asks_join(asks, mb); /* so that there is always a front end */
    struct question askers[RACERS];
    struct question fronts[2];
    int asked = 0;
    int answered = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fronts); i++) {
        fronts[i] = (struct question){.asks = asks, .cancel = cancel_new(NULL)};
        fronts[i].thread = thread_start("front", answer_all, &fronts[i], NULL);
    }
    for (size_t i = 0; i < RACERS; i++) {
        askers[i] = (struct question){.asks = asks, .cancel = cancel_new(NULL)};
        askers[i].thread = thread_start("asker", race, &askers[i], NULL);
    }
    for (size_t i = 0; i < RACERS; i++) {
        question_end(&askers[i]);
        asked += askers[i].result;
    }
    for (size_t i = 0; i < ARRAY_LEN(fronts); i++) {
        cancel_set(fronts[i].cancel);
        question_end(&fronts[i]);
        answered += fronts[i].result;
    }
    assert_int_equal(asked, RACERS * ROUNDS);
    assert_int_equal(answered, asked);
    assert_false(atomic_load(&waiting_now));
    assert_int_equal(atomic_load(&changes) % 2, 0);
    ask_front_leave(keeper);
    mailbox_close(mb);
    mailbox_unref(mb);
    asks_free(asks);
}

UNIT_TEST(asks)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_answer_wins),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_cancel_and_failure),
        cmocka_unit_test(test_races),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
