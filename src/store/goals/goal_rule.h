/*
 * The rules of goals.h, as pure functions of a goal's row. A store applies them inside a
 * transaction; if the database is busy, the process that holds the goal applies them to the row in
 * memory (store_goal_guard.h).
 */
#pragma once

#include <stdint.h>

#include "store/goals/goals.h"

/* 1: the row has changed; 0: it has not. An absent row has an empty thread_id. Texts from `what`
 * are lent. */
typedef int (*goal_rule_fn)(struct store_goal *row, const void *what, int64_t now_ms);

int goal_rule_replace(struct store_goal *row, const void *store_goal, int64_t now_ms);
int goal_rule_insert(struct store_goal *row, const void *store_goal, int64_t now_ms);
int goal_rule_update(struct store_goal *row, const void *goal_update, int64_t now_ms);
int goal_rule_account(struct store_goal *row, const void *goal_charge, int64_t now_ms);
/* what: the expected goal_id, a struct str. The row is not changed. */
int goal_rule_delete(struct store_goal *row, const void *goal_id, int64_t now_ms);
