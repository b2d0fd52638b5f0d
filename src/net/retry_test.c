#include "net/retry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "unit.h"

#define NOW INT64_C(784111777000) /* Sun, 06 Nov 1994 08:49:37 GMT */

static void own_delays_double_up_to_the_cap(void **state)
{
    static const struct {
        int next;
        int64_t want; /* without jitter */
    } rows[] = {
        {1, 0},     {2, 500},   {3, 1000},  {4, 2000},   {5, 4000}, {6, 8000},
        {7, 16000}, {8, 32000}, {9, 32000}, {10, 32000}, {11, -1},  {1000, -1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t got = retry_delay_ms(&retry_default, rows[i].next, -1, 0);

        if (got != rows[i].want)
            fail_msg("try %d: %lld", rows[i].next, (long long)got);
    }
}

static void jitter_takes_at_most_a_quarter(void **state)
{
    int64_t low = 500;

    (void)state;
    for (uint64_t random = 0; random < 1000; random++) {
        int64_t got = retry_delay_ms(&retry_default, 2, -1, random);

        assert_in_range(got, 375, 500);
        low = got < low ? got : low;
    }
    assert_int_equal(low, 375);
    assert_in_range(retry_delay_ms(&retry_default, 10, -1, UINT64_MAX), 24000, 32000);
}

static void what_the_server_asks_goes_first(void **state)
{
    static const struct {
        int next;
        int64_t asked;
        int64_t want;
    } rows[] = {
        {2, 1, 1},           {2, 7000, 7000}, {10, 7000, 7000}, {11, 7000, -1},
        {2, 600000, 600000}, {2, 600001, -1}, {2, 0, 500}, /* "at once" gets our own delay */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t got = retry_delay_ms(&retry_default, rows[i].next, rows[i].asked, 0);

        if (got != rows[i].want)
            fail_msg("row %zu: %lld", i, (long long)got);
    }
}

static void a_policy_of_zeros_does_not_divide_by_zero(void **state)
{
    const struct retry_policy none = {.max_tries = 3};

    (void)state;
    assert_int_equal(retry_delay_ms(&none, 2, -1, 12345), 0);
    assert_int_equal(retry_delay_ms(&none, 2, 1, 12345), -1);
}

static void headers(void **state)
{
    static const struct {
        const char *ms;
        const char *after;
        int64_t want;
    } rows[] = {
        {"", "", -1},
        {"1500", "", 1500},
        {"1500", "9", 1500},
        {"1500.2", "", 1501},
        {"junk", "2", 2000},
        {"", "2", 2000},
        {"", " 2 ", 2000},
        {"", "0", 0},
        {"", "0.25", 250},
        {"", "-1", -1},
        {"", "+1", -1},
        {"", "2s", -1},
        {"", "1e3", -1},
        {"", "0x10", -1},
        {"", ".", -1},
        {"", "nan", -1},
        {"", "99999999999999999999", -1},
        {"", "99999999999999999999999999999999999999999999999999999999999999999999999999", -1},
        {"99999999999999999999", "3", 3000},
        {"", "Sun, 06 Nov 1994 08:49:37 GMT", 0},
        {"", "Sun, 06 Nov 1994 08:50:07 GMT", 30000},
        {"", "Sunday, 06-Nov-94 08:50:07 GMT", 30000},
        {"", "Sun Nov  6 08:50:07 1994", 30000},
        {"", "Sun, 06 Nov 1994 08:00:00 GMT", 0}, /* past: at once */
        {"", "Mon, 07 Nov 1994 08:49:37 GMT", 86400000},
        {"", "Sun, 06 Nov 2094 08:49:37 GMT", -1},
        {"", "Sun, 06 Nov 1994 08:50:07", -1},
        {"", "Sun, 06 Nov 1994 08:50:07 CET", -1},
        {"", "Sun, 06 Xyz 1994 08:50:07 GMT", -1},
        {"", "Sun, 36 Nov 1994 08:50:07 GMT", -1},
        {"", "Sun, 06 Nov 1994 28:50:07 GMT", -1},
        {"", "Sun, 06 Nov", -1},
        {"", "Sun", -1},
        {"", "soon", -1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t got = retry_after_ms(str_of(rows[i].ms), str_of(rows[i].after), NOW);

        if (got != rows[i].want)
            fail_msg("'%s' '%s': %lld", rows[i].ms, rows[i].after, (long long)got);
    }
}

static void texts(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"", -1},
        {"Please try again in 11.054s", 11054},
        {"Rate limit reached for m in org on tokens per min: Limit 10, Used 9. "
         "Please try again in 11.054s. Visit https://example.com.",
         11054},
        {"Please try again in 500ms", 500},
        {"Please try again in 20ms.", 20},
        {"Try again in 1m26.4s.", 86400},
        {"try again in 6m0s", 360000},
        {"try again in 1h2m3s", 3723000},
        {"try again in 20 seconds", 20000},
        {"try again in 1 minute 5 seconds or so", 65000},
        {"Please retry in 34.074824224s.", 34075},
        {"Please wait 3 seconds", 3000},
        {"Please wait and try again in 3 seconds", 3000},
        {"Too many requests in 5 minutes. Retry after 7s", 7000},
        {"Quota resets in 2 hours", 7200000},
        {"34s", 34000},
        {" 34.5s ", 34500},
        {"0s", 0},
        {"34", -1},
        {"34 bananas", -1},
        {"34s ago", -1},
        {"try again in a moment", -1},
        {"try again in 5", -1},
        {"try again in 5.", -1},
        {"try again in 1e9s", -1},
        {"try again in -5s", -1},
        {"try again in 99999999999999999999 days", -1},
        {"limited in 5 minutes", -1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t got = retry_text_ms(str_of(rows[i].text));

        if (got != rows[i].want)
            fail_msg("'%s': %lld, want %lld", rows[i].text, (long long)got,
                     (long long)rows[i].want);
    }
}

static void resets(void **state)
{
    static const struct {
        const char *value;
        int64_t want;
    } rows[] = {
        {"1700000090", 90000},
        {"1700000090000", 90000},
        {" 1700000000.5 ", 500},
        {"1699999999", 0},
        {"90", 90000},
        {"0", 0},
        {"6m0s", 360000},
        {"", -1},
        {"soon", -1},
        {"-5", -1},
        {"6m0s or so", -1},
        {"1e300", -1},
        {"99999999999999", -1},
        {"nan", -1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t got = retry_reset_ms(str_of(rows[i].value), INT64_C(1700000000000));

        if (got != rows[i].want)
            fail_msg("'%s': %lld, want %lld", rows[i].value, (long long)got,
                     (long long)rows[i].want);
    }
}

UNIT_TEST(retry)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_delays_double_up_to_the_cap),
        cmocka_unit_test(jitter_takes_at_most_a_quarter),
        cmocka_unit_test(what_the_server_asks_goes_first),
        cmocka_unit_test(a_policy_of_zeros_does_not_divide_by_zero),
        cmocka_unit_test(headers),
        cmocka_unit_test(texts),
        cmocka_unit_test(resets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
