/*
 * One model call. A request consists of parts that never change in a session (system prompt,
 * tools), the history, whose bytes are remembered, and a few values chosen by the turn (output
 * limit, budget).
 */
#include "agent/step.h"

#include <math.h>
#include <string.h>

#include "agent/agent_state.h"
#include "agent/journal.h"
#include "agent/toolbox.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "conf/conf.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/cache.h"
#include "llm/message.h"
#include "llm/pace.h"
#include "llm/provider.h"
#include "llm/room.h"
#include "net/retry.h"
#include "sync/cancel.h"

#define STEP_MAX_REASON ((size_t)64 << 10)

void step_init(struct step *s, struct agent *a, struct turn *t)
{
    *s = (struct step){.agent = a, .turn = t};
    batch_init(&s->batch, a, t);
    buf_init(&s->refusal, STEP_MAX_REASON);
    buf_init(&s->held, BUF_NO_LIMIT); /* never longer than a secret */
}

void step_release(struct step *s)
{
    batch_release(&s->batch);
    buf_release(&s->refusal);
    buf_release(&s->held);
    buf_release(&s->system);
    vec_release(&s->entries);
    llm_call_result_release(&s->reply);
}

static struct event *step_event_made(const struct step *s, enum event_kind kind)
{
    struct event *e = agent_event(s->agent, kind);

    e->message_id = arena_str(&e->arena, str_of(s->message_id));
    return e;
}

void step_drop(struct step *s, struct str why)
{
    batch_void(&s->batch);
    buf_clear(&s->refusal);
    s->entries.len = 0;
    if (s->open) {
        struct event *e = step_event_made(s, EVENT_STEP_VOID);

        e->text = arena_str(&e->arena, why);
        agent_emit(s->agent, e, s->turn->cancel);
    }
    s->open = false;
}

void step_name_blocks(struct step *s)
{
    struct message *m = s->reply.message;

    for (size_t i = 0; i < m->len; i++) {
        char uuid[ID_UUID_LEN + 1] = "";

        VEC_EACH(&s->entries, it) {
            if (it->index == i)
                memcpy(uuid, it->uuid, sizeof(uuid));
        }
        if (!uuid[0])
            id_uuid(uuid);
        m->blocks[i].entry = arena_str(&m->arena, str_of(uuid));
    }
}

static const struct llm_rate *step_rate(struct arena *arena, const struct llm_rate *rate)
{
    struct llm_rate *copy = arena_new(arena, struct llm_rate);

    *copy = *rate;
    return copy;
}

void step_keep(struct step *s)
{
    struct event *e = step_event_made(s, EVENT_STEP_DONE);
    bool unknown;

    e->model = arena_str(&e->arena, s->reply.message->model);
    e->stop = s->reply.stop;
    e->data = arena_str(&e->arena, str_of(s->reply.stop_sequence));
    e->usage = s->reply.usage;
    e->request_id = arena_str(&e->arena, str_of(s->reply.request_id));
    e->ttft_ms = s->reply.first_token_ms;
    if (s->reply.rate.known)
        e->rate = step_rate(&e->arena, &s->reply.rate);
    e->usd = spending_usd(s->agent->spec.spending, &unknown);
    if (unknown)
        e->usd = NAN;
    agent_emit(s->agent, e, s->turn->cancel);
    s->open = false;
}

void step_keep_cut(struct step *s)
{
    struct event *e = step_event_made(s, EVENT_STEP_CUT);

    e->model = arena_str(&e->arena, s->reply.message->model);
    e->request_id = arena_str(&e->arena, str_of(s->reply.request_id));
    agent_emit(s->agent, e, s->turn->cancel);
    s->open = false;
}

/* Keeps the text of an interrupted answer, because the user has read it. If the process has to end,
 * nothing is kept: the turn stays open and the request is repeated when it is resumed. */
static void step_cut(struct step *s, struct llm_call *call)
{
    struct message *whole;

    if (!cancel_is_set(s->turn->cancel) || cancel_is_end(s->turn->cancel))
        return;
    s->is_cut = true;
    if (!llm_call_cut(call, &s->reply))
        return;
    step_name_blocks(s);
    s->reply.usage = s->heard;
    whole = s->reply.message;
    s->reply.message = message_texts(whole);
    message_unref(whole);
    if (s->reply.message->len)
        batch_void(&s->batch);
    else
        llm_call_result_release(&s->reply);
}

static void step_started(struct step *s, const struct llm_event *ev)
{
    struct event *e;

    snprintf(s->message_id, sizeof(s->message_id), "%.*s", STR_ARG(ev->id));
    s->open = true;
    e = step_event_made(s, EVENT_STEP_STARTED);
    e->model = arena_str(&e->arena, ev->model);
    e->usage = ev->usage;
    if (s->call)
        e->request_id = arena_str(&e->arena, str_of(llm_call_request_id(s->call)));
    e->ttft_ms = clock_mono_ms() - s->start_ms;
    if (e->ttft_ms < 1) /* 0 means unknown */
        e->ttft_ms = 1;
    agent_emit(s->agent, e, s->turn->cancel);
}

