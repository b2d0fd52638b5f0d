/*
 * The feed: who sees what, who waits, who is dropped.
 */
#include "host/events/feed.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdatomic.h>

#include "agent/event.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "unit.h"

static struct event *delta(const char *text, size_t index)
{
    struct event *e = event_new(EVENT_BLOCK_DELTA);

    e->by.session = "s";
    e->by.agent = "main";
    e->index = index;
    e->text = arena_str(&e->arena, str_of(text));
    return e;
}

static struct event *notice(const char *text)
{
    struct event *e = event_new(EVENT_NOTICE);

    e->by.session = "s";
    e->by.agent = "main";
    e->text = arena_str(&e->arena, str_of(text));
    return e;
}

/* All there is, as "seq:text " in one line; a gap as "gap>seq ", a drop as "dropped@seq ". */
static void take_all(struct observer *o, struct buf *out)
{
    struct event *e = NULL;
    uint64_t seq = 0;

    for (;;) {
        switch (observer_take(o, &e, &seq)) {
        case OBSERVED_NOTHING:
            return;
        case OBSERVED_GAP:
            buf_addf(out, "gap>%d ", (int)seq);
            break;
        case OBSERVED_DROPPED:
            buf_addf(out, "dropped@%d ", (int)seq);
            return;
        case OBSERVED_EVENT:
            buf_addf(out, "%d:%.*s ", (int)e->seq, STR_ARG(e->text));
            event_unref(e);
            break;
        }
    }
}

static void assert_seen(struct observer *o, const char *want)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);

    take_all(o, &got);
    assert_string_equal(buf_cstr(&got), want);
}

static void test_two_see_the_same(void **state)
{
    struct feed *f = feed_new(NULL);
    struct mailbox *mb = mailbox_new();
    struct observer *a = feed_observe(f, 1, 0, mb);
    struct observer *b = feed_observe(f, 1, OBSERVER_REMOTE, mb);
    struct observer *late;

    (void)state;
    feed_emit(f, notice("a"), NULL);
    feed_emit(f, notice("b"), NULL);
    assert_seen(a, "1:a 2:b ");
    feed_emit(f, notice("c"), NULL);
    assert_seen(b, "1:a 2:b 3:c ");
    assert_seen(a, "3:c ");
    late = feed_observe(f, 2, OBSERVER_REMOTE, mb);
    assert_seen(late, "2:b 3:c ");
    observer_free(late);
    late = feed_observe(f, FEED_NOW, OBSERVER_REMOTE, mb);
    assert_seen(late, "");
    feed_emit(f, notice("d"), NULL);
    assert_seen(late, "4:d ");
    assert_int_equal(feed_next(f), 5);
    assert_int_equal(feed_first(f), 1);
    observer_free(late);
    observer_free(a);
    observer_free(b);
    mailbox_unref(mb);
    feed_unref(f);
}

/* One wake mail for any number of events, and the next only when all were taken. */
static void test_wakes_once(void **state)
{
    struct feed *f = feed_new(NULL);
    struct mailbox *mb = mailbox_new();
    struct observer *o = feed_observe(f, 1, 0, mb);
    struct mail *m;

    (void)state;
    assert_null(mailbox_try(mb));
    feed_emit(f, notice("a"), NULL);
    feed_emit(f, notice("b"), NULL);
    m = mailbox_try(mb);
    assert_ptr_equal(m->kind, &observer_mail_kind);
    assert_ptr_equal(((struct observer_mail *)m)->observer, o);
    mail_free(m);
    assert_null(mailbox_try(mb));
    assert_seen(o, "1:a 2:b ");
    feed_emit(f, notice("c"), NULL);
    m = mailbox_try(mb);
    assert_non_null(m);
    mail_free(m);
    observer_free(o);
    mailbox_unref(mb);
    feed_unref(f);
}

/* Deltas merge until an observer takes them, and only within their block. */
static void test_deltas_merge(void **state)
{
    struct feed *f = feed_new(NULL);
    struct mailbox *mb = mailbox_new();
    struct observer *fast = feed_observe(f, 1, 0, mb);
    struct observer *slow = feed_observe(f, 1, OBSERVER_REMOTE, mb);

    (void)state;
    feed_emit(f, delta("a", 0), NULL);
    feed_emit(f, delta("b", 0), NULL);
    feed_emit(f, delta("c", 0), NULL);
    assert_seen(fast, "3:abc ");
    feed_emit(f, delta("d", 0), NULL); /* the last one was seen: it stays as it is */
    feed_emit(f, delta("e", 0), NULL);
    feed_emit(f, delta("f", 1), NULL);
    feed_emit(f, notice("g"), NULL);
    feed_emit(f, delta("h", 1), NULL);
    assert_seen(fast, "5:de 6:f 7:g 8:h ");
    assert_seen(slow, "3:abc 5:de 6:f 7:g 8:h "); /* the same events */
    observer_free(fast);
    observer_free(slow);
    mailbox_unref(mb);
    feed_unref(f);
}

static struct event *of_child(struct event *e)
{
    e->by.agent = "a1";
    return e;
}

/* Streams of two agents at once: each merges by itself, and who does not want to see children does
 * not. */
