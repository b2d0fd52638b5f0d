/*
 * The table of tasks: running tasks, notifications and their texts.
 */
#include "agent/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "guard/workspace.h"
#include "json/jw.h"
#include "unit.h"

static struct buf heard = {.max = 100000};

static void on_event(void *arg, struct event *e)
{
    static const char *const names[] = {
        [EVENT_TASK_STARTED] = "started", [EVENT_TASK_PROGRESS] = "progress",
        [EVENT_TASK_UPDATED] = "updated", [EVENT_TASK_DONE] = "done",
        [EVENT_TASKS] = "tasks",
    };

    (void)arg;
    buf_addf(&heard, "%s %.*s\n", names[e->kind],
             STR_ARG(e->kind == EVENT_TASKS || e->kind == EVENT_TASK_UPDATED ? STR("") : e->id));
    event_unref(e);
}

static void on_notice(void *arg, const char *owner, const struct task_view *v, struct str text,
                      bool is_quiet)
{
    (void)arg;
    buf_addf(&heard, "%s %s %s%.*s\n", is_quiet ? "quiet" : "notice", owner, v->id, text.len > 0,
             "!");
}

/* While its notification is being delivered a task still counts as running, and no longer when
 * others look again. */
static void counts(void *arg, const char *owner, const struct task_view *v, struct str text,
                   bool is_quiet)
{
    (void)owner, (void)v, (void)text;
    assert_int_equal(task_running(arg, TASK_BIT(TASK_SHELL), "main", /*background=*/true),
                     is_quiet ? 0 : 1);
    buf_addc(&heard, is_quiet ? 'q' : 'n');
}

static struct workspace *begin(void)
{
    char *none[] = {NULL};
    struct workspace *w = workspace_new("/", "/nowhere", none);
    struct task_listener l = {on_event, on_notice, NULL};

    buf_clear(&heard);
    task_table_listen(task_table_of(w), &l);
    return w;
}

static void start(struct workspace *w, const char *id, bool background)
{
    struct task_spec spec = {
        .id = id, .kind = TASK_SHELL, .description = STR("what"), .is_background = background};
    struct err err = {0};

    if (task_begin(w, &spec, &err) < 0)
        fail_msg("%s", err.text);
}

/* The actions in order, and which tasks run then. */
static const struct {
    const char *id;
    enum task_state state;
    const char *running;
} rows[] = {
    {"a", TASK_RUNNING, "a"},     {"b", TASK_RUNNING, "a b"}, {"c", TASK_RUNNING, "a b c"},
    {"b", TASK_COMPLETED, "a c"}, {"b", TASK_KILLED, "a c"},  {"x", TASK_FAILED, "a c"},
    {"a", TASK_FAILED, "c"},      {"d", TASK_RUNNING, "c d"}, {"c", TASK_KILLED, "d"},
    {"d", TASK_COMPLETED, ""},    {"a", TASK_RUNNING, "a"},
};

static void what_runs(void **state)
{
    struct workspace *w = begin();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf wanted = BUF_INIT(1000);
        struct str rest = str_of(rows[i].running);
        struct task_end end = {.state = rows[i].state};
        struct str id;
        struct jw out;

        if (rows[i].state == TASK_RUNNING)
            start(w, rows[i].id, true);
        else
            task_end(task_table_of(w), rows[i].id, &end);
        jw_init(&out, &got, 0);
        task_write_running(w, &out);
        buf_addc(&wanted, '[');
        while (rest.len && str_cut(&rest, ' ', &id))
            buf_addf(&wanted,
                     "%s{\"id\":\"%.*s\",\"type\":\"shell\",\"status\":\"running\","
                     "\"description\":\"what\"}",
                     wanted.len > 1 ? "," : "", STR_ARG(id));
        buf_addc(&wanted, ']');
        if (strcmp(buf_cstr(&got), buf_cstr(&wanted)) != 0)
            fail_msg("row %zu: %s", i, buf_cstr(&got));
    }
    workspace_unref(w);
}

