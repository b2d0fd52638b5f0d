/*
 * Use, charged to the goal it was spent for.
 *
 * All costs of the session are reported here (spending_watch()): steps, compaction, tools, hooks,
 * the judge, questions beside the conversation. Figures gather in g->pending and go to the store at
 * the end of each tool, between calls, at the end of a turn and before a status changes: one
 * statement each, under the goal_id that they were measured for. Time is that of turns, by the
 * monotonic clock, in whole seconds; fractions are carried over.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "goal/goal_state.h"
#include "guard/permit.h"
#include "json/jw.h"

void account_attach(struct goal *g)
{
    memset(g->pending, 0, sizeof(g->pending));
    g->turn_goal[0] = '\0';
    g->clock_ms = clock_mono_ms();
    g->carry_ms = 0;
    if (g->has && g->in_turn && permit_mode(g->spec.permit) != MODE_PLAN &&
        (g->row.status == GOAL_ACTIVE || g->row.status == GOAL_BUDGET_LIMITED))
        snprintf(g->turn_goal, sizeof(g->turn_goal), "%.*s", STR_ARG(g->row.goal_id));
    g->turn_is_own = g->turn_is_own || g->turn_goal[0];
}

void account_detach(struct goal *g)
{
    g->turn_goal[0] = '\0';
    g->wrap_up = GOAL_WRAP_UP;
}

void account_begin(struct goal *g)
{
    int64_t carry = g->carry_ms;

    (void)account_flush(g, CHARGE_ACTIVE_ONLY,
                        /*err=*/NULL); /* the costs since the last turn */
    g->in_turn = true;
    g->turn_is_own = false;
    account_attach(g);
    g->carry_ms = carry;
}

/* Who pays now; empty: no one. */
static struct str account_payer(const struct goal *g)
{
    if (g->in_turn)
        return str_of(g->turn_goal);
    return goal_is_active(g) ? g->row.goal_id : STR("");
}

static int64_t charged(const struct llm_usage *u)
{
    return u->input + u->cache_write + u->output;
}

void account_spend(void *goal, const struct spend *s)
{
    struct goal *g = goal;
    struct goal_pending *p = &g->pending[s->who];
    const struct llm_usage *u = &s->usage;

    goal_enter(g);
    g->session_output += u->output;
    if (s->is_step)
        g->broken = 0;
    if (account_payer(g).len) {
        p->tokens += charged(u);
        p->output_tokens += u->output;
        p->steps += s->is_step;
        if (isnan(s->usd))
            p->unknown = p->unknown || u->known;
        else
            p->usd += s->usd;
        p->any = true;
    }
    goal_leave(g);
}

void account_limit(struct goal *g)
{
    int64_t tokens = g->row.token_budget - g->row.tokens_used;
    double usd = g->row.max_cost_usd - g->row.cost_usd;
    bool binds = g->has && (g->row.status == GOAL_ACTIVE || g->row.status == GOAL_BUDGET_LIMITED);

    if (!g->spec.spending)
        return;
    for (size_t i = 0; i < ARRAY_LEN(g->pending); i++) {
        tokens -= g->pending[i].tokens;
        usd -= g->pending[i].usd;
    }
    spending_limit_goal(g->spec.spending,
                        !binds || !g->row.token_budget ? SPENDING_NO_LIMIT
                        : tokens > 0                   ? tokens
                                                       : 0,
                        !binds || g->row.max_cost_usd <= 0 ? (double)SPENDING_NO_LIMIT
                        : usd > 0                          ? usd
                                                           : 0);
}

static int64_t account_seconds(struct goal *g)
{
    int64_t now = clock_mono_ms();
    int64_t ms = now - g->clock_ms + g->carry_ms;

    g->clock_ms = now;
    if (ms < 0)
        ms = 0;
    g->carry_ms = ms % 1000;
    return ms / 1000;
}

static void account_event(const struct goal_charge *c, enum spent_who who, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, 0);
    jw_object(&w);
    jw_kcstr(&w, "who", spent_who_name(who));
    jw_ki64(&w, "tokens", c->tokens);
    jw_ki64(&w, "output_tokens", c->output_tokens);
    jw_key(&w, "cost_usd");
    jw_double(&w, c->cost_usd);
    if (c->cost_unknown)
        jw_kbool(&w, "cost_unknown", true);
    jw_ki64(&w, "seconds", c->seconds);
    jw_ki64(&w, "steps", c->steps);
    jw_object_end(&w);
}

