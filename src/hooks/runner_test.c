/*
 * The runner with real commands, functions and a scripted model: who runs, beside whom, for how
 * long, and what comes of it.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/hook.h"
#include "agent/hook_sight.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "guard/rule.h"
#include "guard/workspace.h"
#include "hooks/registry.h"
#include "hooks/runner.h"
#include "hooks/settings.h"
#include "json/json.h"
#include "llm/test_spending.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "unit.h"

/* A folder with settings, and everything a session has of hooks. */
struct bench {
    char dir[64];
    struct conf *conf;
    struct workspace *workspace;
    struct hook_registry *registry;
    struct runner *runner;
    struct strv warnings;
    struct hook_outcome outcome;
    struct paid paid;
    struct err err;
    char woken[200];   /* the text the model got at once ... */
    atomic_bool awake; /* ... when this is set */
    struct hook_watch watch;
    const char *subject; /* what all news is to be about */
    struct lock lock;    /* of what follows */
    struct strv ids, news;
};

static void put_file(const char *dir, const char *name, const char *text)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);

    assert_int_equal(file_replace(path, str_of(text), 0600, NULL), 0);
}

static void say_model(void *arg, struct buf *ret)
{
    const struct bench *b = arg;

    buf_addf(ret, "scripted/%s/model.scenario", b->dir);
}

static void wake(void *arg, struct str text)
{
    struct bench *b = arg;

    snprintf(b->woken, sizeof(b->woken), "%.*s", STR_ARG(text));
    atomic_store(&b->awake, true);
}

/* hooks: the value of that key; ' stands for ". scenario: what the model says; NULL: nothing. */
static void bench_begin(struct bench *b, const char *settings, const char *scenario)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(mem_freep) char *text = mem_dup(settings, strlen(settings));
    CLEANUP(mem_freep) char *home = NULL;
    struct conf_sources from = {.trusted = true, .etc = "/nowhere"};
    struct runner_spec spec = {
        .model = say_model, .model_arg = b, .wake = wake, .wake_arg = b, .watch = &b->watch};

    *b = (struct bench){.dir = "/tmp/hooks-runner-XXXXXX", .outcome = HOOK_OUTCOME_INIT};
    assert_non_null(mkdtemp(b->dir));
    for (char *at = text; *at; at++) {
        if (*at == '\'')
            *at = '"';
    }
    home = path_join(b->dir, ".tenax");
    assert_int_equal(mkdir(home, 0700), 0);
    put_file(b->dir, ".tenax/settings.json", text);
    put_file(b->dir, "model.scenario", scenario ? scenario : "step\n  text none\n");
    strv_addf(&env, "HOME=%s", b->dir);
    strv_addf(&env, "PATH=%s", getenv("PATH"));
    strv_adds(&env, "OTEL_SECRET=1");
    strv_adds(&env, "KEPT=yes");
    from.dir = b->dir;
    from.environ = strv_get(&env);
    if (conf_load(&from, &b->conf, &b->err) < 0)
        fail_msg("%s", b->err.text);
    b->workspace = workspace_new(b->dir, b->dir, conf_environ(b->conf));
    b->registry = hook_registry_new(settings_limit(b->conf));
    settings_read(b->conf, b->registry, &b->warnings);
    spec.conf = b->conf;
    spec.registry = b->registry;
    spec.workspace = b->workspace;
    paid_begin(&b->paid);
    spec.spending = b->paid.spending;
    b->runner = runner_new(&spec);
}

static void bench_end(struct bench *b)
{
    const char *argv[] = {"rm", "-rf", b->dir, NULL};
    struct proc_spec remove = {.argv = argv};
    struct proc_result result = {0};

    runner_free(b->runner);
    paid_end(&b->paid);
    hook_registry_free(b->registry);
    workspace_unref(b->workspace);
    conf_unref(b->conf);
    strv_release(&b->warnings);
    hook_outcome_release(&b->outcome);
    assert_int_equal(proc_run(&remove, NULL, &result, NULL), 0);
    proc_result_release(&result);
}

static int bench_run_about(struct bench *b, enum hook_event event, const char *subject,
                           const struct rule_subject *call, struct cancel *cancel)
{
    struct hook_runner *r = runner_hooks(b->runner);
    struct hook_input in = {
        .event = event,
        .subject = str_of(subject),
        .json = STR("{\"hook_event_name\":\"x\",\"last_assistant_message\":\"done\"}"),
        .call = call,
        .watch = b->watch.tell ? &b->watch : NULL,
    };

    hook_outcome_release(&b->outcome);
    b->outcome = (struct hook_outcome)HOOK_OUTCOME_INIT;
    b->err = (struct err){0};
    if (!r->wants(r, event, in.subject))
        return 1;
    return r->run(r, &in, cancel, &b->outcome, &b->err);
}

static int bench_run(struct bench *b, enum hook_event event, const char *subject)
{
    return bench_run_about(b, event, subject, NULL, NULL);
}

/* What a file of the folder holds. */
static void expect_file(const struct bench *b, const char *name, const char *wanted)
{
    CLEANUP(mem_freep) char *path = path_join(b->dir, name);
    CLEANUP(buf_release) struct buf text = BUF_INIT(100000);

    if (file_slurp(path, 100000, &text, NULL) < 0)
        fail_msg("there is no %s", name);
    assert_string_equal(buf_cstr(&text), wanted);
}

/* --- what a command sees -------------------------------------------------------------------- */

