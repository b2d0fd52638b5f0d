/*
 * A goal that has no row any more, cleared or replaced: the row as the ledger remembers it. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "store/goals/goals.h"

struct arena;
struct err;

/* Of a session's events, oldest first. which: a goal_id or its beginning; empty: the newest goal.
 * Texts live in the arena. ERR_NOT_FOUND, ERR_BAD_INPUT: several goals begin so. */
int past_goal(const goal_event_vec *events, struct str which, int64_t now_ms, struct arena *arena,
              struct store_goal *ret, struct err *err);
