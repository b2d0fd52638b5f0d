/*
 * What store_*.c share: a transaction that is tried until it goes through, and one statement.
 *
 * Statements keep to what SQLite 3.35 and PostgreSQL 13 both understand: ON CONFLICT in place of
 * INSERT OR REPLACE, no scalar min() and max(), and parameters as "?" or as $1, $2, … in the order
 * in which they first appear. Formats (store_format.c) and what opens a database are the
 * backend's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"
#include "store/store.h"

struct sqlite3_stmt;

enum store_access {
    STORE_READ,
    STORE_WRITE,
};

typedef int (*store_work_fn)(struct store *s, void *arg, struct err *err);

/* Calls fn inside a transaction; again, from the start, when the database was busy or had to be
 * begun anew. So fn first resets changes of an earlier try in arg. Returns fn's answer; watchers of
 * `changed` are notified of a success, unless fn reported no change. */
int store_run(struct store *s, enum store_access access, enum store_key changed, store_work_fn fn,
              void *arg, struct cancel *cancel, struct err *err);

/* The same with another time than STORE_PATIENCE_MS until it is ERR_RETRY_LATER; 0: one try. */
int store_run_for(struct store *s, enum store_access access, enum store_key changed,
                  store_work_fn fn, void *arg, int64_t patience_ms, struct cancel *cancel,
                  struct err *err);

void store_unchanged(struct store *s);

/* One thread at a time; store_run() does so by itself. */
void store_enter(struct store *s);
void store_leave(struct store *s);
/* Of the goals that this process holds (store_goal_guard.h); NULL: none. */
struct goal_guards **store_guards(struct store *s);

/* One statement: made, its values bound in order, stepped; again after query_again(). */
struct query {
    struct store *store;
    struct sqlite3_stmt *statement;
    bool kept;
    int bound;
    int column;
};

int query_make(struct query *q, struct store *s, const char *sql, struct err *err);
/* The same for frequent queries: the statement stays with the store, under the address of its text
 * (a literal). One query at a time uses it, and binds all of its values. */
int query_keep(struct query *q, struct store *s, const char *sql, struct err *err);
void query_release(struct query *q);
void query_again(struct query *q);

void query_str(struct query *q, struct str s);        /* lent until the step */
void query_opt(struct query *q, const struct str *s); /* NULL is NULL */
void query_i64(struct query *q, int64_t n);
void query_double(struct query *q, double n);

/* 1: a row, 0: no more, -1. */
int query_step(struct query *q, struct err *err);
int query_do(struct query *q, struct err *err); /* for those without rows */
int query_changes(struct query *q);             /* how many rows the last one has changed */

/* The row's columns, in order. */
struct str query_get_str(struct query *q, struct arena *arena);
/* `last` itself when it says the same: neighbours often do. */
struct str query_get_same(struct query *q, struct arena *arena, struct str last);
int64_t query_get_i64(struct query *q);
double query_get_double(struct query *q);