static void a_command_and_what_it_sees(void **state)
{
    CLEANUP(buf_release) struct buf wanted = BUF_INIT(1000);
    CLEANUP(mem_freep) char *leader = NULL;
    struct bench b;

    (void)state;
    bench_begin(&b,
                "{'hooks':{'Stop':[{'hooks':["
                "{'type':'command','command':'cat > input; pwd > where; "
                "echo $CLAUDE_PROJECT_DIR $TENAX_PROJECT_DIR ${OTEL_SECRET-none} $KEPT > env; "
                "cut -d\\\\  -f6 /proc/$$/stat > session; echo $$ > leader'},"
                "{'type':'command','command':'printf',"
                "'args':['{\\'decision\\':\\'block\\',\\'reason\\':\\'%s\\'}',"
                "'$HOME ${CLAUDE_PROJECT_DIR} `x`']}]}]}}",
                NULL);
    assert_int_equal(b.warnings.len, 0);
    assert_int_equal(bench_run(&b, HOOK_STOP, ""), 0);
    assert_int_equal(b.outcome.decision, HOOK_DENY);
    buf_addf(&wanted, "$HOME %s `x`", b.dir); /* no shell, and the folder filled in */
    assert_string_equal(buf_cstr(&b.outcome.reason), buf_cstr(&wanted));
    expect_file(&b, "input", "{\"hook_event_name\":\"x\",\"last_assistant_message\":\"done\"}\n");
    buf_clear(&wanted);
    buf_addf(&wanted, "%s\n", b.dir);
    expect_file(&b, "where", buf_cstr(&wanted));
    buf_clear(&wanted);
    buf_addf(&wanted, "%s %s none yes\n", b.dir, b.dir);
    expect_file(&b, "env", buf_cstr(&wanted));
    buf_clear(&wanted);
    leader = path_join(b.dir, "leader");
    assert_int_equal(file_slurp(leader, 100, &wanted, NULL), 0);
    expect_file(&b, "session", buf_cstr(&wanted)); /* a separate one */
    bench_end(&b);
}

/* Removing the folder does not remove the guard. */
static void without_a_folder(void **state)
{
    struct bench b;
    char gone[100];

    (void)state;
    bench_begin(&b,
                "{'hooks':{'PreToolUse':[{'hooks':[{'type':'command','command':'pwd >&2; exit 2'}"
                "]}]}}",
                NULL);
    snprintf(gone, sizeof(gone), "%s/gone", b.dir);
    workspace_set_cwd(b.workspace, gone);
    assert_int_equal(bench_run(&b, HOOK_PRE_TOOL_USE, "Bash"), 0);
    assert_int_equal(b.outcome.decision, HOOK_DENY);
    assert_string_equal(buf_cstr(&b.outcome.reason), b.dir);
    bench_end(&b);
}

/* A call too long for a command's standard input is refused; other events are not blocked. */
static void a_call_too_long_to_be_shown(void **state)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct hook_input in = {.event = HOOK_PRE_TOOL_USE, .subject = STR("Bash")};
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    struct hook_runner *r;
    struct bench b;

    (void)state;
    bench_begin(&b,
                "{'hooks':{'PreToolUse':[{'hooks':[{'type':'command','command':'exit 0'}]}],"
                "'PostToolUse':[{'hooks':[{'type':'command','command':'exit 2'}]}]}}",
                NULL);
    r = runner_hooks(b.runner);
    buf_adds(&json, "{\"x\":\"");
    while (json.len < (size_t)16 << 20)
        buf_adds(&json, "0123456789abcdef");
    buf_adds(&json, "\"}");
    in.json = buf_str(&json);
    assert_int_equal(r->run(r, &in, NULL, &o, &b.err), 0);
    assert_int_equal(o.decision, HOOK_DENY);
    hook_outcome_release(&o);
    o = (struct hook_outcome)HOOK_OUTCOME_INIT;
    in.event = HOOK_POST_TOOL_USE;
    assert_int_equal(r->run(r, &in, NULL, &o, &b.err), -1);
    assert_int_equal(o.decision, HOOK_SILENT);
    bench_end(&b);
}

/* --- beside each other ---------------------------------------------------------------------- */

