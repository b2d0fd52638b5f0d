/*
 * The status line: the built-in one at all widths, when a command runs (with times handed in), and
 * real commands: every rule of its table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "guard/workspace.h"
#include "proc/proc.h"
#include "store/scratch_check.h"
#include "tui/status/statusline.h"
#include "tui/status/statusline_git.h"
#include "tui/status/statusline_plan.h"
#include "unit.h"

#define LONG_MS 60000 /* for what surely comes */

/* ---- the built-in line ---- */

#define ALL                                                                                        \
    .model = STR_INIT("claude-opus-4-5"), .context_percent = 42, .usd = 1.5, .mode = "plan",       \
    .goal = STR_INIT("goal: all tests pass, 3 of 5"), .branch = STR_INIT("main"), .tasks = 2

static const struct {
    const char *name;
    struct status status;
    int cols;
    bool ascii;
    const char *shown;
} status_rows[] = {
    {"all of it",
     {ALL},
     120,
     false,
     "claude-opus-4-5 · 42% context · $1.50 · main · 2 tasks · plan mode on · goal: all tests "
     "pass, "
     "3 of 5"},
    {"ascii",
     {ALL},
     120,
     true,
     "claude-opus-4-5, 42% context, $1.50, main, 2 tasks, plan mode on, goal: all tests pass, "
     "3 of 5"},
    {"the goal is cut first",
     {ALL},
     80,
     false,
     "claude-opus-4-5 · 42% context · $1.50 · main · 2 tasks · plan mode on · goal: a…"},
    {"then the branch goes",
     {ALL},
     72,
     false,
     "claude-opus-4-5 · 42% context · $1.50 · plan mode on · goal: all tests …"},
    {"then the tasks",
     {ALL},
     60,
     false,
     "claude-opus-4-5 · 42% context · plan mode on · goal: all te…"},
    {"then cost and model", {ALL}, 40, false, "42% context · plan mode on · goal: all …"},
    {"20 columns", {ALL}, 20, false, "plan mode on"},
    {"10 columns: the mode", {ALL}, 10, false, "plan mode…"},
    {"nothing known",
     {.context_percent = -1, .usd = NAN, .mode = "default"},
     80,
     false,
     "? for shortcuts"},
    {"small sums",
     {.context_percent = 3, .usd = 0.0123, .mode = "default"},
     80,
     false,
     "3% context · $0.012 · ? for shortcuts"},
    {"bypass",
     {.context_percent = -1, .usd = NAN, .mode = "bypassPermissions"},
     80,
     false,
     "permissions off · Shift-Tab to change"},
    {"vim",
     {.context_percent = 9, .usd = NAN, .vim = "INSERT", .mode = "acceptEdits"},
     80,
     false,
     "INSERT · 9% context · accept edits on · Shift-Tab to change"},
    {"one task",
     {.context_percent = -1, .usd = NAN, .tasks = 1},
     80,
     false,
     "1 task · ? for shortcuts"},
    {"wide characters",
     {.context_percent = -1, .usd = NAN, .goal = STR_INIT("全部のテストが通る")},
     10,
     false,
     "全部のテ…"},
};

static void built_in(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(status_rows); i++) {
        CLEANUP(lines_release) struct lines ls = LINES_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
        struct view v = {.cols = status_rows[i].cols, .rows = 1, .ascii = status_rows[i].ascii};

        status_draw(&status_rows[i].status, &v, &ls);
        assert_int_equal(lines_count(&ls), 1);
        buf_add(&text, lines_at(&ls, 0).text);
        if (!str_is(buf_str(&text), status_rows[i].shown))
            fail_msg("%s: '%s', and not '%s'", status_rows[i].name, buf_cstr(&text),
                     status_rows[i].shown);
    }
}

