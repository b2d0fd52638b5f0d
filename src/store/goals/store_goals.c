/*
 * The rows of goals: reading, and changing by the rules of goal_rule.h.
 *
 * A change is one transaction: read the row, apply the rule, write the row and its ledger entry.
 * Writers are serialized (STORE_WRITE), so each change sees the result of the previous one. Any
 * thread.
 */
#include "store/goals/goals.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/secret.h"
#include "store/goals/goal_check.h"
#include "store/goals/goal_rule.h"
#include "store/goals/store_goal_events.h"
#include "store/goals/store_goal_guard.h"
#include "store/query.h"

#define BIT(status) (1U << (status))

/* ---- Reading ---- */

int store_goal_get(struct store *s, struct str thread, struct arena *arena, struct store_goal *ret,
                   struct cancel *cancel, struct err *err)
{
    struct goal_get get = {.thread = thread, .arena = arena};
    struct err why = {0};
    bool is_known = goal_guard_knows(s, thread);
    int64_t patience_ms = is_known ? 0 : STORE_PATIENCE_MS;
    int found = store_run_for(s, STORE_READ, STORE_NOTHING, goal_guard_read, &get, patience_ms,
                              cancel, &why);

    /* Another program has changed a row that this process holds; restoring it needs a write. */
    if (found == GOAL_GUARD_DIFFERS)
        found = store_run_for(s, STORE_WRITE, STORE_GOALS, goal_guard_write, &get, patience_ms,
                              cancel, &why);
    if (found < 0 && why.code == ERR_RETRY_LATER && is_known)
        found = goal_guard_recall(s, &get);
    if (found < 0 && err)
        *err = why;
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
                   "SELECT " COLUMNS " FROM thread_goals WHERE $1='' OR status=$1"
                   " ORDER BY updated_at_ms DESC, thread_id LIMIT $2",
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

/* ---- Changing ---- */

static struct str clean_text(struct arena *arena, struct str text)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);

    if (!secret_is_in(text))
        return arena_str(arena, text);
    buf_add(&clean, text);
    secret_scrub(&clean);
    return arena_str(arena, buf_str(&clean));
}

/* The row as it will be read again: texts in the arena, without secrets. */
static void clean_row(struct arena *arena, struct store_goal *row)
{
    row->thread_id = clean_text(arena, row->thread_id);
    row->goal_id = clean_text(arena, row->goal_id);
#define CLEAN_TEXT(name) row->name = clean_text(arena, row->name);
#define CLEAN_STATUS(name)
#define CLEAN_NUMBER(name)
#define CLEAN_MONEY(name)
#define CLEAN_FLAG(name)
#define CLEAN(kind, name) CLEAN_##kind(name)
    GOAL_COLUMNS(CLEAN)
}

int goal_write_apply(struct goal_write *w)
{
    struct store_goal row = w->get.row;
    int changed = w->rule(&row, w->what, w->now_ms);

    if (changed && !w->deletes) {
        row.thread_id = w->get.thread;
        clean_row(w->get.arena, &row);
        w->get.row = row;
    }
    return changed;
}

struct goal_event goal_write_event(const struct goal_write *w, const struct goal_event *e)
{
    struct goal_event mine = *e;

    mine.goal_id = w->get.row.goal_id;
    mine.time_ms = w->now_ms;
    mine.status = w->get.row.status;
    return mine;
}

static int goal_write(struct store *s, void *arg, struct err *err)
{
    struct goal_write *w = arg;
    int changed;

    if (goal_guard_write(s, &w->get, err) < 0)
        return -1;
    changed = goal_write_apply(w);
    if (!changed)
        store_unchanged(s);
    else if ((w->deletes ? goal_row_delete(s, w->get.thread, err)
                         : goal_row_put(s, &w->get.row, err)) < 0)
        return -1;
    for (const struct goal_event *it = w->event; changed && it; it = it->next) {
        struct goal_event e = goal_write_event(w, it);

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
    struct err why = {0};
    bool is_known;
    int rc;

    if (goal_check_thread(w->get.thread, err) < 0 || goal_check_event(w->event, err) < 0)
        return -1;
    w->get.arena = ret ? arena : &scratch;
    is_known = goal_guard_knows(s, w->get.thread);
    rc = store_run_for(s, STORE_WRITE, STORE_GOALS, goal_write, w, is_known ? 0 : STORE_PATIENCE_MS,
                       cancel, &why);
    if (rc < 0 && why.code == ERR_RETRY_LATER && is_known)
        rc = goal_guard_postpone(s, w);
    if (rc < 0 && err)
        *err = why;
    if (rc >= 0 && ret)
        *ret = w->get.row;
    return rc;
}

int store_goal_replace(struct store *s, const struct store_goal *g, int64_t now_ms,
                       const struct goal_event *event, struct arena *arena, struct store_goal *ret,
                       struct cancel *cancel, struct err *err)
{
    struct goal_write w = {goal_rule_replace, g, now_ms, event, .get.thread = g->thread_id};

    if (goal_check_row(g, err) < 0)
        return -1;
    return goal_run(s, &w, arena, ret, cancel, err) < 0 ? -1 : 0;
}

int store_goal_insert(struct store *s, const struct store_goal *g, int64_t now_ms,
                      const struct goal_event *event, struct arena *arena, struct store_goal *ret,
                      struct cancel *cancel, struct err *err)
{
    struct goal_write w = {goal_rule_insert, g, now_ms, event, .get.thread = g->thread_id};

    if (goal_check_row(g, err) < 0)
        return -1;
    return goal_run(s, &w, arena, ret, cancel, err);
}

int store_goal_update(struct store *s, struct str thread, const struct goal_update *u,
                      int64_t now_ms, const struct goal_event *event, struct arena *arena,
                      struct store_goal *ret, struct cancel *cancel, struct err *err)
{
    struct goal_write w = {goal_rule_update, u, now_ms, event, .get.thread = thread};

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

int store_goal_delete(struct store *s, struct str thread, struct str expected_goal_id,
                      int64_t now_ms, const struct goal_event *event, struct arena *arena,
                      struct store_goal *ret, struct cancel *cancel, struct err *err)
{
    struct goal_write w = {goal_rule_delete, &expected_goal_id,   now_ms, event,
                           .deletes = true,  .get.thread = thread};

    return goal_run(s, &w, arena, ret, cancel, err);
}

int store_goal_account(struct store *s, struct str thread, const struct goal_charge *c,
                       int64_t now_ms, const struct goal_event *event, struct arena *arena,
                       struct store_goal *ret, struct cancel *cancel, struct err *err)
{
    struct goal_write w = {goal_rule_account, c, now_ms, event, .get.thread = thread};
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

/* ---- Everything ---- */

static int goal_forget(struct store *s, void *arg, struct err *err)
{
    static const char *const statements[] = {"DELETE FROM thread_goals WHERE thread_id=$1",
                                             "DELETE FROM goal_events WHERE thread_id=$1",
                                             "DELETE FROM goal_next WHERE thread_id=$1"};
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
