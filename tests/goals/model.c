/*
 * The model: one goal, changed step by step. No thread but the caller's.
 */
#include "goals/model.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

/* ---- Does it make sense? ---- */

static bool is_limit(int64_t n)
{
    return n > 0 && n <= GOAL_MAX_NUMBER;
}

static bool is_count(int64_t n)
{
    return n >= 0 && n <= GOAL_MAX_NUMBER;
}

static bool is_money(double n)
{
    return isfinite(n) && n >= 0 && n <= (double)GOAL_MAX_NUMBER;
}

static bool goal_makes_sense(const struct store_goal *g)
{
    return is_count(g->token_budget) && is_count(g->max_turns) && is_count(g->deadline_ms) &&
           is_money(g->max_cost_usd);
}

static bool change_makes_sense(const struct goal_limit_change *c)
{
    return c->what == CHANGE_KEEP || c->what == CHANGE_CLEAR || is_limit(c->value);
}

static bool update_makes_sense(const struct goal_update *u)
{
    if (u->max_cost == CHANGE_SET || u->max_cost == CHANGE_ADD) {
        if (!is_money(u->max_cost_usd) || u->max_cost_usd == 0)
            return false;
    }
    return change_makes_sense(&u->token_budget) && change_makes_sense(&u->max_turns) &&
           change_makes_sense(&u->deadline_ms) && is_count(u->add_iterations);
}

static bool charge_makes_sense(const struct goal_charge *c)
{
    return is_count(c->seconds) && is_count(c->tokens) && is_count(c->output_tokens) &&
           is_count(c->steps) && is_money(c->cost_usd);
}

/* ---- The rules ---- */

static bool is_spent(const struct store_goal *g, int64_t now_ms)
{
    if (g->token_budget && g->tokens_used >= g->token_budget)
        return true;
    if (g->max_turns && g->steps >= g->max_turns)
        return true;
    if (g->max_cost_usd > 0 && g->cost_usd >= g->max_cost_usd)
        return true;
    return g->deadline_ms && now_ms >= g->deadline_ms;
}

static void stop_if_spent(struct store_goal *g, int64_t now_ms)
{
    if (g->status == GOAL_ACTIVE && is_spent(g, now_ms))
        g->status = GOAL_BUDGET_LIMITED;
}

static void set(struct model *m, const struct op *op)
{
    m->row = op->goal;
    m->there = true;
    memcpy(m->goal_id, op->new_id, sizeof(m->goal_id));
    m->row.goal_id = str_of(m->goal_id);
    m->row.tokens_used = m->row.output_tokens = m->row.steps = 0;
    m->row.time_used_seconds = m->row.iterations = 0;
    m->row.cost_usd = 0;
    m->row.cost_unknown = false;
    m->row.created_at_ms = m->row.updated_at_ms = op->now_ms;
    stop_if_spent(&m->row, op->now_ms);
}

static int64_t add(int64_t a, int64_t b)
{
    return a > GOAL_MAX_NUMBER - b ? GOAL_MAX_NUMBER : a + b;
}

static double add_money(double a, double b)
{
    double most = (double)GOAL_MAX_NUMBER;

    return a + b < most ? a + b : most;
}

static void change_limit(int64_t *limit, int64_t used, const struct goal_limit_change *c)
{
    if (c->what == CHANGE_SET)
        *limit = c->value;
    else if (c->what == CHANGE_CLEAR)
        *limit = 0;
    else if (c->what == CHANGE_ADD && *limit)
        *limit = add(*limit > used ? *limit : used, c->value);
}

static void change_text(struct str *text, const struct str *to)
{
    if (to)
        *text = *to;
}

static void change_status(struct store_goal *g, enum goal_status to)
{
    if (g->status == GOAL_BUDGET_LIMITED && (to == GOAL_PAUSED || to == GOAL_BLOCKED))
        return;
    g->status = to;
}

static int update(struct store_goal *g, const struct goal_update *u, int64_t now_ms)
{
    if (u->from && !(u->from & 1U << g->status))
        return 0;
    change_limit(&g->token_budget, g->tokens_used, &u->token_budget);
    change_limit(&g->max_turns, g->steps, &u->max_turns);
    change_limit(&g->deadline_ms, now_ms, &u->deadline_ms);
    if (u->max_cost == CHANGE_SET)
        g->max_cost_usd = u->max_cost_usd;
    else if (u->max_cost == CHANGE_CLEAR)
        g->max_cost_usd = 0;
    else if (u->max_cost == CHANGE_ADD && g->max_cost_usd > 0)
        g->max_cost_usd = add_money(g->max_cost_usd > g->cost_usd ? g->max_cost_usd : g->cost_usd,
                                    u->max_cost_usd);
    g->iterations = add(g->iterations, u->add_iterations);
    change_text(&g->objective, u->objective);
    change_text(&g->phase, u->phase);
    change_text(&g->phase_detail, u->phase_detail);
    change_text(&g->last_reason, u->last_reason);
    change_text(&g->checks, u->checks);
    change_text(&g->protect, u->protect);
    change_text(&g->baseline, u->baseline);
    change_text(&g->options, u->options);
    change_text(&g->memory, u->memory);
    if (u->has_status)
        change_status(g, u->status);
    stop_if_spent(g, now_ms);
    g->updated_at_ms = now_ms;
    return 1;
}

