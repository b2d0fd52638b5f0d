/*
 * The agent's thread, its mailbox, and the functions that other threads call.
 *
 * Other threads change state under the lock (inputs, notes, a new model) and wake the agent's
 * thread with a mail; it applies the changes between steps. Only the cancel token reaches into a
 * running turn. Therefore the rest of struct agent needs no lock.
 */
#include "agent/agent.h"

#include <stdarg.h>
#include <string.h>

#include "agent/agent_state.h"
#include "agent/call/call.h"
#include "agent/compact/compact.h"
#include "agent/extra.h"
#include "agent/journal.h"
#include "agent/recall.h"
#include "agent/toolbox.h"
#include "base/clock.h"
#include "base/err.h"
#include "context/reminder.h"
#include "guard/workspace.h"
#include "llm/message.h"
#include "llm/pace.h"
#include "llm/provider.h"
#include "sync/cancel.h"
#include "sync/crew.h"
#include "sync/inquiry.h"

#define AGENT_MAX_NOTICE ((size_t)64 << 10)
#define AGENT_IDLE_MS ((int64_t)60 * 1000) /* idle time before an idle_prompt notification */

static void wake_free(struct mail *m)
{
    mem_freep(&m);
}

static const struct mail_kind wake_kind = {"wake", wake_free};

void agent_wake(struct agent *a)
{
    struct mail *m = mem_zalloc(sizeof(*m));

    m->kind = &wake_kind;
    atomic_fetch_add(&a->wakes, 1);
    mailbox_send(a->mail, m);
}

/* ---- For the other files of the agent ---- */

struct event *agent_event(const struct agent *a, enum event_kind kind)
{
    struct event *e = event_new(kind);

    e->by = identity_copy(&e->arena, &a->spec.identity);
    e->turn = a->turn;
    e->step = a->step;
    return e;
}

void agent_emit(const struct agent *a, struct event *e, struct cancel *cancel)
{
    a->spec.emit(a->spec.emit_arg, e, cancel);
}

void agent_refresh(const struct agent *a)
{
    if (a->spec.refresh)
        a->spec.refresh(a->spec.refresh_arg);
}

void agent_notice(const struct agent *a, enum event_level level, const char *fmt, ...)
{
    struct event *e = agent_event(a, EVENT_NOTICE);
    CLEANUP(buf_release) struct buf text = BUF_INIT(AGENT_MAX_NOTICE);
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    e->level = level;
    e->text = arena_str(&e->arena, buf_str(&text));
    agent_emit(a, e, a->spec.cancel);
}

struct provider *agent_provider(const struct agent *a, size_t i)
{
    if (a->turn_provider && i == 0)
        return a->turn_provider;
    return &a->providers[i];
}

size_t agent_provider_count(const struct agent *a)
{
    return a->spec.provider_count;
}

void agent_take_over(struct agent *a)
{
    struct provider *provider;
    struct toolbox *toolbox;

    lock_take(&a->lock);
    provider = TAKE_PTR(a->new_provider);
    toolbox = TAKE_PTR(a->new_toolbox);
    if (a->has_new_system) {
        a->spec.system = a->new_system;
        buf_release(&a->system_json); /* made again for the next request */
    }
    a->has_new_system = false;
    if (a->new_thinking) {
        a->spec.thinking = a->thinking_wanted;
        a->spec.thinking_budget = a->thinking_budget_wanted;
        a->new_thinking = false;
    }
    if (a->new_effort)
        a->spec.effort = a->effort_wanted;
    a->new_effort = false;
    lock_give(&a->lock);
    if (a->spec.extra) {
        toolbox_unref(toolbox);
        toolbox = a->spec.extra->toolbox(a->spec.extra);
    }
    if (toolbox) {
        toolbox_unref(a->spec.toolbox);
        a->spec.toolbox = toolbox;
    }
    if (!provider)
        return;
    provider_release(&a->providers[0]);
    a->providers[0] = *provider;
    mem_freep(&provider);
}

void agent_say_reminders(struct agent *a, struct str blocks)
{
    struct journal *journal = a->spec.journal;
    struct block block = {.kind = BLOCK_TEXT, .text = blocks};
    char uuid[ID_UUID_LEN + 1];

    if (!blocks.len)
        return;
    id_uuid(uuid);
    block.entry = str_of(uuid);
    history_say(&a->history, &block);
    if (journal)
        journal->remind(journal, &block);
}

