/*
 * What a session has cost, per model and in all. Cached tokens have their own prices (llm/model.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/event.h"
#include "base/vec.h"
#include "llm/dialect/dialect.h"

struct arena;
struct model;

enum spent_who {
    SPENT_MAIN,
    SPENT_COMPACTION, /* in the agent's own name, but not in the conversation */
    SPENT_TOOL,       /* by a tool for itself */
    SPENT_HOOK,
    SPENT_JUDGE,
    SPENT_ASIDE, /* a question beside the conversation: a title, /btw */
    SPENT_CHILD, /* by an agent below this one */
    SPENT_COUNT,
};
const char *spent_who_name(enum spent_who who); /* "main" */

/* What an answer of a model has cost. */
struct spend {
    enum spent_who who;
    struct str model;           /* its name */
    int64_t window, max_output; /* 0: as the table of models has them */
    struct llm_usage usage;
    double usd;   /* NAN: unknown */
    bool is_step; /* an answer of the main model that held: not broken, retried, cut off */
};
struct spend spend_of(enum spent_who who, const struct model *m, const struct llm_usage *u);

struct ledger_row {
    char *model;
    struct llm_usage usage;
    double usd; /* of what has a price */
    bool unknown;
    int64_t window, max_output;
};

struct ledger {
    VEC(struct ledger_row) rows;
    double usd;              /* of what has a price */
    bool unknown;            /* something has none */
    int64_t time_ms, api_ms; /* of turns that have ended, and in them of the model */
};

void ledger_release(struct ledger *l);
void ledger_add(struct ledger *l, const struct spend *s);
void ledger_merge(struct ledger *l, const struct ledger *past); /* the figures of both */
void llm_usage_add(struct llm_usage *to, const struct llm_usage *u);

/* For a report; everything in the arena. */
const struct model_spent *ledger_models(const struct ledger *l, struct arena *arena,
                                        size_t *ret_count);
