/*
 * Operations: made by a generator that starts anew for each, and handed to the store. Any thread.
 */
#include "goals/op.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"

static const struct str words[] = {
    STR_INIT("all tests pass"), STR_INIT("it's \"quoted\"; DROP TABLE thread_goals"),
    STR_INIT("caf\xc3\xa9"),    STR_INIT("{\"a\":[1,2,3]}"),
    STR_INIT("working"),        STR_INIT("waiting"),
};

static const char *const names[] = {
#define X(name) #name,
    OP_KINDS(X)
#undef X
};

const char *op_name(enum op_kind kind)
{
    return names[kind];
}

uint64_t op_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

uint64_t op_below(uint64_t *state, uint64_t n)
{
    return op_random(state) % n;
}

static bool one_in(uint64_t *r, uint64_t n)
{
    return op_below(r, n) == 0;
}

static struct str any_word(uint64_t *r)
{
    return words[op_below(r, sizeof(words) / sizeof(words[0]))];
}

/* Mostly within reach, sometimes the most there is, rarely what no store should take. */
static int64_t any_number(uint64_t *r, int64_t most)
{
    if (one_in(r, 60))
        return GOAL_MAX_NUMBER - (int64_t)op_below(r, 2);
    if (one_in(r, 200))
        return one_in(r, 2) ? -1 : GOAL_MAX_NUMBER + 1;
    return (int64_t)op_below(r, (uint64_t)most + 1);
}

static int64_t any_time(uint64_t *r)
{
    return OP_NOW + OP_TICK * ((int64_t)op_below(r, OP_TICKS + 4) - 2);
}

static void make_goal(struct op *op, uint64_t *r)
{
    op->goal = (struct store_goal){
        .thread_id = op->thread,
        .goal_id = str_of(op->new_id),
        .objective = any_word(r),
        .status = one_in(r, 3) ? (enum goal_status)op_below(r, GOAL_STATUS_COUNT) : GOAL_ACTIVE,
        .phase = any_word(r),
        .last_reason = any_word(r),
        .checks = any_word(r),
        .memory = any_word(r),
        .tokens_used = 5, /* of no meaning */
        .iterations = 5,
        .token_budget = one_in(r, 2) ? any_number(r, 500) : 0,
        .max_turns = one_in(r, 3) ? any_number(r, 20) : 0,
        .max_cost_usd = one_in(r, 3) ? (double)any_number(r, 10) / 4 : 0,
        .deadline_ms = one_in(r, 4) ? any_time(r) : 0,
    };
}

static void make_limit(struct goal_limit_change *c, uint64_t *r, int64_t most)
{
    if (one_in(r, 3))
        *c = (struct goal_limit_change){(enum goal_change)op_below(r, 4), any_number(r, most)};
}

static void make_update(struct op *op, uint64_t *r)
{
    struct goal_update *u = &op->update;
    const struct str **fields[] = {&u->objective,   &u->phase,   &u->phase_detail,
                                   &u->last_reason, &u->checks,  &u->protect,
                                   &u->baseline,    &u->options, &u->memory};

    u->has_status = !one_in(r, 3);
    u->status = (enum goal_status)op_below(r, GOAL_STATUS_COUNT);
    u->from = one_in(r, 4) ? (unsigned)op_below(r, 1 << GOAL_STATUS_COUNT) : 0;
    u->add_iterations = one_in(r, 3) ? any_number(r, 2) : 0;
    make_limit(&u->token_budget, r, 500);
    make_limit(&u->max_turns, r, 20);
    make_limit(&u->deadline_ms, r, 3);
    if (u->deadline_ms.what == CHANGE_SET)
        u->deadline_ms.value = any_time(r);
    else if (u->deadline_ms.value > 0 && u->deadline_ms.value <= 3)
        u->deadline_ms.value *= OP_TICK;
    if (one_in(r, 3)) {
        u->max_cost = (enum goal_change)op_below(r, 4);
        u->max_cost_usd = (double)any_number(r, 10) / 4;
    }
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (one_in(r, 6)) {
            op->texts[i] = any_word(r);
            *fields[i] = &op->texts[i];
        }
    }
}