void agent_say_line(struct agent *a, struct str line, struct str blocks)
{
    struct journal *journal = a->spec.journal;
    struct err err = {0};

    if (line.len && journal && journal->attach && journal->attach(journal, line, &err) < 0)
        agent_notice(a, LEVEL_WARNING, "%s", err.text);
    agent_say_reminders(a, blocks);
}

static void agent_say_extra(void *arg, struct str line, struct str reminders)
{
    agent_say_line(arg, line, reminders);
}

struct extra_view agent_extra(struct agent *a)
{
    return (struct extra_view){
        .news = &a->extra,
        .conf = a->spec.conf,
        .toolbox = a->spec.toolbox,
        .source = a->spec.extra,
        .history = &a->history,
        .window = agent_provider(a, 0)->model.window,
        .say = agent_say_extra,
        .arg = a,
    };
}

void agent_remind(struct agent *a, struct str text)
{
    CLEANUP(buf_release) struct buf block = BUF_INIT(AGENT_MAX_TEXT);

    reminder_add(&block, text);
    agent_say_reminders(a, buf_str(&block));
}

/* A request for a copy of the conversation, which only the agent's own thread may read. */
struct talk {
    struct inquiry inquiry;
    struct recall *ret;
};

static void agent_answer_talk(struct agent *a, struct talk *t)
{
    const struct history *h = &a->history;

    for (size_t i = 0; i < h->list.len; i++)
        vec_push(&t->ret->messages, message_copy(h->list.ptr[i]));
    if (h->open.len) /* the last answer has calls that still run */
        vec_push(&t->ret->messages,
                 message_answer_calls(h->list.ptr[h->list.len - 1], STR(AGENT_TALK_RESULT)));
    extra_write_told(&a->extra, &t->ret->extra);
    inquiry_answer(&t->inquiry, 0);
}

int agent_talk(struct agent *a, struct cancel *cancel, struct recall *ret, struct err *err)
{
    struct talk t = {.ret = ret};

    inquiry_send(&t.inquiry, a->mail);
    if (inquiry_wait(&t.inquiry, cancel, err) < 0) {
        (void)inquiry_wait(&t.inquiry, /*cancel=*/NULL, /*err=*/NULL);
        return -1;
    }
    return t.inquiry.result < 0 ? err_set(err, ERR_CANCELLED, "the agent has ended") : 0;
}

void agent_reap(struct agent *a, struct mail *m)
{
    struct talk *talk;

    talk = (struct talk *)inquiry_of(m);
    if (talk)
        agent_answer_talk(a, talk);
    for (size_t i = 0; i < a->stragglers.len; i++) {
        struct call *c = a->stragglers.ptr[i];

        if (!call_mail_is(m, c))
            continue;
        call_collect(c);
        call_free(c);
        a->stragglers.ptr[i] = a->stragglers.ptr[--a->stragglers.len];
        return;
    }
}

/* ---- The thread ---- */

/* A deferred call would have to run before any new message, so it is dropped. */
static void agent_drop_deferred(struct agent *a)
{
    if (!a->deferred)
        return;
    agent_remind(a, STR("Your last call was deferred by a hook and has not run."));
    message_unref(a->deferred);
    a->deferred = NULL;
}

/* Adds the input to the conversation without a turn. */
static void agent_append(struct agent *a, const struct agent_input *in)
{
    struct err err = {0};

    agent_drop_deferred(a);
    if (agent_keep_user(a, in->message->blocks, in->message->len, in->uuid, USER_APPENDED, &err) <
        0)
        agent_notice(a, LEVEL_ERROR, "%s", err.text);
    agent_unkeep(a, QUEUE_DEQUEUE, in);
    agent_emit_user(a, in->message->blocks, in->message->len, in->uuid, USER_INPUT, a->spec.cancel);
}

/* Runs a turn without input, for a notification of a background command. */
static void agent_run_note(struct agent *a)
{
    CLEANUP(agent_input_release) struct agent_input note = {0};
    CLEANUP(buf_release) struct buf text = BUF_INIT(AGENT_MAX_TEXT);
    struct agent_input in = {.is_note = true};

    if (!inputs_next_note(a->inputs, &note))
        return;
    reminder_add(&text, note.message->blocks[0].text);
    in.message = message_user_text(buf_str(&text));
    id_uuid(in.uuid);
    turn_run(a, &in);
    agent_input_release(&in);
}

