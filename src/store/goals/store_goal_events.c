/*
 * The ledger of goals: lines that are added and never changed. Any thread.
 */
#include "store/goals/store_goal_events.h"

#include "base/arena.h"
#include "base/err.h"
#include "store/goals/goal_check.h"
#include "store/goals/store_goal_guard.h"
#include "store/query.h"

int goal_event_insert(struct store *s, struct str thread, const struct goal_event *e,
                      struct err *err)
{
    CLEANUP(query_release) struct query q = {0};
    struct str status = str_of(goal_status_name(e->status));

    if (query_keep(&q, s,
                   "INSERT INTO goal_events(thread_id, goal_id, time_ms, kind, status, data)"
                   " VALUES(?,?,?,?,?,?)",
                   err) < 0)
        return -1;
    query_str(&q, thread);
    query_str(&q, e->goal_id);
    query_i64(&q, e->time_ms);
    query_str(&q, e->kind);
    query_opt(&q, status.len ? &status : NULL);
    query_str(&q, e->data);
    return query_do(&q, err);
}

struct event_note {
    struct str thread;
    struct goal_event event;
};

static int event_note(struct store *s, void *arg, struct err *err)
{
    const struct event_note *note = arg;

    if (goal_guard_catch_up(s, note->thread, err) < 0)
        return -1;
    return goal_event_insert(s, note->thread, &note->event, err);
}

int store_goal_note(struct store *s, struct str thread, const struct goal_event *e,
                    struct cancel *cancel, struct err *err)
{
    struct event_note note = {thread, *e};
    struct err why = {0};
    bool is_known;
    int rc;

    note.event.status = GOAL_STATUS_COUNT;
    if (goal_check_thread(thread, err) < 0 || goal_check_event(e, err) < 0)
        return -1;
    if (e->goal_id.len && !id_is_uuid(e->goal_id))
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is no goal_id", STR_ARG(e->goal_id));
    is_known = goal_guard_knows(s, thread);
    rc = store_run_for(s, STORE_WRITE, STORE_GOALS, event_note, &note,
                       is_known ? 0 : STORE_PATIENCE_MS, cancel, &why);
    if (rc < 0 && why.code == ERR_RETRY_LATER && is_known) {
        goal_guard_postpone_note(s, thread, &note.event);
        return 0;
    }
    if (rc < 0 && err)
        *err = why;
    return rc;
}

struct event_list {
    const char *sql;
    struct str thread, goal_id;
    int64_t after;
    size_t max;
    struct arena *arena;
    goal_event_vec *rows;
};

#define EVENT_COLUMNS "id, goal_id, time_ms, kind, status, data"

static int event_list(struct store *s, void *arg, struct err *err)
{
    struct event_list *list = arg;
    CLEANUP(query_release) struct query q = {0};
    struct goal_event last = {0};

    list->rows->len = 0;
    if (query_make(&q, s, list->sql, err) < 0)
        return -1;
    query_str(&q, list->thread);
    query_i64(&q, list->after);
    query_str(&q, list->goal_id);
    query_i64(&q, list->max < INT32_MAX ? (int64_t)list->max : INT32_MAX);
    for (;;) {
        int rc = query_step(&q, err);
        struct goal_event *e;

        if (rc <= 0)
            return rc;
        e = vec_add(list->rows);
        e->id = query_get_i64(&q);
        e->goal_id = query_get_same(&q, list->arena, last.goal_id);
        e->time_ms = query_get_i64(&q);
        e->kind = query_get_same(&q, list->arena, last.kind);
        if (!goal_status_parse(query_get_str(&q, list->arena), &e->status))
            e->status = GOAL_STATUS_COUNT;
        e->data = query_get_str(&q, list->arena);
        e->next = NULL;
        last = *e;
    }
}

int store_goal_events(struct store *s, struct str thread, struct str goal_id, int64_t after,
                      size_t max, struct arena *arena, goal_event_vec *ret, struct cancel *cancel,
                      struct err *err)
{
    struct event_list list = {
        .sql = "SELECT " EVENT_COLUMNS " FROM goal_events"
               " WHERE thread_id=$1 AND id>$2 AND ($3='' OR goal_id=$3) ORDER BY id LIMIT $4",
        .thread = thread,
        .goal_id = goal_id,
        .after = after,
        .max = max,
        .arena = arena,
        .rows = ret,
    };

    return store_run(s, STORE_READ, STORE_NOTHING, event_list, &list, cancel, err);
}

int store_goal_last_events(struct store *s, struct str thread, struct str goal_id, size_t max,
                           struct arena *arena, goal_event_vec *ret, struct cancel *cancel,
                           struct err *err)
{
    struct event_list list = {
        .sql = "SELECT " EVENT_COLUMNS " FROM (SELECT " EVENT_COLUMNS " FROM goal_events"
               " WHERE thread_id=$1 AND id>$2 AND goal_id=$3 AND kind<>'charge'"
               " ORDER BY id DESC LIMIT $4) ORDER BY id",
        .thread = thread,
        .goal_id = goal_id,
        .max = max,
        .arena = arena,
        .rows = ret,
    };

    return store_run(s, STORE_READ, STORE_NOTHING, event_list, &list, cancel, err);
}
