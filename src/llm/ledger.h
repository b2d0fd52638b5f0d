/*
 * The cost of a session, per model and in total. Cached tokens have their own prices (llm/model.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "llm/dialect/dialect.h"
#include "llm/event.h"

struct arena;
struct model;

enum spent_who {
    SPENT_MAIN,
    SPENT_COMPACTION, /* by the agent itself, but outside the conversation */
    SPENT_TOOL,       /* model calls made by a tool */
    SPENT_HOOK,
    SPENT_JUDGE,
    SPENT_ASIDE, /* a separate question, such as a title or /btw */
    SPENT_CHILD, /* by a subagent */
    SPENT_COUNT,
};
const char *spent_who_name(enum spent_who who); /* "main" */

/* The cost of one model answer. */
struct spend {
    enum spent_who who;
    struct str model;           /* its name */
    int64_t window, max_output; /* 0 = as in the model table */
    struct llm_usage usage;
    double usd;   /* NAN: unknown */
    bool is_step; /* an answer of the main model that was used: not broken, retried or cut off */
};
struct spend spend_of(enum spent_who who, const struct model *m, const struct llm_usage *u);

struct ledger_row {
    char *model;
    struct llm_usage usage;
    double usd; /* known prices only */
    bool unknown;
    int64_t window, max_output;
};

struct ledger {
    VEC(struct ledger_row) rows;
    double usd;              /* known prices only */
    bool unknown;            /* some price is unknown */
    int64_t time_ms, api_ms; /* of completed turns, and the part of it spent in model calls */
};

void ledger_release(struct ledger *l);
void ledger_add(struct ledger *l, const struct spend *s);
void ledger_merge(struct ledger *l, const struct ledger *past); /* adds the figures of past */
void llm_usage_add(struct llm_usage *to, const struct llm_usage *u);

/* A model's part, for a report. */
struct model_spent {
    struct str model;
    struct llm_usage usage;
    double usd; /* NAN: prices unknown */
    int64_t window, max_output;
};

/* Allocated in the arena. */
const struct model_spent *ledger_models(const struct ledger *l, struct arena *arena,
                                        size_t *ret_count);
