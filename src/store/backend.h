/*
 * A database that the store works on: what query.h and transactions (store.c) stand on. The rest of
 * the store is the same for all of them.
 *
 * To add one, write its table of functions, in the manner of store_sqlite.c, and a row in store.c;
 * the conformance tests (store_test.c, goals/) take its name. A database is used by one thread at a
 * time. Nothing waits: where another process is in the way, a function fails, and trouble() says
 * STORE_BUSY; store.c rolls back and tries again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct buf;
struct err;

/* What kind of failure the last one since begin() or open() was. */
enum store_trouble {
    STORE_FINE,
    STORE_BUSY,     /* another process has it; the same may work later */
    STORE_DAMAGED,  /* what is stored cannot be read */
    STORE_REJECTED, /* a statement was refused: another program has changed the tables */
    STORE_UNUSABLE, /* no right to write, a newer format, … */
};

struct store_backend {
    int (*load)(struct err *err); /* the library; any thread, any number of times */

    /* A database that is not open yet. path: NULL = in memory. */
    void *(*make)(const char *path);
    void (*free)(void *db);
    /* Brings it up to the current format (store_format.h), if necessary. After a failure only
     * trouble(), set_aside(), close() and free() may follow. */
    int (*open)(void *db, struct err *err);
    void (*close)(void *db); /* all statements are finalized. Does nothing if it is not open */
    enum store_trouble (*trouble)(void *db);
    /* The path leads to another file now, or to none. */
    bool (*is_replaced)(void *db);
    /* Renames the closed file, with all that belongs to it, so that a new one can be created;
     * appends the new name. False if another process has done so. */
    bool (*set_aside)(void *db, struct buf *ret_name);
    /* Everything committed survives a power failure. Needs no transaction; any thread. */
    void (*sync)(const char *path);

    int (*begin)(void *db, bool writes, struct err *err);
    int (*commit)(void *db, struct err *err);
    void (*rollback)(void *db); /* may have happened already */

    /* sql: parameters are "?" or $1, $2, … in the order of their first use. */
    int (*prepare)(void *db, const char *sql, void **ret_statement, struct err *err);
    void (*reset)(void *statement);
    void (*finalize)(void *statement);
    /* at: from 1. copies: s is not valid until the step. */
    void (*bind_str)(void *statement, int at, struct str s, bool copies);
    void (*bind_null)(void *statement, int at);
    void (*bind_i64)(void *statement, int at, int64_t n);
    void (*bind_double)(void *statement, int at, double n);
    int (*step)(void *db, void *statement, struct err *err); /* 1: a row, 0: no more, -1 */
    int (*changes)(void *db); /* rows changed by the last statement */
    /* column: from 0. The text is valid until the next step. */
    struct str (*column_str)(void *statement, int column);
    int64_t (*column_i64)(void *statement, int column);
    double (*column_double)(void *statement, int column);
};

extern const struct store_backend store_sqlite;
