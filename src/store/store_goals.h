/*
 * What the files of the goal store share: limits of texts, and a line of the ledger.
 */
#pragma once

#include "store/goals.h"

/* What is left of it when it is trimmed. ERR_BAD_INPUT: nothing, or it is no UTF-8; ERR_TOO_BIG. */
int goal_check_objective(struct str objective, struct err *err);
int goal_check_text(const char *name, struct str text, size_t max_bytes, struct err *err);
int goal_check_thread(struct str thread, struct err *err);

int goal_event_check(const struct goal_event *e, struct err *err); /* NULL is fine */
/* Inside a transaction; with e's own goal, time and status. */
int goal_event_insert(struct store *s, struct str thread, const struct goal_event *e,
                      struct err *err);
