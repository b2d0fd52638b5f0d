/*
 * The loop, driven by a scripted model and tools made for it: what happens next, row by row, and
 * how others may interfere. Every conversation is checked by history_check() at its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/agent_state.h"
#include "agent/ask.h"
#include "agent/recall.h"
#include "agent/tool.h"
#include "agent/toolbox.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "net/net.h"
#include "net/test_server.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "sync/thread.h"
#include "unit.h"

static char root[] = "/tmp/tenax-agent-XXXXXX";

/* ---- Tools ---- */

static atomic_int effects;
static atomic_int looks;
static atomic_int guests;
static struct cancel *seated; /* set: Deaf sits there */
static struct cancel *bell;   /* set: Meet has met, Deaf need not sit there any longer */

#define ALONE_MS 10000 /* how long Meet waits for the other */
#define DEAF_MS 2500

static int run_echo(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    int64_t ms = json_get_i64(call->args, "ms", 0);
    struct mailbox *never = mailbox_new();
    struct mail *m;

    atomic_fetch_add(&looks, 1);
    if (ms && mailbox_take(never, call->cancel, clock_mono_ms() + ms, &m, err) < 0 &&
        cancel_is_set(call->cancel)) {
        mailbox_unref(never);
        return -1;
    }
    mailbox_unref(never);
    err_clear(err);
    buf_addf(&ret->text, "echo %.*s", STR_ARG(json_get_str(call->args, "say")));
    return 0;
}

static int run_effect(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    (void)err;
    atomic_fetch_add(&effects, 1);
    buf_addf(&ret->text, "done %.*s", STR_ARG(json_get_str(call->args, "say")));
    return 0;
}

static int run_fail(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    ret->stops_batch = json_get_bool(call->args, "stops", false);
    return err_set(err, ERR_IO, "it did not work");
}

/* Two of them wait for each other. */
static int run_meet(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    (void)call;
    if (atomic_fetch_add(&guests, 1) + 1 == 2)
        cancel_set(bell);
    buf_adds(&ret->text, cancel_wait(bell, ALONE_MS, err) < 0 ? "met" : "alone");
    err_clear(err);
    return 0;
}

/* Takes no notice of a cancel, for much longer than a turn may take to end. */
static int run_deaf(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    (void)call;
    cancel_set(seated);
    (void)cancel_wait(bell, DEAF_MS, err);
    err_clear(err);
    buf_adds(&ret->text, "heard nothing");
    return 0;
}

static int run_big(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    (void)call;
    (void)err;
    for (int i = 0; i < 10000; i++)
        buf_addf(&ret->text, "line %d\n", i);
    return 0;
}

static int run_picture(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct tool_image *image = vec_add(&ret->images);

    (void)call;
    (void)err;
    *image = (struct tool_image){.media_type = "image/png", .bytes = BUF_INIT(100)};
    buf_adds(&image->bytes, "pixels");
    return 0;
}

#define ANY_SCHEMA                                                                                 \
    "{\"type\":\"object\",\"properties\":{\"say\":{\"type\":\"string\"},\"ms\":{\"type\":"         \
    "\"integer\"},\"stops\":{\"type\":\"boolean\"}},\"additionalProperties\":false}"

static const struct tool_entry echo = {
    "Echo", "Echoes.", ANY_SCHEMA, TOOL_READ_ONLY | TOOL_CONCURRENT | TOOL_FREE, .run = run_echo};
static const struct tool_entry effect = {"Effect", "Has an effect.", ANY_SCHEMA, TOOL_FREE,
                                         .run = run_effect};
static const struct tool_entry asked = {"Asked", "Needs leave.", ANY_SCHEMA, 0, .run = run_effect};
static const struct tool_entry fail = {
    "Fail", "Fails.", ANY_SCHEMA, TOOL_READ_ONLY | TOOL_CONCURRENT | TOOL_FREE, .run = run_fail};
static const struct tool_entry meet = {"Meet", "Waits for another.", ANY_SCHEMA,
                                       TOOL_CONCURRENT | TOOL_FREE, .run = run_meet};
static const struct tool_entry deaf = {"Deaf", "Hears nothing.", ANY_SCHEMA, TOOL_FREE,
                                       .run = run_deaf};
static const struct tool_entry big = {"Big", "Says a lot.", ANY_SCHEMA, TOOL_FREE, .run = run_big};
static const struct tool_entry picture = {"Picture", "Shows.", ANY_SCHEMA, TOOL_FREE,
                                          .run = run_picture};
static const struct tool_entry *const table[] = {&echo, &effect, &asked,   &fail, &meet,
                                                 &deaf, &big,    &picture, NULL};

/* ---- A bench with an agent on it ---- */

struct bench {
    struct conf *conf;
    struct provider provider;
    struct workspace *workspace;
    struct permit *permit;
    struct toolbox *toolbox;
    struct agent *agent;
    struct cancel *cancel;
    struct agent_spec spec;
    struct mailbox *mail; /* events */

    struct buf trace; /* one letter per event */
    struct buf results;
    enum turn_end end;
    char result[500];
    char error[500];
    char denials[2000];
    char structured[500];
    int64_t steps;
};

struct event_mail {
    struct mail mail;
    struct event *event;
};

static void event_mail_free(struct mail *m)
{
    event_unref(((struct event_mail *)m)->event);
    mem_freep(&m);
}

static const struct mail_kind event_mail_kind = {"event", event_mail_free};

static void bench_emit(void *arg, struct event *e, struct cancel *cancel)
{
    struct bench *b = arg;
    struct event_mail *m = mem_zalloc(sizeof(*m));

    (void)cancel;
    m->mail.kind = &event_mail_kind;
    m->event = e;
    mailbox_send(b->mail, &m->mail);
}

static void bench_begin(struct bench *b, const char *scenario)
{
    static char *no_environ[] = {NULL};
    struct conf_sources from = {.dir = root, .environ = no_environ, .etc = root, .trusted = true};
    CLEANUP(buf_release) struct buf model = BUF_INIT(4096);
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct err err = {0};
    char path[200];
    char state[200];

    *b = (struct bench){.trace = BUF_INIT(1 << 20), .results = BUF_INIT(1 << 20)};
    atomic_store(&effects, 0);
    atomic_store(&looks, 0);
    atomic_store(&guests, 0);
    seated = cancel_new(NULL);
    bell = cancel_new(NULL);
    snprintf(path, sizeof(path), "%s/s.scenario", root);
    snprintf(state, sizeof(state), "%s/state", root);
    buf_addf(&model, "scripted/%s", path);
    if (file_replace(path, str_of(scenario), 0600, &err) < 0 || conf_load(&from, &b->conf, &err) ||
        provider_select(b->conf, buf_str(&model), NULL, &b->provider, &err) < 0)
        fail_msg("%s", err.text);
    b->cancel = cancel_new(NULL);
    b->mail = mailbox_new();
    b->workspace = workspace_new(root, state, no_environ);
    if (permit_new(b->conf, b->workspace, &warnings, &b->permit, &err) < 0)
        fail_msg("%s", err.text);
    b->spec = (struct agent_spec){
        .identity = {.session = "00000000-0000-4000-8000-000000000000", .agent = IDENTITY_MAIN},
        .conf = b->conf,
        .providers = &b->provider,
        .provider_count = 1,
        .workspace = b->workspace,
        .permit = b->permit,
        .system = STR("You are a test."),
        .emit = bench_emit,
        .emit_arg = b,
        .cancel = b->cancel,
    };
}

static void bench_start(struct bench *b, const char *schema)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct tool_entry structured;
    struct toolbox_spec spec = {
        .table = table,
        .conf = b->conf,
        .provider = &b->provider,
        .permit = b->permit,
        .more = &structured,
        .more_count = *schema ? 1 : 0,
    };
    struct err err = {0};

    if (*schema && tool_structured(str_of(schema), &arena, &structured, &err) < 0)
        fail_msg("%s", err.text);
    if (toolbox_new(&spec, &b->toolbox, &err) < 0)
        fail_msg("%s", err.text);
    b->spec.toolbox = b->toolbox;
    b->agent = agent_new(&b->spec);
    agent_begin(b->agent, &b->spec);
}

