/* Models: rows, relatives, strangers, prices, and what settings change about them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/json.h"
#include "llm/dialect/dialect.h"
#include "llm/event.h"
#include "llm/model.h"
#include "unit.h"

#define E(level) (1u << EFFORT_##level)

static const struct {
    const char *provider, *name;
    bool known;
    const char *like;
    const char *family;
    int64_t window, max_output, default_output;
    enum model_thinking thinking;
    unsigned efforts;
    bool images, developer;
    double input; /* -1: unknown */
} finds[] = {
    {"anthropic", "claude-sonnet-5", true, "", "claude-sonnet-5", 1000000, 128000, 32000,
     MODEL_THINKS_ADAPTIVE, E(LOW) | E(MEDIUM) | E(HIGH) | E(XHIGH) | E(MAX), true, false, 2},
    {"anthropic", "claude-sonnet-4-5-20250929", true, "", "claude-sonnet-4", 1000000, 64000, 32000,
     MODEL_THINKS_BUDGET, 0, true, false, 3},
    {"anthropic", "claude-fable-5-1", true, "", "claude-fable-5", 1000000, 128000, 32000,
     MODEL_THINKS_ALWAYS, E(LOW) | E(MEDIUM) | E(HIGH) | E(XHIGH) | E(MAX), true, false, 10},
    /* The longest row wins: not claude-opus-5 with a suffix. */
    {"anthropic", "claude-opus-5-5-20270101", true, "", "claude-opus-5", 1000000, 128000, 32000,
     MODEL_THINKS_ADAPTIVE, E(LOW) | E(MEDIUM) | E(HIGH) | E(XHIGH) | E(MAX), true, false, 4},
    {"anthropic", "claude-haiku-4-5-latest", false, "claude-haiku-4-5", "claude-haiku-4", 200000,
     64000, 32000, MODEL_THINKS_BUDGET, 0, true, false, -1},
    {"anthropic", "claude-9", false, "", "claude-9", 200000, 8192, 8192, MODEL_THINKS_NOT, 0, true,
     false, -1},
    {"openai", "gpt-4o-2024-08-06", true, "", "gpt-4", 128000, 16384, 16384, MODEL_THINKS_NOT, 0,
     true, false, 2.5},
    {"openai", "gpt-4o-2024-05-13", true, "", "gpt-4", 128000, 4096, 4096, MODEL_THINKS_NOT, 0,
     true, false, 5},
    {"openai", "gpt-4", true, "", "gpt-4", 8192, 4096, 4096, MODEL_THINKS_NOT, 0, false, false, 30},
    {"gemini", "gemini-3.1-flash-lite-image", true, "", "gemini-3", 65536, 65536, 32000,
     MODEL_THINKS_EFFORT, E(MINIMAL) | E(LOW) | E(MEDIUM) | E(HIGH), true, false, 0.25},
    {"openai", "o3", true, "", "o", 200000, 100000, 32000, MODEL_THINKS_EFFORT,
     E(LOW) | E(MEDIUM) | E(HIGH), true, true, 2},
    {"openai", "gpt-5-mini-preview", false, "gpt-5-mini", "gpt-5", 400000, 128000, 32000,
     MODEL_THINKS_EFFORT, E(MINIMAL) | E(LOW) | E(MEDIUM) | E(HIGH), true, true, -1},
    {"openai", "gpt-5.7", false, "", "gpt-5.7", 128000, 16384, 16384, MODEL_THINKS_NOT, 0, true,
     true, -1}, /* another generation is no relative */
    {"gemini", "gemini-3.8-flash", true, "", "gemini-3", 1048576, 65536, 32000, MODEL_THINKS_EFFORT,
     E(MINIMAL) | E(LOW) | E(MEDIUM) | E(HIGH), true, false, 0.75},
    {"openai", "gpt-5.3-codex-spark", true, "", "gpt-5", 128000, 32000, 32000, MODEL_THINKS_EFFORT,
     E(LOW) | E(MEDIUM) | E(HIGH) | E(XHIGH), true, true, 1.75}, /* smaller than gpt-5.3-codex */
    {"gemini", "gemini-3.1-pro-preview-customtools", true, "", "gemini-3", 1048576, 65536, 32000,
     MODEL_THINKS_EFFORT, E(LOW) | E(MEDIUM) | E(HIGH), true, false, 2},
    {"gemini", "gemma-4-31b-it", true, "", "gemma", 262144, 32768, 32000, MODEL_THINKS_NOT, 0, true,
     false, -1},
    {"zai", "glm-5.3-highspeed", true, "", "glm", 1000000, 131072, 32000, MODEL_THINKS_ADAPTIVE, 0,
     false, false, -1}, /* listed without a price */
    {"openrouter", "anthropic/claude-sonnet-5", false, "claude-sonnet-5", "claude-sonnet-5",
     1000000, 128000, 32000, MODEL_THINKS_ADAPTIVE,
     E(LOW) | E(MEDIUM) | E(HIGH) | E(XHIGH) | E(MAX), true, false, -1},
    {"gateway", "gpt-5", false, "gpt-5", "gpt-5", 400000, 128000, 32000, MODEL_THINKS_EFFORT,
     E(MINIMAL) | E(LOW) | E(MEDIUM) | E(HIGH), true, false, -1},
    {"ollama", "qwen3:8b", false, "", "qwen3:8b", 32768, 8192, 8192, MODEL_THINKS_NOT, 0, false,
     false, -1},
    {"nobody", "", false, "", "", 128000, 8192, 8192, MODEL_THINKS_NOT, 0, false, false, -1},
};

