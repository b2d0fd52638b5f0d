/*
 * Loads SQLite on first use: linking it would add 0.3 ms, a third, to every start, even of commands
 * that never use the store.
 *
 * sqlite_table_load() fills `sqlite`; then sqlite.open_v2() is sqlite3_open_v2(), and so on. Only
 * types and constants come from SQLite's header. To use another function, add it to the list.
 */
#pragma once

#include <sqlite3.h>

struct err;

#define SQLITE_TABLE(X)                                                                            \
    X(open_v2)                                                                                     \
    X(close_v2)                                                                                    \
    X(extended_result_codes)                                                                       \
    X(db_readonly)                                                                                 \
    X(db_config)                                                                                   \
    X(errmsg)                                                                                      \
    X(exec)                                                                                        \
    X(prepare_v2)                                                                                  \
    X(bind_text)                                                                                   \
    X(bind_int64)                                                                                  \
    X(bind_double)                                                                                 \
    X(bind_null)                                                                                   \
    X(step)                                                                                        \
    X(changes)                                                                                     \
    X(reset)                                                                                       \
    X(finalize)                                                                                    \
    X(column_text)                                                                                 \
    X(column_bytes)                                                                                \
    X(column_int64)                                                                                \
    X(column_double)                                                                               \
    X(libversion)

struct sqlite_table {
#define X(name) __typeof__(sqlite3_##name) *name;
    SQLITE_TABLE(X)
#undef X
};

extern struct sqlite_table sqlite;

/* Any thread, any number of times; the library stays loaded until the process ends. ERR_UNSUPPORTED
 * names the package to install. */
int sqlite_table_load(struct err *err);
