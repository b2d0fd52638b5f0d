/*
 * Runs the calls of one step and stores their results. All waiting is in batch_wait(). After a
 * cancel, tools get a short time to end by themselves; then the turn continues without them.
 */
#include "agent/call/batch.h"

#include <string.h>

#include "agent/agent_state.h"
#include "agent/call/call.h"
#include "agent/journal.h"
#include "agent/toolbox.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "json/jw.h"
#include "llm/message.h"
#include "llm/pace.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"

/* A turn must end within 200 ms of its cancel; this leaves time for the report. */
#define BATCH_CANCEL_MS 120

void batch_init(struct batch *b, struct agent *a, struct turn *t)
{
    *b = (struct batch){.agent = a, .turn = t};
}

/* A running call must live until its thread ends; agent_reap() frees it then. */
static void batch_abandon(struct batch *b, struct call *c)
{
    if (c->state == CALL_RUNNING) {
        cancel_set(c->cancel);
        vec_push(&b->agent->stragglers, c);
        return;
    }
    call_free(c);
}

void batch_void(struct batch *b)
{
    VEC_EACH(&b->calls, c) {
        batch_abandon(b, *c);
    }
    b->calls.len = 0;
    b->early = 0;
    b->settled = 0;
}

void batch_release(struct batch *b)
{
    batch_void(b);
    vec_release(&b->calls);
}

static size_t batch_running(const struct batch *b)
{
    size_t n = 0;

    VEC_EACH(&b->calls, c) {
        n += (*c)->state == CALL_RUNNING;
    }
    return n;
}

void batch_add(struct batch *b, const struct block *block)
{
    struct call *c = call_new(b->agent, block, b->agent->mail, b->turn->cancel);

    vec_push(&b->calls, c);
    if (c->state == CALL_ENDED)
        call_start(c);               /* only reports the failure */
    if (b->early + 1 < b->calls.len) /* an earlier call waits for the end of the answer */
        return;
    if (c->state == CALL_READY && c->is_free && batch_running(b) < BATCH_WIDTH)
        call_start(c);
    if (c->state != CALL_READY)
        b->early++;
}

/* The call whose end the mail reports, or NULL if it is none of these. */
static struct call *batch_collect(struct batch *b, const struct mail *m)
{
    VEC_EACH(&b->calls, c) {
        if (call_mail_is(m, *c)) {
            call_collect(*c);
            return *c;
        }
    }
    return NULL;
}

bool batch_mail(struct batch *b, const struct mail *m)
{
    struct call *c = batch_collect(b, m);

    if (c)
        call_emit_ended(c); /* its result waits for the end of the answer */
    return c;
}

/* Handles one mail: the end of a call, or a mere wake-up. */
static int batch_wait(struct batch *b, struct cancel *cancel, int64_t deadline_ms, struct err *err)
{
    struct call *c;
    struct mail *m;

    if (mailbox_take(b->agent->mail, cancel, deadline_ms, &m, err) < 0)
        return -1;
    c = batch_collect(b, m);
    if (!c)
        agent_reap(b->agent, m);
    else if (c != b->calls.ptr[b->settled]) /* earlier calls must get their results first */
        call_emit_ended(c);
    mail_free(m);
    return 0;
}

static void batch_note_denial(struct batch *b, const struct call *c)
{
    struct buf *out = &b->turn->denials;
    struct jw w;

    if (out->len)
        buf_addc(out, ',');
    jw_init(&w, out, 0);
    jw_object(&w);
    jw_kstr(&w, "tool_name", c->name);
    jw_kstr(&w, "tool_use_id", c->id);
    jw_kraw(&w, "tool_input", buf_str(&c->expanded));
    if (c->effects.len)
        jw_kraw(&w, "effects", buf_str(&c->effects));
    jw_object_end(&w);
}