static bool agent_wants_start(struct agent *a)
{
    bool wants;

    lock_take(&a->lock);
    wants = a->wants_start;
    a->wants_start = false;
    lock_give(&a->lock);
    return wants && !a->asked_start;
}

/* True if the agent was asked to finish and nothing is left to do. gone: the caller wants to stop
 * now, so pending input does not count. *io_ms: when to look again anyway, or -1. */
static bool agent_is_over(struct agent *a, bool gone, int64_t *io_ms)
{
    bool over;

    lock_take(&a->lock);
    over = a->finishing;
    lock_give(&a->lock);
    if (!over || gone)
        return over;
    /* In this order: work that ends in between has put its report into the queue before. */
    return !(a->spec.awaits && a->spec.awaits(a->spec.awaits_arg, io_ms)) &&
           !inputs_waiting(a->inputs);
}

/* Whether it is time to notify that the agent waits for input. *io_ms: when the caller will look
 * again anyway, or -1; lowered if that is too late. */
static bool agent_is_idle(struct agent *a, int64_t *io_ms)
{
    int64_t at = a->idle_since_ms + AGENT_IDLE_MS;

    if (!a->turn || a->told_idle ||
        !agent_session_hook_wanted(a, HOOK_NOTIFICATION, STR("idle_prompt")))
        return false;
    if (clock_mono_ms() >= at)
        return true;
    if (*io_ms < 0 || at < *io_ms)
        *io_ms = at;
    return false;
}

/* wakes: how many there were when the caller began to look for work. */
static void agent_settle(struct agent *a, uint64_t wakes)
{
    atomic_store(&a->settled, wakes);
    if (a->spec.settled && inputs_has_put_off(a->inputs))
        a->spec.settled(a->spec.settled_arg);
}

static void agent_go(void *arg);

/* Works until nothing is left to do. Returns true if the agent was asked to finish; the caller
 * reports its end. Returns false if the thread may end; the next mail starts another one. The first
 * input is processed even if a signal arrived before it. */
static bool agent_work(struct agent *a)
{
    for (;;) {
        bool gone = a->turn && cancel_is_set(a->spec.cancel);
        uint64_t wakes = atomic_load(&a->wakes);
        enum referee_idle next;
        int64_t until_ms = -1;
        struct agent_input in;
        struct mail *m;

        if (!gone && agent_wants_start(a))
            agent_run_start(a);
        if (agent_take_back(a))
            continue;
        if (!gone && inputs_next(a->inputs, /*between=*/false, &in)) {
            if (in.no_query)
                agent_append(a, &in);
            else
                turn_run(a, &in);
            agent_input_release(&in);
            inputs_heard(a->inputs);
            continue;
        }
        if (!gone && inputs_is_woken(a->inputs) && !agent_is_over(a, gone, &until_ms)) {
            agent_run_note(a);
            continue;
        }
        next = gone ? IDLE_REST : referee_idle(a->spec.referee, &in, &until_ms);
        if (next == IDLE_TURN) {
            turn_run(a, &in);
            agent_input_release(&in);
            continue;
        }
        if (next == IDLE_REST && agent_is_over(a, gone, &until_ms))
            return true;
        agent_settle(a, wakes);
        if (next == IDLE_REST && agent_is_idle(a, &until_ms)) {
            a->told_idle = true;
            agent_tell(a, "idle_prompt", /*title=*/NULL, STR("tenax is waiting for your input"));
        }
        m = mailbox_try(a->mail);
        if (!m && until_ms < 0 && next == IDLE_REST &&
            mailbox_leave(a->mail, agent_go, a, /*anyway=*/false))
            return false;
        if (!m && mailbox_take(a->mail, /*cancel=*/NULL, until_ms, &m, /*err=*/NULL) < 0)
            continue;
        agent_reap(a, m);
        mail_free(m);
    }
}

static void agent_end(struct agent *a)
{
    agent_await_asides(a, HOOK_END_MS);
    agent_record_spends(a);
    if (a->said_context || a->asked_start)
        agent_tell_end(a);
    if (a->done)
        a->done(a->done_arg);
}

