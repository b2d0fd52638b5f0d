/*
 * One turn: from an input to a reason for its end. Start with turn_loop(); the rest are its
 * helpers. Agent thread.
 */
#include <inttypes.h>

#include "agent/agent_state.h"
#include "agent/compact/compact.h"
#include "agent/journal.h"
#include "agent/step.h"
#include "agent/task.h"
#include "agent/toolbox.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "json/jw.h"
#include "llm/fault.h"
#include "llm/message.h"
#include "llm/model.h"
#include "llm/pace.h"
#include "llm/provider.h"
#include "sync/cancel.h"

#define TURN_RESTATE 3   /* how often the model is reminded to call the required tool */
#define TURN_SENT_BACK 8 /* how often in a row Stop hooks may make a turn continue */
#define TURN_MAX_NOTE ((size_t)64 << 10)

static const char *turn_why_name(enum turn_why why)
{
    static const char *const names[] = {
#define X(id, name) name,
        TURN_WHYS(X)
#undef X
    };

    return names[why];
}

void turn_again(struct turn *t, enum turn_why why)
{
    t->why = why;
    log_debug("agent", "step %" PRId64 ": %s", t->steps, turn_why_name(why));
}

/* ---- The answer ---- */

/* An answer that was cut or paused and the one that continues it count as one text. */
static void turn_keep_text(struct turn *t, const struct message *m)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(AGENT_MAX_TEXT);

    if (t->continues)
        buf_add(&text, t->last_text);
    t->continues = false;
    message_text(m, &text);
    arena_reset(&t->last_arena);
    t->last_text = arena_str(&t->last_arena, buf_str(&text));
}

int turn_keep_reply(struct agent *a, struct turn *t, struct step *s)
{
    struct journal *journal = a->spec.journal;

    int r;

    t->stop = s->reply.stop;
    step_name_blocks(s);
    history_reply(&a->history, s->reply.message);
    turn_keep_text(t, s->reply.message);
    r = journal ? journal->reply(journal, &s->reply, &t->err) : 0;
    t->unwritten = r < 0;
    step_keep(s);
    return r;
}

/* Adds the part of an interrupted answer that was shown to the conversation, before the marker that
 * records the interrupt. */
static void turn_keep_interrupted(struct agent *a, struct turn *t, struct step *s)
{
    struct journal *journal = a->spec.journal;

    if (!s->reply.message)
        return;
    history_reply(&a->history, s->reply.message);
    if (journal && journal->reply(journal, &s->reply, &t->err) < 0)
        t->unwritten = true;
    step_keep_cut(s);
}

/* ---- Before the end ---- */

/* The tool that must be called before the turn may end, or NULL if there is none or it was called.
 */
static const struct tool_entry *turn_owes(struct agent *a, const struct turn *t)
{
    return t->is_final ? NULL : toolbox_owed(a->spec.toolbox);
}

/* True if the required tool was not called and all reminders are used up; sets the error. */
static bool turn_gives_up(struct agent *a, struct turn *t)
{
    if (!turn_owes(a, t) || t->final_tries <= TURN_RESTATE)
        return false;
    err_set(&t->err, ERR_PROTOCOL, "none of %d answers matched the schema", t->final_tries);
    return true;
}

static void turn_remind_final(struct agent *a, const char *tool)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(TURN_MAX_NOTE);

    buf_addf(&text, "Give the final answer by calling %s; plain text does not count.", tool);
    agent_remind(a, buf_str(&text));
}

/* How often in a row Stop hooks may make a turn continue; 0 = no limit. */
static int64_t turn_stop_cap(const struct agent *a)
{
    const char *text = conf_env(a->spec.conf, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP");
    int64_t cap = TURN_SENT_BACK;

    if (text)
        (void)str_to_i64(str_of(text), &cap, /*err=*/NULL);
    return cap < 0 ? TURN_SENT_BACK : cap;
}

/* Tells the model why the turn may not end yet. Programs that read transcripts look for this
 * prefix. */
static void turn_add_feedback(struct agent *a, struct turn *t, struct str reason)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(2 * HOOK_MAX_TEXT);

    buf_adds(&text, "Stop hook feedback:\n");
    buf_add(&text, reason);
    (void)turn_say_text(a, t, buf_str(&text), USER_ADDED);
}

/* Runs the Stop hooks in parallel. Returns 1 if the turn must continue, 0 if it may end, -1 if it
 * must end. */
