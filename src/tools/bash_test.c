#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <sched.h>
#include <sys/resource.h>

#include "agent/event.h"
#include "agent/task.h"
#include "base/clock.h"
#include "proc/proc.h"
#include "sync/mailbox.h"
#include "sync/thread.h"
#include "tools/entries.h"
#include "tools/tool_check.h"
#include "unit.h"

#define LONG_MS 60000 /* nothing here takes that long unless it hangs */

/* ---- helpers ---- */

/* A length for sleep that no other run of this test uses. */
static int long_sleep(void)
{
    return 700000 + getpid() % 90000;
}

static int count_dir(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static bool is_sleep_of_ours(const char *pid, const char *seconds)
{
    char path[300];
    char text[64] = "";
    FILE *f;
    size_t len;

    snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
    f = fopen(path, "r");
    if (!f)
        return false;
    len = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    return len > 6 && strcmp(text, "sleep") == 0 && strcmp(text + 6, seconds) == 0;
}

static int count_sleeps(void)
{
    char seconds[32];
    DIR *dir = opendir("/proc");
    int n = 0;

    snprintf(seconds, sizeof(seconds), "%d", long_sleep());
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        n += is_sleep_of_ours(e->d_name, seconds);
    closedir(dir);
    return n;
}

/* proc ends leftover processes; then none may remain. */
static void assert_nothing_left(void)
{
    proc_shutdown();
    assert_int_equal(count_sleeps(), 0);
}

static bool run(struct tool_check *t, const char *command)
{
    return tool_check_runf(t, &tool_bash_entry, "{\"command\":\"%s\"}", command);
}

static struct str data_of(struct tool_check *t, const char *key)
{
    return json_get_str(tool_check_data(t), key);
}

/* ---- what a command says ---- */

struct says_case {
    const char *command; /* in JSON */
    bool ok;
    const char *text;
};

static const struct says_case says_cases[] = {
    {"true", true, "(no output)"},
    {"echo hello", true, "hello\n"},
    {"printf no-end", true, "no-end"},
    {"echo a; echo b >&2; echo c; echo d >&2", true, "a\nb\nc\nd\n"},
    {"false", false, "Exit code 1\n"},
    {"echo before; exit 42", false, "Exit code 42\nbefore\n"},
    {"set -e; false; echo not here", false, "Exit code 1\n"},
    {"trap 'echo bye' EXIT; echo hi; exit 3", false, "Exit code 3\nhi\nbye\n"},
    {"exec echo replaced", true, "replaced\n"},
    {"cat", true, "(no output)"}, /* there is no input */
    {"read x; echo \\\"<$x>\\\"", true, "<>\n"},
    {"kill -TERM $$", false, "Exit code 143: killed by SIGTERM\n"},
    {"sh -c 'kill -9 $$'; exit $?", false, NULL},
    {"printf '\\\\033[31mred\\\\033[0m\\\\n'", true, "red\n"},
    {"printf '1%%\\\\r2%%\\\\r100%%\\\\n'", true, "100%\n"},
    {"printf 'a\\\\0b\\\\377c'", true,
     "ab\xef\xbf\xbd"
     "c"},
    {"echo \\\"it's\\\" 'a \\\"quoted\\\" word' \\\\\\\\", true, "it's a \"quoted\" word \\\n"},
    {"cat <<EOF\nheredoc 'with' quotes\nEOF", true, "heredoc 'with' quotes\n"},
    {"cat <<EOF\nwithout its end", true, NULL},
    {"# only a comment", true, "(no output)"},
    {"echo $TENAX$CLAUDECODE $TERM $GIT_TERMINAL_PROMPT", true, "11 dumb 0\n"},
    {"echo $0 $# $-", true, "bash 0 hBc\n"},
    {"set -x; cd .", true, "+ cd .\n"},
    {"a=\\\"", false, NULL},
    {"echo a \\\\\n b", true, "a b\n"},
    {"if true; then echo multi\necho line; fi", true, "multi\nline\n"},
};

static void says(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    for (size_t i = 0; i < ARRAY_LEN(says_cases); i++) {
        const struct says_case *c = &says_cases[i];
        CLEANUP(buf_release) struct buf command = BUF_INIT(BUF_NO_LIMIT);
        bool ok;

        for (const char *p = c->command; *p; p++) {
            if (*p == '\n')
                buf_adds(&command, "\\n");
            else
                buf_addc(&command, *p);
        }
        ok = run(&t, buf_cstr(&command));
        if (ok != c->ok || (c->text && !str_is(tool_check_text(&t), c->text)))
            fail_msg("%s: %s\n%s", c->command, ok ? "ok" : "bad", buf_cstr(&t.result.text));
        assert_true(t.result.is_capped);
        assert_false(json_get_bool(tool_check_data(&t), "interrupted", true));
        assert_false(json_get_bool(tool_check_data(&t), "isImage", true));
    }
    run(&t, "echo out; echo err >&2; exit 1");
    assert_true(str_is(data_of(&t, "stdout"), "out\nerr"));
    assert_true(str_is(data_of(&t, "stderr"), ""));
    tool_check_end(&t);
    assert_nothing_left();
}

static void refused(void **state)
{
    static const char *const cases[][2] = {
        {"{\"command\":\"a\\u0000b\"}", "NUL"},
        {"{\"command\":\"\"}", "command"},
        {"{\"command\":\"x\",\"timeout\":600001}", "timeout"},
        {"{\"command\":\"x\",\"timeout\":0}", "timeout"},
        {"{\"command\":\"x\",\"cwd\":\"/\"}", "cwd"},
    };
    CLEANUP(buf_release) struct buf args = BUF_INIT(BUF_NO_LIMIT);
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_false(tool_check_run(&t, &tool_bash_entry, cases[i][0]));
        ASSERT_SAYS(&t, cases[i][1]);
        assert_int_equal(t.failed, ERR_BAD_INPUT);
    }
    buf_adds(&args, "{\"command\":\": ");
    for (int i = 0; i < 140000; i++)
        buf_addc(&args, 'x');
    buf_adds(&args, "\"}");
    assert_false(tool_check_run(&t, &tool_bash_entry, buf_cstr(&args)));
    ASSERT_SAYS(&t, "too long");
    assert_int_equal(t.failed, ERR_TOO_BIG);
    tool_check_end(&t);
}

