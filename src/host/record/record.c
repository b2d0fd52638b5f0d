/*
 * The journal of a session, written as a transcript. Functions that change the chain run on the
 * agent's thread; facts (record_facts.c) on any.
 */
#include "host/record/record.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/ask.h"
#include "agent/journal.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "base/mem.h"
#include "context/branch.h"
#include "guard/workspace.h"
#include "host/record/record_line.h"
#include "host/record/record_state.h"
#include "json/jw.h"
#include "llm/llm_call.h"
#include "llm/message.h"
#include "llm/model.h"
#include "store/files/file_history.h"
#include "store/transcript/entry.h"
#include "store/transcript/load.h"

/* ---- Write errors ---- */

static void record_write_question(struct buf *out, const struct err *why)
{
    struct jw w;

    jw_init(&w, out, 0);
    jw_object(&w);
    jw_kcstr(&w, "message", "The session can no longer be saved. Go on without keeping it?");
    jw_kcstr(&w, "reason", why->text);
    jw_object_end(&w);
}

/* 0: the user wants to continue without saving; -1: the error remains. */
static int record_ask(struct record *r, struct err *err)
{
    CLEANUP(ask_answer_release) struct ask_answer answer = ASK_ANSWER_INIT;
    CLEANUP(buf_release) struct buf input = BUF_INIT(1 << 12);
    struct ask ask = {
        .kind = ASK_PERMISSION,
        .tool_name = STR(RECORD_ASKS_AS),
        .reason = str_of(err->text),
        .reason_type = "other",
        .needs_person = true,
    };

    record_write_question(&input, err);
    ask.input = buf_str(&input);
    if (!r->asker || r->asker->put(r->asker, &ask, /*cancel=*/NULL, &answer, /*err=*/NULL) < 0 ||
        !answer.allowed)
        return -1;
    atomic_store(&r->forgets, true);
    return 0;
}

static int record_failed(struct record *r, struct err *err)
{
    struct err why = {0};

    if (err)
        why = *err;
    if (record_ask(r, &why) == 0)
        return 0;
    return err_prefix(err, "the session could not be saved, so the turn ends here; all that was "
                           "written before is safe, and --continue resumes when there is room");
}

/* Writes r->line to the file. If that fails, the transcript writes it the next time, so the chain
 * continues in any case. */
static int record_put(struct record *r, bool is_durable, struct err *err)
{
    struct err why = {0};

    if (atomic_load(&r->forgets))
        return 0;
    if (transcript_message(r->transcript, buf_str(&r->line), is_durable, &why) == 0)
        return 0;
    if (record_failed(r, &why) == 0)
        return 0;
    return err_set(err, why.code, "%s", why.text);
}

/* The same for a line that the conversation can do without: if it fails, the next line gets its
 * parent. */
static int record_attempt(struct record *r, const char *parent, struct err *err)
{
    if (atomic_load(&r->forgets) || transcript_attempt(r->transcript, buf_str(&r->line), err) == 0)
        return 0;
    memcpy(r->parent, parent, sizeof(r->parent));
    return -1;
}

/* ---- The chain ---- */

static void record_look(struct record *r)
{
    mem_freep(&r->cwd);
    mem_freep(&r->branch);
    r->cwd = workspace_cwd(r->workspace);
    r->branch = branch_current(r->cwd);
}

static struct entry_head record_head(const struct record *r)
{
    return (struct entry_head){
        .session = str_of(r->session),
        .cwd = str_of(r->cwd),
        .version = STR(TENAX_VERSION),
        .branch = str_of(r->branch),
        .entrypoint = str_of(r->entrypoint),
        .agent_id = str_of(r->agent_id),
    };
}

static struct record_at record_at(const struct record *r, const struct entry_head *head,
                                  struct str uuid)
{
    return (struct record_at){
        .head = head,
        .uuid = uuid,
        .parent = str_of(r->parent),
        .time_ms = clock_wall_ms(),
    };
}

static void record_moved(struct record *r, struct str uuid)
{
    snprintf(r->parent, sizeof(r->parent), "%.*s", STR_ARG(uuid));
}

static int record_user(struct journal *self, const struct block *blocks, size_t count,
                       const char *uuid, enum event_user user, struct err *err)
{
    struct record *r = record_of(self);
    bool is_said = user == USER_INPUT || user == USER_APPENDED;
    struct entry_head head;
    struct record_at at;

    record_look(r);
    head = record_head(r);
    at = record_at(r, &head, str_of(uuid));
    buf_clear(&r->line);
    record_line_user(&r->line, &at, blocks, count, user);
    record_moved(r, at.uuid);
    if (is_said)
        file_history_begin(r->files, at.uuid);
    return record_put(r, is_said, err);
}

