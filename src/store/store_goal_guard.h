/*
 * A goal's row that this process holds: what store_*.c need to keep it as the holder knows it.
 */
#pragma once

#include "store/goals.h"

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

/* store_work_fn with a struct goal_get: a read that answers GOAL_GUARD_DIFFERS when the row is not
 * what the holder knows, and a write that restores it and reads it. */
#define GOAL_GUARD_DIFFERS 2
int goal_guard_read(struct store *s, void *arg, struct err *err);
int goal_guard_write(struct store *s, void *arg, struct err *err);
/* Before a change of the row: restores it first when it differs. */
int goal_guard_check(struct store *s, struct str thread, struct err *err);
/* The row as this transaction leaves it; NULL: gone. It counts once that is committed. */
void goal_guard_note(struct store *s, struct str thread, const struct store_goal *row);

/* The store's own: at the end of each transaction, and of its life. */
struct goal_guard;
void goal_guard_settle(struct goal_guard *g, bool committed);
void goal_guard_free(struct goal_guard *g);