/* Emits one event for a delta, or none: a secret that arrives in pieces is emitted in one, so that
 * the redaction finds it. At the end of the block everything left is emitted. */
static void step_delta(struct step *s, size_t index, struct str text, bool is_last)
{
    size_t ready;
    struct event *e;

    buf_add(&s->held, text);
    ready = s->held.len - (is_last ? 0 : secret_tail(buf_str(&s->held)));
    if (!ready)
        return;
    e = step_event_made(s, EVENT_BLOCK_DELTA);
    e->index = index;
    e->block = s->block; /* the block that started last */
    e->text = arena_str(&e->arena, str_first(buf_str(&s->held), ready));
    buf_cut(&s->held, 0, ready);
    agent_emit(s->agent, e, s->turn->cancel);
}

static void step_block(struct step *s, const struct llm_event *ev, enum event_kind kind)
{
    struct event *e = step_event_made(s, kind);

    e->index = ev->index;
    if (ev->block) {
        s->block = ev->block->kind;
        e->id = arena_str(&e->arena, ev->block->id);
        e->name = arena_str(&e->arena, ev->block->name);
    }
    e->block = s->block;
    if (kind == EVENT_BLOCK_DONE && ev->block) {
        CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
        struct step_entry entry = {.index = ev->index};

        e->aborted = s->is_cut;

        memcpy(entry.uuid, e->uuid, sizeof(entry.uuid));
        vec_push(&s->entries, entry);
        block_write(ev->block, &json);
        e->json = arena_str(&e->arena, buf_str(&json));
        if (ev->block->kind == BLOCK_TEXT)
            e->text = arena_str(&e->arena, ev->block->text);
    }
    agent_emit(s->agent, e, s->turn->cancel);
}

static void step_retry(struct step *s, const struct llm_event *ev)
{
    struct event *e;

    step_drop(s, ev->text);
    e = agent_event(s->agent, EVENT_RETRY);
    e->attempt = ev->attempt;
    e->max_tries = ev->max_tries;
    e->delay_ms = ev->delay_ms;
    e->status = ev->status;
    e->error = ev->error;
    e->is_overloaded = ev->overloaded;
    e->text = arena_str(&e->arena, ev->text);
    agent_emit(s->agent, e, s->turn->cancel);
}

/* Whether events of this kind show text. Those of an aside are not emitted. */
static bool step_is_said(enum llm_event_kind kind)
{
    return kind == LLM_MESSAGE_START || kind == LLM_BLOCK_START || kind == LLM_BLOCK_DELTA ||
           kind == LLM_BLOCK_STOP;
}

/* A discarded answer costs what its server reported so far. */
static void step_account_void(struct step *s)
{
    struct agent *a = s->agent;

    if (s->heard.known) {
        spending_book_usage(&s->paid, &agent_provider(a, s->turn->provider)->model, &s->heard);
        llm_usage_add(&s->turn->usage, &s->heard);
    }
    s->heard = (struct llm_usage){0};
}

/* Reports that another model answers from here on, also in the session. */
static void step_fell_back(struct step *s, struct str to, struct str why)
{
    struct event *e = agent_event(s->agent, EVENT_NOTICE);
    struct journal *journal = s->agent->spec.journal;
    struct err err = {0};

    e->level = LEVEL_WARNING;
    e->name = STR("model_fallback");
    e->text = arena_str(&e->arena, why);
    e->data = arena_str(&e->arena, agent_provider(s->agent, s->turn->provider)->model.name);
    e->model = arena_str(&e->arena, to);
    s->turn->provider++;
    turn_again(s->turn, WHY_FALLBACK);
    agent_emit(s->agent, e, s->turn->cancel);
    if (journal && journal->tell && journal->tell(journal, why, &err) < 0)
        log_debug("agent", "%s", err.text);
}

