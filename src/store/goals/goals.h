/*
 * Goals in the store: one row per session (thread), and a ledger of its changes.
 *
 * The rules of the row are applied here (goal_rule.h), one transaction each, so that threads and
 * processes may all write and none has to read, compute and write back:
 *
 *   - `used >= budget` is the test everywhere, with the budget that holds after the change. The
 * other limits (steps, money, time of day) work like the budget: a goal that has reached any of
 * them is spent.
 *   - No change leaves a spent goal active: it becomes budget_limited. So does resuming a goal when
 *     nothing is left; lowering a limit to or below the used amount stops an active goal, and any
 *     change after the deadline detects it. Raising a limit alone does not resume a goal.
 *   - An update never turns budget_limited into paused or blocked; usage_limited may be paused.
 *   - goal_id is new on replace and insert and protects against stale updates: an update or charge
 *     with another goal_id changes nothing.
 *
 * Returned texts are in the arena. For what is common to all calls see store.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "base/str.h"
#include "base/vec.h"

struct arena;
struct cancel;
struct err;
struct store;

#define GOAL_MAX_OBJECTIVE 4000 /* code points */
#define GOAL_MAX_TEXT                                                                              \
    ((size_t)256 << 10) /* of any other text of the row; longer ones: ERR_TOO_BIG */
#define GOAL_MAX_NUMBER ((int64_t)1 << 53) /* of a counter or a limit; counters stop there */
#define GOAL_MAX_EVENT ((size_t)64 << 10)  /* of an event's data; longer ones: ERR_TOO_BIG */
#define GOAL_MAX_NEXT 100                  /* queued goals */

#define GOAL_STATUSES(X)                                                                           \
    X(ACTIVE, "active")                                                                            \
    X(PAUSED, "paused")                                                                            \
    X(BLOCKED, "blocked")                                                                          \
    X(USAGE_LIMITED, "usage_limited")                                                              \
    X(BUDGET_LIMITED, "budget_limited")                                                            \
    X(COMPLETE, "complete")

enum goal_status {
#define X(id, name) GOAL_##id,
    GOAL_STATUSES(X)
#undef X
    GOAL_STATUS_COUNT,
};
const char *goal_status_name(enum goal_status s);
bool goal_status_parse(struct str name, enum goal_status *ret);

struct store_goal {
    struct str thread_id; /* the session's id */
    struct str goal_id;   /* uuid v4 */
    struct str objective;
    enum goal_status status;
    struct str phase;        /* of an active goal: "working", "verifying", "waiting", "retrying" */
    struct str phase_detail; /* JSON, defined by the goal engine; or empty */
    int64_t token_budget;    /* 0 = no limit */
    int64_t max_turns;       /* steps of the main agent; 0 = no limit */
    double max_cost_usd;     /* 0 = no limit */
    int64_t deadline_ms;     /* wall clock; 0 = none */
    int64_t tokens_used, output_tokens;
    int64_t steps;
    int64_t time_used_seconds;
    double cost_usd;
    bool cost_unknown; /* some cost came from a caller without prices */
    int64_t iterations;
    struct str last_reason;
    struct str checks; /* JSON, defined by the goal engine, like the next four; may be empty */
    struct str protect;
    struct str baseline;
    struct str options; /* how it was set: referee, on_deny, tokens_at_start, … */
    struct str memory;  /* state of the engine: stalls, blockers, claims, waits */
    int64_t created_at_ms, updated_at_ms;
};

typedef VEC(struct store_goal) store_goal_vec;

/* 1 and the row, 0 if there is none, -1. */
int store_goal_get(struct store *s, struct str thread, struct arena *arena, struct store_goal *ret,
                   struct cancel *cancel, struct err *err);
/* All goals with this status (GOAL_STATUS_COUNT = any), most recently changed first, at most `max`.
 */
int store_goals(struct store *s, enum goal_status status, size_t max, struct arena *arena,
                store_goal_vec *ret, struct cancel *cancel, struct err *err);

/* A past event. The ledger is append-only and exists as long as the session. */
struct goal_event {
    int64_t id; /* increasing; set in returned events */
    struct str goal_id;
    int64_t time_ms;
    struct str kind; /* "set", "verdict", "status", "charge", "wait", … */
    struct str data; /* JSON object */
    /* The goal's status after it; set in returned events. GOAL_STATUS_COUNT: the event changed no
     * row. */
    enum goal_status status;
    const struct goal_event *next; /* another event to be written after it, with the same change */
};