/* Below a line of the user's own nothing of the state is ever missing. */
static void state_alone(void **state)
{
    static const struct {
        struct status status;
        const char *shown;
    } rows[] = {
        {{ALL}, "2 tasks · plan mode on · goal: all tests pass, 3 of 5"},
        {{.mode = "bypassPermissions"}, "permissions off · Shift-Tab to change"},
        {{.mode = "default"}, "? for shortcuts"},
        {{.mode = "auto", .hint = STR_INIT("Interrupted")}, "auto mode on"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(lines_release) struct lines ls = LINES_INIT;
        struct view v = {.cols = 80, .rows = 1};

        status_draw_state(&rows[i].status, &v, &ls);
        if (!str_is(lines_at(&ls, 0).text, rows[i].shown))
            fail_msg("'%.*s', and not '%s'", STR_ARG(lines_at(&ls, 0).text), rows[i].shown);
    }
}

/* Whatever the width: one row that fits. */
static void built_in_fits(void **state)
{
    struct status s = {ALL};

    (void)state;
    s.vim = "NORMAL";
    for (int cols = 1; cols <= 200; cols++) {
        CLEANUP(lines_release) struct lines ls = LINES_INIT;
        struct view v = {.cols = cols, .rows = 1};

        status_draw(&s, &v, &ls);
        assert_int_equal(lines_count(&ls), 1);
        assert_true(line_width(lines_at(&ls, 0)) <= cols);
    }
}

/* ---- when it runs ---- */

/* "h": something happened; "s5": settings, the same command, every 5 s; "c5": another command,
 * every 5 s; "x": stopped; "-": only time passes. After it whether a run begins at that time. */
static const struct {
    const char *name;
    const char *what;
} plan_rows[] = {
    {"300 ms after it", "0h 299- 300-run 9999-"},
    {"again and again: 300 ms after the last", "0h 200h 400h 699- 700-run 9999-"},
    {"two reasons, one run", "0h 100h 400-run 700-"},
    {"another command: at once", "0c0run 9999-"},
    {"the same command: not by itself", "0s0 9999-"},
    {"the timer goes through the debounce",
     "0s5 4999- 5000- 5299- 5300-run 9999- 10000- 10300-run"},
    {"the timer and a reason: one run", "0s5 4900h 5000- 5200-run 5300- 9999-"},
    {"a late look is one tick, not many", "0s5 60000- 60300-run 60301- 65000- 65300-run"},
    {"a reload replaces the timer", "0s5 3000s7 5300- 9999- 10000- 10300-run"},
    {"a reload that says the same keeps it", "0s5 3000s5 5000- 5300-run"},
    {"another command begins the timer anew", "0s5 3000c5run 5300- 8000- 8300-run"},
    {"no timer any more", "0s5 3000s0 5300- 9999- 99999-"},
    {"stopped", "0s5 1h 2x 9999-"},
};

static void plan(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(plan_rows); i++) {
        struct statusline_plan p = STATUSLINE_PLAN_INIT;
        struct str rest = str_of(plan_rows[i].what);
        struct str step;

        while (str_cut(&rest, ' ', &step)) {
            char *end;
            int64_t now = strtol(step.ptr, &end, 10);
            char what = *end;
            bool runs = str_ends(step, STR("run"));
            int64_t seconds = strtol(end + 1, NULL, 10);

            if (what == 'h')
                statusline_plan_happened(&p, now);
            else if (what == 's' || what == 'c')
                statusline_plan_settings(&p, now, seconds * 1000, what == 'c');
            else if (what == 'x')
                statusline_plan_stop(&p);
            if (statusline_plan_step(&p, now) != runs)
                fail_msg("%s: at %.*s", plan_rows[i].name, STR_ARG(step));
            if (statusline_plan_next(&p) >= 0 && statusline_plan_next(&p) <= now)
                fail_msg("%s: at %.*s it is still due", plan_rows[i].name, STR_ARG(step));
        }
    }
}

/* ---- git ---- */

static const struct {
    const char *url, *host, *owner, *name; /* host "": no such thing */
} remote_rows[] = {
    {"git@github.com:ada/engine.git", "github.com", "ada", "engine"},
    {"https://github.com/ada/engine.git", "github.com", "ada", "engine"},
    {"https://github.com/ada/engine/", "github.com", "ada", "engine"},
    {"https://ada:secret@git.example.org:8443/ada/engine", "git.example.org", "ada", "engine"},
    {"ssh://git@git.example.org:22/ada/engine.git", "git.example.org", "ada", "engine"},
    {"https://gitlab.com/group/sub/engine.git", "gitlab.com", "group/sub", "engine"},
    {"/srv/git/engine.git", "", "", ""},
    {"../engine", "", "", ""},
    {"file:///srv/engine.git", "", "", ""},
    {"git@host", "", "", ""},
    {"", "", "", ""},
};

