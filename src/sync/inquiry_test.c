/* inquiry: answered exactly once, whatever becomes of the receiver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "sync/cancel.h"
#include "sync/inquiry.h"
#include "sync/mailbox.h"
#include "sync/thread.h"
#include "unit.h"

struct sum {
    struct inquiry inquiry;
    int a, b;
};

/* Answers one question. */
static void add(void *arg)
{
    struct mail *m = NULL;
    struct sum *s;

    assert_int_equal(mailbox_take(arg, NULL, -1, &m, NULL), 0);
    s = (struct sum *)inquiry_take(m);
    assert_non_null(s);
    inquiry_answer(&s->inquiry, s->a + s->b);
}

static void is_answered(void **state)
{
    struct mailbox *mb = mailbox_new();
    struct sum s = {.a = 2, .b = 3};
    struct err err = {0};
    struct thread *t = thread_start("adds", add, mb, &err);

    (void)state;
    assert_non_null(t);
    inquiry_send(&s.inquiry, mb);
    assert_int_equal(inquiry_wait(&s.inquiry, NULL, &err), 0);
    assert_int_equal(s.inquiry.result, 5);
    thread_join(t);
    mailbox_close(mb);
    mailbox_unref(mb);
}

/* A receiver that goes, or has gone, says -1. */
static void nobody_is_there(void **state)
{
    struct mailbox *mb = mailbox_new();
    struct inquiry before = {0};
    struct inquiry behind = {0};
    struct err err = {0};

    (void)state;
    inquiry_send(&before, mb);
    mailbox_close(mb);
    inquiry_send(&behind, mb);
    assert_int_equal(inquiry_wait(&before, NULL, &err), 0);
    assert_int_equal(inquiry_wait(&behind, NULL, &err), 0);
    assert_int_equal(before.result, -1);
    assert_int_equal(behind.result, -1);
    mailbox_unref(mb);
}

/* Its caller stops waiting, and it is still answered. */
static void is_waited_for_again(void **state)
{
    struct mailbox *mb = mailbox_new();
    struct cancel *cancel = cancel_new(NULL);
    struct inquiry q = {0};
    struct err err = {0};

    (void)state;
    cancel_set(cancel);
    inquiry_send(&q, mb);
    assert_int_equal(inquiry_wait(&q, cancel, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    assert_ptr_equal(inquiry_take(mailbox_try(mb)), &q);
    inquiry_answer(&q, 7);
    assert_int_equal(inquiry_wait(&q, NULL, &err), 0);
    assert_int_equal(q.result, 7);
    cancel_unref(cancel);
    mailbox_close(mb);
    mailbox_unref(mb);
}

static void other_free(struct mail *m)
{
    mem_freep(&m);
}

static void other_mail_is_left(void **state)
{
    static const struct mail_kind kind = {"other", other_free};
    struct mail *m = mem_zalloc(sizeof(*m));

    (void)state;
    m->kind = &kind;
    assert_null(inquiry_take(m));
    mail_free(m);
}

UNIT_TEST(inquiry)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_answered),
        cmocka_unit_test(nobody_is_there),
        cmocka_unit_test(is_waited_for_again),
        cmocka_unit_test(other_mail_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