static int step_event(const struct llm_event *ev, void *arg, struct err *err)
{
    struct step *s = arg;
    struct event *e;

    (void)err;
    if (ev->kind == LLM_MESSAGE_START)
        s->heard = ev->usage;
    if (s->aside && step_is_said(ev->kind))
        return 0;
    switch (ev->kind) {
    case LLM_MESSAGE_START:
        step_started(s, ev);
        break;
    case LLM_BLOCK_START:
        buf_clear(&s->held); /* left over from a discarded answer */
        step_block(s, ev, EVENT_BLOCK_STARTED);
        break;
    case LLM_BLOCK_DELTA:
        step_delta(s, ev->index, ev->text, /*is_last=*/false);
        break;
    case LLM_BLOCK_STOP:
        step_delta(s, ev->index, STR(""), /*is_last=*/true);
        step_block(s, ev, EVENT_BLOCK_DONE);
        if (ev->block->kind == BLOCK_TOOL_USE)
            batch_add(&s->batch, ev->block);
        break;
    case LLM_MESSAGE_DELTA:
        s->heard = ev->usage;
        buf_add(&s->refusal, ev->text);
        break;
    case LLM_MESSAGE_STOP:
        break;
    case LLM_RETRY:
        step_account_void(s);
        step_retry(s, ev);
        break;
    case LLM_FALLBACK:
        step_account_void(s);
        step_drop(s, ev->text);
        step_fell_back(s, ev->model, ev->text);
        break;
    case LLM_WAITING:
        e = agent_event(s->agent, EVENT_WAITING);
        e->processed = ev->processed;
        e->total = ev->total;
        e->cached = ev->cached;
        agent_emit(s->agent, e, s->turn->cancel);
        break;
    }
    return 0;
}

int64_t step_estimate(const struct agent *a)
{
    size_t bytes = a->history.bytes;

    if (a->last_input_tokens && bytes >= a->last_bytes)
        return a->last_input_tokens + (int64_t)((bytes - a->last_bytes) / ROOM_TOKEN_BYTES);
    return (int64_t)((bytes + a->spec.system.len + toolbox_bytes(a->spec.toolbox)) /
                     ROOM_TOKEN_BYTES);
}

/* For a model that is known to accept no images: leaves out those that tools have read before the
 * request is made. */
static void step_drop_images(struct step *s, const struct model *m)
{
    struct history *h = &s->agent->history;
    struct history_drops drops = {.list = VEC_INIT};
    size_t count;

    if (m->images || !m->known || !h->media)
        return;
    (void)history_messages(h, &count); /* turns the draft into a message */
    while (history_drop_media(h, MEDIA_OF_TOOL, &drops)) {
        agent_keep_drops(s->agent, &drops);
        drops.list.len = 0;
    }
    vec_release(&drops.list);
    agent_notice(s->agent, LEVEL_WARNING,
                 "%.*s takes no images; continuing without those that a tool has read",
                 STR_ARG(m->name));
}

static struct str step_system_json(struct agent *a)
{
    struct jw w;

    if (!a->system_json.len) {
        buf_init(&a->system_json, BUF_NO_LIMIT);
        jw_init(&w, &a->system_json, JW_CLEAN);
        jw_str(&w, a->spec.system);
    }
    return buf_str(&a->system_json);
}

/* The same bytes for every call, unless the user wants to break the provider's cache. */
static void step_system(struct step *s, struct llm_request *ret)
{
    struct agent *a = s->agent;
    int once = CACHE_BREAK_ONCE;
    char nonce[ID_UUID_LEN + 1];

    ret->system = a->spec.system;
    ret->system_json = step_system_json(a);
    if (s->aside || a->cache_break == CACHE_BREAK_OFF)
        return;
    (void)atomic_compare_exchange_strong(&a->cache_break, &once, CACHE_BREAK_OFF);
    id_uuid(nonce);
    buf_init(&s->system, AGENT_MAX_TEXT);
    buf_addf(&s->system, "(%s)\n\n%.*s", nonce, STR_ARG(a->spec.system));
    ret->system = buf_str(&s->system);
    ret->system_json = STR("");
}

static void step_request(struct step *s, struct llm_request *ret)
{
    struct agent *a = s->agent;
    const struct provider *p = agent_provider(a, s->turn->provider);

    *ret = (struct llm_request){
        .model = &p->model,
        .tail = s->aside ? STR("") : buf_str(&s->turn->tail),
        .max_tokens = s->turn->max_tokens,
        .effort = a->turn_effort ? a->turn_effort : a->spec.effort,
        .thinking = a->spec.thinking,
        .thinking_budget = a->spec.thinking_budget,
        /* Also for an aside: different thinking settings would miss the cache. */
        .show_thinking = !a->spec.hides_thinking || !atomic_load(a->spec.hides_thinking),
        .cache = cache_wanted(a->spec.conf, &p->model),
    };
    step_system(s, ret);
    if (s->aside) {
        ret->messages = s->aside->messages;
        ret->message_count = s->aside->count;
        ret->epoch = s->aside->epoch;
        ret->choice = s->aside->choice;
    } else {
        step_drop_images(s, &p->model);
        ret->messages = history_messages(&a->history, &ret->message_count);
        ret->epoch = a->history.epoch;
    }
    if (p->model.tools)
        ret->tools = toolbox_llm(a->spec.toolbox, &ret->tool_count);
}

