/*
 * Glances: rows of shell scripts with their expected output; one that never ends, one that is given
 * up, one that cannot start.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"
#include "proc/glance.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "unit.h"

#define PATIENCE_MS 20000
#define MAX_OUTPUT 100000

static const char *const env[] = {"PATH=/nowhere:/usr/bin:/bin", "WHO=me", NULL};

static struct glance *start(const char *script, struct err *err)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct glance_spec spec = {.argv = argv, .envp = env, .dir = "/", .max_output = MAX_OUTPUT};

    return glance_start(&spec, err);
}

static int wait_for(struct glance *one, struct glance *other, int64_t ms, struct err *err)
{
    return glance_wait(one, other, glance_now_ms() + ms, /*cancel=*/NULL, err);
}

/* A separate thread reaps one that was given up; ten seconds for that. */
static void assert_none_is_left(void)
{
    for (int i = 0; i < 1000 && glance_is_running(); i++)
        usleep(10000);
    assert_false(glance_is_running());
}

struct said_case {
    const char *script;
    const char *out;
    const char *err;
    int code;
};

static const struct said_case said_cases[] = {
    {"echo hello", "hello\n", "", 0},
    {"echo no >&2; exit 3", "", "no\n", 3},
    {"pwd; echo $WHO; echo \"$HOME\"", "/\nme\n\n", "", 0},
    {"cat; echo end", "end\n", "", 0}, /* nothing to read */
    {"kill -9 $$", "", "", 128 + SIGKILL},
    {"exec >&- 2>&-; sleep 0.2; exit 5", "", "", 5}, /* says nothing more, and goes on */
    {"kill -PIPE $$", "", "", 128 + SIGPIPE},        /* ignored in here, not there */
    {"[ -t 0 ] || [ -e /dev/fd/3 ] || echo alone", "alone\n", "", 0},
    {"[ $(cut -d' ' -f6 /proc/$$/stat) = $$ ] && echo own", "own\n", "", 0}, /* session */
};

static void what_is_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(said_cases); i++) {
        const struct said_case *c = &said_cases[i];
        struct err err = {0};
        struct glance *g = start(c->script, &err);

        if (!g)
            fail_msg("%s: %s", c->script, err.text);
        assert_true(glance_is_running());
        assert_int_equal(wait_for(g, /*other=*/NULL, PATIENCE_MS, &err), 0);
        assert_true(g->is_over);
        if (g->code != c->code || strcmp(buf_cstr(&g->out), c->out) != 0 ||
            strcmp(buf_cstr(&g->err), c->err) != 0)
            fail_msg("%s: code %d, \"%s\", \"%s\"", c->script, g->code, buf_cstr(&g->out),
                     buf_cstr(&g->err));
        glance_free(g);
    }
    assert_none_is_left();
}

static void two_at_once(void **state)
{
    struct glance *one = start("sleep 0.1; echo one", NULL);
    struct glance *other = start("echo other", NULL);

    (void)state;
    assert_int_equal(wait_for(one, other, PATIENCE_MS, NULL), 0);
    assert_string_equal(buf_cstr(&one->out), "one\n");
    assert_string_equal(buf_cstr(&other->out), "other\n");
    assert_int_equal(wait_for(one, other, PATIENCE_MS, NULL), 0); /* it is over: no wait */
    glance_free(one);
    glance_free(other);
}

static void long_output_is_read_and_not_kept(void **state)
{
    struct glance *g = start("head -c 3000000 /dev/zero; echo end >&2", NULL);

    (void)state;
    assert_int_equal(wait_for(g, /*other=*/NULL, PATIENCE_MS, NULL), 0);
    assert_int_equal(g->code, 0);
    assert_true(g->out.over);
    assert_true(g->out.len <= MAX_OUTPUT);
    assert_string_equal(buf_cstr(&g->err), "end\n");
    glance_free(g);
}

/* Waits until the number is free, for ten seconds. */
static void assert_gone(pid_t pid)
{
    for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++)
        usleep(10000);
    assert_int_equal(kill(pid, 0), -1);
}

static void who_takes_too_long_is_killed_with_its_group(void **state)
{
    struct glance *g = start("trap '' TERM; sleep 600 & echo $!; wait; sleep 600", NULL);
    struct err err = {0};
    pid_t pids[2] = {g->pid, 0};

    (void)state;
    while (!g->out.len)
        assert_int_equal(wait_for(g, /*other=*/NULL, /*ms=*/50, &err), -1);
    assert_int_equal(err.code, ERR_TIMEOUT);
    assert_false(g->is_over);
    pids[1] = (pid_t)strtol(buf_cstr(&g->out), NULL, 10);
    glance_free(g);
    for (size_t i = 0; i < ARRAY_LEN(pids); i++)
        assert_gone(pids[i]);
}

static void begin_and_leave(void *arg)
{
    *(struct glance **)arg = start("sleep 600", NULL);
}

static void it_ends_with_the_thread_that_asked(void **state)
{
    struct glance *g = NULL;
    int status = 0;

    (void)state;
    thread_join(thread_start("asks", begin_and_leave, &g, NULL));
    assert_non_null(g);
    assert_int_equal(waitpid(g->pid, &status, 0), g->pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    glance_free(g);
}

static void a_cancel_is_heard(void **state)
{
    struct glance *g = start("sleep 600", NULL);
    struct cancel *cancel = cancel_new(/*parent=*/NULL);
    struct err err = {0};

    (void)state;
    cancel_set(cancel);
    assert_int_equal(glance_wait(g, /*other=*/NULL, glance_now_ms() + PATIENCE_MS, cancel, &err),
                     -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    glance_free(g);
    glance_free(NULL);
    cancel_unref(cancel);
}

static void what_cannot_start_is_told(void **state)
{
    static const struct {
        const char *program;
        const char *dir;
        enum err_code code;
    } rows[] = {
        {"no-such-program", "/", ERR_NOT_FOUND},
        {"/dev/null", "/", ERR_DENIED},
        {"sh", "/nowhere", ERR_IO},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *argv[] = {rows[i].program, NULL};
        struct glance_spec spec = {.argv = argv, .envp = env, .dir = rows[i].dir};
        struct err err = {0};

        assert_null(glance_start(&spec, &err));
        assert_int_equal(err.code, rows[i].code);
    }
    assert_none_is_left();
}

UNIT_TEST(glance)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said),
        cmocka_unit_test(two_at_once),
        cmocka_unit_test(long_output_is_read_and_not_kept),
        cmocka_unit_test(who_takes_too_long_is_killed_with_its_group),
        cmocka_unit_test(it_ends_with_the_thread_that_asked),
        cmocka_unit_test(a_cancel_is_heard),
        cmocka_unit_test(what_cannot_start_is_told),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