static void remotes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(remote_rows); i++) {
        struct statusline_git git = {0};
        bool found = statusline_remote(str_of(remote_rows[i].url), &git);

        if (found != (remote_rows[i].host[0] != '\0') ||
            (found &&
             (!str_is(git.host, remote_rows[i].host) || !str_is(git.owner, remote_rows[i].owner) ||
              !str_is(git.name, remote_rows[i].name))))
            fail_msg("%s: %d '%.*s' '%.*s' '%.*s'", remote_rows[i].url, found, STR_ARG(git.host),
                     STR_ARG(git.owner), STR_ARG(git.name));
    }
}

static void git_files(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf link = BUF_INIT(4096);
    struct statusline_git git;

    (void)state;
    scratch_setup("dir m;dir m/.git;dir m/.git/worktrees;dir m/.git/worktrees/feature;dir t;"
                  "dir t/sub;file m/.git/HEAD 644 ref: refs/heads/main\n;"
                  "file m/.git/worktrees/feature/HEAD 644 ref: refs/heads/work/x\n;"
                  "file m/.git/worktrees/feature/commondir 644 ../..\n;"
                  "file m/.git/worktrees/feature/gitdir 644 ../../../../t/.git\n;"
                  "file m/.git/config 644 [core]\n\turl = no\n[remote \"origin\"]\n\turl = "
                  "git@h.org:o/n.git\n");
    buf_addf(&link, "gitdir: %s\n", scratch("m/.git/worktrees/feature"));
    scratch_write("t/.git", buf_cstr(&link));

    statusline_git(&arena, scratch("m"), &git);
    assert_true(str_is(git.top, scratch("m")));
    assert_true(str_is(git.branch, "main"));
    assert_true(str_is(git.worktree, ""));
    assert_true(str_is(git.host, "h.org") && str_is(git.owner, "o") && str_is(git.name, "n"));

    statusline_git(&arena, scratch("t/sub"), &git);
    assert_true(str_is(git.top, scratch("t")));
    assert_true(str_is(git.branch, "work/x"));
    assert_true(str_is(git.worktree, "feature"));
    assert_true(str_is(git.main_top, scratch("m")));
    assert_true(str_is(git.main_branch, "main"));
    assert_true(str_is(git.name, "n"));

    statusline_git(&arena, "/", &git);
    assert_int_equal(git.top.len, 0);
}

/* ---- commands ---- */

struct stage {
    struct conf *conf;
    struct workspace *workspace;
    struct mailbox *to;
    struct statusline *line;
    struct statusline_place place;
    size_t written; /* how often the input was asked for */
};

static void write_input(void *arg, const struct statusline_seen *seen, struct buf *ret)
{
    struct stage *s = arg;

    __atomic_add_fetch(&s->written, 1, __ATOMIC_SEQ_CST);
    buf_addf(ret, "{\"vim\":\"%s\"}\n", seen->vim);
}

static void settings_at(const char *path, const char *json)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

    for (; *json; json++)
        buf_addc(&text, *json == '\'' ? '"' : *json);
    scratch_write(path, buf_cstr(&text));
}

/* user: settings with ' for ". */
static void stage_open(struct stage *s, const char *user, bool trusted)
{
    static char home[600];
    static char *environ_of[] = {home, (char *)"PATH=/usr/bin:/bin", NULL};
    struct conf_sources from = {.environ = environ_of, .trusted = trusted};
    struct err err = {0};

    *s = (struct stage){0};
    snprintf(home, sizeof(home), "HOME=%s", scratch("home"));
    if (user)
        settings_at("home/.tenax/settings.json", user);
    from.dir = scratch("work");
    from.etc = scratch("etc");
    if (conf_load(&from, &s->conf, &err) < 0)
        fail_msg("%s", err.text);
    s->workspace = workspace_new(scratch("work"), scratch("state"), environ_of);
    s->to = mailbox_new();
    s->place = (struct statusline_place){
        .conf = s->conf, .workspace = s->workspace, .write = write_input, .arg = s};
}

