/*
 * thread_goal: a row as ThreadGoal.
 */
#include "proto/thread_goal.h"

#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "goal/goal.h"
#include "guard/permit.h"
#include "host/host.h"
#include "json/jw.h"

const char *thread_goal_status(int status)
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

void thread_goal_write_row(struct goal *g, const struct store_goal *row, struct jw *w)
{
    CLEANUP(buf_release) struct buf objective = BUF_INIT((size_t)4 << 20);

    if (g)
        goal_objective(g, row, &objective);
    else
        buf_add(&objective, row->objective);
    jw_kstr(w, "threadId", row->thread_id);
    jw_kstr(w, "objective", buf_str(&objective));
    jw_kcstr(w, "status", thread_goal_status(row->status));
    jw_key(w, "tokenBudget");
    if (row->token_budget)
        jw_i64(w, row->token_budget);
    else
        jw_null(w);
    jw_ki64(w, "tokensUsed", row->tokens_used);
    jw_ki64(w, "timeUsedSeconds", row->time_used_seconds);
    jw_ki64(w, "createdAt", row->created_at_ms / 1000);
    jw_ki64(w, "updatedAt", row->updated_at_ms / 1000);
}

void thread_goal_write(struct goal *g, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal row;
    struct jw w;

    jw_init(&w, ret, JW_CLEAN);
    if (!g || goal_get(g, &arena, &row, /*err=*/NULL) <= 0) {
        jw_null(&w);
        return;
    }
    jw_object(&w);
    thread_goal_write_row(g, &row, &w);
    if (row.phase.len)
        jw_kstr(&w, "phase", row.phase);
    jw_ki64(&w, "iterations", row.iterations);
    if (row.last_reason.len)
        jw_kstr(&w, "lastReason", row.last_reason);
    jw_object_end(&w);
}

bool thread_goal_goes_on(struct host *h, const struct turn_report *r)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal row;

    if (r->end == END_ABORTED_STREAMING || r->end == END_ABORTED_TOOLS || r->end == END_BUDGET ||
        permit_mode(host_permit(h)) == MODE_PLAN || !host_goal(h))
        return false;
    return goal_get(host_goal(h), &arena, &row, /*err=*/NULL) > 0 && row.status == GOAL_ACTIVE &&
           !str_is(row.phase, "waiting");
}
