/*
 * The store on SQLite: opening, format, transactions.
 *
 * SQLite never waits. A transaction on a busy database fails at once, is rolled back and retried by
 * store_run(), which waits with a cancel and lets other threads run. A writer announces itself at
 * the start (BEGIN IMMEDIATE), so that it never has to give up in the middle. Threads take turns on
 * one connection (store_enter()).
 */
#include "store/store_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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
#include "store/goals/store_goal_guard.h"
#include "store/sqlite_table.h"
#include "store/store_format.h"
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
    sqlite3_stmt *statement;
};

struct store {
    char *name; /* the path that was asked for */
    char *path; /* where it is; NULL: in memory */
    int users;  /* of a shared one; guarded by the lock of those */
    struct gate gate;
    bool busy; /* the thread that set it owns the following fields */
    sqlite3 *db;
    ino_t inode;           /* of the file that db is */
    VEC(struct kept) kept; /* statements of db */
    int code;              /* SQLite's, of the last failure */
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

/* ---- SQLite's errors ---- */

static int store_fail(struct store *s, int code, struct err *err)
{
    s->code = code & 0xff; /* without the details of the extended one */
    return err_set(err, ERR_IO, "state.db: %s", s->db ? sqlite.errmsg(s->db) : "out of memory");
}

static bool store_is_busy(const struct store *s)
{
    return s->code == SQLITE_BUSY || s->code == SQLITE_LOCKED || s->code == SQLITE_PROTOCOL;
}

/* While this process holds a goal, missing tables or rejected rows are caused by another program,
 * since our own statements do not fail by themselves. */
static bool store_is_damaged(const struct store *s)
{
    return s->code == SQLITE_CORRUPT || s->code == SQLITE_NOTADB ||
           (s->guards && (s->code == SQLITE_ERROR || s->code == SQLITE_CONSTRAINT));
}

static int store_exec(struct store *s, const char *sql, struct err *err)
{
    int code = sqlite.exec(s->db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? 0 : store_fail(s, code, err);
}

int query_make(struct query *q, struct store *s, const char *sql, struct err *err)
{
    int code;

    *q = (struct query){.store = s};
    code = sqlite.prepare_v2(s->db, sql, -1, &q->statement, NULL);
    return code == SQLITE_OK ? 0 : store_fail(s, code, err);
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
        sqlite.reset(q->statement); /* an open one would hold the transaction */
    else if (q->statement)
        sqlite.finalize(q->statement);
    q->statement = NULL;
}

void query_again(struct query *q)
{
    sqlite.reset(q->statement);
    q->bound = 0;
}

void query_str(struct query *q, struct str s)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);

    if (!secret_is_in(s)) {
        sqlite.bind_text(q->statement, ++q->bound, s.len ? s.ptr : "", (int)s.len, SQLITE_STATIC);
        return;
    }
    buf_add(&clean, s);
    secret_scrub(&clean);
    sqlite.bind_text(q->statement, ++q->bound, clean.ptr, (int)clean.len, SQLITE_TRANSIENT);
}

void query_opt(struct query *q, const struct str *s)
{
    if (s)
        query_str(q, *s);
    else
        sqlite.bind_null(q->statement, ++q->bound);
}

void query_i64(struct query *q, int64_t n)
{
    sqlite.bind_int64(q->statement, ++q->bound, n);
}

void query_double(struct query *q, double n)
{
    sqlite.bind_double(q->statement, ++q->bound, n);
}

int query_step(struct query *q, struct err *err)
{
    int code = sqlite.step(q->statement);

    q->column = 0;
    if (code == SQLITE_ROW)
        return 1;
    return code == SQLITE_DONE ? 0 : store_fail(q->store, code, err);
}

int query_do(struct query *q, struct err *err)
{
    return query_step(q, err) < 0 ? -1 : 0;
}

int query_changes(struct query *q)
{
    return sqlite.changes(q->store->db);
}