/* Records a call that a hook deferred. */
static void batch_note_deferred(struct batch *b, const struct call *c)
{
    struct jw w;

    jw_init(&w, &b->turn->deferred, 0);
    jw_object(&w);
    jw_kstr(&w, "id", c->id);
    jw_kstr(&w, "name", c->name);
    jw_kraw(&w, "input", buf_str(&c->expanded));
    jw_object_end(&w);
}

static bool batch_is_denied(const struct call *c)
{
    return c->denied || c->result.is_denied;
}

static void batch_heed(struct batch *b, struct call *c)
{
    struct turn *t = b->turn;
    struct err err = {0};

    if (batch_is_denied(c))
        batch_note_denial(b, c);
    if (c->stop_turn) {
        t->stopped = true;
        buf_add(&t->note, buf_str(&c->stop_reason));
    }
    if (c->result.command && turn_lend(b->agent, c->result.command, &err) < 0)
        agent_notice(b->agent, LEVEL_WARNING, "%s", err.text);
    if (c->interrupt || c->result.ends_turn)
        cancel_set(t->cancel);
    if (!c->entry || !(c->entry->flags & TOOL_FINAL))
        return;
    if (c->result.is_error) {
        t->final_tries++;
    } else {
        t->is_final = true;
        buf_clear(&t->final_args);
        buf_add(&t->final_args, buf_str(&c->expanded));
    }
}

/* c is NULL if the outcome is unknown. */
static void batch_emit_done(struct batch *b, const struct call *c, const struct block *result,
                            struct str data)
{
    struct event *e = agent_event(b->agent, EVENT_TOOL_DONE);
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);

    block_write(result, &json);
    e->id = arena_str(&e->arena, result->id);
    e->name = arena_str(&e->arena, result->name);
    e->is_error = result->is_error;
    e->json = arena_str(&e->arena, buf_str(&json));
    e->text = arena_str(&e->arena, result->content[0].text);
    e->data = arena_str(&e->arena, data);
    e->duration_ms = c ? c->duration_ms : 0;
    e->error = c && batch_is_denied(c) ? ERR_DENIED : ERR_NONE;
    if (c) {
        e->decider = c->decider;
        e->decided_by = c->decided_by;
    }
    if (c && batch_is_denied(c) && c->denied_by) {
        e->denied_by = c->denied_by;
        e->show = arena_str(&e->arena, buf_str(&c->denied_why));
    }
    memcpy(e->uuid, result->entry.ptr, ID_UUID_LEN);
    agent_emit(b->agent, e, b->turn->cancel);
}

/* The uuid of the transcript line with the call. */
static struct str batch_call_entry(const struct batch *b, const struct call *c)
{
    const struct message *m = history_last_reply(&b->agent->history);

    for (size_t i = 0; m && i < m->len; i++) {
        if (m->blocks[i].kind == BLOCK_TOOL_USE && str_eq(m->blocks[i].id, c->id))
            return m->blocks[i].entry;
    }
    return STR("");
}

/* Adds the next result to the history. A running call belongs to its thread and is not touched; its
 * result says that it was abandoned. */
static int batch_settle_one(struct batch *b, struct err *err)
{
    struct call *c = b->calls.ptr[b->settled];
    struct journal *journal = b->agent->spec.journal;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct block text = {
        .kind = BLOCK_TEXT,
        .text = STR("The call was interrupted and did not end in time; it is being stopped."),
    };
    struct block result = {
        .kind = BLOCK_TOOL_RESULT,
        .id = c->id,
        .name = c->name,
        .content = &text,
        .content_len = 1,
        .is_error = true,
    };
    bool running = c->state == CALL_RUNNING;
    char uuid[ID_UUID_LEN + 1];
    int r = 0;
    struct str data = running ? STR("\"Error: interrupted\"") : buf_str(&c->result.data);

    if (!running) {
        if (c->beside && c->result.is_error) /* cancelled by batch_stop_group() */
            buf_adds(&c->result.text,
                     "\nIt was stopped because a call that ran in parallel failed.");
        call_result(c, &arena, &result);
        batch_heed(b, c);
        pace_tool(b->agent->pace, c->duration_ms);
        if (c->entry && !c->result.is_error)
            extra_note_call(&b->agent->extra, c->toolbox, c->entry, buf_str(&c->result.data));
    }
    id_uuid(uuid);
    result.entry = str_of(uuid);
    history_answer(&b->agent->history, &result);
    b->settled++;
    if (!running && c->deferred) {
        batch_note_deferred(b, c); /* it stays open, for observers and in the transcript */
        return 0;
    }
    if (journal)
        r = journal->result(journal, &result, data, !running && batch_is_denied(c),
                            batch_call_entry(b, c), err);
    batch_emit_done(b, running ? NULL : c, &result, data);
    if (!running)
        agent_tell_tool(b->agent, c, &result);
    return r;
}

