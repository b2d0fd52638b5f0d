/*
 * row_json: a goal's row as JSON. Pure; any thread.
 */
#include "goal/report/row_json.h"

#include "json/jw.h"

void goal_row_write_limit(struct jw *w, const char *key, int64_t limit)
{
    jw_key(w, key);
    if (limit)
        jw_i64(w, limit);
    else
        jw_null(w);
}

void goal_row_write_usd_limit(struct jw *w, const char *key, double usd)
{
    jw_key(w, key);
    if (usd > 0)
        jw_double(w, usd);
    else
        jw_null(w);
}

static void write_text(struct jw *w, const char *key, struct str text)
{
    if (text.len)
        jw_kstr(w, key, text);
}

static void write_raw(struct jw *w, const char *key, struct str json)
{
    if (json.len)
        jw_kraw(w, key, json);
}

void goal_row_write_status(const struct store_goal *g, struct jw *w)
{
    jw_kstr(w, "goal_id", g->goal_id);
    jw_kcstr(w, "status", goal_status_name(g->status));
    if (g->status == GOAL_ACTIVE)
        write_text(w, "phase", g->phase);
    jw_ki64(w, "iterations", g->iterations);
    jw_ki64(w, "turns", g->steps);
    jw_ki64(w, "tokens_used", g->tokens_used);
    jw_ki64(w, "output_tokens", g->output_tokens);
    goal_row_write_limit(w, "token_budget", g->token_budget);
    jw_ki64(w, "time_used_seconds", g->time_used_seconds);
    jw_key(w, "cost_usd");
    jw_double(w, g->cost_usd);
    if (g->cost_unknown)
        jw_kbool(w, "cost_unknown", true);
    write_text(w, "last_reason", g->last_reason);
}

void goal_row_write(const struct store_goal *g, struct jw *w)
{
    jw_kstr(w, "session_id", g->thread_id);
    jw_kstr(w, "objective", g->objective);
    goal_row_write_status(g, w);
    write_raw(w, "phase_detail", g->phase_detail);
    goal_row_write_limit(w, "max_turns", g->max_turns);
    goal_row_write_usd_limit(w, "max_cost_usd", g->max_cost_usd);
    goal_row_write_limit(w, "deadline_ms", g->deadline_ms);
    write_raw(w, "checks", g->checks);
    write_raw(w, "protect", g->protect);
    write_raw(w, "baseline", g->baseline);
    write_raw(w, "options", g->options);
    jw_ki64(w, "created_at_ms", g->created_at_ms);
    jw_ki64(w, "updated_at_ms", g->updated_at_ms);
}

const char *goal_row_thread_status(enum goal_status status)
{
    static const char *const names[] = {
        [GOAL_ACTIVE] = "active",
        [GOAL_PAUSED] = "paused",
        [GOAL_BLOCKED] = "blocked",
        [GOAL_USAGE_LIMITED] = "usageLimited",
        [GOAL_BUDGET_LIMITED] = "budgetLimited",
        [GOAL_COMPLETE] = "complete",
    };

    return names[status];
}

void goal_row_write_thread(const struct store_goal *g, struct str objective, struct jw *w)
{
    jw_kstr(w, "threadId", g->thread_id);
    jw_kstr(w, "objective", objective);
    jw_kcstr(w, "status", goal_row_thread_status(g->status));
    goal_row_write_limit(w, "tokenBudget", g->token_budget);
    jw_ki64(w, "tokensUsed", g->tokens_used);
    jw_ki64(w, "timeUsedSeconds", g->time_used_seconds);
    jw_ki64(w, "createdAt", g->created_at_ms / 1000);
    jw_ki64(w, "updatedAt", g->updated_at_ms / 1000);
}

void goal_row_write_whole(const struct store_goal *g, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, JW_CLEAN);
    if (!g->thread_id.len) {
        jw_null(&w);
        return;
    }
    jw_object(&w);
    goal_row_write_thread(g, g->objective, &w);
    jw_object_end(&w);
}