static int turn_ask_stop_hooks(struct agent *a, struct turn *t)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    bool is_main = identity_is_main(&a->spec.identity);
    enum hook_event event = is_main ? HOOK_STOP : HOOK_SUBAGENT_STOP;
    struct str subject = str_of(is_main || !a->spec.identity.type ? "" : a->spec.identity.type);
    int64_t cap = turn_stop_cap(a);
    struct err err = {0};
    struct jw w;

    if (!agent_hook_wanted(a, event, subject))
        return 0;
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, event);
    jw_kbool(&w, "stop_hook_active", t->sent_back);
    if (!is_main && a->spec.own_transcript_path)
        jw_kcstr(&w, "agent_transcript_path", a->spec.own_transcript_path);
    jw_kstr(&w, "last_assistant_message", t->last_text);
    jw_key(&w, "background_tasks");
    task_write_running(a->spec.workspace, &w);
    jw_key(&w, "session_crons");
    jw_array(&w);
    jw_array_end(&w);
    jw_object_end(&w);
    (void)agent_hook_run(a, event, subject, buf_str(&json), /*call=*/NULL, t->cancel, &o, &err);
    agent_write_hooks(a, &o);
    if (cancel_is_set(t->cancel)) /* interrupted: ignore their decisions */
        return 0;
    if (o.stop) {
        buf_add(&t->note, buf_str(&o.stop_reason));
        return -1;
    }
    if (o.decision != HOOK_DENY)
        return 0;
    if (cap && t->sent_back_row >= cap) {
        agent_notice(
            a, LEVEL_WARNING,
            "Stop hooks have blocked the end of the turn %d times in a row; it ends anyway "
            "(CLAUDE_CODE_STOP_HOOK_BLOCK_CAP)",
            t->sent_back_row);
        t->overruled = true;
        return 0;
    }
    t->sent_back = true;
    t->sent_back_row++;
    if (o.context.len)
        agent_remind(a, buf_str(&o.context));
    if (o.reason.len || !o.context.len)
        turn_add_feedback(a, t, o.reason.len ? buf_str(&o.reason) : STR("Continue."));
    return 1;
}

/* ---- The loop ---- */

/* Whether INPUT_NOW interrupted the turn. Clears the flag. */
static bool agent_was_pushed(struct agent *a)
{
    bool pushed;

    lock_take(&a->lock);
    pushed = a->pushed;
    a->pushed = false;
    lock_give(&a->lock);
    return pushed;
}

static enum turn_end turn_aborted(struct agent *a, struct turn *t, enum turn_end end)
{
    if (!cancel_is_set(a->spec.cancel) && referee_ended_turn(a->spec.referee, &t->note)) {
        err_clear(&t->err);
        return END_CALLED_OFF;
    }
    t->pushed = agent_was_pushed(a);
    err_set(&t->err, ERR_CANCELLED,
            "interrupted"); /* one text, wherever the interrupt was noticed */
    /* No marker is needed if new input caused the interrupt. When the process has to end, the turn
     * is left open so that it can be resumed. */
    if (!t->pushed && !cancel_is_end(t->cancel))
        (void)turn_say_text(a, t,
                            end == END_ABORTED_TOOLS
                                ? STR("[Request interrupted by user for tool use]")
                                : STR("[Request interrupted by user]"),
                            USER_MARKER);
    return end;
}

/* Chooses the end reason for a model call that failed and is not retried. */
static enum turn_end turn_failed(struct agent *a, struct turn *t, struct step *s)
{
    t->api_status = s->api_status;
    t->is_overloaded = s->is_overloaded;
    t->asked_ms = s->asked_ms;
    t->broken = s->broken;
    switch (t->err.code) {
    case ERR_CANCELLED:
        turn_keep_interrupted(a, t, s);
        return turn_aborted(a, t, END_ABORTED_STREAMING);
    case ERR_CONTEXT_FULL:
        return END_PROMPT_TOO_LONG;
    case ERR_BUDGET:
        return END_BUDGET;
    default:
        return END_API_ERROR;
    }
}

static enum turn_end turn_refused(struct turn *t, const struct step *s)
{
    struct llm_fault reason = {0};

    fault_text(&reason, buf_str(&s->refusal)); /* one line without control characters */
    err_set(&t->err, ERR_DENIED, "the model refused to answer%s%s", reason.text[0] ? ": " : "",
            reason.text);
    return END_MODEL_ERROR;
}

/* Called when the model makes no more calls. Returns true if the turn continues for another reason;
 * otherwise *ret says how it ends. */
