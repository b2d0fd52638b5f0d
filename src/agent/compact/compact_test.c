/*
 * Long conversations, played by a scripted model: when and how they are compacted, and failures.
 * The journal is a fake that records its calls; every conversation is checked by history_check()
 * after each compaction and at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/agent_state.h"
#include "agent/journal.h"
#include "agent/tool.h"
#include "agent/toolbox.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "sync/thread.h"
#include "unit.h"

static char root[] = "/tmp/tenax-compact-XXXXXX";

/* ---- Tools ---- */

/* So many kilobytes. */
static int run_big(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    int64_t kb = json_get_i64(call->args, "kb", 8);

    (void)err;
    for (int64_t i = 0; i < kb * 64; i++)
        buf_addf(&ret->text, "%.*s %011ld\n", 3, "big", (long)i);
    return 0;
}

/* Looks at a file, as Read does. */
static int run_look(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(mem_freep)
    char *path = workspace_resolve(call->workspace, json_get_str(call->args, "file"));
    struct stat st;

    if (file_slurp(path, 1 << 20, &ret->text, err) < 0 || stat(path, &st) < 0)
        return -1;
    workspace_saw(call->workspace, path, &st, buf_str(&ret->text), /*partial=*/false);
    return 0;
}

#define SCHEMA                                                                                     \
    "{\"type\":\"object\",\"properties\":{\"kb\":{\"type\":\"integer\"},\"file\":{\"type\":"       \
    "\"string\"}},\"additionalProperties\":false}"

static const struct tool_entry big = {"Big",      "Says a lot.",
                                      SCHEMA,     TOOL_READ_ONLY | TOOL_CONCURRENT | TOOL_FREE,
                                      200 * 1000, .run = run_big};
static const struct tool_entry look = {
    "Look", "Looks.", SCHEMA, TOOL_READ_ONLY | TOOL_CONCURRENT | TOOL_FREE, .run = run_look};
static const struct tool_entry *const table[] = {&big, &look, NULL};

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
    struct journal journal;
    struct hook_runner hook;
    struct hook_runner *hooks[2];

    const char *blocks; /* name of a hook's event that says no; "stop NAME": that stops the turn */
    atomic_int waiting; /* inputs, as the journal has it */
    bool disk_full;     /* compactions and replacements cannot be written */

    struct buf trace;   /* one letter per event */
    struct buf log;     /* calls of the journal and hooks */
    struct buf notices; /* one line each */
    enum turn_end end;
    char result[500];
    char error[500];
    char last_uuid[ID_UUID_LEN + 1]; /* of the last block of an answer */
    int64_t input_tokens;
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

static void check_rules(struct agent *a)
{
    struct err err = {0};

    if (history_check(a->history.list.ptr, a->history.list.len, &err) < 0)
        BUG("%s", err.text);
}

/* On the agent's thread. */
static void bench_emit(void *arg, struct event *e, struct cancel *cancel)
{
    struct bench *b = arg;
    struct event_mail *m = mem_zalloc(sizeof(*m));

    (void)cancel;
    if (e->kind == EVENT_COMPACTED)
        check_rules(b->agent);
    m->mail.kind = &event_mail_kind;
    m->event = e;
    mailbox_send(b->mail, &m->mail);
}

static struct bench *bench_of(struct journal *self)
{
    return (struct bench *)((char *)self - offsetof(struct bench, journal));
}

static int fake_user(struct journal *self, const struct block *blocks, size_t count,
                     const char *uuid, enum event_user user, struct err *err)
{
    (void)self, (void)blocks, (void)count, (void)uuid, (void)user, (void)err;
    return 0;
}

static void fake_remind(struct journal *self, const struct block *block)
{
    (void)self, (void)block;
}

static int fake_reply(struct journal *self, const struct llm_call_result *reply, struct err *err)
{
    (void)self, (void)reply, (void)err;
    return 0;
}

static int fake_result(struct journal *self, const struct block *result, struct str data,
                       bool is_denied, struct str call_entry, struct err *err)
{
    (void)self, (void)result, (void)data, (void)is_denied, (void)call_entry, (void)err;
    return 0;
}