/* Runs on a thread of the crew. */
static void agent_thread(void *arg)
{
    struct agent *a = arg;
    bool is_over = agent_work(a);

    if (is_over)
        agent_end(a);
    gate_take(&a->gate);
    a->is_over = a->is_over || is_over;
    a->threads--;
    gate_wake(&a->gate);
    gate_give(&a->gate);
}

/* Starts a thread when mail arrives and none is running. Called by the sender. */
static void agent_go(void *arg)
{
    struct agent *a = arg;
    struct err err = {0};

    gate_take(&a->gate);
    a->threads++;
    gate_give(&a->gate);
    if (crew_start(a->crew, "agent", agent_thread, a, &err) == 0)
        return;
    (void)mailbox_leave(a->mail, agent_go, a,
                        /*anyway=*/true); /* retried with the next mail */
    gate_take(&a->gate);
    a->threads--;
    gate_wake(&a->gate);
    gate_give(&a->gate);
    agent_notice(a, LEVEL_ERROR, "the agent cannot start: %s", err.text);
}

void agent_await_end(struct agent *a)
{
    gate_take(&a->gate);
    while (a->threads || !a->is_over)
        gate_wait(&a->gate, /*deadline_ms=*/-1);
    gate_give(&a->gate);
}

/* ---- The public functions ---- */

/* Loads the conversation to resume. */
static void agent_recall(struct agent *a, struct recall *r)
{
    agent_adopt(a, r);
    VEC_EACH(&r->queued, in) {
        in->kept = true;
        inputs_put(a->inputs, in);
    }
    a->takes_up = r->queued.len > 0;
    r->queued.len = 0;
    a->is_recalled = r->messages.len > 0;
}

struct agent *agent_new(const struct agent_spec *spec)
{
    struct agent *a = mem_zalloc(sizeof(*a));

    a->spec = *spec;
    a->providers = mem_zalloc(spec->provider_count * sizeof(*a->providers));
    for (size_t i = 0; i < spec->provider_count; i++)
        provider_copy(&spec->providers[i], &a->providers[i]);
    a->spec.providers = NULL;
    toolbox_ref(a->spec.toolbox);
    a->spec.identity = identity_copy(&a->arena, &spec->identity);
    a->cache_break = (int)spec->cache_break;
    lock_init(&a->lock);
    gate_init(&a->gate);
    a->hook_lines = (struct hook_lines)HOOK_LINES_INIT;
    buf_init(&a->start_context, HOOK_MAX_TEXT);
    buf_init(&a->start_words, HOOK_MAX_TEXT);
    a->own_inputs = spec->inputs ? NULL : inputs_new();
    a->inputs = spec->inputs ? spec->inputs : a->own_inputs;
    buf_init(&a->start_note, HOOK_MAX_TEXT);
    a->spec.spending = spec->spending ? spending_ref(spec->spending) : spending_new();
    if (spec->recall && !spec->spending)
        spending_recall(a->spec.spending, &spec->recall->ledger);
    if (spec->recall)
        agent_recall(a, spec->recall);
    a->spec.recall = NULL;
    a->mail = mailbox_new();
    a->own_crew = spec->crew ? NULL : crew_new();
    a->crew = spec->crew ? spec->crew : a->own_crew;
    a->aside_cancel = cancel_new(spec->cancel);
    a->pace = mem_zalloc(sizeof(*a->pace));
    return a;
}

void agent_begin(struct agent *a, const struct agent_spec *spec)
{
    a->spec.net = spec->net;
    a->spec.system = spec->system;
    a->spec.plan_steps = spec->plan_steps;
    a->spec.context = spec->context;
    a->spec.journal = spec->journal;
    a->is_begun = true;
    (void)mailbox_leave(a->mail, agent_go, a, /*anyway=*/true);
    agent_wake(a);
}

/* Final cleanup if the agent's thread does not run any more. */
static void agent_stop(struct agent *a)
{
    agent_interrupt(a, /*drop_queued=*/false);
    agent_finish(a, /*fn=*/NULL, /*arg=*/NULL);
    mailbox_return(a->mail);
    gate_take(&a->gate);
    while (a->threads)
        gate_wait(&a->gate, /*deadline_ms=*/-1);
    gate_give(&a->gate);
    if (a->is_begun && !a->is_over && agent_work(a))
        agent_end(a);
    while (a->stragglers.len) { /* calls that still run on the crew */
        struct mail *m;

        if (mailbox_take(a->mail, /*cancel=*/NULL, /*deadline_ms=*/-1, &m, /*err=*/NULL) < 0)
            continue;
        agent_reap(a, m);
        mail_free(m);
    }
}

