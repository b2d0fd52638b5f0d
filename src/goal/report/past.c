/*
 * past: the charges add up to the usage, the last event on each thing gives its state. Any thread.
 */
#include "goal/report/past.h"

#include "base/arena.h"
#include "base/err.h"
#include "goal/report/report.h"
#include "goal/report/tally.h"
#include "json/json.h"

const char *goal_report_path(const goal_event_vec *events, struct arena *arena)
{
    struct str path = STR("");

    VEC_EACH(events, e) {
        const struct json *d = NULL;

        if (str_is(e->kind, "report") &&
            json_parse(arena, e->data, &d, /*ret_info=*/NULL, /*err=*/NULL) == 0)
            path = json_get_str(d, "path");
    }
    return path.len ? arena_cstr(arena, path) : NULL;
}

static int past_find(const goal_event_vec *events, struct str which, struct str *ret,
                     struct err *err)
{
    struct str id = STR("");

    VEC_EACH(events, e) {
        if (!e->goal_id.len || !str_starts(e->goal_id, which) || str_eq(e->goal_id, id))
            continue;
        if (id.len && which.len)
            return err_set(err, ERR_BAD_INPUT, "several goals of this session begin with %.*s",
                           STR_ARG(str_clip(which, 40)));
        id = e->goal_id;
    }
    if (!id.len)
        return which.len ? err_set(err, ERR_NOT_FOUND, "this session has had no goal %.*s",
                                   STR_ARG(str_clip(which, 40)))
                         : err_set(err, ERR_NOT_FOUND, "this session has no goal");
    *ret = id;
    return 0;
}

/* What events tell by the way. */
static void past_take(const struct goal_event *e, struct arena *arena, struct store_goal *g)
{
    const struct json *d = NULL;
    struct str objective;

    if (e->status < GOAL_STATUS_COUNT)
        g->status = e->status;
    g->updated_at_ms = e->time_ms;
    if (json_parse(arena, e->data, &d, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    g->iterations = json_get_i64(d, "iterations", g->iterations);
    objective = json_get_str(d, "objective");
    if (objective.len && (str_is(e->kind, "set") || str_is(e->kind, "edited")))
        g->objective = arena_str(arena, objective);
}

int past_goal(const goal_event_vec *events, struct str which, int64_t now_ms, struct arena *arena,
              struct store_goal *ret, struct err *err)
{
    CLEANUP(tally_release) struct tally t = TALLY_INIT;
    struct store_goal g = {.objective = STR("(the ledger has not kept its text)")};
    const struct json *limits;
    struct str id;

    if (past_find(events, which, &id, err) < 0)
        return -1;
    tally_read(&t, events, id, now_ms);
    VEC_EACH(events, e) {
        if (str_eq(e->goal_id, id))
            past_take(e, arena, &g);
    }
    limits = json_get(t.set, "limits");
    g.goal_id = arena_str(arena, id);
    g.created_at_ms = t.set_ms;
    g.token_budget = json_get_i64(limits, "token_budget", 0);
    g.max_turns = json_get_i64(limits, "max_turns", 0);
    (void)json_double(json_get(limits, "max_cost_usd"), &g.max_cost_usd);
    g.deadline_ms = json_get_i64(limits, "deadline_ms", 0);
    g.tokens_used = t.sum.tokens;
    g.output_tokens = t.sum.output_tokens;
    g.steps = t.sum.steps;
    g.time_used_seconds = t.sum.seconds;
    g.cost_usd = t.sum.cost_usd;
    g.cost_unknown = t.sum.cost_unknown;
    g.last_reason = arena_str(arena, json_get_str(t.last.data, "reason"));
    *ret = g;
    return 0;
}
