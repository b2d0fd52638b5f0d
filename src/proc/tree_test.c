#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "proc/tree.h"
#include "unit.h"

static const struct tree_proc *find(const struct process_tree *t, pid_t pid)
{
    for (size_t i = 0; i < t->len; i++) {
        if (t->procs[i].pid == pid)
            return &t->procs[i];
    }
    return NULL;
}

static void test_finds_ourselves(void **state)
{
    struct process_tree t = {0};
    const struct tree_proc *me;

    (void)state;
    for (int round = 0; round < 3; round++) {
        assert_int_equal(tree_read(&t), 0);
        me = find(&t, getpid());
        assert_non_null(me);
        assert_int_equal(me->ppid, getppid());
        assert_int_equal(me->pgrp, getpgrp());
        assert_int_equal(me->session, getsid(0));
        assert_int_equal(me->state, 'R');
        assert_true(me->start > 0);
        for (size_t i = 1; i < t.len; i++)
            assert_true(t.procs[i - 1].pid < t.procs[i].pid);
    }
    tree_release(&t);
    tree_release(&t);
}

struct spread_case {
    const char *name;
    pid_t links[6][2]; /* pid, parent; by rising pid */
    pid_t root;
    const char *below; /* one character per row: x for marked */
};

static const struct spread_case spread_cases[] = {
    {"chain", {{2, 1}, {3, 2}, {4, 3}, {5, 1}}, 2, "-xx-"},
    {"parents with the greater pid", {{2, 5}, {3, 2}, {4, 1}, {5, 4}}, 4, "xx-x"},
    {"nobody", {{2, 1}, {3, 1}}, 3, "--"},
    {"parent not in the snapshot", {{2, 9}, {3, 2}}, 9, "xx"},
    {"brothers", {{2, 1}, {3, 2}, {4, 2}, {5, 4}, {6, 1}, {7, 6}}, 2, "-xxx--"},
};

static void test_spread(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(spread_cases); i++) {
        const struct spread_case *row = &spread_cases[i];
        struct tree_proc procs[6] = {0};
        struct process_tree t = {.procs = procs, .len = strlen(row->below)};

        for (size_t k = 0; k < t.len; k++) {
            procs[k].pid = row->links[k][0];
            procs[k].ppid = row->links[k][1];
        }
        tree_mark_children(&t, row->root);
        tree_spread(&t);
        for (size_t k = 0; k < t.len; k++) {
            if (procs[k].marked != (row->below[k] == 'x'))
                fail_msg("%s: process %d is wrong", row->name, procs[k].pid);
        }
    }
}

static void test_signal_checks_the_start_time(void **state)
{
    struct process_tree t = {0};
    struct tree_proc someone_else;
    pid_t pid = fork();
    int status;

    (void)state;
    if (!pid) {
        for (;;)
            pause();
    }
    assert_int_equal(tree_read(&t), 0);
    someone_else = *find(&t, pid);
    someone_else.start++;
    tree_signal(&someone_else, SIGKILL); /* the pid was given to a new process: not this one */
    tree_signal(find(&t, pid), SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
    tree_signal(find(&t, pid), SIGKILL); /* gone: nothing happens */
    tree_release(&t);
}

/* One process, known by number and start time; its end makes a descriptor readable. */
static void test_look_and_watch(void **state)
{
    struct tree_proc p;
    struct pollfd end = {.events = POLLIN};
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_true(tree_look(child, &p));
    assert_int_equal(p.pid, child);
    assert_int_equal(p.ppid, getpid());
    assert_true(tree_is_alive(&p));
    assert_int_equal(tree_watch(child, p.start + 1), -1);
    assert_int_equal(errno, ESRCH);
    end.fd = tree_watch(child, p.start);
    assert_true(end.fd >= 0);
    assert_int_equal(poll(&end, 1, 0), 0);
    kill(child, SIGKILL);
    assert_int_equal(poll(&end, 1, -1), 1);
    assert_true(tree_look(child, &p));
    assert_false(tree_is_alive(&p)); /* its exit code is not collected */
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(tree_look(child, &p));
    assert_int_equal(tree_watch(child, p.start), -1);
    close(end.fd);
    for (pid_t none = -1; none < 1; none++)
        assert_false(tree_look(none, &p));
}

static void mark_mine(struct process_tree *t, void *arg)
{
    tree_mark_children(t, *(pid_t *)arg);
}

static void test_below(void **state)
{
    pid_t gone = fork();

    (void)state;
    if (gone == 0)
        _exit(tree_is_below(getpid(), getppid()) ? 0 : 1);
    for (int status = 1; waitpid(gone, &status, 0) == gone;)
        assert_int_equal(status, 0);
    assert_true(tree_is_below(getpid(), getpid()));
    assert_true(tree_is_below(getpid(), getppid()));
    assert_false(tree_is_below(getppid(), getpid()));
    assert_false(tree_is_below(1, getpid()));
    assert_true(tree_is_below(gone, getpid())); /* unknown by now */
}

static void test_kill(void **state)
{
    struct process_tree t = {0};
    pid_t self = getpid();
    pid_t pids[8];
    int status;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
        pids[i] = fork();
        if (!pids[i]) {
            signal(SIGTERM, SIG_IGN);
            if (i % 2)
                setsid();
            for (;;)
                pause();
        }
    }
    assert_int_equal(tree_kill(&t, mark_mine, &self), ARRAY_LEN(pids));
    for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    assert_int_equal(tree_kill(&t, mark_mine, &self), 0);
    tree_release(&t);
}

UNIT_TEST(tree)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_ourselves),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_signal_checks_the_start_time),
        cmocka_unit_test(test_look_and_watch),
        cmocka_unit_test(test_below),
        cmocka_unit_test(test_kill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
