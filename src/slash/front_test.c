/*
 * Interactive commands: the user chooses, edits and leaves as the rows say, on a real session with
 * a scripted model. The last test goes through the commands' thread.
 */
#include "slash/front.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/agent.h"
#include "agent/task.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "goal/goal.h"
#include "host/host.h"
#include "llm/message.h"
#include "proc/confine.h"
#include "proc/proc.h"
#include "slash/commands.h"
#include "store/test_home.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "unit.h"

#define MAX_TAKEN 4

/* What the person does, and what came of it. */
struct person {
    const char *picks[MAX_TAKEN]; /* labels, or their ends; NULL: they leave it */
    const char *edits[MAX_TAKEN];
    size_t picked, edited;
    bool refuses;    /* set() and copy() */
    bool interrupts; /* in the middle of a choice */
    bool was_interrupted;
    bool stays; /* the target does not exist */
    struct buf done;
    struct gate gate; /* of what follows */
    bool has_left;
    enum front_switch went;
};

static struct {
    struct conf *conf;
    struct args args;
    struct cancel *cancel;
    struct host *host;
    struct slash *slash;
    struct person person;
} bench;

static void put(const char *name, const char *text)
{
    CLEANUP(mem_freep) char *path = path_join(test_home, name);
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    struct err err = {0};

    if (file_mkdirs(dir, 0700, &err) < 0 || file_replace(path, str_of(text), 0600, &err) < 0)
        fail_msg("%s: %s", name, err.text);
}

static int front_pick(void *arg, const struct pick *p, struct cancel *cancel, size_t *ret,
                      struct err *err)
{
    struct person *me = arg;
    const char *want = me->picked < MAX_TAKEN ? me->picks[me->picked++] : NULL;

    if (me->interrupts)
        me->was_interrupted = slash_interrupt(bench.slash) && cancel_is_set(cancel);
    if (!want)
        return err_set(err, ERR_CANCELLED, "left");
    for (size_t i = 0; i < p->count; i++) {
        if (str_ends(p->choices[i].label, str_of(want))) {
            *ret = i;
            return 0;
        }
    }
    fail_msg("'%.*s' has no '%s'", STR_ARG(p->title), want);
    return -1;
}

static int front_edit(void *arg, struct str title, struct buf *text, struct cancel *cancel,
                      struct err *err)
{
    struct person *me = arg;
    const char *words = me->edited < MAX_TAKEN ? me->edits[me->edited++] : NULL;

    (void)title;
    (void)cancel;
    if (!words)
        return err_set(err, ERR_CANCELLED, "left");
    if (strcmp(words, "Enter") == 0)
        return 0;          /* as it stands */
    if (words[0] == '!') { /* "! TEXT": another process writes it at the same time */
        put("w/AGENTS.md", strchr(words, ' ') + 1);
        words = "Mine.";
    }
    buf_clear(text);
    buf_adds(text, words);
    return 0;
}

static void front_show(void *arg, struct str title, struct str text)
{
    struct person *me = arg;

    buf_addf(&me->done, "show %.*s %zu;", STR_ARG(title), text.len);
}

static const char *front_copy(void *arg, struct str text, struct cancel *cancel)
{
    struct person *me = arg;

    (void)cancel;
    buf_addf(&me->done, "copy %.*s;", STR_ARG(text));
    return me->refuses ? NULL : "are here";
}

static bool front_set(void *arg, struct str what, struct str value)
{
    struct person *me = arg;

    buf_addf(&me->done, "%.*s=%.*s;", STR_ARG(what), STR_ARG(value));
    return !me->refuses;
}

static int front_go(void *arg, enum front_switch how, struct str id, struct err *err)
{
    struct person *me = arg;

    (void)id;
    gate_take(&me->gate);
    me->went = how;
    gate_give(&me->gate);
    return me->stays ? err_set(err, ERR_NOT_FOUND, "there is no such session") : 0;
}