static void bench_say(struct bench *b, const char *text, enum input_when when)
{
    struct agent_input in = {.message = message_user_text(str_of(text)), .when = when};

    id_uuid(in.uuid);
    agent_send(b->agent, &in);
}

/* Waits for the next event; its letter goes into the trace. */
static struct event *bench_event(struct bench *b)
{
    static const char letters[] = {
        [EVENT_TURN_STARTED] = 'T', [EVENT_STEP_STARTED] = 'S', [EVENT_STEP_DONE] = 'D',
        [EVENT_STEP_VOID] = 'V',    [EVENT_STEP_CUT] = 'C',     [EVENT_TOOL_DONE] = 'r',
        [EVENT_USER] = 'u',         [EVENT_RETRY] = 'R',        [EVENT_NOTICE] = 'n',
        [EVENT_TURN_DONE] = 'E',    [EVENT_HOOK_STARTED] = 'h',
    };
    struct event *e;
    struct mail *m;

    if (mailbox_take(b->mail, NULL, clock_mono_ms() + 60000, &m, NULL) < 0)
        fail_msg("nothing happens after %s", buf_cstr(&b->trace));
    e = event_ref(((struct event_mail *)m)->event);
    mail_free(m);
    if ((size_t)e->kind < sizeof(letters) && letters[e->kind])
        buf_addc(&b->trace, letters[e->kind]);
    if (e->kind == EVENT_TOOL_DONE)
        buf_addf(&b->results, "%.*s%s|", STR_ARG(str_clip(e->text, 400)), e->is_error ? "!" : "");
    return e;
}

static bool bench_is(struct bench *b, enum event_kind kind)
{
    struct event *e = bench_event(b);
    bool is = e->kind == kind;

    if (e->kind == EVENT_TURN_DONE) {
        b->end = e->report->end;
        b->steps = e->report->steps;
        snprintf(b->result, sizeof(b->result), "%.*s", STR_ARG(e->report->result));
        snprintf(b->error, sizeof(b->error), "%.*s", STR_ARG(e->report->error));
        snprintf(b->denials, sizeof(b->denials), "%.*s", STR_ARG(e->report->denials));
        snprintf(b->structured, sizeof(b->structured), "%.*s", STR_ARG(e->report->structured));
    }
    event_unref(e);
    return is;
}

static void bench_until(struct bench *b, enum event_kind kind)
{
    while (!bench_is(b, kind))
        ;
}

static void bench_done(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
}

static void bench_end(struct bench *b)
{
    static atomic_bool done;
    struct err err = {0};
    size_t count;

    atomic_store(&done, false);
    cancel_set(bell);
    agent_finish(b->agent, bench_done, &done);
    agent_await_end(b->agent);
    assert_true(atomic_load(&done));
    if (b->agent->history.draft)
        (void)history_messages(&b->agent->history, &count);
    if (history_check(b->agent->history.list.ptr, b->agent->history.list.len, &err) < 0)
        fail_msg("after %s: %s", buf_cstr(&b->trace), err.text);
    agent_free(b->agent);
    toolbox_unref(b->toolbox);
    permit_free(b->permit);
    workspace_unref(b->workspace);
    provider_release(&b->provider);
    conf_unref(b->conf);
    mailbox_close(b->mail);
    mailbox_unref(b->mail);
    cancel_unref(b->cancel);
    cancel_unrefp(&seated);
    cancel_unrefp(&bell);
    buf_release(&b->trace);
    buf_release(&b->results);
}

/* ---- Rows ---- */

static const struct {
    const char *name;
    const char *scenario;
    int64_t max_steps;
    const char *schema;
    const char *trace;
    enum turn_end end;
    const char *result;  /* or NULL */
    const char *results; /* of the tools; or NULL */
    int effects;
    int looks; /* -1: one or more */
} rows[] = {
    {"plain", "step\n  text Hello.\n", 0, "", "TuSDE", END_COMPLETED, "Hello.", "", 0, 0},
    {"tools in order",
     "step\n  call Echo {\"say\":\"a\",\"ms\":30}\n  call Echo {\"say\":\"b\"}\n"
     "  call Effect {\"say\":\"c\"}\n  call Echo {\"say\":\"d\"}\n"
     "step\n  if-result \"echo a\\necho b\\ndone c\\necho d\"\n  text ok\n",
     0, "", "TuSDrrrrSDE", END_COMPLETED, "ok", "echo a|echo b|done c|echo d|", 1, 3},
    {"unknown tool, bad JSON, wrong arguments",
     "step\n  call Ecko {}\n  call Echo {\"say\": \n  call Echo {\"says\":\"x\"}\n"
     "  call Effect [1]\nstep\n  text ok\n",
     0, "", "TuSDrrrrSDE", END_COMPLETED, "ok", NULL, 0, 0},
    {"a failing tool is news, not the end",
     "step\n  call Fail {}\n  call Echo {\"say\":\"a\"}\nstep\n  text ok\n", 0, "", "TuSDrrSDE",
     END_COMPLETED, "ok", "it did not work!|echo a|", 0, 1},
    {"what may run beside others does", "step\n  call Meet {}\n  call Meet {}\nstep\n  text ok\n",
     0, "", "TuSDrrSDE", END_COMPLETED, "ok", "met|met|", 0, 0},
    {"max turns", "step\n  sticky\n  call Echo {}\n", 3, "", "TuSDrSDrSDrE", END_MAX_TURNS, NULL,
     NULL, 0, 3},
    {"empty once", "step\n  think hm\nstep\n  text ok\n", 0, "", "TuSVSDE", END_COMPLETED, "ok", "",
     0, 0},
    {"empty twice", "step\n  sticky\n  think hm\n", 0, "", "TuSVSVE", END_MODEL_ERROR, NULL, "", 0,
     0},
    {"cut answers go on",
     "step\n  text one \n  stop max_tokens\nstep\n  text two \n  stop max_tokens\nstep\n"
     "  text three\n",
     0, "", NULL, END_COMPLETED, "onetwothree", "", 0, 0},
    {"paused answers go on", "step\n  text one \n  stop pause_turn\nstep\n  text two\n", 0, "",
     NULL, END_COMPLETED, "onetwo", "", 0, 0},
    {"cut for good", "step\n  sticky\n  text more\n  stop max_tokens\n", 0, "", NULL,
     END_MODEL_ERROR, "moremoremoremore", "", 0, 0},
    {"cut, and no step is left for more", "step\n  text more\n  stop max_tokens\n", 1, "", NULL,
     END_MODEL_ERROR, "more", "", 0, 0},
    {"empty, and no step is left", "step\n  think hm\n", 1, "", "TuSVE", END_MODEL_ERROR, NULL, "",
     0, 0},
    {"a call that was cut is never run",
     "step\n  call Echo {\"say\":\"a\"}\n  call Effect {\"say\":\"b\n  stop max_tokens\n"
     "step\n  if-result \"was cut at the output limit\"\n  text ok\n",
     0, "", "TuSDrrSDE", END_COMPLETED, "ok", NULL, 0, -1},
    {"whole calls of a cut answer run",
     "step\n  call Effect {\"say\":\"b\"}\n  stop max_tokens\nstep\n  text ok\n", 0, "", "TuSDrSDE",
     END_COMPLETED, "ok", "done b|", 1, 0},
    {"calls that are cut again and again",
     "step\n  sticky\n  call Effect {\"say\":\"b\n  stop max_tokens\n", 0, "", "TuSDrSDrSDrSDrE",
     END_MODEL_ERROR, NULL, NULL, 0, 0},
    {"refusal", "step\n  text no\n  stop refusal\n", 0, "", "TuSDE", END_MODEL_ERROR, NULL, "", 0,
     0},
    {"a refusal runs nothing", "step\n  call Effect {}\n  stop refusal\n", 0, "", "TuSDrE",
     END_MODEL_ERROR, NULL, NULL, 0, 0},
    {"the provider says no", "step\n  fault status 401 \"bad key\"\n  text x\n", 0, "", "TuE",
     END_API_ERROR, NULL, "", 0, 0},
    {"too long",
     "step\n  fault status 400 \"prompt is too long: 300000 tokens > 200000 maximum\"\n"
     "  text x\n",
     0, "", "TuE", END_PROMPT_TOO_LONG, NULL, "", 0, 0},
    {"an image that is too large for the provider is left out",
     "step\n  call Picture {}\n"
     "step\n  if-result \"left out\"\n  text ok\n"
     "step\n  fault status 400 \"image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes\"\n"
     "  text never\n",
     0, "", "TuSDrnSDE", END_COMPLETED, "ok", NULL, 0, 0},
    {"without an image there is nothing to leave out",
     "step\n  fault status 400 \"image exceeds 5 MB maximum\"\n  text never\n", 0, "", "TuE",
     END_API_ERROR, "scripted: image exceeds 5 MB maximum (HTTP 400)", "", 0, 0},
    /* The stream breaks after a complete call, and there was time to run it: a call with effects
     * runs once, after the whole answer. */
    {"an effect happens once",
     "step\n  call Effect {\"say\":\"x\"}\n  text and\n  pause 300ms\n  fault error lost\n"
     "  text more\nstep\n  text ok\n",
     0, "", "TuSVRSDrSDE", END_COMPLETED, "ok", "done x|", 1, 0},
    {"an effect happens once, behind a look that happens twice",
     "step\n  call Echo {\"say\":\"a\"}\n  call Effect {\"say\":\"x\"}\n  call Echo "
     "{\"say\":\"b\"}\n"
     "  pause 300ms\n  fault error lost\n  text more\nstep\n  text ok\n",
     0, "", "TuSVRSDrrrSDE", END_COMPLETED, "ok", "echo a|done x|echo b|", 1, -1},
    {"a call that had only begun",
     "step\n  fault cut 1\n  call Effect {\"say\":\"x\"}\n  text and more\nstep\n  text ok\n", 0,
     "", NULL, END_COMPLETED, "ok", "done x|", 1, 0},
    {"nobody to ask", "step\n  call Asked {}\nstep\n  text ok\n", 0, "", "TuSDrSDE", END_COMPLETED,
     "ok", NULL, 0, 0},
    {"structured",
     "step\n  text thinking\nstep\n  call StructuredOutput {\"n\":\"x\"}\n"
     "step\n  call StructuredOutput {\"n\":4}\n",
     0, "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}",
     "TuSDSDrSDrE", END_COMPLETED, NULL, NULL, 0, 0},
    {"never structured", "step\n  sticky\n  text no\n", 0,
     "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}", "TuSDSDSDSDE",
     END_STRUCTURED, NULL, "", 0, 0},
    {"never well structured", "step\n  sticky\n  call StructuredOutput {\"n\":\"x\"}\n", 0,
     "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}", "TuSDrSDrSDrSDrE",
     END_STRUCTURED, NULL, NULL, 0, 0},
};