struct str query_get_same(struct query *q, struct arena *arena, struct str last)
{
    int column = q->column++;
    const char *text = (const char *)sqlite.column_text(q->statement, column);
    struct str got = str_make(text, (size_t)sqlite.column_bytes(q->statement, column));

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
    return sqlite.column_int64(q->statement, q->column++);
}

double query_get_double(struct query *q)
{
    return sqlite.column_double(q->statement, q->column++);
}

/* ---- Opening ---- */

static void store_close(struct store *s)
{
    VEC_EACH(&s->kept, kept) {
        sqlite.finalize(kept->statement);
    }
    s->kept.len = 0;
    if (s->db)
        sqlite.close_v2(s->db);
    s->db = NULL;
}

static int store_get_format(struct store *s, int64_t *ret, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};

    if (query_make(&q, s, "PRAGMA user_version", err) < 0 || query_step(&q, err) < 0)
        return -1;
    *ret = query_get_i64(&q);
    return 0;
}

/* Several processes may do this at once; the first one wins. */
static int store_bring_up(struct store *s, struct err *err)
{
    int64_t format;

    if (store_exec(s, "PRAGMA journal_mode=WAL", err) < 0 || store_exec(s, "BEGIN IMMEDIATE", err))
        return -1;
    if (store_get_format(s, &format, err) < 0)
        return -1;
    for (; format < store_format_count; format++) {
        CLEANUP(buf_release) struct buf sql = BUF_INIT(16384);

        buf_adds(&sql, store_formats[format]);
        buf_addf(&sql, "PRAGMA user_version=%lld", (long long)format + 1);
        if (store_exec(s, buf_cstr(&sql), err) < 0)
            return -1;
    }
    return store_exec(s, "COMMIT", err);
}

/* ERR_UNSUPPORTED: written by a newer tenax. */
static int store_check_format(struct store *s, struct err *err)
{
    int64_t format;

    if (store_get_format(s, &format, err) < 0)
        return -1;
    if (format < 0)
        return err_set(err, ERR_UNSUPPORTED, "it is not tenax's (format %lld)", (long long)format);
    if (format > store_format_count)
        return err_set(err, ERR_UNSUPPORTED,
                       "a newer tenax wrote it (format %lld; this one knows %lld)",
                       (long long)format, (long long)store_format_count);
    if (format < store_format_count && store_bring_up(s, err) < 0)
        return -1;
    /* Survives kill -9; a power failure may lose the last moments, which no transcript depends on.
     */
    return store_exec(s,
                      "PRAGMA synchronous=NORMAL;"
                      "PRAGMA journal_size_limit=4194304;"
                      "PRAGMA cache_size=-128", /* KB: we read in one go, and once */
                      err);
}

/* Creates the file with our mode before SQLite does. Only if it is new: closing a descriptor of a
 * database that this process has open would release its locks. */
static void store_make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    fd_closep(&fd);
}

static int store_connect(struct store *s, struct err *err)
{
    const char *path = s->path ? s->path : ":memory:";
    struct stat st = {0};
    int code;

    if (s->path)
        store_make_file(s->path);
    code = sqlite.open_v2(path, &s->db,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return store_fail(s, code, err);
    sqlite.extended_result_codes(s->db, 1);
    /* A trigger or a view that another program has put there would change what we write. */
    (void)sqlite.db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite.db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    if (sqlite.db_readonly(s->db, "main") == 1) {
        s->code = SQLITE_READONLY;
        return err_set(err, ERR_IO, "it cannot be written");
    }
    if (s->path && stat(s->path, &st) == 0)
        s->inode = st.st_ino;
    return store_check_format(s, err);
}

/* Moves the file aside, with its journal files, unless another process already did. */
static void store_move_aside(struct store *s, const struct err *why)
{
    static const char *const parts[] = {"", "-wal", "-shm"};
    CLEANUP(buf_release) struct buf to = BUF_INIT(BUF_NO_LIMIT);
    struct stat st;
    char when[25];

    if (stat(s->path, &st) < 0 || st.st_ino != s->inode)
        return;
    clock_iso(clock_wall_ms(), when);
    buf_addf(&to, "%s.damaged-%.10s-%08x", s->path, when, (unsigned)id_random());
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        CLEANUP(buf_release) struct buf part = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf part_to = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&part, "%s%s", s->path, parts[i]);
        buf_addf(&part_to, "%s%s", buf_cstr(&to), parts[i]);
        (void)rename(buf_cstr(&part), buf_cstr(&part_to));
    }
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
    return store_connect(s, err);
}

