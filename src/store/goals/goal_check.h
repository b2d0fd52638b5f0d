/*
 * Whether what a caller says of a goal makes sense: ERR_BAD_INPUT when it does not, ERR_TOO_BIG
 * when a text is too long. The row itself is never looked at.
 */
#pragma once

#include "store/goals/goals.h"

int goal_check_thread(struct str thread, struct err *err);
int goal_check_objective(struct str objective, struct err *err); /* the callers trim it */
int goal_check_text(const char *name, struct str text, size_t max_bytes, struct err *err);
int goal_check_row(const struct store_goal *g, struct err *err);
int goal_check_update(const struct goal_update *u, struct err *err);
int goal_check_charge(const struct goal_charge *c, struct err *err);
int goal_check_event(const struct goal_event *e, struct err *err); /* NULL is fine */
