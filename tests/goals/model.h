/*
 * The rules of a goal in plain C, as the spec tells them: what the store must say to an operation,
 * and what the row is then. Knows nothing of SQL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "goals/op.h"

struct model {
    bool there;
    struct store_goal row; /* goal_id is below; thread_id is that of the first caller */
    char goal_id[ID_UUID_LEN + 1];
};

/* 1: changed (or read), 0: not, -1: it makes no sense. */
int model_apply(struct model *m, const struct op *op);

/* The name of a field that differs, or NULL. */
const char *model_differs(const struct store_goal *a, const struct store_goal *b);
uint64_t model_digest(const struct store_goal *g); /* never 0 */
