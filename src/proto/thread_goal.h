/*
 * Turns that work for a goal, as clients of JSON-RPC count them. Any thread.
 */
#pragma once

#include <stdbool.h>

struct host;
struct turn_report;

/* A turn of the agent has ended like this, and the goal begins another one by itself: for clients
 * that is the same turn. */
bool thread_goal_goes_on(struct host *h, const struct turn_report *r);
