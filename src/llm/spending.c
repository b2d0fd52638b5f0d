/*
 * The account: booked and reserved costs, and calls that wait for room. Any thread. The gate is
 * held only briefly, and never while the listener is called.
 */
#include "llm/spending.h"

#include <math.h>

#include "base/err.h"
#include "base/mem.h"
#include "llm/history.h"
#include "llm/message.h"
#include "llm/model.h"
#include "llm/room.h"
#include "sync/cancel.h"
#include "sync/thread.h"

enum cap_kind {
    CAP_SESSION, /* --max-budget-usd */
    CAP_GOAL,
    CAP_COUNT,
};

struct cap {
    bool has_usd, has_tokens;
    double usd; /* left */
    int64_t tokens;
    double held_usd; /* reserved part of it */
    int64_t held_tokens;
};

struct spending {
    _Atomic int refs;
    struct spending *parent; /* NULL = the topmost, which has the limits */

    struct gate gate; /* guards the fields below */
    double max_usd;   /* 0: no limit */
    struct ledger ledger;
    struct llm_usage beside;
    bool is_unreported;
    struct cap caps[CAP_COUNT];
    int in_flight; /* calls with a reservation */
    spending_fn fn;
    void *arg;
    int telling; /* threads calling fn */
};

struct spending *spending_new(void)
{
    struct spending *b = mem_zalloc(sizeof(*b));

    b->refs = 1;
    gate_init(&b->gate);
    return b;
}

struct spending *spending_branch(struct spending *parent)
{
    struct spending *b = spending_new();

    b->parent = spending_ref(parent);
    return b;
}

static struct spending *spending_root(struct spending *b)
{
    while (b->parent)
        b = b->parent;
    return b;
}

struct spending *spending_ref(struct spending *b)
{
    b->refs++;
    return b;
}

void spending_unref(struct spending *b)
{
    if (!b || --b->refs > 0)
        return;
    spending_unref(b->parent);
    ledger_release(&b->ledger);
    gate_release(&b->gate);
    mem_freep(&b);
}

/* The gate must be held. */
static void spending_set_cap(struct spending *b)
{
    b->caps[CAP_SESSION].has_usd = b->max_usd > 0;
    b->caps[CAP_SESSION].usd = b->max_usd - b->ledger.usd;
}

void spending_recall(struct spending *b, const struct ledger *past)
{
    gate_take(&b->gate);
    ledger_merge(&b->ledger, past);
    spending_set_cap(b);
    gate_give(&b->gate);
}

/* ---- Limits ---- */

static bool cap_binds(enum cap_kind kind, enum spent_who who)
{
    return kind == CAP_SESSION ||
           (who != SPENT_MAIN && who != SPENT_COMPACTION && who != SPENT_JUDGE);
}

void spending_limit_goal(struct spending *b, int64_t tokens, double usd)
{
    struct cap *cap = &b->caps[CAP_GOAL];

    gate_take(&b->gate);
    cap->has_tokens = tokens != SPENDING_NO_LIMIT;
    cap->tokens = tokens;
    cap->has_usd = usd < (double)SPENDING_NO_LIMIT;
    cap->usd = usd;
    gate_wake(&b->gate);
    gate_give(&b->gate);
}

void spending_limit(struct spending *b, double max_usd)
{
    gate_take(&b->gate);
    b->max_usd = max_usd;
    spending_set_cap(b);
    gate_wake(&b->gate);
    gate_give(&b->gate);
}

double spending_max_usd(struct spending *b)
{
    double max_usd;

    b = spending_root(b);
    gate_take(&b->gate);
    max_usd = b->max_usd;
    gate_give(&b->gate);
    return max_usd;
}

/* ---- A call ---- */

