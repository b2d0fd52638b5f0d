/*
 * The goals' rows. Every rule of goals.h is in the SQL of this file, one statement an operation:
 * whatever writers do at the same time, each change sees the row that the one before has left.
 *
 * All statements that change a row have the thread as ?1 and the present time as ?2, and SPENT is
 * told what counters and limits will be, as expressions: an UPDATE's columns are those from before.
 * A limit that is not there is NULL, and nothing is >= NULL. The row that is answered is read in
 * the same transaction; RETURNING would do the same through a table of its own, at three times the
 * price. Any thread.
 */
#include "store/goals.h"

#include <assert.h>

#include "base/arena.h"
#include "base/err.h"
#include "store/goal_check.h"
#include "store/store_goal_events.h"
#include "store/store_goal_guard.h"
#include "store/store_sqlite.h"

#define MOST "9007199254740992"
static_assert(GOAL_MAX_NUMBER == 9007199254740992, "MOST says the same");

#define SPENT(tokens, budget, steps, turns, cost, max_cost, deadline)                              \
    "(" tokens ">=" budget " OR " steps ">=" turns " OR " cost ">=" max_cost " OR ?2>=" deadline ")"

/* 1 << GOAL_…, of the row as it was. */
#define STATUS_BIT                                                                                 \
    "CASE status WHEN 'active' THEN 1 WHEN 'paused' THEN 2 WHEN 'blocked' THEN 4"                  \
    " WHEN 'usage_limited' THEN 8 WHEN 'budget_limited' THEN 16 WHEN 'complete' THEN 32 END"
#define BIT(status) (1U << (status))
static_assert(BIT(GOAL_PAUSED) == 2 && BIT(GOAL_BLOCKED) == 4 && BIT(GOAL_USAGE_LIMITED) == 8 &&
                  BIT(GOAL_BUDGET_LIMITED) == 16 && BIT(GOAL_COMPLETE) == 32,
              "STATUS_BIT says the same");

/* ---- Reading ---- */

int store_goal_get(struct store *s, struct str thread, struct arena *arena, struct store_goal *ret,
                   struct cancel *cancel, struct err *err)
{
    struct goal_get get = {.thread = thread, .arena = arena};
    int found = store_run(s, STORE_READ, STORE_NOTHING, goal_guard_read, &get, cancel, err);

    /* Another program has changed a row that this process holds: to restore it is a write. */
    if (found == GOAL_GUARD_DIFFERS)
        found = store_run(s, STORE_WRITE, STORE_GOALS, goal_guard_write, &get, cancel, err);
    if (found > 0)
        *ret = get.row;
    return found;
}

struct goal_list {
    struct str status;
    size_t max;
    struct arena *arena;
    store_goal_vec *rows;
};

static int goal_list(struct store *s, void *arg, struct err *err)
{
    struct goal_list *list = arg;
    CLEANUP(query_release) struct query q = {0};

    list->rows->len = 0;
    if (query_make(&q, s,
                   "SELECT " COLUMNS " FROM thread_goals WHERE ?1='' OR status=?1"
                   " ORDER BY updated_at_ms DESC, thread_id LIMIT ?2",
                   err) < 0)
        return -1;
    query_str(&q, list->status);
    query_i64(&q, list->max < INT32_MAX ? (int64_t)list->max : INT32_MAX);
    for (;;) {
        int rc = query_step(&q, err);

        if (rc <= 0)
            return rc;
        goal_from_row(&q, list->arena, vec_add(list->rows));
    }
}

int store_goals(struct store *s, enum goal_status status, size_t max, struct arena *arena,
                store_goal_vec *ret, struct cancel *cancel, struct err *err)
{
    struct goal_list list = {str_of(goal_status_name(status)), max, arena, ret};

    return store_run(s, STORE_READ, STORE_NOTHING, goal_list, &list, cancel, err);
}

/* ---- Changing: one statement, the row, and its line in the ledger ---- */

struct goal_write {
    const char *sql;
    void (*bind)(struct query *q, const void *what); /* from ?3 on */
    const void *what;
    int64_t now_ms;
    const struct goal_event *event;
    bool deletes;
    struct goal_get get; /* its row: the one that was changed, or the one that is there */
};

static struct goal_write goal_write_of(const char *sql,
                                       void (*bind)(struct query *q, const void *what),
                                       const void *what, struct str thread, int64_t now_ms,
                                       const struct goal_event *event)
{
    return (struct goal_write){
        .sql = sql,
        .bind = bind,
        .what = what,
        .now_ms = now_ms,
        .event = event,
        .get.thread = thread,
    };
}