/* The arguments must suffice to make the same conversation again. */
static int fake_compacted(struct journal *self, const struct journal_compact *c, struct err *err)
{
    struct bench *b = bench_of(self);

    if (b->disk_full)
        return err_set(err, ERR_IO, "the disk is full");
    assert_int_equal(c->boundary.len, ID_UUID_LEN);
    assert_int_equal(c->summary->entry.len, ID_UUID_LEN);
    for (size_t i = 0; i < c->attached_count; i++)
        assert_int_equal(c->attached[i].entry.len, ID_UUID_LEN);
    for (size_t i = 0; i < c->kept_count; i++)
        assert_int_equal(c->kept[i].len, ID_UUID_LEN);
    buf_addf(&b->log, "compacted %.*s keep='%.*s' attached=%zu kept=%zu summed=%zu todos=%.*s\n",
             STR_ARG(c->trigger), STR_ARG(c->instructions), c->attached_count, c->kept_count,
             c->summarized, STR_ARG(c->todos));
    return 0;
}

static int fake_replaced(struct journal *self, const struct journal_replacement *list, size_t count,
                         struct err *err)
{
    struct bench *b = bench_of(self);

    if (b->disk_full)
        return err_set(err, ERR_IO, "the disk is full");
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(list[i].entry.len, ID_UUID_LEN);
        assert_true(str_starts(list[i].stub, STR("[This result has ")));
    }
    buf_addf(&b->log, "replaced %zu\n", count);
    return 0;
}

static int fake_snipped(struct journal *self, const struct str *entries, size_t count,
                        struct err *err)
{
    struct bench *b = bench_of(self);

    (void)entries, (void)err;
    buf_addf(&b->log, "snipped %zu\n", count);
    return 0;
}

static int fake_queue(struct journal *self, enum journal_queue what,
                      const struct agent_input *input, struct err *err)
{
    (void)input, (void)err;
    bench_of(self)->waiting += what == QUEUE_ENQUEUE ? 1 : -1;
    return 0;
}

static int fake_turn_done(struct journal *self, const struct turn_report *report, struct err *err)
{
    (void)self, (void)report, (void)err;
    return 0;
}

static bool hook_wants(struct hook_runner *self, enum hook_event event, struct str subject)
{
    (void)self, (void)subject;
    return event == HOOK_PRE_COMPACT || event == HOOK_POST_COMPACT || event == HOOK_SESSION_START;
}

static int hook_run(struct hook_runner *self, const struct hook_input *in, struct cancel *cancel,
                    struct hook_outcome *io, struct err *err)
{
    struct bench *b = (struct bench *)((char *)self - offsetof(struct bench, hook));
    struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    (void)cancel;
    assert_int_equal(json_parse(&arena, in->json, &v, NULL, err), 0);
    buf_addf(&b->log, "%s %.*s %.*s%.*s\n", hook_event_name(in->event), STR_ARG(in->subject),
             STR_ARG(json_get_str(v, "custom_instructions")),
             STR_ARG(json_get_str(v, "compact_summary")));
    arena_release(&arena);
    if (in->event == HOOK_SESSION_START)
        buf_addf(&io->context, "hooked at %.*s", STR_ARG(in->subject));
    if (b->blocks && str_starts(str_of(b->blocks), STR("stop ")) &&
        strcmp(b->blocks + strlen("stop "), hook_event_name(in->event)) == 0)
        hook_outcome_stop(io, STR("enough"));
    if (b->blocks && strcmp(b->blocks, hook_event_name(in->event)) == 0) {
        io->decision = HOOK_DENY;
        buf_adds(&io->reason, "not now");
    }
    return 0;
}

static void put_file(const char *name, const char *text)
{
    char path[300];
    struct err err = {0};

    snprintf(path, sizeof(path), "%s/%s", root, name);
    if (file_replace(path, str_of(text), 0600, &err) < 0)
        fail_msg("%s", err.text);
}

