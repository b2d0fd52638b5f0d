/*
 * A goal for people: figures, the line of a status bar, the summary of a bare /goal. Pure
 * functions; used by every front end. What others wrote (reasons, objectives, commands) loses its
 * control characters on the way, so that they cannot control the terminal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "goal/argument/argument.h"
#include "store/goals/goals.h"

struct buf;
struct json;

void goal_show_elapsed(int64_t seconds, struct buf *ret); /* 59s 12m 3h 3h 5m 1d 0h 5m; < 0: 0s */
void goal_show_tokens(int64_t n, struct buf *ret);        /* 950 12.5K 1.2M */
void goal_show_usd(double usd, struct buf *ret);          /* $12.50 $0.42 $0.0031 */
const char *goal_show_status(enum goal_status s);         /* "usage limited" */
/* The first line of the trimmed text, with the next one if it ends with a colon; at most max bytes,
 * then "…". */
void goal_show_line(struct str text, size_t max, struct buf *ret);

/* Which limit the goal has reached, the budget first. now_ms: wall clock; 0: the row's last change.
 */
bool goal_limit_is_reached(const struct store_goal *g, int64_t now_ms, enum goal_limit *ret);

#define GOAL_SHOWN_CHANGED 3         /* protected files that a stop names */
#define GOAL_TERMS_LOST "terms lost" /* how the reason of such a pause begins */
#define GOAL_SHOWN_PROTECTED 8       /* files named in the summary */

struct goal_look {
    const struct store_goal *goal; /* NULL: none */
    int64_t now_ms;                /* monotonic, as are the next two */
    int64_t read_ms;               /* when the row was read */
    int64_t turn_ms;               /* when the running turn began; 0: none runs */
    bool plan_mode;
    const struct strv *protected_names; /* for the summary: some of the protected files; NULL */
    size_t protected_count;             /* all of them */
};
/* Stored time, and that of the running turn on top: from the later of read_ms and turn_ms. Waiting
 * and plan mode add nothing. */
int64_t goal_live_seconds(const struct goal_look *l);
/* One line for a status bar, "" without a goal: "12.5K / 50K", "waiting: pid 4242", "paused", … The
 * awaited thing is `what` of the row's phase_detail, {"what": "pid 4242", …}. */
void goal_show_indicator(const struct goal_look *l, struct buf *ret);
/* The pill: turns and the first line of the last reason; in plan mode why nothing moves. */
void goal_show_pill(const struct goal_look *l, struct buf *ret);
/* The answer to a bare /goal: status and phase, objective, turns ("not yet evaluated" at 0), last
 * check, criteria, checks, protected files, time, tokens, cost, limits, what can be done now.
 * criteria: JSON array of the last verdict; may be empty. With no goal: usage. Ends with a newline.
 */
void goal_show_summary(const struct goal_look *l, struct str objective, struct str criteria,
                       struct buf *ret);
/* Why it stopped and how to continue; one or two sentences. "" for an active one. */
void goal_show_stop(const struct store_goal *g, struct buf *ret);
/* The table of the ledger (/goal log): a line per verdict, transition, wait; charges are left to
 * the report. The first column is the time since the goal was set. Unknown kinds are left out. */
void goal_show_log(const goal_event_vec *events, int64_t since_ms, struct buf *ret);
/* One event in a few words, without its time. False: of no such kind (a charge is none). */
bool goal_show_event(struct str kind, const struct json *data, struct buf *ret);
extern const char goal_usage[];

bool goal_confirms_replace(const struct store_goal *g); /* all but complete */
enum goal_status goal_edited_status(enum goal_status s);
