/*
 * Checks: their ends, their environment, the stored output, and that no processes are left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "base/vec.h"
#include "goal/check.h"
#include "json/jw.h"
#include "proc/proc.h"
#include "store/scratch_check.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "unit.h"

static char plain_path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
static char plain_home[] = "HOME=/nonexistent";
static char *const plain_env[] = {plain_path, plain_home, NULL};

static int setup(void **state)
{
    (void)state;
    scratch_make();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_remove();
    proc_shutdown();
    return 0;
}

static int run(const char *command, char *const *env, struct check_result *ret, struct err *err)
{
    struct check_spec spec = {.command = str_of(command), .dir = scratch_dir(), .environ = env};

    return check_run(&spec, NULL, ret, err);
}

/* ---- how it ends ---- */

static void ends(void **state)
{
    static const struct {
        const char *command;
        bool passed;
        int code, signal;
        const char *tail;
    } rows[] = {
        {"true", true, 0, 0, ""},
        {"false", false, 1, 0, ""},
        {"exit 3", false, 3, 0, ""},
        {"echo out; echo err >&2; exit 2", false, 2, 0, "out\nerr\n"},
        {"surely-no-such-program 2>/dev/null", false, 127, 0, ""},
        {"./plain-file 2>/dev/null", false, 126, 0, ""},
        {"kill -KILL $$", false, 137, SIGKILL, ""},
        {"cat; echo read", true, 0, 0, "read\n"}, /* standard input is empty */
        {"printf '\\033[31mred\\033[0m\\rover\\n'", true, 0, 0, "over\n"},
        {"printf 'a\\000b\\377'", true, 0, 0, "ab\xef\xbf\xbd"},
        {"if true\nthen echo lines\nfi", true, 0, 0, "lines\n"},
        {"-nonsense 2>/dev/null", false, 127, 0, ""}, /* no option of the shell */
        {"sleep 1000 & echo left", true, 0, 0, "left\n"},
        {"trap '' TERM; sleep 1000 & echo stubborn", true, 0, 0, "stubborn\n"},
    };

    (void)state;
    scratch_setup("file plain-file 644 x");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct check_result r = {0};
        struct err err = {0};

        if (run(rows[i].command, plain_env, &r, &err) < 0)
            fail_msg("%s: %s", rows[i].command, err.text);
        if (r.passed != rows[i].passed || r.code != rows[i].code || r.signal != rows[i].signal ||
            r.timed_out || !str_is(buf_str(&r.tail), rows[i].tail) ||
            !str_is(buf_str(&r.command), rows[i].command) || r.time_ms <= 0 || r.wall_ms < 0)
            fail_msg("%s: passed %d, code %d, signal %d, tail '%s'", rows[i].command, r.passed,
                     r.code, r.signal, buf_cstr(&r.tail));
        check_result_release(&r);
    }
}

/* Commands that can decide nothing as they are, and some that merely fail. */
static void complaints(void **state)
{
    static const struct {
        const char *command, *why;
    } rows[] = {
        {"surely-no-such-program", "not found"},
        {"! surely-no-such-program x", "not found"},
        {"surely-no-such-program | cat", "not found"},
        {"./plain-file", "executed"},
        {"./plain-file || true", "executed"},
        {"if true", "parse"},
        {"echo 'open", "parse"},
        {"test -f x )", "parse"},
        {"[ -f x", "parse"},
        {"grep -q '\\(' plain-file", "pattern"},
        {"! grep -q '[' plain-file", "pattern"},
        {"make -f Make tets", "target"},
        {"make -f Make lint", "not found"},
        {"sh no-such-script.sh", "not found"},
        {"false", NULL},
        {"true", NULL},
        {"test -f x", NULL},
        {"grep -q up plain-file", NULL},
        {"make -f Make test", NULL},
        {"sh quotes.sh", NULL},
    };

    (void)state;
    scratch_setup(
        "file plain-file 644 x;"
        "file Make 644 test:\n\tfalse\nlint:\n\tsurely-no-such-program\n;"
        "file quotes.sh 644 echo 'wanted /bin/sh: not found, got Syntax error'\nexit 2\n");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(check_result_release) struct check_result r = {0};
        struct err err = {0};
        const char *why;

        if (run(rows[i].command, plain_env, &r, &err) < 0)
            fail_msg("%s: %s", rows[i].command, err.text);
        why = check_complaint(&r);
        if (!why != !rows[i].why || (why && !strstr(why, rows[i].why)))
            fail_msg("%s: '%s' (%d: %s)", rows[i].command, why ? why : "", r.code,
                     buf_cstr(&r.tail));
    }
}

