/*
 * Test helper: creates, changes and compares goals in a store. Each call must succeed, or the test
 * fails.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "store/goals/goals.h"
#include "store/sqlite_table.h"
#include "store/store.h"
#include "store/test_home.h"

static char big_text[GOAL_MAX_TEXT + 1]; /* filled by goals_setup() */

#define T STR("thread")
#define NOW 1000000
#define ID(n) "0000000" #n "-0000-4000-8000-000000000000"

/* Short names for tables. */
#define A GOAL_ACTIVE
#define P GOAL_PAUSED
#define B GOAL_BLOCKED
#define U GOAL_USAGE_LIMITED
#define L GOAL_BUDGET_LIMITED
#define C GOAL_COMPLETE

static inline struct store *open_store(const char *backend)
{
    struct store *s = NULL;
    struct err err = {0};

    if (store_open(backend, test_home, /*cancel=*/NULL, &s, &err) < 0)
        fail_msg("%s: %s", backend, err.text);
    return s;
}

/* The result of a call that must not fail. */
#define ANSWER(call)                                                                               \
    ({                                                                                             \
        struct err err_ = {0};                                                                     \
        struct err *err = &err_;                                                                   \
        int answer_ = (call);                                                                      \
        if (answer_ < 0)                                                                           \
            fail_msg(#call ": %s", err->text);                                                     \
        answer_;                                                                                   \
    })

/* ---- Creating and changing goals ---- */

static inline struct store_goal make_goal(const char *id, enum goal_status status)
{
    return (struct store_goal){.thread_id = T,
                               .goal_id = str_of(id),
                               .objective = STR("all tests pass"),
                               .status = status};
}

/* A goal with all fields set. */
static inline struct store_goal full_goal(void)
{
    return (struct store_goal){
        .thread_id = T,
        .goal_id = STR(ID(7)),
        .objective = STR("caf\xc3\xa9's \"tests\" pass; DROP TABLE thread_goals"),
        .status = GOAL_ACTIVE,
        .phase = STR("working"),
        .phase_detail = STR("{\"a\":1}"),
        .token_budget = 500000,
        .max_turns = 500,
        .max_cost_usd = 2.5,
        .deadline_ms = NOW + 1000,
        .last_reason = STR("none yet"),
        .checks = STR("[\"make test\"]"),
        .protect = STR("{\"Makefile\":\"0123\"}"),
        .baseline = STR("{\"commit\":\"abc\"}"),
        .options = STR("{\"referee\":\"judge\"}"),
        .memory = STR("{\"stalls\":\"a \0 in it\"}"),
        .created_at_ms = NOW,
        .updated_at_ms = NOW,
    };
}

static inline struct store_goal get(struct store *s, struct arena *arena)
{
    struct store_goal g = {0};

    assert_int_equal(ANSWER(store_goal_get(s, T, arena, &g, NULL, err)), 1);
    return g;
}

static inline struct store_goal replace(struct store *s, const struct store_goal *g,
                                        struct arena *arena)
{
    struct store_goal got = {0};

    assert_int_equal(ANSWER(store_goal_replace(s, g, NOW, NULL, arena, &got, NULL, err)), 0);
    return got;
}

static inline int update(struct store *s, struct goal_update u, struct arena *arena,
                         struct store_goal *ret)
{
    return ANSWER(store_goal_update(s, T, &u, NOW + 1, NULL, arena, ret, NULL, err));
}

static inline int charge(struct store *s, struct goal_charge c, struct arena *arena,
                         struct store_goal *ret)
{
    return ANSWER(store_goal_account(s, T, &c, NOW + 1, NULL, arena, ret, NULL, err));
}

/* Stores a goal with this status and this usage of its budget (0 = none). */
static inline void put(struct store *s, enum goal_status status, int64_t used, int64_t budget)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal g = make_goal(ID(1), GOAL_ACTIVE);
    struct goal_update u = {.has_status = true, .status = status};

    (void)replace(s, &g, &arena);
    if (used)
        assert_int_equal(charge(s, (struct goal_charge){.tokens = used}, &arena, &g), 1);
    if (budget)
        u.token_budget = (struct goal_limit_change){CHANGE_SET, budget};
    assert_int_equal(update(s, u, &arena, &g), 1);
    if (g.status != status)
        fail_msg("%s, %lld of %lld: %s", goal_status_name(status), (long long)used,
                 (long long)budget, goal_status_name(g.status));
}

static inline void expect_str(const char *name, struct str got, struct str want)
{
    if (!str_eq(got, want))
        fail_msg("%s: '%.*s' instead of '%.*s'", name, STR_ARG(got), STR_ARG(want));
}

static inline void expect_number(const char *name, double got, double want)
{
    if (got != want)
        fail_msg("%s: %.17g instead of %.17g", name, got, want);
}

static inline void expect_goal(const struct store_goal *got, const struct store_goal *want)
{
#define TEXT(name) expect_str(#name, got->name, want->name)
#define NUMBER(name) expect_number(#name, (double)got->name, (double)want->name)
    TEXT(thread_id);
    TEXT(goal_id);
    TEXT(objective);
    TEXT(phase);
    TEXT(phase_detail);
    TEXT(last_reason);
    TEXT(checks);
    TEXT(protect);
    TEXT(baseline);
    TEXT(options);
    TEXT(memory);
    NUMBER(status);
    NUMBER(token_budget);
    NUMBER(max_turns);
    NUMBER(max_cost_usd);
    NUMBER(deadline_ms);
    NUMBER(tokens_used);
    NUMBER(output_tokens);
    NUMBER(steps);
    NUMBER(time_used_seconds);
    NUMBER(cost_usd);
    NUMBER(cost_unknown);
    NUMBER(iterations);
    NUMBER(created_at_ms);
    NUMBER(updated_at_ms);
#undef TEXT
#undef NUMBER
}

static inline void expect_status(const char *what, enum goal_status got, enum goal_status want)
{
    if (got != want)
        fail_msg("%s: %s instead of %s", what, goal_status_name(got), goal_status_name(want));
}

static inline int goals_setup(void **state)
{
    memset(big_text, 'x', sizeof(big_text));
    return sqlite_table_load(NULL) == 0 ? home_setup(state) : -1;
}

typedef void (*conform_fn)(struct store *s);

/* Runs all parts, one after the other, on one store. */
static inline void conform(const char *backend, const conform_fn *parts, size_t count)
{
    struct store *s;

    home_clear();
    s = open_store(backend);
    for (size_t i = 0; i < count; i++)
        parts[i](s);
    store_free(s);
}
