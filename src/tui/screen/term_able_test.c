/* term_able: what the environment tells about a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tui/screen/term_able.h"
#include "unit.h"

struct able_case {
    const char *env[5];
    bool plain;
    const char *able; /* depth, then letters: Plain Sync Links Clipboard Reflows (and
                       * keeps) Blank Unicode Asks */
};

static const struct able_case able_cases[] = {
    {{"TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8"}, false, "3 LCRUA"},
    {{"TERM=xterm-256color", "LANG=C.UTF-8"}, false, "2 LCRUA"},
    {{"TERM=xterm-256color", "NO_COLOR=1"}, false, "0 LCRUA"},
    {{"TERM=xterm-256color", "NO_COLOR="}, false, "2 LCRUA"}, /* empty: not set */
    {{"TERM=xterm-256color"}, true, "0 PU"},
    {{"TERM=dumb"}, false, "0 PU"},
    {{"LANG=de_DE.UTF-8"}, false, "0 PU"}, /* no TERM at all */
    {{"TERM=linux", "LANG=C"}, false, "1 "},
    {{"TERM=vt100"}, false, "0 U"},
    {{"TERM=xterm-kitty"}, false, "3 SLCRUA"},
    {{"TERM=tmux-256color", "TMUX=/tmp/x", "KITTY_WINDOW_ID=1"}, false, "2 CRBUA"},
    {{"TERM=screen-256color", "STY=1"}, false, "2 U"},
    {{"TERM=xterm-256color", "VTE_VERSION=7000"}, false, "3 LRUA"},
    {{"TERM=xterm", "XTERM_VERSION=XTerm(370)"}, false, "1 LCUA"}, /* cuts, does not break */
    {{"TERM=xterm", "LC_ALL=C", "LANG=C.UTF-8"}, false, "1 LCRA"},
    {{"TERM=xterm", "LC_ALL=", "LC_CTYPE=en_US.utf8"}, false, "1 LCRUA"},
    {{"TERM=xterm", "LANG=de_DE.ISO-8859-1"}, false, "1 LCRA"},
};

static void told_by_the_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(able_cases); i++) {
        struct term_guess g;
        char got[32];

        term_guess((char *const *)able_cases[i].env, able_cases[i].plain, &g);
        snprintf(got, sizeof(got), "%d %s%s%s%s%s%s%s%s", g.able.colors, g.able.is_plain ? "P" : "",
                 g.able.sync ? "S" : "", g.able.links ? "L" : "", g.able.clipboard ? "C" : "",
                 g.able.reflows ? "R" : "", g.able.keeps_blank ? "B" : "",
                 g.able.unicode ? "U" : "", g.asks ? "A" : "");
        if (strcmp(got, able_cases[i].able) != 0)
            fail_msg("row %zu: %s", i, got);
    }
}

struct background_case {
    const char *text;
    int light; /* -1: no color */
};

static const struct background_case background_cases[] = {
    {"rgb:ffff/ffff/ffff", 1}, {"rgb:0000/0000/0000", 0}, {"rgb:1e/1e/2e", 0}, {"rgb:f/f/f", 1},
    {"rgba:ff/ff/ff/ff", 1},   {"rgb:ffff/ffff", -1},     {"rgb:", -1},        {"", -1},
    {"rgb:fffff/ff/ff", -1},   {"rgb:gg/ff/ff", -1},
};

static void backgrounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(background_cases); i++) {
        bool light = false;
        bool known = term_parse_background(str_of(background_cases[i].text), &light);

        if ((known ? light : -1) != background_cases[i].light)
            fail_msg("row %zu: %d %d", i, known, light);
    }
}

UNIT_TEST(term_able)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_by_the_environment),
        cmocka_unit_test(backgrounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