static void test_find(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(finds); i++) {
        struct model m;

        print_message("row %zu: %s/%s\n", i, finds[i].provider, finds[i].name);
        model_find(str_of(finds[i].provider), str_of(finds[i].name), &m);
        assert_true(str_is(m.provider, finds[i].provider));
        assert_true(str_is(m.name, finds[i].name));
        assert_int_equal(m.known, finds[i].known);
        assert_true(str_is(m.like, finds[i].like));
        assert_true(str_is(m.family, finds[i].family));
        assert_int_equal(m.window, finds[i].window);
        assert_int_equal(m.max_output, finds[i].max_output);
        assert_int_equal(m.default_output, finds[i].default_output);
        assert_int_equal(m.long_output, m.max_output > m.default_output);
        assert_int_equal(m.thinking, finds[i].thinking);
        assert_int_equal(m.efforts, finds[i].efforts);
        assert_int_equal(m.images, finds[i].images);
        assert_int_equal(m.system_is_developer, finds[i].developer);
        assert_true(m.tools);
        if (finds[i].input < 0)
            assert_true(isnan(m.price.input));
        else
            assert_true(m.price.input == finds[i].input);
    }
}

/* Every row makes sense by itself, and every alias leads to a row. */
static void test_table(void **state)
{
    static const char *const providers[] = {"anthropic", "openai", "gemini",    "deepseek",
                                            "xai",       "zai",    "moonshotai"};
    struct model m;
    size_t n = 0;

    (void)state;
    while (model_at(n, &m)) {
        print_message("row %zu: %.*s\n", n, STR_ARG(m.name));
        assert_true(m.known);
        assert_true(m.window >= 8192 && m.max_output >= 4096 && m.max_output <= m.window);
        assert_true(m.default_output <= m.max_output);
        assert_int_equal(isnan(m.price.input), isnan(m.price.output));
        assert_false(m.price.input == 0 || m.price.output == 0 || m.price.cache_read == 0);
        assert_false(m.price.cache_read > m.price.input);
        assert_true(model_is_listed(m.provider, m.name, /*loosely=*/false));
        n++;
    }
    assert_true(n > 60);
    for (size_t i = 0; i < ARRAY_LEN(providers); i++) {
        struct str name = model_default(str_of(providers[i]));

        print_message("default of %s: %.*s\n", providers[i], STR_ARG(name));
        model_find(str_of(providers[i]), name, &m);
        assert_true(m.known && model_price_known(&m));
    }
    assert_int_equal(model_default(STR("ollama")).len, 0);
}

static const struct {
    const char *provider, *name, *want;
} alias_rows[] = {
    {"anthropic", "sonnet", "claude-sonnet-5"},
    {"anthropic", "opus", "claude-opus-5-5"},
    {"anthropic", "flash", "flash"},
    {"gemini", "flash", "gemini-3.8-flash"},
    {"deepseek", "flash", "deepseek-flash"},
    {"openai", "gpt-5", "gpt-5"},
    {"ollama", "sonnet", "sonnet"},
};

static void test_alias(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(alias_rows); i++) {
        struct str got = model_alias(str_of(alias_rows[i].provider), str_of(alias_rows[i].name));

        print_message("row %zu: %s/%s\n", i, alias_rows[i].provider, alias_rows[i].name);
        assert_true(str_is(got, alias_rows[i].want));
        if (!str_eq(got, str_of(alias_rows[i].name)))
            assert_true(model_is_listed(str_of(alias_rows[i].provider), got, /*loosely=*/false));
    }
}

