/*
 * compact: when a conversation is compacted, and the order of the steps. Nothing changes in memory
 * before it is on disk.
 */
#include "agent/compact/compact.h"

#include <inttypes.h>

#include "agent/agent_state.h"
#include "agent/compact/attach.h"
#include "agent/compact/budget.h"
#include "agent/compact/summary.h"
#include "agent/journal.h"
#include "agent/step.h"
#include "agent/toolbox.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "context/reminder.h"
#include "guard/workspace.h"
#include "json/jw.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "llm/room.h"
#include "sync/cancel.h"

#define COMPACT_FAILURES 3
#define COMPACT_FOR_ROOM 2           /* consecutive attempts without an answer in between */
#define COMPACT_LEAST ((size_t)4000) /* bytes: less is not worth a summary */

/* One compaction. */
struct compact {
    struct agent *agent;
    struct turn *turn;
    struct window_room room;
    struct str trigger;
    struct str instructions;
    bool goes_on; /* a turn is running and continues afterwards */
    int64_t start_ms;
    size_t first;             /* index of the first message that stays */
    struct buf words;         /* the summary as written by the model */
    struct attached attached; /* the first block is the summary */
    int64_t pre_tokens, post_tokens;
    char boundary[ID_UUID_LEN + 1];
};

static void compact_release(struct compact *c)
{
    buf_release(&c->words);
    attached_release(&c->attached);
}

static void compact_begin(struct compact *c, struct agent *a, struct turn *t, struct str trigger)
{
    *c = (struct compact){
        .agent = a,
        .turn = t,
        .trigger = trigger,
        .start_ms = clock_mono_ms(),
        .words = BUF_INIT(AGENT_MAX_TEXT),
        .pre_tokens = step_estimate(a),
    };
    room_of(a->spec.conf, &agent_provider(a, t->provider)->model, &c->room);
    id_uuid(c->boundary);
}

/* Chooses the newest messages that stay, at most a quarter of the conversation. Returns the size of
 * the rest. */
static size_t compact_cut(struct compact *c)
{
    struct history *h = &c->agent->history;
    size_t all = history_bytes(h, 0);
    size_t most = all / 4 < c->room.tail_bytes ? all / 4 : c->room.tail_bytes;

    c->first = history_tail(h, most);
    return c->first ? all - history_bytes(h, c->first) : 0;
}

/* ---- Hooks and observers ---- */

static int compact_ask_hooks(struct compact *c, struct err *err)
{
    struct agent *a = c->agent;
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct jw w;

    if (!agent_hook_wanted(a, HOOK_PRE_COMPACT, c->trigger))
        return 0;
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, HOOK_PRE_COMPACT);
    jw_kstr(&w, "trigger", c->trigger);
    jw_key(&w, "custom_instructions");
    if (c->instructions.len)
        jw_str(&w, c->instructions);
    else
        jw_null(&w);
    jw_object_end(&w);
    if (agent_hook_run(a, HOOK_PRE_COMPACT, c->trigger, buf_str(&json), /*call=*/NULL,
                       c->turn->cancel, &o, err) < 0) {
        if (err->code == ERR_DENIED || err->code == ERR_CANCELLED)
            return -1;
        err_clear(err);
    }
    c->turn->stopped |= o.stop;
    if (o.stop || o.decision == HOOK_DENY) {
        const struct buf *why = o.stop && o.stop_reason.len ? &o.stop_reason : &o.reason;

        return err_set(err, ERR_DENIED, "a hook blocked the compaction%s%s", why->len ? ": " : "",
                       buf_cstr(why));
    }
    return 0;
}