static void bench_begin(struct bench *b, const char *scenario, const char *settings)
{
    static char home[100];
    static char *environ[] = {home, NULL};
    struct conf_sources from = {.dir = root, .environ = environ, .etc = root, .trusted = true};
    CLEANUP(buf_release) struct buf model = BUF_INIT(4096);
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct err err = {0};
    char state[200];

    *b = (struct bench){
        .trace = BUF_INIT(1 << 20), .log = BUF_INIT(1 << 20), .notices = BUF_INIT(1 << 20)};
    snprintf(home, sizeof(home), "TENAX_HOME=%s", root);
    snprintf(state, sizeof(state), "%s/state", root);
    put_file("settings.json", settings ? settings : "{}");
    put_file("s.scenario", scenario);
    buf_addf(&model, "scripted/%s/s.scenario", root);
    if (conf_load(&from, &b->conf, &err) < 0 ||
        provider_select(b->conf, buf_str(&model), NULL, &b->provider, &err) < 0)
        fail_msg("%s", err.text);
    b->cancel = cancel_new(NULL);
    b->mail = mailbox_new();
    b->workspace = workspace_new(root, state, environ);
    if (permit_new(b->conf, b->workspace, &warnings, &b->permit, &err) < 0)
        fail_msg("%s", err.text);
    b->journal = (struct journal){
        .user = fake_user,
        .remind = fake_remind,
        .reply = fake_reply,
        .result = fake_result,
        .compacted = fake_compacted,
        .replaced = fake_replaced,
        .snipped = fake_snipped,
        .queue = fake_queue,
        .turn_done = fake_turn_done,
    };
    b->hook = (struct hook_runner){.wants = hook_wants, .run = hook_run};
    b->hooks[0] = &b->hook;
    b->spec = (struct agent_spec){
        .identity = {.session = "00000000-0000-4000-8000-000000000000", .agent = IDENTITY_MAIN},
        .conf = b->conf,
        .providers = &b->provider,
        .provider_count = 1,
        .workspace = b->workspace,
        .permit = b->permit,
        .hooks = b->hooks,
        .system = STR("You are a test."),
        .context = STR("<system-reminder>\nthe surroundings\n</system-reminder>\n"),
        .transcript_path = "/t.jsonl",
        .journal = &b->journal,
        .emit = bench_emit,
        .emit_arg = b,
        .cancel = b->cancel,
    };
}

