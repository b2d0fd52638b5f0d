/*
 * The store on any backend (backend.h): transactions, queries, shared connections.
 *
 * A backend never waits. A transaction on a busy database fails at once, is rolled back and retried
 * by store_run(), which waits with a cancel and lets other threads run. Threads take turns on one
 * connection (store_enter()).
 */
#include "store/query.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/strv.h"
#include "store/backend.h"
#include "store/goals/store_goal_guard.h"
#include "sync/cancel.h"
#include "sync/thread.h"

#define STORE_FIRST_PAUSE_MS 1
#define STORE_LONGEST_PAUSE_MS 64
#define STORE_FRESH_STARTS 2 /* of a damaged file, per call */

struct store_watch {
    enum store_key key;
    store_watch_fn fn;
    void *arg;
};

struct kept {
    const char *sql; /* its address counts */
    void *statement;
};

struct store {
    const struct store_backend *backend;
    char *name; /* the path that was asked for */
    char *path; /* where it is; NULL: in memory */
    int users;  /* of a shared one; guarded by the lock of those */
    struct gate gate;
    bool busy;             /* the thread that set it owns the following fields */
    void *db;              /* the backend's */
    bool is_open;          /* it is */
    VEC(struct kept) kept; /* statements of db */
    bool unchanged;        /* the running function reported no change */
    struct goal_guards *guards;
    struct strv warnings;
    VEC(struct store_watch *) watches;
};

/* ---- One thread at a time, without holding a lock during system calls ---- */

void store_enter(struct store *s)
{
    gate_take(&s->gate);
    while (s->busy)
        gate_wait(&s->gate, /*deadline_ms=*/-1);
    s->busy = true;
    gate_give(&s->gate);
}

void store_leave(struct store *s)
{
    gate_take(&s->gate);
    s->busy = false;
    gate_wake(&s->gate);
    gate_give(&s->gate);
}

/* ---- Failures ---- */

static bool store_is_busy(const struct store *s)
{
    return s->backend->trouble(s->db) == STORE_BUSY;
}

/* While this process holds a goal, missing tables or rejected rows are caused by another program,
 * since our own statements do not fail by themselves. */
static bool store_is_damaged(const struct store *s)
{
    enum store_trouble trouble = s->backend->trouble(s->db);

    return trouble == STORE_DAMAGED || (s->guards && trouble == STORE_REJECTED);
}

/* ---- Queries ---- */

int query_make(struct query *q, struct store *s, const char *sql, struct err *err)
{
    *q = (struct query){.store = s};
    return s->backend->prepare(s->db, sql, &q->statement, err);
}

int query_keep(struct query *q, struct store *s, const char *sql, struct err *err)
{
    VEC_EACH(&s->kept, kept) {
        if (kept->sql == sql) {
            *q = (struct query){.store = s, .statement = kept->statement, .kept = true};
            return 0;
        }
    }
    if (query_make(q, s, sql, err) < 0)
        return -1;
    q->kept = true;
    vec_push(&s->kept, ((struct kept){sql, q->statement}));
    return 0;
}

void query_release(struct query *q)
{
    if (q->statement && q->kept)
        q->store->backend->reset(q->statement); /* an open one would hold the transaction */
    else if (q->statement)
        q->store->backend->finalize(q->statement);
    q->statement = NULL;
}

void query_again(struct query *q)
{
    q->store->backend->reset(q->statement);
    q->bound = 0;
}

void query_str(struct query *q, struct str s)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);

    if (!secret_is_in(s)) {
        q->store->backend->bind_str(q->statement, ++q->bound, s, /*copies=*/false);
        return;
    }
    buf_add(&clean, s);
    secret_scrub(&clean);
    q->store->backend->bind_str(q->statement, ++q->bound, buf_str(&clean), /*copies=*/true);
}

void query_opt(struct query *q, const struct str *s)
{
    if (s)
        query_str(q, *s);
    else
        q->store->backend->bind_null(q->statement, ++q->bound);
}

void query_i64(struct query *q, int64_t n)
{
    q->store->backend->bind_i64(q->statement, ++q->bound, n);
}

void query_double(struct query *q, double n)
{
    q->store->backend->bind_double(q->statement, ++q->bound, n);
}

int query_step(struct query *q, struct err *err)
{
    q->column = 0;
    return q->store->backend->step(q->store->db, q->statement, err);
}

int query_do(struct query *q, struct err *err)
{
    return query_step(q, err) < 0 ? -1 : 0;
}

int query_changes(struct query *q)
{
    return q->store->backend->changes(q->store->db);
}

struct str query_get_same(struct query *q, struct arena *arena, struct str last)
{
    struct str got = q->store->backend->column_str(q->statement, q->column++);

    if (!got.len)
        return STR("");
    return str_eq(got, last) ? last : arena_str(arena, got);
}

struct str query_get_str(struct query *q, struct arena *arena)
{
    return query_get_same(q, arena, /*last=*/STR(""));
}

int64_t query_get_i64(struct query *q)
{
    return q->store->backend->column_i64(q->statement, q->column++);
}