static void what_happens_next(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bench b;

        bench_begin(&b, rows[i].scenario);
        b.spec.max_steps = rows[i].max_steps;
        bench_start(&b, rows[i].schema);
        bench_say(&b, "go", INPUT_LATER);
        bench_until(&b, EVENT_TURN_DONE);
        if (rows[i].trace && strcmp(buf_cstr(&b.trace), rows[i].trace) != 0)
            fail_msg("%s: %s instead of %s", rows[i].name, buf_cstr(&b.trace), rows[i].trace);
        if (b.end != rows[i].end)
            fail_msg("%s: ended with %s: %s", rows[i].name, turn_end_name(b.end), b.error);
        if (rows[i].result && strcmp(b.result, rows[i].result) != 0)
            fail_msg("%s: '%s'", rows[i].name, b.result);
        if (rows[i].results && strcmp(buf_cstr(&b.results), rows[i].results) != 0)
            fail_msg("%s: results '%s'", rows[i].name, buf_cstr(&b.results));
        if (atomic_load(&effects) != rows[i].effects)
            fail_msg("%s: %d effects", rows[i].name, atomic_load(&effects));
        if (rows[i].looks < 0 ? !atomic_load(&looks) : atomic_load(&looks) != rows[i].looks)
            fail_msg("%s: %d looks", rows[i].name, atomic_load(&looks));
        bench_end(&b);
    }
}

/* Looks run beside each other while the model still speaks. */
static void looks_do_not_wait_for_each_other(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b, "step\n  call Echo {\"ms\":60000}\n  call Echo {\"ms\":60000}\n  pause 60s\n"
                    "  text x\n");
    bench_start(&b, "");
    bench_say(&b, "go", INPUT_LATER);
    bench_until(&b, EVENT_TOOL_STARTED);
    bench_until(&b, EVENT_TOOL_STARTED);
    assert_string_equal(buf_cstr(&b.trace), "TuS"); /* neither has ended, nor the answer */
    agent_interrupt(b.agent, false);
    bench_until(&b, EVENT_TURN_DONE);
    bench_end(&b);
}

/* ---- Tools that come and go ---- */

#define MANY_TOOLS 300

static atomic_int boxes_left;

/* A model that calls two of the tools in every answer, and keeps the requests. */
struct caller {
    struct server server;
    struct lock lock;
    struct strv bodies;
};

static void caller_serve(struct conn *c)
{
    static const char *const called[] = {"T7", "T299"};
    CLEANUP(buf_release) struct buf head = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf body = BUF_INIT(100 << 20);
    CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 16);
    struct caller *s = c->server->arg;
    size_t n;

    if (!conn_request(c, &head, &body))
        return;
    lock_take(&s->lock);
    n = s->bodies.len;
    strv_add(&s->bodies, buf_str(&body));
    lock_give(&s->lock);
    buf_addf(&out,
             "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
             "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":"
             "\"msg_%zu\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","
             "\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
             n);
    for (size_t i = 0; i < ARRAY_LEN(called); i++) {
        buf_addf(&out,
                 "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":"
                 "%zu,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_%zu_%zu\","
                 "\"name\":\"%s\",\"input\":{}}}\n\n"
                 "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"
                 "%zu}\n\n",
                 i, n, i, called[i], i);
    }
    buf_adds(&out, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":"
                   "{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":9}}\n\n"
                   "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
    conn_write(c, buf_str(&out));
}

/* The number of the toolbox that a request offers; fails if it offers part of another one, or
 * anything more or less. */
static int offered(struct str body)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *request = NULL;
    const struct json *tools;
    size_t made = 0, others = 0;
    int number = 0;

    assert_int_equal(json_parse(&arena, body, &request, NULL, NULL), 0);
    tools = json_get(request, "tools");
    JSON_EACH(tools, tool) {
        struct str name = json_get_str(tool, "name");
        struct str text = json_get_str(tool, "description");
        char want[40];

        if (!str_starts(text, STR("Of box "))) {
            assert_true(str_is(name, table[others]->name)); /* the table's come first */
            others++;
            continue;
        }
        snprintf(want, sizeof(want), "T%zu", made++);
        assert_true(str_is(name, want));
        if (!number)
            number = (int)strtol(text.ptr + strlen("Of box "), NULL, 10);
        snprintf(want, sizeof(want), "Of box %d.", number);
        if (!str_is(text, want))
            fail_msg("tool %zu: '%.*s' in a request with box %d", made, STR_ARG(text), number);
    }
    assert_int_equal(others, ARRAY_LEN(table) - 1);
    assert_int_equal(made, MANY_TOOLS);
    return number;
}