static void record_remind(struct journal *self, const struct block *block)
{
    struct record *r = record_of(self);
    struct entry_head head;
    struct record_at at;

    if (!r->cwd)
        record_look(r);
    head = record_head(r);
    at = record_at(r, &head, block->entry);
    buf_clear(&r->line);
    record_line_user(&r->line, &at, block, 1, USER_ADDED);
    transcript_hold(r->transcript, buf_str(&r->line));
    record_moved(r, at.uuid);
}

/* The cost of an answer, for viewers without a price of the model. */
static double record_cost(const struct llm_call_result *reply)
{
    double usd;

    if (model_cost_usd(reply->model, &reply->usage, &usd, /*err=*/NULL) < 0)
        return NAN;
    return usd;
}

static int record_reply(struct journal *self, const struct llm_call_result *reply, struct err *err)
{
    struct record *r = record_of(self);
    struct entry_head head;
    const struct message *m = reply->message;
    double cost = record_cost(reply);
    char uuid[ID_UUID_LEN + 1];

    record_look(r); /* calls may have changed the folder or branch */
    head = record_head(r);
    buf_clear(&r->line);
    for (size_t i = 0; i < m->len; i++) {
        struct record_at at = record_at(r, &head, m->blocks[i].entry);

        record_line_reply(&r->line, &at, reply, &m->blocks[i], cost);
        record_moved(r, at.uuid);
    }
    if (!m->len) {
        struct record_at at;

        id_uuid(uuid);
        at = record_at(r, &head, str_of(uuid));
        record_line_reply(&r->line, &at, reply, /*block=*/NULL, cost);
        record_moved(r, at.uuid);
    }
    return record_put(r, /*is_durable=*/false, err);
}

static int record_result(struct journal *self, const struct block *result, struct str data,
                         bool is_denied, struct str call_entry, struct err *err)
{
    struct record *r = record_of(self);
    struct entry_head head = record_head(r);
    struct record_at at = record_at(r, &head, result->entry);

    at.parent = call_entry;
    buf_clear(&r->line);
    record_line_result(&r->line, &at, result, data, is_denied);
    record_moved(r, at.uuid);
    return record_put(r, /*is_durable=*/false, err);
}

/* Writes boundary, summary and repeated context in one write. The last one is the parent of the
 * next line; kept lines are inserted when reading. */
static int record_compacted(struct journal *self, const struct journal_compact *c, struct err *err)
{
    struct record *r = record_of(self);
    char parent[sizeof(r->parent)];
    struct entry_head head;
    struct record_at at;
    struct str anchor =
        c->attached_count ? c->attached[c->attached_count - 1].entry : c->summary->entry;

    record_look(r);
    head = record_head(r);
    memcpy(parent, r->parent, sizeof(parent));
    buf_clear(&r->line);
    at = record_at(r, &head, c->boundary);
    record_line_boundary(&r->line, &at, c, anchor);
    record_moved(r, at.uuid);
    at = record_at(r, &head, c->summary->entry);
    record_line_summary(&r->line, &at, c->summary);
    record_moved(r, at.uuid);
    for (size_t i = 0; i < c->attached_count; i++) {
        at = record_at(r, &head, c->attached[i].entry);
        record_line_user(&r->line, &at, &c->attached[i], 1, USER_ADDED);
        record_moved(r, at.uuid);
    }
    return record_attempt(r, parent, err);
}

static int record_snipped(struct journal *self, const struct str *entries, size_t count,
                          struct err *err)
{
    struct record *r = record_of(self);
    struct entry_head head;
    struct record_at at;
    char parent[sizeof(r->parent)];
    char uuid[ID_UUID_LEN + 1];

    record_look(r);
    head = record_head(r);
    memcpy(parent, r->parent, sizeof(parent));
    id_uuid(uuid);
    at = record_at(r, &head, str_of(uuid));
    buf_clear(&r->line);
    record_line_snip(&r->line, &at, entries, count);
    record_moved(r, at.uuid);
    return record_attempt(r, parent, err);
}

/* Writes a separate line; keeps it if there is no file yet. */
static int record_line_beside(struct record *r, struct str uuid, struct err *err)
{
    record_moved(r, uuid);
    if (transcript_exists(r->transcript))
        return record_put(r, /*is_durable=*/false, err);
    transcript_hold(r->transcript, buf_str(&r->line));
    return 0;
}

