/*
 * Goals in the store: one row per session (thread), and the ledger of what happened to it.
 *
 * The rules of the row are kept here (goal_rule.h), one transaction each, so that threads and
 * processes may all write at once and none of them reads, computes and writes back:
 *
 *  - `used >= budget` is the test everywhere, and the budget compared is the one that holds after
 *    the change. The other limits (steps, money, time of day) count like the budget: a goal that
 *    has reached any of them is spent.
 *  - No change leaves a spent goal active: it becomes budget_limited. So does resuming one when
 *    nothing is left; lowering a limit to or below the used amount stops an active goal, and any
 *    change after the deadline detects it. Raising a limit alone wakes nothing.
 *  - budget_limited becomes neither paused nor blocked by an update; usage_limited may be paused.
 *  - goal_id is new on replace and insert and is the lock of everybody who has looked before: an
 *    update or a charge that names another one changes nothing.
 *
 * Texts that are returned live in the arena. All calls: see store.h.
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

#define GOAL_MAX_OBJECTIVE 4000            /* code points */
#define GOAL_MAX_TEXT ((size_t)256 << 10)  /* of any other text of the row; longer: ERR_TOO_BIG */
#define GOAL_MAX_NUMBER ((int64_t)1 << 53) /* of a counter or a limit; counters stay there */
#define GOAL_MAX_EVENT ((size_t)64 << 10)  /* of an event's data; longer: ERR_TOO_BIG */
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
    struct str phase;        /* of an active one: "working", "verifying", "waiting", "retrying" */
    struct str phase_detail; /* JSON, goal room's; or empty */
    int64_t token_budget;    /* 0: no limit */
    int64_t max_turns;       /* steps of the main agent; 0: no limit */
    double max_cost_usd;     /* 0: no limit */
    int64_t deadline_ms;     /* of the wall clock; 0: none */
    int64_t tokens_used, output_tokens;
    int64_t steps;
    int64_t time_used_seconds;
    double cost_usd;
    bool cost_unknown; /* part of the cost came from a caller without prices */
    int64_t iterations;
    struct str last_reason;
    struct str checks; /* JSON, goal room's, as are the next four; may be empty */
    struct str protect;
    struct str baseline;
    struct str options; /* how it was set: referee, on_deny, tokens_at_start, … */
    struct str memory;  /* what the engine must not forget: stalls, blockers, claims, waits */
    int64_t created_at_ms, updated_at_ms;
};

typedef VEC(struct store_goal) store_goal_vec;

/* 1 and the row, 0: there is none, -1. */
int store_goal_get(struct store *s, struct str thread, struct arena *arena, struct store_goal *ret,
                   struct cancel *cancel, struct err *err);
/* All, or those of one status (GOAL_STATUS_COUNT: all), newest change first, at most `max`. */
int store_goals(struct store *s, enum goal_status status, size_t max, struct arena *arena,
                store_goal_vec *ret, struct cancel *cancel, struct err *err);

/* A past event, for later queries; append-only, as long as the session exists. */
struct goal_event {
    int64_t id; /* grows; of those returned */
    struct str goal_id;
    int64_t time_ms;
    struct str kind; /* "set", "verdict", "status", "charge", "wait", … */
    struct str data; /* JSON object */
    /* The goal's when this had happened; of those returned. GOAL_STATUS_COUNT: it was only noted.
     */
    enum goal_status status;
    const struct goal_event *next; /* a given one: goes in after it, with the same change */
};

typedef VEC(struct goal_event) goal_event_vec;

/*
 * For all changes below: *ret (NULL: not wanted) is the row as it landed. When the answer is 0,
 * nothing was changed and *ret is the existing row; its thread_id is empty when there is none.
 * event (NULL: none) goes into the ledger in the same transaction, with all after it (next),
 * exactly when something was changed; only kind and data count: its goal is the row's and its time
 * is now_ms.
 *
 * What cannot be (a budget of 0, a negative charge, an empty objective, …) is ERR_BAD_INPUT.
 */

/* Sets objective (trimmed), status, limits, and all texts; usage is ignored and begins at 0.
 * goal_id: the caller's (id.h), new. */

/* Puts it there, whatever was there before. */
int store_goal_replace(struct store *s, const struct store_goal *g, int64_t now_ms,
                       const struct goal_event *event, struct arena *arena, struct store_goal *ret,
                       struct cancel *cancel, struct err *err);
/* Only where there is none, or a complete one. 1: done; 0: an unfinished goal is there. */
int store_goal_insert(struct store *s, const struct store_goal *g, int64_t now_ms,
                      const struct goal_event *event, struct arena *arena, struct store_goal *ret,
                      struct cancel *cancel, struct err *err);

enum goal_change {
    CHANGE_KEEP,
    CHANGE_SET,
    CHANGE_CLEAR, /* no limit from here on */
    CHANGE_ADD,   /* to the larger of the limit and the usage; no limit stays none */
};

struct goal_limit_change {
    enum goal_change what;
    int64_t value; /* > 0 */
};

struct goal_update {
    struct str expected_goal_id; /* empty: whichever is there */
    unsigned from;               /* 1 << GOAL_…: only a goal in one of these; 0: in any */
    bool has_status;
    enum goal_status status;
    struct goal_limit_change token_budget, max_turns, deadline_ms;
    enum goal_change max_cost;
    double max_cost_usd; /* > 0; CHANGE_ADD: so much more */
    int64_t add_iterations;
    /* NULL: left as it is. */
    const struct str *objective, *phase, *phase_detail, *last_reason;
    const struct str *checks, *protect, *baseline, *options, *memory;
};

