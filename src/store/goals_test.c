/*
 * What every backend of the goal store promises, rule by rule, run once for each; then what only
 * the file can show: the table itself, and a database from before there were goals.
 */
#include "store/goals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "store/sqlite_table.h"
#include "store/store.h"
#include "store/test_home.h"
#include "sync/cancel.h"
#include "sync/thread.h"

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

static struct store *open_store(const char *backend)
{
    struct store *s = NULL;
    struct err err = {0};

    if (store_open(backend, test_home, /*cancel=*/NULL, &s, &err) < 0)
        fail_msg("%s: %s", backend, err.text);
    return s;
}

/* The answer of a call, which must not fail. */
#define ANSWER(call)                                                                               \
    ({                                                                                             \
        struct err err_ = {0};                                                                     \
        struct err *err = &err_;                                                                   \
        int answer_ = (call);                                                                      \
        if (answer_ < 0)                                                                           \
            fail_msg(#call ": %s", err->text);                                                     \
        answer_;                                                                                   \
    })

/* ---- Goals, made and changed ---- */

static struct store_goal make_goal(const char *id, enum goal_status status)
{
    return (struct store_goal){.thread_id = T,
                               .goal_id = str_of(id),
                               .objective = STR("all tests pass"),
                               .status = status};
}

static struct store_goal get(struct store *s, struct arena *arena)
{
    struct store_goal g = {0};

    assert_int_equal(ANSWER(store_goal_get(s, T, arena, &g, NULL, err)), 1);
    return g;
}

static struct store_goal replace(struct store *s, const struct store_goal *g, struct arena *arena)
{
    struct store_goal got = {0};

    assert_int_equal(ANSWER(store_goal_replace(s, g, NOW, NULL, arena, &got, NULL, err)), 0);
    return got;
}

static int update(struct store *s, struct goal_update u, struct arena *arena,
                  struct store_goal *ret)
{
    return ANSWER(store_goal_update(s, T, &u, NOW + 1, NULL, arena, ret, NULL, err));
}

static int charge(struct store *s, struct goal_charge c, struct arena *arena,
                  struct store_goal *ret)
{
    return ANSWER(store_goal_account(s, T, &c, NOW + 1, NULL, arena, ret, NULL, err));
}

/* A goal in this status that has used so much of its budget (0: none). */
static void put(struct store *s, enum goal_status status, int64_t used, int64_t budget)
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

static void expect_str(const char *name, struct str got, struct str want)
{
    if (!str_eq(got, want))
        fail_msg("%s: '%.*s' instead of '%.*s'", name, STR_ARG(got), STR_ARG(want));
}

static void expect_number(const char *name, double got, double want)
{
    if (got != want)
        fail_msg("%s: %.17g instead of %.17g", name, got, want);
}

static void expect_goal(const struct store_goal *got, const struct store_goal *want)
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

static void expect_status(const char *what, enum goal_status got, enum goal_status want)
{
    if (got != want)
        fail_msg("%s: %s instead of %s", what, goal_status_name(got), goal_status_name(want));
}

/* ---- Set and read ---- */

static struct store_goal full_goal(void)
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

static void conform_replace(struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal full = full_goal();
    struct store_goal bare = make_goal(ID(2), GOAL_PAUSED);
    struct store_goal sent = full;
    struct store_goal got = {.steps = 77};

    assert_int_equal(ANSWER(store_goal_get(s, T, &arena, &got, NULL, err)), 0);
    assert_int_equal(got.steps, 77); /* untouched */

    /* What is used, and the times, are not the caller's to say. */
    sent.objective = STR(" \tcaf\xc3\xa9's \"tests\" pass; DROP TABLE thread_goals \n");
    sent.tokens_used = sent.output_tokens = sent.steps = sent.time_used_seconds = 5;
    sent.iterations = 5;
    sent.cost_usd = 0.5;
    sent.cost_unknown = true;
    sent.created_at_ms = sent.updated_at_ms = 5;
    got = replace(s, &sent, &arena);
    expect_goal(&got, &full);
    got = get(s, &arena);
    expect_goal(&got, &full);

    /* Nothing of the old one stays. */
    assert_int_equal(charge(s,
                            (struct goal_charge){.seconds = 1,
                                                 .tokens = 2,
                                                 .output_tokens = 3,
                                                 .steps = 4,
                                                 .cost_usd = 0.5,
                                                 .cost_unknown = true},
                            &arena, &got),
                     1);
    assert_int_equal(update(s, (struct goal_update){.add_iterations = 3}, &arena, &got), 1);
    assert_int_equal(got.iterations, 3);
    assert_int_equal(ANSWER(store_goal_replace(s, &bare, NOW + 9, NULL, &arena, &got, NULL, err)),
                     0);
    bare.created_at_ms = bare.updated_at_ms = NOW + 9;
    expect_goal(&got, &bare);

    /* Whoever does not want the row says so. */
    assert_int_equal(ANSWER(store_goal_replace(s, &full, NOW, NULL, NULL, NULL, NULL, err)), 0);
    got = get(s, &arena);
    expect_goal(&got, &full);
}

/* A deadline that has passed is a limit that is reached, whatever else. */
static void conform_replace_late(struct store *s)
{
    static const struct {
        enum goal_status status;
        int64_t deadline_ms;
        enum goal_status want;
    } rows[] = {
        {A, 0, A}, {A, NOW + 1, A}, {A, NOW, L}, {A, 1, L}, {P, 1, P}, {C, 1, C}, {L, 0, L},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct store_goal g = make_goal(ID(1), rows[i].status);
        char row[40];

        snprintf(row, sizeof(row), "row %zu", i);
        g.deadline_ms = rows[i].deadline_ms;
        expect_status(row, replace(s, &g, &arena).status, rows[i].want);
    }
}

static void conform_insert(struct store *s)
{
    static const bool done[GOAL_STATUS_COUNT] = {[C] = true};
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal new = make_goal(ID(2), GOAL_ACTIVE);
    struct store_goal got = {0};

    (void)ANSWER(store_goal_delete(s, T, STR(""), NOW, NULL, &arena, &got, NULL, err));
    assert_int_equal(ANSWER(store_goal_insert(s, &new, NOW, NULL, &arena, &got, NULL, err)), 1);
    expect_str("goal_id", got.goal_id, STR(ID(2)));
    for (enum goal_status status = 0; status < GOAL_STATUS_COUNT; status++) {
        put(s, status, 10, 0);
        if (ANSWER(store_goal_insert(s, &new, NOW, NULL, &arena, &got, NULL, err)) != done[status])
            fail_msg("insert over %s", goal_status_name(status));
        expect_str("goal_id", got.goal_id, done[status] ? STR(ID(2)) : STR(ID(1)));
        assert_int_equal(got.tokens_used, done[status] ? 0 : 10);
        expect_status("insert", got.status, done[status] ? GOAL_ACTIVE : status);
    }
}

/* ---- Update ---- */

/* [spent][from][to]: where it lands. No goal is active and spent. */
static const enum goal_status landing[2][GOAL_STATUS_COUNT][GOAL_STATUS_COUNT] = {
    {
        [A] = {A, P, B, U, L, C},
        [P] = {A, P, B, U, L, C},
        [B] = {A, P, B, U, L, C},
        [U] = {A, P, B, U, L, C},
        [L] = {A, L, L, U, L, C},
        [C] = {A, P, B, U, L, C},
    },
    {
        [P] = {L, P, B, U, L, C},
        [B] = {L, P, B, U, L, C},
        [U] = {L, P, B, U, L, C},
        [L] = {L, L, L, U, L, C},
        [C] = {L, P, B, U, L, C},
    },
};

static void conform_update_status(struct store *s)
{
    for (int spent = 0; spent < 2; spent++) {
        for (enum goal_status from = spent; from < GOAL_STATUS_COUNT; from++) {
            for (enum goal_status to = 0; to < GOAL_STATUS_COUNT; to++) {
                CLEANUP(arena_release) struct arena arena = ARENA_INIT;
                struct store_goal got = {0};
                char row[80];

                snprintf(row, sizeof(row), "%s from %s to %s", spent ? "spent" : "unspent",
                         goal_status_name(from), goal_status_name(to));
                put(s, from, 100, spent ? 100 : 101);
                assert_int_equal(
                    update(s, (struct goal_update){.has_status = true, .status = to}, &arena, &got),
                    1);
                expect_status(row, got.status, landing[spent][from][to]);
                expect_status(row, get(s, &arena).status, landing[spent][from][to]);
            }
        }
    }
}

static void conform(const char *backend)
{
    struct store *s;

    home_clear();
    s = open_store(backend);
    conform_replace(s);
    conform_replace_late(s);
    conform_insert(s);
    conform_update_status(s);
    store_free(s);
}

static void test_sqlite(void **state)
{
    (void)state;
    conform("sqlite");
}

static void test_memory(void **state)
{
    (void)state;
    conform("memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sqlite),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, home_setup, home_teardown);
}