static void compact_tell_hooks(struct compact *c)
{
    struct agent *a = c->agent;
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};
    struct jw w;

    if (!agent_hook_wanted(a, HOOK_POST_COMPACT, c->trigger))
        return;
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, HOOK_POST_COMPACT);
    jw_kstr(&w, "trigger", c->trigger);
    jw_kstr(&w, "compact_summary", buf_str(&c->words));
    jw_object_end(&w);
    (void)agent_hook_run(a, HOOK_POST_COMPACT, c->trigger, buf_str(&json), /*call=*/NULL,
                         c->turn->cancel, &o, &err);
    c->turn->stopped |= o.stop;
    if (o.stop)
        buf_add(&c->turn->note, buf_str(&o.stop_reason));
}

static void compact_say(struct compact *c, struct buf *ret)
{
    buf_addf(ret, "Compacted: about %" PRId64 " tokens before, %" PRId64 " after.", c->pre_tokens,
             c->post_tokens);
}

/* failed: the reason, or NULL on success. */
static void compact_emit(struct compact *c, enum event_kind kind, const struct err *failed)
{
    struct event *e = agent_event(c->agent, kind);
    CLEANUP(buf_release) struct buf text = BUF_INIT(4096);

    e->name = arena_str(&e->arena, c->trigger);
    e->pre_tokens = c->pre_tokens;
    if (kind == EVENT_COMPACTED) {
        e->duration_ms = clock_mono_ms() - c->start_ms;
        e->is_error = failed;
        if (failed) {
            buf_adds(&text, failed->text);
        } else {
            compact_say(c, &text);
            e->post_tokens = c->post_tokens;
            e->usage.input = c->post_tokens;
            memcpy(e->uuid, c->boundary, sizeof(e->uuid));
        }
        e->text = arena_str(&e->arena, buf_str(&text));
    }
    agent_emit(c->agent, e, c->turn->cancel);
}

/* ---- The replacement of the old messages ---- */

static void compact_write_summary(struct compact *c)
{
    struct agent *a = c->agent;
    CLEANUP(buf_release) struct buf text = BUF_INIT(AGENT_MAX_TEXT);
    struct attached *s = &c->attached;
    char uuid[ID_UUID_LEN + 1];

    buf_addf(&text,
             "This conversation continues an earlier one that was replaced by its summary:\n\n"
             "%s\n\n",
             buf_cstr(&c->words));
    if (a->spec.transcript_path && *a->spec.transcript_path)
        buf_addf(&text,
                 "The full text of the earlier messages is in %s, should a detail be missing.\n",
                 a->spec.transcript_path);
    if (c->goes_on)
        buf_adds(&text, "Continue with the next step. Do not repeat the summary, and do not ask "
                        "whether to continue.\n");
    id_uuid(uuid);
    vec_push(&s->blocks, ((struct block){
                             .kind = BLOCK_TEXT,
                             .text = arena_str(&s->arena, buf_str(&text)),
                             .entry = arena_str(&s->arena, str_of(uuid)),
                         }));
}

/* Estimates tokens by the ratio of bytes to tokens before, within limits: prose has about five
 * bytes per token, tables two. */
static int64_t compact_estimate(const struct compact *c)
{
    const struct agent *a = c->agent;
    size_t fixed = a->spec.system.len + toolbox_bytes(a->spec.toolbox);
    double before = (double)(fixed + history_bytes(&a->history, 0));
    double after = (double)(fixed + history_bytes(&a->history, c->first));
    double bytes_a_token;

    VEC_EACH(&c->attached.blocks, b) {
        after += (double)b->text.len;
    }
    bytes_a_token = c->pre_tokens ? before / (double)c->pre_tokens : ROOM_TOKEN_BYTES;
    bytes_a_token = bytes_a_token < 2 ? 2 : bytes_a_token > 6 ? 6 : bytes_a_token;
    return (int64_t)(after / bytes_a_token);
}