static void front_leave(void *arg)
{
    struct person *me = arg;

    gate_take(&me->gate);
    me->has_left = true;
    gate_wake(&me->gate);
    gate_give(&me->gate);
}

static void front_rewind(void *arg)
{
    struct person *me = arg;

    buf_adds(&me->done, "rewind;");
}

static const struct slash_front front = {
    .arg = &bench.person,
    .pick = front_pick,
    .edit = front_edit,
    .show = front_show,
    .copy = front_copy,
    .set = front_set,
    .go = front_go,
    .leave = front_leave,
    .rewind = front_rewind,
};

/* ---- A session ---- */

static char variables[6][200];
static char *environment[] = {variables[0], variables[1], variables[2], variables[3],
                              variables[4], variables[5], NULL};

static int setup(void **state)
{
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    CLEANUP(mem_freep) char *work = NULL;
    CLEANUP(mem_freep) char *etc = NULL;
    struct conf_sources from = {.environ = environment, .args = &bench.args, .trusted = true};
    struct host_spec spec = {.args = &bench.args};
    char model[300];
    char *argv[] = {(char *)"tenax", (char *)"-p", (char *)"--model", model, NULL};
    struct err err = {0};

    if (home_setup(state) < 0)
        return -1;
    snprintf(variables[0], sizeof(variables[0]), "HOME=%s/h", test_home);
    snprintf(variables[1], sizeof(variables[1]), "TENAX_HOME=%s/h/.tenax", test_home);
    snprintf(variables[2], sizeof(variables[2]), "PATH=/usr/local/bin:/usr/bin:/bin");
    snprintf(variables[3], sizeof(variables[3]), "HTTP_PROXY=me:secret@proxy:1");
    snprintf(variables[4], sizeof(variables[4]), "HTTPS_PROXY=http://me:p@ss@proxy:1/x@y");
    snprintf(variables[5], sizeof(variables[5]), "http_proxy=http://proxy:1/x@y");
    snprintf(model, sizeof(model), "scripted/%s/s.scenario", test_home);
    put("s.scenario", "step\n  sticky\n  text Said.\n");
    put("w/.claude/commands/mine.md", "Do $ARGUMENTS.\n");
    work = path_join(test_home, "w");
    etc = path_join(test_home, "etc");
    from.dir = work;
    from.etc = etc;
    bench.cancel = cancel_new(NULL);
    spec.cancel = bench.cancel;
    if (args_parse(4, argv, &bench.args, &err) < 0 || conf_load(&from, &bench.conf, &err) < 0) {
        print_message("%s\n", err.text);
        return -1;
    }
    spec.conf = bench.conf;
    if (host_new(&spec, &notes, &bench.host, &err) < 0) {
        print_message("%s\n", err.text);
        return -1;
    }
    bench.slash = slash_new(bench.host, bench.cancel);
    slash_set_front(bench.slash, &front);
    gate_init(&bench.person.gate);
    return 0;
}

static int teardown(void **state)
{
    slash_free(bench.slash);
    host_free(bench.host);
    conf_unref(bench.conf);
    args_release(&bench.args);
    cancel_unref(bench.cancel);
    gate_release(&bench.person.gate);
    proc_shutdown();
    return home_teardown(state);
}

/* ---- Rows ---- */

