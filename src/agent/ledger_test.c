/*
 * Money: cached tokens at their own prices, several models, caps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "agent/ledger.h"
#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "llm/model.h"
#include "unit.h"

static const struct model priced = {
    .provider = STR_INIT("p"),
    .name = STR_INIT("m"),
    .window = 1000,
    .max_output = 100,
    .default_output = 100,
    .price =
        {.input = 3, .output = 15, .cache_read = 0.3, .cache_write = 3.75, .cache_write_1h = 6},
};

static void adds_up(void **state)
{
    static const struct llm_usage u = {
        .input = 1000000, .output = 100000, .cache_read = 2000000, .cache_write = 1000000};
    struct model unknown = priced;
    struct ledger l = {0};
    struct arena arena = ARENA_INIT;
    const struct model_spent *rows;
    size_t count;

    (void)state;
    ledger_add(&l, &priced, &u);
    assert_true(fabs(l.usd - (3 + 1.5 + 0.6 + 3.75)) < 1e-9);
    ledger_add(&l, &priced, &u);
    unknown.name = STR("x");
    unknown.price.output = NAN;
    ledger_add(&l, &unknown, &u);
    assert_true(l.unknown);
    rows = ledger_models(&l, &arena, &count);
    assert_int_equal(count, 2);
    assert_int_equal(rows[0].usage.cache_read, 4000000);
    assert_true(fabs(rows[0].usd - 2 * 8.85) < 1e-9);
    assert_true(isnan(rows[1].usd));
    arena_release(&arena);
    ledger_release(&l);
}

static const struct {
    double spent, cap;
    int64_t prompt_tokens;
    int64_t want; /* tokens of the answer; 0: the default; -1: no call */
} cap_cases[] = {
    {0, 1, 1000, 0},      {0, 0.0045, 1000, 50}, /* 0.00375 for the prompt at most, the rest at 15 a
                                                    million */
    {0, 0.003, 1000, -1}, {1, 1, 0, -1},         {0.998, 1, 0, 0}, {0.99925, 1, 0, 50},
};

static void caps(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cap_cases); i++) {
        struct ledger l = {.usd = cap_cases[i].spent};
        int64_t tokens = 0;
        struct err err = {0};
        int r = ledger_allow(&l, cap_cases[i].cap, &priced, CACHE_5M, cap_cases[i].prompt_tokens,
                             &tokens, &err);
        int64_t got = r < 0 ? -1 : tokens;

        if (llabs(got - cap_cases[i].want) > 1)
            fail_msg("row %zu: %lld tokens", i, (long long)got);
        if (r < 0)
            assert_int_equal(err.code, ERR_BUDGET);
    }
}

static void unknown_price_is_no_promise(void **state)
{
    struct model m = priced;
    struct ledger l = {0};
    int64_t tokens = 0;
    struct err err = {0};

    (void)state;
    m.price.output = NAN;
    assert_int_equal(ledger_allow(&l, 1, &m, CACHE_5M, 1, &tokens, &err), -1);
    assert_int_equal(err.code, ERR_BUDGET);
}

/* What was spent before, or beside, is known by the model's name alone. */
static void spends_have_their_model(void **state)
{
    CLEANUP(ledger_release) struct ledger l = {0};
    struct tool_spend spend = {.model = STR("claude-sonnet-5"), .usd = 0.5};
    struct model m;

    (void)state;
    model_find(STR("anthropic"), STR("claude-sonnet-5"), &m);
    ledger_add_spend(&l, &spend);
    assert_true(l.rows.ptr[0].window > 0 && l.rows.ptr[0].window == m.window);
    assert_int_equal(l.rows.ptr[0].max_output, m.max_output);
}

UNIT_TEST(ledger)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_up),
        cmocka_unit_test(caps),
        cmocka_unit_test(unknown_price_is_no_promise),
        cmocka_unit_test(spends_have_their_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
