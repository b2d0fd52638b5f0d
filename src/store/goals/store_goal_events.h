/*
 * Writes a line of the ledger inside the caller's transaction.
 */
#pragma once

#include "store/goals/goals.h"

/* With the goal, time and status in e. */
int goal_event_insert(struct store *s, struct str thread, const struct goal_event *e,
                      struct err *err);
