/*
 * What was typed behind /goal, read: one table, the same in the UI, headless and over protocols.
 *
 * Trimmed; a reserved word counts only as the whole argument, in any case; budget, check, protect,
 * wait and next are commands only when what follows fits them; everything else is the condition,
 * and
 * "-- text" always is. Options of a condition (--check CMD, --budget N, …) may stand before or
 * behind it; a quoted value is one. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/strv.h"
#include "store/goals.h"

struct err;

enum goal_verb {
    GOAL_SHOW,
    GOAL_SET,
    GOAL_CLEAR,
    GOAL_EDIT, /* text: the new objective; empty: an editor is wanted */
    GOAL_PAUSE,
    GOAL_RESUME,
    GOAL_BUDGET,   /* budget */
    GOAL_CHECK,    /* text: the command to add */
    GOAL_CHECK_RM, /* number, from 1 */
    GOAL_PROTECT,  /* text: a glob */
    GOAL_WAIT,     /* text: wait.h */
    GOAL_NEXT,     /* text, options: a condition for later */
    GOAL_QUEUE,    /* number, number2: move (from, to; to 0: out); both 0: show */
    GOAL_ACCEPT,   /* text: a path; "all" or empty: all */
    GOAL_LOG,
    GOAL_REPORT,
    GOAL_UNDO,
};

enum goal_referee {
    REFEREE_JUDGE,
    REFEREE_SELF,
    REFEREE_CHECKS,
};
const char *goal_referee_name(enum goal_referee r);
bool goal_referee_parse(struct str name, enum goal_referee *ret);

/* How a goal is set, whoever sets it. */
struct goal_options {
    struct strv checks, protect;
    bool protect_none;
    int64_t token_budget; /* 0: none */
    int64_t max_turns;    /* 0: the default, GOAL_MAX_TURNS */
    double max_cost_usd;  /* 0: none */
    int64_t deadline_ms;  /* wall clock; 0: none */
    enum goal_referee referee;
    bool has_referee;
    bool on_deny_skip; /* --on-deny skip; else block */
    bool auto_resume;
};
#define GOAL_MAX_TURNS 500
void goal_options_release(struct goal_options *o);
void goal_options_write(const struct goal_options *o, struct buf *ret); /* JSON object */
int goal_options_read(struct str json, struct goal_options *ret, struct err *err);

struct goal_argument {
    enum goal_verb verb;
    struct buf text;
    size_t number, number2;
    struct goal_limit_change budget;
    struct goal_options options;
};
#define GOAL_ARGUMENT_INIT                                                                         \
    {                                                                                              \
        .text = BUF_INIT(1 << 20)                                                                  \
    }
void goal_argument_release(struct goal_argument *a);

/* now_ms: wall clock, for --deadline. ERR_BAD_INPUT with what is wrong and what would be right:
 * a budget of 0, "abc", 10^30, a deadline in the past, … */
int goal_argument_read(struct str text, int64_t now_ms, struct goal_argument *ret, struct err *err);

/* "500k", "1.5m", "20000"; more than 0 and at most GOAL_MAX_NUMBER. */
int goal_read_tokens(struct str text, int64_t *ret, struct err *err);
/* "90s", "30m", "2h", "1h30m", "1d", or a time ("18:30", "2026-11-16T08:00:00Z"), as wall clock. */
int goal_read_deadline(struct str text, int64_t now_ms, int64_t *ret, struct err *err);
int goal_read_usd(struct str text, double *ret, struct err *err); /* "2.50", "$2.50" */
