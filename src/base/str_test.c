/* str: slices, numbers, clipping, distance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "unit.h"

struct number_case {
    const char *text;
    int ok;
    int64_t value;
};

static const struct number_case number_cases[] = {
    {"0", 1, 0},
    {"-1", 1, -1},
    {"+7", 1, 7},
    {"9223372036854775807", 1, INT64_MAX},
    {"-9223372036854775808", 1, INT64_MIN},
    {"9223372036854775808", 0, 0},
    {"-9223372036854775809", 0, 0},
    {"18446744073709551616", 0, 0},
    {"", 0, 0},
    {"-", 0, 0},
    {"12a", 0, 0},
    {" 1", 0, 0},
};

static void numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(number_cases); i++) {
        const struct number_case *c = &number_cases[i];
        struct err err = {0};
        int64_t value = 42;
        int rc = str_to_i64(str_of(c->text), &value, &err);

        if (rc != (c->ok ? 0 : -1) || value != (c->ok ? c->value : 42))
            fail_msg("row '%s': rc %d value %lld", c->text, rc, (long long)value);
        if (!c->ok && (err.code != ERR_BAD_INPUT || !err.text[0]))
            fail_msg("row '%s': no reason", c->text);
    }
}

struct double_case {
    const char *text;
    int ok;
    double value;
};

static const struct double_case double_cases[] = {
    {"1.5", 1, 1.5}, {"-2e3", 1, -2000}, {".5", 1, 0.5}, {"", 0, 0},    {"1.5x", 0, 0},
    {"0x10", 0, 0},  {"nan", 0, 0},      {"inf", 0, 0},  {"1,5", 0, 0}, {" 1", 0, 0},
};

static void doubles(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(double_cases); i++) {
        const struct double_case *c = &double_cases[i];
        double value = 42;
        int rc = str_to_double(str_of(c->text), &value, NULL);

        if (rc != (c->ok ? 0 : -1) || value != (c->ok ? c->value : 42))
            fail_msg("row '%s': rc %d value %g", c->text, rc, value);
    }
}

struct clip_case {
    const char *text;
    size_t max;
    const char *want;
};

static const struct clip_case clip_cases[] = {
    {"short", 10, "short"},
    {"exactly10!", 10, "exactly10!"},
    {"caf\xc3\xa9s", 4, "caf"}, /* never cut inside a character */
    {"caf\xc3\xa9s", 5, "caf\xc3\xa9"},
    {"\xf0\x9f\x98\x80", 3, ""},
    {"a\x80\x80\x80\x80\x80", 5, "a\x80\x80\x80\x80"}, /* no characters: cut anywhere */
    {"", 0, ""},
};

static void clips(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(clip_cases); i++) {
        const struct clip_case *c = &clip_cases[i];

        if (!str_is(str_clip(str_of(c->text), c->max), c->want))
            fail_msg("row %zu", i);
    }
}

static void cuts(void **state)
{
    struct str rest = STR("a,,b,");
    struct str part;
    const char *want[] = {"a", "", "b", ""};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_true(str_cut(&rest, ',', &part));
        assert_true(str_is(part, want[i]));
    }
    assert_false(str_cut(&rest, ',', &part));
    rest = STR("");
    assert_true(str_cut(&rest, ',', &part)); /* the empty text has one empty part */
    assert_false(str_cut(&rest, ',', &part));
}

struct distance_case {
    const char *a, *b;
    size_t want;
};

static const struct distance_case distance_cases[] = {
    {"model", "model", 0},  {"modle", "model", 1},    {"mdel", "model", 1},
    {"modell", "model", 1}, {"settings", "model", 4}, {"", "abc", 3},
};

static void distances(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(distance_cases); i++) {
        const struct distance_case *c = &distance_cases[i];
        size_t d = str_distance(str_of(c->a), str_of(c->b), 3);

        if (d != c->want)
            fail_msg("row '%s' '%s': %zu", c->a, c->b, d);
    }
}

static void searches(void **state)
{
    struct str s = STR("Hello, World");

    (void)state;
    assert_int_equal(str_find(s, STR("World")), 7);
    assert_int_equal(str_find(s, STR("world")), s.len);
    assert_int_equal(str_find_nocase(s, STR("world")), 7);
    assert_int_equal(str_find_nocase(s, STR("worlds and more than that")), s.len);
    assert_int_equal(str_chr(s, ','), 5);
    assert_true(str_starts(s, STR("Hell")));
    assert_true(str_ends(s, STR("ld")));
    assert_false(str_ends(STR("d"), STR("ld")));
    assert_true(str_is(str_trim(STR(" \t x y \n")), "x y"));
    assert_true(str_is(str_trim(STR("\n\n")), ""));
    assert_true(str_is(str_chomp(STR("\n x\r\n\n")), "\n x"));
    assert_true(str_is(str_chomp(STR("\n")), ""));
    assert_true(str_cmp(STR("a"), STR("ab")) < 0);
    assert_true(str_cmp(STR("b"), STR("ab")) > 0);
    assert_int_equal(str_cmp(STR(""), STR("")), 0);
    assert_true(str_is(str_from(s, 100), ""));
}

static void word_of(void **state)
{
    (void)state;
    assert_true(str_is_word_of(STR("b"), "a b c"));
    assert_true(str_is_word_of(STR("c"), "a b  c"));
    assert_false(str_is_word_of(STR(""), "a  b"));
    assert_false(str_is_word_of(STR("ab"), "a b abc"));
    assert_false(str_is_word_of(STR("a"), ""));
}

#define HASH_SLOTS 1024
#define HASH_KEYS 500

/* Keys chosen to fall into one slot of str_hash(), as a malicious settings file may have them: in a
 * table they are spread like any others. */
static void spreads_chosen_keys(void **state)
{
    bool taken[HASH_SLOTS] = {false};
    size_t slots = 0;
    char key[32];

    (void)state;
    for (int i = 0, found = 0; found < HASH_KEYS; i++) {
        size_t slot;

        snprintf(key, sizeof(key), "Bash(%d)", i);
        if (str_hash(str_of(key)) % HASH_SLOTS)
            continue;
        found++;
        slot = str_table_hash(str_of(key)) % HASH_SLOTS;
        assert_int_equal(slot, str_table_hash(str_of(key)) % HASH_SLOTS);
        slots += !taken[slot];
        taken[slot] = true;
    }
    assert_true(slots > HASH_KEYS / 2); /* 396 on average */
}

UNIT_TEST(str)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(word_of),  cmocka_unit_test(numbers),
        cmocka_unit_test(doubles),  cmocka_unit_test(clips),
        cmocka_unit_test(cuts),     cmocka_unit_test(distances),
        cmocka_unit_test(searches), cmocka_unit_test(spreads_chosen_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