double query_get_double(struct query *q)
{
    return q->store->backend->column_double(q->statement, q->column++);
}

/* ---- Opening ---- */

static void store_close(struct store *s)
{
    VEC_EACH(&s->kept, kept) {
        s->backend->finalize(kept->statement);
    }
    s->kept.len = 0;
    s->backend->close(s->db);
    s->is_open = false;
}

static int store_connect(struct store *s, struct err *err)
{
    s->is_open = s->backend->open(s->db, err) == 0;
    return s->is_open ? 0 : -1;
}

/* Moves the file aside, unless another process already did. */
static void store_move_aside(struct store *s, const struct err *why)
{
    CLEANUP(buf_release) struct buf to = BUF_INIT(BUF_NO_LIMIT);

    if (!s->backend->set_aside(s->db, &to))
        return;
    strv_addf(&s->warnings,
              "'%s' is damaged (%s) and was moved to '%s'; sessions are listed anew from their "
              "files, trusted folders and typed prompts are forgotten, goals are known from their "
              "transcripts alone",
              s->path, why->text, buf_cstr(&to));
}

static int store_use_memory(struct store *s, const struct err *why, struct err *err)
{
    strv_addf(&s->warnings,
              "'%s' is not used: %s; sessions are kept as always, but trust, earlier prompts "
              "and the figures of goals are forgotten when this process ends",
              s->path, why->text);
    mem_freep(&s->path);
    s->backend->free(s->db);
    s->db = s->backend->make(/*path=*/NULL);
    return store_connect(s, err);
}

/* One attempt. Fails only if another attempt makes sense, or none does. */
static int store_connect_somehow(struct store *s, struct err *err)
{
    struct err why = {0};

    if (store_connect(s, &why) == 0)
        return 0;
    log_debug("store", "cannot use the database: %s", why.text);
    store_close(s);
    if (!s->path || store_is_busy(s) || store_is_damaged(s)) {
        if (err)
            *err = why;
        return -1;
    }
    return store_use_memory(s, &why, err);
}

/* ---- Transactions ---- */

/* If the file was replaced or removed while open, uses the one that is at the path now. */
static void store_follow(struct store *s)
{
    if (s->is_open && s->backend->is_replaced(s->db))
        store_close(s);
}

static int store_try(struct store *s, enum store_access access, store_work_fn fn, void *arg,
                     struct err *err)
{
    int rc;

    s->unchanged = false;
    store_follow(s);
    if (!s->is_open && store_connect_somehow(s, err) < 0)
        return -1;
    if (!fn)
        return 0;
    if (s->backend->begin(s->db, access == STORE_WRITE, err) < 0)
        return -1;
    rc = fn(s, arg, err);
    if (access == STORE_WRITE)
        disk_commit_begins();
    if (rc >= 0 && s->backend->commit(s->db, err) < 0)
        rc = -1;
    if (access == STORE_WRITE)
        disk_commit_ends();
    if (rc < 0)
        s->backend->rollback(s->db);
    goal_guards_settle(s->guards, rc >= 0);
    return rc;
}

static void store_tell(struct store *s, enum store_key changed)
{
    VEC_EACH(&s->watches, it) {
        if ((*it)->key == changed)
            (*it)->fn((*it)->arg, changed);
    }
}

struct goal_guards **store_guards(struct store *s)
{
    return &s->guards;
}

void store_unchanged(struct store *s)
{
    s->unchanged = true;
}

/* Returns 1 after moving a damaged file aside; -1 for any other error but "busy", which is final.
 */
static int store_recover(struct store *s, int *starts, const struct err *why)
{
    if (store_is_busy(s))
        return 0;
    if (!store_is_damaged(s) || !s->path || (*starts)++ >= STORE_FRESH_STARTS)
        return -1;
    store_close(s);
    store_move_aside(s, why);
    return 1;
}

int store_run(struct store *s, enum store_access access, enum store_key changed, store_work_fn fn,
              void *arg, struct cancel *cancel, struct err *err)
{
    return store_run_for(s, access, changed, fn, arg, STORE_PATIENCE_MS, cancel, err);
}

int store_run_for(struct store *s, enum store_access access, enum store_key changed,
                  store_work_fn fn, void *arg, int64_t patience_ms, struct cancel *cancel,
                  struct err *err)
{
    int64_t give_up_ms = clock_mono_ms() + patience_ms;
    int64_t pause_ms = STORE_FIRST_PAUSE_MS;
    int starts = 0;

    for (;;) {
        struct err why = {0};
        int again;
        int rc;

        if (cancel_check(cancel, err) < 0)
            return -1;
        store_enter(s);
        rc = store_try(s, access, fn, arg, &why);
        if (rc >= 0 && !s->unchanged)
            store_tell(s, changed);
        again = rc < 0 ? store_recover(s, &starts, &why) : 0;
        store_leave(s);
        if (rc >= 0)
            return rc;
        if (again < 0) {
            if (err)
                *err = why;
            return -1;
        }
        if (again > 0)
            continue;
        if (clock_mono_ms() >= give_up_ms)
            return err_set(err, ERR_RETRY_LATER, "'%s' is in use by many processes at once",
                           s->path ? s->path : "state.db");
        /* Random, so that not all retry at the same time. */
        if (cancel_wait(cancel, 1 + (int64_t)(id_random() % (uint64_t)pause_ms), err) < 0)
            return -1;
        if (pause_ms < STORE_LONGEST_PAUSE_MS)
            pause_ms *= 2;
    }
}