static void stage_start(struct stage *s)
{
    s->line = statusline_new_at(&s->place, s->to);
}

static void stage_close(struct stage *s)
{
    statusline_free(s->line);
    mailbox_close(s->to);
    mailbox_unref(s->to);
    workspace_unref(s->workspace);
    conf_unref(s->conf);
    settings_at("home/.tenax/settings.json", "{}");
}

/* The settings are these now. */
static void stage_change(struct stage *s, const char *user)
{
    struct err err = {0};

    settings_at("home/.tenax/settings.json", user);
    assert_int_equal(conf_refresh(s->conf, NULL, &err), 1);
    statusline_happened(s->line, STATUS_SETTINGS, NULL);
}

static void drawn(struct stage *s, struct buf *ret)
{
    CLEANUP(lines_release) struct lines ls = LINES_INIT;
    struct view v = {.cols = 40, .rows = 10};

    statusline_draw(s->line, &v, &ls);
    buf_clear(ret);
    for (size_t i = 0; i < lines_count(&ls); i++)
        buf_addf(ret, "%.*s|", STR_ARG(lines_at(&ls, i).text));
}

static void shows(struct stage *s, const char *expect)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

    drawn(s, &text);
    if (!str_is(buf_str(&text), expect))
        fail_msg("'%s', and not '%s'", buf_cstr(&text), expect);
}

static void next_text(struct stage *s)
{
    struct err err = {0};
    struct mail *m;

    if (mailbox_take(s->to, NULL, clock_mono_ms() + LONG_MS, &m, &err) < 0)
        fail_msg("no text comes: %s", err.text);
    assert_ptr_equal(m->kind, &statusline_mail_kind);
    mail_free(m);
}

/* Waits for a new text. */
static void next_shows(struct stage *s, const char *expect)
{
    next_text(s);
    shows(s, expect);
}

/* A named pipe: a writer that opens it waits until the test has opened it, and the test until there
 * is a writer. */
static void pipe_make(void)
{
    assert_int_equal(mkfifo(scratch("held"), 0600), 0);
}

static int pipe_open(void)
{
    int fd = open(scratch("held"), O_RDONLY | O_CLOEXEC);
    char byte;

    assert_true(fd >= 0);
    assert_int_equal(read(fd, &byte, 1), 1);
    return fd;
}

/* All who had it open for writing are gone. */
static void pipe_ends(int fd)
{
    char byte;

    assert_int_equal(read(fd, &byte, 1), 0);
    close(fd);
    unlink(scratch("held"));
}

/* A script that holds it until its end. */
static void hold_script(struct buf *ret, const char *script)
{
    buf_clear(ret);
    buf_addf(ret, "exec 9>%s; echo >&9; %s\n", scratch("held"), script);
}

#define RUN(command) "{'statusLine':{'type':'command','command':'" command "'}}"

