/*
 * The tools a model has for its goal: to look at it, to create one if the user asks for it, and to
 * say that it is complete or blocked. Saying so decides nothing: a claim is judged, and a blocker
 * must stay the same for three turns. Pausing, resuming and limits are not the model's.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/err.h"
#include "goal/entries.h"
#include "goal/goal_state.h"
#include "goal/report/display.h"
#include "guard/permit.h"
#include "json/json.h"
#include "json/jw.h"

static struct goal *tool_goal(struct tool_call *call, struct err *err)
{
    if (!goal_in(call->referee)) {
        err_set(err, ERR_UNSUPPORTED, "this session has no goals");
        return NULL;
    }
    if (permit_mode(call->permit) == MODE_PLAN) {
        err_set(err, ERR_UNSUPPORTED, "goals rest while the session is in plan mode");
        return NULL;
    }
    return goal_in(call->referee);
}

/* The goal is held. */
static void goal_write_json(struct goal *g, struct jw *w)
{
    const struct store_goal *row = &g->row;

    if (!g->has) {
        jw_null(w);
        return;
    }
    jw_object(w);
    jw_kstr(w, "thread_id", row->thread_id);
    jw_kstr(w, "goal_id", row->goal_id);
    jw_kstr(w, "objective", g->text.len ? buf_str(&g->text) : row->objective);
    jw_kcstr(w, "status", goal_status_name(row->status));
    jw_key(w, "token_budget");
    if (row->token_budget)
        jw_i64(w, row->token_budget);
    else
        jw_null(w);
    jw_ki64(w, "tokens_used", row->tokens_used);
    jw_ki64(w, "time_used_seconds", row->time_used_seconds);
    jw_ki64(w, "iterations", row->iterations);
    if (row->last_reason.len)
        jw_kstr(w, "last_reason", row->last_reason);
    jw_ki64(w, "created_at_ms", row->created_at_ms);
    jw_ki64(w, "updated_at_ms", row->updated_at_ms);
    jw_object_end(w);
}

/* {"goal", "remaining_tokens", "usage"?}; the goal is held. */
static void write_response(struct goal *g, bool with_usage, struct buf *ret)
{
    int64_t left = g->row.token_budget - g->row.tokens_used;
    struct jw w;

    jw_init(&w, ret, 0);
    jw_object(&w);
    jw_key(&w, "goal");
    goal_write_json(g, &w);
    jw_key(&w, "remaining_tokens");
    if (g->has && g->row.token_budget)
        jw_i64(&w, left > 0 ? left : 0);
    else
        jw_null(&w);
    if (with_usage && g->has) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 10);

        goal_show_tokens(g->row.tokens_used, &text);
        buf_adds(&text, " tokens in ");
        goal_show_elapsed(g->row.time_used_seconds, &text);
        if (g->row.token_budget) {
            buf_adds(&text, ", of a budget of ");
            goal_show_tokens(g->row.token_budget, &text);
        }
        jw_kstr(&w, "usage", buf_str(&text));
    }
    jw_object_end(&w);
}

static void respond(struct goal *g, bool with_usage, struct tool_result *ret)
{
    write_response(g, with_usage, &ret->data);
    buf_add(&ret->text, buf_str(&ret->data));
}

static int get_goal(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct goal *g = tool_goal(call, err);
    int r;

    if (!g)
        return -1;
    goal_enter(g);
    r = g->has ? goal_read_row(g, err) : 0;
    if (r == 0)
        respond(g, /*with_usage=*/false, ret);
    goal_leave(g);
    return r;
}

static int create_goal(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct goal *g = tool_goal(call, err);
    CLEANUP(goal_answer_release) struct goal_answer answer = GOAL_ANSWER_INIT;
    int64_t budget = 0;

    if (!g)
        return -1;
    if (json_get(call->args, "token_budget") &&
        (!json_i64(json_get(call->args, "token_budget"), &budget) || budget <= 0 ||
         budget > GOAL_MAX_NUMBER))
        return err_set(err, ERR_BAD_INPUT, "token_budget must be a whole number of at least 1");
    if (goal_create(g, json_get_str(call->args, "objective"), budget, call->cancel, &answer, err) <
        0)
        return -1;
    goal_enter(g);
    g->drives = true;
    respond(g, /*with_usage=*/false, ret);
    goal_leave(g);
    return 0;
}