/* Adds all results that are next in order. */
static int batch_flush(struct batch *b, struct err *err)
{
    int r = 0;

    while (b->settled < b->calls.len && b->calls.ptr[b->settled]->state == CALL_ENDED) {
        if (batch_settle_one(b, r == 0 ? err : NULL) < 0)
            r = -1;
    }
    return r;
}

/* If a call of a parallel group could not be started, the others are not run. */
static void batch_stop_group(struct batch *b, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        struct call *c = b->calls.ptr[i];

        if (c->state == CALL_RUNNING) {
            c->beside = true;
            cancel_set(c->cancel);
        }
        if (c->state == CALL_READY)
            call_start_skipped(c, STR("a parallel call failed"));
    }
}

static bool batch_group_failed(const struct batch *b, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct call *c = b->calls.ptr[i];

        if (c->state == CALL_ENDED && c->result.stops_batch)
            return true;
    }
    return false;
}

static size_t batch_count(const struct batch *b, size_t from, size_t to, enum call_state state)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        n += b->calls.ptr[i]->state == state;
    return n;
}

/* Starts as many calls as may run in parallel. Avoids quadratic counting, since a message may have
 * thousands of calls. */
static void batch_fill(struct batch *b, size_t from, size_t to)
{
    size_t running = batch_running(b);

    for (size_t i = from; i < to && running < BATCH_WIDTH; i++) {
        struct call *c = b->calls.ptr[i];

        if (c->state != CALL_READY)
            continue;
        call_start(c);
        running += c->state == CALL_RUNNING;
    }
}

/* Runs the calls [from, to) in parallel. */
static int batch_run_group(struct batch *b, size_t from, size_t to, struct err *err)
{
    bool failed = false;

    for (;;) {
        batch_fill(b, from, to);
        if (!failed && to - from > 1 && batch_group_failed(b, from, to)) {
            failed = true;
            batch_stop_group(b, from, to);
        }
        if (batch_flush(b, err) < 0)
            return -1;
        if (!batch_count(b, from, to, CALL_RUNNING) && !batch_count(b, from, to, CALL_READY))
            return 0;
        if (batch_wait(b, b->turn->cancel, /*deadline_ms=*/-1, err) < 0)
            return -1;
    }
}

static bool batch_may_share(const struct call *c)
{
    return c->state != CALL_READY || c->flags & TOOL_CONCURRENT;
}

static size_t batch_group_end(const struct batch *b, size_t from)
{
    size_t to = from + 1;

    if (!batch_may_share(b->calls.ptr[from]))
        return to;
    while (to < b->calls.len && batch_may_share(b->calls.ptr[to]))
        to++;
    return to;
}

/* Cancels running calls and gives them a moment to end; the others never run. */
void batch_refuse(struct batch *b, struct str because)
{
    int64_t until_ms = clock_mono_ms() + BATCH_CANCEL_MS;
    struct err err = {0};

    VEC_EACH(&b->calls, it) {
        struct call *c = *it;

        if (c->state == CALL_RUNNING)
            cancel_set(c->cancel);
        if (c->state == CALL_READY)
            call_start_skipped(c, because);
    }
    while (batch_running(b)) {
        if (batch_wait(b, /*cancel=*/NULL, until_ms, &err) < 0)
            break;
    }
    while (b->settled < b->calls.len)
        (void)batch_settle_one(b, /*err=*/NULL);
}