static int goal_change(struct store *s, struct goal_write *w, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};

    if (query_keep(&q, s, w->sql, err) < 0)
        return -1;
    query_str(&q, w->get.thread);
    query_i64(&q, w->now_ms);
    w->bind(&q, w->what);
    return query_do(&q, err) < 0 ? -1 : query_changes(&q);
}

static int goal_write(struct store *s, void *arg, struct err *err)
{
    struct goal_write *w = arg;
    int changed;

    if (goal_guard_check(s, w->get.thread, err) < 0 ||
        (w->deletes && goal_row_get(s, &w->get, err) < 0))
        return -1;
    changed = goal_change(s, w, err);
    if (changed < 0 || (!w->deletes && goal_row_get(s, &w->get, err) < 0))
        return -1;
    if (!changed)
        store_unchanged(s);
    for (const struct goal_event *it = w->event; changed && it; it = it->next) {
        struct goal_event e = *it;

        e.goal_id = w->get.row.goal_id;
        e.time_ms = w->now_ms;
        e.status = w->get.row.status;
        if (goal_event_insert(s, w->get.thread, &e, err) < 0)
            return -1;
    }
    goal_guard_note(s, w->get.thread, changed && w->deletes ? NULL : &w->get.row);
    return changed;
}

static int goal_run(struct store *s, struct goal_write *w, struct arena *arena,
                    struct store_goal *ret, struct cancel *cancel, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = ARENA_INIT;
    int rc;

    if (goal_check_thread(w->get.thread, err) < 0 || goal_check_event(w->event, err) < 0)
        return -1;
    w->get.arena = ret ? arena : &scratch;
    rc = store_run(s, STORE_WRITE, STORE_GOALS, goal_write, w, cancel, err);
    if (rc >= 0 && ret)
        *ret = w->get.row;
    return rc;
}

/* ---- Replace and insert ---- */

#define EXCLUDED(kind, name) ", " #name "=excluded." #name
#define PUT                                                                                        \
    "INSERT INTO thread_goals(" COLUMNS ") VALUES(?1, ?3, ?4,"                                     \
    " CASE WHEN ?5='active' AND ?2>=nullif(?11, 0) THEN 'budget_limited' ELSE ?5 END, ?6, ?7,"     \
    " nullif(?8, 0), nullif(?9, 0), nullif(?10, 0), nullif(?11, 0), 0, 0, 0, 0, 0, 0, 0, ?12,"     \
    " ?13, ?14, ?15, ?16, ?17, ?2, ?2)"                                                            \
    " ON CONFLICT(thread_id) DO UPDATE SET goal_id=excluded.goal_id" GOAL_COLUMNS(EXCLUDED)

static void bind_goal(struct query *q, const void *what)
{
    const struct store_goal *g = what;

    query_str(q, g->goal_id);
    query_str(q, str_trim(g->objective));
    query_str(q, str_of(goal_status_name(g->status)));
    query_str(q, g->phase);
    query_str(q, g->phase_detail);
    query_i64(q, g->token_budget);
    query_i64(q, g->max_turns);
    query_double(q, g->max_cost_usd);
    query_i64(q, g->deadline_ms);
    query_str(q, g->last_reason);
    query_str(q, g->checks);
    query_str(q, g->protect);
    query_str(q, g->baseline);
    query_str(q, g->options);
    query_str(q, g->memory);
}

int store_goal_replace(struct store *s, const struct store_goal *g, int64_t now_ms,
                       const struct goal_event *event, struct arena *arena, struct store_goal *ret,
                       struct cancel *cancel, struct err *err)
{
    struct goal_write w = goal_write_of(PUT, bind_goal, g, g->thread_id, now_ms, event);

    if (goal_check_row(g, err) < 0)
        return -1;
    return goal_run(s, &w, arena, ret, cancel, err) < 0 ? -1 : 0;
}

int store_goal_insert(struct store *s, const struct store_goal *g, int64_t now_ms,
                      const struct goal_event *event, struct arena *arena, struct store_goal *ret,
                      struct cancel *cancel, struct err *err)
{
    struct goal_write w = goal_write_of(PUT " WHERE thread_goals.status='complete'", bind_goal, g,
                                        g->thread_id, now_ms, event);

    if (goal_check_row(g, err) < 0)
        return -1;
    return goal_run(s, &w, arena, ret, cancel, err);
}

/* ---- Update ---- */

/* A limit behind the update. */
#define LIMIT(name, used, what, value)                                                             \
    "CASE " what " WHEN 1 THEN " value " WHEN 2 THEN NULL"                                         \
    " WHEN 3 THEN min(max(" name ", " used ")+" value ", " MOST ") ELSE " name " END"
static_assert(CHANGE_SET == 1 && CHANGE_CLEAR == 2 && CHANGE_ADD == 3, "LIMIT says the same");