static void what_it_is_about(void **state)
{
    static const struct {
        const char *args;
        unsigned flags;
    } rows[] = {
        {"{\"command\":\"ls -l\"}", TOOL_READ_ONLY | TOOL_CONCURRENT},
        {"{\"command\":\"ls -l >x\"}", 0},
        {"{\"command\":\"cd src && pwd\"}", 0}, /* the next call looks there */
        {"{\"command\":\"ls; cd\"}", 0},
        {"{\"command\":\"make\"}", 0},
        {"{\"command\":\"ls\",\"run_in_background\":true}", 0},
    };
    struct arena arena = ARENA_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rule_subject about = {0};
        const struct json *args;

        assert_int_equal(json_parse(&arena, str_of(rows[i].args), &args, NULL, NULL), 0);
        if (tool_flags(&tool_bash_entry, args) != rows[i].flags)
            fail_msg("%s: flags %u", rows[i].args, tool_flags(&tool_bash_entry, args));
        tool_bash_entry.about(&tool_bash_entry, NULL, args, &arena, &about);
        assert_int_equal(about.about, ABOUT_COMMAND);
        assert_true(str_is(about.tool, "Bash"));
        assert_true(str_eq(about.text, json_get_str(args, "command")));
        assert_ptr_equal(about.args, args);
    }
    arena_release(&arena);
}

/* ---- where it is ---- */

struct dir_case {
    const char *command;
    const char *dir;  /* afterwards, below the workspace; NULL: does not matter */
    const char *note; /* NULL: none */
};

/* In this order: each starts where the one before ended. */
static const struct dir_case dir_cases[] = {
    {"mkdir -p sub/deep other", "", NULL},
    {"cd sub", "/sub", NULL},
    {"cd deep && false", "/sub/deep", NULL},
    {"cd ..; exit 7", "/sub", NULL},
    {"cd deep; exec true", "/sub/deep", NULL},
    {"trap 'true' EXIT; cd ../..; exit 1", "", NULL},
    {"cd sub; kill -9 $$", "/sub", NULL},
    {"(cd deep; true)", "/sub", NULL},
    {"cd deep | true", "/sub", NULL},
    {"sh -c 'cd deep'", "/sub", NULL},
    {"pushd deep", "/sub/deep", NULL},
    {"pushd ..; popd; cd ..", "/sub", NULL},
    {"set -e; cd ../other; false; cd /", "/other", NULL},
    {"cd -", "/other", NULL},
    {"cd /", NULL, "outside of the working folders"},
    {"cd /nonexistent/folder", "/other", NULL},
};

