/* What git reads in a text, and we do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "guard/git_config.h"
#include "unit.h"

static void add_line(void *arg, const struct git_setting *s)
{
    buf_addf(arg, "%.*s|%.*s|%.*s;", STR_ARG(s->section), STR_ARG(s->key), STR_ARG(s->value));
}

static const struct {
    const char *text, *expected;
} rows[] = {
    {"", ""},
    {"[core]\n\thooksPath = gh\n", "core|hookspath|gh;"},
    {"[core]hooksPath=gh", "core|hookspath|gh;"},
    {"[CORE]\nHOOKSPATH =  g h  # x\n", "core|hookspath|g h;"},
    {"[core]\nhooksPath = \" g\"h ; x\n", "core|hookspath| gh;"},
    {"[core]\nhooksPath = \"a#b;c\"\n", "core|hookspath|a#b;c;"},
    {"[core]\nhooksPath = g\\\nh\n", "core|hookspath|gh;"},
    {"[core]\r\nhooksPath = gh\r\nbare\r\n", "core|hookspath|gh;core|bare|true;"},
    {"[core]\nhooksPath = a\\\\b\\t\\\"c\n", "core|hookspath|a\\b\t\"c;"},
    {"\xef\xbb\xbf[core]\nbare\n", "core|bare|true;"},
    {"# [core]\n; x = y\n[core] ; c\n  a = 1\n", "core|a|1;"},
    {"[includeIf \"onbranch:X]y\"]\npath = \"../more\"\n",
     "includeif \"onbranch:X]y\"|path|../more;"},
    {"[include] path = a\n[core] b = 2\n", "include|path|a;core|b|2;"},
    {"[core]\n= x\n? y\nz =\n", "core|z|;"},
    {"[core", ""},
    {"[core]\nkey \\\nother = 1\n", "core|key|true;core|other|1;"},
};

static void settings(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(4096);

        git_config_each(str_of(rows[i].text), add_line, &got);
        if (!str_is(buf_str(&got), rows[i].expected))
            fail_msg("row %zu: %s", i, buf_cstr(&got));
    }
}

UNIT_TEST(git_config)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(settings)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
