/*
 * The queue of goals: rows with places from 1, without gaps, per thread. Removing one moves later
 * ones up in the same transaction. Any thread.
 */
#include "base/arena.h"
#include "base/err.h"
#include "store/goals/goal_check.h"
#include "store/query.h"

struct next_add {
    struct str thread;
    struct str objective, options;
};

static int next_add(struct store *s, void *arg, struct err *err)
{
    const struct next_add *add = arg;
    CLEANUP(query_release) struct query q = {0};
    int added;

    if (query_make(&q, s,
                   "INSERT INTO goal_next(thread_id, place, objective, options)"
                   " SELECT $1, count(*)+1, $2, $3 FROM goal_next WHERE thread_id=$1"
                   " HAVING count(*)<$4 RETURNING id",
                   err) < 0)
        return -1;
    query_str(&q, add->thread);
    query_str(&q, add->objective);
    query_str(&q, add->options);
    query_i64(&q, GOAL_MAX_NEXT);
    added = query_step(&q, err);
    if (added == 0)
        return err_set(err, ERR_TOO_BIG, "%d goals wait already", GOAL_MAX_NEXT);
    return added < 0 ? -1 : 0;
}

int store_goal_next_add(struct store *s, struct str thread, const struct goal_next *n,
                        struct cancel *cancel, struct err *err)
{
    struct next_add add = {thread, str_trim(n->objective), n->options};

    if (goal_check_thread(thread, err) < 0 || goal_check_objective(n->objective, err) < 0 ||
        goal_check_text("options", n->options, GOAL_MAX_TEXT, err) < 0)
        return -1;
    return store_run(s, STORE_WRITE, STORE_GOALS, next_add, &add, cancel, err);
}

static void next_from_row(struct query *q, struct arena *arena, struct goal_next *ret)
{
    ret->id = query_get_i64(q);
    ret->objective = query_get_str(q, arena);
    ret->options = query_get_str(q, arena);
}

struct next_list {
    struct str thread;
    struct arena *arena;
    goal_next_vec *rows;
};

static int next_list(struct store *s, void *arg, struct err *err)
{
    struct next_list *list = arg;
    CLEANUP(query_release) struct query q = {0};

    list->rows->len = 0;
    if (query_make(&q, s,
                   "SELECT id, objective, options FROM goal_next WHERE thread_id=?"
                   " ORDER BY place",
                   err) < 0)
        return -1;
    query_str(&q, list->thread);
    for (;;) {
        int rc = query_step(&q, err);

        if (rc <= 0)
            return rc;
        next_from_row(&q, list->arena, vec_add(list->rows));
    }
}

int store_goal_next_list(struct store *s, struct str thread, struct arena *arena,
                         goal_next_vec *ret, struct cancel *cancel, struct err *err)
{
    struct next_list list = {thread, arena, ret};

    return store_run(s, STORE_READ, STORE_NOTHING, next_list, &list, cancel, err);
}

/* Removes the entry at `from`: 1, or 0 if there is no such place. */
struct next_move {
    struct str thread;
    int64_t from, to;
    struct arena *arena; /* NULL = do not return it */
    struct goal_next taken;
};

static int next_delete(struct store *s, struct next_move *move, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};
    int found;

    if (query_make(&q, s,
                   "DELETE FROM goal_next WHERE thread_id=? AND place=?"
                   " RETURNING id, objective, options",
                   err) < 0)
        return -1;
    query_str(&q, move->thread);
    query_i64(&q, move->from);
    found = query_step(&q, err);
    if (found > 0 && move->arena)
        next_from_row(&q, move->arena, &move->taken);
    return found;
}

static int next_take(struct store *s, void *arg, struct err *err)
{
    struct next_move *move = arg;
    CLEANUP(query_release) struct query q = {0};
    int found = next_delete(s, move, err);

    if (found == 0)
        store_unchanged(s);
    if (found <= 0)
        return found;
    if (query_make(&q, s, "UPDATE goal_next SET place=place-1 WHERE thread_id=? AND place>?", err) <
        0)
        return -1;
    query_str(&q, move->thread);
    query_i64(&q, move->from);
    return query_do(&q, err) < 0 ? -1 : 1;
}

int store_goal_next_take(struct store *s, struct str thread, struct arena *arena,
                         struct goal_next *ret, struct cancel *cancel, struct err *err)
{
    struct next_move move = {.thread = thread, .from = 1, .arena = arena};
    int found = store_run(s, STORE_WRITE, STORE_GOALS, next_take, &move, cancel, err);

    if (found > 0)
        *ret = move.taken;
    return found;
}

/* The place of the one with an id; 0: it is gone. */
static int next_place(struct store *s, struct str thread, int64_t id, int64_t *ret, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};
    int found;

    if (query_make(&q, s, "SELECT place FROM goal_next WHERE thread_id=? AND id=?", err) < 0)
        return -1;
    query_str(&q, thread);
    query_i64(&q, id);
    found = query_step(&q, err);
    *ret = found > 0 ? query_get_i64(&q) : 0;
    return found < 0 ? -1 : 0;
}

struct next_drop {
    struct str thread;
    int64_t id;
};

static int next_drop(struct store *s, void *arg, struct err *err)
{
    const struct next_drop *drop = arg;
    struct next_move move = {.thread = drop->thread};

    return next_place(s, drop->thread, drop->id, &move.from, err) < 0 ? -1
                                                                      : next_take(s, &move, err);
}

int store_goal_next_drop(struct store *s, struct str thread, int64_t id, struct cancel *cancel,
                         struct err *err)
{
    struct next_drop drop = {thread, id};

    return store_run(s, STORE_WRITE, STORE_GOALS, next_drop, &drop, cancel, err);
}

/* Entries between the two places move by one. */
static int next_move(struct store *s, void *arg, struct err *err)
{
    const struct next_move *move = arg;
    CLEANUP(query_release) struct query q = {0};
    int moved;

    if (query_make(&q, s,
                   "UPDATE goal_next SET place=CASE"
                   " WHEN place=$1 THEN $2 WHEN $1<$2 THEN place-1 ELSE place+1 END"
                   " WHERE thread_id=$3 AND place BETWEEN $4 AND $5"
                   " AND $5<=(SELECT count(*) FROM goal_next WHERE thread_id=$3)"
                   " RETURNING id",
                   err) < 0)
        return -1;
    query_i64(&q, move->from);
    query_i64(&q, move->to);
    query_str(&q, move->thread);
    query_i64(&q, move->from < move->to ? move->from : move->to);
    query_i64(&q, move->from > move->to ? move->from : move->to);
    moved = query_step(&q, err);
    if (moved == 0)
        store_unchanged(s);
    return moved;
}

int store_goal_next_move(struct store *s, struct str thread, size_t from, size_t to,
                         struct cancel *cancel, struct err *err)
{
    struct next_move move = {.thread = thread, .from = (int64_t)from, .to = (int64_t)to};

    if (from < 1 || from > GOAL_MAX_NEXT || to > GOAL_MAX_NEXT)
        return 0;
    return store_run(s, STORE_WRITE, STORE_GOALS, to ? next_move : next_take, &move, cancel, err);
}
