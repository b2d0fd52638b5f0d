/*
 * Money: cached tokens at their own prices, several models.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "llm/ledger.h"
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
    struct spend spend;
    struct arena arena = ARENA_INIT;
    const struct model_spent *rows;
    size_t count;

    (void)state;
    spend = spend_of(SPENT_MAIN, &priced, &u);
    ledger_add(&l, &spend);
    assert_true(fabs(l.usd - (3 + 1.5 + 0.6 + 3.75)) < 1e-9);
    ledger_add(&l, &spend);
    unknown.name = STR("x");
    unknown.price.output = NAN;
    spend = spend_of(SPENT_MAIN, &unknown, &u);
    ledger_add(&l, &spend);
    assert_true(l.unknown);
    rows = ledger_models(&l, &arena, &count);
    assert_int_equal(count, 2);
    assert_int_equal(rows[0].usage.cache_read, 4000000);
    assert_true(fabs(rows[0].usd - 2 * 8.85) < 1e-9);
    assert_true(isnan(rows[1].usd));
    arena_release(&arena);
    ledger_release(&l);
}

/* Earlier costs, and those beside the conversation, are known by the model's name alone. */
static void spends_have_their_model(void **state)
{
    CLEANUP(ledger_release) struct ledger l = {0};
    struct spend spend = {.model = STR("claude-sonnet-5"), .usd = 0.5};
    struct model m;

    (void)state;
    model_find(STR("anthropic"), STR("claude-sonnet-5"), &m);
    ledger_add(&l, &spend);
    assert_true(l.rows.ptr[0].window > 0 && l.rows.ptr[0].window == m.window);
    assert_int_equal(l.rows.ptr[0].max_output, m.max_output);
}

UNIT_TEST(ledger)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_up),
        cmocka_unit_test(spends_have_their_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