static void make_charge(struct op *op, uint64_t *r)
{
    op->charge = (struct goal_charge){
        .mode = (enum goal_mode)op_below(r, 4),
        .seconds = one_in(r, 2) ? any_number(r, 9) : 0,
        .tokens = one_in(r, 2) ? any_number(r, 60) : 0,
        .output_tokens = one_in(r, 2) ? any_number(r, 30) : 0,
        .steps = one_in(r, 2) ? any_number(r, 2) : 0,
        .cost_usd = one_in(r, 2) ? (double)any_number(r, 4) / 4 : 0,
        .cost_unknown = one_in(r, 20),
    };
}

void op_make(struct op *op, uint64_t seed, unsigned worker, unsigned n, struct str thread)
{
    /* How often each is picked. */
    static const unsigned char picks[OP_COUNT] = {
        [OP_get] = 10,   [OP_replace] = 10, [OP_insert] = 10, [OP_update] = 35,
        [OP_delete] = 3, [OP_account] = 40, [OP_pause] = 5,   [OP_usage] = 5};
    uint64_t r = seed ^ ((uint64_t)worker << 40) ^ ((uint64_t)n << 8);
    uint64_t pick;

    *op = (struct op){.thread = thread};
    (void)op_random(&r);
    pick = op_below(&r, 118);
    for (; pick >= picks[op->kind]; op->kind++)
        pick -= picks[op->kind];
    op->now_ms = OP_NOW + OP_TICK * (int64_t)op_below(&r, OP_TICKS);
    op->expect = one_in(&r, 3) ? EXPECT_ANY : one_in(&r, 6) ? EXPECT_WRONG : EXPECT_SEEN;
    snprintf(op->new_id, sizeof(op->new_id), "%08x-0000-4000-8000-%012x", worker, n);
    if (op->kind == OP_replace || op->kind == OP_insert)
        make_goal(op, &r);
    else if (op->kind == OP_update)
        make_update(op, &r);
    else if (op->kind == OP_account)
        make_charge(op, &r);
}

void op_expect(struct op *op, struct str id)
{
    op->expected = id;
    op->update.expected_goal_id = id;
    op->charge.expected_goal_id = id;
}

int op_run(const struct op *op, struct store *s, const struct goal_event *event,
           struct arena *arena, struct store_goal *ret, struct err *err)
{
    int answer;

    switch (op->kind) {
    case OP_get:
        answer = store_goal_get(s, op->thread, arena, ret, NULL, err);
        if (answer == 0)
            *ret = (struct store_goal){0};
        return answer;
    case OP_replace:
        answer = store_goal_replace(s, &op->goal, op->now_ms, event, arena, ret, NULL, err);
        return answer < 0 ? -1 : 1;
    case OP_insert:
        return store_goal_insert(s, &op->goal, op->now_ms, event, arena, ret, NULL, err);
    case OP_update:
        return store_goal_update(s, op->thread, &op->update, op->now_ms, event, arena, ret, NULL,
                                 err);
    case OP_delete:
        return store_goal_delete(s, op->thread, op->expected, op->now_ms, event, arena, ret, NULL,
                                 err);
    case OP_account:
        return store_goal_account(s, op->thread, &op->charge, op->now_ms, event, arena, ret, NULL,
                                  err);
    case OP_pause:
        return store_goal_pause_active(s, op->thread, op->now_ms, event, arena, ret, NULL, err);
    case OP_usage:
        return store_goal_usage_limit_active(s, op->thread, op->now_ms, event, arena, ret, NULL,
                                             err);
    case OP_COUNT:
        break;
    }
    BUG("no such operation");
}