typedef VEC(struct goal_event) goal_event_vec;

/*
 * For all changes below: *ret (may be NULL) is the resulting row. If the result is 0, nothing was
 * changed and *ret is the existing row; its thread_id is empty if there is none. event (may be
 * NULL) and its successors (next) are written to the ledger in the same transaction, only if
 * something was changed; only kind and data are used: the goal is the row's and the time is now_ms.
 *
 * Invalid values (a budget of 0, a negative charge, an empty objective, …) are ERR_BAD_INPUT.
 */

/* Sets objective (trimmed), status, limits, and all texts; usage is ignored and starts at 0.
 * goal_id: a new one from the caller (id.h). */

/* Stores it, replacing any other. */
int store_goal_replace(struct store *s, const struct store_goal *g, int64_t now_ms,
                       const struct goal_event *event, struct arena *arena, struct store_goal *ret,
                       struct cancel *cancel, struct err *err);
/* Stores it only if there is none or a complete one. 1: stored; 0: there is an unfinished goal. */
int store_goal_insert(struct store *s, const struct store_goal *g, int64_t now_ms,
                      const struct goal_event *event, struct arena *arena, struct store_goal *ret,
                      struct cancel *cancel, struct err *err);

enum goal_change {
    CHANGE_KEEP,
    CHANGE_SET,
    CHANGE_CLEAR, /* remove the limit */
    CHANGE_ADD,   /* add to the larger of limit and usage; without a limit, no effect */
};

struct goal_limit_change {
    enum goal_change what;
    int64_t value; /* > 0 */
};

struct goal_update {
    struct str expected_goal_id; /* empty = any */
    unsigned from; /* bits 1 << GOAL_…: only a goal with one of these statuses; 0 = any */
    bool has_status;
    enum goal_status status;
    struct goal_limit_change token_budget, max_turns, deadline_ms;
    enum goal_change max_cost;
    double max_cost_usd; /* > 0; CHANGE_ADD: this much more */
    int64_t add_iterations;
    /* NULL = unchanged. */
    const struct str *objective, *phase, *phase_detail, *last_reason;
    const struct str *checks, *protect, *baseline, *options, *memory;
};

/* 1: done, also if the row has not changed; 0: no row, or another goal_id or status. */
int store_goal_update(struct store *s, struct str thread, const struct goal_update *u,
                      int64_t now_ms, const struct goal_event *event, struct arena *arena,
                      struct store_goal *ret, struct cancel *cancel, struct err *err);

/* 1: deleted, *ret is the old row; 0: there was none, or another. Ledger and queue remain. */
int store_goal_delete(struct store *s, struct str thread, struct str expected_goal_id,
                      int64_t now_ms, const struct goal_event *event, struct arena *arena,
                      struct store_goal *ret, struct cancel *cancel, struct err *err);

/* Which goals are charged, and which of them may become budget_limited. */
enum goal_mode {
    CHARGE_ACTIVE_STATUS_ONLY, /* active */
    CHARGE_ACTIVE_ONLY,        /* and budget_limited */
    CHARGE_ACTIVE_OR_COMPLETE, /* and complete */
    CHARGE_ACTIVE_OR_STOPPED,  /* all but complete; any of them may become budget_limited */
};

struct goal_charge {
    struct str expected_goal_id; /* empty = any */
    enum goal_mode mode;
    int64_t seconds, tokens, output_tokens, steps; /* none may be negative: ERR_BAD_INPUT */
    double cost_usd;
    bool cost_unknown; /* counts as a change even alone */
};

/* 1: updated, 0: unchanged (nothing to add, no such goal, or another status). */
int store_goal_account(struct store *s, struct str thread, const struct goal_charge *c,
                       int64_t now_ms, const struct goal_event *event, struct arena *arena,
                       struct store_goal *ret, struct cancel *cancel, struct err *err);

/* active → paused; active or budget_limited → usage_limited. Results as store_goal_update(). */
int store_goal_pause_active(struct store *s, struct str thread, int64_t now_ms,
                            const struct goal_event *event, struct arena *arena,
                            struct store_goal *ret, struct cancel *cancel, struct err *err);