static const struct row {
    const char *command; /* "theme", or "!" and "#" */
    const char *args;
    const char *picks[MAX_TAKEN];
    const char *edits[MAX_TAKEN];
    bool refuses;
    const char *text; /* in the answer, or in the error */
    const char *done; /* by the front end */
    enum err_code code;
    enum slash_after after;
} rows[] = {
    {.command = "effort", .picks = {"max"}, .text = "Effort: max"},
    {.command = "effort", .picks = {NULL}, .text = "Effort unchanged", .code = ERR_CANCELLED},
    {.command = "effort", .picks = {"xhigh"}, .text = "Effort: xhigh"},
    {.command = "effort", .args = "status", .text = "Effort: xhigh"},
    {.command = "effort", .args = "auto", .text = "Effort: auto"},
    {.command = "effort", .args = "ultracode", .text = "no workflows yet", .code = ERR_UNSUPPORTED},
    {.command = "theme", .picks = {"light"}, .text = "Theme: light", .done = "theme=light;"},
    {.command = "theme",
     .picks = {"dark"},
     .refuses = true,
     .text = "cannot have the theme",
     .done = "theme=dark;",
     .code = ERR_UNSUPPORTED},
    {.command = "theme", .args = "pink", .text = "there is no theme 'pink'", .code = ERR_BAD_INPUT},
    {.command = "vim", .text = "Keys: vim", .done = "editorMode=vim;"},
    {.command = "vim", .text = "Keys: normal", .done = "editorMode=normal;"},
    {.command = "vim", .args = "off", .text = "Keys: normal", .done = "editorMode=normal;"},
    {.command = "config",
     .picks = {"autoCompactEnabled", "false"},
     .text = "autoCompactEnabled = false",
     .done = "autoCompactEnabled=false;"},
    {.command = "config",
     .picks = {"editorMode", "vim"},
     .text = "editorMode = \"vim\"",
     .done = "editorMode=vim;"},
    {.command = "config",
     .args = "unset editorMode",
     .text = "no longer set",
     .done = "editorMode=;"},
    {.command = "config", .picks = {NULL}, .text = "left", .code = ERR_CANCELLED},
    {.command = "model", .picks = {"s.scenario", NULL}, .text = "left", .code = ERR_CANCELLED},
    {.command = "model", .args = "a b c", .text = "usage: /model", .code = ERR_BAD_INPUT},
    {.command = "clear", .text = "A new conversation", .after = AFTER_NEW},
    {.command = "copy", .text = "the session has no messages yet", .code = ERR_NOT_FOUND},
    {.command = "exit", .text = "", .after = AFTER_LEAVE},
    {.command = "rewind", .text = "the session has no messages yet", .code = ERR_NOT_FOUND},
    {.command = "branch", .text = "the session has no messages yet", .code = ERR_NOT_FOUND},
    {.command = "resume", .text = "There is no other session"},
    {.command = "rename", .edits = {"A name"}, .text = "Named: A name"},
    {.command = "rename", .edits = {"  "}, .text = "at least one character", .code = ERR_BAD_INPUT},
    {.command = "memory", .picks = {"/w/CLAUDE.md"}, .edits = {"Be brief."}, .text = "Wrote "},
    {.command = "memory",
     .picks = {"/w/CLAUDE.md"},
     .edits = {"Be brief.\n"},
     .text = "is as it was"},
    {.command = "#",
     .args = "Remember this",
     .picks = {"For me everywhere"},
     .text = "/h/.tenax/CLAUDE.md"},
    {.command = "#", .args = "And this", .picks = {"For this project"}, .text = "/w/CLAUDE.md"},
    {.command = "#", .args = "", .text = "which note?", .code = ERR_BAD_INPUT},
    {.command = "tasks", .text = "No agent or command runs"},
    {.command = "tasks",
     .args = "kill nobody",
     .text = "no background command 'nobody'",
     .code = ERR_NOT_FOUND},
    {.command = "tasks", .args = "kill all", .text = "Stopping 0 agents and 0 commands."},
    {.command = "team", .text = "This session has no team."},
    {.command = "team", .args = "grill x", .text = "usage: /team", .code = ERR_BAD_INPUT},
    {.command = "agents", .picks = {NULL}, .text = "left", .code = ERR_CANCELLED},
    {.command = "agents", .args = "edit Explore", .text = "is built-in", .code = ERR_UNSUPPORTED},
    {.command = "agents", .args = "show nobody", .text = "no agent type", .code = ERR_NOT_FOUND},
    {.command = "agents",
     .picks = {"New agent", "This project (.tenax/agents)", "Start from a template"},
     .edits = {"linter", "Finds style errors.", "Enter"},
     .text = "/w/.tenax/agents/linter.md"},
    {.command = "agents",
     .args = "new linter again",
     .picks = {"This project (.tenax/agents)", "Start from a template"},
     .text = "/agents edit linter",
     .code = ERR_BUSY},
    {.command = "agents",
     .args = "new ../linter x",
     .picks = {"All my projects", "Start from a template"},
     .text = "is no name for an agent",
     .code = ERR_BAD_INPUT},
    {.command = "agents",
     .picks = {"linter", "Edit it"},
     .edits = {"---\nname: linter\n---\nNo description.\n"},
     .text = "description"},
    {.command = "agents", .args = "edit linter", .text = "no agent type", .code = ERR_NOT_FOUND},
    {.command = "permissions",
     .args = "add",
     .picks = {"Deny", "This session"},
     .edits = {"Bash(rm *)"},
     .text = "deny: Bash(rm *)"},
    {.command = "permissions",
     .picks = {"deny  Bash(rm *)", "Keep it"},
     .text = "Cancelled",
     .code = ERR_CANCELLED},
    {.command = "permissions",
     .picks = {"deny  Bash(rm *)", "Remove it"},
     .text = "Removed Bash(rm *)"},
    {.command = "permissions",
     .picks = {"Add a rule", "Deny", "This session"},
     .edits = {"Bash(rm *)"},
     .text = "deny: Bash(rm *)"},
    {.command = "permissions",
     .args = "add",
     .picks = {"Allow without asking", "This session"},
     .edits = {"Bash(npm test"},
     .text = "a ')' is missing",
     .code = ERR_BAD_INPUT},
    {.command = "permissions",
     .args = "allow Bash(npm test) for me locally",
     .text = "a ')' is missing",
     .code = ERR_BAD_INPUT},
    {.command = "permissions",
     .args = "allow Bash(npm test user",
     .text = "a ')' is missing",
     .code = ERR_BAD_INPUT},
    {.command = "permissions",
     .args = "allow Bash everywhere",
     .text = "cannot be the name of a tool",
     .code = ERR_BAD_INPUT},
    {.command = "permissions", .args = "allow Bassh(ls)", .text = "There is no tool Bassh"},
    {.command = "permissions", .args = "remove Bash(rm *)", .text = "Removed Bash(rm *)"},
    {.command = "sandbox", .args = "allow example.org", .text = "Commands may reach example.org"},
    {.command = "sandbox", .args = "allow http://x/", .text = "not a host", .code = ERR_BAD_INPUT},
    {.command = "sandbox", .args = "status", .text = "example.org"},
    {.command = "sandbox",
     .picks = {"Allow a host"},
     .edits = {"*.example.net"},
     .text = "Commands may reach *.example.net"},
    {.command = "sandbox", .picks = {"example.org"}, .text = "example.org is no longer allowed"},
    {.command = "sandbox",
     .args = "remove example.org",
     .text = "not among the allowed hosts",
     .code = ERR_NOT_FOUND},
    {.command = "sandbox", .args = "off", .text = "Sandbox: off"},
    {.command = "sandbox", .picks = {"Use a sandbox where there is one"}, .text = "Sandbox: auto"},
    {.command = "sandbox", .args = "nonsense", .text = "usage: /sandbox", .code = ERR_BAD_INPUT},
    {.command = "output-style", .picks = {"Explanatory"}, .text = "Output style: Explanatory"},
    {.command = "output-style", .args = "concise", .text = "Output style: Concise"},
    {.command = "output-style", .args = "loud", .text = "no output style", .code = ERR_NOT_FOUND},
    {.command = "cd", .text = "/w"},
    {.command = "cd", .args = "/usr", .text = "/add-dir /usr", .code = ERR_DENIED},
    {.command = "cd", .args = "nowhere", .text = "there is no folder", .code = ERR_NOT_FOUND},
    {.command = "logout", .text = "No key is stored"},
    {.command = "btw", .text = "usage: /btw", .code = ERR_BAD_INPUT},
    {.command = "review", .args = "12", .text = ""},
    {.command = "diff", .text = "not in a git repository", .code = ERR_UNSUPPORTED},
    {.command = "diff", .args = "--output=x", .text = "not allowed", .code = ERR_BAD_INPUT},
    {.command = "plan", .text = "Plan mode"},
    {.command = "plan", .text = "no plan yet"},
    {.command = "plan", .args = "off", .text = "Mode: default"},
    {.command = "goal", .args = "edit", .text = "there is none to edit", .code = ERR_NOT_FOUND},
    {.command = "goal",
     .args = "\"it is done\" --check no-such-program",
     .picks = {"Change the check"},
     .text = "Nothing is set",
     .code = ERR_CANCELLED},
    {.command = "goal", .args = "pause", .text = "No goal is set", .code = ERR_NOT_FOUND},
    {.command = "goal",
     .args = "\"it is done\" --check 'if true'",
     .picks = {"Use it as it is"},
     .text = "cannot be run, see the note"},
    {.command = "goal",
     .args = "check ! no-such-program x",
     .picks = {"Change the check"},
     .text = "Nothing is set",
     .code = ERR_CANCELLED},
    {.command = "goal",
     .args = "check ! no-such-program x",
     .picks = {"Use it as it is"},
     .text = "weak: it passes already)\n  note: it cannot be run as it is: a command of it is not "
             "found"},
    {.command = "goal", .args = "clear", .text = "Goal cleared"},
    {.command = "goal", .args = "\"it is done\" --check true", .text = "Goal set"},
    {.command = "goal",
     .args = "another",
     .picks = {"Cancel"},
     .text = "The goal is unchanged",
     .code = ERR_CANCELLED},
    {.command = "goal", .args = "another", .picks = {"Queue the new one"}, .text = "another"},
    {.command = "goal",
     .args = "edit",
     .edits = {"it is really done"},
     .text = "it is really done"},
    {.command = "goal", .args = "clear", .text = "Goal cleared"},
    {.command = "help", .text = "/mine"},
    {.command = "help", .text = "Shift-Tab"},
    {.command = "help", .args = "mine", .text = "commands/mine.md"},
    {.command = "help", .args = "/cost", .text = "Also: usage stats"},
    {.command = "help", .args = "nosuch", .text = "there is no command", .code = ERR_NOT_FOUND},
    {.command = "status", .text = "scripted/"},
    {.command = "context", .text = "System prompt"},
    {.command = "env", .text = "TENAX_HOME="},
    {.command = "!", .args = "", .text = "which command?", .code = ERR_BAD_INPUT},
    {.command = "!", .args = "echo out; echo err >&2; exit 3", .text = "Exit code 3"},
    {.command = "!", .args = "printf 'a\\033[31mb'", .text = "ab"},
};