static void refused(void **state)
{
    static char nul[] = "true\0false";
    CLEANUP(buf_release) struct buf longest = BUF_INIT(BUF_NO_LIMIT);
    struct {
        const char *name;
        struct check_spec spec;
        enum err_code code;
    } rows[] = {
        {"empty", {.command = STR(" \n"), .dir = scratch_dir()}, ERR_BAD_INPUT},
        {"nul", {.command = str_make(nul, sizeof(nul) - 1), .dir = scratch_dir()}, ERR_BAD_INPUT},
        {"long", {.dir = scratch_dir()}, ERR_TOO_BIG},
        {"no folder", {.command = STR("true"), .dir = "/nonexistent/folder"}, ERR_IO},
    };

    (void)state;
    while (longest.len <= CHECK_MAX_COMMAND)
        buf_adds(&longest, "true;");
    rows[2].spec.command = buf_str(&longest);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct check_result r = {.code = -77};
        struct err err = {0};

        rows[i].spec.environ = plain_env;
        if (check_run(&rows[i].spec, NULL, &r, &err) == 0 || err.code != rows[i].code ||
            r.code != -77)
            fail_msg("%s: %s %s", rows[i].name, err_code_name(err.code), err.text);
    }
}

/* Whether any process of the group that the command stored still runs. */
static bool group_lives(void)
{
    CLEANUP(buf_release) struct buf text = {0};
    int64_t pid;

    assert_int_equal(file_slurp(scratch("pid"), 100, &text, NULL), 0);
    assert_int_equal(str_to_i64(str_trim(buf_str(&text)), &pid, NULL), 0);
    return kill((pid_t)-pid, 0) == 0;
}

/* One that exits with 0 on SIGTERM has not passed; all of it is gone. */
static void time_limit(void **state)
{
    struct check_spec spec = {
        .command = STR("echo $$ > pid; trap 'exit 0' TERM; sleep 1000 & sleep 1000 & "
                       "echo begun; wait"),
        .dir = scratch_dir(),
        .environ = plain_env,
        .timeout_ms = 300,
    };
    struct check_result r = {0};
    struct err err = {0};

    (void)state;
    if (check_run(&spec, NULL, &r, &err) < 0)
        fail_msg("%s", err.text);
    while (!r.tail.len && spec.timeout_ms < 60000) { /* a busy machine: it had not even begun */
        check_result_release(&r);
        spec.timeout_ms *= 2;
        if (check_run(&spec, NULL, &r, &err) < 0)
            fail_msg("%s", err.text);
    }
    assert_true(r.timed_out);
    assert_false(r.passed);
    assert_string_equal(buf_cstr(&r.tail), "begun\n");
    assert_true(r.wall_ms >= spec.timeout_ms);
    assert_false(group_lives());
    check_result_release(&r);
}

static void set_when_begun(void *arg)
{
    while (!file_exists(scratch("begun")))
        usleep(1000);
    cancel_set(arg);
}

