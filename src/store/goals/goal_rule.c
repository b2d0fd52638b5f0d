/*
 * The rules of a goal's row. Any thread; no state.
 */
#include "store/goals/goal_rule.h"

#define BIT(status) (1U << (status))
#define NOT_COMPLETE (BIT(GOAL_STATUS_COUNT) - 1 - BIT(GOAL_COMPLETE))

/* The test used everywhere: a limit that is reached is spent. 0 = no limit. */
static bool is_spent(const struct store_goal *g, int64_t now_ms)
{
    return (g->token_budget && g->tokens_used >= g->token_budget) ||
           (g->max_turns && g->steps >= g->max_turns) ||
           (g->max_cost_usd > 0 && g->cost_usd >= g->max_cost_usd) ||
           (g->deadline_ms && now_ms >= g->deadline_ms);
}

static bool is_expected(const struct store_goal *row, struct str goal_id)
{
    return row->thread_id.len && (!goal_id.len || str_eq(row->goal_id, goal_id));
}

int goal_rule_replace(struct store_goal *row, const void *store_goal, int64_t now_ms)
{
    *row = *(const struct store_goal *)store_goal;
    row->objective = str_trim(row->objective);
    row->tokens_used = row->output_tokens = row->steps = row->time_used_seconds = 0;
    row->cost_usd = 0;
    row->cost_unknown = false;
    row->iterations = 0;
    row->created_at_ms = row->updated_at_ms = now_ms;
    if (row->status == GOAL_ACTIVE && is_spent(row, now_ms))
        row->status = GOAL_BUDGET_LIMITED;
    return 1;
}

int goal_rule_insert(struct store_goal *row, const void *store_goal, int64_t now_ms)
{
    if (row->thread_id.len && row->status != GOAL_COMPLETE)
        return 0;
    return goal_rule_replace(row, store_goal, now_ms);
}

/* Counters and limits stay where a number is exact. */
static int64_t add(int64_t to, int64_t n)
{
    return n < GOAL_MAX_NUMBER - to ? to + n : GOAL_MAX_NUMBER;
}

static double add_money(double to, double n)
{
    return to + n < (double)GOAL_MAX_NUMBER ? to + n : (double)GOAL_MAX_NUMBER;
}

static void change_limit(int64_t *limit, int64_t used, const struct goal_limit_change *c)
{
    switch (c->what) {
    case CHANGE_KEEP:
        break;
    case CHANGE_SET:
        *limit = c->value;
        break;
    case CHANGE_CLEAR:
        *limit = 0;
        break;
    case CHANGE_ADD:
        if (*limit)
            *limit = add(*limit > used ? *limit : used, c->value);
        break;
    }
}

static void change_cost(struct store_goal *row, const struct goal_update *u)
{
    switch (u->max_cost) {
    case CHANGE_KEEP:
        break;
    case CHANGE_SET:
        row->max_cost_usd = u->max_cost_usd;
        break;
    case CHANGE_CLEAR:
        row->max_cost_usd = 0;
        break;
    case CHANGE_ADD:
        if (row->max_cost_usd > 0)
            row->max_cost_usd =
                add_money(row->max_cost_usd > row->cost_usd ? row->max_cost_usd : row->cost_usd,
                          u->max_cost_usd);
        break;
    }
}

/* The status that results from requesting this one. */
static enum goal_status land(const struct store_goal *row, const struct goal_update *u,
                             int64_t now_ms)
{
    enum goal_status wanted = u->has_status ? u->status : row->status;

    if (row->status == GOAL_BUDGET_LIMITED && (wanted == GOAL_PAUSED || wanted == GOAL_BLOCKED))
        return row->status;
    return wanted == GOAL_ACTIVE && is_spent(row, now_ms) ? GOAL_BUDGET_LIMITED : wanted;
}

int goal_rule_update(struct store_goal *row, const void *goal_update, int64_t now_ms)
{
    const struct goal_update *u = goal_update;
    const struct {
        struct str *to;
        const struct str *from;
    } texts[] = {
        {&row->phase, u->phase},     {&row->phase_detail, u->phase_detail},
        {&row->checks, u->checks},   {&row->last_reason, u->last_reason},
        {&row->protect, u->protect}, {&row->baseline, u->baseline},
        {&row->options, u->options}, {&row->memory, u->memory},
    };

    if (!is_expected(row, u->expected_goal_id) || (u->from && !(u->from & BIT(row->status))))
        return 0;
    change_limit(&row->token_budget, row->tokens_used, &u->token_budget);
    change_limit(&row->max_turns, row->steps, &u->max_turns);
    change_limit(&row->deadline_ms, now_ms, &u->deadline_ms);
    change_cost(row, u);
    row->status = land(row, u, now_ms);
    row->iterations = add(row->iterations, u->add_iterations);
    if (u->objective)
        row->objective = str_trim(*u->objective);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i].from)
            *texts[i].to = *texts[i].from;
    }
    row->updated_at_ms = now_ms;
    return 1;
}

int goal_rule_account(struct store_goal *row, const void *goal_charge, int64_t now_ms)
{
    static const struct {
        unsigned reaches; /* goals of these statuses are charged */
        unsigned turns;   /* and those of these may become budget_limited */
    } modes[] = {
        [CHARGE_ACTIVE_STATUS_ONLY] = {BIT(GOAL_ACTIVE), BIT(GOAL_ACTIVE)},
        [CHARGE_ACTIVE_ONLY] = {BIT(GOAL_ACTIVE) | BIT(GOAL_BUDGET_LIMITED), BIT(GOAL_ACTIVE)},
        [CHARGE_ACTIVE_OR_COMPLETE] = {BIT(GOAL_ACTIVE) | BIT(GOAL_BUDGET_LIMITED) |
                                           BIT(GOAL_COMPLETE),
                                       BIT(GOAL_ACTIVE)},
        [CHARGE_ACTIVE_OR_STOPPED] = {NOT_COMPLETE, NOT_COMPLETE},
    };
    const struct goal_charge *c = goal_charge;

    if (!is_expected(row, c->expected_goal_id) || !(modes[c->mode].reaches & BIT(row->status)))
        return 0;
    row->time_used_seconds = add(row->time_used_seconds, c->seconds);
    row->tokens_used = add(row->tokens_used, c->tokens);
    row->output_tokens = add(row->output_tokens, c->output_tokens);
    row->steps = add(row->steps, c->steps);
    row->cost_usd = add_money(row->cost_usd, c->cost_usd);
    row->cost_unknown = row->cost_unknown || c->cost_unknown;
    if (modes[c->mode].turns & BIT(row->status) && is_spent(row, now_ms))
        row->status = GOAL_BUDGET_LIMITED;
    row->updated_at_ms = now_ms;
    return 1;
}

int goal_rule_delete(struct store_goal *row, const void *goal_id, int64_t now_ms)
{
    (void)now_ms;
    return is_expected(row, *(const struct str *)goal_id);
}