static void dirs(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    for (size_t i = 0; i < ARRAY_LEN(dir_cases); i++) {
        const struct dir_case *c = &dir_cases[i];
        char *cwd;

        run(&t, c->command);
        cwd = workspace_cwd(t.workspace);
        if (c->dir &&
            (strncmp(cwd, t.dir, strlen(t.dir)) != 0 || strcmp(cwd + strlen(t.dir), c->dir) != 0))
            fail_msg("%s: in %s\n%s", c->command, cwd, buf_cstr(&t.result.text));
        if (c->note)
            ASSERT_SAYS(&t, c->note);
        else
            assert_false(str_has(tool_check_text(&t), STR("working")));
        assert_true(workspace_contains(t.workspace, cwd));
        mem_freep(&cwd);
    }
    tool_check_end(&t);
}

static void dir_that_is_gone(void **state)
{
    struct tool_check t;
    char *cwd;

    (void)state;
    tool_check_begin(&t);
    assert_true(run(&t, "mkdir -p a/b; cd a/b"));
    tool_check_remove(tool_check_path(&t, "a"));
    assert_true(run(&t, "pwd"));
    ASSERT_SAYS(&t, "does not exist any more");
    ASSERT_SAYS(&t, t.dir);
    assert_true(str_has(data_of(&t, "stderr"), STR("does not exist")));

    run(&t, "mkdir c; cd c; rmdir ../c");
    ASSERT_SAYS(&t, "does not exist any more");
    cwd = workspace_cwd(t.workspace);
    assert_string_equal(cwd, t.dir);
    mem_freep(&cwd);

    workspace_add_dir(t.workspace, "/usr");
    assert_true(run(&t, "cd /usr/bin"));
    cwd = workspace_cwd(t.workspace);
    assert_string_equal(cwd, "/usr/bin");
    mem_freep(&cwd);
    tool_check_end(&t);
}

/* ---- how it ends ---- */

static void timeouts(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    assert_false(tool_check_runf(&t, &tool_bash_entry,
                                 "{\"command\":\"echo early; sleep %d\",\"timeout\":2500}",
                                 long_sleep()));
    ASSERT_SAYS(&t, "Timed out after 2.5 s");
    ASSERT_SAYS(&t, "early");
    assert_true(t.result.stops_batch);
    assert_true(json_get_bool(tool_check_data(&t), "interrupted", false));

    /* One that does not listen to SIGTERM. */
    assert_false(tool_check_runf(&t, &tool_bash_entry,
                                 "{\"command\":\"trap '' TERM; sleep %d & while :; do wait; "
                                 "done\",\"timeout\":200}",
                                 long_sleep()));
    ASSERT_SAYS(&t, "Timed out");
    assert_int_equal(count_sleeps(), 0);
    tool_check_end(&t);
    assert_nothing_left();
}

static void leaves_something(void **state)
{
    static const char *const commands[] = {
        "sleep %d & echo started",
        "nohup setsid sleep %d >/dev/null 2>&1 & echo started",
        "(setsid sh -c 'trap : TERM; sleep %d; sleep 9' &) ; echo started",
    };
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        char command[200];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(command, sizeof(command), commands[i], long_sleep());
#pragma GCC diagnostic pop
        assert_true(run(&t, command));
        ASSERT_SAYS(&t, "started\n");
        ASSERT_SAYS(&t, "run_in_background");
        assert_int_equal(count_sleeps(), 0);
    }
    /* Soon enough over by itself; a busy machine may be late with it. */
    for (int i = 0; i < 20 && !str_is(tool_check_text(&t), "quick\n"); i++)
        assert_true(run(&t, "sleep 0.05 & echo quick"));
    assert_true(str_is(tool_check_text(&t), "quick\n"));
    tool_check_end(&t);
    assert_nothing_left();
}

/* Cancels when the command has said something. */
struct canceller {
    struct cancel *cancel;
    int64_t at_ms;
};

