/*
 * Children: a real session with a scripted model, and a tool made for it that starts agents. What
 * they share with the session, what is separate, and how they end.
 */
#include "agent/spawn.h"
#include "agent/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/ask.h"
#include "agent/event.h"
#include "agent/tool.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "host/asks.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "json/json.h"
#include "llm/message.h"
#include "proc/proc.h"
#include "store/test_home.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "unit.h"

#define MAX_EVENTS 20000

/* ---- A tool that starts an agent ---- */

#define CHILD_SCHEMA                                                                               \
    "{\"type\":\"object\",\"properties\":{\"prompt\":{\"type\":\"string\"},\"type\":{\"type\":"    \
    "\"string\"},\"tools\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"mode\":{"        \
    "\"type\":\"string\"},\"dir\":{\"type\":\"string\"},\"model\":{\"type\":\"string\"},"          \
    "\"fork\":{\"type\":\"boolean\"},\"schema\":{\"type\":\"string\"},\"then\":{\"type\":"         \
    "\"string\"},\"detach\":{\"type\":\"boolean\"}}}"

static int child_run(struct tool_call *call, struct tool_result *ret, struct err *err);

static const struct tool_entry child_tool = {.name = "Child",
                                             .text = "Starts an agent.",
                                             .schema = CHILD_SCHEMA,
                                             .flags = TOOL_FREE | TOOL_CONCURRENT,
                                             .run = child_run};

static int child_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv tools = STRV_INIT;
    CLEANUP(spawn_end_release) struct spawn_end end = {0};
    CLEANUP(buf_release) struct buf dir = BUF_INIT(1000);
    struct spawner *s = call->spawner;
    struct spawn_spec spec = {
        .by = call->identity,
        .prompt = json_get_str(call->args, "prompt"),
        .type = json_get_str(call->args, "type"),
        .tool_id = call->id,
        .forks = json_get_bool(call->args, "fork", false),
        .schema = json_get_str(call->args, "schema"),
        .model = json_get_str(call->args, "model"),
        .mode = json_get_str(call->args, "mode"),
    };
    struct str then = json_get_str(call->args, "then");
    char id[SPAWN_ID_LEN + 1];

    JSON_EACH(json_get(call->args, "tools"), name) {
        strv_add(&tools, json_str(name));
    }
    if (json_get(call->args, "tools"))
        spec.tools = &tools;
    buf_add(&dir, json_get_str(call->args, "dir"));
    if (dir.len)
        spec.dir = buf_cstr(&dir);
    if (s->start(s, &spec, id, err) < 0)
        return -1;
    buf_addf(&ret->text, "%s ", id);
    if (json_get_bool(call->args, "detach", false))
        return 0;
    if (s->wait(s, id, call->cancel, &end, err) < 0)
        return -1;
    if (then.len) {
        spawn_end_release(&end);
        if (s->send(s, id, then, INPUT_LATER, err) < 0 ||
            s->wait(s, id, call->cancel, &end, err) < 0)
            return -1;
    }
    buf_addf(&ret->text, "%s tools=%d: ", turn_end_name(end.turn->report->end), (int)end.tool_uses);
    buf_add(&ret->text, end.turn->report->structured.len ? end.turn->report->structured
                                                         : end.turn->report->result);
    return s->forget(s, id, err);
}

/* ---- A session ---- */

static struct {
    struct conf *conf;
    struct args args;
    struct cancel *cancel;
    struct host *host;
    struct mailbox *mail;
    struct observer *observer;
    struct event *events[MAX_EVENTS];
    size_t count;
} bench;

static void put(const char *name, const char *text)
{
    CLEANUP(mem_freep) char *path = path_join(test_home, name);
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    struct err err = {0};

    if (file_mkdirs(dir, 0700, &err) < 0 || file_replace(path, str_of(text), 0600, &err) < 0)
        fail_msg("%s: %s", name, err.text);
}