static bool turn_continues(struct agent *a, struct turn *t, enum turn_end *ret)
{
    int r;

    *ret = END_COMPLETED;
    if (turn_take_mail(a, t)) {
        turn_again(t, WHY_QUEUED_INPUT);
        return true;
    }
    if (turn_owes(a, t)) {
        *ret = END_STRUCTURED;
        t->final_tries++;
        if (turn_gives_up(a, t))
            return false;
        turn_remind_final(a, turn_owes(a, t)->name);
        turn_again(t, WHY_STRUCTURED);
        return true;
    }
    r = turn_ask_stop_hooks(a, t);
    if (cancel_is_set(t->cancel)) { /* hooks may have taken long */
        *ret = turn_aborted(a, t, END_ABORTED_STREAMING);
        return false;
    }
    if (r > 0) {
        referee_sent_back(a->spec.referee);
        turn_again(t, WHY_STOP_HOOK);
    }
    if (r < 0)
        *ret = END_STOP_HOOK_PREVENTED;
    if (r || t->overruled) /* after an objection the referee must not end the turn */
        return r > 0;
    r = turn_ask_referee(a, t);
    if (r > 0)
        turn_again(t, WHY_REFEREE);
    if (r < 0)
        *ret =
            cancel_is_set(t->cancel) ? turn_aborted(a, t, END_ABORTED_STREAMING) : END_MODEL_ERROR;
    return r > 0;
}

/* Runs the calls of an answer. True if the model is to be called again; otherwise *ret is the end
 * reason. */
static bool turn_run_calls(struct agent *a, struct turn *t, struct batch *calls, enum turn_end *ret)
{
    t->sent_back_row = 0;
    if (batch_settle(calls, &t->err) < 0) {
        *ret = t->err.code == ERR_CANCELLED ? turn_aborted(a, t, END_ABORTED_TOOLS) : END_API_ERROR;
        return false;
    }
    if (t->deferred.len) {
        *ret = END_TOOL_DEFERRED;
        return false;
    }
    if (turn_gives_up(a, t)) {
        *ret = END_STRUCTURED;
        return false;
    }
    *ret = t->stopped ? END_HOOK_STOPPED : END_COMPLETED;
    if (t->stopped || t->is_final)
        return false;
    turn_again(t, WHY_NEXT_TURN);
    return true;
}

/* Runs a call that a hook deferred in an earlier process, with all hooks, before the model receives
 * anything else. False if the turn ends with it. */
static bool turn_run_deferred(struct agent *a, struct turn *t, const struct agent_input *in,
                              enum turn_end *ret)
{
    CLEANUP(message_unrefp) struct message *m = TAKE_PTR(a->deferred);
    struct batch calls;
    bool again;

    if (!m)
        return true;
    t->took_up = true;
    turn_ask_start(a, t);
    turn_announce(a, t, in);
    a->step = 1;
    history_reply(&a->history, m);
    batch_init(&calls, a, t);
    for (size_t i = 0; i < m->len; i++) {
        if (m->blocks[i].kind == BLOCK_TOOL_USE)
            batch_add(&calls, &m->blocks[i]);
    }
    again = turn_run_calls(a, t, &calls, ret);
    batch_release(&calls);
    return again;
}

/* Runs one step. True if there is to be another; otherwise *ret is the end reason. */
static bool turn_step(struct agent *a, struct turn *t, struct step *s, enum turn_end *ret)
{
    bool again;

    if (compact_when_due(a, t, &t->err) < 0) {
        *ret = turn_failed(a, t, s);
        return false;
    }
    if (t->stopped) { /* by a hook during a compaction */
        *ret = END_HOOK_STOPPED;
        return false;
    }
    if (step_call(s, &t->err) < 0) {
        if (turn_drops_media(a, t, s) || turn_makes_room(a, t, s))
            return true;
        if (t->stopped) {
            *ret = END_HOOK_STOPPED;
            return false;
        }
        if (cancel_is_set(t->cancel)) /* or during a compaction */
            err_set(&t->err, ERR_CANCELLED, "interrupted");
        *ret = turn_failed(a, t, s);
        return false;
    }
    t->steps++;
    if (turn_makes_room(a, t, s))
        return true;
    t->made_room = 0;
    if (turn_after_cut(a, t, s))
        return true;
    if (turn_after_nothing(a, t, s, &again)) {
        *ret = END_MODEL_ERROR;
        return again;
    }
    *ret = END_API_ERROR;
    if (turn_keep_reply(a, t, s) < 0) {
        batch_refuse(&s->batch, STR("the answer could not be saved"));
        return false;
    }
    if (s->reply.stop == STOP_REFUSAL) {
        batch_refuse(&s->batch, STR("the answer was a refusal"));
        *ret = turn_refused(t, s);
        return false;
    }
    if (turn_is_cut_for_good(t))
        batch_refuse(&s->batch, STR("the answer was cut again"));
    else if (s->batch.calls.len)
        return turn_run_calls(a, t, &s->batch, ret);
    switch (s->reply.stop) {
    case STOP_PAUSE_TURN:
        agent_remind(a, STR("Continue."));
        t->continues = true;
        turn_again(t, WHY_PAUSED);
        return true;
    case STOP_MAX_TOKENS:
        err_set(&t->err, ERR_TOO_BIG, "the answer was cut at the output limit (%" PRId64 " tokens)",
                s->reply.usage.output);
        *ret = END_MODEL_ERROR;
        return false;
    case STOP_CONTEXT_FULL:
        err_set(&t->err, ERR_TOO_BIG, "the answer was cut: the model's context is full");
        *ret = END_MODEL_ERROR;
        return false;
    default:
        return turn_continues(a, t, ret);
    }
}