static const struct slash_command *find(const char *name)
{
    char text[64];

    if (strcmp(name, "!") == 0)
        return &slash_shell_entry;
    if (strcmp(name, "#") == 0)
        return &slash_note_entry;
    snprintf(text, sizeof(text), "/%s", name);
    return slash_find(str_of(text), NULL);
}

static void run_row(const struct row *r, size_t i)
{
    struct slash_call call = {
        .slash = bench.slash,
        .host = bench.host,
        .front = &front,
        .args = str_of(r->args),
        .source = "built-in",
        .cancel = bench.cancel,
        .text = BUF_INIT(1 << 20),
        .color = BUF_INIT(1 << 20),
        .prompt = BUF_INIT(1 << 20),
        .session = BUF_INIT(1000),
    };
    struct person *me = &bench.person;
    struct err err = {0};

    memcpy(me->picks, r->picks, sizeof(me->picks));
    memcpy(me->edits, r->edits, sizeof(me->edits));
    me->picked = me->edited = 0;
    me->refuses = r->refuses;
    buf_init(&me->done, 4096);
    (void)find(r->command)->run(&call, &err);
    if (err.code != r->code || call.after != r->after ||
        !strstr(err.code ? err.text : buf_cstr(&call.text), r->text) ||
        strcmp(buf_cstr(&me->done), r->done ? r->done : "") != 0)
        fail_msg("row %zu, /%s %s: %s, '%s', done '%s', after %d", i, r->command,
                 r->args ? r->args : "", err.text, buf_cstr(&call.text), buf_cstr(&me->done),
                 (int)call.after);
    /* With colors it says the same. */
    if (!err.code && call.color.len && !strstr(buf_cstr(&call.color), "\x1b[") &&
        !str_eq(buf_str(&call.color), buf_str(&call.text)))
        fail_msg("row %zu: two answers", i);
    buf_release(&me->done);
    buf_release(&call.text);
    buf_release(&call.color);
    buf_release(&call.prompt);
    buf_release(&call.session);
    strv_release(&call.allow);
    strv_release(&call.deny);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        run_row(&rows[i], i);
}