static const struct {
    const char *name;
    const char *user;  /* settings */
    const char *shown; /* NULL: nothing runs */
} text_rows[] = {
    {"a command", RUN("echo hello"), "hello|"},
    {"no type", "{'statusLine':{'command':'echo hello'}}", "hello|"},
    {"another type is warned about and makes no difference",
     "{'statusLine':{'type':'static','command':'echo hello'}}", "hello|"},
    {"no command", "{'statusLine':{'type':'command'}}", NULL},
    {"an empty command", RUN(" "), NULL},
    {"no status line", "{}", NULL},
    {"padding", "{'statusLine':{'command':'echo hello','padding':2}}", "  hello|"},
    {"padding on both sides",
     "{'statusLine':{'command':'echo 123456789012345678901234567890123456','padding':3}}",
     "   123456789012345678901234567890123…|"},
    {"standard input", RUN("cat"), "{\\\"vim\\\":\\\"\\\"}|"},
    {"trimmed, lines too, empty ones dropped",
     RUN("printf \\\"  a  \\\\n\\\\n \\\\t b\\\\n \\\\n\\\""), "a|b|"},
    {"lines keep their order", RUN("printf \\\"3\\\\n1\\\\n2\\\""), "3|1|2|"},
    {"standard error is nothing to show", RUN("echo no >&2; echo yes"), "yes|"},
    {"its folder is known", RUN("test -d \\\"$CLAUDE_PROJECT_DIR\\\" && pwd | grep -c work"), "1|"},
    {"a tilde", RUN("~/line.sh"), "from home|"},
    {"what could move the cursor does not", RUN("printf \\\"a\\\\033[2Jb\\\""), "ab|"},
    {"very much output", RUN("head -c 1000000 /dev/zero | tr \\\\\\\\0 x"),
     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…|"},
};

static void texts(void **state)
{
    (void)state;
    scratch_write("home/line.sh", "#!/bin/sh\necho from home\n");
    chmod(scratch("home/line.sh"), 0755);
    for (size_t i = 0; i < ARRAY_LEN(text_rows); i++) {
        struct stage s;

        print_message("         %s\n", text_rows[i].name);
        stage_open(&s, text_rows[i].user, true);
        stage_start(&s);
        assert_int_equal(statusline_is_on(s.line), text_rows[i].shown != NULL);
        if (text_rows[i].shown) {
            CLEANUP(buf_release) struct buf expect = BUF_INIT(4096);

            for (const char *c = text_rows[i].shown; *c; c++) {
                if (*c != '\\')
                    buf_addc(&expect, *c);
            }
            next_shows(&s, buf_cstr(&expect));
        } else {
            shows(&s, "");
        }
        stage_close(&s);
    }
}

static void colors_are_kept(void **state)
{
    CLEANUP(lines_release) struct lines ls = LINES_INIT;
    struct view v = {.cols = 40, .rows = 10};
    struct line l;
    struct stage s;

    (void)state;
    stage_open(&s, RUN("printf \\\"\\\\033[31mred\\\\033[0m plain\\\""), true);
    stage_start(&s);
    next_shows(&s, "red plain|");
    statusline_draw(s.line, &v, &ls);
    l = lines_at(&ls, 0);
    assert_true(l.span_count >= 2);
    assert_true(l.spans[0].style.fg != 0);
    assert_true(l.spans[l.span_count - 1].style.fg == 0);
    stage_close(&s);
}

/* Before the first result its row is kept free; a command that is set later begins then. */
static void row_is_kept_free(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s, "{}", true);
    stage_start(&s);
    shows(&s, "");
    stage_change(&s, RUN("echo now"));
    assert_true(statusline_is_on(s.line));
    next_shows(&s, "now|");
    stage_change(&s, "{}");
    assert_false(statusline_is_on(s.line));
    shows(&s, "");
    stage_close(&s);

    stage_open(&s, RUN("exec sleep 1000"), true);
    stage_start(&s);
    shows(&s, "|");
    stage_close(&s);
}

/* The command is always the same, what it does is in a file. */
#define SCRIPT RUN("sh ./now.sh")

static void script_is(const char *text)
{
    scratch_write("work/now.sh", text);
}

static void script_runs(struct stage *s, const char *text)
{
    script_is(text);
    statusline_happened(s->line, STATUS_MESSAGE, NULL);
}

/* No further calls. */
static void nothing_more(struct stage *s)
{
    assert_null(mailbox_try(s->to));
}

/* Exit code, signal, time, a program that is not there: the old text stays. Nothing: it is
 * cleared. */