static void test_agents_are_kept_apart(void **state)
{
    struct feed *f = feed_new(NULL);
    struct mailbox *mb = mailbox_new();
    struct mailbox *other = mailbox_new();
    struct observer *all = feed_observe(f, 1, OBSERVER_CHILDREN, mb);
    struct observer *one = feed_observe(f, 1, 0, other);
    struct mail *m;

    (void)state;
    for (int i = 0; i < 3; i++) {
        feed_emit(f, delta("m", 0), NULL);
        feed_emit(f, of_child(delta("c", 0)), NULL);
    }
    feed_emit(f, of_child(notice("n")), NULL);
    feed_emit(f, delta("m", 0), NULL);
    assert_seen(all, "1:mmmm 6:ccc 7:n ");
    assert_seen(one, "1:mmmm ");
    while ((m = mailbox_try(other)))
        mail_free(m);
    observer_wake_on(one, EVENT_BIT(EVENT_NOTICE));
    feed_emit(f, of_child(notice("o")), NULL); /* not for everybody */
    assert_null(mailbox_try(other));
    feed_emit(f, notice("p"), NULL);
    m = mailbox_try(other);
    assert_non_null(m);
    mail_free(m);
    assert_seen(one, "10:p ");
    assert_seen(all, "9:o 10:p ");
    observer_free(all);
    observer_free(one);
    mailbox_unref(mb);
    mailbox_unref(other);
    feed_unref(f);
}

static void test_remote_is_dropped_and_reads_again(void **state)
{
    struct feed_limits limits = {1 << 20, 4, 1 << 20, 4};
    struct feed *f = feed_new(&limits);
    struct mailbox *mb = mailbox_new();
    struct observer *o = feed_observe(f, 1, OBSERVER_REMOTE, mb);
    struct event *e = NULL;
    uint64_t seq = 0;

    (void)state;
    for (int i = 0; i < 4; i++)
        feed_emit(f, notice("x"), NULL);
    assert_int_equal(observer_take(o, &e, &seq), OBSERVED_EVENT);
    event_unref(e);
    for (int i = 0; i < 4; i++)
        feed_emit(f, notice("y"), NULL); /* no thread waits for it */
    assert_seen(o, "dropped@1 ");
    observer_free(o);
    o = feed_observe(f, 2, OBSERVER_REMOTE, mb);
    assert_seen(o, "gap>5 5:y 6:y 7:y 8:y ");
    observer_free(o);
    o = feed_observe(f, 6, OBSERVER_REMOTE, mb);
    assert_seen(o, "6:y 7:y 8:y ");
    observer_free(o);
    mailbox_unref(mb);
    feed_unref(f);
}

struct pusher {
    struct feed *feed;
    struct cancel *cancel;
    int count;
    atomic_int sent;
};

static void push(void *arg)
{
    struct pusher *p = arg;

    for (int i = 0; i < p->count; i++) {
        feed_emit(p->feed, notice("x"), p->cancel);
        atomic_fetch_add(&p->sent, 1);
    }
}

/* A local observer gets everything, in order, however small the ring; memory stays bounded because
 * the pusher waits. */
static void test_local_is_waited_for(void **state)
{
    struct feed_limits limits = {1 << 20, 8, 1 << 20, 4};
    struct feed *f = feed_new(&limits);
    struct mailbox *mb = mailbox_new();
    struct observer *o = feed_observe(f, 1, 0, mb);
    struct pusher p = {.feed = f, .cancel = cancel_new(NULL), .count = 2000};
    struct thread *t = thread_start("push", push, &p, NULL);
    uint64_t next = 1;

    (void)state;
    while (next <= (uint64_t)p.count) {
        struct mail *m = NULL;
        struct event *e = NULL;
        uint64_t seq;

        assert_int_equal(mailbox_take(mb, NULL, -1, &m, NULL), 0);
        mail_free(m);
        while (observer_take(o, &e, &seq) == OBSERVED_EVENT) {
            assert_int_equal(e->seq, next);
            assert_true((uint64_t)atomic_load(&p.sent) <= next + limits.lag_events);
            next++;
            event_unref(e);
        }
    }
    thread_join(t);
    observer_free(o);
    cancel_unref(p.cancel);
    mailbox_unref(mb);
    feed_unref(f);
}

static void test_cancel_and_leaving_end_the_wait(void **state)
{
    struct feed_limits limits = {1 << 20, 8, 1 << 20, 4};

    (void)state;
    for (int leaves = 0; leaves < 2; leaves++) {
        struct feed *f = feed_new(&limits);
        struct mailbox *mb = mailbox_new();
        struct observer *o = feed_observe(f, 1, 0, mb);
        struct pusher p = {.feed = f, .cancel = cancel_new(NULL), .count = 20};
        struct thread *t = thread_start("push", push, &p, NULL);

        if (leaves)
            observer_free(o);
        else
            cancel_set(p.cancel);
        thread_join(t); /* comes to an end */
        assert_int_equal(feed_next(f), 21);
        if (!leaves)
            observer_free(o);
        cancel_unref(p.cancel);
        mailbox_unref(mb);
        feed_unref(f);
    }
}

UNIT_TEST(feed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_see_the_same),
        cmocka_unit_test(test_wakes_once),
        cmocka_unit_test(test_deltas_merge),
        cmocka_unit_test(test_agents_are_kept_apart),
        cmocka_unit_test(test_remote_is_dropped_and_reads_again),
        cmocka_unit_test(test_local_is_waited_for),
        cmocka_unit_test(test_cancel_and_leaving_end_the_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
