/*
 * How a run for a goal came out: `tenax goal …` on a stage, its report and its ledger.
 *
 * Whatever the run was, the ledger must add up: the row holds the sum of the charges, and nothing
 * is spent between a wait and its end. outcome_read() fails where it does not. Main thread.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct err;
struct json;
struct stage;

struct outcome {
    struct arena arena; /* of all below */
    struct str status, why;
    int64_t steps;  /* calls of the main agent's model */
    int64_t tokens; /* used */
    int64_t output;
    int64_t seconds;
    int64_t iterations;
    int64_t waits, waited_ms;
    int64_t retries, stalls, verdicts, claims_refused, judge_tokens;
    int64_t verdicts_met;
    const struct json *report;
};
void outcome_release(struct outcome *o);

/* Of the session's goal; session NULL: the newest of the folder. */
int outcome_read(const struct stage *s, const char *session, struct outcome *ret, struct err *err);

/* A script of sh in the work folder, with the stage's environment; "$tenax" is the program. Its
 * exit code, or -1. */
int outcome_shell(const struct stage *s, const char *script, struct err *err);
