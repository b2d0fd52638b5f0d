/*
 * Parses the text after /goal: one table, the same in the UI, headless and over protocols.
 *
 * Trimmed; a reserved word counts only as the whole argument, in any case; some words are commands
 * only when what follows fits them; everything else is the condition, and "-- text" always is:
 *
 *   budget VALUE            one word; "none", "+N"; "$5", or after cost, turns, deadline, tokens
 *   check COMMAND           unless it begins with a word of a sentence ("that", "the", "whether");
 *                           if and for begin a command when "then" or "do" follows
 *   check rm N              when N is a number
 *   protect GLOB            one word, or in quotes
 *   wait WHAT               a number, "pid N", a duration ("90s", "2 hours"), else as check
 *   next CONDITION          always, with its own options
 *   queue [FROM TO|rm N]    numbers
 *   accept [PATH|all]       one word, or in quotes
 *   undo [yes]
 *   edit -- TEXT            the new objective; "edit the readme" is a condition
 *
 * One that looks like a command and is wrong ("budget abc", "budget 0") is an error and never a
 * condition: nothing is set by accident. The answer says how it was understood
 * (goal_argument_explain()).
 *
 * Options of a condition (--check CMD, --budget N, …) stand before or after it, as "--name value"
 * or "--name=value"; a value in quotes is one. A known option in the middle of a condition is an
 * error, as is a word that is nearly one; any other --word after the beginning is part of the
 * text. A "--" alone before the condition ends the options. Pure, except for the time zone in
 * "18:30".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/strv.h"
#include "store/goals/goals.h"

struct err;

enum goal_verb {
    GOAL_SHOW, /* nothing, or "status" */
    GOAL_SET,
    GOAL_CLEAR, /* clear stop off reset none cancel */
    GOAL_EDIT,  /* text: the new objective; empty: an editor is wanted */
    GOAL_PAUSE,
    GOAL_RESUME,
    GOAL_BUDGET,   /* limit, budget; usd when it is about money */
    GOAL_CHECK,    /* text: the command to add */
    GOAL_CHECK_RM, /* number, from 1 */
    GOAL_PROTECT,  /* text: a glob; "none" sets options.protect_none, too */
    GOAL_WAIT,     /* text: wait.h */
    GOAL_NEXT,     /* text, options: a condition for later */
    GOAL_QUEUE,    /* number, number2: move (from, to; to 0: out); both 0: show */
    GOAL_ACCEPT,   /* text: a path; "all" or empty: all */
    GOAL_LOG,
    GOAL_REPORT,
    GOAL_UNDO, /* text: "yes", or empty: say what it would do */
};

enum goal_referee {
    REFEREE_JUDGE,
    REFEREE_SELF,
    REFEREE_CHECKS,
};
const char *goal_referee_name(enum goal_referee r);

/* How a goal is set. */
struct goal_options {
    struct strv checks, protect;
    struct strv keep; /* ignored files that count as work */
    bool protect_none;
    bool in_workspace;    /* --check-in workspace: no clean room */
    int64_t token_budget; /* 0: none */
    int64_t max_turns;    /* 0: the default, GOAL_MAX_TURNS */
    double max_cost_usd;  /* 0: none */
    int64_t deadline_ms;  /* wall clock; 0: none */
    int64_t lasts_ms;     /* the deadline is a duration, which counts from the beginning */
    enum goal_referee referee;
    bool has_referee;
    bool on_deny_skip; /* --on-deny skip; else block */
    bool auto_resume;
    bool begins_paused; /* of a client: nothing starts before the user resumes it */
};
#define GOAL_MAX_TURNS 500
void goal_options_release(struct goal_options *o);
/* One option as it stands on a command line, without "--": ERR_NOT_FOUND for a name that is none.
 * value is ignored where none is taken (goal_option_takes_value()). */
int goal_option_set(struct goal_options *o, struct str name, struct str value, int64_t now_ms,
                    struct err *err);
bool goal_option_is_known(struct str name);
bool goal_option_takes_value(struct str name);
const char *goal_option_nearest(struct str name); /* the closest option; NULL: nothing is close */
/* {"checks":[…],"protect":[…],"keep":[…],"protect_none","check_in","token_budget","max_turns","max_cost_usd",
 * "deadline_ms","lasts_ms","referee","on_deny","auto_resume"}; unset ones are left out. */
void goal_options_write(const struct goal_options *o, struct buf *ret);
struct jw;
void goal_write_list(struct jw *w, const char *key, const struct strv *list);
/* Other keys are passed over; ERR_BAD_INPUT names the key whose value makes no sense. */
int goal_options_read(struct str json, struct goal_options *ret, struct err *err);

/* Which of the limits. */
enum goal_limit {
    LIMIT_TOKENS,
    LIMIT_COST,
    LIMIT_TURNS,
    LIMIT_DEADLINE,
};
const char *goal_limit_name(enum goal_limit l); /* "token budget", "cost limit", … */

struct goal_argument {
    enum goal_verb verb;
    struct buf text;
    size_t number, number2;
    enum goal_limit limit;
    struct goal_limit_change budget; /* of a deadline: wall clock (CHANGE_ADD: ms) */
    double usd;
    struct goal_options options;
};
#define GOAL_MAX_ARGUMENT ((size_t)1 << 20) /* bytes */
#define GOAL_ARGUMENT_INIT                                                                         \
    {                                                                                              \
        .text = BUF_INIT(GOAL_MAX_ARGUMENT)                                                        \
    }
void goal_argument_release(struct goal_argument *a);

/* now_ms: wall clock, for --deadline. ERR_BAD_INPUT with the problem and its solution: a budget of
 * 0, "abc", 10^30, a deadline in the past, text that is not UTF-8 or has a NUL; ERR_TOO_BIG past
 * GOAL_MAX_ARGUMENT. The engine limits the length of a condition. */
int goal_argument_read(struct str text, int64_t now_ms, struct goal_argument *ret, struct err *err);
/* One line, for verbs that could have been a condition: how the text was understood, and how to get
 * the other meaning. Nothing for the rest. */
void goal_argument_explain(const struct goal_argument *a, struct buf *ret);

/* "500k", "1.5m", "20000"; more than 0 and at most GOAL_MAX_NUMBER. */
int goal_read_tokens(struct str text, int64_t *ret, struct err *err);
/* "90s", "30m", "2h", "1h30m", "1d"; more than 0 and at most GOAL_MAX_AHEAD_MS. */
int goal_read_duration(struct str text, int64_t *ret_ms, struct err *err);
/* A duration from now on, or a time as wall clock: "18:30" (the next one), "2026-11-16T08:00",
 * "2026-11-16T08:00:00Z", "…+01:00"; without a zone the local one. */
int goal_read_deadline(struct str text, int64_t now_ms, int64_t *ret, struct err *err);
int goal_read_usd(struct str text, double *ret, struct err *err); /* "2.50", "$2.50" */
#define GOAL_MAX_AHEAD_MS ((int64_t)366 * 24 * 3600 * 1000)
#define GOAL_MAX_USD 1e9