/* ---- The store itself ---- */

static struct store *store_new(const struct store_backend *backend, const char *home)
{
    struct store *s = mem_zalloc(sizeof(*s));

    s->backend = backend;
    gate_init(&s->gate);
    if (home) {
        (void)file_mkdirs(home, 0700, NULL); /* if not, opening says why */
        s->name = path_join(home, "state.db");
        s->path = path_join(home, "state.db");
    }
    s->db = backend->make(s->path);
    return s;
}

/* Takes s, and gives it to the caller once it is open. */
static int store_begin(struct store *s, struct cancel *cancel, struct store **ret, struct err *err)
{
    if (store_run(s, STORE_READ, STORE_NOTHING, /*fn=*/NULL, NULL, cancel, err) < 0) {
        store_free(s);
        return -1;
    }
    *ret = s;
    return 0;
}

int store_open_on(const struct store_backend *backend, const char *home, struct cancel *cancel,
                  struct store **ret, struct err *err)
{
    if (backend->load(err) < 0)
        return -1;
    return store_begin(store_new(backend, home), cancel, ret, err);
}

int store_open(const char *backend, const char *home, struct cancel *cancel, struct store **ret,
               struct err *err)
{
    bool in_memory = strcmp(backend, "memory") == 0;

    if (!in_memory && strcmp(backend, "sqlite") != 0)
        return err_set(err, ERR_UNSUPPORTED, "there is no store '%s'", backend);
    return store_open_on(&store_sqlite, in_memory ? NULL : home, cancel, ret, err);
}

/* ---- Shared connections ---- */

static struct {
    struct lock lock;
    VEC(struct store *) list; /* one per home; each with its users */
} shared = {.lock = LOCK_INIT};

int store_shared(const char *home, struct cancel *cancel, struct store **ret, struct err *err)
{
    struct store *made, *s = NULL;

    if (store_sqlite.load(err) < 0)
        return -1;
    made = store_new(&store_sqlite, home);
    lock_take(&shared.lock);
    VEC_EACH(&shared.list, it) {
        if (strcmp((*it)->name, made->name) == 0)
            s = *it;
    }
    if (!s) {
        s = TAKE_PTR(made);
        vec_push(&shared.list, s);
    }
    s->users++;
    lock_give(&shared.lock);
    store_free(made);
    return store_begin(s, cancel, ret, err);
}

struct store *store_ref(struct store *s)
{
    lock_take(&shared.lock);
    s->users++;
    lock_give(&shared.lock);
    return s;
}

/* False if others still use it. */
static bool store_is_last(struct store *s)
{
    bool is_last = true;

    lock_take(&shared.lock);
    for (size_t i = 0; i < shared.list.len; i++) {
        if (shared.list.ptr[i] != s)
            continue;
        is_last = --s->users == 0;
        if (is_last)
            shared.list.ptr[i] = shared.list.ptr[--shared.list.len];
        break;
    }
    if (!shared.list.len)
        vec_release(&shared.list);
    lock_give(&shared.lock);
    return is_last;
}

void store_sync(struct store *s)
{
    CLEANUP(mem_freep) char *path = NULL;

    store_enter(s);
    if (s->path)
        path = mem_dup(s->path, strlen(s->path));
    store_leave(s);
    if (path)
        s->backend->sync(path);
}

void store_free(struct store *s)
{
    if (!s || !store_is_last(s))
        return;
    goal_guards_free(s->guards); /* may still write */
    store_close(s);
    s->backend->free(s->db);
    VEC_EACH(&s->watches, it) {
        free(*it);
    }
    vec_release(&s->watches);
    vec_release(&s->kept);
    strv_release(&s->warnings);
    gate_release(&s->gate);
    free(s->name);
    free(s->path);
    free(s);
}

void store_freep(struct store **s)
{
    store_free(*s);
}

void store_warnings(struct store *s, struct strv *ret)
{
    store_enter(s);
    strv_add_all(ret, &s->warnings);
    strv_clear(&s->warnings);
    store_leave(s);
}

struct store_watch *store_watch(struct store *s, enum store_key key, store_watch_fn fn, void *arg)
{
    struct store_watch *w = mem_zalloc(sizeof(*w));

    *w = (struct store_watch){key, fn, arg};
    store_enter(s);
    vec_push(&s->watches, w);
    store_leave(s);
    return w;
}

void store_unwatch(struct store *s, struct store_watch *w)
{
    store_enter(s);
    for (size_t i = 0; i < s->watches.len; i++) {
        if (s->watches.ptr[i] == w) {
            s->watches.ptr[i] = s->watches.ptr[--s->watches.len];
            break;
        }
    }
    store_leave(s);
    free(w);
}