static void bench_start(struct bench *b)
{
    struct toolbox_spec spec = {
        .table = table,
        .conf = b->conf,
        .provider = &b->provider,
        .permit = b->permit,
    };
    struct err err = {0};

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
static enum event_kind bench_event(struct bench *b)
{
    static const char letters[] = {
        [EVENT_TURN_STARTED] = 'T', [EVENT_STEP_STARTED] = 'S', [EVENT_STEP_DONE] = 'D',
        [EVENT_STEP_VOID] = 'V',    [EVENT_TOOL_DONE] = 'r',    [EVENT_RETRY] = 'R',
        [EVENT_NOTICE] = 'n',       [EVENT_COMPACTING] = 'c',   [EVENT_COMPACTED] = 'C',
        [EVENT_TURN_DONE] = 'E',
    };
    enum event_kind kind;
    struct event *e;
    struct mail *m;

    if (mailbox_take(b->mail, NULL, clock_mono_ms() + 60000, &m, NULL) < 0)
        fail_msg("nothing happens after %s", buf_cstr(&b->trace));
    e = ((struct event_mail *)m)->event;
    kind = e->kind;
    if ((size_t)kind < sizeof(letters) && letters[kind])
        buf_addc(&b->trace, kind == EVENT_COMPACTED && e->is_error ? 'F' : letters[kind]);
    if (kind == EVENT_BLOCK_DONE)
        memcpy(b->last_uuid, e->uuid, sizeof(b->last_uuid));
    if (kind == EVENT_NOTICE)
        buf_addf(&b->notices, "%.*s\n", STR_ARG(e->text));
    if (kind == EVENT_TURN_DONE) {
        b->end = e->report->end;
        b->input_tokens = e->report->usage.input;
        snprintf(b->result, sizeof(b->result), "%.*s", STR_ARG(e->report->result));
        snprintf(b->error, sizeof(b->error), "%.*s", STR_ARG(e->report->error));
    }
    mail_free(m);
    return kind;
}

static void bench_until(struct bench *b, enum event_kind kind)
{
    while (bench_event(b) != kind)
        continue;
}

static void bench_turn(struct bench *b, const char *text)
{
    bench_say(b, text, INPUT_LATER);
    bench_until(b, EVENT_TURN_DONE);
}

/* The agent's thread has ended; its insides may be looked at. */
static void bench_stop(struct bench *b)
{
    agent_finish(b->agent, NULL, NULL);
    agent_await_end(b->agent);
    history_seal(&b->agent->history);
    check_rules(b->agent);
}

static void bench_end(struct bench *b)
{
    bool is_over;

    gate_take(&b->agent->gate);
    is_over = b->agent->is_over;
    gate_give(&b->agent->gate);
    if (!is_over)
        bench_stop(b);
    agent_free(b->agent);
    toolbox_unref(b->toolbox);
    permit_free(b->permit);
    workspace_unref(b->workspace);
    provider_release(&b->provider);
    conf_unref(b->conf);
    mailbox_close(b->mail);
    mailbox_unref(b->mail);
    cancel_unref(b->cancel);
    buf_release(&b->trace);
    buf_release(&b->log);
    buf_release(&b->notices);
}

/* ---- Rows: one or two inputs, and what comes of them ---- */

#define SUMMARY                                                                                    \
    "step sum\n"                                                                                   \
    "  if-prompt \"Write that summary now\"\n"                                                     \
    "  sticky\n"                                                                                   \
    "  text the gist\n"                                                                            \
    "  usage input=150000 output=9\n"
/* An answer with a result of 8 KB, in a conversation that has got long. */
#define LONG                                                                                       \
    "step\n"                                                                                       \
    "  call Big {}\n"                                                                              \
    "  usage input=160000 output=10\n"
#define OFF "{\"autoCompactEnabled\":false}"

static const struct {
    const char *name;
    const char *scenario;
    const char *settings;
    const char *blocks;
    bool disk_full;
    const char *second; /* input; NULL: none */
    const char *trace;
    enum turn_end end;
    const char *result; /* part of it; of a failure of the error */
    const char *log;    /* part of it, or NULL */
    const char *notice; /* part of it; NULL: there is none */
} rows[] = {
    {"auto", SUMMARY LONG "step\n  text done\n", NULL, NULL, false, NULL, "TSDrcCSDE",
     END_COMPLETED, "done",
     "SessionStart startup \n"
     "PreCompact auto \n"
     "SessionStart compact \n"
     "compacted auto keep='' attached=2 kept=0 summed=3 todos=[]\n"
     "PostCompact auto the gist\n",
     NULL},
    {"below the threshold",
     "step\n  call Big {}\n  usage input=150000 output=10\nstep\n  text done\n", NULL, NULL, false,
     NULL, "TSDrSDE", END_COMPLETED, "done", NULL, NULL},
    {"earlier by setting",
     SUMMARY "step\n  call Big {}\n  usage input=100000 output=10\nstep\n  text done\n",
     "{\"env\":{\"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE\":\"40\"}}", NULL, false, NULL, "TSDrcCSDE",
     END_COMPLETED, "done", "compacted auto", NULL},
    {"a hook blocks", LONG "step\n  text done\n", NULL, "PreCompact", false, NULL, "TSDrSDE",
     END_COMPLETED, "done", "PreCompact auto", NULL},
    {"a hook stops the turn", LONG "step\n  text done\n", NULL, "stop PreCompact", false, NULL,
     "TSDrE", END_HOOK_STOPPED, "", "PreCompact auto", NULL},
    {"a hook stops the turn behind it", SUMMARY LONG "step\n  text done\n", NULL,
     "stop PostCompact", false, NULL, "TSDrcCE", END_HOOK_STOPPED, "", "PostCompact auto", NULL},
    {"the disk is full", SUMMARY LONG "step\n  if-result \"big\"\n  text done\n", NULL, NULL, true,
     NULL, "TSDrcFnSDE", END_COMPLETED, "done", NULL, "could not be compacted: the disk is full"},
    {"a tool instead of a summary, then one",
     "step\n  if-prompt \"Answer with text only\"\n  text the gist\n"
     "step\n  if-prompt \"Write that summary now\"\n  call Big {}\n" LONG "step\n  text done\n",
     NULL, NULL, false, NULL, "TSDrcCSDE", END_COMPLETED, "done", "PostCompact auto the gist",
     NULL},
    {"never a summary",
     "step\n  if-prompt \"Write that summary now\"\n  sticky\n  call Big {}\n" LONG
     "step\n  if-result \"big\"\n  text done\n",
     NULL, NULL, false, NULL, "TSDrcFnSDE", END_COMPLETED, "done", NULL,
     "the model called a tool instead of summarizing"},
    {"too long, says the provider",
     SUMMARY "step\n  call Big {}\n"
             "step\n  fault status 400 \"prompt is too long: 9 tokens > 8 maximum\"\n  text done\n",
     NULL, NULL, false, NULL, "TSDrcCSDE", END_COMPLETED, "done", "compacted auto", NULL},
    {"too large, says the provider",
     SUMMARY "step\n  call Big {}\n"
             "step\n  fault status 413 \"Request exceeds the maximum size\"\n  text done\n",
     NULL, NULL, false, NULL, "TSDrcCSDE", END_COMPLETED, "done", "compacted auto", NULL},
    {"too long once more",
     SUMMARY "step\n  call Big {}\n"
             "step\n  fault status 400 \"prompt is too long: 9 tokens > 8 maximum\" times=2\n"
             "  text done\n",
     NULL, NULL, false, NULL, "TSDrcCE", END_PROMPT_TOO_LONG, "prompt is too long", NULL, NULL},
    {"too long, also for a summary",
     "step\n  if-prompt \"Write that summary now\"\n  sticky\n"
     "  fault status 400 \"prompt is too long: 7 tokens > 6 maximum\" times=9\n  text no\n"
     "step\n  call Big {}\n"
     "step\n  fault status 400 \"prompt is too long: 9 tokens > 8 maximum\"\n  text done\n",
     NULL, NULL, false, NULL, "TSDrcFnE", END_PROMPT_TOO_LONG, "9 tokens > 8", NULL,
     "7 tokens > 6"},
    {"too long for a summary of all, not of a part",
     "step\n  if-prompt \"Write that summary now\"\n"
     "  fault status 400 \"prompt is too long: 7 tokens > 6 maximum\" times=2\n  text the gist\n"
     "step\n  call Big {}\nstep\n  call Big {}\nstep\n  call Big {}\nstep\n  call Big {}\n"
     "step\n  call Big {}\n"
     "step\n  fault status 400 \"prompt is too long: 9 tokens > 8 maximum\"\n  text done\n",
     NULL, NULL, false, NULL, "TSDrSDrSDrSDrSDrcCSDE", END_COMPLETED, "done", "compacted auto",
     NULL},
    {"too long, and not to be compacted",
     "step\n  call Big {}\n"
     "step\n  fault status 400 \"prompt is too long: 9 tokens > 8 maximum\"\n  text done\n",
     OFF, NULL, false, NULL, "TSDrE", END_PROMPT_TOO_LONG, "prompt is too long", NULL, NULL},
    {"full while it spoke",
     SUMMARY "step\n  call Big {}\n"
             "step\n  text half an\n  stop model_context_window_exceeded\n"
             "step\n  text a whole answer\n",
     NULL, NULL, false, NULL, "TSDrScCVSDE", END_COMPLETED, "a whole answer", "compacted auto",
     NULL},
    {"off, and at the limit", "step\n  call Big {}\n  usage input=164000 output=10\n", OFF, NULL,
     false, NULL, "TSDrE", END_PROMPT_TOO_LONG, "/compact makes room", NULL, NULL},
    {"off, and below the limit",
     "step\n  call Big {}\n  usage input=160000 output=10\nstep\n  text done\n", OFF, NULL, false,
     NULL, "TSDrSDE", END_COMPLETED, "done", NULL, NULL},
    {"asked for", SUMMARY "step\n  call Big {}\nstep\n  text done\n", OFF, NULL, false,
     "/compact keep the names", "TSDrSDETcCE", END_COMPLETED, "Compacted: about ",
     "PreCompact manual keep the names\n"
     "SessionStart compact \n"
     "compacted manual keep='keep the names' attached=2 kept=1 summed=3 todos=[]\n",
     NULL},
    {"asked for too early", "step\n  text done\n", NULL, NULL, false, "/compact", "TSDETE",
     END_COMPLETED, "There is too little to compact", NULL, NULL},
    {"asked for and blocked", "step\n  call Big {}\nstep\n  text done\n", NULL, "PreCompact", false,
     "/compact", "TSDrSDETE", END_HOOK_STOPPED, "", "PreCompact manual", NULL},
    {"asked for, and it fails",
     "step\n  if-prompt \"Write that summary now\"\n  sticky\n  stop refusal\n  text no\n"
     "step\n  call Big {}\nstep\n  text done\n",
     NULL, NULL, false, "/compact", "TSDrSDETcFE", END_MODEL_ERROR,
     "the model refused to summarize", NULL, NULL},
    {"another word", "step\n  text done\nstep\n  if-prompt \"/compactor\"\n  text indeed\n", NULL,
     NULL, false, "/compactor", "TSDETSDE", END_COMPLETED, "indeed", NULL, NULL},
};

static void play(size_t i)
{
    struct bench b;

    bench_begin(&b, rows[i].scenario, rows[i].settings);
    b.blocks = rows[i].blocks;
    b.disk_full = rows[i].disk_full;
    bench_start(&b);
    bench_turn(&b, "go");
    if (rows[i].second)
        bench_turn(&b, rows[i].second);
    if (strcmp(buf_cstr(&b.trace), rows[i].trace) != 0 || b.end != rows[i].end)
        fail_msg("%s: %s, %s\n%s%s", rows[i].name, buf_cstr(&b.trace), turn_end_name(b.end),
                 b.error, buf_cstr(&b.notices));
    if (!strstr(b.error[0] ? b.error : b.result, rows[i].result))
        fail_msg("%s: %s / %s", rows[i].name, b.result, b.error);
    if (rows[i].log && !strstr(buf_cstr(&b.log), rows[i].log))
        fail_msg("%s: the journal has\n%s", rows[i].name, buf_cstr(&b.log));
    if (rows[i].notice ? !strstr(buf_cstr(&b.notices), rows[i].notice) : b.notices.len > 0)
        fail_msg("%s: notices: %s", rows[i].name, buf_cstr(&b.notices));
    bench_end(&b);
}

static void what_happens(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        play(i);
}

/* ---- What the model knows afterwards ---- */

/* All texts of the first message. */
static void head_text(struct bench *b, struct buf *ret)
{
    message_text(b->agent->history.list.ptr[0], ret);
}

static void change_file(void *arg, struct cancel *cancel, struct buf *ret)
{
    struct workspace *w = arg;

    (void)cancel;
    put_file("five.txt", "five, changed");
    workspace_set_cwd(w, "/tmp");
    buf_adds(ret, "<system-reminder>\nthe surroundings by now\n</system-reminder>\n");
}

static void state_is_said_again(void **state)
{
    static const char *const words[] = {
        "This conversation continues an earlier one",
        "the gist",
        "/t.jsonl",
        "the surroundings by now",
        "[>] test it",
        "hooked at compact",
        "two, as it is",
        "five, changed",
        "Plan mode is on",
        "The working directory is now /tmp.",
    };
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    char path[200];
    struct seen_file seen;
    struct bench b;

    (void)state;
    put_file("one.txt", "one, as it is");
    put_file("two.txt", "two, as it is");
    put_file("three.txt", "three, as it is");
    put_file("four.txt", "four, as it is");
    put_file("five.txt", "five, as it was");
    put_file("six.txt", "six, as it is");
    bench_begin(&b,
                SUMMARY "step\n  call Look {\"file\": \"one.txt\"}\n"
                        "step\n  call Look {\"file\": \"two.txt\"}\n"
                        "step\n  call Look {\"file\": \"three.txt\"}\n"
                        "step\n  call Look {\"file\": \"four.txt\"}\n"
                        "step\n  call Look {\"file\": \"five.txt\"}\n"
                        "step\n  call Look {\"file\": \"six.txt\"}\n" LONG
                        "step\n  text done\n  usage input=7 output=1\n",
                NULL);
    b.spec.again = change_file;
    b.spec.news_arg = b.workspace;
    workspace_set_todos(b.workspace, STR("[{\"content\":\"test it\",\"status\":\"in_progress\"}]"));
    permit_set_mode(b.permit, MODE_PLAN, /*err=*/NULL);
    bench_start(&b);
    bench_turn(&b, "go");
    assert_int_equal(b.end, END_COMPLETED);
    bench_stop(&b);
    head_text(&b, &text);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (!strstr(buf_cstr(&text), words[i]))
            fail_msg("'%s' is not in\n%s", words[i], buf_cstr(&text));
    }
    /* The file looked at first is one too many: it has to be read again. */
    assert_false(strstr(buf_cstr(&text), "one, as it is"));
    snprintf(path, sizeof(path), "%s/one.txt", root);
    assert_false(workspace_seen(b.workspace, path, &seen));
    snprintf(path, sizeof(path), "%s/two.txt", root);
    assert_true(workspace_seen(b.workspace, path, &seen));
    /* The summary's tokens count in the turn, and are not taken for the conversation's. */
    assert_true(b.input_tokens > 160000 + 150000);
    assert_int_equal(b.agent->last_input_tokens, 7);
    bench_end(&b);
}