static void box_release(void *arg)
{
    mem_freep(&arg);
    atomic_fetch_sub(&boxes_left, 1);
}

/* Says which toolbox its row was made for. */
static int run_numbered(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    (void)err;
    buf_addf(&ret->text, "%s of %d", call->entry->name, *(int *)call->entry->arg);
    return 0;
}

static struct toolbox *numbered_box(struct bench *b, int number)
{
    static char names[MANY_TOOLS][16];
    char text[40];
    struct tool_entry made[MANY_TOOLS];
    int *arg = mem_alloc(sizeof(*arg));
    struct toolbox_spec spec = {.table = table,
                                .conf = b->conf,
                                .provider = &b->provider,
                                .more = made,
                                .more_count = MANY_TOOLS,
                                .release = box_release,
                                .release_arg = arg};
    struct toolbox *box = NULL;
    struct err err = {0};
    size_t count = 0;

    *arg = number;
    snprintf(text, sizeof(text), "Of box %d.", number);
    for (int i = 0; i < MANY_TOOLS; i++) {
        snprintf(names[i], sizeof(names[i]), "T%d", i);
        made[i] = (struct tool_entry){names[i],   text,
                                      ANY_SCHEMA, TOOL_READ_ONLY | TOOL_CONCURRENT | TOOL_FREE,
                                      .arg = arg, .run = run_numbered};
    }
    atomic_fetch_add(&boxes_left, 1);
    if (toolbox_new(&spec, &box, &err) < 0)
        fail_msg("%s", err.text);
    (void)toolbox_llm(box, &count);
    assert_int_equal(count, ARRAY_LEN(table) - 1 + MANY_TOOLS);
    return box;
}

/* The agent asks the caller instead of the scenario. */
static struct net *bench_wire(struct bench *b, struct caller *s, struct conf **ret_conf)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    struct conf_sources from = {.dir = root, .etc = root, .trusted = true};
    struct net *net;
    struct err err = {0};

    *s = (struct caller){0};
    lock_init(&s->lock);
    server_start(&s->server, caller_serve, s);
    strv_addf(&env, "ANTHROPIC_BASE_URL=http://127.0.0.1:%d", s->server.port);
    strv_addf(&env, "ANTHROPIC_API_KEY=any");
    from.environ = strv_get(&env);
    net = net_new(&(struct net_options){0}, &err);
    provider_release(&b->provider);
    if (!net || conf_load(&from, ret_conf, &err) < 0 ||
        provider_select(*ret_conf, STR("claude-sonnet-5"), NULL, &b->provider, &err) < 0)
        fail_msg("%s", err.text);
    b->spec.net = net;
    return net;
}

/* The tools of a running agent are replaced between its steps, again and again: every request
 * offers one toolbox as a whole, a call runs with the row that its request offered, and nothing is
 * freed before its end. */
static void tools_are_replaced_between_steps(void **state)
{
    struct caller model;
    struct conf *conf = NULL;
    struct net *net;
    struct bench b;
    const char *at;
    int last = 0;

    (void)state;
    atomic_store(&boxes_left, 0);
    bench_begin(&b, "step\n  text Not asked.\n");
    net = bench_wire(&b, &model, &conf);
    bench_start(&b, "");
    for (int i = 1; i <= 1000; i++) {
        struct toolbox *box = numbered_box(&b, i);

        agent_set_toolbox(b.agent, box);
        toolbox_unref(box);
        if (i == 1)
            bench_say(&b, "go", INPUT_LATER);
        if (i % 50 == 0)
            bench_until(&b, EVENT_STEP_DONE);
    }
    while (!strstr(buf_cstr(&b.results), "T299 of 1000|"))
        (void)bench_is(&b, EVENT_TOOL_DONE);
    agent_interrupt(b.agent, false);
    bench_until(&b, EVENT_TURN_DONE);
    at = buf_cstr(&b.results);
    lock_take(&model.lock);
    for (size_t i = 0; i < model.bodies.len; i++) {
        int now = offered(str_of(model.bodies.ptr[i]));
        char want[40], or [40]; /* they run side by side */

        assert_in_range(now, last, 1000); /* never an older one again */
        last = now;
        snprintf(want, sizeof(want), "T7 of %d|T299 of %d|", now, now);
        snprintf(or, sizeof(or), "T299 of %d|T7 of %d|", now, now);
        if (strncmp(at, want, strlen(want)) == 0 || strncmp(at, or, strlen(or)) == 0)
            at += strlen(want);
        else if (i + 1 < model.bodies.len) /* the last answer was interrupted */
            fail_msg("request %zu offered box %d, and these ran: %.60s", i, now, at);
    }
    assert_int_equal(last, 1000);
    lock_give(&model.lock);
    bench_end(&b);
    net_free(net);
    server_stop(&model.server);
    strv_release(&model.bodies);
    conf_unref(conf);
    assert_int_equal(atomic_load(&boxes_left), 0);
}

/* A final tool ends the turn as a success; its arguments are what the turn gives. */
static void a_final_tool_ends_the_turn(void **state)
{
    struct tool_entry final = {"Final", "Ends it.", ANY_SCHEMA, TOOL_FREE | TOOL_FINAL};
    struct toolbox_spec spec = {.table = table, .more = &final, .more_count = 1};
    struct toolbox *box = NULL;
    struct err err = {0};
    struct bench b;

    (void)state;
    bench_begin(&b, "step\n  call Echo {\"say\":\"a\"}\nstep\n  call Final {\"say\":\"done\"}\n"
                    "step\n  text never\n");
    bench_start(&b, "");
    spec.conf = b.conf;
    spec.provider = &b.provider;
    assert_int_equal(toolbox_new(&spec, &box, &err), 0);
    agent_set_toolbox(b.agent, box);
    toolbox_unref(box);
    bench_say(&b, "go", INPUT_LATER);
    bench_until(&b, EVENT_TURN_DONE);
    assert_int_equal(b.end, END_COMPLETED);
    assert_int_equal(b.steps, 2);
    assert_string_equal(b.structured, "{\"say\":\"done\"}");
    bench_end(&b);
}

/* A limit that is reached is an error, and so is a name that two tools have. */
static void a_toolbox_has_limits(void **state)
{
    struct tool_entry twice[] = {{"Twin", "A.", ANY_SCHEMA, 0}, {"Twin", "B.", ANY_SCHEMA, 0}};
    struct toolbox_spec spec = {.table = table, .more = twice, .more_count = 2};
    struct toolbox *box = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(toolbox_new(&spec, &box, &err), -1);
    assert_int_equal(err.code, ERR_BAD_INPUT);
    assert_string_equal(err.text, "two tools are named Twin");
}

/* The end of a read-only call is reported, although its result has to wait for that of the call
 * before it. */
static void the_end_of_a_look_is_told(void **state)
{
    struct event *e = NULL;
    struct bench b;

    (void)state;
    bench_begin(&b, "step\n  call Echo {\"ms\":60000}\n  call Echo {\"say\":\"x\"}\n");
    bench_start(&b, "");
    bench_say(&b, "go", INPUT_LATER);
    do {
        event_unref(e);
        e = bench_event(&b);
    } while (e->kind != EVENT_TOOL_PROGRESS);
    assert_true(e->ended);
    assert_false(e->is_error);
    assert_null(strchr(buf_cstr(&b.trace), 'r')); /* no result has come */
    event_unref(e);
    agent_interrupt(b.agent, false);
    bench_until(&b, EVENT_TURN_DONE);
    bench_end(&b);
}