/* 1: done, also when the row looks the same as before; 0: no row, another goal_id or another
 * status. */
int store_goal_update(struct store *s, struct str thread, const struct goal_update *u,
                      int64_t now_ms, const struct goal_event *event, struct arena *arena,
                      struct store_goal *ret, struct cancel *cancel, struct err *err);

/* 1: it is gone, *ret is what it was; 0: there was none, or another. Ledger and queue stay. */
int store_goal_delete(struct store *s, struct str thread, struct str expected_goal_id,
                      int64_t now_ms, const struct goal_event *event, struct arena *arena,
                      struct store_goal *ret, struct cancel *cancel, struct err *err);

/* Which goals a charge reaches; and in which it may turn the status to budget_limited. */
enum goal_mode {
    CHARGE_ACTIVE_STATUS_ONLY, /* active */
    CHARGE_ACTIVE_ONLY,        /* and budget_limited */
    CHARGE_ACTIVE_OR_COMPLETE, /* and complete */
    CHARGE_ACTIVE_OR_STOPPED,  /* all but complete; any of them may turn */
};

struct goal_charge {
    struct str expected_goal_id; /* empty: whichever is there */
    enum goal_mode mode;
    int64_t seconds, tokens, output_tokens, steps; /* none negative: ERR_BAD_INPUT */
    double cost_usd;
    bool cost_unknown; /* alone, too, it is something to add */
};

/* 1: updated, 0: unchanged (nothing to add, no such goal, not in this status). */
int store_goal_account(struct store *s, struct str thread, const struct goal_charge *c,
                       int64_t now_ms, const struct goal_event *event, struct arena *arena,
                       struct store_goal *ret, struct cancel *cancel, struct err *err);

/* active → paused; active or budget_limited → usage_limited. As store_goal_update(). */
int store_goal_pause_active(struct store *s, struct str thread, int64_t now_ms,
                            const struct goal_event *event, struct arena *arena,
                            struct store_goal *ret, struct cancel *cancel, struct err *err);
int store_goal_usage_limit_active(struct store *s, struct str thread, int64_t now_ms,
                                  const struct goal_event *event, struct arena *arena,
                                  struct store_goal *ret, struct cancel *cancel, struct err *err);

/* A row that was lost, whole and with what it had used, in place of whatever is there. */
int store_goal_restore(struct store *s, const struct store_goal *g, int64_t now_ms,
                       const struct goal_event *event, struct cancel *cancel, struct err *err);

/* The session is gone for good: so are its goal, its ledger and its queue. 1: there was something
 * of them. */
int store_goals_forget(struct store *s, struct str thread, struct cancel *cancel, struct err *err);

/* ---- A row that this process holds ---- */

#define GOAL_PARTS(X)                                                                              \
    X(ROW, "the row itself") /* it was gone, or another goal's */                                  \
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

/* From here on this store's last read or written row of this thread is authoritative. A change by
 * another program is undone by the next function above that reads or writes the row. Once the row
 * was read, none of them waits for a busy database: they work on the copy in memory, which is
 * written as soon as that is possible. */
void store_goal_guard(struct store *s, struct str thread);
/* Parts undone since the last call: 1 << GOAL_PART_… */
unsigned store_goal_foreign(struct store *s, struct str thread);
/* The copy in memory is written when this returns 0. */
int store_goal_flush(struct store *s, struct str thread, int64_t patience_ms, struct cancel *cancel,
                     struct err *err);
/* The same, and the row is not held any more. */
void store_goal_release(struct store *s, struct str thread);

/* ---- The ledger ---- */

/* Something happened that changed no row: a verdict that came too late, a wait. */
int store_goal_note(struct store *s, struct str thread, const struct goal_event *e,
                    struct cancel *cancel, struct err *err);
/* Of one goal, or of all goals of the session (goal_id empty), oldest first, after `after`, at most
 * `max`. */
int store_goal_events(struct store *s, struct str thread, struct str goal_id, int64_t after,
                      size_t max, struct arena *arena, goal_event_vec *ret, struct cancel *cancel,
                      struct err *err);
/* The newest `max` of one goal without its charges, oldest first. */
int store_goal_last_events(struct store *s, struct str thread, struct str goal_id, size_t max,
                           struct arena *arena, goal_event_vec *ret, struct cancel *cancel,
                           struct err *err);

/* ---- Goals that wait for the session's present one to be complete ---- */

struct goal_next {
    int64_t id;
    struct str objective;
    struct str options; /* JSON, goal room's: checks, limits, … */
};

typedef VEC(struct goal_next) goal_next_vec;

/* At the end; ERR_TOO_BIG past GOAL_MAX_NEXT. */
int store_goal_next_add(struct store *s, struct str thread, const struct goal_next *n,
                        struct cancel *cancel, struct err *err);
int store_goal_next_list(struct store *s, struct str thread, struct arena *arena,
                         goal_next_vec *ret, struct cancel *cancel, struct err *err);
/* Takes the first one out: 1, or 0: none waits. */
int store_goal_next_take(struct store *s, struct str thread, struct arena *arena,
                         struct goal_next *ret, struct cancel *cancel, struct err *err);
/* Drops it from its current place: 1, or 0: it was taken already. */
int store_goal_next_drop(struct store *s, struct str thread, int64_t id, struct cancel *cancel,
                         struct err *err);
/* By place, from 1: moves it to another that is taken, or out (to 0). 1: done, 0: no such place. */
int store_goal_next_move(struct store *s, struct str thread, size_t from, size_t to,
                         struct cancel *cancel, struct err *err);