static enum turn_end turn_loop(struct agent *a, struct turn *t)
{
    for (;;) {
        struct extra_view view;
        enum turn_end end;
        struct step step;
        bool again;

        if (a->spec.max_steps && t->steps >= a->spec.max_steps) {
            err_set(&t->err, ERR_TOO_BIG, "stopped after %" PRId64 " step%s (--max-turns)",
                    t->steps, t->steps == 1 ? "" : "s");
            return END_MAX_TURNS;
        }
        if (cancel_is_set(t->cancel)) /* send nothing if the client is gone */
            return turn_aborted(a, t, END_ABORTED_STREAMING);
        a->step = t->steps + 1;
        agent_refresh(a);
        (void)turn_take_mail(a, t);
        view = agent_extra(a);
        if (t->steps)
            extra_hint_answer(&view, t->last_text);
        if (turn_is_called_off(a, t))
            return END_CALLED_OFF;
        if (t->unwritten)
            return END_API_ERROR;
        if (t->stopped) /* by a hook during a compaction */
            return END_HOOK_STOPPED;
        step_init(&step, a, t);
        again = turn_step(a, t, &step, &end);
        step_release(&step);
        if (!again)
            return end;
    }
}

/* ---- Start and end ---- */

static void turn_name_folders(const struct agent *a, struct event *e)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(AGENT_MAX_TEXT);
    struct jw w;

    workspace_dirs(a->spec.workspace, &dirs);
    jw_init(&w, &json, JW_CLEAN);
    jw_array(&w);
    for (size_t i = 1; i < dirs.len; i++) /* the first one is the working directory */
        jw_cstr(&w, dirs.ptr[i]);
    jw_array_end(&w);
    e->data = arena_str(&e->arena, buf_str(&json));
}

void turn_announce(struct agent *a, struct turn *t, const struct agent_input *in)
{
    CLEANUP(mem_freep) char *cwd = NULL;
    struct event *e;

    if (t->is_announced)
        return;
    t->is_announced = true;
    cwd = workspace_cwd(a->spec.workspace);
    e = agent_event(a, EVENT_TURN_STARTED);
    e->model = arena_str(&e->arena, agent_provider(a, 0)->model.name);
    e->mode = permit_mode_name(permit_mode(a->spec.permit));
    e->text = arena_str(&e->arena, str_of(cwd));
    e->json = arena_str(&e->arena, toolbox_names(a->spec.toolbox));
    e->id = arena_str(&e->arena, str_of(in->uuid));
    e->name = arena_str(&e->arena, conf_get_str(a->spec.conf, "outputStyle"));
    turn_name_folders(a, e);
    agent_emit(a, e, t->cancel);
}

static void turn_begin(struct agent *a, struct turn *t)
{
    struct event *e;

    t->start_ms = clock_mono_ms();
    pace_begin(a->pace);
    buf_init(&t->final_args, AGENT_MAX_TEXT);
    buf_init(&t->denials, AGENT_MAX_TEXT);
    buf_init(&t->deferred, AGENT_MAX_TEXT);
    buf_init(&t->note, TURN_MAX_NOTE);
    buf_init(&t->tail, REFEREE_MAX_TEXT);
    a->step = 0;
    a->told_idle = false;
    lock_take(&a->lock);
    a->turn++;
    t->cancel = cancel_new(a->spec.cancel);
    a->turn_cancel = t->cancel;
    lock_give(&a->lock);

    agent_take_over(a);
    e = agent_event(a, EVENT_STATE);
    e->state = STATE_RUNNING;
    agent_emit(a, e, t->cancel);
    referee_turn_begins(a->spec.referee, t->cancel);
}

