/*
 * The budget of a session: what it and everything below it may spend and has spent.
 *
 * One account serves the main agent, its children and all model calls outside the conversation
 * (judge, hooks, tools, titles). Before a model call the caller reserves its maximum cost; then it
 * books the actual cost, once or for each attempt, and settles. A call that does not fit beside the
 * current reservations waits until one of them is settled; one that does not fit alone gets a lower
 * output limit; and if nothing is left, the call fails with ERR_BUDGET. Without a limit nothing is
 * reserved. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "llm/ledger.h"

struct spending;
struct cancel;
struct err;
struct llm_request;
struct model;

struct spending *spending_new(void);
/* An account for a child: its bookings are also booked to the parent as SPENT_CHILD. The limits of
 * the topmost account apply. Keeps a reference to the parent. */
struct spending *spending_branch(struct spending *parent);
struct spending *spending_ref(struct spending *b);
void spending_unref(struct spending *b); /* NULL is fine */
/* Adds the earlier costs of a resumed session. */
void spending_recall(struct spending *b, const struct ledger *past);

/* ---- A call ---- */

/* A call's reservation; all zero = none. Used by one thread. */
struct spending_call {
    struct spending *spending;
    enum spent_who who;
    double usd;
    int64_t tokens;
};

/* Prices of the models that may answer; the highest is used. */
struct spending_rate {
    const struct model *unpriced; /* one whose price is unknown; or NULL */
    double input, output;         /* USD per token */
    int64_t max_tokens;           /* of an answer, if the request has no limit */
};
void spending_rate_add(struct spending_rate *r, const struct model *m, enum cache_ttl cache);

/* *io_max_tokens: output limit, 0 = the rate's; lowered if the budget requires it. The prompt is
 * counted as if all of it had to be written to the cache. ERR_BUDGET; ERR_CANCELLED. */
int spending_reserve(struct spending *b, enum spent_who who, const struct spending_rate *rate,
                     int64_t prompt_tokens, int64_t *io_max_tokens, struct cancel *cancel,
                     struct spending_call *ret, struct err *err);
/* The same for a request that has only one model. b may be NULL: nothing is counted. */
int spending_begin(struct spending *b, enum spent_who who, struct llm_request *request,
                   struct cancel *cancel, struct spending_call *ret, struct err *err);
/* Books the cost of an attempt. Does nothing if c has no spending. */
void spending_book(struct spending_call *c, const struct spend *s);
/* The same, computed from the usage. Does nothing if the server reported none. */
void spending_book_usage(struct spending_call *c, const struct model *m, const struct llm_usage *u);
/* Ends the call and releases the rest of the reservation. */
void spending_settle(struct spending_call *c);

/* ---- Limits ---- */

/* --max-budget-usd: limit for everything the session spends; 0 = none. */
void spending_limit(struct spending *b, double max_usd);
double spending_max_usd(struct spending *b);

#define SPENDING_NO_LIMIT INT64_MAX
/* Sets what is left of the goal's budget (0 = nothing). This limits all calls except those of the
 * main agent and the judge, which the referee controls. */
void spending_limit_goal(struct spending *b, int64_t tokens, double usd);

/* ---- Reading ---- */

/* Called after each booking on the thread that booked. There is one listener. */
typedef void (*spending_fn)(void *arg, const struct spend *s);
/* fn may be NULL. After the return the previous listener is not running and will not be called
 * again. */
void spending_watch(struct spending *b, spending_fn fn, void *arg);

/* known prices only; ret_unknown may be NULL */
double spending_usd(struct spending *b, bool *ret_unknown);
void spending_usage(struct spending *b, struct llm_usage *ret); /* of everything booked */
/* Gets the usage of tools, hooks and the judge since the last call, for the usage of a turn. */
void spending_take_beside(struct spending *b, struct llm_usage *ret);
/* All that the session has cost, its earlier processes included. */
struct spending_total {
    int64_t time_ms, api_ms; /* of turns that have ended, and in them of the model */
    double usd;              /* the known part */
    bool is_unknown;         /* a model without prices had a part in it */
    const struct model_spent *models;
    size_t model_count;
};
void spending_report(struct spending *b, struct arena *arena, struct spending_total *ret);
/* time_ms: of a completed turn; api_ms: of a model call. */
void spending_add_time(struct spending *b, int64_t time_ms, int64_t api_ms);
int64_t spending_api_ms(struct spending *b);     /* of all completed calls */
bool spending_is_unreported(struct spending *b); /* booked since the last spending_report() */