/* ---- A goal's words ---- */

/* One that is kept as a file is edited as it is, not as the line that refers to it. */
static void test_long_goal_is_edited_whole(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf words = BUF_INIT(1 << 14);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    struct row set = {.command = "goal", .text = "Goal set"};
    struct row edit = {.command = "goal", .args = "edit", .edits = {"Enter"}, .text = "updated"};
    struct row clear = {.command = "goal", .args = "clear", .text = "Goal cleared"};
    struct store_goal row;

    (void)state;
    while (words.len < 5000)
        buf_adds(&words, "all of it holds, and ");
    buf_adds(&words, "more");
    set.args = buf_cstr(&words);
    run_row(&set, 0);
    run_row(&edit, 1);
    assert_int_equal(goal_get(host_goal(bench.host), &arena, &row, NULL), 1);
    goal_objective(host_goal(bench.host), &row, &text);
    assert_true(str_eq(buf_str(&text), buf_str(&words)));
    run_row(&clear, 2);
}

/* ---- Work in the background ---- */

/* Whoever leaves a session in which an agent works is asked first. */
static void test_work_is_asked_about(void **state)
{
    static const struct row leaving[] = {
        {.command = "exit", .picks = {"Stay here"}, .text = "work on", .code = ERR_CANCELLED},
        {.command = "clear", .picks = {"Stay here"}, .text = "work on", .code = ERR_CANCELLED},
        {.command = "clear", .text = "", .code = ERR_CANCELLED},
        {.command = "clear", .picks = {"Stop them"}, .text = "conversation", .after = AFTER_NEW},
        {.command = "exit", .picks = {"Stop them"}, .text = "", .after = AFTER_LEAVE},
    };
    static const struct row freely = {.command = "exit", .text = "", .after = AFTER_LEAVE};
    struct task_spec agent = {
        .kind = TASK_AGENT, .is_background = true, .description = STR("A nap")};
    struct task_end end = {.state = TASK_COMPLETED, .is_known = true};
    char id[TASK_ID_MAX + 1];

    (void)state;
    task_make_id(host_tasks(bench.host), TASK_AGENT, id);
    agent.id = id;
    assert_int_equal(task_begin_as(host_tasks(bench.host), "main", &agent, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(leaving); i++)
        run_row(&leaving[i], i);
    task_end(host_tasks(bench.host), id, &end);
    run_row(&freely, 0);
    task_make_id(host_tasks(bench.host), TASK_TEAMMATE, id); /* the same of a member of a team */
    agent.kind = TASK_TEAMMATE;
    assert_int_equal(task_begin_as(host_tasks(bench.host), "main", &agent, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(leaving); i++)
        run_row(&leaving[i], i);
    task_set_state(host_tasks(bench.host), id, TASK_WAITING); /* it is idle */
    run_row(&freely, 0);
    task_end(host_tasks(bench.host), id, &end);
}

/* Which scripts a check runs is observed, not read out of its words. */
static void test_scripts_are_asked_about(void **state)
{
    static const struct row asked[] = {
        {.command = "goal", .args = "\"it works\" --check 'grep -q x app.sh'", .text = "Goal set"},
        {.command = "goal", .args = "clear", .text = "Goal cleared"},
        {.command = "goal",
         .args = "\"it works\" --check 'f=app; sh $f.sh'",
         .picks = {"Part of the check"},
         .text = "1 protected file"},
        {.command = "goal", .args = "clear", .text = "Goal cleared"},
        {.command = "goal",
         .args = "\"it works\" --check 'f=app; sh $f.sh'",
         .picks = {"Part of the work"},
         .text = "as it should)\n  then judged by"},
        {.command = "goal", .args = "clear", .text = "Goal cleared"},
        {.command = "goal",
         .args = "\"it works\" --protect none --check 'sh app.sh'",
         .text = "Goal set"},
        {.command = "goal", .args = "clear", .text = "Goal cleared"},
    };
    const char *why = NULL;

    (void)state;
    if (!confine_observe_works(&why)) {
        print_message("nothing is observed here: %s\n", why);
        return;
    }
    put("w/app.sh", "exit 1\n");
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        run_row(&asked[i], i);
}

/* ---- Memory files ---- */

/* CLAUDE.md is a link: what it leads to is written, with its mode; and nothing for nothing. */
static void test_memory_links(void **state)
{
    static const struct row changes[] = {
        {.command = "memory", .picks = {"/w/CLAUDE.md"}, .edits = {"Old."}, .text = "as it was"},
        {.command = "memory", .picks = {"/w/CLAUDE.md"}, .edits = {"New."}, .text = "Wrote "},
        {.command = "#", .args = "note", .picks = {"For this project"}, .text = "Kept in "},
        {.command = "memory",
         .picks = {"/w/CLAUDE.md"},
         .edits = {"! Another's."},
         .text = "has changed since it was read",
         .code = ERR_BUSY},
    };
    static const char *const want[] = {"Old.\n", "New.\n", "New.\n- note\n", "Another's."};
    CLEANUP(mem_freep) char *link = path_join(test_home, "w/CLAUDE.md");
    CLEANUP(mem_freep) char *agents = path_join(test_home, "w/AGENTS.md");
    struct stat st;

    (void)state;
    (void)unlink(link);
    put("w/AGENTS.md", "Old.\n");
    assert_int_equal(chmod(agents, 0640), 0);
    assert_int_equal(symlink("AGENTS.md", link), 0);
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(4096);

        run_row(&changes[i], i);
        assert_int_equal(file_slurp(agents, 4096, &text, NULL), 0);
        assert_string_equal(buf_cstr(&text), want[i]);
        assert_int_equal(lstat(link, &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        assert_int_equal(stat(agents, &st), 0);
        assert_int_equal(st.st_mode & 07777, i < 3 ? 0640 : 0600); /* put() has its own */
    }
}

/* ---- What commands show and grant ---- */

/* Passwords in proxies' addresses, whatever stands around them. */
static void test_env_masks(void **state)
{
    static const struct row masked[] = {
        {.command = "env", .text = "  HTTP_PROXY=…@proxy:1\n"},
        {.command = "env", .text = "  HTTPS_PROXY=http://…@proxy:1/x@y\n"},
        {.command = "env", .text = "  http_proxy=http://proxy:1/x@y\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(masked); i++)
        run_row(&masked[i], i);
}

/* /statusline may read the two files it is about, and no other of that folder. */
static void test_statusline_grants(void **state)
{
    struct slash_call call = {.slash = bench.slash,
                              .host = bench.host,
                              .cancel = bench.cancel,
                              .prompt = BUF_INIT(1 << 20)};
    CLEANUP(buf_release) struct buf want = BUF_INIT(4096);
    struct err err = {0};

    (void)state;
    assert_int_equal(find("statusline")->run(&call, &err), 0);
    assert_int_equal(call.allow.len, 2);
    buf_addf(&want, "Read(/%s/settings.json)", conf_home(bench.conf));
    assert_string_equal(call.allow.ptr[0], buf_cstr(&want));
    buf_clear(&want);
    buf_addf(&want, "Read(/%s/statusline.sh)", conf_home(bench.conf));
    assert_string_equal(call.allow.ptr[1], buf_cstr(&want));
    buf_release(&call.prompt);
    strv_release(&call.allow);
    strv_release(&call.deny);
    strv_release(&call.only);
}

/* It is Markdown, and shown as such. */
static void test_goal_report(void **state)
{
    static const char *const said[] = {"\"it is done\" --check true", "report", "clear"};
    struct person *me = &bench.person;

    (void)state;
    buf_init(&me->done, 4096);
    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        struct slash_call call = {.slash = bench.slash,
                                  .host = bench.host,
                                  .front = &front,
                                  .args = str_of(said[i]),
                                  .cancel = bench.cancel,
                                  .text = BUF_INIT(1 << 20)};
        struct err err = {0};

        if (find("goal")->run(&call, &err) < 0)
            fail_msg("%s: %s", said[i], err.text);
        assert_int_equal(call.text.len == 0, i == 1);
        buf_release(&call.text);
    }
    assert_true(str_starts(buf_str(&me->done), STR("show Report ")));
    buf_release(&me->done);
}

/* ---- The thread ---- */

static void say(const char *text)
{
    struct agent_input in = {.origin = INPUT_BY_TERMINAL};
    struct err err = {0};

    id_uuid(in.uuid);
    in.message = message_user_text(str_of(text));
    if (slash_send(bench.slash, &in, &err) < 0)
        fail_msg("%s: %s", text, err.text);
}

static void on_done(void *arg)
{
    front_leave(arg);
}

static void await(struct person *me)
{
    gate_take(&me->gate);
    while (!me->has_left)
        gate_wait(&me->gate, -1);
    me->has_left = false;
    gate_give(&me->gate);
}

/* Input after commands keeps its place; actions of a front end are carried out. */
static void test_thread(void **state)
{
    struct person *me = &bench.person;
    CLEANUP(strv_release) struct strv uuids = STRV_INIT;
    CLEANUP(strv_release) struct strv behind = STRV_INIT;

    (void)state;
    buf_init(&me->done, 4096);
    memset(me->picks, 0, sizeof(me->picks));
    me->stays = true;
    say("/clear"); /* later input is for this session after all */
    say("/mine own work");
    say("/version");
    say("hello");
    say("/nosuch");
    say("!true");
    me->interrupts = true;
    say("/theme");
    say("/exit");
    await(me);
    assert_true(me->was_interrupted);
    assert_false(slash_interrupt(bench.slash));
    assert_int_equal(slash_end(bench.slash).failed, ERR_CANCELLED); /* the last that failed */
    me->stays = false;
    say("/clear");
    say("/nosuch"); /* for the session that was gone to: it does not fail here */
    slash_finish(bench.slash, on_done, me);
    await(me);
    assert_int_equal(slash_end(bench.slash).failed, ERR_CANCELLED);
    slash_leave(TAKE_PTR(bench.slash));
    inputs_list(host_inputs(bench.host), INPUTS_ALL, &uuids, &behind);
    assert_int_equal(behind.len, 1);
    assert_string_equal(behind.ptr[0], "/nosuch");
    buf_release(&me->done);
}

UNIT_TEST(front)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_work_is_asked_about),
        cmocka_unit_test(test_long_goal_is_edited_whole),
        cmocka_unit_test(test_scripts_are_asked_about),
        cmocka_unit_test(test_memory_links),
        cmocka_unit_test(test_env_masks),
        cmocka_unit_test(test_statusline_grants),
        cmocka_unit_test(test_goal_report),
        cmocka_unit_test(test_thread),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
