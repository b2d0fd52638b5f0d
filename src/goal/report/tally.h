/*
 * A ledger, read once: what happened to a goal, sorted by what a report asks for.
 *
 * Events of other goals and unknown kinds are skipped; so is data that is not an object. Texts are
 * lent by the events and by the tally's arena. Lists keep their newest TALLY_MAX rows, with a count
 * of all. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "store/goals/goals.h"

struct json;

#define TALLY_MAX 1000       /* rows of a list */
#define TALLY_MAX_CHECKS 200 /* different commands */
#define TALLY_MAX_WHO 20     /* different spenders; the rest is "other" */

/* A command and how it last ended. */
struct tally_check {
    const struct json *last; /* as check_write() wrote it */
    struct str command;
    int64_t time_ms;
    size_t runs, failures;
    bool passed_before; /* any work was done */
};

struct tally_verdict {
    int64_t time_ms;
    const struct json *data;
};

struct tally_spend {
    struct str who;
    int64_t tokens, output_tokens, seconds, steps;
    double cost_usd;
    bool cost_unknown;
};

struct tally_wait {
    struct str on, what, why; /* why it ended */
    int64_t since_ms, waited_ms;
    bool is_over;
};

struct tally_event {
    int64_t time_ms;
    struct str kind;
    const struct json *data;
};

struct tally {
    struct arena arena;
    const struct json *set; /* data of the event; NULL: none */
    int64_t set_ms;
    VEC(struct tally_check) checks;
    VEC(struct tally_verdict) refused; /* not met and not stale, errors left out */
    size_t refused_count, claims_refused;
    size_t verdicts, judge_errors, stale;
    struct tally_verdict met;       /* the newest that was; data NULL: none */
    struct tally_verdict confirmed; /* or of a claim; one in a clean room counts more */
    struct tally_verdict last;      /* the newest that counts */
    struct tally_verdict criteria;  /* the newest that names some */
    VEC(struct str) refs;           /* of verified steps */
    const struct json *proof;       /* data of the event; NULL: none */
    VEC(struct tally_spend) spends;
    struct tally_spend sum;
    VEC(struct tally_wait) waits;
    size_t wait_count;
    int64_t waited_ms;
    VEC(struct tally_event) course; /* status, stall, blocker, warning, accept, edited, limits, … */
    size_t course_count;
    size_t retries, stalls;
    struct tally_event status; /* the newest change of it */
};

#define TALLY_INIT                                                                                 \
    {                                                                                              \
        0                                                                                          \
    }
/* goal_id empty: of all goals. now_ms: until when a wait without an end has lasted. */
void tally_read(struct tally *t, const goal_event_vec *events, struct str goal_id, int64_t now_ms);
void tally_release(struct tally *t);
