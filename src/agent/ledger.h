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
struct err;
struct model;
struct tool_spend;

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
void ledger_add(struct ledger *l, const struct model *m, const struct llm_usage *u);
void ledger_add_spend(struct ledger *l, const struct tool_spend *s);
void llm_usage_add(struct llm_usage *to, const struct llm_usage *u);

/*
 * Whether another call may be made: the prompt is priced as if it had to be written to the cache,
 * and what is left of the budget limits the answer (*io_max_tokens, 0: the model's default), so
 * that one call cannot pass it. ERR_BUDGET when nothing is left, and when the model's prices are
 * not known: a cap that cannot be kept is not given.
 */
int ledger_allow(const struct ledger *l, double max_usd, const struct model *m,
                 enum cache_ttl cache, int64_t prompt_tokens, int64_t *io_max_tokens,
                 struct err *err);

/* For a report; everything in the arena. */
const struct model_spent *ledger_models(const struct ledger *l, struct arena *arena,
                                        size_t *ret_count);