void agent_free(struct agent *a)
{
    if (!a)
        return;
    (void)inputs_drop(a->inputs, INPUTS_WAITING); /* the journal has the waiting ones */
    agent_stop(a);
    cancel_set(a->aside_cancel);
    crew_free(a->own_crew);
    cancel_unref(a->aside_cancel);
    vec_release(&a->stragglers);
    inputs_leave(a->inputs);
    inputs_free(a->own_inputs);
    agent_drop_takebacks(a);
    if (a->new_provider)
        provider_release(a->new_provider);
    mem_freep(&a->new_provider);
    for (size_t i = 0; i < a->spec.provider_count; i++)
        provider_release(&a->providers[i]);
    mem_freep(&a->providers);
    pace_release(a->pace);
    mem_freep(&a->pace);
    history_release(&a->history);
    message_unref(a->deferred);
    hook_lines_release(&a->hook_lines);
    buf_release(&a->start_context);
    buf_release(&a->start_words);
    buf_release(&a->start_note);
    spending_unref(a->spec.spending);
    mailbox_close(a->mail);
    mailbox_unref(a->mail);
    lock_release(&a->lock);
    gate_release(&a->gate);
    extra_news_release(&a->extra);
    toolbox_unref(a->new_toolbox);
    toolbox_unref(a->spec.toolbox);
    arena_release(&a->arena);
    buf_release(&a->system_json);
    mem_freep(&a);
}

bool agent_rests(struct agent *a)
{
    bool rests;

    lock_take(&a->lock);
    rests = !a->turn_cancel && !a->wants_start;
    lock_give(&a->lock);
    return rests && inputs_rests(a->inputs) && !inputs_is_woken(a->inputs);
}

bool agent_has_settled(struct agent *a)
{
    return atomic_load(&a->settled) == atomic_load(&a->wakes) && agent_rests(a);
}

void agent_ask_start(struct agent *a)
{
    lock_take(&a->lock);
    a->wants_start = true;
    lock_give(&a->lock);
    agent_wake(a);
}

void agent_nudge(struct agent *a)
{
    agent_wake(a);
}

void agent_finish(struct agent *a, void (*fn)(void *arg), void *arg)
{
    lock_take(&a->lock);
    a->finishing = true;
    if (fn) {
        a->done = fn;
        a->done_arg = arg;
    }
    lock_give(&a->lock);
    agent_wake(a);
}

void agent_set_model(struct agent *a, struct provider *p)
{
    struct provider *mine = mem_alloc(sizeof(*mine));
    struct provider *old;

    *mine = *p;
    *p = (struct provider){0};
    lock_take(&a->lock);
    old = a->new_provider;
    a->new_provider = mine;
    lock_give(&a->lock);
    if (old)
        provider_release(old);
    mem_freep(&old);
}

void agent_set_thinking(struct agent *a, enum thinking thinking, int64_t budget)
{
    lock_take(&a->lock);
    a->new_thinking = true;
    a->thinking_wanted = thinking;
    a->thinking_budget_wanted = budget;
    lock_give(&a->lock);
}

void agent_set_toolbox(struct agent *a, struct toolbox *t)
{
    struct toolbox *old;

    toolbox_ref(t);
    lock_take(&a->lock);
    old = a->new_toolbox;
    a->new_toolbox = t;
    lock_give(&a->lock);
    toolbox_unref(old);
}

void agent_set_system(struct agent *a, struct str system)
{
    lock_take(&a->lock);
    a->new_system = system;
    a->has_new_system = true;
    lock_give(&a->lock);
}

void agent_set_effort(struct agent *a, enum effort effort)
{
    lock_take(&a->lock);
    a->new_effort = true;
    a->effort_wanted = effort;
    lock_give(&a->lock);
}

int64_t agent_context_tokens(const struct agent *a)
{
    return a->last_input_tokens;
}

void agent_break_cache(struct agent *a, enum cache_break how)
{
    a->cache_break = (int)how;
}

enum cache_break agent_cache_break(const struct agent *a)
{
    return (enum cache_break)a->cache_break;
}
