/* width: graphemes of every kind, forwards, backwards and cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tui/screen/width.h"
#include "unit.h"

/* parts: each grapheme's bytes and cells, as digits "31" for three bytes in one cell. */
struct width_case {
    const char *text;
    const char *parts;
    bool sure; /* of all of them */
};

#define FAMILY "\U0001F468\u200d\U0001F469\u200d\U0001F467"

static const struct width_case width_cases[] = {
    {"", "", true},
    {"a", "11", true},
    {"abc", "111111", true},
    {"\u00e9", "21", true},
    {"e\u0301", "31", true}, /* a combining accent */
    {"ae\u0301b",
     "11"
     "31"
     "11",
     true},
    {"\u4e2d\u6587",
     "32"
     "32",
     true}, /* wide */
    {"a\u4e2d",
     "11"
     "32",
     true},
    {"\uff21", "32", true},              /* full width */
    {"\uff71", "31", true},              /* half width */
    {"\uac00", "32", true},              /* Hangul, composed */
    {"\u1100\u1161\u11a8", "92", false}, /* and of three parts */
    {"\U0001F600", "42", false},
    {"\U0001F44D\U0001F3FD", "82", false}, /* with a skin tone */
    {"\u2764", "31", true},
    {"\u2764\ufe0f", "62", false},         /* VS16 */
    {" \ufe0f", "41", false},              /* no picture */
    {"\u2764\ufe0e", "61", true},          /* VS15 */
    {"1\ufe0f\u20e3", "72", false},        /* keycap */
    {"\U0001F1E9\U0001F1EA", "82", false}, /* a flag */
    {"\U0001F1E9\U0001F1EA\U0001F1EB\U0001F1F7",
     "82"
     "82",
     false},
    {"\U0001F1E9x",
     "41"
     "11",
     false},                       /* half a flag */
    {"\u0915\u093e", "61", false}, /* a vowel sign that takes room on some */
    {"\u200b", "30", false},       /* zero width space */
    {"\u0301", "20", false},       /* a mark with nothing below */
    {"\t", "10", false},
    {"\x1b[",
     "10"
     "11",
     false},
    {"\xff", "11", true},
    {"a\xc3",
     "11"
     "11",
     true}, /* cut */
    {"\xe4\xb8",
     "11"
     "11",
     true},
    {"\xed\xa0\x80",
     "11"
     "11"
     "11",
     true}, /* a surrogate */
    {"\xffz",
     "11"
     "11",
     true},
    {"\u2500\u256d\u2588\u2026",
     "31"
     "31"
     "31"
     "31",
     true},
    {"\U0001FAE9", "42", false},  /* newer than the tables */
    {"\ue0b0", "31", false},      /* private: a prompt's arrow */
    {"x\U000E0067", "51", false}, /* a tag is a mark */
};

static void graphemes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(width_cases); i++) {
        const struct width_case *c = &width_cases[i];
        struct str s = str_of(c->text);
        size_t at = 0;
        int sum = 0;
        bool sure = true;
        char parts[64] = "";

        while (at < s.len) {
            int cells = -1;
            int back = -1;
            size_t n = width_next(str_from(s, at), &cells);

            snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts), "%zu%d", n, cells);
            sure = sure && width_is_sure(str_make(s.ptr + at, n));
            at += n;
            sum += cells;
            if (width_prev(s, at, &back) != n || back != cells)
                fail_msg("row %zu: backwards at %zu: %zu, %d", i, at, width_prev(s, at, &back),
                         back);
        }
        if (strcmp(parts, c->parts) || sure != c->sure)
            fail_msg("row %zu: %s, not %s; sure %d", i, parts, c->parts, sure);
        if (width_of(s) != sum)
            fail_msg("row %zu: %d, not %d", i, width_of(s), sum);
    }
}

static void the_long_one_is_one(void **state)
{
    int cells;

    (void)state;
    assert_int_equal(width_next(STR(FAMILY "!"), &cells), sizeof(FAMILY) - 1);
    assert_int_equal(cells, 2);
    assert_int_equal(width_prev(STR("a" FAMILY), sizeof(FAMILY), &cells), sizeof(FAMILY) - 1);
    assert_int_equal(width_of(STR("a" FAMILY FAMILY "b")), 6);
}

struct first_case {
    const char *text;
    int cells;
    const char *first;
};

static const struct first_case first_cases[] = {
    {"hello", 3, "hel"},
    {"hello", 9, "hello"},
    {"hello", 0, ""},
    {"\u4e2d\u6587", 3, "\u4e2d"},
    {"\u4e2d\u6587", 1, ""},
    {"e\u0301e\u0301", 1, "e\u0301"},
    {"a" FAMILY "b", 2, "a"},
    {"a" FAMILY "b", 3, "a" FAMILY},
    {"ab\u0301", 2, "ab\u0301"}, /* a mark belongs to the character before it */
};

static void first_cells(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(first_cases); i++) {
        const struct first_case *c = &first_cases[i];
        struct str got = width_first(str_of(c->text), c->cells);

        if (!str_is(got, c->first))
            fail_msg("row %zu: '%.*s'", i, STR_ARG(got));
    }
}

static const struct first_case parts_cases[] = {
    {"one, two, three", 15, "one, two, three"},
    {"one, two, three", 14, "one, two"},
    {"one, two, three", 8, "one, two"},
    {"one, two, three", 7, "one"},
    {"one, two, three", 2, "on"},
    {"", 3, ""},
};

static void first_parts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(parts_cases); i++) {
        const struct first_case *c = &parts_cases[i];
        struct str got = width_first_parts(str_of(c->text), c->cells);

        if (!str_is(got, c->first))
            fail_msg("row %zu: '%.*s'", i, STR_ARG(got));
    }
}

/* Forwards and backwards agree on anything, and the sum is the sum. */
static void any_bytes(void **state)
{
    static const char *const pieces[] = {"a",      "\u0301",     "\u4e2d", "\U0001F1E9", "\u200d",
                                         "\ufe0f", "\U0001F468", "\xff",   " ",          "\u1100",
                                         "\u1161", "\u0600",     "\r\n",   "\u0915",     "\u094d"};
    uint32_t seed = 7;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[64];
        size_t len = 0;
        size_t ends[64];
        int wide[64];
        size_t count = 0;
        struct str s;
        int sum = 0;

        for (int i = 0; i < 12; i++) {
            const char *p;

            seed = seed * 1664525u + 1013904223u;
            p = pieces[(seed >> 16) % ARRAY_LEN(pieces)];
            memcpy(text + len, p, strlen(p));
            len += strlen(p);
        }
        s = str_make(text, len);
        for (size_t at = 0; at < len; count++) {
            at += width_next(str_from(s, at), &wide[count]);
            ends[count] = at;
            sum += wide[count];
        }
        assert_int_equal(width_of(s), sum);
        for (size_t at = len; at;) {
            int cells;
            size_t n;

            count--;
            assert_int_equal(ends[count], at);
            n = width_prev(s, at, &cells);
            if (n != at - (count ? ends[count - 1] : 0) || cells != wide[count])
                fail_msg("round %d: at %zu of '%.*s'", round, at, STR_ARG(s));
            at -= n;
        }
    }
}

UNIT_TEST(width)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphemes),   cmocka_unit_test(the_long_one_is_one),
        cmocka_unit_test(first_cells), cmocka_unit_test(first_parts),
        cmocka_unit_test(any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
