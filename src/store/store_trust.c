/*
 * Folders that the user was asked about. Any thread.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/strv.h"
#include "store/query.h"

struct trust_get {
    struct str dir;
    bool trusted;
};

static int trust_get(struct store *s, void *arg, struct err *err)
{
    struct trust_get *get = arg;
    CLEANUP(query_release) struct query q = {0};
    int found;

    if (query_make(&q, s, "SELECT trusted FROM trust WHERE dir=?", err) < 0)
        return -1;
    query_str(&q, get->dir);
    found = query_step(&q, err);
    if (found > 0)
        get->trusted = query_get_i64(&q) != 0;
    return found;
}

int store_trust_get(struct store *s, struct str dir, bool *ret_trusted, struct cancel *cancel,
                    struct err *err)
{
    struct trust_get get = {.dir = dir};
    int found = store_run(s, STORE_READ, STORE_NOTHING, trust_get, &get, cancel, err);

    if (found > 0)
        *ret_trusted = get.trusted;
    return found;
}

static int trust_set(struct store *s, void *arg, struct err *err)
{
    const struct store_trust *t = arg;
    CLEANUP(query_release) struct query q = {0};

    if (query_make(&q, s,
                   "INSERT INTO trust(dir, trusted, time_ms) VALUES(?,?,?) ON CONFLICT(dir)"
                   " DO UPDATE SET trusted=excluded.trusted, time_ms=excluded.time_ms",
                   err) < 0)
        return -1;
    query_str(&q, t->dir);
    query_i64(&q, t->trusted);
    query_i64(&q, t->time_ms);
    return query_do(&q, err);
}

int store_trust_set(struct store *s, const struct store_trust *t, struct cancel *cancel,
                    struct err *err)
{
    struct store_trust copy = *t;

    if (!t->dir.len || t->dir.ptr[0] != '/' || t->dir.len > STORE_MAX_TEXT)
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is no absolute path",
                       STR_ARG(str_clip(t->dir, 100)));
    return store_run(s, STORE_WRITE, STORE_TRUST, trust_set, &copy, cancel, err);
}

struct trust_entries {
    struct str dir;
    const struct strv *digests;
    int64_t time_ms;
    struct strv *ret;
};

static int trust_approve(struct store *s, void *arg, struct err *err)
{
    const struct trust_entries *e = arg;

    for (size_t i = 0; i < e->digests->len; i++) {
        CLEANUP(query_release) struct query q = {0};
        struct str digest = str_of(e->digests->ptr[i]);

        if (query_make(&q, s,
                       "INSERT INTO trust_entry(dir, digest, time_ms) VALUES(?,?,?)"
                       " ON CONFLICT(dir, digest) DO UPDATE SET time_ms=excluded.time_ms",
                       err) < 0)
            return -1;
        query_str(&q, e->dir);
        query_str(&q, str_first(digest, str_chr(digest, ' ')));
        query_i64(&q, e->time_ms);
        if (query_do(&q, err) < 0)
            return -1;
    }
    return 0;
}

int store_trust_approve(struct store *s, struct str dir, const struct strv *digests,
                        int64_t time_ms, struct cancel *cancel, struct err *err)
{
    struct trust_entries e = {dir, digests, time_ms, /*ret=*/NULL};

    return store_run(s, STORE_WRITE, STORE_TRUST, trust_approve, &e, cancel, err);
}

static int trust_approved(struct store *s, void *arg, struct err *err)
{
    const struct trust_entries *e = arg;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(query_release) struct query q = {0};
    int rc;

    strv_clear(e->ret);
    if (query_make(&q, s, "SELECT digest FROM trust_entry WHERE dir=?", err) < 0)
        return -1;
    query_str(&q, e->dir);
    for (rc = query_step(&q, err); rc > 0; rc = query_step(&q, err))
        strv_add(e->ret, query_get_str(&q, &arena));
    return rc;
}

int store_trust_approved(struct store *s, struct str dir, struct strv *ret, struct cancel *cancel,
                         struct err *err)
{
    struct trust_entries e = {dir, /*digests=*/NULL, 0, ret};

    return store_run(s, STORE_READ, STORE_NOTHING, trust_approved, &e, cancel, err);
}

static int trust_forget_entries(struct store *s, struct str dir, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};

    if (query_make(&q, s, "DELETE FROM trust_entry WHERE dir=?", err) < 0)
        return -1;
    query_str(&q, dir);
    return query_do(&q, err);
}

static int trust_remove(struct store *s, void *arg, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};
    int found;

    if (trust_forget_entries(s, *(struct str *)arg, err) < 0)
        return -1;
    if (query_make(&q, s, "DELETE FROM trust WHERE dir=? RETURNING dir", err) < 0)
        return -1;
    query_str(&q, *(struct str *)arg);
    found = query_step(&q, err);
    if (found == 0)
        store_unchanged(s);
    return found;
}

int store_trust_remove(struct store *s, struct str dir, struct cancel *cancel, struct err *err)
{
    return store_run(s, STORE_WRITE, STORE_TRUST, trust_remove, &dir, cancel, err);
}

struct trust_list {
    struct arena *arena;
    store_trust_vec *rows;
};

static int trust_list(struct store *s, void *arg, struct err *err)
{
    struct trust_list *list = arg;
    CLEANUP(query_release) struct query q = {0};

    list->rows->len = 0;
    if (query_make(&q, s, "SELECT dir, trusted, time_ms FROM trust ORDER BY dir", err) < 0)
        return -1;
    for (;;) {
        int rc = query_step(&q, err);
        struct store_trust *row;

        if (rc <= 0)
            return rc;
        row = vec_add(list->rows);
        row->dir = query_get_str(&q, list->arena);
        row->trusted = query_get_i64(&q) != 0;
        row->time_ms = query_get_i64(&q);
    }
}

int store_trust_list(struct store *s, struct arena *arena, store_trust_vec *ret,
                     struct cancel *cancel, struct err *err)
{
    struct trust_list list = {arena, ret};

    return store_run(s, STORE_READ, STORE_NOTHING, trust_list, &list, cancel, err);
}
