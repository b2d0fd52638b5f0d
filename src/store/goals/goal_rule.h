/*
 * What a change does to a goal's row: the rules of goals.h, as functions of the row and nothing
 * else. A store applies them inside a transaction; where its database is busy, the process that
 * holds the goal applies them to the row in memory (store_goal_guard.h).
 */
#pragma once

#include <stdint.h>

#include "store/goals/goals.h"

/* 1: the row has changed; 0: it has not. The row may be absent: its thread_id is empty. Texts that
 * come from `what` are lent. */
typedef int (*goal_rule_fn)(struct store_goal *row, const void *what, int64_t now_ms);

int goal_rule_replace(struct store_goal *row, const void *store_goal, int64_t now_ms);
int goal_rule_insert(struct store_goal *row, const void *store_goal, int64_t now_ms);
int goal_rule_update(struct store_goal *row, const void *goal_update, int64_t now_ms);
int goal_rule_account(struct store_goal *row, const void *goal_charge, int64_t now_ms);
/* what: the goal_id that is expected, a struct str. The row stays as it was. */
int goal_rule_delete(struct store_goal *row, const void *goal_id, int64_t now_ms);