static int account_one(struct goal *g, struct str payer, enum spent_who who, enum goal_mode mode,
                       int64_t seconds, struct err *err)
{
    struct goal_pending *p = &g->pending[who];
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct goal_charge c = {
        .expected_goal_id = payer,
        .mode = mode,
        .seconds = seconds,
        .tokens = p->tokens,
        .output_tokens = p->output_tokens,
        .steps = p->steps,
        .cost_usd = p->usd,
        .cost_unknown = p->unknown,
    };
    struct goal_event event = {
        .goal_id = payer,
        .time_ms = clock_wall_ms(),
        .kind = STR("charge"),
    };
    struct store_goal row;
    int r;

    account_event(&c, who, &data);
    event.data = buf_str(&data);
    r = store_goal_account(g->store, str_of(g->spec.session), &c, event.time_ms, &event, &arena,
                           &row, /*cancel=*/NULL, err);
    /* It was stopped since: earlier use is still charged to it. */
    if (r == 0 && str_eq(row.goal_id, payer)) {
        c.mode = row.status == GOAL_COMPLETE ? CHARGE_ACTIVE_OR_COMPLETE : CHARGE_ACTIVE_OR_STOPPED;
        r = store_goal_account(g->store, str_of(g->spec.session), &c, event.time_ms, &event, &arena,
                               &row, /*cancel=*/NULL, err);
    }
    if (r < 0)
        return -1; /* stays pending */
    *p = (struct goal_pending){0};
    if (row.cost_unknown && !g->row.cost_unknown && row.max_cost_usd > 0 &&
        str_eq(row.goal_id, g->row.goal_id))
        goal_notice(g, LEVEL_WARNING,
                    "goal: something that has no known price was used, so its limit of cost is no "
                    "longer kept; its other limits are");
    goal_take_row(g, &row);
    terms_look(g);
    goal_tell_row(g);
    return 0;
}

int account_flush(struct goal *g, enum goal_mode mode, struct err *err)
{
    char payer[ID_UUID_LEN + 1]; /* the row is read again with each charge */
    int64_t seconds = 0;
    int r = 0;

    snprintf(payer, sizeof(payer), "%.*s", STR_ARG(account_payer(g)));
    if (!payer[0] || !g->store)
        return 0;
    if (g->in_turn)
        seconds = account_seconds(g);
    if (seconds || g->pending[SPENT_MAIN].any) {
        r = account_one(g, str_of(payer), SPENT_MAIN, mode, seconds, err);
        if (r < 0)
            g->carry_ms += seconds * 1000;
    }
    for (enum spent_who who = SPENT_MAIN + 1; r == 0 && who < SPENT_COUNT; who++) {
        if (g->pending[who].any)
            r = account_one(g, str_of(payer), who, mode, /*seconds=*/0, err);
    }
    if (r < 0)
        log_debug("goal", "not charged yet: %s", err ? err->text : "");
    return r;
}

void account_end(struct goal *g)
{
    g->in_turn = false;
    g->turn_goal[0] = '\0';
    memset(g->pending, 0, sizeof(g->pending));
}

/* ---- Limits ---- */

/* How much of each limit is used; a negative limit: there is none. */
static void caps_of(const struct goal *g, int64_t now_ms, double used[LIMIT_NONE],
                    double limit[LIMIT_NONE])
{
    const struct store_goal *row = &g->row;

    used[LIMIT_TOKENS] = (double)row->tokens_used;
    limit[LIMIT_TOKENS] = row->token_budget > 0 ? (double)row->token_budget : -1;
    used[LIMIT_COST] = row->cost_usd;
    limit[LIMIT_COST] = row->max_cost_usd > 0 ? row->max_cost_usd : -1;
    used[LIMIT_TURNS] = (double)row->steps;
    limit[LIMIT_TURNS] = row->max_turns > 0 ? (double)row->max_turns : -1;
    used[LIMIT_DEADLINE] = (double)(now_ms - row->created_at_ms);
    limit[LIMIT_DEADLINE] =
        row->deadline_ms > 0 ? (double)(row->deadline_ms - row->created_at_ms) : -1;
}

void account_warn(struct goal *g)
{
    double used[LIMIT_NONE], limit[LIMIT_NONE];
    bool any = false;

    caps_of(g, clock_wall_ms(), used, limit);
    for (int c = LIMIT_TOKENS; c < LIMIT_NONE; c++) {
        CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
        struct jw w;

        if (limit[c] < 0 || used[c] < 0.8 * limit[c] || used[c] >= limit[c] ||
            g->memory.warned & 1u << c)
            continue;
        g->memory.warned |= 1u << c;
        any = true;
        goal_tell_begin(g, &w, &data);
        jw_kcstr(&w, "which", goal_limit_name((enum goal_limit)c));
        jw_key(&w, "used");
        jw_double(&w, used[c]);
        jw_key(&w, "limit");
        jw_double(&w, limit[c]);
        jw_object_end(&w);
        goal_note(g, "warning", buf_str(&data));
        goal_tell(g, "goal_updated", buf_str(&data));
    }
    if (any)
        (void)goal_remember(g, /*err=*/NULL);
}
