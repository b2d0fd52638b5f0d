/*
 * Braces of the shell: what a word becomes, and where it ends when that is too much.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/strv.h"
#include "shell/shell_brace.h"
#include "unit.h"

static const struct {
    const char *word;
    const char *becomes; /* with blanks between; NULL: more than 9 */
} rows[] = {
    {"", ""},
    {"a", "a"},
    {"a{b,c}d", "abd acd"},
    {"r{m,}", "rm r"},
    {"{a,b}{c,d}", "ac ad bc bd"},
    {"{a{b,c},d}e", "abe ace de"},
    {"{a}", "{a}"},
    {"{}", "{}"},
    {"a{b", "a{b"},
    {"{a{b,c}", "{ab {ac"},
    {"a}b{c,d}", "a}bc a}bd"},
    {"{a}{b,c}", "{a}b {a}c"},
    {"{1..3}", "1 2 3"},
    {"x{c..a}", "xc xb xa"},
    {"{-1..1}", "-1 0 1"},
    {"{1..a}", "{1..a}"},
    {"{1..9999999}", NULL},
    {"{a,b}{a,b}{a,b}{a,b}", NULL},
};

static void becomes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(strv_release) struct strv words = STRV_INIT;
        CLEANUP(buf_release) struct buf all = BUF_INIT(1000);
        bool whole = shell_braces(str_of(rows[i].word), 9, &words);

        for (size_t k = 0; k < words.len; k++)
            buf_addf(&all, "%s%s", k ? " " : "", words.ptr[k]);
        if (whole != (rows[i].becomes != NULL) ||
            (whole && strcmp(buf_cstr(&all), rows[i].becomes) != 0))
            fail_msg("%s: '%s'", rows[i].word, buf_cstr(&all));
    }
}

/* Thousands of pairs end as well. */
static void deep(void **state)
{
    CLEANUP(buf_release) struct buf word = BUF_INIT(100000);
    CLEANUP(strv_release) struct strv words = STRV_INIT;

    (void)state;
    for (int i = 0; i < 4000; i++)
        buf_addc(&word, '{');
    for (int i = 0; i < 4000; i++)
        buf_adds(&word, ",}");
    assert_false(shell_braces(buf_str(&word), 64, &words));
}

UNIT_TEST(shell_brace)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(becomes),
        cmocka_unit_test(deep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