static void failures_keep_the_text(void **state)
{
    static const struct {
        const char *name, *script;
    } rows[] = {
        {"exit code", "echo bad; exit 1"},
        {"signal", "echo bad; kill -9 $$"},
        {"not there", "echo bad; /no/such/program"},
        {"too long", "echo bad; exec sleep 1000"},
    };
    struct stage s;

    (void)state;
    script_is("echo good");
    stage_open(&s, SCRIPT, true);
    s.place.timeout_ms = 2000;
    stage_start(&s);
    next_shows(&s, "good|");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf script = BUF_INIT(4096);

        print_message("         %s\n", rows[i].name);
        pipe_make();
        hold_script(&script, rows[i].script);
        script_runs(&s, buf_cstr(&script));
        pipe_ends(pipe_open());
        shows(&s, "good|");
        buf_clear(&script);
        buf_addf(&script, "echo good %zu\n", i);
        script_runs(&s, buf_cstr(&script));
        buf_clear(&script);
        buf_addf(&script, "good %zu|", i);
        next_shows(&s, buf_cstr(&script));
        script_runs(&s, "echo good\n");
        next_shows(&s, "good|");
        nothing_more(&s);
    }
    script_runs(&s, "true\n");
    next_shows(&s, "");
    assert_true(statusline_is_on(s.line));
    stage_close(&s);
}

/* One at a time: a newer run ends the older, whose output is not shown. */
static void newer_ends_older(void **state)
{
    CLEANUP(buf_release) struct buf script = BUF_INIT(4096);
    struct stage s;
    int fd;

    (void)state;
    pipe_make();
    hold_script(&script, "echo old; exec sleep 1000");
    script_is(buf_cstr(&script));
    stage_open(&s, SCRIPT, true);
    s.place.timeout_ms = LONG_MS;
    stage_start(&s);
    fd = pipe_open();
    script_runs(&s, "echo new\n");
    next_shows(&s, "new|");
    pipe_ends(fd);
    nothing_more(&s);
    stage_close(&s);
}

static void freed_while_it_runs(void **state)
{
    CLEANUP(buf_release) struct buf script = BUF_INIT(4096);
    struct stage s;
    int fd;

    (void)state;
    pipe_make();
    hold_script(&script, "exec sleep 1000");
    script_is(buf_cstr(&script));
    stage_open(&s, SCRIPT, true);
    stage_start(&s);
    fd = pipe_open();
    stage_close(&s);
    pipe_ends(fd);
}

static void same_text_is_not_told(void **state)
{
    CLEANUP(buf_release) struct buf script = BUF_INIT(4096);
    struct stage s;

    (void)state;
    pipe_make();
    script_is("echo same\n");
    stage_open(&s, SCRIPT, true);
    stage_start(&s);
    next_shows(&s, "same|");
    hold_script(&script, "echo same");
    script_runs(&s, buf_cstr(&script));
    pipe_ends(pipe_open());
    script_runs(&s, "echo other\n");
    next_shows(&s, "other|");
    nothing_more(&s);
    stage_close(&s);
}

/* Another command runs at once, and what comes of it first is logged; the same one is not run
 * because some other setting has changed. */
static void changed_command(void **state)
{
    CLEANUP(buf_release) struct buf log = {0};
    struct err err = {0};
    struct stage s;
    size_t written;

    (void)state;
    assert_int_equal(log_open(scratch("log"), &err), 0);
    stage_open(&s, RUN("echo one"), true);
    stage_start(&s);
    next_shows(&s, "one|");
    stage_change(&s, RUN("echo two"));
    next_shows(&s, "two|");
    written = s.written;
    stage_change(&s, "{'statusLine':{'command':'echo two','padding':1}}");
    stage_change(&s, "{'statusLine':{'command':'echo three','padding':1}}");
    next_shows(&s, " three|");
    assert_int_equal(s.written, written + 1);
    stage_close(&s);
    log_close();
    assert_int_equal(file_slurp(scratch("log"), 1 << 20, &log, &err), 0);
    assert_true(str_has(buf_str(&log), STR("echo two: exited 0")));
    assert_true(str_has(buf_str(&log), STR("echo three: exited 0")));
}

/* At once, and then by itself: some of its texts may be passed over when others follow. */
static void timer(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct stage s;

    (void)state;
    script_is("echo x >> count; echo $(wc -l < count)\n");
    stage_open(&s, "{'statusLine':{'command':'sh ./now.sh','refreshInterval':0.01}}", true);
    stage_start(&s);
    while (strtol(buf_cstr(&text), NULL, 10) < 3) {
        next_text(&s);
        drawn(&s, &text);
    }
    stage_close(&s);
    unlink(scratch("work/count"));
}

