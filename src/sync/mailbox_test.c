#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "sync/thread.h"
#include "unit.h"

static atomic_int notes_alive;

struct note {
    struct mail mail;
    int from;
    int number;
};

static void note_free(struct mail *m)
{
    atomic_fetch_sub(&notes_alive, 1);
    free(m);
}

static const struct mail_kind note_kind = {"note", note_free};

static struct mail *note_new(int from, int number)
{
    struct note *n = mem_zalloc(sizeof(*n));

    atomic_fetch_add(&notes_alive, 1);
    n->mail.kind = &note_kind;
    n->mail.bytes = 10;
    n->from = from;
    n->number = number;
    return &n->mail;
}

static bool readable(struct mailbox *mb)
{
    struct pollfd p = {.fd = mailbox_fd(mb), .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

static int no_notes_left(void **state)
{
    (void)state;
    return atomic_load(&notes_alive);
}

static void test_order_and_bytes(void **state)
{
    struct mailbox *mb = mailbox_new();

    (void)state;
    assert_null(mailbox_try(mb));
    for (int i = 0; i < 5; i++)
        mailbox_send(mb, note_new(0, i));
    assert_int_equal(mailbox_bytes(mb), 50);
    assert_true(readable(mb)); /* the descriptor is made while mail waits */
    for (int i = 0; i < 5; i++) {
        struct mail *m = mailbox_try(mb);

        assert_non_null(m);
        assert_ptr_equal(m->kind, &note_kind);
        assert_int_equal(((struct note *)m)->number, i);
        assert_int_equal(readable(mb), i < 4);
        mail_free(m);
    }
    assert_int_equal(mailbox_bytes(mb), 0);
    mailbox_send(mb, note_new(0, 5));
    assert_true(readable(mb));
    mailbox_unref(mb); /* frees queued mail */
    mailbox_unref(NULL);
    mail_free(NULL);
}

static void test_close(void **state)
{
    struct mailbox *mb = mailbox_new();

    (void)state;
    mailbox_send(mb, note_new(0, 0));
    assert_true(readable(mb));
    mailbox_close(mb);
    assert_int_equal(atomic_load(&notes_alive), 0);
    assert_false(readable(mb));
    mailbox_send(mb, note_new(0, 1)); /* freed at once */
    assert_int_equal(atomic_load(&notes_alive), 0);
    assert_int_equal(mailbox_bytes(mb), 0);
    mailbox_unref(mb);
}

struct take_case {
    const char *name;
    bool mail;
    bool cancelled;
    int64_t deadline_from_now_ms; /* -1: none */
    int code;                     /* ERR_NONE: mail */
};

static const struct take_case take_cases[] = {
    {"mail, no deadline", true, false, -1, ERR_NONE},
    {"mail wins over a deadline that has passed", true, false, 0, ERR_NONE},
    {"cancel wins over mail", true, true, -1, ERR_CANCELLED},
    {"cancel wins over the deadline", false, true, 0, ERR_CANCELLED},
    {"deadline that has passed", false, false, 0, ERR_TIMEOUT},
    {"deadline ahead", false, false, 10, ERR_TIMEOUT},
};

static void test_take(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(take_cases); i++) {
        const struct take_case *row = &take_cases[i];
        CLEANUP(cancel_unrefp) struct cancel *cancel = cancel_new(NULL);
        struct mailbox *mb = mailbox_new();
        struct mail *m = NULL;
        struct err err = {0};
        int64_t deadline_ms = row->deadline_from_now_ms;

        if (deadline_ms >= 0)
            deadline_ms += clock_mono_ms();
        if (row->mail)
            mailbox_send(mb, note_new(0, 0));
        if (row->cancelled)
            cancel_set(cancel);
        if (mailbox_take(mb, cancel, deadline_ms, &m, &err) < 0)
            assert_null(m);
        else
            err.code = ERR_NONE;
        if ((int)err.code != row->code)
            fail_msg("%s: got %s", row->name, err_code_name(err.code));
        if (row->code == ERR_TIMEOUT)
            assert_true(clock_mono_ms() >= deadline_ms);
        mail_free(m);
        mailbox_unref(mb);
    }
}

static void set_token(void *arg)
{
    cancel_set(arg);
}

static void test_cancel_wakes(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        CLEANUP(cancel_unrefp) struct cancel *parent = cancel_new(NULL);
        CLEANUP(cancel_unrefp) struct cancel *cancel = cancel_new(parent);
        struct mailbox *mb = mailbox_new();
        struct thread *t = thread_start("cancel", set_token, parent, NULL);
        struct mail *m;
        struct err err = {0};

        assert_int_equal(mailbox_take(mb, cancel, -1, &m, &err), -1);
        assert_int_equal(err.code, ERR_CANCELLED);
        thread_join(t);
        mailbox_unref(mb);
    }
}

