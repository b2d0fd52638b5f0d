/*
 * Shared by store_*.c: transactions with retries, and statements. What lies below is a backend
 * (backend.h); what lies above does not know which.
 *
 * SQL is limited to what both SQLite 3.35 and PostgreSQL 13 support: ON CONFLICT instead of INSERT
 * OR REPLACE, no scalar min() and max(), and parameters as "?" or as $1, $2, … in the order of
 * their first use. Formats (store_format.c) and opening a database are specific to the backend.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"
#include "store/store.h"

struct store_backend;

/* store_open() on this backend; home: NULL = in memory. */
int store_open_on(const struct store_backend *backend, const char *home, struct cancel *cancel,
                  struct store **ret, struct err *err);

enum store_access {
    STORE_READ,
    STORE_WRITE,
};

typedef int (*store_work_fn)(struct store *s, void *arg, struct err *err);

/* Calls fn inside a transaction; repeats it from the start if the database was busy or had to be
 * created again, so fn must first reset in arg what an earlier attempt changed. Returns fn's
 * result; watchers of `changed` are notified on success, unless fn reported no change. */
int store_run(struct store *s, enum store_access access, enum store_key changed, store_work_fn fn,
              void *arg, struct cancel *cancel, struct err *err);

/* The same with another limit than STORE_PATIENCE_MS before ERR_RETRY_LATER; 0 = one attempt. */
int store_run_for(struct store *s, enum store_access access, enum store_key changed,
                  store_work_fn fn, void *arg, int64_t patience_ms, struct cancel *cancel,
                  struct err *err);

void store_unchanged(struct store *s);

/* Excludes other threads; store_run() calls it itself. */
void store_enter(struct store *s);
void store_leave(struct store *s);
/* The goals that this process holds (store_goal_guard.h); or NULL. */
struct goal_guards **store_guards(struct store *s);

/* A statement: prepared, its values bound in order, stepped; query_again() resets it. */
struct query {
    struct store *store;
    void *statement; /* the backend's */
    bool kept;
    int bound;
    int column;
};

int query_make(struct query *q, struct store *s, const char *sql, struct err *err);
/* The same for frequent queries: the statement is cached in the store under the address of its text
 * (a literal). One query at a time may use it, and must bind all values. */
int query_keep(struct query *q, struct store *s, const char *sql, struct err *err);
void query_release(struct query *q);
void query_again(struct query *q);

void query_str(struct query *q, struct str s);        /* must stay valid until the step */
void query_opt(struct query *q, const struct str *s); /* NULL gives SQL NULL */
void query_i64(struct query *q, int64_t n);
void query_double(struct query *q, double n);

/* 1: a row, 0: no more rows, -1: error. */
int query_step(struct query *q, struct err *err);
int query_do(struct query *q, struct err *err); /* for statements without rows */
int query_changes(struct query *q);             /* number of rows changed by the last one */

/* Read the row's columns, in order. */
struct str query_get_str(struct query *q, struct arena *arena);
/* Returns `last` itself if the text is equal, as it often is in adjacent rows. */
struct str query_get_same(struct query *q, struct arena *arena, struct str last);
int64_t query_get_i64(struct query *q);
double query_get_double(struct query *q);