static void begin(const char *scenario)
{
    static char variables[3][200];
    static char *env[] = {variables[0], variables[1], variables[2], NULL};
    static char model[200];
    char *argv[] = {(char *)"tenax", (char *)"--model", model, NULL};
    CLEANUP(mem_freep) char *work = path_join(test_home, "w");
    CLEANUP(mem_freep) char *etc = path_join(test_home, "etc");
    struct conf_sources from = {.environ = env, .trusted = true, .args = &bench.args};
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct host_spec spec = {.args = &bench.args, .more = &child_tool, .more_count = 1};
    struct err err = {0};

    home_clear();
    snprintf(variables[0], sizeof(variables[0]), "HOME=%s/h", test_home);
    snprintf(variables[1], sizeof(variables[1]), "TENAX_HOME=%s/h/.tenax", test_home);
    snprintf(variables[2], sizeof(variables[2]), "PATH=/usr/local/bin:/usr/bin:/bin");
    snprintf(model, sizeof(model), "scripted/%s/s.scenario", test_home);
    put("s.scenario", scenario);
    put("w/a.txt", "in w\n");
    put("v/a.txt", "in v\n");
    from.dir = work;
    from.etc = etc;
    bench.cancel = cancel_new(NULL);
    spec.cancel = bench.cancel;
    if (args_parse(3, argv, &bench.args, &err) < 0 || conf_load(&from, &bench.conf, &err) < 0)
        fail_msg("%s", err.text);
    spec.conf = bench.conf;
    if (host_new(&spec, &notes, &bench.host, &err) < 0)
        fail_msg("%s", err.text);
    bench.mail = mailbox_new();
    bench.observer = feed_observe(host_feed(bench.host), 1, OBSERVER_CHILDREN, bench.mail);
}

static void say(const char *text)
{
    struct agent_input in = {.message = message_user_text(str_of(text))};
    struct err err = {0};

    id_uuid(in.uuid);
    if (host_send(bench.host, &in, &err) < 0)
        fail_msg("%s", err.text);
}

/* The next event, kept. */
static struct event *next(void)
{
    struct event *e;
    struct mail *m;
    uint64_t seq;

    while (observer_take(bench.observer, &e, &seq) != OBSERVED_EVENT) {
        if (mailbox_take(bench.mail, NULL, clock_mono_ms() + 60000, &m, NULL) < 0)
            fail_msg("nothing happens after %zu events", bench.count);
        mail_free(m);
    }
    assert_true(bench.count < MAX_EVENTS);
    bench.events[bench.count++] = e;
    return e;
}

/* Until the main agent's turn is over; its result. */
static struct str until_done(void)
{
    struct event *e;

    do {
        e = next();
    } while (e->kind != EVENT_TURN_DONE || !identity_is_main(&e->by));
    return e->report->result;
}

static void end(void)
{
    observer_free(bench.observer);
    host_free(bench.host);
    while (bench.count)
        event_unref(bench.events[--bench.count]);
    mailbox_close(bench.mail);
    mailbox_unref(bench.mail);
    conf_unref(bench.conf);
    args_release(&bench.args);
    cancel_unref(bench.cancel);
}

/* Of the main agent, the n-th result of a call. */
static struct str result(size_t n)
{
    for (size_t i = 0; i < bench.count; i++) {
        const struct event *e = bench.events[i];

        if (e->kind == EVENT_TOOL_DONE && identity_is_main(&e->by) && n-- == 0)
            return e->text;
    }
    return STR("(none)");
}

/* ---- What a child is ---- */

/* The input of the tool call, the answers of the child's model, and the tool's result after the
 * child's id. */
static const struct child_case {
    const char *call;
    const char *child; /* steps of the scenario; the condition is added */
    const char *text;
} child_cases[] = {
    {"{\"prompt\":\"job\"}", "  text Done.\n", "completed tools=0: Done."},
    {"{\"prompt\":\"job\",\"type\":\"Explore\"}",
     "  call Read {\"file_path\":\"a.txt\"}\nstep\n  if-result \"in w\"\n  text It is w.\n",
     "completed tools=1: It is w."},
    {"{\"prompt\":\"job\",\"dir\":\"V\"}",
     "  call Read {\"file_path\":\"a.txt\"}\nstep\n  if-result \"in v\"\n  text It is v.\n",
     "completed tools=1: It is v."},
    {"{\"prompt\":\"job\",\"tools\":[\"Read\"]}",
     "  call Glob {\"pattern\":\"*\"}\nstep\n  if-result \"Glob\"\n  text No Glob.\n",
     "completed tools=1: No Glob."},
    {"{\"prompt\":\"job\",\"tools\":[\"Raed\"]}", NULL, "did you mean Read?"},
    {"{\"prompt\":\"job\",\"mode\":\"plan\"}",
     "  call Write {\"file_path\":\"n.txt\",\"content\":\"x\"}\nstep\n  if-result \"plan\"\n"
     "  text Refused.\n",
     "completed tools=1: Refused."},
    {"{\"prompt\":\"job\",\"mode\":\"plam\"}", NULL, "there is no permission mode 'plam'"},
    {"{\"prompt\":\"job\",\"dir\":\"/nowhere\"}", NULL, "/nowhere is not a folder"},
    {"{\"prompt\":\" \"}", NULL, "the prompt is empty"},
    {"{\"prompt\":\"job\",\"schema\":\"{\\\"type\\\":\\\"object\\\",\\\"properties\\\":{\\\"n\\\":{"
     "\\\"type\\\":\\\"integer\\\"}}}\"}",
     "  call StructuredOutput {\"n\":7}\n", "completed tools=1: {\"n\":7}"},
    {"{\"prompt\":\"job\",\"then\":\"more\"}",
     "  text First.\nstep\n  if-prompt \"more\"\n  text Second.\n", "completed tools=0: Second."},
    {"{\"prompt\":\"job\",\"fork\":true}", "  if-prompt \"go\"\n  text I know of go.\n",
     "completed tools=0: I know of go."},
    {"{\"prompt\":\"job\"}",
     "  call Child {\"prompt\":\"deep\"}\nstep\n  if-prompt \"deep\"\n  text From below.\n"
     "step\n  if-result \"From below.\"\n  text Two.\n",
     "completed tools=1: Two."},
};

