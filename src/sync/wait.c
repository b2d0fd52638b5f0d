/*
 * Numbered waits. Any thread; the numbers are handed out in the order the points are reached, so a
 * run is repeatable exactly when its agents run one at a time.
 */
#include "sync/wait.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "sync/cancel.h"

enum wait_test {
    WAIT_TEST_OFF,
    WAIT_TEST_CANCEL,
    WAIT_TEST_KILL,
    WAIT_TEST_INTERRUPT,
    WAIT_TEST_TERMINATE,
    WAIT_TEST_COUNT,
};

static atomic_int wait_test = WAIT_TEST_OFF;
static atomic_int_fast64_t wait_seen;
static int64_t wait_target; /* written before wait_test leaves OFF */

static void wait_print_count(void)
{
    if (atomic_load(&wait_test) == WAIT_TEST_COUNT)
        fprintf(stderr, "wait points: %lld\n", (long long)atomic_load(&wait_seen));
}

void wait_test_mode(const char *spec)
{
    static const struct {
        const char *name;
        enum wait_test test;
    } numbered[] = {
        {"cancel", WAIT_TEST_CANCEL},
        {"kill", WAIT_TEST_KILL},
        {"interrupt", WAIT_TEST_INTERRUPT},
        {"terminate", WAIT_TEST_TERMINATE},
    };
    static atomic_flag registered = ATOMIC_FLAG_INIT;
    struct str number = str_of(spec);
    struct str name;

    atomic_store(&wait_test, WAIT_TEST_OFF);
    atomic_store(&wait_seen, 0);
    if (!spec)
        return;
    if (str_is(number, "count")) {
        atomic_store(&wait_test, WAIT_TEST_COUNT);
        if (!atomic_flag_test_and_set(&registered))
            atexit(wait_print_count);
        return;
    }
    str_cut(&number, ':', &name);
    for (size_t i = 0; i < ARRAY_LEN(numbered); i++) {
        if (str_is(name, numbered[i].name) && str_to_i64(number, &wait_target, NULL) == 0) {
            atomic_store(&wait_test, numbered[i].test);
            return;
        }
    }
    BUG("TENAX_TEST_POINT=%s: expected cancel:N, interrupt:N, terminate:N, kill:N or count", spec);
}

static void wait_signal(int64_t number, int signo)
{
    dprintf(STDERR_FILENO, "wait point %lld at %lld us\n", (long long)number,
            (long long)clock_mono_us());
    kill(getpid(), signo);
}

static void wait_point_in_test(struct cancel *cancel)
{
    int64_t number = atomic_fetch_add(&wait_seen, 1) + 1;
    enum wait_test test = (enum wait_test)atomic_load(&wait_test);

    if (test == WAIT_TEST_COUNT || number != wait_target)
        return;
    if (test == WAIT_TEST_KILL)
        wait_signal(number, SIGKILL);
    if (test == WAIT_TEST_INTERRUPT)
        wait_signal(number, SIGINT);
    if (test == WAIT_TEST_TERMINATE)
        wait_signal(number, SIGTERM);
    if (test == WAIT_TEST_CANCEL && cancel)
        cancel_set(cancel);
}

void wait_point(enum wait_kind kind, struct cancel *cancel)
{
    (void)kind; /* for the reader at the call, and for a debugger */
    if (atomic_load_explicit(&wait_test, memory_order_relaxed) != WAIT_TEST_OFF)
        wait_point_in_test(cancel);
}