/* Writes a line of a special kind outside of the conversation. */
static int record_beside(struct record *r,
                         void (*write)(struct buf *ret, const struct record_at *at,
                                       struct str text),
                         struct str text, struct err *err)
{
    struct entry_head head;
    struct record_at at;
    char uuid[ID_UUID_LEN + 1];

    record_look(r);
    head = record_head(r);
    id_uuid(uuid);
    at = record_at(r, &head, str_of(uuid));
    buf_clear(&r->line);
    write(&r->line, &at, text);
    return record_line_beside(r, at.uuid, err);
}

static int record_attach(struct journal *self, struct str json, struct err *err)
{
    return record_beside(record_of(self), record_line_attachment, json, err);
}

static int record_stop_hooks(struct journal *self, const struct journal_stop_hooks *s,
                             struct err *err)
{
    struct record *r = record_of(self);
    struct entry_head head;
    struct record_at at;
    char uuid[ID_UUID_LEN + 1];

    record_look(r);
    head = record_head(r);
    id_uuid(uuid);
    at = record_at(r, &head, str_of(uuid));
    buf_clear(&r->line);
    record_line_stop_hooks(&r->line, &at, s);
    return record_line_beside(r, at.uuid, err);
}

static int record_tell(struct journal *self, struct str text, struct err *err)
{
    return record_beside(record_of(self), record_line_warning, text, err);
}

static int record_turn_done(struct journal *self, const struct turn_report *report, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct record *r = record_of(self);
    struct entry_head head;
    struct record_at at;
    char uuid[ID_UUID_LEN + 1];

    if (!transcript_exists(r->transcript)) /* a hook blocked the prompt */
        return 0;
    record_look(r);
    head = record_head(r);
    buf_clear(&r->line);
    if (report->category.len) {
        id_uuid(uuid);
        at = record_at(r, &head, str_of(uuid));
        turn_report_text(report, &text);
        record_line_failure(&r->line, &at, buf_str(&text));
        record_moved(r, at.uuid);
    }
    id_uuid(uuid);
    at = record_at(r, &head, str_of(uuid));
    record_line_turn(&r->line, &at, report);
    record_moved(r, at.uuid);
    return record_put(r, /*is_durable=*/true, err);
}

/* ---- Creation and release ---- */

void record_agent_path(const char *folder, const char *agent_id, struct buf *ret)
{
    buf_addf(ret, "%s/subagents/agent-%s.jsonl", folder, agent_id);
}

struct record *record_new(const struct record_spec *spec)
{
    struct record *r = mem_zalloc(sizeof(*r));

    r->journal = (struct journal){
        .user = record_user,
        .remind = record_remind,
        .reply = record_reply,
        .result = record_result,
        .compacted = record_compacted,
        .replaced = record_replaced,
        .snipped = record_snipped,
        .queue = record_queue,
        .attach = record_attach,
        .tell = record_tell,
        .stop_hooks = record_stop_hooks,
        .turn_done = record_turn_done,
        .before_edit = record_before_edit,
        .after_edit = record_after_edit,
    };
    r->transcript = transcript_new(spec->path, spec->sync);
    r->session = mem_dup(spec->session, strlen(spec->session));
    r->entrypoint = mem_dup(spec->entrypoint, strlen(spec->entrypoint));
    if (spec->agent_id)
        r->agent_id = mem_dup(spec->agent_id, strlen(spec->agent_id));
    r->workspace = workspace_ref(spec->workspace);
    r->asker = spec->asker;
    record_moved(r, spec->leaf);
    buf_init(&r->line, BUF_NO_LIMIT);
    r->notice = spec->notice;
    r->notice_arg = spec->notice_arg;
    r->files = file_history_new(spec->folder, record_write_files, r);
    if (spec->changes)
        file_history_recall(r->files, spec->changes);
    if (spec->seed.len)
        transcript_copy(r->transcript, spec->seed);
    return r;
}

void record_free(struct record *r)
{
    if (!r)
        return;
    file_history_free(r->files);
    transcript_free(r->transcript);
    workspace_unref(r->workspace);
    buf_release(&r->line);
    mem_freep(&r->session);
    mem_freep(&r->entrypoint);
    mem_freep(&r->agent_id);
    mem_freep(&r->branch);
    mem_freep(&r->cwd);
    mem_freep(&r);
}

void record_go_on_from(struct record *r, struct str uuid)
{
    record_moved(r, uuid);
}

bool record_forgets(const struct record *r)
{
    return atomic_load(&r->forgets);
}

struct journal *record_journal(struct record *r)
{
    return &r->journal;
}

struct transcript *record_transcript(struct record *r)
{
    return r->transcript;
}

struct file_history *record_files(struct record *r)
{
    return r->files;
}