static bool charge_reaches(enum goal_mode mode, enum goal_status status)
{
    switch (mode) {
    case CHARGE_ACTIVE_STATUS_ONLY:
        return status == GOAL_ACTIVE;
    case CHARGE_ACTIVE_ONLY:
        return status == GOAL_ACTIVE || status == GOAL_BUDGET_LIMITED;
    case CHARGE_ACTIVE_OR_COMPLETE:
        return status == GOAL_ACTIVE || status == GOAL_BUDGET_LIMITED || status == GOAL_COMPLETE;
    case CHARGE_ACTIVE_OR_STOPPED:
        return status != GOAL_COMPLETE;
    }
    return false;
}

static int account(struct store_goal *g, const struct goal_charge *c, int64_t now_ms)
{
    if (!c->seconds && !c->tokens && !c->output_tokens && !c->steps && c->cost_usd == 0 &&
        !c->cost_unknown)
        return 0;
    if (!charge_reaches(c->mode, g->status))
        return 0;
    g->time_used_seconds = add(g->time_used_seconds, c->seconds);
    g->tokens_used = add(g->tokens_used, c->tokens);
    g->output_tokens = add(g->output_tokens, c->output_tokens);
    g->steps = add(g->steps, c->steps);
    g->cost_usd = add_money(g->cost_usd, c->cost_usd);
    g->cost_unknown = g->cost_unknown || c->cost_unknown;
    if (c->mode == CHARGE_ACTIVE_OR_STOPPED && is_spent(g, now_ms))
        g->status = GOAL_BUDGET_LIMITED;
    stop_if_spent(g, now_ms);
    g->updated_at_ms = now_ms;
    return 1;
}

static int stop(struct store_goal *g, enum goal_status to, int64_t now_ms)
{
    g->status = to;
    g->updated_at_ms = now_ms;
    return 1;
}

/* Operations on a row that must be there, and be the one that was meant. */
static int change(struct model *m, const struct op *op)
{
    bool meant = !op->expected.len || str_eq(op->expected, m->row.goal_id);
    enum goal_status status = m->row.status;

    switch (op->kind) {
    case OP_get:
        return 1;
    case OP_update:
        return meant ? update(&m->row, &op->update, op->now_ms) : 0;
    case OP_account:
        return meant ? account(&m->row, &op->charge, op->now_ms) : 0;
    case OP_delete:
        m->there = !meant;
        return meant;
    case OP_pause:
        return status == GOAL_ACTIVE ? stop(&m->row, GOAL_PAUSED, op->now_ms) : 0;
    case OP_usage:
        return status == GOAL_ACTIVE || status == GOAL_BUDGET_LIMITED
                   ? stop(&m->row, GOAL_USAGE_LIMITED, op->now_ms)
                   : 0;
    default:
        BUG("sets a goal");
    }
}

int model_apply(struct model *m, const struct op *op)
{
    if (op->kind == OP_update && !update_makes_sense(&op->update))
        return -1;
    if (op->kind == OP_account && !charge_makes_sense(&op->charge))
        return -1;
    if (op->kind == OP_replace || op->kind == OP_insert) {
        if (!goal_makes_sense(&op->goal))
            return -1;
        if (op->kind == OP_insert && m->there && m->row.status != GOAL_COMPLETE)
            return 0;
        set(m, op);
        return 1;
    }
    return m->there ? change(m, op) : 0;
}

/* ---- Comparing ---- */

#define TEXTS(X)                                                                                   \
    X(thread_id)                                                                                   \
    X(goal_id)                                                                                     \
    X(objective)                                                                                   \
    X(phase)                                                                                       \
    X(phase_detail)                                                                                \
    X(last_reason)                                                                                 \
    X(checks)                                                                                      \
    X(protect)                                                                                     \
    X(baseline)                                                                                    \
    X(options)                                                                                     \
    X(memory)

#define NUMBERS(X)                                                                                 \
    X(status)                                                                                      \
    X(token_budget)                                                                                \
    X(max_turns)                                                                                   \
    X(max_cost_usd)                                                                                \
    X(deadline_ms)                                                                                 \
    X(tokens_used)                                                                                 \
    X(output_tokens)                                                                               \
    X(steps)                                                                                       \
    X(time_used_seconds)                                                                           \
    X(cost_usd)                                                                                    \
    X(cost_unknown)                                                                                \
    X(iterations)                                                                                  \
    X(created_at_ms)                                                                               \
    X(updated_at_ms)

const char *model_differs(const struct store_goal *a, const struct store_goal *b)
{
#define X(name)                                                                                    \
    if (!str_eq(a->name, b->name))                                                                 \
        return #name;
    TEXTS(X)
#undef X
#define X(name)                                                                                    \
    if (a->name != b->name)                                                                        \
        return #name;
    NUMBERS(X)
#undef X
    return NULL;
}

uint64_t model_digest(const struct store_goal *g)
{
    uint64_t digest = 1;

#define X(name) digest = digest * 0x100000001b3 ^ str_hash(g->name);
    TEXTS(X)
#undef X
#define X(name) digest = digest * 0x100000001b3 ^ (uint64_t)((double)g->name * 4);
    NUMBERS(X)
#undef X
    return digest ? digest : 1;
}