static void cancelled(void **state)
{
    struct cancel *cancel = cancel_new(NULL);
    struct thread *t = thread_start("canceller", set_when_begun, cancel, NULL);
    struct check_spec spec = {
        .command = STR("echo $$ > pid; : > begun; sleep 1000"),
        .dir = scratch_dir(),
        .environ = plain_env,
    };
    struct check_result r = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(check_run(&spec, cancel, &r, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    thread_join(t);
    err_clear(&err);
    assert_int_equal(check_run(&spec, cancel, &r, &err), -1); /* one that is set already */
    assert_int_equal(err.code, ERR_CANCELLED);
    proc_shutdown();
    assert_false(group_lives());
    cancel_unref(cancel);
}

/* ---- its environment ---- */

static void environment(void **state)
{
    static const struct {
        const char *given;
        const char *path; /* of the result */
        const char *kept; /* a variable that must be there */
    } rows[] = {
        {"PATH=/a:/b", "/a:/b", NULL},
        {"PATH=:/a::.:bin:/b:", "/a:/b", NULL},
        {"PATH=.", "/usr/local/bin:/usr/bin:/bin", NULL},
        {"PATH=", "/usr/local/bin:/usr/bin:/bin", NULL},
        {"X=1", "/usr/local/bin:/usr/bin:/bin", "X=1"},
        {"BASH_ENV=x", "/usr/local/bin:/usr/bin:/bin", NULL},
        {"ENV=x", "/usr/local/bin:/usr/bin:/bin", NULL},
        {"SHELLOPTS=x", "/usr/local/bin:/usr/bin:/bin", NULL},
        {"BASHOPTS=x", "/usr/local/bin:/usr/bin:/bin", NULL},
        {"PS4=x", "/usr/local/bin:/usr/bin:/bin", NULL},
        {"CDPATH=x", "/usr/local/bin:/usr/bin:/bin", NULL},
        {"BASH_FUNC_ls%%=() { true; }", "/usr/local/bin:/usr/bin:/bin", NULL},
        {"ENVIRONMENT=x", "/usr/local/bin:/usr/bin:/bin", "ENVIRONMENT=x"},
        {"PATHS=x", "/usr/local/bin:/usr/bin:/bin", "PATHS=x"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char given[100];
        char *const env[] = {given, NULL};
        struct strv made = STRV_INIT;

        snprintf(given, sizeof(given), "%s", rows[i].given);
        check_environ(env, &made);
        if (!str_is(check_path(&made), rows[i].path) || made.len != (rows[i].kept ? 2 : 1) ||
            (rows[i].kept && !strv_has(&made, str_of(rows[i].kept))))
            fail_msg("%s: %zu variables, PATH %.*s", rows[i].given, made.len,
                     STR_ARG(check_path(&made)));
        strv_release(&made);
    }
}

/* The agent's ways to influence its shell: none of them works. */
static void not_fooled(void **state)
{
    char bash_env[300];
    char env_file[300];
    char path[] = "PATH=.::/usr/local/bin:/usr/bin:/bin";
    char function[] = "BASH_FUNC_grep%%=() { true; }";
    char *const env[] = {bash_env, env_file, path, function, plain_home, NULL};
    struct check_result r = {0};
    struct err err = {0};

    (void)state;
    snprintf(bash_env, sizeof(bash_env), "BASH_ENV=%s", scratch("rc"));
    snprintf(env_file, sizeof(env_file), "ENV=%s", scratch("rc"));
    scratch_setup("file rc 644 exit 0;file grep 755 #!/bin/sh;file word 644 nothing");
    if (run("grep -q something word", env, &r, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(r.code, 1);
    check_result_release(&r);
    if (run("bash -c 'grep -q something word'", env, &r, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(r.code, 1);
    check_result_release(&r);
}

/* ---- the stored output ---- */

static void long_output(void **state)
{
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);
    char hex[SHA256_HEX + 1];
    struct check_result r = {0};
    struct err err = {0};

    (void)state;
    if (run("seq 1 200000; exit 1", plain_env, &r, &err) < 0)
        fail_msg("%s", err.text);
    for (int i = 1; i <= 200000; i++)
        buf_addf(&all, "%d\n", i);
    sha256_hex(buf_str(&all), hex);
    assert_string_equal(r.sha256, hex);
    assert_int_equal(r.bytes, all.len);
    assert_true(r.tail.len <= CHECK_TAIL && r.tail.len > CHECK_TAIL - 8);
    assert_true(str_ends(buf_str(&all), buf_str(&r.tail)));
    assert_true(str_starts(buf_str(&r.tail), STR("19"))); /* a whole line */
    check_result_release(&r);

    /* one line without an end, in characters of three bytes */
    if (run("yes ' \xe2\x82\xac' | head -n 30000 | tr -d ' \\n'", plain_env, &r, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(r.bytes, 90000);
    assert_true(r.tail.len <= CHECK_TAIL && r.tail.len % 3 == 0 && r.tail.len > CHECK_TAIL - 3);
    check_result_release(&r);
}

static void in_words(void **state)
{
    static const struct {
        const char *command;
        const char *words;
    } rows[] = {
        {"true", "The check `true` passed (exit code 0, "},
        {"true", "It printed nothing.\n"},
        {"echo no; exit 2", "The check `echo no; exit 2` failed: exit code 2, "},
        {"echo no; exit 2", "\nIt printed:\nno\n"},
        {"none-such", "exit code 127 (a command was not found)"},
        {"kill -SEGV $$", "failed: ended by SIGSEGV after "},
        {"seq 1 5000; exit 1", "The end of what it printed (23893 bytes in all):\n"},
        {"printf '\\033[m'; false", "It printed 3 bytes, none of them text.\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf words = BUF_INIT(BUF_NO_LIMIT);
        struct check_result r = {0};
        struct err err = {0};

        if (run(rows[i].command, plain_env, &r, &err) < 0)
            fail_msg("%s: %s", rows[i].command, err.text);
        check_explain(&r, &words);
        if (!strstr(buf_cstr(&words), rows[i].words))
            fail_msg("%s: %s", rows[i].command, buf_cstr(&words));
        buf_release(&words);
        check_result_release(&r);
    }
}

static void as_json(void **state)
{
    struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct check_result r = {0};
    struct jw w;

    (void)state;
    assert_int_equal(run("echo hi; exit 4", plain_env, &r, NULL), 0);
    r.wall_ms = 12;
    jw_init(&w, &json, 0);
    check_write(&r, &w);
    assert_string_equal(
        buf_cstr(&json),
        "{\"command\":\"echo hi; exit 4\",\"passed\":false,\"exit_code\":4,\"timed_out\":false,"
        "\"duration_ms\":12,\"output_sha256\":"
        "\"98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4\","
        "\"output_bytes\":3,\"tail\":\"hi\\n\"}");
    buf_release(&json);
    check_result_release(&r);
}

UNIT_TEST(check)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ends, setup, teardown),
        cmocka_unit_test_setup_teardown(complaints, setup, teardown),
        cmocka_unit_test_setup_teardown(refused, setup, teardown),
        cmocka_unit_test_setup_teardown(time_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(cancelled, setup, teardown),
        cmocka_unit_test(environment),
        cmocka_unit_test_setup_teardown(not_fooled, setup, teardown),
        cmocka_unit_test_setup_teardown(long_output, setup, teardown),
        cmocka_unit_test_setup_teardown(in_words, setup, teardown),
        cmocka_unit_test_setup_teardown(as_json, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
