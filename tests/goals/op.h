/*
 * One operation on a goal, made from a number: the same number makes the same operation, in any
 * process. Values come from small ranges, so that limits are met and ids go stale often.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/goals/goals.h"

/* Operations happen at one of so many ticks, in no order. */
#define OP_NOW 1000000
#define OP_TICK 50 /* ms */
#define OP_TICKS 20

#define OP_KINDS(X) X(get) X(replace) X(insert) X(update) X(delete) X(account) X(pause) X(usage)

enum op_kind {
#define X(name) OP_##name,
    OP_KINDS(X)
#undef X
    OP_COUNT,
};

struct op {
    enum op_kind kind;
    int64_t now_ms;
    struct str thread;
    char new_id[ID_UUID_LEN + 1];
    enum {
        EXPECT_ANY,
        EXPECT_SEEN, /* the id that the worker has seen last */
        EXPECT_WRONG,
    } expect;
    struct str expected; /* goal_id; set by op_expect() */
    struct store_goal goal;
    struct goal_update update;
    struct goal_charge charge;
    struct str texts[9]; /* what update points to: an op stays where it was made */
};

/* A small generator of numbers. */
uint64_t op_random(uint64_t *state);
uint64_t op_below(uint64_t *state, uint64_t n);

void op_make(struct op *op, uint64_t seed, unsigned worker, unsigned n, struct str thread);
void op_expect(struct op *op, struct str id); /* lent */
const char *op_name(enum op_kind kind);

/* The store's answer. ret->thread_id is empty: no row. */
int op_run(const struct op *op, struct store *s, const struct goal_event *event,
           struct arena *arena, struct store_goal *ret, struct err *err);