void spending_rate_add(struct spending_rate *r, const struct model *m, enum cache_ttl cache)
{
    double write = cache == CACHE_OFF  ? 0
                   : cache == CACHE_1H ? m->price.cache_write_1h
                                       : m->price.cache_write;
    double input = (write > m->price.input ? write : m->price.input) /
                   1e6; /* a higher price than the actual one is safe */

    if (m->default_output > r->max_tokens)
        r->max_tokens = m->default_output;
    if (!model_price_known(m)) {
        r->unpriced = m;
        return;
    }
    if (input > r->input)
        r->input = input;
    if (m->price.output / 1e6 > r->output)
        r->output = m->price.output / 1e6;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* The maximum cost of an answer, beside the reservations or (is_alone) without them; negative if
 * even the prompt does not fit. The gate must be held. */
static double cap_output(const struct cap *cap, const struct spending_rate *rate, int64_t prompt,
                         bool is_alone)
{
    double most = INFINITY;

    if (cap->has_tokens)
        most = (double)(cap->tokens - (is_alone ? 0 : cap->held_tokens) - prompt);
    if (cap->has_usd && !rate->unpriced) {
        double left = cap->usd - (is_alone ? 0 : cap->held_usd) - (double)prompt * rate->input;
        double tokens = left <= 0 ? -1 : rate->output > 0 ? left / rate->output : INFINITY;

        most = least(most, tokens);
    }
    return most;
}

static double spending_output(const struct spending *b, enum spent_who who,
                              const struct spending_rate *rate, int64_t prompt, bool is_alone)
{
    double most = INFINITY;

    for (enum cap_kind i = 0; i < CAP_COUNT; i++) {
        if (cap_binds(i, who))
            most = least(most, cap_output(&b->caps[i], rate, prompt, is_alone));
    }
    return most;
}

/* Fails with the reason why no call is possible. The gate must be held. */
static int spending_refuse(const struct spending *b, const struct spending_rate *rate,
                           int64_t prompt, struct err *err)
{
    double usd = b->ledger.usd;

    if (cap_output(&b->caps[CAP_SESSION], rate, prompt, /*is_alone=*/true) >= 1)
        return err_set(err, ERR_BUDGET, "the goal's budget is spent");
    if (usd >= b->max_usd)
        return err_set(err, ERR_BUDGET, "--max-budget-usd: %.4g of %.4g USD are spent", usd,
                       b->max_usd);
    if (usd > 0)
        return err_set(err, ERR_BUDGET,
                       "--max-budget-usd: %.4g of %.4g USD are spent, and the next call's prompt "
                       "alone would pass it",
                       usd, b->max_usd);
    return err_set(err, ERR_BUDGET,
                   "--max-budget-usd: the prompt alone is expected to cost more than %g",
                   b->max_usd);
}

/* Reserves; a negative amount releases. The gate must be held. */
static void spending_hold(struct spending *b, enum spent_who who, double usd, int64_t tokens)
{
    for (enum cap_kind i = 0; i < CAP_COUNT; i++) {
        if (!cap_binds(i, who))
            continue;
        b->caps[i].held_usd += usd;
        b->caps[i].held_tokens += tokens;
    }
}

static void spending_wake(void *arg)
{
    struct spending *b = arg;

    gate_take(&b->gate);
    gate_wake(&b->gate);
    gate_give(&b->gate);
}

/* Waits for room. The gate must be held; it is released while waiting. */
static int spending_find_room(struct spending *b, enum spent_who who,
                              const struct spending_rate *rate, int64_t prompt,
                              int64_t *io_max_tokens, struct cancel *cancel, struct err *err)
{
    int64_t want = *io_max_tokens ? *io_max_tokens : rate->max_tokens;

    for (;;) {
        double most = spending_output(b, who, rate, prompt, /*is_alone=*/true);

        if (most < 1)
            return spending_refuse(b, rate, prompt, err);
        if (spending_output(b, who, rate, prompt, /*is_alone=*/false) >= (double)want)
            return 0;
        if (!b->in_flight) {
            if (most < (double)want)
                *io_max_tokens = (int64_t)most;
            return 0;
        }
        if (cancel_check(cancel, err) < 0)
            return -1;
        gate_wait(&b->gate, /*deadline_ms=*/-1);
    }
}

int spending_reserve(struct spending *b, enum spent_who who, const struct spending_rate *rate,
                     int64_t prompt_tokens, int64_t *io_max_tokens, struct cancel *cancel,
                     struct spending_call *ret, struct err *err)
{
    struct spending *root = spending_root(b);
    enum spent_who bound = b->parent ? SPENT_CHILD : who;
    struct cancel_hook *hook;
    int r;

    *ret = (struct spending_call){.spending = b, .who = who};
    if (rate->unpriced && spending_max_usd(b) > 0)
        return err_set(err, ERR_BUDGET,
                       "--max-budget-usd: the price of %.*s/%.*s is unknown, so the cap cannot be "
                       "kept; add it under \"models\" in settings.json",
                       STR_ARG(rate->unpriced->provider), STR_ARG(rate->unpriced->name));
    hook = cancel ? cancel_on(cancel, spending_wake, root) : NULL;
    gate_take(&root->gate);
    r = spending_find_room(root, bound, rate, prompt_tokens, io_max_tokens, cancel, err);
    if (r == 0) {
        ret->tokens = prompt_tokens + (*io_max_tokens ? *io_max_tokens : rate->max_tokens);
        ret->usd = (double)prompt_tokens * rate->input +
                   (double)(ret->tokens - prompt_tokens) * rate->output;
        spending_hold(root, bound, ret->usd, ret->tokens);
        root->in_flight++;
    }
    gate_give(&root->gate);
    cancel_off(hook);
    return r;
}

static int64_t request_tokens(const struct llm_request *q)
{
    size_t bytes = q->system.len + q->tail.len + q->output_schema.len;

    for (size_t i = 0; i < q->tool_count; i++)
        bytes += q->tools[i].description.len + q->tools[i].schema.len;
    for (size_t i = 0; i < q->message_count; i++)
        bytes += message_bytes(q->messages[i]);
    return (int64_t)(bytes / ROOM_TOKEN_BYTES);
}

int spending_begin(struct spending *b, enum spent_who who, struct llm_request *request,
                   struct cancel *cancel, struct spending_call *ret, struct err *err)
{
    struct spending_rate rate = {0};

    *ret = (struct spending_call){.who = who};
    if (!b)
        return 0;
    spending_rate_add(&rate, request->model, request->cache);
    return spending_reserve(b, who, &rate, request_tokens(request), &request->max_tokens, cancel,
                            ret, err);
}

static int64_t charged_tokens(const struct llm_usage *u)
{
    return u->input + u->cache_write + u->output;
}

static enum spent_who call_bound(const struct spending_call *c)
{
    return c->spending->parent ? SPENT_CHILD : c->who;
}

/* Reduces the reservation by this amount. The topmost's gate must be held. */
static void call_draw(struct spending_call *c, struct spending *root, double usd, int64_t tokens)
{
    double less = least(usd, c->usd);
    int64_t fewer = tokens < c->tokens ? tokens : c->tokens;

    for (enum cap_kind i = 0; i < CAP_COUNT; i++) {
        root->caps[i].usd -= usd;
        root->caps[i].tokens -= tokens;
    }
    spending_hold(root, call_bound(c), -less, -fewer);
    c->usd -= less;
    c->tokens -= fewer;
}

static void spending_add(struct spending *b, struct spending_call *c, const struct spend *s)
{
    spending_fn fn;
    void *arg;

    gate_take(&b->gate);
    ledger_add(&b->ledger, s);
    if (!b->parent)
        call_draw(c, b, isnan(s->usd) ? 0 : s->usd, charged_tokens(&s->usage));
    if (s->who == SPENT_TOOL || s->who == SPENT_HOOK || s->who == SPENT_JUDGE)
        llm_usage_add(&b->beside, &s->usage);
    b->is_unreported = true;
    fn = b->fn;
    arg = b->arg;
    b->telling++;
    gate_give(&b->gate);
    if (fn)
        fn(arg, s);
    gate_take(&b->gate);
    b->telling--;
    gate_wake(&b->gate);
    gate_give(&b->gate);
}

void spending_book(struct spending_call *c, const struct spend *s)
{
    struct spend mine = *s;

    for (struct spending *b = c->spending; b; b = b->parent) {
        spending_add(b, c, &mine);
        mine.who = SPENT_CHILD;
        mine.is_step = false;
    }
}

void spending_book_usage(struct spending_call *c, const struct model *m, const struct llm_usage *u)
{
    struct spend s = spend_of(c->who, m, u);

    if (u->known)
        spending_book(c, &s);
}

void spending_settle(struct spending_call *c)
{
    struct spending *root;

    if (!c->spending)
        return;
    root = spending_root(c->spending);
    gate_take(&root->gate);
    spending_hold(root, call_bound(c), -c->usd, -c->tokens);
    root->in_flight--;
    gate_wake(&root->gate);
    gate_give(&root->gate);
    *c = (struct spending_call){0};
}

/* ---- Reading ---- */

void spending_watch(struct spending *b, spending_fn fn, void *arg)
{
    gate_take(&b->gate);
    b->fn = fn;
    b->arg = arg;
    while (b->telling)
        gate_wait(&b->gate, /*deadline_ms=*/-1);
    gate_give(&b->gate);
}

double spending_usd(struct spending *b, bool *ret_unknown)
{
    double usd;

    gate_take(&b->gate);
    usd = b->ledger.usd;
    if (ret_unknown)
        *ret_unknown = b->ledger.unknown;
    gate_give(&b->gate);
    return usd;
}

void spending_usage(struct spending *b, struct llm_usage *ret)
{
    *ret = (struct llm_usage){0};
    gate_take(&b->gate);
    VEC_EACH(&b->ledger.rows, row) {
        llm_usage_add(ret, &row->usage);
    }
    gate_give(&b->gate);
}

void spending_take_beside(struct spending *b, struct llm_usage *ret)
{
    gate_take(&b->gate);
    *ret = b->beside;
    b->beside = (struct llm_usage){0};
    gate_give(&b->gate);
}

void spending_report(struct spending *b, struct arena *arena, struct spending_total *ret)
{
    gate_take(&b->gate);
    ret->time_ms = b->ledger.time_ms;
    ret->api_ms = b->ledger.api_ms;
    ret->usd = b->ledger.usd;
    ret->is_unknown = b->ledger.unknown;
    ret->models = ledger_models(&b->ledger, arena, &ret->model_count);
    b->is_unreported = false;
    gate_give(&b->gate);
}

void spending_add_time(struct spending *b, int64_t time_ms, int64_t api_ms)
{
    gate_take(&b->gate);
    b->ledger.time_ms += time_ms;
    b->ledger.api_ms += api_ms;
    gate_give(&b->gate);
}

int64_t spending_api_ms(struct spending *b)
{
    int64_t ms;

    gate_take(&b->gate);
    ms = b->ledger.api_ms;
    gate_give(&b->gate);
    return ms;
}

bool spending_is_unreported(struct spending *b)
{
    bool is;

    gate_take(&b->gate);
    is = b->is_unreported;
    gate_give(&b->gate);
    return is;
}