static void many_long_results(void **state)
{
    CLEANUP(buf_release) struct buf whole = BUF_INIT(1 << 20);
    const struct message *m;
    struct str stub;
    struct bench b;
    char path[300];
    size_t at;

    (void)state;
    bench_begin(&b,
                "step\n  call Big {\"kb\": 40}\n  call Big {\"kb\": 90}\n"
                "  call Big {\"kb\": 90}\n  call Big {\"kb\": 1}\n"
                "step\n  text done\n",
                NULL);
    bench_start(&b);
    bench_turn(&b, "go");
    assert_int_equal(b.end, END_COMPLETED);
    assert_true(strstr(buf_cstr(&b.log), "replaced 1\n"));
    bench_stop(&b);
    m = b.agent->history.list.ptr[2];
    assert_int_equal(m->len, 4);
    assert_int_equal(m->blocks[0].content[0].text.len, 40 * 1024);
    assert_int_equal(m->blocks[2].content[0].text.len, 90 * 1024);
    stub = m->blocks[1].content[0].text; /* the older of the two largest */
    assert_true(stub.len < 3000);
    at = str_find(stub, STR("The whole is in "));
    assert_true(at < stub.len);
    snprintf(path, sizeof(path), "%.*s",
             STR_ARG(str_first(str_from(stub, at + 16),
                               str_find(str_from(stub, at + 16), STR(". It begins")))));
    assert_int_equal(file_slurp(path, 1 << 20, &whole, NULL), 0);
    assert_int_equal(whole.len, 90 * 1024);
    bench_end(&b);

    /* What cannot be remembered is not done. */
    bench_begin(&b, "step\n  call Big {\"kb\": 150}\n  call Big {\"kb\": 150}\n", NULL);
    b.disk_full = true;
    bench_start(&b);
    bench_turn(&b, "go");
    assert_int_equal(b.end, END_API_ERROR);
    assert_string_equal(b.error, "the disk is full");
    bench_end(&b);
}