int store_goal_usage_limit_active(struct store *s, struct str thread, int64_t now_ms,
                                  const struct goal_event *event, struct arena *arena,
                                  struct store_goal *ret, struct cancel *cancel, struct err *err);

/* Writes a lost row back, including its usage, replacing any other. */
int store_goal_restore(struct store *s, const struct store_goal *g, int64_t now_ms,
                       const struct goal_event *event, struct cancel *cancel, struct err *err);

/* Deletes the goal, ledger and queue of a deleted session. 1 if there was anything. */
int store_goals_forget(struct store *s, struct str thread, struct cancel *cancel, struct err *err);

/* ---- Rows held by this process ---- */

#define GOAL_PARTS(X)                                                                              \
    X(ROW, "the row itself") /* it was deleted, or replaced by another goal */                     \
    X(STATUS, "status")                                                                            \
    X(OBJECTIVE, "objective")                                                                      \
    X(CHECKS, "checks")                                                                            \
    X(PROTECT, "protection")                                                                       \
    X(LIMITS, "limits")                                                                            \
    X(BASELINE, "baseline")                                                                        \
    X(OPTIONS, "options")                                                                          \
    X(USED, "usage")                                                                               \
    X(MEMORY, "state of the engine")

enum goal_part {
#define X(id, name) GOAL_PART_##id,
    GOAL_PARTS(X)
#undef X
    GOAL_PART_COUNT,
};
const char *goal_part_name(enum goal_part part);

/* From here on the row that this store read or wrote last is authoritative. A change by another
 * program is undone by the next function above that reads or writes the row. Once the row was read,
 * none of them waits for a busy database: they use the copy in memory, which is written as soon as
 * possible. */
void store_goal_guard(struct store *s, struct str thread);
/* Parts that were restored since the last call: bits 1 << GOAL_PART_…. */
unsigned store_goal_foreign(struct store *s, struct str thread);
/* Writes the copy in memory; done when this returns 0. */
int store_goal_flush(struct store *s, struct str thread, int64_t patience_ms, struct cancel *cancel,
                     struct err *err);
/* The same, and ends the hold. */
void store_goal_release(struct store *s, struct str thread);

/* ---- The ledger ---- */

/* Records an event that changed no row: a late verdict, a wait. */
int store_goal_note(struct store *s, struct str thread, const struct goal_event *e,
                    struct cancel *cancel, struct err *err);
/* Events of one goal, or of all goals of the session (goal_id empty), oldest first, after id
 * `after`, at most `max`. */
int store_goal_events(struct store *s, struct str thread, struct str goal_id, int64_t after,
                      size_t max, struct arena *arena, goal_event_vec *ret, struct cancel *cancel,
                      struct err *err);
/* The newest `max` events of one goal without charges, oldest first. */
int store_goal_last_events(struct store *s, struct str thread, struct str goal_id, size_t max,
                           struct arena *arena, goal_event_vec *ret, struct cancel *cancel,
                           struct err *err);

/* ---- Queued goals, started when the session's current goal is complete ---- */

struct goal_next {
    int64_t id;
    struct str objective;
    struct str options; /* JSON, defined by the goal engine: checks, limits, … */
};

typedef VEC(struct goal_next) goal_next_vec;

/* Appends; ERR_TOO_BIG if there are GOAL_MAX_NEXT. */
int store_goal_next_add(struct store *s, struct str thread, const struct goal_next *n,
                        struct cancel *cancel, struct err *err);
int store_goal_next_list(struct store *s, struct str thread, struct arena *arena,
                         goal_next_vec *ret, struct cancel *cancel, struct err *err);
/* Removes the first one: 1, or 0 if the queue is empty. */
int store_goal_next_take(struct store *s, struct str thread, struct arena *arena,
                         struct goal_next *ret, struct cancel *cancel, struct err *err);
/* Removes it wherever it is: 1, or 0 if it was already taken. */
int store_goal_next_drop(struct store *s, struct str thread, int64_t id, struct cancel *cancel,
                         struct err *err);
/* Moves an entry, by position from 1, to another used position, or removes it (0). 1: done, 0: no
 * such position. */
int store_goal_next_move(struct store *s, struct str thread, size_t from, size_t to,
                         struct cancel *cancel, struct err *err);