static void cancel_on_progress(struct tool_call *call, struct str text)
{
    struct canceller *c = call->agent;

    if (!str_has(text, STR("ready")))
        return;
    c->at_ms = clock_mono_ms();
    cancel_set(c->cancel);
}

static void cancelled(void **state)
{
    struct tool_check t;
    struct canceller canceller;
    struct err err = {0};
    char args[300];

    (void)state;
    tool_check_begin(&t);
    canceller = (struct canceller){.cancel = t.cancel};
    snprintf(args, sizeof(args),
             "{\"command\":\"trap '' TERM; sleep %d & echo ready; while :; do sleep %d; done\"}",
             long_sleep(), long_sleep());
    {
        struct tool_call call = {
            .entry = &tool_bash_entry,
            .id = STR("toolu_x"),
            .workspace = t.workspace,
            .cancel = t.cancel,
            .progress = cancel_on_progress,
            .agent = &canceller,
        };

        assert_int_equal(json_parse_copy(&t.arena, str_of(args), &call.args, NULL, NULL), 0);
        assert_int_equal(tool_bash_entry.run(&call, &t.result, &err), 0);
    }
    /* At once is a millisecond; the machine may be busy. */
    assert_true(clock_mono_ms() - canceller.at_ms < 5000);
    assert_true(t.result.is_error);
    assert_true(t.result.stops_batch);
    ASSERT_SAYS(&t, "interrupted");
    ASSERT_SAYS(&t, "ready");
    assert_true(json_get_bool(tool_check_data(&t), "interrupted", false));

    /* Cancelled before it begins. */
    assert_false(run(&t, "sleep 5"));
    tool_check_end(&t);
    assert_nothing_left();
}

/* ---- much of it ---- */

