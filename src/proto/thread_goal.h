/*
 * A session's goal as Codex clients know it: the object ThreadGoal of JSON-RPC. Any thread.
 */
#pragma once

#include <stdbool.h>

struct buf;
struct goal;
struct host;
struct jw;
struct store_goal;
struct turn_report;

/* {"threadId","objective","status","tokenBudget","tokensUsed","timeUsedSeconds","createdAt",
 * "updatedAt","phase"?,"iterations","lastReason"?}, or null where there is none. */
void thread_goal_write(struct goal *g, struct buf *ret);
/* Members of that object, without tenax's own. g NULL: the goal is not open. */
void thread_goal_write_row(struct goal *g, const struct store_goal *row, struct jw *w);
/* A turn of the agent has ended like this, and the goal begins another one by itself: for clients
 * that is the same turn. */
bool thread_goal_goes_on(struct host *h, const struct turn_report *r);
const char *thread_goal_status(int status); /* enum goal_status: "budgetLimited" */