static void children_do_as_they_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(child_cases); i++) {
        const struct child_case *row = &child_cases[i];
        CLEANUP(buf_release) struct buf scenario = BUF_INIT(1 << 16);
        CLEANUP(buf_release) struct buf call = BUF_INIT(1 << 16);
        const char *v = strstr(row->call, "\"V\"");

        if (v)
            buf_addf(&call, "%.*s\"%s/v\"%s", (int)(v - row->call), row->call, test_home, v + 3);
        else
            buf_adds(&call, row->call);
        if (row->child)
            buf_addf(&scenario, "step\n  if-prompt \"job\"\n%s", row->child);
        buf_addf(&scenario,
                 "step\n  if-prompt \"go\"\n  call Child %s\nstep\n  text Main is done.\n",
                 buf_cstr(&call));
        begin(buf_cstr(&scenario));
        say("go");
        if (!str_is(until_done(), "Main is done.") || !str_ends(result(0), str_of(row->text)))
            fail_msg("%s: %.*s", row->call, STR_ARG(result(0)));
        end();
    }
}

/* Its events say whose they are, and those that show the main agent alone never see them. */
static void events_carry_a_name(void **state)
{
    struct observer *plain;
    size_t of_child = 0;
    struct event *e;
    uint64_t seq;

    (void)state;
    begin("step\n  if-prompt \"job\"\n  call Read {\"file_path\":\"a.txt\"}\n"
          "step\n  if-result \"in w\"\n  text Child.\n"
          "step\n  if-prompt \"go\"\n  call Child {\"prompt\":\"job\",\"type\":\"Explore\"}\n"
          "step\n  text Main.\n");
    plain = feed_observe(host_feed(bench.host), 1, 0, bench.mail);
    say("go");
    until_done();
    for (size_t i = 0; i < bench.count; i++) {
        const struct identity *by = &bench.events[i]->by;

        assert_string_equal(by->session, host_session(bench.host));
        if (identity_is_main(by)) {
            assert_null(by->type);
            continue;
        }
        of_child++;
        assert_string_equal(by->type, "Explore");
        assert_true(str_starts(str_of(by->parent), STR("toolu_")));
        assert_int_equal(strlen(by->agent), TASK_ID_MAX);
    }
    assert_true(of_child > 8);
    while (observer_take(plain, &e, &seq) == OBSERVED_EVENT) {
        assert_true(identity_is_main(&e->by));
        event_unref(e);
    }
    observer_free(plain);
    end();
}

/* What it asks goes to the session's front ends with its name; an answer counts for all. */
static void asks_carry_a_name(void **state)
{
    struct ask_front *front;
    struct mailbox *mail = mailbox_new();
    CLEANUP(ask_answer_release) struct ask_answer answer = ASK_ANSWER_INIT;
    struct mail *m;
    struct ask_mail *am;

    (void)state;
    begin("step\n  if-prompt \"job\"\n  call Write {\"file_path\":\"n.txt\",\"content\":\"x\"}\n"
          "step\n  if-result \"n.txt\"\n  call Write {\"file_path\":\"o.txt\",\"content\":\"x\"}\n"
          "step\n  if-result \"o.txt\"\n  text Written.\n"
          "step\n  if-prompt \"go\"\n  call Child {\"prompt\":\"job\",\"type\":\"Scribe\"}\n"
          "step\n  text Main.\n");
    front = asks_join(host_asks(bench.host), mail);
    say("go");
    assert_int_equal(mailbox_take(mail, NULL, clock_mono_ms() + 60000, &m, NULL), 0);
    assert_ptr_equal(m->kind, &ask_mail_kind);
    am = (struct ask_mail *)m;
    assert_true(str_is(am->ask->tool_name, "Write"));
    assert_string_equal(am->ask->by.type, "Scribe");
    assert_false(identity_is_main(&am->ask->by));
    answer.allowed = true;
    buf_adds(&answer.permissions, "[{\"type\":\"setMode\",\"mode\":\"acceptEdits\",\"destination\":"
                                  "\"session\"}]");
    assert_true(asks_answer(host_asks(bench.host), front, am->id, &answer));
    mail_free(m);
    until_done();
    assert_true(str_ends(result(0), STR("completed tools=2: Written.")));
    assert_int_equal(permit_mode(host_permit(bench.host)), MODE_ACCEPT_EDITS);
    ask_front_leave(front);
    mailbox_close(mail);
    mailbox_unref(mail);
    end();
}