#define BUDGET LIMIT("token_budget", "tokens_used", "?6", "?7")
#define TURNS LIMIT("max_turns", "steps", "?8", "?9")
#define DEADLINE LIMIT("deadline_ms", "?2", "?10", "?11")
#define MAX_COST LIMIT("max_cost_usd", "cost_usd", "?12", "?13")
#define WANTED "coalesce(?5, status)"
#define SPENT_THEN SPENT("tokens_used", BUDGET, "steps", TURNS, "cost_usd", MAX_COST, DEADLINE)

static const char update_sql[] =
    "UPDATE thread_goals SET status=CASE"
    "  WHEN status='budget_limited' AND ?5 IN('paused', 'blocked') THEN status"
    "  WHEN " WANTED "='active' AND " SPENT_THEN " THEN 'budget_limited'"
    "  ELSE " WANTED " END,"
    " token_budget=" BUDGET ", max_turns=" TURNS ", deadline_ms=" DEADLINE ","
    " max_cost_usd=" MAX_COST ", iterations=min(iterations+?14, " MOST "),"
    " objective=coalesce(?15, objective), phase=coalesce(?16, phase),"
    " phase_detail=coalesce(?17, phase_detail), last_reason=coalesce(?18, last_reason),"
    " checks=coalesce(?19, checks), protect=coalesce(?20, protect),"
    " baseline=coalesce(?21, baseline), options=coalesce(?22, options),"
    " memory=coalesce(?23, memory), updated_at_ms=?2"
    " WHERE thread_id=?1 AND (?3='' OR goal_id=?3) AND (?4=0 OR ?4 & " STATUS_BIT ")";

static void bind_limit(struct query *q, const struct goal_limit_change *c)
{
    query_i64(q, c->what);
    query_i64(q, c->value);
}

static void bind_update(struct query *q, const void *what)
{
    const struct goal_update *u = what;
    struct str status = str_of(goal_status_name(u->status));
    struct str objective = u->objective ? str_trim(*u->objective) : STR("");

    query_str(q, u->expected_goal_id);
    query_i64(q, u->from);
    query_opt(q, u->has_status ? &status : NULL);
    bind_limit(q, &u->token_budget);
    bind_limit(q, &u->max_turns);
    bind_limit(q, &u->deadline_ms);
    query_i64(q, u->max_cost);
    query_double(q, u->max_cost_usd);
    query_i64(q, u->add_iterations);
    query_opt(q, u->objective ? &objective : NULL);
    query_opt(q, u->phase);
    query_opt(q, u->phase_detail);
    query_opt(q, u->last_reason);
    query_opt(q, u->checks);
    query_opt(q, u->protect);
    query_opt(q, u->baseline);
    query_opt(q, u->options);
    query_opt(q, u->memory);
}

int store_goal_update(struct store *s, struct str thread, const struct goal_update *u,
                      int64_t now_ms, const struct goal_event *event, struct arena *arena,
                      struct store_goal *ret, struct cancel *cancel, struct err *err)
{
    struct goal_write w = goal_write_of(update_sql, bind_update, u, thread, now_ms, event);

    if (goal_check_update(u, err) < 0)
        return -1;
    return goal_run(s, &w, arena, ret, cancel, err);
}

int store_goal_pause_active(struct store *s, struct str thread, int64_t now_ms,
                            const struct goal_event *event, struct arena *arena,
                            struct store_goal *ret, struct cancel *cancel, struct err *err)
{
    struct goal_update u = {.from = BIT(GOAL_ACTIVE), .has_status = true, .status = GOAL_PAUSED};

    return store_goal_update(s, thread, &u, now_ms, event, arena, ret, cancel, err);
}

int store_goal_usage_limit_active(struct store *s, struct str thread, int64_t now_ms,
                                  const struct goal_event *event, struct arena *arena,
                                  struct store_goal *ret, struct cancel *cancel, struct err *err)
{
    struct goal_update u = {.from = BIT(GOAL_ACTIVE) | BIT(GOAL_BUDGET_LIMITED),
                            .has_status = true,
                            .status = GOAL_USAGE_LIMITED};

    return store_goal_update(s, thread, &u, now_ms, event, arena, ret, cancel, err);
}

/* ---- Delete ---- */

static void bind_id(struct query *q, const void *what)
{
    query_str(q, *(const struct str *)what);
}

int store_goal_delete(struct store *s, struct str thread, struct str expected_goal_id,
                      int64_t now_ms, const struct goal_event *event, struct arena *arena,
                      struct store_goal *ret, struct cancel *cancel, struct err *err)
{
    struct goal_write w =
        goal_write_of("DELETE FROM thread_goals WHERE thread_id=?1 AND (?3='' OR goal_id=?3)",
                      bind_id, &expected_goal_id, thread, now_ms, event);