static int say_complete(struct goal *g, struct tool_call *call, struct tool_result *ret,
                        struct err *err)
{
    int r = goal_claim_complete(g, json_get_str(call->args, "reason"), call->cancel, ret, err);

    if (r <= 0)
        return r;
    goal_enter(g);
    respond(g, /*with_usage=*/true, ret);
    if (g->row.status != GOAL_COMPLETE)
        buf_adds(&ret->text, "\nThe claim is accepted. The goal is complete when this turn ends, "
                             "unless the workspace changes before: change nothing more.");
    goal_leave(g);
    return 0;
}

static int say_blocked(struct goal *g, struct tool_call *call, struct tool_result *ret,
                       struct err *err)
{
    struct str reason = str_trim(json_get_str(call->args, "reason"));
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 14);
    struct jw w;
    int n, r = 0;

    if (!reason.len)
        return err_set(err, ERR_BAD_INPUT, "say in reason what blocks you and what would help");
    goal_enter(g);
    n = stall_blocker(g, reason);
    goal_tell_begin(g, &w, &data);
    jw_kstr(&w, "reason", str_clip(reason, 8 << 10));
    jw_ki64(&w, "count", n);
    jw_object_end(&w);
    goal_note(g, "blocker", buf_str(&data));
    (void)goal_remember(g, /*err=*/NULL);
    if (n >= GOAL_BLOCKERS) {
        (void)account_flush(g, CHARGE_ACTIVE_OR_STOPPED, /*err=*/NULL);
        r = goal_set_status(g, GOAL_BLOCKED, 1u << GOAL_ACTIVE, reason, "model", err);
        account_detach(g);
    }
    if (r >= 0)
        respond(g, /*with_usage=*/false, ret);
    if (r >= 0 && n < GOAL_BLOCKERS)
        buf_addf(&ret->text,
                 "\nRecorded (%d of %d). The goal stays active: try another way. Only the same "
                 "blocker in %d turns running stops it.",
                 n, GOAL_BLOCKERS, GOAL_BLOCKERS);
    goal_leave(g);
    return r < 0 ? -1 : 0;
}

static int update_goal(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct goal *g = tool_goal(call, err);
    enum goal_status status = GOAL_COMPLETE;
    bool has;

    if (!g)
        return -1;
    goal_enter(g);
    has = g->has && goal_read_row(g, err) == 0 && g->has;
    if (has)
        status = g->row.status;
    goal_leave(g);
    if (!has)
        return err_set(err, ERR_NOT_FOUND, "there is no goal to update");
    if (status != GOAL_ACTIVE && status != GOAL_BUDGET_LIMITED)
        return err_set(err, ERR_UNSUPPORTED, "the goal is %s; only the user can change that",
                       goal_show_status(status));
    if (str_is(json_get_str(call->args, "status"), "complete"))
        return say_complete(g, call, ret, err);
    if (status != GOAL_ACTIVE)
        return err_set(err, ERR_UNSUPPORTED, "the goal is %s already", goal_show_status(status));
    return say_blocked(g, call, ret, err);
}

#define ROW(id)                                                                                    \
    static const struct tool_entry id##_entry = {                                                  \
        .name = #id,                                                                               \
        .text = tool_##id##_md,                                                                    \
        .schema = tool_##id##_schema,                                                              \
        .flags = TOOL_FREE | TOOL_REFEREE,                                                         \
        .run = id,                                                                                 \
    }
ROW(get_goal);
ROW(create_goal);
ROW(update_goal);

const struct tool_entry *const *goal_tools(void)
{
    static const struct tool_entry *const table[] = {
        &get_goal_entry,
        &create_goal_entry,
        &update_goal_entry,
        NULL,
    };

    return table;
}
