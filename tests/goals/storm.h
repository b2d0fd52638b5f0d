/*
 * Shared by the parts of the storm: the workers, their records for the replay, and how they fail.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "goals/model.h"
#include "goals/op.h"

struct store;

#define PROCESSES 4
#define THREADS 8
#define WORKERS (PROCESSES * THREADS)
#define OWN 3    /* goals of a thread's own */
#define SHARED 3 /* goals of all */

/* The record of an operation on a shared goal, by worker and number. Read when all have ended. */
struct trace {
    uint64_t row; /* digest of the row that was answered; 0: none */
    _Atomic bool
        accepted; /* so its line is in the ledger. Set after row: a kill may come between */
    bool replayed;
    _Atomic unsigned char queued; /* QUEUE_… */
};

enum {
    QUEUE_ADDED = 1,
    QUEUE_TAKEN = 2,
};

struct storm {
    uint64_t seed;
    unsigned ops;              /* of each worker */
    unsigned victims;          /* processes that are killed; their workers come after the others */
    struct trace *traces;      /* [WORKERS + victims][ops], seen by all processes */
    _Atomic uint64_t *patient; /* operations that had to be tried again after STORE_PATIENCE_MS */
    char threads[SHARED][16];
};

struct line {
    const char *kind;
    enum goal_status status;
    char goal_id[ID_UUID_LEN + 1];
    int64_t time_ms;
};

struct own {
    char thread[24];
    struct model model;
    VEC(struct line) ledger;
    unsigned queue[GOAL_MAX_NEXT];
    size_t queued;
};

struct worker {
    struct storm *storm;
    struct store *store;
    unsigned number;
    unsigned n; /* of the operation */
    uint64_t random;
    struct arena arena;
    struct own own[OWN];
    char seen[SHARED][ID_UUID_LEN + 1]; /* the last goal_id of each */
};

_Noreturn void storm_fail(const struct storm *st, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define STORM_FAIL(w, fmt, ...)                                                                    \
    storm_fail((w)->storm, "worker %u, operation %u: " fmt, (w)->number, (w)->n, __VA_ARGS__)

/* Calls until it is not busy. */
#define STORM_CALL(st, why, call)                                                                  \
    ({                                                                                             \
        int answer_;                                                                               \
        for (;;) {                                                                                 \
            err_clear(why);                                                                        \
            answer_ = (call);                                                                      \
            if (answer_ >= 0 || (why)->code != ERR_RETRY_LATER)                                    \
                break;                                                                             \
            atomic_fetch_add((st)->patient, 1);                                                    \
        }                                                                                          \
        answer_;                                                                                   \
    })

static inline struct trace *storm_trace(const struct storm *st, unsigned worker, unsigned n)
{
    return &st->traces[(size_t)worker * st->ops + n];
}

/* Which of the shared goals an operation is for. */
static inline unsigned storm_target(unsigned worker, unsigned n)
{
    return (worker * 7 + n) % SHARED;
}

/* The trace of a goal that was queued under this name. */
struct trace *storm_queued(struct storm *st, struct str name);

/* The store's answer, retried while busy. event NULL: none. */
int storm_run(struct worker *w, const struct op *op, const struct goal_event *event,
              struct store_goal *ret);
struct str storm_expected(const struct op *op, struct str seen);

/* One operation: on a goal of one's own, on a shared one, on its queue. */
void own_step(struct worker *w);
void own_check(struct worker *w, struct own *own); /* ledger and queue */
void shared_step(struct worker *w);
void shared_change(struct worker *w);

/* When all have ended: everything that is left fits together. Prints figures. */
void replay_check(struct storm *st, struct store *s);
