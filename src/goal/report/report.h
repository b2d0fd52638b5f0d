/*
 * The report of a goal: written from the row and the ledger, never from what a model says.
 *
 * What the ledger holds (kind: fields of data; times are the event's own):
 *
 *   set       objective, objective_chars, via (user, model, client, next, fork), referee, checks
 *             [check_write()], weak [commands that passed before any work], protected (count),
 *             baseline {commit, tree} or null,
 *             limits {token_budget, max_turns, max_cost_usd, deadline_ms}
 *   edited    objective, objective_chars
 *   limits    limit (goal_limit_name()), …
 *   checks    {checks [commands]}
 *   accept    {paths [..]}
 *   status    from, to, why, by (user, model, engine)
 *   verdict   round, by (check, protect, judge, self, checks), met, impossible, reason,
 *             claim (bool), checks [check_write()], changed [{path, what}],
 *             criteria [{text, state}], model, steps,
 *             stale (bool: arrived after a replace or clear and was dropped), error
 *   charge    who (main, judge, compaction, tool, hook, subagent), tokens, output_tokens, cost_usd,
 *             cost_unknown, seconds, steps
 *   wait      on, what, until_ms            wake     why, waited_ms
 *   retry     error, delay_ms, attempt      warning  which, used, limit
 *   stall     count, action (strategy, fresh, blocked)
 *   blocker   reason, count
 *   cleared · restored {from} · undo {ref} · report {path}: written inside the workspace
 *   step      ref, why: the workspace when more held than before
 *   proof     goal_id, folder, sha256 of proof.json in it; or error: it could not be recorded
 *
 * Totals come from the row; who spent how much comes from the charges. Where the two differ
 * tokens.charges_match is false in the JSON, and tokens.charged is the sum of the charges. Any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/goals/goals.h"

struct arena;
struct buf;

struct goal_report {
    const struct store_goal *goal;
    struct str objective; /* the whole text */
    const goal_event_vec *events;
    struct str diff_stat; /* since the baseline; may be empty */
    struct str session, dir;
    int64_t now_ms; /* wall clock */
    bool is_past;   /* cleared or replaced: the row is the ledger's (past.h) */
};

/* Where the newest report was written, relative to the workspace; NULL: nowhere in it. */
const char *goal_report_path(const goal_event_vec *events, struct arena *arena);

/* For people: the verdict first, then its proof. GitHub's Markdown; text from outside is escaped,
 * and long lists show their newest rows. */
void goal_report_markdown(const struct goal_report *r, struct buf *ret);

/*
 * For programs: one object on one line. Times are ms since 1970.
 *
 *   type "goal_report", version 1, session, dir, goal_id, objective, status, referee, via,
 *   set_ms, updated_ms, past (true: cleared or replaced), next (how to continue; absent when
 *   complete
 *   or past)
 *   verdict     {met, status, by, model, reason, why, time_ms}
 *   criteria    [{text, state, by, model, time_ms}]
 *   checks      [{command, passed, exit_code, timed_out, duration_ms, output_sha256, output_bytes,
 *                 time_ms, runs, failures, passed_before_work}]
 *   confirmed   {in ("overlay", "copy", "workspace"; null: no verdict was met), observed, not_run}:
 *               where these checks ran for the verdict, and what they no longer ran
 *   refused     [{time_ms, round, by, claim, impossible, reason, changed}], the newest 1,000
 *   counts      {verdicts, refused, claims_refused, judge_errors, stale, retries, stalls, waits}
 *   diff_stat, baseline, refs [..]
 *   proof       {goal_id, folder, sha256} or {goal_id, folder, error}; null: none was recorded
 *   turns (verdicts that counted: sent back, and the one that passed), steps
 *   tokens      {used, output, budget, charged, charges_match, by [{who, tokens, output_tokens,
 *                cost_usd, cost_unknown, seconds, steps}]}
 *   cost        {usd, unknown, limit_usd}
 *   time        {active_seconds, waited_ms}
 *   limits      {token_budget, max_turns, max_cost_usd, deadline_ms}, null: none
 *   waits       [{on, what, since_ms, waited_ms, why, over}]
 *   course      [{time_ms, kind, data}]: changes of status, stalls, blockers, warnings, edits
 */
void goal_report_json(const struct goal_report *r, struct buf *ret);
