/* search_text: where words are found, in either case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tui/editor/search_text.h"
#include "unit.h"

static const struct row {
    const char *text, *query;
    size_t at, len; /* len 0: it is not there */
} rows[] = {
    {"One Two", "two", 4, 3},
    {"One Two", "Two", 4, 3},
    {"One two", "Two", 0, 0},
    {"das Ünï da", "ünï", 4, 5},
    {"das ünï da", "Ünï", 0, 0},
    {"ÉTÉ", "été", 0, 5},
    {"ВОЙНА и мир", "война", 0, 10},
    {"xx \xe1\xba\x9e yy", "ß y", 3, 5}, /* the capital has another length */
    {"a\xff\xc3\x9c", "ü", 2, 2},
    {"a\xff\xc3\x9c", "\xfe", 0, 0},
    {"\xc3", "ü", 0, 0},
    {"", "ü", 0, 0},
};

static void finds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str text = str_of(rows[i].text);
        size_t len;
        size_t at = search_text_find(text, str_of(rows[i].query), &len);

        if (rows[i].len ? at != rows[i].at || len != rows[i].len : at != text.len)
            fail_msg("row %zu: '%s' at %zu, %zu bytes", i, rows[i].query, at, len);
    }
}

UNIT_TEST(search_text)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