/* Each waits for the other to open the fifo: one after the other they would never end. */
static void all_at_once(void **state)
{
    CLEANUP(mem_freep) char *fifo = NULL;
    struct bench b;

    (void)state;
    bench_begin(&b,
                "{'hooks':{'Stop':[{'hooks':["
                "{'type':'command','command':'echo ping > fifo; echo one >&2; exit 2'}]},"
                "{'hooks':[{'type':'command','command':'cat fifo > heard; echo two >&2; exit 2'}]}"
                "]}}",
                NULL);
    fifo = path_join(b.dir, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(bench_run(&b, HOOK_STOP, ""), 0);
    expect_file(&b, "heard", "ping\n");
    assert_string_equal(buf_cstr(&b.outcome.reason), "one\ntwo"); /* as they are registered */
    bench_end(&b);
}

/* A command and a function that wait for each other. */
static int meet(void *arg, const struct hook_input *in, struct cancel *cancel,
                struct buf *ret_reason, struct err *err)
{
    FILE *f = fopen(arg, "w"); /* until a reader opens it */

    (void)cancel;
    (void)err;
    assert_int_equal(in->event, HOOK_STOP);
    assert_non_null(f);
    fputs("hello", f);
    fclose(f);
    buf_adds(ret_reason, "met");
    return 1;
}

static void a_function_beside_a_command(void **state)
{
    const struct hook_entry place = {.event = HOOK_STOP, .matcher = ""};
    struct handler_spec spec = {.type = HANDLER_FUNCTION, .id = STR("meet"), .fn = meet};
    CLEANUP(mem_freep) char *fifo = NULL;
    struct hook_handler *h;
    struct bench b;

    (void)state;
    bench_begin(&b,
                "{'hooks':{'Stop':[{'hooks':["
                "{'type':'command','command':'cat fifo >&2; exit 2'}]}]}}",
                NULL);
    fifo = path_join(b.dir, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    spec.arg = fifo;
    h = hook_handler_new(&spec);
    assert_int_equal(hook_registry_add(b.registry, &place, h, NULL), 0);
    assert_int_equal(bench_run(&b, HOOK_STOP, ""), 0);
    assert_string_equal(buf_cstr(&b.outcome.reason), "hello\nmet");
    assert_true(hook_registry_remove(b.registry, HOOK_STOP, h));
    hook_handler_unref(h);
    bench_end(&b);
}

/* --- functions ------------------------------------------------------------------------------ */

struct function_row {
    const char *name;
    int answer;
    const char *reason;
    const char *message; /* the handler's */
    enum hook_decision decision;
    const char *expected;
    int rc;
};

static int answer(void *arg, const struct hook_input *in, struct cancel *cancel,
                  struct buf *ret_reason, struct err *err)
{
    const struct function_row *row = arg;

    (void)in;
    (void)cancel;
    buf_adds(ret_reason, row->reason);
    if (row->answer < 0)
        return err_set(err, ERR_DENIED, "it broke");
    return row->answer;
}

static const struct function_row function_rows[] = {
    {"fine", 0, "ignored", "m", HOOK_SILENT, "", 0},
    {"objects", 1, "because", "m", HOOK_DENY, "because", 0},
    {"objects with the handler's words", 1, "", "the usual", HOOK_DENY, "the usual", 0},
    {"breaks", -1, "x", "m", HOOK_SILENT, "", -1},
};

static void functions(void **state)
{
    const struct hook_entry place = {.event = HOOK_STOP, .matcher = ""};
    struct bench b;

    (void)state;
    bench_begin(&b, "{}", NULL);
    for (size_t i = 0; i < ARRAY_LEN(function_rows); i++) {
        const struct function_row *row = &function_rows[i];
        struct hook_handler *h = hook_handler_new(&(struct handler_spec){
            .type = HANDLER_FUNCTION,
            .id = STR("f"),
            .fn = answer,
            .arg = (void *)row,
            .error_message = str_of(row->message),
        });

        /* The same id: each takes the place of the one before it. */
        assert_int_equal(hook_registry_add(b.registry, &place, h, NULL), 0);
        hook_handler_unref(h);
        if (bench_run(&b, HOOK_STOP, "") != row->rc || b.outcome.decision != row->decision ||
            strcmp(buf_cstr(&b.outcome.reason), row->expected) != 0)
            fail_msg("%s: %d '%s' %s", row->name, b.outcome.decision, buf_cstr(&b.outcome.reason),
                     b.err.text);
        if (row->rc < 0) {
            assert_string_equal(b.err.text, "f: it broke");
            assert_int_equal(b.err.code, ERR_IO); /* a broken one refuses nothing */
        }
    }
    bench_end(&b);
}

/* --- time ----------------------------------------------------------------------------------- */

static int wait_for_cancel(void *arg, const struct hook_input *in, struct cancel *cancel,
                           struct buf *ret_reason, struct err *err)
{
    atomic_int *ended = arg;

    (void)in;
    buf_adds(ret_reason, "too late");
    (void)cancel_wait(cancel, 3600 * 1000, err);
    atomic_fetch_add(ended, 1);
    return 1;
}

static void late_ones_have_no_say(void **state)
{
    const struct hook_entry place = {.event = HOOK_STOP, .matcher = ""};
    atomic_int ended = 0;
    struct hook_handler *h = hook_handler_new(&(struct handler_spec){
        .type = HANDLER_FUNCTION,
        .id = STR("slow"),
        .fn = wait_for_cancel,
        .arg = &ended,
        .timeout_ms = 20,
    });
    struct bench b;

    (void)state;
    bench_begin(&b,
                "{'killGrace':50,'hooks':{'Stop':[{'hooks':["
                "{'type':'command','timeout':0.05,'command':'echo late >&2; sleep 3600; exit 2'},"
                "{'type':'command','command':'echo in time >&2; exit 2'}]}]}}",
                NULL);
    assert_int_equal(hook_registry_add(b.registry, &place, h, NULL), 0);
    hook_handler_unref(h);
    assert_int_equal(bench_run(&b, HOOK_STOP, ""), -1);
    assert_int_equal(b.err.code, ERR_TIMEOUT);
    assert_string_equal(b.err.text, "echo late >&2; sleep 3600; exit 2: it took too long and was "
                                    "ended (and 1 more)");
    assert_string_equal(buf_cstr(&b.outcome.reason), "in time");
    bench_end(&b);
    assert_int_equal(atomic_load(&ended), 1); /* none is left */
}

struct pulling {
    struct cancel *cancel;
    char *sign; /* a file that says that all run */
};

/* Waits for a fifo to be opened, then cancels. */
static void pull(void *arg)
{
    struct pulling *p = arg;
    FILE *f = fopen(p->sign, "r");

    assert_non_null(f);
    fclose(f);
    cancel_set(p->cancel);
}

static void a_cancel_ends_everything(void **state)
{
    const struct hook_entry place = {.event = HOOK_STOP, .matcher = ""};
    atomic_int ended = 0;
    struct hook_handler *h = hook_handler_new(&(struct handler_spec){
        .type = HANDLER_FUNCTION, .id = STR("slow"), .fn = wait_for_cancel, .arg = &ended});
    struct pulling p = {.cancel = cancel_new(NULL)};
    CLEANUP(buf_release) struct buf pid = BUF_INIT(100);
    CLEANUP(mem_freep) char *pid_file = NULL;
    struct thread *thread;
    int64_t child = 0;
    struct bench b;

    (void)state;
    bench_begin(&b,
                "{'killGrace':1,'hooks':{'Stop':[{'hooks':["
                "{'type':'command','command':'echo $$ > pid; echo x > sign; sleep 3600 & wait'}"
                "]}]}}",
                NULL);
    assert_int_equal(hook_registry_add(b.registry, &place, h, NULL), 0);
    hook_handler_unref(h);
    p.sign = path_join(b.dir, "sign");
    pid_file = path_join(b.dir, "pid");
    assert_int_equal(mkfifo(p.sign, 0600), 0);
    thread = thread_start("pull", pull, &p, NULL);
    assert_int_equal(bench_run_about(&b, HOOK_STOP, "", NULL, p.cancel), -1);
    assert_int_equal(b.err.code, ERR_CANCELLED);
    assert_int_equal(b.outcome.decision, HOOK_SILENT);
    thread_join(thread);
    assert_int_equal(file_slurp(pid_file, 100, &pid, NULL), 0);
    assert_int_equal(str_to_i64(str_trim(buf_str(&pid)), &child, NULL), 0);
    bench_end(&b);
    assert_int_equal(atomic_load(&ended), 1);
    proc_shutdown(); /* waits until everything that was ended is gone */
    assert_int_equal(kill((pid_t)child, 0), -1);
    assert_int_equal(errno, ESRCH);
    free(p.sign);
    cancel_unref(p.cancel);
}

/* --- who runs ------------------------------------------------------------------------------- */

#define LOG(word) "{'type':'command','command':'echo " word " >> log'}"

static const struct {
    const char *name;
    const char *settings;
    enum hook_event event;
    const char *subject;
    const char *log; /* NULL: nothing runs */
} who_rows[] = {
    {"the same handler twice runs once",
     "{'hooks':{'Stop':[{'hooks':[" LOG("a") "]},{'matcher':'x','hooks':[" LOG("a") "]}]}}",
     HOOK_STOP, "", "a\n"},
    {"a matcher", "{'hooks':{'PreToolUse':[{'matcher':'Edit|Bash','hooks':[" LOG("a") "]}]}}",
     HOOK_PRE_TOOL_USE, "Bash", "a\n"},
    {"a matcher that does not match",
     "{'hooks':{'PreToolUse':[{'matcher':'Edit|Bash','hooks':[" LOG("a") "]}]}}", HOOK_PRE_TOOL_USE,
     "Read", NULL},
    {"a regular expression",
     "{'hooks':{'PreToolUse':[{'matcher':'^Note.*','hooks':[" LOG("a") "]}]}}", HOOK_PRE_TOOL_USE,
     "NotebookEdit", "a\n"},
    {"another event", "{'hooks':{'PreToolUse':[{'hooks':[" LOG("a") "]}]}}", HOOK_STOP, "", NULL},
    {"disabled", "{'disableAllHooks':true,'hooks':{'Stop':[{'hooks':[" LOG("a") "]}]}}", HOOK_STOP,
     "", NULL},
};

static void who_runs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(who_rows); i++) {
        struct bench b;
        int r;

        bench_begin(&b, who_rows[i].settings, NULL);
        r = bench_run(&b, who_rows[i].event, who_rows[i].subject);
        if (r != (who_rows[i].log ? 0 : 1))
            fail_msg("%s: %d %s", who_rows[i].name, r, b.err.text);
        if (who_rows[i].log)
            expect_file(&b, "log", who_rows[i].log);
        bench_end(&b);
    }
}

