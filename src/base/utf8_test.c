/* utf8: every code point there and back, and the ways to be invalid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "unit.h"

static void every_code_point(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char out[4];
        size_t n = utf8_encode(code, out);
        uint32_t back = 0xFFFFFFFF;
        size_t m = utf8_decode(str_make(out, n), &back);
        int surrogate = code >= 0xD800 && code <= 0xDFFF;

        if (m != (surrogate ? 0 : n) || (!surrogate && back != code))
            fail_msg("U+%04X", code);
        if (n > 1 && utf8_decode(str_make(out, n - 1), &back))
            fail_msg("U+%04X cut short", code);
    }
}

struct valid_case {
    const char *text;
    size_t valid;
};

static const struct valid_case valid_cases[] = {
    {"plain ascii text, longer than a word", 36},
    {"12345678\xc3\xa9", 10},
    {"ab\x80", 2},
    {"ab\xc0\xaf", 2},         /* overlong */
    {"ab\xe0\x80\x80", 2},     /* overlong */
    {"ab\xed\xa0\x80", 2},     /* surrogate */
    {"ab\xf4\x90\x80\x80", 2}, /* past the last */
    {"ab\xf8\x88\x80\x80\x80", 2},
    {"ab\xc3", 2},
    {"", 0},
};

static void valid_prefixes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(valid_cases); i++) {
        struct str s = str_of(valid_cases[i].text);

        if (utf8_valid_len(s) != valid_cases[i].valid)
            fail_msg("row %zu: %zu", i, utf8_valid_len(s));
        assert_int_equal(utf8_is_valid(s), s.len == valid_cases[i].valid);
    }
}

UNIT_TEST(utf8)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(valid_prefixes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