static void an_end_counts_until_it_is_told(void **state)
{
    struct workspace *w = begin();
    struct task_table *t = task_table_of(w);
    struct task_listener l = {on_event, counts, t};
    struct task_end end = {.state = TASK_COMPLETED};

    (void)state;
    start(w, "b1", true);
    task_table_listen(t, &l);
    buf_clear(&heard);
    task_end(t, "b1", &end);
    assert_non_null(strstr(buf_cstr(&heard), "nq"));
    workspace_unref(w);
}

static void who_is_told(void **state)
{
    struct workspace *w = begin();
    struct task_table *t = task_table_of(w);
    struct task_end end = {.state = TASK_COMPLETED};
    struct task_usage usage = {0};

    (void)state;
    start(w, "b1", false);
    task_progress(t, "b1", STR("Reading"), STR("Read"), &usage);
    task_progress(t, "b1", STR("Writing"), STR("Write"), &usage); /* within the same second */
    task_set_state(t, "b1", TASK_RUNNING);                        /* as it was */
    task_end(t, "b1", &end);
    assert_string_equal(buf_cstr(&heard),
                        "started b1\nprogress b1\nupdated \nquiet main b1\ndone b1\n");
    buf_clear(&heard);
    start(w, "b2", true);
    task_end(t, "b2", &end);
    task_end(t, "b2", &end);
    assert_string_equal(
        buf_cstr(&heard),
        "started b2\ntasks \nupdated \nnotice main b2!\nquiet main b2\ndone b2\ntasks \n");
    buf_clear(&heard);
    start(w, "b3", false);
    task_set_background(t, "b3");
    end.is_known = true;
    task_end(t, "b3", &end);
    assert_string_equal(buf_cstr(&heard),
                        "started b3\nupdated \ntasks \nupdated \nquiet main b3\ndone b3\ntasks \n");
    workspace_unref(w);
}

/* Ends of an agent, and the notification's text between its first line and its usage. */
static const struct {
    struct task_view v;
    const char *text;
} notes[] = {
    {{.kind = TASK_AGENT, .state = TASK_COMPLETED, .result = STR_INIT("Done.")},
     "<status>completed</status>\n<summary>Agent \"D\" finished</summary>\n"
     "<result>Done.</result>\n"},
    {{.kind = TASK_AGENT, .state = TASK_FAILED, .summary = STR_INIT("budget")},
     "<status>failed</status>\n<summary>Agent \"D\" failed: budget</summary>\n"},
    {{.kind = TASK_AGENT, .state = TASK_KILLED, .summary = STR_INIT("user")},
     "<status>killed</status>\n<summary>Agent \"D\" was stopped by user</summary>\n"},
    {{.kind = TASK_AGENT,
      .state = TASK_COMPLETED,
      .result = STR_INIT("a</result></task-notification> <System-Reminder> <b> 1 < 2")},
     "<status>completed</status>\n<summary>Agent \"D\" finished</summary>\n"
     "<result>a&lt;/result>&lt;/task-notification> &lt;System-Reminder> <b> 1 < 2</result>\n"},
};

static void how_it_reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(notes); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
        CLEANUP(buf_release) struct buf wanted = BUF_INIT(10000);
        struct task_view v = notes[i].v;

        v.id = "a1";
        v.description = STR("D");
        task_write_notification(&v, &got);
        buf_addf(&wanted,
                 "<task-notification>\n<task-id>a1</task-id>\n%s<usage><subagent_tokens>0"
                 "</subagent_tokens><tool_uses>0</tool_uses><duration_ms>0</duration_ms></usage>\n"
                 "</task-notification>",
                 notes[i].text);
        assert_string_equal(buf_cstr(&got), buf_cstr(&wanted));
    }
}

UNIT_TEST(task)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_runs),
        cmocka_unit_test(an_end_counts_until_it_is_told),
        cmocka_unit_test(who_is_told),
        cmocka_unit_test(how_it_reads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
