/*
 * The index of sessions, as rows. Any thread.
 */
#include "base/arena.h"
#include "base/err.h"
#include "store/query.h"

#define COLUMNS_OF_PROJECT                                                                         \
    "id, title, ai_title, cwd, branch, first_prompt, created_ms, last_ms, messages, cost_usd, "    \
    "size, mtime_ns, inode, counted"
#define COLUMNS "project, " COLUMNS_OF_PROJECT

struct sessions_read {
    struct str project;
    struct arena *arena;
    store_session_vec *rows;
};

/* Without its project. */
static void session_from_row(struct query *q, const struct store_session *last, struct arena *arena,
                             struct store_session *ret)
{
    ret->id = query_get_str(q, arena);
    ret->title = query_get_str(q, arena);
    ret->ai_title = query_get_str(q, arena);
    ret->cwd = query_get_same(q, arena, last->cwd);
    ret->branch = query_get_same(q, arena, last->branch);
    ret->first_prompt = query_get_str(q, arena);
    ret->created_ms = query_get_i64(q);
    ret->last_ms = query_get_i64(q);
    ret->messages = query_get_i64(q);
    ret->cost_usd = query_get_double(q);
    ret->size = query_get_i64(q);
    ret->mtime_ns = query_get_i64(q);
    ret->inode = query_get_i64(q);
    ret->counted = query_get_i64(q);
}

static int sessions_read(struct store *s, void *arg, struct err *err)
{
    static const struct store_session none;
    struct sessions_read *read = arg;
    CLEANUP(query_release) struct query q = {0};
    struct str project = read->project;
    int rc;

    read->rows->len = 0;
    if (query_make(&q, s,
                   project.len ? "SELECT " COLUMNS_OF_PROJECT
                                 " FROM session WHERE project=? ORDER BY id"
                               : "SELECT " COLUMNS " FROM session ORDER BY project, id",
                   err) < 0)
        return -1;
    if (project.len) {
        query_str(&q, project);
        project = arena_str(read->arena, project);
    }
    for (;;) {
        const struct store_session *last;
        struct store_session *row;

        rc = query_step(&q, err);
        if (rc <= 0)
            return rc;
        row = vec_add(read->rows);
        last = read->rows->len > 1 ? row - 1 : &none;
        row->project = project.len ? project : query_get_same(&q, read->arena, last->project);
        session_from_row(&q, last, read->arena, row);
    }
}

int store_sessions(struct store *s, struct str project, struct arena *arena, store_session_vec *ret,
                   struct cancel *cancel, struct err *err)
{
    struct sessions_read read = {project, arena, ret};

    return store_run(s, STORE_READ, STORE_NOTHING, sessions_read, &read, cancel, err);
}

struct sessions_update {
    const store_session_vec *put;
    const store_session_vec *forget;
};

static void session_bind(struct query *q, const struct store_session *row)
{
    query_str(q, row->project);
    query_str(q, row->id);
    query_str(q, str_clip(row->title, STORE_MAX_TEXT));
    query_str(q, str_clip(row->ai_title, STORE_MAX_TEXT));
    query_str(q, str_clip(row->cwd, STORE_MAX_TEXT));
    query_str(q, str_clip(row->branch, STORE_MAX_TEXT));
    query_str(q, str_clip(row->first_prompt, STORE_MAX_TEXT));
    query_i64(q, row->created_ms);
    query_i64(q, row->last_ms);
    query_i64(q, row->messages);
    query_double(q, row->cost_usd);
    query_i64(q, row->size);
    query_i64(q, row->mtime_ns);
    query_i64(q, row->inode);
    query_i64(q, row->counted);
}

static int sessions_put(struct store *s, const store_session_vec *rows, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};

    if (query_make(&q, s,
                   "INSERT INTO session(" COLUMNS ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
                   " ON CONFLICT(project, id) DO UPDATE SET title=excluded.title,"
                   " ai_title=excluded.ai_title, cwd=excluded.cwd, branch=excluded.branch,"
                   " first_prompt=excluded.first_prompt, created_ms=excluded.created_ms,"
                   " last_ms=excluded.last_ms, messages=excluded.messages,"
                   " cost_usd=excluded.cost_usd, size=excluded.size, mtime_ns=excluded.mtime_ns,"
                   " inode=excluded.inode, counted=excluded.counted",
                   err) < 0)
        return -1;
    VEC_EACH(rows, row) {
        query_again(&q);
        session_bind(&q, row);
        if (query_do(&q, err) < 0)
            return -1;
    }
    return 0;
}

static int sessions_forget(struct store *s, const store_session_vec *rows, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};

    if (query_make(&q, s, "DELETE FROM session WHERE project=? AND id=?", err) < 0)
        return -1;
    VEC_EACH(rows, row) {
        query_again(&q);
        query_str(&q, row->project);
        query_str(&q, row->id);
        if (query_do(&q, err) < 0)
            return -1;
    }
    return 0;
}

static int sessions_update(struct store *s, void *arg, struct err *err)
{
    struct sessions_update *update = arg;

    if (sessions_put(s, update->put, err) < 0)
        return -1;
    return sessions_forget(s, update->forget, err);
}

int store_sessions_update(struct store *s, const store_session_vec *put,
                          const store_session_vec *forget, struct cancel *cancel, struct err *err)
{
    struct sessions_update update = {put, forget};

    return store_run(s, STORE_WRITE, STORE_SESSIONS, sessions_update, &update, cancel, err);
}