static const struct {
    const char *rule;
    struct rule_subject call;
    bool runs;
} if_rows[] = {
    {"Bash(git *)",
     {.tool = STR_INIT("Bash"), .about = ABOUT_COMMAND, .text = STR_INIT("git x")},
     true},
    {"Bash(git *)",
     {.tool = STR_INIT("Bash"), .about = ABOUT_COMMAND, .text = STR_INIT("ls")},
     false},
    {"Bash(git *)",
     {.tool = STR_INIT("Bash"), .about = ABOUT_COMMAND, .text = STR_INIT("A=1 ls && B=2 git log")},
     true},
    {"Bash(git *)",
     {.tool = STR_INIT("Bash"), .about = ABOUT_COMMAND, .text = STR_INIT("echo $(git log)")},
     true},
    {"Edit(*.ts)",
     {.tool = STR_INIT("Write"), .about = ABOUT_PATH, .writes = true, .text = STR_INIT("/x/a.ts")},
     false}, /* not below the folder */
    {"Bash(git", {.tool = STR_INIT("Bash"), .about = ABOUT_COMMAND, .text = STR_INIT("ls")}, true},
};

static void conditions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(if_rows); i++) {
        CLEANUP(buf_release) struct buf settings = BUF_INIT(1000);
        struct bench b;

        buf_addf(&settings,
                 "{'hooks':{'PreToolUse':[{'hooks':[{'type':'command','if':'%s','command':'exit "
                 "2'}]}]}}",
                 if_rows[i].rule);
        bench_begin(&b, buf_cstr(&settings), NULL);
        assert_int_equal(bench_run_about(&b, HOOK_PRE_TOOL_USE, "Bash", &if_rows[i].call, NULL), 0);
        if ((b.outcome.decision == HOOK_DENY) != if_rows[i].runs)
            fail_msg("%s and %.*s", if_rows[i].rule, STR_ARG(if_rows[i].call.text));
        bench_end(&b);
    }
}

