/*
 * A goal's row as JSON, for programs: the goal_status of a result line, `tenax goal status --json`.
 * Pure.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "store/goals/goals.h"

struct buf;
struct jw;

/* Members of an object: {"goal_id","status","phase"?,"iterations","turns","tokens_used",
 * "output_tokens","token_budget","time_used_seconds","cost_usd","cost_unknown"?,"last_reason"?};
 * limits that are not set are null. The objective is not included. */
void goal_row_write_status(const struct store_goal *g, struct jw *w);
/* The same, and the rest: {"session_id","objective","phase_detail"?,"max_turns","max_cost_usd",
 * "deadline_ms","checks"?,"protect"?,"baseline"?,"options"?,"created_at_ms","updated_at_ms"}. */
void goal_row_write(const struct store_goal *g, struct jw *w);
/* Members of a ThreadGoal, as clients of JSON-RPC know a goal: {"threadId","objective","status",
 * "tokenBudget","tokensUsed","timeUsedSeconds","createdAt","updatedAt"}. objective: its whole text.
 */
void goal_row_write_thread(const struct store_goal *g, struct str objective, struct jw *w);
/* The object, or null: g has no thread_id. */
void goal_row_write_whole(const struct store_goal *g, struct buf *ret);
const char *goal_row_thread_status(enum goal_status status); /* "budgetLimited" */
/* One limit of it: a number, or null for none (0). */
void goal_row_write_limit(struct jw *w, const char *key, int64_t limit);
void goal_row_write_usd_limit(struct jw *w, const char *key, double usd);
