/*
 * The report of a goal: written from the row and the ledger, never from what a model says.
 *
 * What the ledger holds (kind: fields of data; times are the event's own):
 *   set      objective_chars, via (user, model, client, next, fork), referee, checks
 * [check_write()], weak [commands that passed before any work], protected (count), baseline
 * {commit,tree} or null, limits {token_budget, max_turns, max_cost_usd, deadline_ms} edited
 * objective_chars · limits {…} · checks [commands] · accept {paths [..]} status   from, to, why, by
 * (user, model, engine) verdict  round, by (check, protect, judge, self, checks), met, impossible,
 * reason, claim (bool), checks [check_write()], changed [{path, what}], criteria [{text, state}],
 * model, steps, step_ref, stale (bool: arrived after a replace or clear and was dropped), error
 *   charge   who (main, judge, compaction, tool, hook, subagent), tokens, output_tokens, cost_usd,
 *            cost_unknown, seconds, steps
 *   wait     on, what, until_ms · wake  why, waited_ms
 *   retry    error, delay_ms, attempt · warning  which, used, limit
 *   stall    count, action (strategy, fresh, blocked) · blocker  reason, count
 *   cleared · restored {from} · undo {ref}
 */
#pragma once

#include <stdint.h>

#include "store/goals.h"

struct buf;
struct err;

struct goal_report {
    const struct store_goal *goal;
    struct str objective; /* the whole text */
    const goal_event_vec *events;
    struct str diff_stat; /* since the baseline; may be empty */
    struct str session, dir;
    int64_t now_ms;
};

void goal_report_markdown(const struct goal_report *r, struct buf *ret);
void goal_report_json(const struct goal_report *r, struct buf *ret); /* one object, one line */