/* The goal's own entry is listed, and run by the referee alone. */
static const struct status_row {
    const char *settings;
    const char *expect;
} status_rows[] = {
    {"{'hooks':{'PreToolUse':[{'hooks':[{'type':'command','command':'a'},{'type':'command',"
     "'command':'b','statusMessage':'Looking'}]}]}}",
     "Looking"},
    {"{'hooks':{'PreToolUse':[{'matcher':'Edit','hooks':[{'type':'command','command':'b',"
     "'statusMessage':'Looking'}]}]}}",
     ""},
    {"{'hooks':{'PreToolUse':[{'hooks':[{'type':'command','command':'b','if':'Bash(git *)',"
     "'statusMessage':'Looking'}]}]}}",
     ""},
    {"{'disableAllHooks':true,'hooks':{'PreToolUse':[{'hooks':[{'type':'command','command':'b',"
     "'statusMessage':'Looking'}]}]}}",
     ""},
};

static void what_is_shown_meanwhile(void **state)
{
    struct rule_subject call = {
        .tool = STR_INIT("Bash"), .about = ABOUT_COMMAND, .text = STR_INIT("ls")};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(status_rows); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(1000);
        struct hook_input in = {
            .event = HOOK_PRE_TOOL_USE, .subject = STR_INIT("Bash"), .call = &call};
        struct hook_runner *list[2] = {NULL, NULL};
        struct bench b;

        bench_begin(&b, status_rows[i].settings, NULL);
        list[0] = runner_hooks(b.runner);
        hooks_status(list, &in, &got);
        assert_string_equal(buf_cstr(&got), status_rows[i].expect);
        bench_end(&b);
    }
}

static void the_referees_entry_is_passed_over(void **state)
{
    const struct hook_entry place = {.event = HOOK_STOP, .matcher = ""};
    struct hook_handler *goal = hook_handler_new(&(struct handler_spec){
        .type = HANDLER_PROMPT, .flags = HANDLER_REFEREE, .prompt = STR("all tests pass")});
    struct bench b;

    (void)state;
    bench_begin(&b, "{}", NULL);
    assert_int_equal(hook_registry_add(b.registry, &place, goal, NULL), 0);
    assert_int_equal(bench_run(&b, HOOK_STOP, ""), 1);
    assert_true(hook_registry_has(b.registry, HOOK_STOP, goal));
    bench_end(&b);
    hook_handler_unref(goal);
}

static void what_cannot_start(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b,
                "{'hooks':{'PreToolUse':["
                "{'matcher':'Bash','hooks':[{'type':'command','command':'./none','args':[]}]},"
                "{'matcher':'Edit','hooks':[{'type':'command','command':'./none','args':[],"
                "'onFailure':'block'}]}]}}",
                NULL);
    assert_int_equal(bench_run(&b, HOOK_PRE_TOOL_USE, "Bash"), -1);
    assert_int_equal(b.outcome.decision, HOOK_SILENT);
    assert_true(str_starts(str_of(b.err.text), STR("./none: it could not be started: ")));
    assert_int_equal(bench_run(&b, HOOK_PRE_TOOL_USE, "Edit"), 0);
    assert_int_equal(b.outcome.decision, HOOK_DENY);
    bench_end(&b);
}

