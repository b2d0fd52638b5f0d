/*
 * What a session and everything below it may spend, and has spent.
 *
 * One account serves the main agent, its children and every question beside the conversation
 * (judge, hooks, tools, titles). The caller of a model reserves the maximum cost of the call, books
 * the actual cost, once or for each attempt, and settles. So parallel calls exceed a limit by no
 * more than their reservations: a call that does not fit beside the others waits until one of them
 * settles; one that does not fit alone gets a shorter answer; and if nothing is left it is refused
 * with ERR_BUDGET. Without a limit nothing is reserved. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/ledger.h"

struct spending;
struct cancel;
struct err;
struct llm_request;
struct model;
struct turn_report;

struct spending *spending_new(void);
/* Of a child: what it books is its own, and its parent's as SPENT_CHILD; the limits are those of
 * the topmost. Keeps a reference to the parent. */
struct spending *spending_branch(struct spending *parent);
struct spending *spending_ref(struct spending *b);
void spending_unref(struct spending *b); /* NULL is fine */
/* What the session has cost before. */
void spending_recall(struct spending *b, const struct ledger *past);

/* ---- A call ---- */

/* A call's reserve; all zero: none. Used by one thread. */
struct spending_call {
    struct spending *spending;
    enum spent_who who;
    double usd;
    int64_t tokens;
};

/* The models that may answer: the dearest of them counts. */
struct spending_rate {
    const struct model *unpriced; /* one whose price is unknown; NULL: none */
    double input, output;         /* USD per token */
    int64_t max_tokens;           /* of an answer, where the request does not say */
};
void spending_rate_add(struct spending_rate *r, const struct model *m, enum cache_ttl cache);

/* *io_max_tokens: of the answer, 0: the rate's; lowered where no more can be paid. The prompt
 * counts as if it had to be written to the cache. ERR_BUDGET; ERR_CANCELLED. */
int spending_reserve(struct spending *b, enum spent_who who, const struct spending_rate *rate,
                     int64_t prompt_tokens, int64_t *io_max_tokens, struct cancel *cancel,
                     struct spending_call *ret, struct err *err);
/* The same for a request as it stands, with its only model; b NULL: nothing is counted. */
int spending_begin(struct spending *b, enum spent_who who, struct llm_request *request,
                   struct cancel *cancel, struct spending_call *ret, struct err *err);
/* Books what an attempt has cost; without a spending: nothing. */
void spending_book(struct spending_call *c, const struct spend *s);
/* The same for what a model used; nothing where its server told no figures. */
void spending_book_usage(struct spending_call *c, const struct model *m, const struct llm_usage *u);
/* The call is over: releases the rest of the reservation. */
void spending_settle(struct spending_call *c);

/* ---- Limits ---- */

/* --max-budget-usd: of all that the session has cost; 0: no limit. */
void spending_limit(struct spending *b, double max_usd);
double spending_max_usd(struct spending *b);

#define SPENDING_NO_LIMIT INT64_MAX
/* The remaining limits of the goal, from now on (0: nothing). They bind all calls except those in
 * the main agent's name and the judge's, about which the referee decides. */
void spending_limit_goal(struct spending *b, int64_t tokens, double usd);

/* ---- Reading ---- */

/* fn is called after each booking, on the thread that booked; one listener. */
typedef void (*spending_fn)(void *arg, const struct spend *s);
/* fn NULL: none; then the one before is not running and never will. */
void spending_watch(struct spending *b, spending_fn fn, void *arg);

double spending_usd(struct spending *b, bool *ret_unknown);     /* what has a price; may be NULL */
void spending_usage(struct spending *b, struct llm_usage *ret); /* of all that was booked */
/* What tools, hooks and the judge have used since the last call: a turn's usage counts it. */
void spending_take_beside(struct spending *b, struct llm_usage *ret);
/* The fields of a report that are the session's: costs, times, models; texts are in the arena. */
void spending_report(struct spending *b, struct arena *arena, struct turn_report *ret);
/* time_ms: of a turn that has ended; api_ms: of a call of the model. */
void spending_add_time(struct spending *b, int64_t time_ms, int64_t api_ms);
int64_t spending_api_ms(struct spending *b);     /* of all calls that have ended */
bool spending_is_unreported(struct spending *b); /* something was booked since spending_report() */