/* ---- When it does not help ---- */

#define FAILING "step\n  if-prompt \"Write that summary now\"\n  sticky\n  text \" \"\n"
#define LONG_AGAIN "step\n  if-result \"big\"\n  call Big {}\n  usage input=160000 output=10\n"

static void three_failures(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b,
                FAILING LONG LONG_AGAIN LONG_AGAIN LONG_AGAIN
                "step\n  if-result \"big\"\n  text done\n  usage input=164999 output=10\n",
                NULL);
    bench_start(&b);
    bench_turn(&b, "go");
    assert_string_equal(buf_cstr(&b.trace), "TSDrcFnSDrcFnSDrcFnnSDrSDE");
    assert_int_equal(b.end, END_COMPLETED);
    assert_true(strstr(buf_cstr(&b.notices), "3 compactions in a row failed"));
    bench_turn(&b, "and more words than there is room for");
    assert_int_equal(b.end, END_PROMPT_TOO_LONG);
    assert_true(strstr(b.error, "/compact makes room"));
    bench_end(&b);
}

/* Automatic compactions are off then; one requested by a provider is not. */
static void failures_do_not_stop_recovery(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b,
                SUMMARY "step\n  call Big {}\n"
                        "step\n  fault status 400 \"prompt is too long: 9 tokens > 8 maximum\"\n"
                        "  text done\n",
                NULL);
    bench_start(&b);
    b.agent->compact_failures = 3;
    bench_turn(&b, "go");
    assert_string_equal(buf_cstr(&b.trace), "TSDrcCSDE");
    assert_int_equal(b.end, END_COMPLETED);
    bench_end(&b);
}