static int compact_keep(struct compact *c, struct err *err)
{
    struct journal *journal = c->agent->spec.journal;
    CLEANUP(strv_release) struct strv lines = STRV_INIT;
    CLEANUP(buf_release) struct buf todos = BUF_INIT(AGENT_MAX_TEXT);
    CLEANUP(buf_release) struct buf found = BUF_INIT(AGENT_MAX_TEXT);
    VEC(struct str) kept = VEC_INIT;
    struct journal_compact entry = {
        .trigger = c->trigger,
        .instructions = c->instructions,
        .boundary = str_of(c->boundary),
        .summary = &c->attached.blocks.ptr[0],
        .attached = &c->attached.blocks.ptr[1],
        .attached_count = c->attached.blocks.len - 1,
        .pre_tokens = c->pre_tokens,
        .post_tokens = c->post_tokens,
        .duration_ms = clock_mono_ms() - c->start_ms,
        .summarized = c->first,
    };
    int r;

    if (!journal)
        return 0;
    history_entries(&c->agent->history, c->first, &lines);
    for (size_t i = 0; i < lines.len; i++)
        vec_push(&kept, str_of(lines.ptr[i]));
    workspace_todos(c->agent->spec.workspace, &todos);
    entry.kept = kept.ptr;
    entry.kept_count = kept.len;
    entry.todos = buf_str(&todos);
    extra_write_found(&c->agent->extra, &found);
    entry.found = buf_str(&found);
    r = journal->compacted(journal, &entry, err);
    vec_release(&kept);
    return r;
}

/* Lets the referee add the criteria it decides by, so that they do not depend on the summary. */
static void compact_restate(struct compact *c)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(REFEREE_MAX_TEXT);
    CLEANUP(buf_release) struct buf block = BUF_INIT(AGENT_MAX_TEXT);

    referee_restate(c->agent->spec.referee, &text);
    if (!text.len)
        return;
    reminder_add(&block, buf_str(&text));
    attach_reminders(&c->attached, buf_str(&block));
}

static int compact_work(struct compact *c, struct err *err)
{
    struct agent *a = c->agent;
    struct extra_view view;

    if (summary_ask(a, c->turn, c->instructions, &c->words, err) < 0)
        return -1;
    compact_write_summary(c);
    attach_state(a, c->turn, &c->room, c->first, &c->attached);
    compact_restate(c);
    if (cancel_is_set(c->turn->cancel))
        return err_set(err, ERR_CANCELLED, "interrupted");
    c->post_tokens = compact_estimate(c);
    if (compact_keep(c, err) < 0)
        return -1;
    history_compact(&a->history, c->attached.blocks.ptr, c->attached.blocks.len, c->first);
    attach_done(a, &c->attached);
    view = agent_extra(a);
    extra_said_again(&view);
    a->last_input_tokens = c->post_tokens; /* an estimate until the next call */
    a->last_bytes = a->history.bytes;
    mem_trim();
    compact_tell_hooks(c);
    return 0;
}

static int compact_run(struct compact *c, struct err *err)
{
    int r;

    if (compact_ask_hooks(c, err) < 0)
        return -1;
    compact_emit(c, EVENT_COMPACTING, NULL);
    r = compact_work(c, err);
    compact_emit(c, EVENT_COMPACTED, r < 0 ? err : NULL);
    log_debug("agent", "compacted (%.*s): %s, %" PRId64 " tokens before, %" PRId64 " after",
              STR_ARG(c->trigger), r < 0 ? err->text : "done", c->pre_tokens, c->post_tokens);
    return r;
}

/* ---- Automatic compaction ---- */

static void compact_count(struct agent *a, bool failed)
{
    a->compact_failures = failed ? a->compact_failures + 1 : 0;
    if (a->compact_failures == COMPACT_FAILURES)
        agent_notice(a, LEVEL_WARNING,
                     "%d compactions in a row failed: from here on the conversation is only "
                     "compacted when you ask for it (/compact)",
                     COMPACT_FAILURES);
}

static bool compact_is_automatic(const struct agent *a, const struct window_room *room)
{
    return room->automatic && a->compact_failures < COMPACT_FAILURES;
}