/* A call that was killed takes those with it that run beside it, not those of the next step. */
static void a_killed_call_stops_its_neighbours(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b, "step\n  call Fail {\"stops\":true}\n  call Echo {\"say\":\"a\",\"ms\":20000}\n"
                    "step\n  call Echo {\"say\":\"b\"}\nstep\n  text ok\n");
    bench_start(&b, "");
    bench_say(&b, "go", INPUT_LATER);
    bench_until(&b, EVENT_TURN_DONE);
    assert_string_equal(buf_cstr(&b.trace), "TuSDrrSDrSDE");
    assert_true(str_starts(buf_str(&b.results), STR("it did not work!|")));
    assert_null(strstr(buf_cstr(&b.results), "echo a"));
    assert_true(str_ends(buf_str(&b.results), STR("!|echo b|")));
    bench_end(&b);
}

static void a_denied_call_is_reported(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b, "step\n  call Asked {\"say\":\"x\"}\nstep\n  text ok\n");
    bench_start(&b, "");
    bench_say(&b, "go", INPUT_LATER);
    bench_until(&b, EVENT_TURN_DONE);
    assert_non_null(strstr(b.denials, "\"tool_name\":\"Asked\""));
    assert_non_null(strstr(b.denials, "\"tool_input\":{\"say\":\"x\"}"));
    assert_non_null(strstr(buf_cstr(&b.results), "This command requires approval"));
    bench_end(&b);
}

static void long_results_are_kept_whole_elsewhere(void **state)
{
    struct bench b;
    const char *at;
    char path[300];
    struct buf text = BUF_INIT(1 << 20);
    struct event *e = NULL;

    (void)state;
    bench_begin(&b, "step\n  call Big {}\nstep\n  text ok\n");
    bench_start(&b, "");
    bench_say(&b, "go", INPUT_LATER);
    do {
        event_unref(e);
        e = bench_event(&b);
    } while (e->kind != EVENT_TOOL_DONE);
    assert_true(e->text.len < 31000);
    at = strstr(e->text.ptr, "the whole is in ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "the whole is in %299[^]]", path), 1);
    assert_int_equal(file_slurp(path, 1 << 20, &text, NULL), 0);
    assert_true(str_starts(buf_str(&text), STR("line 0\n")));
    assert_true(str_ends(buf_str(&text), STR("line 9999\n")));
    assert_true(str_ends(e->text, STR("line 9999\n")));
    event_unref(e);
    buf_release(&text);
    unlink(path);
    bench_until(&b, EVENT_TURN_DONE);
    bench_end(&b);
}

/* ---- Asking ---- */

struct test_asker {
    struct asker asker;
    const char *message; /* denied with it; NULL: allowed */
    const char *input;
    bool interrupt;
    bool waits; /* until the cancel */
    int64_t ms; /* it takes to answer */
};

static int test_put(struct asker *self, const struct ask *ask, struct cancel *cancel,
                    struct ask_answer *ret, struct err *err)
{
    struct test_asker *t = (struct test_asker *)self;
    struct mailbox *never;
    struct mail *m;
    int r;

    assert_int_equal(ask->kind, ASK_PERMISSION);
    if (t->waits) {
        never = mailbox_new();
        r = mailbox_take(never, cancel, -1, &m, err);
        mailbox_unref(never);
        return r;
    }
    if (t->ms) {
        never = mailbox_new();
        (void)mailbox_take(never, /*cancel=*/NULL, clock_mono_ms() + t->ms, &m, /*err=*/NULL);
        mailbox_unref(never);
    }
    ret->allowed = !t->message;
    ret->interrupt = t->interrupt;
    buf_adds(&ret->message, t->message ? t->message : "");
    buf_adds(&ret->input, t->input ? t->input : "");
    return 0;
}

static void answers_count(void **state)
{
    static const struct {
        const char *message;
        const char *input;
        bool interrupt;
        const char *results;
        enum turn_end end;
        int effects;
    } cases[] = {
        {NULL, NULL, false, "done x|", END_COMPLETED, 1},
        {NULL, "{\"say\":\"y\"}", false, "done y|", END_COMPLETED, 1},
        {"not today", NULL, false, "not today!|", END_COMPLETED, 0},
        {"stop it", NULL, true, "stop it!|", END_ABORTED_TOOLS, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_asker asker = {
            {test_put}, cases[i].message, cases[i].input, cases[i].interrupt, false, 0};
        struct bench b;

        bench_begin(&b, "step\n  call Asked {\"say\":\"x\"}\nstep\n  text ok\n");
        b.spec.asker = &asker.asker;
        bench_start(&b, "");
        bench_say(&b, "go", INPUT_LATER);
        bench_until(&b, EVENT_TURN_DONE);
        assert_string_equal(buf_cstr(&b.results), cases[i].results);
        assert_int_equal(b.end, cases[i].end);
        assert_int_equal(atomic_load(&effects), cases[i].effects);
        bench_end(&b);
    }
}

/* Who thinks about a question for a minute has not made the call slow. */
static void asking_is_not_the_calls_time(void **state)
{
    struct test_asker asker = {.asker = {test_put}, .ms = 300};
    int64_t start_ms = clock_mono_ms();
    struct event *e = NULL;
    struct bench b;

    (void)state;
    bench_begin(&b, "step\n  call Asked {}\nstep\n  text ok\n");
    b.spec.asker = &asker.asker;
    bench_start(&b, "");
    bench_say(&b, "go", INPUT_LATER);
    do {
        event_unref(e);
        e = bench_event(&b);
    } while (e->kind != EVENT_TOOL_DONE);
    /* Both fit into the time that has passed; 2: of rounding. */
    assert_true(e->duration_ms + asker.ms <= clock_mono_ms() - start_ms + 2);
    event_unref(e);
    bench_until(&b, EVENT_TURN_DONE);
    bench_end(&b);
}

/* ---- Hooks ---- */

struct test_hook {
    struct hook_runner runner;
    enum hook_event event;
    const char *answer; /* JSON */
    int times;          /* it speaks; -1: always */
    atomic_int asked;
};

static bool test_wants(struct hook_runner *self, enum hook_event event, struct str subject)
{
    (void)subject;
    return ((struct test_hook *)self)->event == event;
}

static int test_hook_run(struct hook_runner *self, const struct hook_input *in,
                         struct cancel *cancel, struct hook_outcome *io, struct err *err)
{
    struct test_hook *t = (struct test_hook *)self;
    struct arena arena = ARENA_INIT;
    const struct json *v;
    int r = 0;

    (void)cancel;
    assert_int_equal(json_parse(&arena, in->json, &v, NULL, err), 0);
    assert_true(str_is(json_get_str(v, "hook_event_name"), hook_event_name(in->event)));
    assert_true(json_get_str(v, "cwd").len > 0);
    arena_reset(&arena);
    if (atomic_fetch_add(&t->asked, 1) < t->times || t->times < 0) {
        assert_int_equal(json_parse(&arena, str_of(t->answer), &v, NULL, err), 0);
        r = hook_outcome_merge(io, in->event, v, err);
    }
    arena_release(&arena);
    return r;
}

static const struct {
    const char *name;
    enum hook_event event;
    const char *answer;
    int times;
    const char *trace;
    const char *results;
    enum turn_end end;
    int effects;
} hook_rows[] = {
    {"denies", HOOK_PRE_TOOL_USE,
     "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\","
     "\"permissionDecisionReason\":\"never\"}}",
     -1, NULL, "never!|", END_COMPLETED, 0},
    {"changes the input", HOOK_PRE_TOOL_USE,
     "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\","
     "\"updatedInput\":{\"say\":\"z\"}}}",
     -1, NULL, "done z|", END_COMPLETED, 1},
    {"a changed input must fit", HOOK_PRE_TOOL_USE,
     "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"updatedInput\":{\"say\":3}}}", -1,
     NULL, NULL, END_COMPLETED, 0},
    {"stops all", HOOK_PRE_TOOL_USE, "{\"continue\":false,\"stopReason\":\"enough\"}", -1, NULL,
     NULL, END_HOOK_STOPPED, 0},
    {"sends back once", HOOK_STOP, "{\"decision\":\"block\",\"reason\":\"not yet\"}", 1,
     "TuSDrSDhuSDhE", "done x|", END_COMPLETED, 1},
    {"sends back without end", HOOK_STOP, "{\"decision\":\"block\",\"reason\":\"not yet\"}", -1,
     "TuSDrSDhuSDhuSDhuSDhuSDhuSDhuSDhuSDhuSDhnE", "done x|", END_COMPLETED, 1},
    {"adds something at the end", HOOK_STOP,
     "{\"hookSpecificOutput\":{\"hookEventName\":\"Stop\",\"additionalContext\":\"by the way\"}}",
     1, "TuSDrSDhSDhE", "done x|", END_COMPLETED, 1},
    {"keeps the prompt", HOOK_USER_PROMPT_SUBMIT, "{\"decision\":\"block\",\"reason\":\"no\"}", -1,
     "hTE", "", END_HOOK_STOPPED, 0},
    {"adds to a result", HOOK_POST_TOOL_USE,
     "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"mind the "
     "gap\"}}",
     -1, NULL, "done x|", END_COMPLETED, 1},
    {"begins the session", HOOK_SESSION_START,
     "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":\"good "
     "morning\"}}",
     -1, "hTuSDrSDE", "done x|", END_COMPLETED, 1},
};

static void hooks_have_their_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hook_rows); i++) {
        struct test_hook hook = {{test_wants, test_hook_run},
                                 hook_rows[i].event,
                                 hook_rows[i].answer,
                                 hook_rows[i].times,
                                 0};
        struct hook_runner *runners[] = {&hook.runner, NULL};
        struct bench b;

        bench_begin(&b, "step\n  call Effect {\"say\":\"x\"}\n"
                        "step\n  sticky\n  text ok\n");
        b.spec.hooks = runners;
        bench_start(&b, "");
        bench_say(&b, "go", INPUT_LATER);
        bench_until(&b, EVENT_TURN_DONE);
        if (hook_rows[i].trace && strcmp(buf_cstr(&b.trace), hook_rows[i].trace) != 0)
            fail_msg("%s: %s", hook_rows[i].name, buf_cstr(&b.trace));
        if (hook_rows[i].results && strcmp(buf_cstr(&b.results), hook_rows[i].results) != 0)
            fail_msg("%s: results '%s'", hook_rows[i].name, buf_cstr(&b.results));
        if (b.end != hook_rows[i].end || atomic_load(&effects) != hook_rows[i].effects)
            fail_msg("%s: %s, %d effects", hook_rows[i].name, turn_end_name(b.end),
                     atomic_load(&effects));
        bench_end(&b);
    }
}