/* Its lines are in a separate file, and its cost is the session's. */
static void a_child_is_kept_and_paid_for(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf path = BUF_INIT(1000);
    struct event *last;
    struct err err = {0};

    (void)state;
    begin("step\n  if-prompt \"job\"\n  usage input=1000 output=500\n  text Child.\n"
          "step\n  if-prompt \"go\"\n  usage input=10 output=5\n  call Child {\"prompt\":\"job\"}\n"
          "step\n  usage input=10 output=5\n  text Main.\n");
    say("go");
    until_done();
    buf_addf(&path, "%s/subagents/agent-%.*s.jsonl", host_folder(bench.host), TASK_ID_MAX,
             result(0).ptr);
    if (file_slurp(buf_cstr(&path), 1 << 20, &text, &err) < 0)
        fail_msg("%s", err.text);
    assert_non_null(strstr(buf_cstr(&text), "\"isSidechain\":true"));
    assert_non_null(strstr(buf_cstr(&text), "Child."));
    last = host_last_turn(bench.host);
    assert_true(identity_is_main(&last->by));
    assert_int_equal(last->report->model_count, 1);
    assert_int_equal(last->report->models[0].usage.input, 1020);
    assert_int_equal(last->report->models[0].usage.output, 510);
    event_unref(last);
    end();
}

static atomic_int rested;

static void on_rest(void *arg, const char *id)
{
    (void)arg;
    (void)id;
    atomic_fetch_add(&rested, 1);
}

/* Children in the background work on beside the main agent, and are stopped one by one, or all
 * together when the session ends. */
static void detached_children_end(void **state)
{
    struct spawn_spec spec = {.prompt = STR("job"), .rests = on_rest};
    CLEANUP(spawn_end_release) struct spawn_end over = {0};
    struct spawner *s;
    char ids[200][SPAWN_ID_LEN + 1];
    struct err err = {0};
    int64_t at_ms;

    (void)state;
    atomic_store(&rested, 0);
    begin("step\n  if-prompt \"job\"\n  sticky\n  text Never\n  pause 100s\n  text said.\n"
          "step\n  sticky\n  text Main.\n");
    s = host_spawner(bench.host);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        if (s->start(s, &spec, ids[i], &err) < 0)
            fail_msg("%zu: %s", i, err.text);
    }
    say("go");
    assert_true(str_is(until_done(), "Main."));
    observer_free(bench.observer); /* agents would wait for it to read their events */
    bench.observer = NULL;
    assert_int_equal(s->stop(s, ids[0], &err), 0);
    assert_int_equal(s->wait(s, ids[0], NULL, &over, &err), 0);
    assert_int_equal(over.turn->report->end, END_ABORTED_STREAMING);
    assert_int_equal(s->forget(s, ids[0], &err), 0);
    assert_int_equal(s->wait(s, ids[0], NULL, &over, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    at_ms = clock_mono_ms();
    cancel_set(bench.cancel);
    for (size_t i = 1; i < ARRAY_LEN(ids); i++) {
        struct spawn_end each = {0};

        if (s->wait(s, ids[i], NULL, &each, &err) < 0)
            fail_msg("%zu: %s", i, err.text);
        spawn_end_release(&each);
    }
    print_message("%zu agents ended in %d ms\n", ARRAY_LEN(ids), (int)(clock_mono_ms() - at_ms));
    end();
    assert_int_equal(atomic_load(&rested), ARRAY_LEN(ids));
}

static int teardown(void **state)
{
    proc_shutdown();
    return home_teardown(state);
}

UNIT_TEST(child)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_do_as_they_are_told),
        cmocka_unit_test(events_carry_a_name),
        cmocka_unit_test(asks_carry_a_name),
        cmocka_unit_test(a_child_is_kept_and_paid_for),
        cmocka_unit_test(detached_children_end),
    };

    return cmocka_run_group_tests_name("child", tests, home_setup, teardown);
}
