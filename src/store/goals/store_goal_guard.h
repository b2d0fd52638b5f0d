/*
 * A goal's row that this process holds: what store_*.c need to keep it as the holder knows it.
 */
#pragma once

#include "store/goals/goal_rule.h"
#include "store/goals/goals.h"

struct query;

/* All but thread_id and goal_id, which come first. The order of struct, table and statements. */
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
    struct store_goal row; /* thread_id is empty: there is none */
};

/* 1 and the row, 0: none, -1. Inside a transaction, as all below. */
int goal_row_get(struct store *s, struct goal_get *get, struct err *err);
void goal_from_row(struct query *q, struct arena *arena, struct store_goal *ret);
int goal_row_put(struct store *s, const struct store_goal *row, struct err *err);
int goal_row_delete(struct store *s, struct str thread, struct err *err);

/* store_work_fn with a struct goal_get: a read that answers GOAL_GUARD_DIFFERS when the row is not
 * what the holder knows, and a write that restores it and reads it. */
#define GOAL_GUARD_DIFFERS 2
int goal_guard_read(struct store *s, void *arg, struct err *err);
int goal_guard_write(struct store *s, void *arg, struct err *err);
/* Postponed changes come first. */
int goal_guard_catch_up(struct store *s, struct str thread, struct err *err);
/* The row as this transaction leaves it; NULL: gone. It counts once that is committed. */
void goal_guard_note(struct store *s, struct str thread, const struct store_goal *row);

/* A change of a row: a rule, and what the ledger says of it (store_goals.c). */
struct goal_write {
    goal_rule_fn rule;
    const void *what;
    int64_t now_ms;
    const struct goal_event *event;
    bool deletes;
    struct goal_get get; /* before, the row as it is; then as it was changed, or was deleted */
};
/* 1: get.row has changed; its texts are in the arena. */
int goal_write_apply(struct goal_write *w);
/* The event of a change that was applied, as it goes into the ledger. */
struct goal_event goal_write_event(const struct goal_write *w, const struct goal_event *e);

/* ---- While the database is busy: outside a transaction ---- */

/* This process holds the row and has read it: neither a read nor a change has to wait. */
bool goal_guard_knows(struct store *s, struct str thread);
/* The row as it is known: 1, or 0: there is none. */
int goal_guard_recall(struct store *s, struct goal_get *get);
/* Applies the change to the known row, to be written with the next transaction; a thread sees to
 * it that there is one. Answers as the transaction would. */
int goal_guard_postpone(struct store *s, struct goal_write *w);
/* The same for an event alone. */
void goal_guard_postpone_note(struct store *s, struct str thread, const struct goal_event *e);

/* The store's own: at the end of each transaction, and of its life. */
struct goal_guards;
void goal_guards_settle(struct goal_guards *all, bool committed);
void goal_guards_free(struct goal_guards *all);