/* Checks the cost limits, whichever model answers. */
static int step_afford(struct step *s, struct llm_request *request, struct err *err)
{
    struct agent *a = s->agent;
    struct spending_rate rate = {0};

    for (size_t i = s->turn->provider; i < agent_provider_count(a); i++) {
        const struct model *m = &agent_provider(a, i)->model;

        spending_rate_add(&rate, m, cache_wanted(a->spec.conf, m));
    }
    return spending_reserve(a->spec.spending, s->aside ? SPENT_COMPACTION : SPENT_MAIN, &rate,
                            step_estimate(a), &request->max_tokens, s->turn->cancel, &s->paid, err);
}

/* Waits for one mail or the call's own deadline. Returns 1 when the call is complete. */
static int step_wait(struct step *s, struct llm_call *call, struct err *err)
{
    struct agent *a = s->agent;
    struct err why = {0};
    struct mail *m;
    int r = 0;

    if (mailbox_take(a->mail, s->turn->cancel, llm_call_deadline(call), &m, &why) < 0) {
        if (why.code == ERR_TIMEOUT)
            return llm_call_tick(call, err);
        if (err)
            *err = why;
        return -1;
    }
    if (llm_call_owns(call, m))
        r = llm_call_mail(call, m, err);
    else if (!batch_mail(&s->batch, m))
        agent_reap(a, m);
    mail_free(m);
    return r;
}

/* Estimates the usage from the size of the answer if the server reports none, so that limits still
 * work. */
static struct llm_usage step_guess(struct step *s)
{
    struct agent *a = s->agent;

    if (!a->told_guess)
        agent_notice(a, LEVEL_WARNING,
                     "the server reports no token counts: tokens and costs are estimated");
    a->told_guess = true;
    return (struct llm_usage){
        .input = step_estimate(a),
        .output = (int64_t)(message_bytes(s->reply.message) / ROOM_TOKEN_BYTES),
    };
}

static void step_account(struct step *s)
{
    struct agent *a = s->agent;
    const struct llm_usage *u = &s->reply.usage;
    struct llm_usage spent = u->known ? *u : step_guess(s);
    struct spend spend;

    spend = spend_of(s->paid.who, s->reply.model, &spent);
    spend.is_step = !s->aside;
    spending_book(&s->paid, &spend);
    llm_usage_add(&s->turn->usage, u);
    pace_call(a->pace, &s->reply);
    a->calls_since += !s->aside;
    if (u->known && !s->aside) {
        a->last_input_tokens = u->input + u->cache_read + u->cache_write;
        a->last_bytes = a->history.bytes;
    }
}

int step_call(struct step *s, struct err *err)
{
    struct agent *a = s->agent;
    size_t first = s->turn->provider;
    struct llm_call_options options = {
        .provider = agent_provider(a, first),
        .fallbacks = agent_provider(a, first + 1),
        .fallback_count = agent_provider_count(a) - first - 1,
    };
    struct retry_policy patience = retry_default;
    struct llm_request request;
    struct llm_call *call;
    int r = 0;

    if (s->turn->most_wait_ms > 0 && s->turn->most_wait_ms < patience.asked_cap_ms)
        patience.asked_cap_ms = s->turn->most_wait_ms;
    options.retry = &patience;
    step_request(s, &request);
    if (step_afford(s, &request, err) < 0)
        return -1;
    s->start_ms = clock_mono_ms();
    if (!s->aside)
        agent_emit(a, agent_event(a, EVENT_REQUESTING), s->turn->cancel);
    call = llm_call_start(a->spec.net, &options, &request, a->mail, step_event, s, err);
    if (!call) {
        spending_settle(&s->paid);
        return -1;
    }
    s->call = call;
    while (r == 0)
        r = step_wait(s, call, err);
    s->turn->api_ms += clock_mono_ms() - s->start_ms;
    spending_add_time(a->spec.spending, /*time_ms=*/0, clock_mono_ms() - s->start_ms);
    s->api_status = llm_call_status(call);
    s->is_overloaded = llm_call_overloaded(call);
    s->asked_ms = llm_call_asked_ms(call);
    s->broken = llm_call_broken(call);
    s->blames_media = llm_call_blames_media(call);
    if (r > 0)
        r = llm_call_take(call, &s->reply, err);
    else if (!s->aside)
        step_cut(s, call);
    s->call = NULL;
    llm_call_free(call);
    if (r < 0) {
        step_account_void(s);
        if (!s->reply.message)
            step_drop(s, err ? str_of(err->text) : STR(""));
    } else {
        step_account(s);
    }
    spending_settle(&s->paid);
    return r < 0 ? -1 : 0;
}

int step_ask(struct step *s, const struct step_aside *aside, struct err *err)
{
    s->aside = aside;
    return step_call(s, err);
}