/* It runs in the background; its output is delivered with a later prompt, its decision never. */
static void async(void **state)
{
    CLEANUP(mem_freep) char *fifo = NULL;
    struct bench b;
    FILE *f;

    (void)state;
    bench_begin(&b,
                "{'killGrace':1,'hooks':{'Stop':[{'hooks':["
                "{'type':'command','async':true,'command':'cat fifo; exit 2'},"
                "{'type':'command','async':true,'command':'sleep 3600'}]}]}}",
                NULL);
    assert_int_equal(b.warnings.len, 0);
    fifo = path_join(b.dir, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(bench_run(&b, HOOK_STOP, ""), 0); /* while it still waits for us */
    assert_int_equal(b.outcome.decision, HOOK_SILENT);
    assert_int_equal(bench_run(&b, HOOK_USER_PROMPT_SUBMIT, ""), 1);
    f = fopen(fifo, "w");
    assert_non_null(f);
    fputs("{\"decision\":\"block\",\"reason\":\"r\",\"systemMessage\":\"m\","
          "\"hookSpecificOutput\":{\"hookEventName\":\"Stop\",\"additionalContext\":\"c\"}}",
          f);
    fclose(f);
    while (!runner_hooks(b.runner)->wants(runner_hooks(b.runner), HOOK_USER_PROMPT_SUBMIT, STR("")))
        (void)cancel_wait(NULL, 5, NULL); /* it may take its time to exit */
    assert_int_equal(bench_run(&b, HOOK_USER_PROMPT_SUBMIT, ""), 0);
    assert_int_equal(b.outcome.decision, HOOK_SILENT);
    assert_string_equal(buf_cstr(&b.outcome.context), "c");
    assert_string_equal(buf_cstr(&b.outcome.message), "m");
    assert_int_equal(bench_run(&b, HOOK_USER_PROMPT_SUBMIT, ""), 1); /* told once */
    bench_end(&b);
}

/* Its first output asks to run in the background; later output is delivered later. */
static void async_by_word(void **state)
{
    CLEANUP(mem_freep) char *fifo = NULL;
    struct bench b;
    FILE *f;

    (void)state;
    bench_begin(&b,
                "{'killGrace':1,'hooks':{'PostToolUse':[{'hooks':["
                "{'type':'command','command':'cat async; cat fifo; exit "
                "2'},"
                "{'type':'command','command':'echo other >&2; exit 2'}]}]}}",
                NULL);
    assert_int_equal(b.warnings.len, 0);
    put_file(b.dir, "async", "{\"async\": true}\n");
    fifo = path_join(b.dir, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(bench_run(&b, HOOK_POST_TOOL_USE, "Bash"), 0); /* while it waits for us */
    assert_string_equal(buf_cstr(&b.outcome.reason), "other");
    f = fopen(fifo, "w");
    assert_non_null(f);
    fputs("{\"decision\":\"block\",\"reason\":\"r\",\"hookSpecificOutput\":"
          "{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"c\"}}",
          f);
    fclose(f);
    while (!runner_hooks(b.runner)->wants(runner_hooks(b.runner), HOOK_USER_PROMPT_SUBMIT, STR("")))
        (void)cancel_wait(NULL, 5, NULL);
    assert_int_equal(bench_run(&b, HOOK_USER_PROMPT_SUBMIT, ""), 0);
    assert_int_equal(b.outcome.decision, HOOK_SILENT);
    assert_string_equal(buf_cstr(&b.outcome.context), "c");
    assert_false(atomic_load(&b.awake));
    bench_end(&b);
}

/* Its asyncTimeout is over long before its own time: it is ended, and the user is notified. */
static void async_timeout(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b,
                "{'killGrace':1,'hooks':{'Stop':[{'hooks':[{'type':'command','command':'cat async; "
                "sleep 3600'}]}]}}",
                NULL);
    put_file(b.dir, "async", "{\n  \"async\": true,\n  \"asyncTimeout\": 20\n}\n");
    assert_int_equal(bench_run(&b, HOOK_STOP, ""), 0);
    while (!runner_hooks(b.runner)->wants(runner_hooks(b.runner), HOOK_USER_PROMPT_SUBMIT, STR("")))
        (void)cancel_wait(NULL, 5, NULL);
    assert_int_equal(bench_run(&b, HOOK_USER_PROMPT_SUBMIT, ""), 0);
    assert_non_null(strstr(buf_cstr(&b.outcome.message), "it was killed by signal"));
    bench_end(&b);
}

static void rewake(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b,
                "{'hooks':{'Stop':[{'hooks':[{'type':'command','asyncRewake':true,'command':'echo "
                "look >&2; exit 2'}]}]}}",
                NULL);
    assert_int_equal(bench_run(&b, HOOK_STOP, ""), 0);
    assert_int_equal(b.outcome.decision, HOOK_SILENT);
    while (!atomic_load(&b.awake))
        (void)cancel_wait(NULL, 5, NULL);
    assert_string_equal(b.woken, "Stop hook feedback, from a hook that runs in the background "
                                 "(echo look >&2; exit 2):\nlook");
    bench_end(&b);
}

/* A skill's hook that wants to run once does, and is gone. */
static void once(void **state)
{
    struct handler_spec spec = {
        .type = HANDLER_COMMAND,
        .flags = HANDLER_ONCE,
        .command = STR("echo x >> ran"),
    };
    struct hook_entry where = {
        .event = HOOK_STOP, .source = HOOK_SESSION, .matcher = "", .skill_root = "/skill"};
    struct hook_handler *h = hook_handler_new(&spec);
    struct bench b;

    (void)state;
    bench_begin(&b, "{}", NULL);
    assert_int_equal(hook_registry_add(b.registry, &where, h, NULL), 0);
    hook_handler_unref(h);
    assert_int_equal(bench_run(&b, HOOK_STOP, ""), 0);
    assert_int_equal(bench_run(&b, HOOK_STOP, ""), 1);
    expect_file(&b, "ran", "x\n");
    bench_end(&b);
}

/* Lines for later commands are given back; the files they came in are gone. */
static void shell_lines(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b,
                "{'hooks':{'SessionStart':[{'hooks':["
                "{'type':'command','command':'echo export A=1 > $CLAUDE_ENV_FILE; echo "
                "$CLAUDE_ENV_FILE > where'},"
                "{'type':'command','command':'echo export B=2 >> $TENAX_ENV_FILE; exit 1'},"
                "{'type':'command','command':'true'}]}]}}",
                NULL);
    assert_int_equal(bench_run(&b, HOOK_SESSION_START, "startup"), -1); /* one has failed */
    assert_string_equal(buf_cstr(&b.outcome.shell), "export A=1\n");
    {
        CLEANUP(mem_freep) char *where = path_join(b.dir, "where");
        CLEANUP(buf_release) struct buf path = BUF_INIT(1000);

        assert_int_equal(file_slurp(where, 1000, &path, NULL), 0);
        assert_true(str_has(buf_str(&path), STR("/tool-results/env")));
        path.len--;
        assert_false(file_exists(buf_cstr(&path)));
    }
    bench_end(&b);
}