/* A Stop hook that takes its time, until the user has had enough. */
struct waiting_hook {
    struct hook_runner runner;
    struct bench *bench;
};

static bool waiting_wants(struct hook_runner *self, enum hook_event event, struct str subject)
{
    (void)self;
    (void)subject;
    return event == HOOK_STOP;
}

static int waiting_run(struct hook_runner *self, const struct hook_input *in, struct cancel *cancel,
                       struct hook_outcome *io, struct err *err)
{
    (void)in;
    hook_outcome_decide(io, HOOK_DENY, STR("go on")); /* not delivered any more */
    agent_interrupt(((struct waiting_hook *)self)->bench->agent, false);
    return cancel_wait(cancel, 3600 * 1000, err);
}

static void an_interrupt_during_stop_hooks(void **state)
{
    struct bench b;
    struct waiting_hook hook = {.runner = {waiting_wants, waiting_run}, .bench = &b};
    struct hook_runner *runners[] = {&hook.runner, NULL};

    (void)state;
    bench_begin(&b, "step\n  text done\n");
    b.spec.hooks = runners;
    bench_start(&b, "");
    bench_say(&b, "go", INPUT_LATER);
    bench_until(&b, EVENT_TURN_DONE);
    assert_int_equal(b.end, END_ABORTED_STREAMING);
    assert_string_equal(buf_cstr(&b.trace), "TuSDhuE"); /* the marker, and no feedback */
    bench_end(&b);
}

/* dontAsk refuses what would be asked; what a hook allows need not be. A rule still binds. */
static void a_hook_allows_where_nobody_is_asked(void **state)
{
    static const struct {
        const char *rules; /* JSON of a permission update, or NULL */
        bool speaks;
        int effects;
    } cases[] = {
        {NULL, false, 0},
        {NULL, true, 1},
        {"[{\"type\":\"addRules\",\"rules\":[{\"toolName\":\"Asked\"}],\"behavior\":\"ask\","
         "\"destination\":\"session\"}]",
         true, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_hook hook = {{test_wants, test_hook_run},
                                 HOOK_PRE_TOOL_USE,
                                 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
                                 "\"permissionDecision\":\"allow\"}}",
                                 cases[i].speaks ? -1 : 0,
                                 0};
        struct hook_runner *runners[] = {&hook.runner, NULL};
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(strv_release) struct strv warnings = STRV_INIT;
        const struct json *updates;
        struct err err = {0};
        struct bench b;

        bench_begin(&b, "step\n  call Asked {}\nstep\n  text ok\n");
        assert_int_equal(permit_set_mode(b.permit, MODE_DONT_ASK, &err), 0);
        if (cases[i].rules) {
            assert_int_equal(json_parse(&arena, str_of(cases[i].rules), &updates, NULL, &err), 0);
            assert_int_equal(permit_update(b.permit, updates, &warnings, &err), 0);
        }
        b.spec.hooks = runners;
        bench_start(&b, "");
        bench_say(&b, "go", INPUT_LATER);
        bench_until(&b, EVENT_TURN_DONE);
        if (atomic_load(&effects) != cases[i].effects)
            fail_msg("case %zu: %d effects, %s", i, atomic_load(&effects), buf_cstr(&b.results));
        bench_end(&b);
    }
}

/* A failure of the provider is reported to observers, including a full context. */
static void failures_are_told(void **state)
{
    static const char *const faults[] = {"401 \"bad key\"", "400 \"prompt is too long\""};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        struct test_hook hook = {{test_wants, test_hook_run}, HOOK_STOP_FAILURE, "{}", -1, 0};
        struct hook_runner *runners[] = {&hook.runner, NULL};
        char scenario[100];
        struct bench b;

        snprintf(scenario, sizeof(scenario), "step\n  fault status %s\n  text x\n", faults[i]);
        bench_begin(&b, scenario);
        b.spec.hooks = runners;
        bench_start(&b, "");
        bench_say(&b, "go", INPUT_LATER);
        bench_until(&b, EVENT_TURN_DONE);
        assert_string_equal(buf_cstr(&b.trace), "TuhE");
        assert_int_equal(atomic_load(&hook.asked), 1);
        bench_end(&b);
    }
}

/* A model that takes no images is not even sent one that a tool has read. */
static void a_model_without_eyes(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b, "step\n  call Picture {}\nstep\n  if-result \"left out\"\n  text ok\n");
    b.provider.model.known = true;
    b.provider.model.images = false;
    bench_start(&b, "");
    bench_say(&b, "go", INPUT_LATER);
    bench_until(&b, EVENT_TURN_DONE);
    assert_string_equal(buf_cstr(&b.trace), "TuSDrnSDE");
    assert_string_equal(b.result, "ok");
    bench_end(&b);
}

