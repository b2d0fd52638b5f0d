/*
 * Spending: limits, calls that share the rest, and sums that add up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "llm/message.h"
#include "llm/model.h"
#include "llm/spending.h"
#include "llm/test_spending.h"
#include "sync/cancel.h"
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

static int reserve(struct spending *b, enum spent_who who, int64_t prompt, int64_t *io_tokens,
                   struct cancel *cancel, struct spending_call *ret, struct err *err)
{
    struct spending_rate rate = {0};

    spending_rate_add(&rate, &priced, CACHE_5M);
    return spending_reserve(b, who, &rate, prompt, io_tokens, cancel, ret, err);
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
        struct ledger past = {.usd = cap_cases[i].spent};
        struct spending *b = spending_new();
        struct spending_call call;
        int64_t tokens = 0;
        struct err err = {0};
        int64_t got;
        int r;

        spending_limit(b, cap_cases[i].cap);
        spending_recall(b, &past);
        r = reserve(b, SPENT_MAIN, cap_cases[i].prompt_tokens, &tokens, NULL, &call, &err);
        got = r < 0 ? -1 : tokens;
        if (llabs(got - cap_cases[i].want) > 1)
            fail_msg("row %zu: %lld tokens", i, (long long)got);
        if (r < 0)
            assert_int_equal(err.code, ERR_BUDGET);
        else
            spending_settle(&call);
        spending_unref(b);
    }
}

static void unknown_price_is_no_promise(void **state)
{
    struct spending *b = spending_new();
    struct spending_rate rate = {0};
    struct spending_call call;
    struct model m = priced;
    int64_t tokens = 0;
    struct err err = {0};

    (void)state;
    m.price.output = NAN;
    spending_rate_add(&rate, &m, CACHE_5M);
    assert_int_equal(spending_reserve(b, SPENT_MAIN, &rate, 1, &tokens, NULL, &call, &err), 0);
    spending_settle(&call);
    spending_limit(b, 1);
    assert_int_equal(spending_reserve(b, SPENT_MAIN, &rate, 1, &tokens, NULL, &call, &err), -1);
    assert_int_equal(err.code, ERR_BUDGET);
    spending_unref(b);
}

/* The goal's limits bind everybody but the agent and the judge, whose calls the referee allows. */
static void goal_limits(void **state)
{
    static const struct {
        enum spent_who who;
        int64_t tokens;
        double usd;
        int64_t want; /* as above */
    } rows[] = {
        {SPENT_MAIN, 0, 0, 0},
        {SPENT_COMPACTION, 0, 0, 0},
        {SPENT_JUDGE, 0, 0, 0},
        {SPENT_CHILD, 0, (double)SPENDING_NO_LIMIT, -1},
        {SPENT_HOOK, SPENDING_NO_LIMIT, 0, -1},
        {SPENT_ASIDE, SPENDING_NO_LIMIT, (double)SPENDING_NO_LIMIT, 0},
        {SPENT_CHILD, 1050, 1, 50},
        {SPENT_TOOL, 5000, 0.0045, 50},
        {SPENT_TOOL, 1000, 1, -1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct spending *b = spending_new();
        struct spending_call call;
        int64_t tokens = 0, got;
        struct err err = {0};
        int r;

        spending_limit_goal(b, rows[i].tokens, rows[i].usd);
        r = reserve(b, rows[i].who, 1000, &tokens, NULL, &call, &err);
        got = r < 0 ? -1 : tokens;
        if (llabs(got - rows[i].want) > 1)
            fail_msg("row %zu: %lld tokens: %s", i, (long long)got, err.text);
        if (r == 0)
            spending_settle(&call);
        spending_unref(b);
    }
}

/* ---- Many at once ---- */

#define CALLERS 200
#define LIMIT_USD 0.5

struct crowd {
    struct paid paid;
    struct cancel *cancel;
    atomic_llong server_input, server_output; /* what the server has counted */
    atomic_llong reserved_micro;              /* of calls in flight, in micro() */
    atomic_llong spent_micro;
    atomic_llong overshoot_micro; /* beyond the limit and the reservations; the maximum */
    atomic_int refused, cancelled;
};

/* In quarters of a millionth: the prices here are whole numbers of it. */
static long long micro(double usd)
{
    return (long long)(usd * 4e6 + 0.5);
}

/* Costs exceed the limit by no more than the current reservations. */
static void look(struct crowd *c)
{
    long long over =
        atomic_load(&c->spent_micro) - micro(LIMIT_USD) - atomic_load(&c->reserved_micro);
    long long most = atomic_load(&c->overshoot_micro);

    while (over > most && !atomic_compare_exchange_weak(&c->overshoot_micro, &most, over))
        continue;
}

/* An agent that goes on until nothing is left. Some answers are broken off and asked for again. */
static void caller(void *arg)
{
    struct crowd *c = arg;
    unsigned seed = (unsigned)(uintptr_t)&seed;

    /* Every other one is a child's child. */
    struct spending *child = spending_branch(c->paid.spending);
    struct spending *own = spending_branch(child);
    struct spending *payer = rand_r(&seed) % 2 ? own : c->paid.spending;

    spending_unref(child);
    for (;;) {
        struct spending_call call;
        struct llm_usage used = {.known = true};
        int64_t prompt = 1 + rand_r(&seed) % 100;
        int64_t tokens = 0;
        long long held;
        struct err err = {0};

        if (reserve(payer, SPENT_MAIN, prompt, &tokens, c->cancel, &call, &err) < 0) {
            atomic_fetch_add(err.code == ERR_BUDGET ? &c->refused : &c->cancelled, 1);
            break;
        }
        held = micro(call.usd);
        atomic_fetch_add(&c->reserved_micro, held);
        for (int attempt = rand_r(&seed) % 4 ? 1 : 0; attempt < 2; attempt++) {
            used.cache_write = prompt;
            used.output = 1 + rand_r(&seed) % (tokens ? tokens : priced.default_output);
            if (!attempt) { /* broken off; the rest is enough for another */
                used.cache_write = 0;
                used.output = 1;
            } else if (used.output > 1) {
                used.output--;
            }
            atomic_fetch_add(&c->server_input, used.input + used.cache_write);
            atomic_fetch_add(&c->server_output, used.output);
            atomic_fetch_add(&c->spent_micro, micro(spend_of(call.who, &priced, &used).usd));
            spending_book_usage(&call, &priced, &used);
            look(c);
        }
        atomic_fetch_sub(&c->reserved_micro, held);
        spending_settle(&call);
    }
    spending_unref(own);
}

static void crowd_run(struct crowd *c, int64_t cancel_after_calls)
{
    struct thread *threads[CALLERS];
    struct err err = {0};

    paid_begin(&c->paid);
    spending_limit(c->paid.spending, LIMIT_USD);
    c->cancel = cancel_new(NULL);
    for (size_t i = 0; i < CALLERS; i++) {
        threads[i] = thread_start("caller", caller, c, &err);
        assert_non_null(threads[i]);
    }
    while (cancel_after_calls && (int64_t)paid_count(&c->paid) < cancel_after_calls)
        (void)cancel_wait(NULL, 1, NULL);
    if (cancel_after_calls)
        cancel_set(c->cancel);
    for (size_t i = 0; i < CALLERS; i++)
        thread_join(threads[i]);
}

static void crowd_end(struct crowd *c)
{
    cancel_unref(c->cancel);
    paid_end(&c->paid);
}

/* What the account has is what the server has counted, to the token. */
static void expect_sum(struct crowd *c)
{
    struct arena arena = ARENA_INIT;
    struct spending_total r = {0};

    spending_report(c->paid.spending, &arena, &r);
    assert_int_equal(r.model_count, 1);
    assert_int_equal(r.models[0].usage.input + r.models[0].usage.cache_write,
                     atomic_load(&c->server_input));
    assert_int_equal(r.models[0].usage.output, atomic_load(&c->server_output));
    assert_int_equal(micro(r.usd), atomic_load(&c->spent_micro));
    arena_release(&arena);
}

static void two_hundred_callers_keep_the_limit(void **state)
{
    struct crowd c = {0};

    (void)state;
    crowd_run(&c, /*cancel_after_calls=*/0);
    assert_int_equal(atomic_load(&c.refused), CALLERS);
    expect_sum(&c);
    assert_int_equal(atomic_load(&c.overshoot_micro), 0);
    if (spending_usd(c.paid.spending, NULL) < LIMIT_USD * 0.99)
        fail_msg("%g USD were spent of %g", spending_usd(c.paid.spending, NULL), LIMIT_USD);
    crowd_end(&c);
}

static void two_hundred_callers_are_cancelled(void **state)
{
    struct crowd c = {0};

    (void)state;
    crowd_run(&c, /*cancel_after_calls=*/20);
    assert_int_equal(atomic_load(&c.refused) + atomic_load(&c.cancelled), CALLERS);
    expect_sum(&c);
    crowd_end(&c);
}

UNIT_TEST(spending)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caps),
        cmocka_unit_test(unknown_price_is_no_promise),
        cmocka_unit_test(goal_limits),
        cmocka_unit_test(two_hundred_callers_keep_the_limit),
        cmocka_unit_test(two_hundred_callers_are_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