    w.deletes = true;
    return goal_run(s, &w, arena, ret, cancel, err);
}

/* ---- Account ---- */

static const struct {
    unsigned reaches; /* goals of these statuses are charged */
    unsigned turns;   /* and those of these may become budget_limited */
} modes[] = {
    [CHARGE_ACTIVE_STATUS_ONLY] = {BIT(GOAL_ACTIVE), BIT(GOAL_ACTIVE)},
    [CHARGE_ACTIVE_ONLY] = {BIT(GOAL_ACTIVE) | BIT(GOAL_BUDGET_LIMITED), BIT(GOAL_ACTIVE)},
    [CHARGE_ACTIVE_OR_COMPLETE] = {BIT(GOAL_ACTIVE) | BIT(GOAL_BUDGET_LIMITED) | BIT(GOAL_COMPLETE),
                                   BIT(GOAL_ACTIVE)},
    [CHARGE_ACTIVE_OR_STOPPED] = {BIT(GOAL_STATUS_COUNT) - 1 - BIT(GOAL_COMPLETE),
                                  BIT(GOAL_STATUS_COUNT) - 1 - BIT(GOAL_COMPLETE)},
};

/* A counter behind the charge. */
#define ADD(name, value) "min(" name "+" value ", " MOST ")"
#define SECONDS ADD("time_used_seconds", "?6")
#define TOKENS ADD("tokens_used", "?7")
#define OUTPUT ADD("output_tokens", "?8")
#define STEPS ADD("steps", "?9")
#define COST ADD("cost_usd", "?10")
#define SPENT_NOW                                                                                  \
    SPENT(TOKENS, "token_budget", STEPS, "max_turns", COST, "max_cost_usd", "deadline_ms")

static const char account_sql[] =
    "UPDATE thread_goals SET"
    " status=CASE WHEN ?5 & " STATUS_BIT " AND " SPENT_NOW " THEN 'budget_limited'"
    "  ELSE status END,"
    " time_used_seconds=" SECONDS ", tokens_used=" TOKENS ", output_tokens=" OUTPUT ","
    " steps=" STEPS ", cost_usd=" COST ", cost_unknown=cost_unknown | ?11, updated_at_ms=?2"
    " WHERE thread_id=?1 AND (?3='' OR goal_id=?3) AND ?4 & " STATUS_BIT;

static void bind_charge(struct query *q, const void *what)
{
    const struct goal_charge *c = what;

    query_str(q, c->expected_goal_id);
    query_i64(q, modes[c->mode].reaches);
    query_i64(q, modes[c->mode].turns);
    query_i64(q, c->seconds);
    query_i64(q, c->tokens);
    query_i64(q, c->output_tokens);
    query_i64(q, c->steps);
    query_double(q, c->cost_usd);
    query_i64(q, c->cost_unknown);
}

int store_goal_account(struct store *s, struct str thread, const struct goal_charge *c,
                       int64_t now_ms, const struct goal_event *event, struct arena *arena,
                       struct store_goal *ret, struct cancel *cancel, struct err *err)
{
    struct goal_write w = goal_write_of(account_sql, bind_charge, c, thread, now_ms, event);
    bool nothing = !c->seconds && !c->tokens && !c->output_tokens && !c->steps &&
                   c->cost_usd == 0 && !c->cost_unknown;
    int found;

    if (goal_check_charge(c, err) < 0)
        return -1;
    if (!nothing)
        return goal_run(s, &w, arena, ret, cancel, err);
    if (!ret)
        return 0;
    found = store_goal_get(s, thread, arena, ret, cancel, err);
    if (found == 0)
        *ret = (struct store_goal){0};
    return found < 0 ? -1 : 0;
}

/* ---- All of it ---- */

static int goal_forget(struct store *s, void *arg, struct err *err)
{
    static const char *const statements[] = {"DELETE FROM thread_goals WHERE thread_id=?",
                                             "DELETE FROM goal_events WHERE thread_id=?",
                                             "DELETE FROM goal_next WHERE thread_id=?"};
    int changes = 0;

    for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
        CLEANUP(query_release) struct query q = {0};

        if (query_make(&q, s, statements[i], err) < 0)
            return -1;
        query_str(&q, *(struct str *)arg);
        if (query_do(&q, err) < 0)
            return -1;
        changes += query_changes(&q);
    }
    if (!changes)
        store_unchanged(s);
    return changes > 0;
}

int store_goals_forget(struct store *s, struct str thread, struct cancel *cancel, struct err *err)
{
    return store_run(s, STORE_WRITE, STORE_GOALS, goal_forget, &thread, cancel, err);
}