/* Why the loop goes round, as the log names it. */
static const struct {
    const char *scenario;
    const char *schema;
    const char *meanwhile; /* said when the answer has begun; or NULL */
    const char *hook;      /* what the Stop hook answers once; or NULL */
    const char *whys;
} why_rows[] = {
    {"step\n  text ok\n", "", NULL, NULL, ""},
    {"step\n  call Echo {}\nstep\n  text ok\n", "", NULL, NULL, "next_turn "},
    {"step\n  think hm\nstep\n  text ok\n", "", NULL, NULL, "empty_answer "},
    {"step\n  text one\n  stop pause_turn\nstep\n  text two\n", "", NULL, NULL, "pause_turn "},
    {"step\n  text one\n  stop max_tokens\nstep\n  text two\n", "", NULL, NULL,
     "max_output_tokens_recovery "},
    {"step\n  call Picture {}\nstep\n  if-result \"left out\"\n  text ok\n"
     "step\n  fault status 400 \"image exceeds 5 MB maximum\"\n  text never\n",
     "", NULL, NULL, "next_turn media_dropped "},
    {"step\n  text no\nstep\n  call StructuredOutput {}\n", "{\"type\":\"object\"}", NULL, NULL,
     "structured_output_retry "},
    {"step\n  text one\n  pause 300ms\n  text two\nstep\n  if-prompt \"by the way\"\n  text ok\n",
     "", "by the way", NULL, "queued_input "},
    {"step\n  text one\nstep\n  text two\n", "", NULL,
     "{\"decision\":\"block\",\"reason\":\"not yet\"}", "stop_hook_blocking "},
};

static void read_whys(const char *log, struct buf *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct str rest;
    struct str line;

    assert_int_equal(file_slurp(log, 1 << 20, &text, NULL), 0);
    rest = buf_str(&text);
    while (str_cut(&rest, '\n', &line)) {
        CLEANUP(mem_freep) char *entry = mem_dup(line.ptr, line.len);
        char why[64];

        if (sscanf(entry, "%*s %*d agent step %*d: %63[a-z_]", why) == 1)
            buf_addf(ret, "%s ", why);
    }
}

static void every_round_has_its_reason(void **state)
{
    struct err err = {0};
    char log[200];

    (void)state;
    snprintf(log, sizeof(log), "%s/log", root);
    for (size_t i = 0; i < ARRAY_LEN(why_rows); i++) {
        struct test_hook hook = {
            {test_wants, test_hook_run}, HOOK_STOP, why_rows[i].hook, why_rows[i].hook ? 1 : 0, 0};
        struct hook_runner *runners[] = {&hook.runner, NULL};
        CLEANUP(buf_release) struct buf whys = BUF_INIT(4096);
        struct bench b;

        assert_int_equal(log_open(log, &err), 0);
        bench_begin(&b, why_rows[i].scenario);
        b.spec.hooks = runners;
        bench_start(&b, why_rows[i].schema);
        bench_say(&b, "go", INPUT_LATER);
        if (why_rows[i].meanwhile) {
            bench_until(&b, EVENT_BLOCK_DELTA);
            bench_say(&b, why_rows[i].meanwhile, INPUT_NEXT);
        }
        bench_until(&b, EVENT_TURN_DONE);
        assert_int_equal(b.end, END_COMPLETED);
        bench_end(&b);
        log_close();
        read_whys(log, &whys);
        if (strcmp(buf_cstr(&whys), why_rows[i].whys) != 0)
            fail_msg("row %zu: %s", i, buf_cstr(&whys));
        unlink(log);
    }
}

/* ---- From outside ---- */

static void input_between_steps(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b, "step\n  call Echo {\"ms\":300}\n"
                    "step\n  if-prompt \"by the way\"\n  text heard\n");
    bench_start(&b, "");
    bench_say(&b, "go", INPUT_LATER);
    bench_until(&b, EVENT_TOOL_STARTED);
    bench_say(&b, "by the way", INPUT_NEXT);
    bench_until(&b, EVENT_TURN_DONE);
    assert_string_equal(b.result, "heard");
    assert_string_equal(buf_cstr(&b.trace), "TuSDruSDE");
    bench_end(&b);
}

static void inputs_wait_for_their_turn(void **state)
{
    struct bench b;
    CLEANUP(strv_release) struct strv queued = STRV_INIT;
    struct agent_input in = {0};

    (void)state;
    bench_begin(&b, "step\n  if-prompt one\n  call Echo {\"ms\":300}\nstep\n  if-prompt one\n"
                    "  text 1\nstep\n  if-prompt three\n  text 3\n");
    bench_start(&b, "");
    bench_say(&b, "one", INPUT_LATER);
    bench_until(&b, EVENT_TOOL_STARTED);
    bench_say(&b, "two", INPUT_LATER);
    bench_say(&b, "three", INPUT_LATER);
    inputs_list(agent_inputs(b.agent), INPUTS_ALL, &queued, NULL);
    assert_int_equal(queued.len, 2);
    assert_true(inputs_take_back(agent_inputs(b.agent), str_of(queued.ptr[0]), &in));
    agent_forget(b.agent, &in);
    assert_false(inputs_take_back(agent_inputs(b.agent), str_of(queued.ptr[0]), &in));
    bench_until(&b, EVENT_TURN_DONE);
    assert_string_equal(b.result, "1");
    bench_until(&b, EVENT_TURN_DONE);
    assert_string_equal(b.result, "3");
    bench_end(&b);
}

static const struct {
    const char *scenario;
    enum event_kind at;
    enum input_when again; /* INPUT_NOW: by input instead of an interrupt */
    enum turn_end end;
    const char *trace;
} interrupt_rows[] = {
    {"step\n  text one\n  pause 60s\n  text two\n", EVENT_BLOCK_DELTA, INPUT_LATER,
     END_ABORTED_STREAMING, "TuSCuE"},
    {"step\n  call Effect {}\n  call Echo {\"ms\":60000}\n  call Effect {}\n", EVENT_TOOL_DONE,
     INPUT_LATER, END_ABORTED_TOOLS, "TuSDrrruE"},
    {"step\n  call Echo {\"ms\":60000}\n  pause 60s\n  text x\n", EVENT_TOOL_STARTED, INPUT_LATER,
     END_ABORTED_STREAMING, "TuSVuE"},
    {"step\n  call Asked {}\n", EVENT_TOOL_STARTED, INPUT_LATER, END_ABORTED_TOOLS, "TuSDruE"},
    {"step\n  call Echo {\"ms\":60000}\nstep\n  text ok\n", EVENT_STEP_DONE, INPUT_NOW,
     END_ABORTED_TOOLS, "TuSDrE"},
};

/* 200 ms are promised. A machine may be slow, so it is held against a call that ends later. */
static void a_turn_ends_without_its_deaf_calls(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b, "step\n  call Deaf {}\n  call Effect {}\n");
    bench_start(&b, "");
    bench_say(&b, "go", INPUT_LATER);
    assert_int_equal(cancel_wait(seated, 60000, NULL), -1);
    agent_interrupt(b.agent, false);
    bench_until(&b, EVENT_TURN_DONE);
    assert_int_equal(b.end, END_ABORTED_TOOLS);
    assert_string_equal(buf_cstr(&b.trace), "TuSDrruE");
    assert_true(str_starts(buf_str(&b.results), STR("The call was interrupted and did not end")));
    assert_int_equal(atomic_load(&effects), 0);
    bench_end(&b);
}

static void interrupts_end_the_turn(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(interrupt_rows); i++) {
        struct test_asker asker = {.asker = {test_put}, .waits = true};
        struct bench b;
        int64_t start_ms;

        bench_begin(&b, interrupt_rows[i].scenario);
        b.spec.asker = &asker.asker;
        bench_start(&b, "");
        bench_say(&b, "go", INPUT_LATER);
        bench_until(&b, interrupt_rows[i].at);
        start_ms = clock_mono_ms();
        if (interrupt_rows[i].again == INPUT_NOW)
            bench_say(&b, "now", INPUT_NOW);
        else
            agent_interrupt(b.agent, false);
        bench_until(&b, EVENT_TURN_DONE);
        if (clock_mono_ms() - start_ms > 20000) /* what it waits for takes a minute */
            fail_msg("row %zu: %d ms", i, (int)(clock_mono_ms() - start_ms));
        if (strcmp(buf_cstr(&b.trace), interrupt_rows[i].trace) != 0)
            fail_msg("row %zu: %s", i, buf_cstr(&b.trace));
        assert_int_equal(b.end, interrupt_rows[i].end);
        assert_string_equal(b.error, "interrupted");
        if (interrupt_rows[i].again == INPUT_NOW) {
            bench_until(&b, EVENT_TURN_DONE);
            assert_int_equal(b.end, END_COMPLETED);
        }
        bench_end(&b);
    }
}