/* --- questions to a model ------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum hook_event event;
    const char *more; /* fields of the handler */
    const char *scenario;
    enum hook_decision decision;
    const char *reason, *stop_reason, *message;
    int rc;
    size_t calls;
} prompt_rows[] = {
    {"yes", HOOK_STOP, "",
     "step\n  if-prompt \"Done? {\\\"hook_event_name\\\"\"\n"
     "  if-system \"JSON\"\n  text {\"ok\": true, \"reason\": \"\"}\n",
     HOOK_SILENT, "", "", "", 0, 1},
    {"no", HOOK_STOP, "", "step\n  text {\"ok\": false, \"reason\": \"tests fail\"}\n", HOOK_DENY,
     "tests fail", "", "", 0, 1},
    {"in a fence", HOOK_STOP, "",
     "step\n  text \"```json\\n{\\\"ok\\\": false, \\\"reason\\\": \\\"x\\\"}\\n```\"\n", HOOK_DENY,
     "x", "", "", 0, 1},
    {"never", HOOK_STOP, "",
     "step\n  text {\"ok\": false, \"reason\": \"no such file\", \"impossible\": true}\n",
     HOOK_SILENT, "", "", "no such file", 0, 1},
    {"asked again", HOOK_STOP, "",
     "step\n  text Looks good to me!\nstep\n  if-prompt \"JSON object alone\"\n"
     "  text {\"ok\": false, \"reason\": \"y\"}\n",
     HOOK_DENY, "y", "", "", 0, 2},
    {"no without a reason is no answer", HOOK_STOP, "",
     "step\n  text {\"ok\": false}\nstep\n  text {\"ok\": true}\n", HOOK_SILENT, "", "", "", 0, 2},
    {"never the form", HOOK_STOP, "", "step\n  sticky\n  text no\n", HOOK_SILENT, "", "", "", -1,
     2},
    {"a model that fails", HOOK_STOP, "", "step\n  fault status 400 \"bad\"\n  text x\n",
     HOOK_SILENT, "", "", "", -1, 0},
    {"before a call", HOOK_PRE_TOOL_USE, "", "step\n  text {\"ok\": false, \"reason\": \"z\"}\n",
     HOOK_SILENT, "", "z", "", 0, 1},
    {"before a call, and go on", HOOK_PRE_TOOL_USE, ",'continueOnBlock':true",
     "step\n  text {\"ok\": false, \"reason\": \"z\"}\n", HOOK_DENY, "z", "", "", 0, 1},
    {"a prompt", HOOK_USER_PROMPT_SUBMIT, "", "step\n  text {\"ok\": false, \"reason\": \"z\"}\n",
     HOOK_SILENT, "", "z", "", 0, 1},
    {"after a failure", HOOK_POST_TOOL_USE_FAILURE, "",
     "step\n  text {\"ok\": false, \"reason\": \"z\"}\n", HOOK_DENY, "z", "", "", 0, 1},
    {"permissions are not a model's to give", HOOK_PERMISSION_REQUEST, "",
     "step\n  text {\"ok\": false, \"reason\": \"z\"}\n", HOOK_SILENT, "", "", "", 0, 1},
};

static void questions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(prompt_rows); i++) {
        CLEANUP(buf_release) struct buf settings = BUF_INIT(1000);
        struct bench b;
        int r;

        buf_addf(&settings,
                 "{'hooks':{'%s':[{'hooks':[{'type':'prompt','prompt':'Done? $ARGUMENTS'%s}]}]}}",
                 hook_event_name(prompt_rows[i].event), prompt_rows[i].more);
        bench_begin(&b, buf_cstr(&settings), prompt_rows[i].scenario);
        r = bench_run(&b, prompt_rows[i].event, "Bash");
        if (r != prompt_rows[i].rc || b.outcome.decision != prompt_rows[i].decision ||
            strcmp(buf_cstr(&b.outcome.reason), prompt_rows[i].reason) != 0 ||
            strcmp(buf_cstr(&b.outcome.stop_reason), prompt_rows[i].stop_reason) != 0 ||
            b.outcome.stop != (*prompt_rows[i].stop_reason != '\0') ||
            strcmp(buf_cstr(&b.outcome.message), prompt_rows[i].message) != 0)
            fail_msg("%s: %d, decision %d, reason '%s', stop '%s', message '%s': %s",
                     prompt_rows[i].name, r, b.outcome.decision, buf_cstr(&b.outcome.reason),
                     buf_cstr(&b.outcome.stop_reason), buf_cstr(&b.outcome.message), b.err.text);
        if (paid_count(&b.paid) != prompt_rows[i].calls)
            fail_msg("%s: %zu calls are paid for", prompt_rows[i].name, paid_count(&b.paid));
        VEC_EACH(&b.paid.list, spend) {
            assert_true(str_is(spend->model, "model.scenario"));
            assert_true(spend->usage.input > 0 && spend->usage.output > 0);
        }
        bench_end(&b);
    }
}

/* A slow model is ended with the others; the costs are still reported. */
static void a_slow_model(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b, "{'hooks':{'Stop':[{'hooks':[{'type':'prompt','prompt':'p','timeout':1.5}]}]}}",
                "step\n  text words\nstep\n  pause 3600s\n  text {\"ok\": true}\n");
    assert_int_equal(bench_run(&b, HOOK_STOP, ""), -1);
    assert_string_equal(b.err.text, "p: it took too long and was ended");
    assert_int_equal(paid_count(&b.paid), 1);
    bench_end(&b);
}