/* Adds the instruction files that belong to a file that was read. */
static void batch_say_near(struct batch *b, struct call *c)
{
    const struct agent_spec *spec = &b->agent->spec;
    CLEANUP(buf_release) struct buf words = BUF_INIT(AGENT_MAX_TEXT);
    struct rule_subject subject;

    if (!spec->near || !c->entry || strcmp(c->entry->name, "Read") != 0 || c->result.is_error)
        return;
    call_subject(c, &subject);
    spec->near(spec->news_arg, arena_cstr(&c->arena, subject.text), b->turn->cancel, &words);
    agent_tell_loaded(b->agent);
    agent_say_reminders(b->agent, buf_str(&words));
}

/* Adds the text of a called skill as a user message. */
static void batch_say_skill(struct batch *b, struct call *c)
{
    struct block text = {.kind = BLOCK_TEXT, .text = buf_str(&c->result.follow), .id = c->id};
    struct turn *t = b->turn;
    char uuid[ID_UUID_LEN + 1];

    id_uuid(uuid);
    if (agent_keep_user(b->agent, &text, 1, uuid, USER_ADDED, &t->err) < 0)
        t->unwritten = true;
    agent_emit_user(b->agent, &text, 1, uuid, USER_ADDED, t->cancel);
}

/* Adds the context from hooks and files after the results. */
static void batch_say_context(struct batch *b)
{
    VEC_EACH(&b->calls, it) {
        struct call *c = *it;

        if (c->state != CALL_ENDED)
            continue;
        if (c->result.follow.len)
            batch_say_skill(b, c);
        if (c->context.len)
            agent_remind(b->agent, buf_str(&c->context));
        batch_say_near(b, c);
    }
}

static void batch_after(struct batch *b)
{
    const struct agent *a = b->agent;
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};
    struct jw w;

    if (!agent_hook_wanted(a, HOOK_POST_TOOL_BATCH, STR("")))
        return;
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, HOOK_POST_TOOL_BATCH);
    jw_key(&w, "tool_calls");
    jw_array(&w);
    VEC_EACH(&b->calls, it) {
        const struct call *c = *it;

        jw_object(&w);
        jw_kstr(&w, "tool_name", c->name);
        jw_kraw(&w, "tool_input", buf_str(&c->expanded));
        jw_kstr(&w, "tool_use_id", c->id);
        jw_kstr(&w, "tool_response", buf_str(&c->result.text));
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    (void)agent_hook_run(a, HOOK_POST_TOOL_BATCH, STR(""), buf_str(&json), /*call=*/NULL,
                         b->turn->cancel, &o, &err);
    if (o.context.len)
        agent_remind(b->agent, buf_str(&o.context));
    if (o.stop || o.decision == HOOK_DENY) {
        b->turn->stopped = true;
        buf_add(&b->turn->note, o.stop ? buf_str(&o.stop_reason) : buf_str(&o.reason));
    }
}

int batch_settle(struct batch *b, struct err *err)
{
    int r = 0;

    if (b->calls.len == 1)
        b->calls.ptr[0]->is_only = b->calls.ptr[0]->state == CALL_READY;
    for (size_t from = 0, to; from < b->calls.len && r == 0; from = to) {
        to = batch_group_end(b, from);
        r = batch_run_group(b, from, to, err);
    }
    if (r < 0 || cancel_is_set(b->turn->cancel)) {
        batch_refuse(b, STR("the turn was interrupted"));
        batch_say_context(b);
        return r < 0 ? -1 : err_set(err, ERR_CANCELLED, "interrupted");
    }
    batch_say_context(b);
    batch_after(b);
    return 0;
}
