#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "unit.h"

static void count_call(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void set_token(void *arg)
{
    cancel_set(arg);
}

static bool readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

static void test_null(void **state)
{
    struct err err = {0};

    (void)state;
    assert_false(cancel_is_set(NULL));
    assert_int_equal(cancel_check(NULL, &err), 0);
    assert_false(cancel_is_end(NULL));
    cancel_set(NULL);
    cancel_end(NULL);
    cancel_unref(NULL);
    cancel_off(NULL);
}

static void test_set(void **state)
{
    CLEANUP(cancel_unrefp) struct cancel *c = cancel_new(NULL);
    struct err err = {0};
    atomic_int calls = 0;
    struct cancel_hook *hook = cancel_on(c, count_call, &calls);
    struct cancel_hook *removed = cancel_on(c, count_call, &calls);

    (void)state;
    cancel_off(removed);
    assert_false(readable(cancel_fd(c)));
    assert_int_equal(cancel_check(c, &err), 0);
    cancel_set(c);
    cancel_set(c);
    assert_true(cancel_is_set(c));
    assert_int_equal(calls, 1);
    assert_int_equal(cancel_check(c, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    assert_true(readable(cancel_fd(c)));
    assert_null(cancel_on(c, count_call, &calls)); /* set already: runs here */
    assert_int_equal(calls, 2);
    cancel_off(hook);
}

static void test_end(void **state)
{
    CLEANUP(cancel_unrefp) struct cancel *all = cancel_new(NULL);
    CLEANUP(cancel_unrefp) struct cancel *before = cancel_new(all);
    CLEANUP(cancel_unrefp) struct cancel *alone = cancel_new(all);
    CLEANUP(cancel_unrefp) struct cancel *after = NULL;

    (void)state;
    cancel_set(alone);
    assert_false(cancel_is_end(before));
    cancel_end(all);
    after = cancel_new(all);
    assert_true(cancel_is_set(before) && cancel_is_end(before));
    assert_true(cancel_is_end(all) && cancel_is_end(after));
    assert_false(cancel_is_end(alone)); /* for another reason, and before */
}

static void test_fd_made_late(void **state)
{
    CLEANUP(cancel_unrefp) struct cancel *c = cancel_new(NULL);

    (void)state;
    cancel_set(c);
    assert_true(readable(cancel_fd(c)));
}

static void test_parents(void **state)
{
    struct cancel *top = cancel_new(NULL);
    struct cancel *middle = cancel_new(top);
    CLEANUP(cancel_unrefp) struct cancel *leaf = cancel_new(middle);
    struct cancel *other = cancel_new(top);
    CLEANUP(cancel_unrefp) struct cancel *sibling = cancel_new(middle);

    (void)state;
    cancel_set(sibling);
    assert_false(cancel_is_set(middle)); /* never upwards */
    assert_false(cancel_is_set(leaf));
    cancel_unref(middle); /* kept alive by its children */
    cancel_unref(other);  /* its hook on the parent goes with it */
    cancel_set(top);
    cancel_unref(top);
    assert_true(cancel_is_set(leaf));

    {
        CLEANUP(cancel_unrefp) struct cancel *late = cancel_new(leaf);

        assert_true(cancel_is_set(late));
    }
}

struct self_off {
    struct cancel *token;
    struct cancel_hook *hook;
    struct cancel_hook *other;
    int calls;
};

static void take_myself_off(void *arg)
{
    struct self_off *s = arg;

    s->calls++;
    cancel_off(s->hook);
    cancel_off(s->other);
    assert_null(cancel_on(s->token, set_token, s->token));
    cancel_unref(s->token); /* the test's reference: the setter must cope */
}

static void test_off_inside_the_hook(void **state)
{
    struct self_off s = {.token = cancel_new(NULL)};
    atomic_int calls = 0;

    (void)state;
    s.hook = cancel_on(s.token, take_myself_off, &s);
    s.other = cancel_on(s.token, count_call, &calls);
    cancel_set(s.token);
    assert_int_equal(s.calls, 1);
    assert_int_equal(calls, 0); /* taken off before its turn came */
}

/* The hook is stopped in the middle until it is released, so that cancel_off() must wait for it. */
struct slow {
    struct gate gate;
    bool entered;
    bool go_on;
    atomic_bool finished;
    struct cancel_hook *hook;
};

static void slow_hook(void *arg)
{
    struct slow *s = arg;

    gate_take(&s->gate);
    s->entered = true;
    gate_wake(&s->gate);
    while (!s->go_on)
        gate_wait(&s->gate, -1);
    gate_give(&s->gate);
    atomic_store(&s->finished, true);
}

static void slow_off(void *arg)
{
    struct slow *s = arg;

    gate_take(&s->gate);
    s->go_on = true;
    gate_wake(&s->gate);
    gate_give(&s->gate);
    cancel_off(s->hook);
    assert_true(atomic_load(&s->finished));
}

static void test_off_waits_for_a_running_hook(void **state)
{
    CLEANUP(cancel_unrefp) struct cancel *c = cancel_new(NULL);
    struct slow s = {0};
    struct thread *setter;
    struct thread *remover;

    (void)state;
    gate_init(&s.gate);
    s.hook = cancel_on(c, slow_hook, &s);
    setter = thread_start("setter", set_token, c, NULL);
    gate_take(&s.gate);
    while (!s.entered)
        gate_wait(&s.gate, -1);
    gate_give(&s.gate);
    remover = thread_start("remover", slow_off, &s, NULL);
    thread_join(remover);
    thread_join(setter);
    gate_release(&s.gate);
}

/* Setting, hooking, unhooking and freeing children at once: for the sanitizers. */
static void make_and_drop_children(void *arg)
{
    struct cancel *parent = arg;

    for (int i = 0; i < 300; i++) {
        struct cancel *child = cancel_new(parent);
        atomic_int calls = 0;
        struct cancel_hook *hook = cancel_on(child, count_call, &calls);

        cancel_fd(child);
        cancel_off(hook);
        assert_true(calls <= 1);
        cancel_unref(child);
    }
}

static void test_race(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        CLEANUP(cancel_unrefp) struct cancel *c = cancel_new(NULL);
        struct thread *threads[] = {
            thread_start("a", make_and_drop_children, c, NULL),
            thread_start("b", make_and_drop_children, c, NULL),
            thread_start("c", set_token, c, NULL),
            thread_start("d", set_token, c, NULL),
        };

        for (size_t i = 0; i < ARRAY_LEN(threads); i++)
            thread_join(threads[i]);
        assert_true(cancel_is_set(c));
    }
}

static void test_wait(void **state)
{
    CLEANUP(cancel_unrefp) struct cancel *c = cancel_new(/*parent=*/NULL);
    struct thread *other;
    struct err err = {0};

    (void)state;
    assert_int_equal(cancel_wait(/*c=*/NULL, 1, &err), 0);
    assert_int_equal(cancel_wait(c, 1, &err), 0);
    other = thread_start("setter", set_token, c, &err);
    assert_non_null(other);
    assert_int_equal(cancel_wait(c, INT64_MAX, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    thread_join(other);
    assert_int_equal(cancel_wait(c, INT64_MAX, &err), -1);
}

/* Whichever comes first: the token, the descriptor, the end of the time. */
static void test_wait_fd(void **state)
{
    CLEANUP(cancel_unrefp) struct cancel *c = cancel_new(NULL);
    struct thread *thread;
    struct err err = {0};
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(cancel_wait_fd(c, fds[0], 0, &err), 0);
    assert_int_equal(cancel_wait_fd(c, -1, 1, &err), 0);
    assert_int_equal(cancel_wait_fd(NULL, fds[0], 1, &err), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(cancel_wait_fd(c, fds[0], -1, &err), 1);
    assert_int_equal(cancel_wait_fd(NULL, fds[0], -1, &err), 1);
    thread = thread_start("setter", set_token, c, &err);
    assert_int_equal(cancel_wait_fd(c, -1, -1, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    thread_join(thread);
    assert_int_equal(cancel_wait_fd(c, fds[0], -1, &err), -1); /* the token wins */
    close(fds[0]);
    close(fds[1]);
}

/* A virtual clock is moved instead of waiting, but not past mail that is already there. Runs
 * last. */
static void test_wait_fd_virtual(void **state)
{
    CLEANUP(cancel_unrefp) struct cancel *c = cancel_new(NULL);
    struct err err = {0};
    int fds[2];

    (void)state;
    clock_make_virtual(5000);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(cancel_wait_fd(c, fds[0], 3600000, &err), 0);
    assert_int_equal(clock_mono_ms(), 3605000);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(cancel_wait_fd(c, fds[0], 3600000, &err), 1);
    cancel_set(c);
    assert_int_equal(cancel_wait_fd(c, -1, 3600000, &err), -1);
    assert_int_equal(clock_mono_ms(), 3605000);
    close(fds[0]);
    close(fds[1]);
}

UNIT_TEST(cancel)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_fd_made_late),
        cmocka_unit_test(test_parents),
        cmocka_unit_test(test_off_inside_the_hook),
        cmocka_unit_test(test_off_waits_for_a_running_hook),
        cmocka_unit_test(test_race),
        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_wait_fd),
        cmocka_unit_test(test_wait_fd_virtual),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
