#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "sync/thread.h"
#include "unit.h"

struct seen {
    char name[16];
    size_t stack_bytes;
    sigset_t mask;
};

static void look_around(void *arg)
{
    struct seen *seen = arg;
    pthread_attr_t attr;
    void *base;

    pthread_getname_np(pthread_self(), seen->name, sizeof(seen->name));
    pthread_sigmask(SIG_SETMASK, NULL, &seen->mask);
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &base, &seen->stack_bytes);
    pthread_attr_destroy(&attr);
}

static void test_start(void **state)
{
    static const struct {
        const char *name;
        const char *shown;
    } rows[] = {
        {"net", "net"},
        {"", ""},
        {"a-name-that-is-too-long", "a-name-that-is-"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct seen seen = {0};
        struct err err = {0};
        struct thread *t = thread_start(rows[i].name, look_around, &seen, &err);

        assert_non_null(t);
        thread_join(t);
        assert_string_equal(seen.name, rows[i].shown);
        assert_true(seen.stack_bytes >= 250 * 1024 && seen.stack_bytes <= 1100 * 1024);
        assert_true(sigismember(&seen.mask, SIGINT));
        assert_true(sigismember(&seen.mask, SIGCHLD));
        assert_false(sigismember(&seen.mask, SIGSEGV));
    }
    thread_join(NULL);
}

static void test_starting_leaves_the_mask_alone(void **state)
{
    sigset_t before;
    sigset_t after;
    struct seen seen;

    (void)state;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    thread_join(thread_start("mask", look_around, &seen, NULL));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int sig = 1; sig < NSIG; sig++)
        assert_int_equal(sigismember(&before, sig), sigismember(&after, sig));
}

struct counter {
    struct lock lock;
    int value;
};

static void count_up(void *arg)
{
    struct counter *c = arg;

    for (int i = 0; i < 10000; i++) {
        lock_take(&c->lock);
        c->value++;
        lock_give(&c->lock);
    }
}

static void test_lock(void **state)
{
    struct counter c = {.lock = LOCK_INIT};
    struct thread *threads[4];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        threads[i] = thread_start("count", count_up, &c, NULL);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        thread_join(threads[i]);
    assert_int_equal(c.value, 40000);
    lock_release(&c.lock);
    lock_init(&c.lock);
    lock_take(&c.lock);
    lock_give(&c.lock);
    lock_release(&c.lock);
}

struct turns {
    struct gate gate;
    bool behind; /* the other one is woken when the lock is given up */
    int turn;    /* whose turn it is: 0 or 1 */
    int done;
};

static void take_turns(struct turns *t, int me)
{
    for (int i = 0; i < 1000; i++) {
        gate_take(&t->gate);
        while (t->turn != me)
            assert_true(gate_wait(&t->gate, -1));
        t->turn = !me;
        t->done++;
        if (!t->behind)
            gate_wake(&t->gate);
        gate_give(&t->gate);
        if (t->behind)
            gate_wake(&t->gate);
    }
}

static void take_second_turns(void *arg)
{
    take_turns(arg, 1);
}

static void test_gate(void **state)
{
    (void)state;
    for (int behind = 0; behind < 2; behind++) {
        struct turns t = {.behind = behind};
        struct thread *other;

        gate_init(&t.gate);
        other = thread_start("turns", take_second_turns, &t, NULL);
        take_turns(&t, 0);
        thread_join(other);
        assert_int_equal(t.done, 2000);
        gate_release(&t.gate);
    }
}

/* A thread that does not wait any more is not counted as waiting: it would be a system call for
 * each wake. */
static void test_gate_quiet(void **state)
{
    struct gate g = GATE_INIT;
    int64_t deadline_ms = clock_mono_ms() + 1;

    (void)state;
    gate_take(&g);
    while (gate_wait(&g, deadline_ms))
        assert_int_equal(atomic_load(&g.waiting), 0);
    assert_int_equal(atomic_load(&g.waiting), 0);
    gate_wake(&g);
    assert_int_equal(atomic_load(&g.wakes), 1);
    gate_give(&g);
    gate_release(&g);
}

static void test_gate_deadline(void **state)
{
    static const int64_t from_now_ms[] = {-1000, 0, 1, 20};
    struct gate g;

    (void)state;
    gate_init(&g);
    for (size_t i = 0; i < ARRAY_LEN(from_now_ms); i++) {
        int64_t start_ms = clock_mono_ms();
        int64_t deadline_ms = start_ms + from_now_ms[i];

        gate_take(&g);
        if (deadline_ms < 0)
            deadline_ms = 0;
        while (gate_wait(&g, deadline_ms))
            assert_true(clock_mono_ms() < deadline_ms);
        gate_give(&g);
        assert_true(clock_mono_ms() >= deadline_ms);
    }
    gate_release(&g);
}

/* It goes on by itself, and what it works on is its own. */
struct loose {
    struct gate gate;
    bool is_done;
};

static void be_loose(void *arg)
{
    struct loose *l = arg;

    gate_take(&l->gate);
    l->is_done = true;
    gate_wake(&l->gate);
    gate_give(&l->gate);
}

static void test_loose(void **state)
{
    static struct loose l; /* outlives the thread's last touch of the gate */

    (void)state;
    gate_init(&l.gate);
    assert_int_equal(thread_start_loose("loose", be_loose, &l, NULL), 0);
    gate_take(&l.gate);
    while (!l.is_done)
        gate_wait(&l.gate, /*deadline_ms=*/-1);
    gate_give(&l.gate);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_FAULT_STACK false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define HAS_FAULT_STACK false
#endif
#endif
#ifndef HAS_FAULT_STACK
#define HAS_FAULT_STACK true
#endif

static void on_fault(int signo)
{
    (void)signo;
    _exit(7);
}

static int dig(volatile char *above)
{
    volatile char here[1024];

    here[0] = above ? above[0] : 1;
    return here[0] ? dig(here) + here[0] : 0;
}

static void overflow(void *arg)
{
    *(int *)arg = dig(NULL);
}

/* A handler runs though the thread has no stack left. */
static void test_overflow(void **state)
{
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
    int status = 0;
    pid_t pid;

    (void)state;
    if (!HAS_FAULT_STACK)
        skip();
    pid = fork();
    if (pid == 0) {
        struct thread *t;
        int result;

        sigemptyset(&action.sa_mask);
        sigaction(SIGSEGV, &action, NULL);
        t = thread_start("digs", overflow, &result, NULL);
        thread_join(t);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

UNIT_TEST(thread)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start),      cmocka_unit_test(test_starting_leaves_the_mask_alone),
        cmocka_unit_test(test_lock),       cmocka_unit_test(test_gate),
        cmocka_unit_test(test_gate_quiet), cmocka_unit_test(test_gate_deadline),
        cmocka_unit_test(test_loose),      cmocka_unit_test(test_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
