/*
 * A session's goal as Codex clients know it: the object ThreadGoal of JSON-RPC. Any thread.
 */
#pragma once

#include <stdbool.h>

struct buf;
struct goal;
struct jw;
struct store_goal;

/* {"threadId","objective","status","tokenBudget","tokensUsed","timeUsedSeconds","createdAt",
 * "updatedAt","phase"?,"iterations","lastReason"?}, or null where there is none. */
void thread_goal_write(struct goal *g, struct buf *ret);
/* Members of that object, without what is tenax's own. */
void thread_goal_write_row(struct goal *g, const struct store_goal *row, struct jw *w);
const char *thread_goal_status(int status); /* enum goal_status: "budgetLimited" */