static void turn_finish(struct agent *a, struct turn *t, enum turn_end end)
{
    struct referee_end over = {
        .end = end,
        .err = &t->err,
        .api_status = t->api_status,
        .asked_ms = t->asked_ms,
        .broken = t->broken,
        .pushed = t->pushed,
        .overruled = t->overruled,
    };
    struct event *e;

    log_debug("agent", "turn %" PRId64 " ended: %s, %" PRId64 " steps", (int64_t)a->turn,
              turn_end_name(end), t->steps);
    if (end == END_API_ERROR || end == END_PROMPT_TOO_LONG)
        turn_tell_failure(a, t, fault_name(t->err.code, t->is_overloaded), t->err.text);
    else if (end == END_MODEL_ERROR && t->err.code == ERR_TOO_BIG && t->stop == STOP_MAX_TOKENS)
        turn_tell_failure(a, t, "max_output_tokens", t->err.text);
    referee_after_turn(a->spec.referee, &over);
    turn_return(a);
    lock_take(&a->lock);
    a->turn_cancel = NULL;
    lock_give(&a->lock);
    inputs_heard(a->inputs); /* before the report: a client may react to it with a request that
                                needs an idle agent */
    turn_report(a, t, end);
    a->step = 0;
    a->idle_since_ms = clock_mono_ms();
    e = agent_event(a, EVENT_STATE);
    e->state = STATE_IDLE;
    agent_emit(a, e, a->spec.cancel);

    cancel_unref(t->cancel);
    buf_release(&t->final_args);
    buf_release(&t->denials);
    strv_release(&t->heard);
    buf_release(&t->deferred);
    buf_release(&t->note);
    buf_release(&t->tail);
    arena_release(&t->last_arena);
}

/* "/compact": a turn without steps whose answer is the message of the compaction. */
static enum turn_end turn_compact(struct agent *a, struct turn *t, const struct agent_input *in,
                                  struct str instructions)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(TURN_MAX_NOTE);
    struct err err = {0};
    int r;

    turn_announce(a, t, in);
    agent_emit_user(a, in->message->blocks, in->message->len, in->uuid, USER_INPUT, t->cancel);
    r = compact_asked(a, t, instructions, &text, &err);
    agent_unkeep(a, QUEUE_DEQUEUE, in);
    if (r == 0) {
        t->last_text = arena_str(&t->last_arena, buf_str(&text));
        return END_COMPLETED;
    }
    if (err.code == ERR_DENIED) {
        buf_adds(&t->note, err.text);
        return END_HOOK_STOPPED;
    }
    t->err = err;
    switch (err.code) {
    case ERR_CANCELLED:
        t->pushed = agent_was_pushed(a);
        return END_ABORTED_STREAMING;
    case ERR_CONTEXT_FULL:
        return END_PROMPT_TOO_LONG;
    case ERR_PROTOCOL:
        return END_MODEL_ERROR;
    default:
        return END_API_ERROR;
    }
}

/* The turn ended before its input could be sent. */
static void turn_leave_input(struct agent *a, const struct agent_input *in)
{
    agent_unkeep(a, QUEUE_DEQUEUE, in);
    if (in->message && !in->is_note)
        agent_notice(a, LEVEL_WARNING,
                     "the prompt was not sent: the turn ended with the call that had been "
                     "deferred");
}

void turn_run(struct agent *a, struct agent_input *input)
{
    struct turn t = {0};
    enum turn_end end = END_HOOK_STOPPED;
    struct str keep;

    turn_begin(a, &t);
    agent_refresh(a);
    if (compact_is_wanted(input, &keep))
        end = turn_compact(a, &t, input, keep);
    else if (!turn_run_deferred(a, &t, input, &end))
        turn_leave_input(a, input);
    else if (turn_take_input(a, &t, input) == 0)
        end = turn_loop(a, &t);
    else if (cancel_is_set(t.cancel))
        end = turn_aborted(a, &t, END_ABORTED_STREAMING);
    else if (t.err.code)
        end = END_API_ERROR;
    turn_finish(a, &t, end);
}
