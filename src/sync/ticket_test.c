/* ticket: one at a time, in order, and each wait can be given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "sync/cancel.h"
#include "sync/ticket.h"
#include "unit.h"

#define THREADS 16
#define ROUNDS 500

struct desk {
    struct ticket ticket;
    atomic_int inside;
    int count; /* guarded by the ticket */
    bool overlap;
};

static void count_up(void *arg)
{
    struct desk *d = arg;

    for (int i = 0; i < ROUNDS; i++) {
        (void)ticket_take(&d->ticket, NULL, NULL);
        d->overlap = d->overlap || atomic_fetch_add(&d->inside, 1) > 0;
        d->count++;
        atomic_fetch_sub(&d->inside, 1);
        ticket_give(&d->ticket);
    }
}

static void one_at_a_time(void **state)
{
    struct desk d = {0};
    struct thread *threads[THREADS];
    struct err err = {0};

    (void)state;
    ticket_init(&d.ticket);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        threads[i] = thread_start("takes", count_up, &d, &err);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        thread_join(threads[i]);
    assert_int_equal(d.count, THREADS * ROUNDS);
    assert_false(d.overlap);
    ticket_release(&d.ticket);
}

struct waiter {
    struct ticket *ticket;
    struct cancel *cancel;
    int result;
    enum err_code code;
};

static void wait_for_it(void *arg)
{
    struct waiter *w = arg;
    struct err err = {0};

    w->result = ticket_take(w->ticket, w->cancel, &err);
    w->code = err.code;
    if (w->result == 0)
        ticket_give(w->ticket);
}

/* The first and the second of those that wait give up; the third gets it. */
static void waits_can_be_cancelled(void **state)
{
    struct ticket t;
    struct waiter waiters[3] = {0};
    struct thread *threads[ARRAY_LEN(waiters)];
    struct err err = {0};

    (void)state;
    ticket_init(&t);
    assert_int_equal(ticket_take(&t, NULL, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(waiters); i++) {
        waiters[i] = (struct waiter){.ticket = &t, .cancel = cancel_new(NULL)};
        threads[i] = thread_start("waits", wait_for_it, &waiters[i], &err);
    }
    for (size_t i = 0; i < 2; i++) {
        cancel_set(waiters[i].cancel);
        thread_join(threads[i]);
        assert_int_equal(waiters[i].result, -1);
        assert_int_equal(waiters[i].code, ERR_CANCELLED);
    }
    ticket_give(&t);
    thread_join(threads[2]);
    assert_int_equal(waiters[2].result, 0);
    assert_int_equal(ticket_take(&t, waiters[0].cancel, &err), -1); /* set before */
    assert_int_equal(ticket_take(&t, waiters[2].cancel, &err), 0);
    ticket_give(&t);
    for (size_t i = 0; i < ARRAY_LEN(waiters); i++)
        cancel_unref(waiters[i].cancel);
    ticket_release(&t);
}

UNIT_TEST(ticket)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(waits_can_be_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