/* Counts as failed if it made no room: if it follows another one after a single call, or the
 * conversation is still at its limit. */
static int compact_unasked(struct agent *a, struct turn *t, struct err *err)
{
    CLEANUP(compact_release) struct compact c;
    bool in_vain = a->compacted_before && a->calls_since < 2;
    int r;

    compact_begin(&c, a, t, STR("auto"));
    c.goes_on = true;
    if (!compact_cut(&c))
        return err_set(err, ERR_CONTEXT_FULL, "there is nothing to summarize");
    r = compact_run(&c, err);
    if (r < 0 && err->code == ERR_DENIED && t->stopped)
        buf_adds(&t->note, err->text);
    if (r < 0 && (err->code == ERR_CANCELLED || err->code == ERR_DENIED))
        return -1;
    if (r < 0)
        agent_notice(a, LEVEL_WARNING, "the conversation could not be compacted: %s", err->text);
    a->compacted_before = r == 0;
    a->calls_since = 0;
    compact_count(a, r < 0 || in_vain || c.post_tokens >= c.room.compact_at);
    return r;
}

int compact_when_due(struct agent *a, struct turn *t, struct err *err)
{
    const struct model *model = &agent_provider(a, t->provider)->model;
    struct err why = {0};
    struct window_room room;
    int64_t tokens;

    room_of(a->spec.conf, model, &room);
    if (budget_apply(a, &room, err) < 0)
        return -1;
    tokens = step_estimate(a);
    if (compact_is_automatic(a, &room)) {
        if (tokens < room.compact_at || compact_unasked(a, t, &why) == 0 ||
            why.code != ERR_CANCELLED)
            return 0; /* if it still does not fit, the provider will say so */
        *err = why;
        return -1;
    }
    if (tokens < room.limit)
        return 0;
    return err_set(err, ERR_CONTEXT_FULL,
                   "the conversation has about %" PRId64 " tokens, and of the %" PRId64
                   " that %.*s takes the rest is needed for an answer: /compact makes room",
                   tokens, model->window, STR_ARG(model->name));
}

bool compact_for_room(struct agent *a, struct turn *t)
{
    struct err err = {0};
    struct window_room room;

    room_of(a->spec.conf, &agent_provider(a, t->provider)->model, &room);
    if (t->made_room >= COMPACT_FOR_ROOM || a->compact_failures >= 2 * COMPACT_FAILURES ||
        !room.automatic)
        return false;
    t->made_room++;
    return compact_unasked(a, t, &err) == 0;
}

/* ---- /compact ---- */

int compact_asked(struct agent *a, struct turn *t, struct str instructions, struct buf *ret,
                  struct err *err)
{
    CLEANUP(compact_release) struct compact c;

    compact_begin(&c, a, t, STR("manual"));
    c.instructions = instructions;
    if (compact_cut(&c) < COMPACT_LEAST) {
        buf_addf(ret, "There is too little to compact: the conversation has about %zu tokens.",
                 history_bytes(&a->history, 0) / ROOM_TOKEN_BYTES);
        return 0;
    }
    if (compact_run(&c, err) < 0)
        return -1;
    compact_count(a, /*failed=*/false);
    a->compacted_before = false;
    compact_say(&c, ret);
    return 0;
}

bool compact_is_wanted(const struct agent_input *in, struct str *ret_instructions)
{
    static const struct str name = STR_INIT("/compact");
    const struct message *m = in->is_literal || in->no_query ? NULL : in->message;
    struct str text = STR("");
    struct str rest;

    if (m && m->len == 1 && m->blocks[0].kind == BLOCK_TEXT)
        text = str_trim(m->blocks[0].text);
    rest = str_from(text, name.len);
    if (!str_starts(text, name) || (rest.len && str_trim(rest).len == rest.len))
        return false;
    *ret_instructions = str_trim(rest);
    return true;
}