/* Each succeeds, and after one call the conversation is as long as before: an endless loop. */
static void no_room_is_made(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b, SUMMARY LONG LONG LONG LONG LONG "step\n  text done\n", NULL);
    bench_start(&b);
    bench_turn(&b, "go");
    assert_string_equal(buf_cstr(&b.trace), "TSDrcCSDrcCSDrcCSDrcCnSDrSDE");
    assert_int_equal(b.end, END_COMPLETED);
    bench_end(&b);
}

/* ---- From outside ---- */

static void interrupted(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct bench b;

    (void)state;
    bench_begin(&b, "step\n  if-prompt \"Write that summary now\"\n  pause 60s\n  text late\n" LONG,
                NULL);
    bench_start(&b);
    bench_say(&b, "go", INPUT_LATER);
    bench_until(&b, EVENT_COMPACTING);
    agent_interrupt(b.agent, /*drop_queued=*/false);
    bench_until(&b, EVENT_TURN_DONE);
    assert_string_equal(buf_cstr(&b.trace), "TSDrcFE");
    assert_int_equal(b.end, END_ABORTED_STREAMING);
    bench_stop(&b);
    head_text(&b, &text);
    assert_false(strstr(buf_cstr(&text), "earlier part"));
    assert_int_equal(b.agent->compact_failures, 0); /* not counted as a failure */
    bench_end(&b);
}

