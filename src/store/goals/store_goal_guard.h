/*
 * Protects the rows of goals that this process holds against changes by others; for store_*.c.
 */
#pragma once

#include "store/goals/goal_rule.h"
#include "store/goals/goals.h"

struct query;

/* All columns but thread_id and goal_id, which come first. Defines the order in struct, table and
 * statements. */
#define GOAL_COLUMNS(X)                                                                            \
    X(TEXT, objective)                                                                             \
    X(STATUS, status)                                                                              \
    X(TEXT, phase)                                                                                 \
    X(TEXT, phase_detail)                                                                          \
    X(NUMBER, token_budget)                                                                        \
    X(NUMBER, max_turns)                                                                           \
    X(MONEY, max_cost_usd)                                                                         \
    X(NUMBER, deadline_ms)                                                                         \
    X(NUMBER, tokens_used)                                                                         \
    X(NUMBER, output_tokens)                                                                       \
    X(NUMBER, steps)                                                                               \
    X(NUMBER, time_used_seconds)                                                                   \
    X(MONEY, cost_usd)                                                                             \
    X(FLAG, cost_unknown)                                                                          \
    X(NUMBER, iterations)                                                                          \
    X(TEXT, last_reason)                                                                           \
    X(TEXT, checks)                                                                                \
    X(TEXT, protect)                                                                               \
    X(TEXT, baseline)                                                                              \
    X(TEXT, options)                                                                               \
    X(TEXT, memory)                                                                                \
    X(NUMBER, created_at_ms)                                                                       \
    X(NUMBER, updated_at_ms)

#define NAME(kind, name) ", " #name
#define COLUMNS "thread_id, goal_id" GOAL_COLUMNS(NAME)

struct goal_get {
    struct str thread;
    struct arena *arena;
    struct store_goal row; /* thread_id is empty if there is none */
};

/* 1 and the row, 0 if there is none, -1. Inside a transaction, like all functions below. */
int goal_row_get(struct store *s, struct goal_get *get, struct err *err);
void goal_from_row(struct query *q, struct arena *arena, struct store_goal *ret);
int goal_row_put(struct store *s, const struct store_goal *row, struct err *err);
int goal_row_delete(struct store *s, struct str thread, struct err *err);

/* store_work_fn functions with a struct goal_get: a read that returns GOAL_GUARD_DIFFERS if the row
 * is not what the holder knows, and a write that restores and reads it. */
#define GOAL_GUARD_DIFFERS 2
int goal_guard_read(struct store *s, void *arg, struct err *err);
int goal_guard_write(struct store *s, void *arg, struct err *err);
/* Writes postponed changes first. */
int goal_guard_catch_up(struct store *s, struct str thread, struct err *err);
/* Notes the row as this transaction leaves it (NULL = deleted); takes effect with the commit. */
void goal_guard_note(struct store *s, struct str thread, const struct store_goal *row);

/* A change of a row: a rule, and its entry in the ledger (store_goals.c). */
struct goal_write {
    goal_rule_fn rule;
    const void *what;
    int64_t now_ms;
    const struct goal_event *event;
    bool deletes;
    struct goal_get get; /* in: the current row; out: the changed or deleted one */
};
/* 1 if get.row has changed; its texts are in the arena. */
int goal_write_apply(struct goal_write *w);
/* The ledger entry of an applied change. */
struct goal_event goal_write_event(const struct goal_write *w, const struct goal_event *e);

/* ---- While the database is busy: outside of transactions ---- */

/* True if this process holds the row and has read it, so that reads and changes need not wait. */
bool goal_guard_knows(struct store *s, struct str thread);
/* Gets the known row: 1, or 0 if there is none. */
int goal_guard_recall(struct store *s, struct goal_get *get);
/* Applies the change to the known row; it is written with the next transaction, which a thread
 * triggers if necessary. Returns what the transaction would. */
int goal_guard_postpone(struct store *s, struct goal_write *w);
/* The same for an event only. */
void goal_guard_postpone_note(struct store *s, struct str thread, const struct goal_event *e);

/* Called by the store at the end of each transaction and when it is freed. */
struct goal_guards;
void goal_guards_settle(struct goal_guards *all, bool committed);
void goal_guards_free(struct goal_guards *all);
