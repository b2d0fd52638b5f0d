#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "sync/wait.h"
#include "unit.h"

struct point_case {
    const char *spec;
    int points;
    int cancelled_at; /* 0: never */
};

static const struct point_case point_cases[] = {
    {NULL, 5, 0}, {"cancel:1", 5, 1}, {"cancel:3", 5, 3}, {"cancel:6", 5, 0}, {"count", 5, 0},
};

static void test_cancel_at_the_nth(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(point_cases); i++) {
        const struct point_case *row = &point_cases[i];
        CLEANUP(cancel_unrefp) struct cancel *c = cancel_new(NULL);
        int at = 0;

        wait_test_mode(row->spec);
        for (int n = 1; n <= row->points; n++) {
            wait_point(n % 2 ? WAIT_POLL : WAIT_WRITE, n == 4 ? NULL : c);
            if (!at && cancel_is_set(c))
                at = n;
        }
        if (at != row->cancelled_at)
            fail_msg("%s: cancelled at %d", row->spec ? row->spec : "off", at);
    }
    wait_test_mode(NULL);
}

static void test_a_mailbox_is_a_point(void **state)
{
    CLEANUP(cancel_unrefp) struct cancel *c = cancel_new(NULL);
    struct mailbox *mb = mailbox_new();
    struct mail *m;
    struct err err = {0};

    (void)state;
    wait_test_mode("cancel:2");
    assert_int_equal(mailbox_take(mb, c, 0, &m, &err), -1);
    assert_int_equal(err.code, ERR_TIMEOUT);
    assert_int_equal(mailbox_take(mb, c, -1, &m, &err), -1); /* would wait indefinitely */
    assert_int_equal(err.code, ERR_CANCELLED);
    wait_test_mode(NULL);
    mailbox_unref(mb);
}

/* Runs spec in a child with five points; gives its wait status and what it said on stderr. */
static int run_child(const char *spec, struct buf *ret_said)
{
    int fds[2];
    int status;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        dup2(fds[1], STDERR_FILENO);
        wait_test_mode(spec);
        for (int i = 0; i < 5; i++)
            wait_point(WAIT_CHILD, /*cancel=*/NULL);
        exit(0);
    }
    close(fds[1]);
    assert_int_equal(buf_add_fd(ret_said, fds[0], NULL), 0);
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void test_kill_and_count(void **state)
{
    static const struct {
        const char *spec;
        int signo;
        const char *said; /* how it begins */
    } rows[] = {
        {"kill:1", SIGKILL, "wait point 1 at "},
        {"kill:5", SIGKILL, "wait point 5 at "},
        {"kill:6", 0, ""},
        {"interrupt:3", SIGINT, "wait point 3 at "},
        {"interrupt:6", 0, ""},
        {"terminate:2", SIGTERM, "wait point 2 at "},
        {"count", 0, "wait points: 5\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf said = BUF_INIT(4096);
        int status = run_child(rows[i].spec, &said);
        int signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

        if (signo != rows[i].signo || !str_starts(buf_str(&said), str_of(rows[i].said)) ||
            (!*rows[i].said && said.len))
            fail_msg("%s: signal %d, said '%s'", rows[i].spec, signo, buf_cstr(&said));
    }
}

UNIT_TEST(wait)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill_and_count),
        cmocka_unit_test(test_cancel_at_the_nth),
        cmocka_unit_test(test_a_mailbox_is_a_point),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