/* One attempt. Fails only if another attempt makes sense, or none does. */
static int store_connect_somehow(struct store *s, struct err *err)
{
    struct err why = {0};

    s->code = SQLITE_OK;
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
    struct stat st = {0};

    if (!s->db || !s->path)
        return;
    if (stat(s->path, &st) < 0 || st.st_ino != s->inode)
        store_close(s);
}

static int store_try(struct store *s, enum store_access access, store_work_fn fn, void *arg,
                     struct err *err)
{
    int rc;

    s->code = SQLITE_OK;
    s->unchanged = false;
    store_follow(s);
    if (!s->db && store_connect_somehow(s, err) < 0)
        return -1;
    if (!fn)
        return 0;
    if (store_exec(s, access == STORE_WRITE ? "BEGIN IMMEDIATE" : "BEGIN", err) < 0)
        return -1;
    rc = fn(s, arg, err);
    if (access == STORE_WRITE)
        disk_commit_begins();
    if (rc >= 0 && store_exec(s, "COMMIT", err) < 0)
        rc = -1;
    if (access == STORE_WRITE)
        disk_commit_ends();
    if (rc < 0)
        (void)sqlite.exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* may have happened already */
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

static struct store *store_new(const char *home)
{
    struct store *s = mem_zalloc(sizeof(*s));

    gate_init(&s->gate);
    if (home) {
        (void)file_mkdirs(home, 0700, NULL); /* if not, opening says why */
        s->name = path_join(home, "state.db");
        s->path = path_join(home, "state.db");
    }
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

int store_open(const char *backend, const char *home, struct cancel *cancel, struct store **ret,
               struct err *err)
{
    bool in_memory = strcmp(backend, "memory") == 0;

    if (!in_memory && strcmp(backend, "sqlite") != 0)
        return err_set(err, ERR_UNSUPPORTED, "there is no store '%s'", backend);
    if (sqlite_table_load(err) < 0)
        return -1;
    return store_begin(store_new(in_memory ? NULL : home), cancel, ret, err);
}

/* ---- Shared connections ---- */

static struct {
    struct lock lock;
    VEC(struct store *) list; /* one per home; each with its users */
} shared = {.lock = LOCK_INIT};

int store_shared(const char *home, struct cancel *cancel, struct store **ret, struct err *err)
{
    struct store *made, *s = NULL;

    if (sqlite_table_load(err) < 0)
        return -1;
    made = store_new(home);
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
    CLEANUP(buf_release) struct buf log = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *dir = NULL;

    store_enter(s);
    if (s->path) {
        buf_addf(&log, "%s-wal", s->path);
        dir = path_dirname(s->path);
    }
    store_leave(s);
    if (!dir)
        return;
    /* Of these two SQLite holds no locks that closing a descriptor would give up. */
    for (int i = 0; i < 2; i++) {
        CLEANUP(fd_closep)
        int fd = open(i ? dir : buf_cstr(&log), O_RDONLY | O_CLOEXEC | (i ? O_DIRECTORY : 0));

        if (fd >= 0)
            (void)disk_sync(fd);
    }
}

int store_library(struct str *ret, struct err *err)
{
    if (sqlite_table_load(err) < 0)
        return -1;
    *ret = str_of(sqlite.libversion());
    return 0;
}

void store_free(struct store *s)
{
    if (!s || !store_is_last(s))
        return;
    goal_guards_free(s->guards); /* may still write */
    store_close(s);
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