#define SENDERS 4
#define NOTES_EACH 2000

struct sender {
    struct mailbox *mb;
    int from;
};

static void send_notes(void *arg)
{
    struct sender *s = arg;

    for (int i = 0; i < NOTES_EACH; i++)
        mailbox_send(s->mb, note_new(s->from, i));
    mailbox_unref(s->mb);
}

static void test_many_senders(void **state)
{
    CLEANUP(cancel_unrefp) struct cancel *cancel = cancel_new(NULL);
    struct mailbox *mb = mailbox_new();
    struct thread *threads[SENDERS];
    struct sender senders[SENDERS];
    int next[SENDERS] = {0};

    (void)state;
    for (int i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){mailbox_ref(mb), i};
        threads[i] = thread_start("sender", send_notes, &senders[i], NULL);
    }
    for (int i = 0; i < SENDERS * NOTES_EACH; i++) {
        struct mail *m;
        struct note *n;

        assert_int_equal(mailbox_take(mb, cancel, -1, &m, NULL), 0);
        n = (struct note *)m;
        assert_int_equal(n->number, next[n->from]++); /* in order per sender */
        mail_free(m);
    }
    for (int i = 0; i < SENDERS; i++)
        thread_join(threads[i]);
    assert_int_equal(mailbox_bytes(mb), 0);
    mailbox_unref(mb);
}

static void test_senders_outlive_the_receiver(void **state)
{
    struct mailbox *mb = mailbox_new();
    struct sender s = {mailbox_ref(mb), 0};
    struct thread *t = thread_start("sender", send_notes, &s, NULL);
    struct mail *m;

    (void)state;
    assert_int_equal(mailbox_take(mb, NULL, -1, &m, NULL), 0);
    mail_free(m);
    mailbox_close(mb);
    mailbox_unref(mb);
    thread_join(t);
}

/* Last: the clock stays virtual. */
static void test_virtual_clock(void **state)
{
    static const int64_t from_now_ms[] = {5, 3600 * 1000, 0, 86400 * 1000 * (int64_t)365};
    struct mailbox *mb = mailbox_new();
    struct mail *m;
    struct err err = {0};

    (void)state;
    clock_make_virtual(1000);
    for (size_t i = 0; i < ARRAY_LEN(from_now_ms); i++) {
        int64_t deadline_ms = clock_mono_ms() + from_now_ms[i];

        mailbox_send(mb, note_new(0, 0));
        assert_int_equal(mailbox_take(mb, NULL, deadline_ms, &m, &err), 0);
        assert_int_equal(clock_mono_ms(), deadline_ms - from_now_ms[i]); /* mail takes no time */
        mail_free(m);
        assert_int_equal(mailbox_take(mb, NULL, deadline_ms, &m, &err), -1);
        assert_int_equal(err.code, ERR_TIMEOUT);
        assert_int_equal(clock_mono_ms(), deadline_ms);
    }
    mailbox_unref(mb);
}

UNIT_TEST(mailbox)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_order_and_bytes, no_notes_left),
        cmocka_unit_test_teardown(test_close, no_notes_left),
        cmocka_unit_test_teardown(test_take, no_notes_left),
        cmocka_unit_test_teardown(test_cancel_wakes, no_notes_left),
        cmocka_unit_test_teardown(test_many_senders, no_notes_left),
        cmocka_unit_test_teardown(test_senders_outlive_the_receiver, no_notes_left),
        cmocka_unit_test_teardown(test_virtual_clock, no_notes_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
