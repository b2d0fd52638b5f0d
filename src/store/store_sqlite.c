/*
 * The backend on SQLite (backend.h).
 *
 * SQLite never waits here: it has no busy handler, and a transaction on a busy database fails at
 * once. A writer announces itself at the start (BEGIN IMMEDIATE), so that it never has to give up
 * in the middle.
 */
#include "store/backend.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/mem.h"
#include "store/sqlite_table.h"
#include "store/store_format.h"

struct sqlite_db {
    char *path; /* NULL: in memory */
    sqlite3 *db;
    ino_t inode; /* of the file that db is, or was */
    int code;    /* SQLite's, of the last failure */
};

static int db_fail(struct sqlite_db *d, int code, struct err *err)
{
    d->code = code & 0xff; /* without the details of the extended one */
    return err_set(err, ERR_IO, "state.db: %s", d->db ? sqlite.errmsg(d->db) : "out of memory");
}

static int db_exec(struct sqlite_db *d, const char *sql, struct err *err)
{
    int code = sqlite.exec(d->db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? 0 : db_fail(d, code, err);
}

static enum store_trouble db_trouble(void *db)
{
    switch (((struct sqlite_db *)db)->code) {
    case SQLITE_OK:
        return STORE_FINE;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return STORE_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return STORE_DAMAGED;
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
        return STORE_REJECTED;
    default:
        return STORE_UNUSABLE;
    }
}

/* ---- Statements ---- */

static int db_prepare(void *db, const char *sql, void **ret_statement, struct err *err)
{
    struct sqlite_db *d = db;
    sqlite3_stmt *statement = NULL;
    int code = sqlite.prepare_v2(d->db, sql, -1, &statement, NULL);

    *ret_statement = statement;
    return code == SQLITE_OK ? 0 : db_fail(d, code, err);
}

static void db_reset(void *statement)
{
    sqlite.reset(statement);
}

static void db_finalize(void *statement)
{
    sqlite.finalize(statement);
}

static void db_bind_str(void *statement, int at, struct str s, bool copies)
{
    sqlite.bind_text(statement, at, s.len ? s.ptr : "", (int)s.len,
                     copies ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

static void db_bind_null(void *statement, int at)
{
    sqlite.bind_null(statement, at);
}

static void db_bind_i64(void *statement, int at, int64_t n)
{
    sqlite.bind_int64(statement, at, n);
}

static void db_bind_double(void *statement, int at, double n)
{
    sqlite.bind_double(statement, at, n);
}

static int db_step(void *db, void *statement, struct err *err)
{
    int code = sqlite.step(statement);

    if (code == SQLITE_ROW)
        return 1;
    return code == SQLITE_DONE ? 0 : db_fail(db, code, err);
}

static int db_changes(void *db)
{
    return sqlite.changes(((struct sqlite_db *)db)->db);
}

static struct str db_column_str(void *statement, int column)
{
    const char *text = (const char *)sqlite.column_text(statement, column);

    return str_make(text, (size_t)sqlite.column_bytes(statement, column));
}

static int64_t db_column_i64(void *statement, int column)
{
    return sqlite.column_int64(statement, column);
}

static double db_column_double(void *statement, int column)
{
    return sqlite.column_double(statement, column);
}

/* ---- Opening ---- */

static void *db_make(const char *path)
{
    struct sqlite_db *d = mem_zalloc(sizeof(*d));

    d->path = path ? mem_dup(path, strlen(path)) : NULL;
    return d;
}

static void db_close(void *db)
{
    struct sqlite_db *d = db;

    if (d->db)
        sqlite.close_v2(d->db);
    d->db = NULL;
}

static void db_free(void *db)
{
    struct sqlite_db *d = db;

    db_close(d);
    mem_freep(&d->path);
    mem_freep(&d);
}

static int db_get_format(struct sqlite_db *d, int64_t *ret, struct err *err)
{
    void *statement;
    int rc = db_prepare(d, "PRAGMA user_version", &statement, err);

    if (rc == 0)
        rc = db_step(d, statement, err);
    if (rc > 0)
        *ret = db_column_i64(statement, 0);
    db_finalize(statement);
    return rc < 0 ? -1 : 0;
}

/* Several processes may do this at once; the first one wins. */
static int db_bring_up(struct sqlite_db *d, struct err *err)
{
    int64_t format = 0;

    if (db_exec(d, "PRAGMA journal_mode=WAL", err) < 0 || db_exec(d, "BEGIN IMMEDIATE", err))
        return -1;
    if (db_get_format(d, &format, err) < 0)
        return -1;
    for (; format < store_format_count; format++) {
        CLEANUP(buf_release) struct buf sql = BUF_INIT(16384);

        buf_adds(&sql, store_formats[format]);
        buf_addf(&sql, "PRAGMA user_version=%lld", (long long)format + 1);
        if (db_exec(d, buf_cstr(&sql), err) < 0)
            return -1;
    }
    return db_exec(d, "COMMIT", err);
}

/* ERR_UNSUPPORTED: written by a newer tenax. */
static int db_check_format(struct sqlite_db *d, struct err *err)
{
    int64_t format = 0;

    if (db_get_format(d, &format, err) < 0)
        return -1;
    if (format < 0)
        return err_set(err, ERR_UNSUPPORTED, "it is not tenax's (format %lld)", (long long)format);
    if (format > store_format_count)
        return err_set(err, ERR_UNSUPPORTED,
                       "a newer tenax wrote it (format %lld; this one knows %lld)",
                       (long long)format, (long long)store_format_count);
    if (format < store_format_count && db_bring_up(d, err) < 0)
        return -1;
    /* Survives kill -9; a power failure may lose the last moments, which no transcript depends on.
     */
    return db_exec(d,
                   "PRAGMA synchronous=NORMAL;"
                   "PRAGMA journal_size_limit=4194304;"
                   "PRAGMA cache_size=-128", /* KB: we read in one go, and once */
                   err);
}

/* Creates the file with our mode before SQLite does. Only if it is new: closing a descriptor of a
 * database that this process has open would release its locks. */
static void make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    fd_closep(&fd);
}

static int db_open(void *db, struct err *err)
{
    struct sqlite_db *d = db;
    struct stat st = {0};
    int code;

    d->code = SQLITE_OK;
    if (d->path)
        make_file(d->path);
    code = sqlite.open_v2(d->path ? d->path : ":memory:", &d->db,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return db_fail(d, code, err);
    sqlite.extended_result_codes(d->db, 1);
    /* A trigger or a view that another program has put there would change what we write. */
    (void)sqlite.db_config(d->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite.db_config(d->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    if (sqlite.db_readonly(d->db, "main") == 1) {
        d->code = SQLITE_READONLY;
        return err_set(err, ERR_IO, "it cannot be written");
    }
    if (d->path && stat(d->path, &st) == 0)
        d->inode = st.st_ino;
    return db_check_format(d, err);
}

static bool db_is_replaced(void *db)
{
    const struct sqlite_db *d = db;
    struct stat st;

    return d->path && (stat(d->path, &st) < 0 || st.st_ino != d->inode);
}

static bool db_set_aside(void *db, struct buf *ret_name)
{
    static const char *const parts[] = {"", "-wal", "-shm"};
    const struct sqlite_db *d = db;
    char when[25];

    if (db_is_replaced(db))
        return false;
    clock_iso(clock_wall_ms(), when);
    buf_addf(ret_name, "%s.damaged-%.10s-%08x", d->path, when, (unsigned)id_random());
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        CLEANUP(buf_release) struct buf part = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf part_to = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&part, "%s%s", d->path, parts[i]);
        buf_addf(&part_to, "%s%s", buf_cstr(ret_name), parts[i]);
        (void)rename(buf_cstr(&part), buf_cstr(&part_to));
    }
    return true;
}

static void db_sync(const char *path)
{
    CLEANUP(buf_release) struct buf log = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *dir = path_dirname(path);

    buf_addf(&log, "%s-wal", path);
    /* Of these two SQLite holds no locks that closing a descriptor would give up. */
    for (int i = 0; i < 2; i++) {
        CLEANUP(fd_closep)
        int fd = open(i ? dir : buf_cstr(&log), O_RDONLY | O_CLOEXEC | (i ? O_DIRECTORY : 0));

        if (fd >= 0)
            (void)disk_sync(fd);
    }
}

/* ---- Transactions ---- */

static int db_begin(void *db, bool writes, struct err *err)
{
    struct sqlite_db *d = db;

    d->code = SQLITE_OK;
    return db_exec(d, writes ? "BEGIN IMMEDIATE" : "BEGIN", err);
}

static int db_commit(void *db, struct err *err)
{
    return db_exec(db, "COMMIT", err);
}

static void db_rollback(void *db)
{
    (void)sqlite.exec(((struct sqlite_db *)db)->db, "ROLLBACK", NULL, NULL, NULL);
}

const struct store_backend store_sqlite = {
    .load = sqlite_table_load,
    .make = db_make,
    .free = db_free,
    .open = db_open,
    .close = db_close,
    .trouble = db_trouble,
    .is_replaced = db_is_replaced,
    .set_aside = db_set_aside,
    .sync = db_sync,
    .begin = db_begin,
    .commit = db_commit,
    .rollback = db_rollback,
    .prepare = db_prepare,
    .reset = db_reset,
    .finalize = db_finalize,
    .bind_str = db_bind_str,
    .bind_null = db_bind_null,
    .bind_i64 = db_bind_i64,
    .bind_double = db_bind_double,
    .step = db_step,
    .changes = db_changes,
    .column_str = db_column_str,
    .column_i64 = db_column_i64,
    .column_double = db_column_double,
};