static void vim_is_told(void **state)
{
    struct status now = {.context_percent = -1, .usd = NAN, .vim = "INSERT"};
    struct stage s;

    (void)state;
    stage_open(&s, RUN("cat"), true);
    stage_start(&s);
    next_shows(&s, "{\"vim\":\"\"}|");
    statusline_happened(s.line, STATUS_CHANGED, &now);
    next_shows(&s, "{\"vim\":\"INSERT\"}|");
    stage_close(&s);
}

/* ---- gates ---- */

static const struct {
    const char *name;
    const char *user, *project, *managed;
    bool trusted;
    bool on;
    const char *shown;
    bool has_notice;
} gate_rows[] = {
    {"hooks off: silent", "{'disableAllHooks':true,'statusLine':{'command':'echo user'}}", "{}",
     "{}", true, false, "", false},
    {"hooks off: what is managed runs", "{'disableAllHooks':true}", "{}",
     "{'statusLine':{'command':'echo managed'}}", true, true, "managed|", false},
    {"managed only: not the user's", RUN("echo user"), "{}", "{'allowManagedHooksOnly':true}", true,
     false, "", false},
    {"managed only: the managed one", RUN("echo user"), "{}",
     "{'allowManagedHooksOnly':true,'statusLine':{'command':'echo managed'}}", true, true,
     "managed|", false},
    {"trusted: the project's", RUN("echo user"), RUN("echo project"), "{}", true, true, "project|",
     false},
    {"untrusted: not the project's", "{}", RUN("echo project"), "{}", false, false, "", true},
    {"untrusted: the user's own", RUN("echo user"), RUN("echo project"), "{}", false, true, "user|",
     true},
};

static void gates(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(gate_rows); i++) {
        const struct strv *warnings;
        struct stage s;

        print_message("         %s\n", gate_rows[i].name);
        settings_at("work/.tenax/settings.json", gate_rows[i].project);
        settings_at("etc/tenax/managed-settings.json", gate_rows[i].managed);
        stage_open(&s, gate_rows[i].user, gate_rows[i].trusted);
        stage_start(&s);
        assert_int_equal(statusline_is_on(s.line), gate_rows[i].on);
        if (gate_rows[i].on)
            next_shows(&s, gate_rows[i].shown);
        else
            shows(&s, "");
        warnings = conf_warnings(s.conf);
        assert_int_equal(warnings->len, gate_rows[i].has_notice);
        if (warnings->len) {
            assert_true(str_has(str_of(warnings->ptr[0]), STR("statusLine")));
            assert_true(str_has(str_of(warnings->ptr[0]), STR("tenax trust")));
        }
        stage_close(&s);
    }
    settings_at("work/.tenax/settings.json", "{}");
    settings_at("etc/tenax/managed-settings.json", "{}");
}

static int make(void **state)
{
    (void)state;
    scratch_make();
    scratch_setup("dir home;dir home/.tenax;dir work;dir work/.tenax;dir state;dir etc;dir "
                  "etc/tenax;file home/.tenax/settings.json 600 {};file work/.tenax/settings.json "
                  "600 {};file etc/tenax/managed-settings.json 600 {}");
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    proc_shutdown();
    scratch_remove();
    return 0;
}

UNIT_TEST(statusline)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in),
        cmocka_unit_test(state_alone),
        cmocka_unit_test(built_in_fits),
        cmocka_unit_test(plan),
        cmocka_unit_test(remotes),
        cmocka_unit_test(git_files),
        cmocka_unit_test(texts),
        cmocka_unit_test(colors_are_kept),
        cmocka_unit_test(row_is_kept_free),
        cmocka_unit_test(failures_keep_the_text),
        cmocka_unit_test(newer_ends_older),
        cmocka_unit_test(freed_while_it_runs),
        cmocka_unit_test(same_text_is_not_told),
        cmocka_unit_test(changed_command),
        cmocka_unit_test(timer),
        cmocka_unit_test(vim_is_told),
        cmocka_unit_test(gates),
    };

    return cmocka_run_group_tests(tests, make, unmake);
}