static long max_rss_kb(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static size_t file_size_in(struct str text, char path[static PATH_MAX])
{
    struct str rest = str_from(text, str_find(text, STR("the whole output is in ")) + 23);
    struct stat st;

    rest = str_first(rest, str_find(rest, STR(" ...]")));
    assert_true(rest.len && rest.len < PATH_MAX);
    memcpy(path, rest.ptr, rest.len);
    path[rest.len] = '\0';
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    return (size_t)st.st_size;
}

static void much_output(void **state)
{
    struct tool_check t;
    char path[PATH_MAX];
    long before_kb;

    (void)state;
    tool_check_begin(&t);
    assert_true(run(&t, "seq 1 1000"));
    before_kb = max_rss_kb();
    /* 20 MB and a little, in numbered lines of 20 bytes. */
    assert_true(run(&t, "seq -f 'line %014.0f' 1 1048576"));
    assert_int_equal(file_size_in(tool_check_text(&t), path), 1048576 * 20);
    assert_true(t.result.text.len < TOOL_MAX_RESULT);
    assert_true(t.result.data.len < 2 * TOOL_MAX_RESULT);
    assert_true(str_starts(tool_check_text(&t), STR("line 00000000000001\nline 00000000000002\n")));
    assert_true(str_ends(tool_check_text(&t), STR("line 00000001048575\nline 00000001048576\n")));
    ASSERT_SAYS(&t, "lines) left out here");
#ifndef __SANITIZE_ADDRESS__
#ifndef __SANITIZE_THREAD__
    assert_true(max_rss_kb() - before_kb < 6 * 1024);
#endif
#endif
    /* What fits is shown whole, and makes no file. */
    assert_true(run(&t, "head -c 29000 /dev/zero | tr '\\\\0' y"));
    assert_int_equal(t.result.text.len, 29000);
    assert_true(run(&t, "head -c 29001 /dev/zero | tr '\\\\0' y"));
    assert_int_equal(file_size_in(tool_check_text(&t), path), 29001);
    tool_check_end(&t);
    assert_nothing_left();
    (void)before_kb;
}

/* Lets the command go on that waits for this. */
static void tell_progress(struct tool_call *call, struct str text)
{
    tool_check_progress(call, text);
    if (str_ends(text, STR("part")))
        tool_check_put(call->agent, "shown", STR(""));
}

static void progress(void **state)
{
    struct tool_check t;
    struct tool_call call = {
        .entry = &tool_bash_entry, .id = STR("toolu_x"), .progress = tell_progress, .agent = &t};

    (void)state;
    tool_check_begin(&t);
    call.workspace = t.workspace;
    call.cancel = t.cancel;
    /* Waits for its own progress to be shown: the last lines come although nothing follows. */
    assert_int_equal(json_parse_copy(&t.arena,
                                     STR("{\"command\":\"seq 1 100; printf part; until [ -e shown "
                                         "]; do sleep 0.02; done\"}"),
                                     &call.args, NULL, NULL),
                     0);
    assert_int_equal(tool_bash_entry.run(&call, &t.result, NULL), 0);
    assert_true(str_is(buf_str(&t.progress), "96\n97\n98\n99\n100\npart"));
    tool_check_end(&t);
}

static void no_file_possible(void **state)
{
    struct tool_check t;
    char state_dir[PATH_MAX + 20];

    (void)state;
    tool_check_begin(&t);
    snprintf(state_dir, sizeof(state_dir), "%s.state", t.dir);
    assert_int_equal(file_replace(state_dir, STR("in the way"), 0600, NULL), 0);
    assert_true(run(&t, "seq 1 100000"));
    ASSERT_SAYS(&t, "bytes were not saved: ");
    ASSERT_SAYS(&t, "\n100000\n");
    tool_check_end(&t);
}

/* ---- in the background ---- */

struct task_mail {
    struct mail mail;
    struct event *event;
};

static void task_mail_free(struct mail *m)
{
    event_unref(((struct task_mail *)m)->event);
    mem_freep(&m);
}

static const struct mail_kind task_mail_kind = {"task", task_mail_free};

static void on_task(void *arg, struct event *e)
{
    struct task_mail *m;

    if (e->kind != EVENT_TASK_STARTED && e->kind != EVENT_TASK_DONE) {
        event_unref(e);
        return;
    }
    m = mem_zalloc(sizeof(*m));
    m->mail.kind = &task_mail_kind;
    m->event = e;
    mailbox_send(arg, &m->mail);
}

static void on_notice(void *arg, const char *owner, const struct task_view *v, struct str text,
                      bool is_quiet)
{
    (void)arg, (void)owner, (void)v, (void)text, (void)is_quiet;
}

static void listen_to(struct workspace *w, struct mailbox *mb)
{
    struct task_listener l = {on_task, on_notice, mb};

    task_table_listen(task_table_of(w), &l);
}

static void assert_news(struct mailbox *mb, const char *id, enum task_state status,
                        const char *summary)
{
    struct err err = {0};
    struct mail *m = NULL;
    struct event *e;

    if (mailbox_take(mb, NULL, clock_mono_ms() + LONG_MS, &m, &err) < 0)
        fail_msg("no news: %s", err.text);
    assert_ptr_equal(m->kind, &task_mail_kind);
    e = ((struct task_mail *)m)->event;
    assert_true(str_is(e->id, id));
    assert_true(str_is(e->name, task_state_name(status)));
    if (e->kind == EVENT_TASK_DONE)
        assert_true(str_is(e->text, summary));
    assert_true(str_is(e->tool_id, "toolu_test"));
    assert_int_equal(access(arena_cstr(&e->arena, e->data), R_OK), 0);
    mail_free(m);
}

static bool look(struct tool_check *t, const char *id)
{
    return tool_check_runf(t, &tool_bash_output_entry, "{\"bash_id\":\"%s\"}", id);
}

static bool start(struct tool_check *t, const char *command)
{
    return tool_check_runf(t, &tool_bash_entry, "{\"command\":\"%s\",\"run_in_background\":true}",
                           command);
}

/* Looks until there is something new; what a command writes takes its time. */
static void look_until(struct tool_check *t, const char *id, const char *piece)
{
    int64_t until_ms = clock_mono_ms() + LONG_MS;

    do {
        assert_true(look(t, id));
        if (str_has(tool_check_text(t), str_of(piece)))
            return;
        sched_yield();
    } while (clock_mono_ms() < until_ms);
    fail_msg("no '%s' in:\n%s", piece, buf_cstr(&t->result.text));
}

static void background(void **state)
{
    struct tool_check t;
    struct mailbox *mb = mailbox_new();
    char command[200];

    (void)state;
    tool_check_begin(&t);
    listen_to(t.workspace, mb);
    assert_false(look(&t, "b00000001"));
    ASSERT_SAYS(&t, "none was started");

    /* Writes a line when told so through a fifo. */
    assert_true(run(&t, "mkfifo in; seq 1 3 >seed"));
    assert_true(start(&t, "cat seed; while read x; do echo got $x; done <in; exit 5"));
    ASSERT_SAYS(&t, "b00000001");
    assert_true(str_is(data_of(&t, "backgroundTaskId"), "b00000001"));
    assert_news(mb, "b00000001", TASK_RUNNING, "running");
    look_until(&t, "b00000001", "3\n");
    assert_true(str_is(data_of(&t, "status"), "running"));
    assert_true(look(&t, "b00000001"));
    ASSERT_SAYS(&t, "b00000001: running\n(no new output)");
    assert_true(run(&t, "printf 'one\\\\ntwo\\\\nthree\\\\n' >in"));
    assert_news(mb, "b00000001", TASK_FAILED, "failed with exit code 5");
    assert_true(tool_check_run(&t, &tool_bash_output_entry,
                               "{\"bash_id\":\"b00000001\",\"filter\":\"^got t\\\\w+$\"}"));
    assert_true(
        str_is(tool_check_text(&t), "b00000001: failed with exit code 5\ngot two\ngot three\n"));
    assert_true(str_is(json_number(json_get(tool_check_data(&t), "exitCode")), "5"));
    assert_true(look(&t, "b00000001"));
    ASSERT_SAYS(&t, "(no new output)");

    /* A line that has not ended is shown once, and again when there is more of it. */
    assert_true(start(&t, "printf 'name? '; read x <in; echo $x; kill -9 $$"));
    assert_news(mb, "b00000002", TASK_RUNNING, "running");
    look_until(&t, "b00000002", "name? ");
    assert_true(look(&t, "b00000002"));
    ASSERT_SAYS(&t, "(no new output)");
    assert_true(run(&t, "echo tenax >in"));
    assert_news(mb, "b00000002", TASK_FAILED, "failed: killed by SIGKILL");
    assert_true(look(&t, "b00000002"));
    assert_true(str_is(tool_check_text(&t), "b00000002: failed: killed by SIGKILL\nname? tenax\n"));

    snprintf(command, sizeof(command), "sleep %d & exec sleep %d", long_sleep(), long_sleep());
    assert_true(start(&t, command));
    assert_news(mb, "b00000003", TASK_RUNNING, "running");
    assert_true(tool_check_run(&t, &tool_kill_shell_entry, "{\"shell_id\":\"b00000003\"}"));
    assert_news(mb, "b00000003", TASK_KILLED, "killed");
    assert_int_equal(count_sleeps(), 0);
    assert_true(look(&t, "b00000003"));
    assert_true(str_is(data_of(&t, "status"), "killed"));
    assert_true(tool_check_run(&t, &tool_kill_shell_entry, "{\"shell_id\":\"b00000003\"}"));
    ASSERT_SAYS(&t, "over already");

    assert_false(tool_check_run(&t, &tool_kill_shell_entry, "{\"shell_id\":\"b00000009\"}"));
    assert_int_equal(t.failed, ERR_NOT_FOUND);
    ASSERT_SAYS(&t, "b00000001 (failed), b00000002 (failed), b00000003 (killed)");
    assert_false(tool_check_run(&t, &tool_bash_output_entry,
                                "{\"bash_id\":\"b00000001\",\"filter\":\"a(b\"}"));
    assert_int_equal(t.failed, ERR_BAD_INPUT);
    ASSERT_SAYS(&t, "parenthesis");
    tool_check_end(&t);
    mailbox_close(mb);
    mailbox_unref(mb);
    assert_nothing_left();
}

static void background_much(void **state)
{
    struct tool_check t;
    struct mailbox *mb = mailbox_new();
    char path[PATH_MAX];

    (void)state;
    tool_check_begin(&t);
    listen_to(t.workspace, mb);
    assert_true(start(&t, "seq 1 2000000"));
    assert_news(mb, "b00000001", TASK_RUNNING, "running");
    assert_news(mb, "b00000001", TASK_COMPLETED, "completed (exit code 0)");
    assert_true(look(&t, "b00000001"));
    assert_true(t.result.text.len < TOOL_MAX_RESULT);
    assert_int_equal(file_size_in(tool_check_text(&t), path), 14888896);
    ASSERT_SAYS(&t, "\n2000000\n");

    assert_true(start(&t, "seq 1 2000000; printf 1999999"));
    assert_news(mb, "b00000002", TASK_RUNNING, "running");
    assert_news(mb, "b00000002", TASK_COMPLETED, "completed (exit code 0)");
    assert_true(tool_check_run(&t, &tool_bash_output_entry,
                               "{\"bash_id\":\"b00000002\",\"filter\":\"9{5}$\"}"));
    assert_true(
        str_starts(tool_check_text(&t), STR("b00000002: completed (exit code 0)\n99999\n")));
    assert_true(str_ends(tool_check_text(&t), STR("1999999\n1999999")));
    tool_check_end(&t);
    mailbox_close(mb);
    mailbox_unref(mb);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* No room for the stack of one more thread, and little else. */
static void limit_memory(bool on)
{
    static struct rlimit old;
    struct rlimit now;
    long pages = 0;
    FILE *f;

    if (!on) {
        assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
        return;
    }
    f = fopen("/proc/self/statm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld", &pages), 1);
    fclose(f);
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    now = old;
    now.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (100 << 10);
    assert_int_equal(setrlimit(RLIMIT_AS, &now), 0);
}

/* A command whose output cannot be read does not run, and observers of its start are notified. */
static void background_unheard(void **state)
{
    struct tool_check t;
    struct mailbox *mb = mailbox_new();
    char command[100];

    (void)state;
    tool_check_begin(&t);
    listen_to(t.workspace, mb);
    assert_true(run(&t, "true")); /* all other threads are there */
    snprintf(command, sizeof(command), "sleep %d", long_sleep());
    limit_memory(true);
    assert_false(start(&t, command));
    limit_memory(false);
    assert_news(mb, "b00000001", TASK_RUNNING, "running");
    assert_news(mb, "b00000001", TASK_KILLED, "killed");
    assert_true(start(&t, "true"));
    assert_news(mb, "b00000002", TASK_RUNNING, "running");
    assert_news(mb, "b00000002", TASK_COMPLETED, "completed (exit code 0)");
    tool_check_end(&t);
    mailbox_close(mb);
    mailbox_unref(mb);
    assert_nothing_left();
}
#endif

/* Those that still run end with the workspace, and no more than 32 do. */
static void background_many(void **state)
{
    struct tool_check t;
    char command[100];

    (void)state;
    tool_check_begin(&t);
    snprintf(command, sizeof(command), "sleep %d", long_sleep());
    for (int i = 0; i < 32; i++)
        assert_true(start(&t, command));
    assert_false(start(&t, command));
    ASSERT_SAYS(&t, "32 commands run in the background");
    /* The last shell may not have become its sleep yet. */
    for (int i = 0; i < 1000 && count_sleeps() < 32; i++)
        poll(NULL, 0, 10);
    assert_int_equal(count_sleeps(), 32);
    tool_check_end(&t);
    assert_nothing_left();
}

static void leaves_no_descriptors(void **state)
{
    struct tool_check t;
    int before = 0;

    (void)state;
    tool_check_begin(&t);
    for (int i = 0; i < 40; i++) {
        run(&t, i % 2 ? "seq 1 20000; cd /" : "sleep 0 & exit 3");
        if (i == 1)
            before = count_dir("/proc/self/fd");
    }
    /* A warden that leaves and the spare one come and go beside us: a few, not one for each run. */
    assert_in_range(count_dir("/proc/self/fd"), 1, before + 4);
    tool_check_end(&t);
    proc_shutdown();
}

UNIT_TEST(bash)
{
    const struct CMUnitTest tests[] = {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(background_unheard), /* first: the stack of a thread that has ended is
                                                used again */
#endif
        cmocka_unit_test(says),
        cmocka_unit_test(refused),
        cmocka_unit_test(what_it_is_about),
        cmocka_unit_test(dirs),
        cmocka_unit_test(dir_that_is_gone),
        cmocka_unit_test(timeouts),
        cmocka_unit_test(leaves_something),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(much_output),
        cmocka_unit_test(progress),
        cmocka_unit_test(no_file_possible),
        cmocka_unit_test(background),
        cmocka_unit_test(background_much),
        cmocka_unit_test(background_many),
        cmocka_unit_test(leaves_no_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