/* --- what others see of it ------------------------------------------------------------------ */

static void note_news(void *arg, const struct hook_news *n)
{
    static const char *const ends[] = {"success", "error", "cancelled"};
    struct bench *b = arg;
    bool known = false;

    lock_take(&b->lock);
    for (size_t i = 0; i < b->ids.len; i++)
        known = known || strcmp(b->ids.ptr[i], n->id) == 0;
    assert_int_equal(known, n->stage != HOOK_BEGUN); /* each has a separate id */
    assert_true(str_is(n->subject, b->subject));
    if (n->stage == HOOK_BEGUN)
        strv_adds(&b->ids, n->id);
    if (n->stage == HOOK_GOES_ON)
        put_file(b->dir, "go", "");
    if (n->stage == HOOK_GOES_ON)
        strv_addf(&b->news, "so far %.*s|%.*s", STR_ARG(n->out), STR_ARG(n->err));
    if (n->stage == HOOK_ENDED)
        strv_addf(&b->news, "%s %d %.*s|%.*s", ends[n->end], n->has_code ? n->code : -1,
                  STR_ARG(n->out), STR_ARG(n->err));
    lock_give(&b->lock);
}

/* Another thread may be about to tell it. */
static void expect_news(struct bench *b, const char *text)
{
    bool found = false;

    for (int i = 0; !found && i < 12000; i++) {
        lock_take(&b->lock);
        found = strv_has(&b->news, str_of(text));
        lock_give(&b->lock);
        if (!found)
            usleep(5000);
    }
    for (size_t i = 0; !found && i < b->news.len; i++)
        print_message("%s\n", b->news.ptr[i]);
    if (!found)
        fail_msg("nobody was told: %s", text);
}

static void watch_begin(struct bench *b, const char *subject, const char *settings)
{
    bench_begin(b, settings, "step\n  text {\"ok\": false, \"reason\": \"no tests\"}\n");
    lock_init(&b->lock);
    b->watch = (struct hook_watch){note_news, b};
    b->subject = subject;
}

static void watch_end(struct bench *b)
{
    bench_end(b);
    strv_release(&b->ids);
    strv_release(&b->news);
    lock_release(&b->lock);
}

/* Each is reported without waiting for the others. */
static void each_is_told_of(void **state)
{
    size_t ended = 0;
    struct bench b;

    (void)state;
    watch_begin(&b, "Bash",
                "{'hooks':{'PreToolUse':[{'matcher':'Bash','hooks':["
                "{'type':'command','command':'echo a; exit 2'},"
                "{'type':'command','command':'echo b >&2; exit 1','onFailure':'block'},"
                "{'type':'command','command':'echo {}; exit 1'},"
                "{'type':'command','command':'echo {'},"
                "{'type':'command','command':'echo d; sleep 100','timeout':3},"
                "{'type':'command','command':'echo e; until [ -f go ]; do sleep 0.02; done',"
                "'async':true},"
                "{'type':'prompt','prompt':'p'}]}]}}");
    assert_int_equal(bench_run(&b, HOOK_PRE_TOOL_USE, "Bash"), -1);
    assert_int_equal(b.ids.len, 7);
    expect_news(&b, "error 2 a\n|");
    expect_news(&b, "error 1 |b\n");
    expect_news(&b, "success 1 {}\n|");
    expect_news(&b, "error 0 {\n|");
    expect_news(&b, "cancelled -1 d\n|");
    expect_news(&b, "success -1 no tests|");
    put_file(b.dir, "go", "");
    expect_news(&b, "success 0 e|");
    for (size_t i = 0; i < b.news.len; i++)
        ended += !str_starts(str_of(b.news.ptr[i]), STR("so far "));
    assert_int_equal(ended, 7);
    watch_end(&b);
}

static void what_it_prints_meanwhile(void **state)
{
    struct bench b;

    (void)state;
    watch_begin(&b, "",
                "{'hooks':{'Stop':[{'hooks':[{'type':'command','command':"
                "'echo 1; until [ -f go ]; do sleep 0.02; done; echo 2'}]}]}}");
    assert_int_equal(bench_run(&b, HOOK_STOP, ""), 0);
    expect_news(&b, "so far 1\n|");
    expect_news(&b, "success 0 1\n2\n|");
    watch_end(&b);
}

UNIT_TEST(runner)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_and_what_it_sees),
        cmocka_unit_test(without_a_folder),
        cmocka_unit_test(a_call_too_long_to_be_shown),
        cmocka_unit_test(all_at_once),
        cmocka_unit_test(a_function_beside_a_command),
        cmocka_unit_test(functions),
        cmocka_unit_test(late_ones_have_no_say),
        cmocka_unit_test(a_cancel_ends_everything),
        cmocka_unit_test(who_runs),
        cmocka_unit_test(conditions),
        cmocka_unit_test(what_is_shown_meanwhile),
        cmocka_unit_test(the_referees_entry_is_passed_over),
        cmocka_unit_test(what_cannot_start),
        cmocka_unit_test(async),
        cmocka_unit_test(async_by_word),
        cmocka_unit_test(async_timeout),
        cmocka_unit_test(rewake),
        cmocka_unit_test(once),
        cmocka_unit_test(shell_lines),
        cmocka_unit_test(questions),
        cmocka_unit_test(a_slow_model),
        cmocka_unit_test(each_is_told_of),
        cmocka_unit_test(what_it_prints_meanwhile),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    proc_shutdown();
    return failed;
}