/* A signal that comes before the first input is taken up: it still gets its result. */
static void an_input_that_was_overtaken(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b, "step\n  text never\n");
    cancel_set(b.cancel);
    bench_start(&b, "");
    bench_say(&b, "go", INPUT_LATER);
    bench_until(&b, EVENT_TURN_DONE);
    assert_int_equal(b.end, END_ABORTED_STREAMING);
    assert_string_equal(buf_cstr(&b.trace), "TuuE");
    assert_string_equal(b.error, "interrupted");
    bench_end(&b);
}

static atomic_int awaited; /* how often the agent asked whether work is running; -1: let it end */

/* Work that ends while the agent asks, and other work that goes on. */
static bool ends_now(void *arg, int64_t *io_look_ms)
{
    (void)io_look_ms;
    if (atomic_load(&awaited) < 0)
        return false;
    if (atomic_fetch_add(&awaited, 1))
        return true;
    bench_say(arg, "it has ended", INPUT_LATER);
    return false;
}

static void a_report_at_the_last_moment_is_heard(void **state)
{
    struct bench b;

    (void)state;
    atomic_store(&awaited, 0);
    bench_begin(&b, "step\n  text one\nstep\n  if-prompt \"it has ended\"\n  text two\n");
    b.spec.awaits = ends_now;
    b.spec.awaits_arg = &b;
    bench_start(&b, "");
    bench_say(&b, "go", INPUT_LATER);
    bench_until(&b, EVENT_TURN_DONE);
    agent_finish(b.agent, /*fn=*/NULL, /*arg=*/NULL);
    bench_until(&b, EVENT_TURN_DONE);
    assert_string_equal(b.result, "two");
    atomic_store(&awaited, -1);
    bench_end(&b);
}

static void a_note_starts_a_turn(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b, "step\n  if-prompt \"the build is done\"\n  text good\n");
    bench_start(&b, "");
    agent_notify(b.agent, INPUT_BY_TASK, STR("bash_1"), STR("the build is done"), true);
    bench_until(&b, EVENT_TURN_DONE);
    assert_string_equal(b.result, "good");
    bench_end(&b);
}

static int remove_root(void **state)
{
    char path[200];

    (void)state;
    snprintf(path, sizeof(path), "%s/s.scenario", root);
    unlink(path);
    snprintf(path, sizeof(path), "%s/state/tool-results", root);
    rmdir(path);
    snprintf(path, sizeof(path), "%s/state", root);
    rmdir(path);
    return rmdir(root);
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

/* ---- Going back ---- */

struct back {
    struct agent_rewind order;
    bool fails;
    const char *left; /* the remaining user input; NULL: none */
    struct mailbox *told;
    struct err err;
};

struct back_mail {
    struct mail mail;
};

static void back_mail_free(struct mail *m)
{
    mem_freep(&m);
}

static const struct mail_kind back_mail_kind = {"back", back_mail_free};

static int back_go(struct agent_rewind *self, struct recall *ret, struct err *err)
{
    struct back *b = (struct back *)self;

    if (b->fails)
        return err_set(err, ERR_IO, "the disk is full");
    if (b->left)
        vec_push(&ret->messages, message_user_text(str_of(b->left)));
    ret->tokens = 17;
    buf_adds(&ret->todos, "[1]");
    return 0;
}

static void back_done(struct agent_rewind *self, const struct err *err)
{
    struct back *b = (struct back *)self;
    struct back_mail *m = mem_zalloc(sizeof(*m));

    b->err = err ? *err : (struct err){0};
    m->mail.kind = &back_mail_kind;
    mailbox_send(b->told, &m->mail);
}

static void back_wait(struct back *b)
{
    struct mail *m;

    if (mailbox_take(b->told, NULL, clock_mono_ms() + 60000, &m, NULL) < 0)
        fail_msg("nobody says that it is done");
    mail_free(m);
}

static void goes_back_when_idle(void **state)
{
    struct back back = {
        .order = {.conversation = true, .go = back_go, .done = back_done},
        .told = mailbox_new(),
    };
    CLEANUP(buf_release) struct buf todos = BUF_INIT(100);
    struct err err = {0};
    struct bench b;

    (void)state;
    bench_begin(&b, "step\n  text One.\n"
                    "step\n  call Echo {\"say\": \"x\", \"ms\": 60000}\n"
                    "step\n  if-prompt \"again\"\n  text Again.\n");
    bench_start(&b, "");
    bench_say(&b, "one", INPUT_LATER);
    bench_until(&b, EVENT_TURN_DONE);

    back.fails = true;
    assert_int_equal(agent_rewind(b.agent, &back.order, &err), 0);
    back_wait(&back);
    assert_int_equal(back.err.code, ERR_IO);

    bench_say(&b, "two", INPUT_LATER);
    bench_until(&b, EVENT_TOOL_STARTED);
    assert_int_equal(agent_rewind(b.agent, &back.order, &err), -1);
    assert_int_equal(err.code, ERR_BUSY);
    agent_interrupt(b.agent, /*drop_queued=*/false);
    bench_until(&b, EVENT_TURN_DONE);

    back.fails = false;
    back.left = "left";
    workspace_set_todos(b.workspace, STR("[2]"));
    assert_int_equal(agent_rewind(b.agent, &back.order, &err), 0);
    bench_until(&b, EVENT_REWOUND);
    back_wait(&back);
    assert_int_equal(back.err.code, ERR_NONE);
    workspace_todos(b.workspace, &todos);
    assert_string_equal(buf_cstr(&todos), "[1]");

    bench_say(&b, "again", INPUT_LATER);
    bench_until(&b, EVENT_TURN_DONE);
    assert_string_equal(b.result, "Again.");
    assert_int_equal(b.agent->history.list.len, 2); /* "left" and "again" are one message */
    assert_true(str_is(b.agent->history.list.ptr[0]->blocks[0].text, "left"));
    bench_end(&b);
    mailbox_close(back.told);
    mailbox_unref(back.told);
}

UNIT_TEST(agent)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_happens_next),
        cmocka_unit_test(looks_do_not_wait_for_each_other),
        cmocka_unit_test(the_end_of_a_look_is_told),
        cmocka_unit_test(tools_are_replaced_between_steps),
        cmocka_unit_test(a_final_tool_ends_the_turn),
        cmocka_unit_test(a_toolbox_has_limits),
        cmocka_unit_test(a_killed_call_stops_its_neighbours),
        cmocka_unit_test(a_denied_call_is_reported),
        cmocka_unit_test(long_results_are_kept_whole_elsewhere),
        cmocka_unit_test(answers_count),
        cmocka_unit_test(asking_is_not_the_calls_time),
        cmocka_unit_test(hooks_have_their_say),
        cmocka_unit_test(an_interrupt_during_stop_hooks),
        cmocka_unit_test(a_hook_allows_where_nobody_is_asked),
        cmocka_unit_test(failures_are_told),
        cmocka_unit_test(a_model_without_eyes),
        cmocka_unit_test(every_round_has_its_reason),
        cmocka_unit_test(input_between_steps),
        cmocka_unit_test(inputs_wait_for_their_turn),
        cmocka_unit_test(interrupts_end_the_turn),
        cmocka_unit_test(a_turn_ends_without_its_deaf_calls),
        cmocka_unit_test(an_input_that_was_overtaken),
        cmocka_unit_test(a_report_at_the_last_moment_is_heard),
        cmocka_unit_test(a_note_starts_a_turn),
        cmocka_unit_test(goes_back_when_idle),
    };

    return cmocka_run_group_tests(tests, make_root, remove_root);
}
