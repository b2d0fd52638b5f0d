/*
 * Which texts are commands, and what stands behind them. What commands do is shown by whole-program
 * cases (tests/data/goal-*).
 */
#include "slash/slash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *text;
    const char *name; /* NULL: no command */
    const char *args;
} find_cases[] = {
    {"/goal", "goal", ""},
    {"  /goal \n", "goal", ""},
    {"/goal all tests pass", "goal", "all tests pass"},
    {"/goal\tclear", "goal", "clear"},
    {"/goal\nfirst line\nsecond line\n", "goal", "first line\nsecond line"},
    {"/goal   -- status", "goal", "-- status"},
    {"/goals", NULL, NULL},
    {"/goal-x", NULL, NULL},
    {"/goal/x", NULL, NULL},
    {"/Goal", NULL, NULL},
    {"goal", NULL, NULL},
    {"say /goal", NULL, NULL},
    {"/", NULL, NULL},
    {"", NULL, NULL},
    {"/compact", NULL, NULL}, /* the agent's own */
};

static void test_find(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(find_cases); i++) {
        struct str args = STR("untouched");
        const struct slash_command *c = slash_find(str_of(find_cases[i].text), &args);

        if (!c != !find_cases[i].name || (c && strcmp(c->name, find_cases[i].name) != 0) ||
            !str_is(args, c ? find_cases[i].args : "untouched"))
            fail_msg("row %zu: '%s': %s, '%.*s'", i, find_cases[i].text, c ? c->name : "none",
                     STR_ARG(args));
    }
}

/* Lists, menus and help are printed from the rows. */
static void test_rows(void **state)
{
    (void)state;
    assert_true(slash_count() > 0);
    for (size_t i = 0; i < slash_count(); i++) {
        const struct slash_command *c = slash_at(i);

        assert_true(c->name && *c->name && c->run);
        assert_true(c->hint && *c->hint);
        assert_true(c->summary && *c->summary && c->summary[strlen(c->summary) - 1] != '.');
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(c->name, slash_at(j)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