/* A command sent in the middle of a turn waits for its end. */
static void asked_for_meanwhile(void **state)
{
    struct bench b;

    (void)state;
    bench_begin(&b,
                SUMMARY "step\n  pause 20ms\n  call Big {}\n"
                        "step\n  if-result \"big\"\n  text done\n",
                NULL);
    bench_start(&b);
    bench_say(&b, "go", INPUT_LATER);
    bench_until(&b, EVENT_TURN_STARTED);
    bench_say(&b, "/compact keep it", INPUT_NEXT);
    bench_say(&b, "/compact and more", INPUT_LATER);
    bench_until(&b, EVENT_TURN_DONE);
    bench_until(&b, EVENT_TURN_DONE);
    bench_until(&b, EVENT_TURN_DONE);
    assert_string_equal(buf_cstr(&b.trace), "TSDrSDETcCETE");
    assert_true(strstr(buf_cstr(&b.log), "keep='keep it'"));
    assert_true(strstr(b.result, "too little"));
    assert_int_equal(b.waiting, 0); /* the journal has nothing left that waits */
    bench_end(&b);
}

static void snipped(void **state)
{
    CLEANUP(strv_release) struct strv uuids = STRV_INIT;
    struct bench b;

    (void)state;
    bench_begin(&b,
                "step\n  call Big {}\nstep\n  text done\nstep\n  if-prompt \"next\"\n"
                "  text really done\n",
                NULL);
    bench_start(&b);
    bench_say(&b, "go", INPUT_LATER);
    bench_until(&b, EVENT_TOOL_DONE);
    strv_adds(&uuids, b.last_uuid);
    bench_until(&b, EVENT_TURN_DONE);
    agent_snip(b.agent, &uuids);
    bench_until(&b, EVENT_NOTICE);
    assert_string_equal(buf_cstr(&b.log), "SessionStart startup \nsnipped 2\n");
    agent_snip(b.agent, &uuids);
    bench_until(&b, EVENT_NOTICE);
    assert_true(strstr(buf_cstr(&b.notices), "the conversation has no message"));
    bench_turn(&b, "next");
    assert_string_equal(b.result, "really done");
    bench_stop(&b);
    assert_int_equal(b.agent->history.list.len, 4);
    bench_end(&b);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void remove_all(void)
{
    (void)nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

UNIT_TEST(compact)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_happens),
        cmocka_unit_test(state_is_said_again),
        cmocka_unit_test(many_long_results),
        cmocka_unit_test(three_failures),
        cmocka_unit_test(failures_do_not_stop_recovery),
        cmocka_unit_test(no_room_is_made),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(asked_for_meanwhile),
        cmocka_unit_test(snipped),
    };
    int r;

    if (!mkdtemp(root))
        return 1;
    r = cmocka_run_group_tests(tests, NULL, NULL);
    remove_all();
    return r;
}