static const struct {
    const char *provider, *name;
    struct llm_usage usage;
    double usd; /* -1: unknown */
} costs[] = {
    {"anthropic",
     "claude-sonnet-4-5",
     {.input = 1000, .output = 2000, .cache_read = 10000, .cache_write = 4000},
     (1000 * 3 + 2000 * 15 + 10000 * 0.3 + 4000 * 3.75) / 1e6},
    {"anthropic",
     "claude-sonnet-4-5",
     {.cache_write = 4000, .cache_write_1h = 1000},
     (3000 * 3.75 + 1000 * 6) / 1e6}, /* an hour costs twice the input */
    {"openai", "gpt-5-pro", {.input = 1000000, .output = 0}, 15},
    {"openai", "gpt-5-pro", {.input = 10, .cache_read = 10}, 20 * 15 / 1e6}, /* no such price */
    {"openai",
     "gpt-5",
     {.input = 10, .cache_write = 10, .cache_write_1h = 4},
     (10 + 6 * 1.25 + 4 * 2) * 1.25 / 1e6},
    {"openai", "gpt-99", {.cache_read = 1}, -1},
    {"openai", "gpt-99", {.input = 1}, -1},
    {"openai", "gpt-99", {0}, 0}, /* nothing used costs nothing anywhere */
};

static void test_cost(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(costs); i++) {
        struct err err = {0};
        struct model m;
        double usd = -7;

        print_message("row %zu: %s\n", i, costs[i].name);
        model_find(str_of(costs[i].provider), str_of(costs[i].name), &m);
        if (costs[i].usd < 0) {
            assert_int_equal(model_cost_usd(&m, &costs[i].usage, &usd, &err), -1);
            assert_int_equal(err.code, ERR_UNSUPPORTED);
            assert_non_null(strstr(err.text, costs[i].name));
            assert_true(usd == -7);
        } else {
            assert_int_equal(model_cost_usd(&m, &costs[i].usage, &usd, &err), 0);
            assert_true(fabs(usd - costs[i].usd) < 1e-12);
        }
    }
}

static const struct {
    const char *json;
    const char *error; /* part of the message; NULL: fine */
} settings[] = {
    {"{}", NULL},
    {"{\"window\":65536,\"maxOutput\":50000,\"images\":false,\"thinking\":\"effort\","
     "\"efforts\":[\"low\",\"max\"],\"price\":{\"input\":1,\"output\":2,\"cacheRead\":0}}",
     NULL},
    {"[]", "must be an object"},
    {"{\"window\":0}", ".window must be a number of tokens"},
    {"{\"window\":\"big\"}", ".window must be a number of tokens"},
    {"{\"maxOutput\":-5}", ".maxOutput must be a number of tokens"},
    {"{\"images\":1}", ".images must be true or false"},
    {"{\"thinking\":\"deep\"}", ".thinking must be none, budget"},
    {"{\"efforts\":\"low\"}", ".efforts must be a list"},
    {"{\"efforts\":[\"lowest\"]}", ".efforts must be a list"},
    {"{\"price\":3}", ".price must be an object"},
    {"{\"price\":{\"input\":-1}}", ".price must be US dollars"},
    {"{\"price\":{\"input\":\"1\"}}", ".price must be US dollars"},
};

static void test_configure(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *doc;
        struct err err = {0};
        struct model m, before;

        print_message("row %zu: %s\n", i, settings[i].json);
        model_find(STR("local"), STR("qwen"), &m);
        before = m;
        assert_int_equal(json_parse(&arena, str_of(settings[i].json), &doc, NULL, &err), 0);
        if (settings[i].error) {
            assert_int_equal(model_configure(&m, doc, &err), -1);
            assert_int_equal(err.code, ERR_BAD_INPUT);
            assert_non_null(strstr(err.text, "models.\"local/qwen\""));
            assert_non_null(strstr(err.text, settings[i].error));
            assert_memory_equal(&m, &before, sizeof(m));
            continue;
        }
        assert_int_equal(model_configure(&m, doc, &err), 0);
        assert_true(m.known);
        if (i == 1) {
            struct llm_usage usage = {.input = 1000000, .output = 1000000, .cache_read = 5};
            double usd;

            assert_int_equal(m.window, 65536);
            assert_int_equal(m.max_output, 50000);
            assert_int_equal(m.default_output, 32000);
            assert_true(m.long_output);
            assert_int_equal(m.thinking, MODEL_THINKS_EFFORT);
            assert_int_equal(m.efforts, E(LOW) | E(MAX));
            assert_int_equal(model_cost_usd(&m, &usage, &usd, &err), 0);
            assert_true(usd == 3); /* what the user calls free is free */
        } else {
            assert_false(model_price_known(&m));
        }
    }
}

UNIT_TEST(model)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find), cmocka_unit_test(test_table),     cmocka_unit_test(test_alias),
        cmocka_unit_test(test_cost), cmocka_unit_test(test_configure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
