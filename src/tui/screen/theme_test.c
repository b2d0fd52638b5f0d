/* theme: sequences from look to look, in every depth of color. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tui/screen/style.h"
#include "unit.h"

struct theme_case {
    const char *theme;
    enum color_depth depth;
    bool has_from;
    struct style from, to;
    const char *bytes;
};

#define NOTHING                                                                                    \
    {                                                                                              \
        0                                                                                          \
    }

static const struct theme_case theme_cases[] = {
    {"dark", COLORS_TRUE, false, NOTHING, {ROLE_TEXT}, "\033[m"},
    {"dark", COLORS_TRUE, true, {ROLE_TEXT}, {ROLE_TEXT}, ""},
    {"dark", COLORS_TRUE, true, {ROLE_TEXT}, {ROLE_BAD}, "\033[38;2;238;112;121m"},
    {"dark", COLORS_TRUE, true, {ROLE_BAD}, {ROLE_TEXT}, "\033[m"},
    {"dark", COLORS_TRUE, false, NOTHING, {ROLE_HEADING}, "\033[0;1;38;2;127;180;255m"},
    /* an attribute must go: from nothing */
    {"dark", COLORS_TRUE, true, {ROLE_HEADING}, {ROLE_NAME}, "\033[0;38;2;127;180;255m"},
    {"dark", COLORS_TRUE, true, {ROLE_NAME}, {ROLE_HEADING}, "\033[1m"},
    {"dark", COLORS_TRUE, true, {ROLE_BAD}, {ROLE_ADDED}, "\033[39;48;2;18;48;28m"},
    {"dark", COLORS_256, true, {ROLE_TEXT}, {ROLE_BAD}, "\033[38;5;204m"},
    {"dark", COLORS_256, true, {ROLE_TEXT}, {ROLE_FAINT}, "\033[38;5;246m"},
    {"dark", COLORS_16, true, {ROLE_TEXT}, {ROLE_BAD}, "\033[31m"},
    {"light", COLORS_16, true, {ROLE_TEXT}, {ROLE_BAD}, "\033[31m"},
    {"ansi", COLORS_TRUE, true, {ROLE_TEXT}, {ROLE_BAD}, "\033[31m"},
    {"dark", COLORS_NONE, true, {ROLE_TEXT}, {ROLE_GOOD}, ""},
    {"dark", COLORS_NONE, true, {ROLE_TEXT}, {ROLE_BAD}, "\033[1m"},
    {"dark", COLORS_TRUE, true, {ROLE_TEXT}, {ROLE_TEXT, STYLE_BOLD | STYLE_REVERSE}, "\033[1;7m"},
    /* colors that a text brought along */
    {"dark", COLORS_TRUE, true, {ROLE_TEXT}, {.fg = COLOR_INDEX | 9}, "\033[91m"},
    {"dark", COLORS_TRUE, true, {ROLE_TEXT}, {.fg = COLOR_INDEX | 200}, "\033[38;5;200m"},
    {"dark", COLORS_16, true, {ROLE_TEXT}, {.fg = COLOR_RGB | 0xfe0102}, "\033[91m"},
    {"dark", COLORS_16, true, {ROLE_TEXT}, {.bg = COLOR_INDEX | 21}, "\033[44m"},
    {"dark", COLORS_256, true, {ROLE_TEXT}, {.bg = COLOR_RGB | 0x808080}, "\033[48;5;244m"},
    {"dark", COLORS_NONE, true, {ROLE_TEXT}, {.fg = COLOR_RGB | 0xfe0102}, ""},
    /* backgrounds of diffs keep their color where there are few */
    {"dark", COLORS_256, true, {ROLE_TEXT}, {ROLE_ADDED}, "\033[48;5;22m"},
    {"dark", COLORS_256, true, {ROLE_TEXT}, {ROLE_ADDED_WORD}, "\033[48;5;28m"},
    {"dark", COLORS_256, true, {ROLE_TEXT}, {ROLE_REMOVED}, "\033[48;5;52m"},
    {"light", COLORS_256, true, {ROLE_TEXT}, {ROLE_REMOVED}, "\033[48;5;224m"},
    /* code in a line of a diff */
    {"dark",
     COLORS_TRUE,
     true,
     {ROLE_ADDED},
     {ROLE_KEYWORD, .bg = COLOR_ROLE | ROLE_ADDED},
     "\033[38;2;199;146;234m"},
    {"dark",
     COLORS_16,
     true,
     {ROLE_TEXT},
     {ROLE_KEYWORD, .bg = COLOR_ROLE | ROLE_ADDED},
     "\033[32m"},
    {"dark", COLORS_NONE, true, {ROLE_TEXT}, {ROLE_BAD, .bg = COLOR_ROLE | ROLE_ADDED}, ""},
    {"dark", COLORS_TRUE, true, {ROLE_TEXT}, {ROLE_TEXT, .bg = COLOR_ROLE | 200}, ""},
    /* no such role */
    {"dark", COLORS_TRUE, true, {ROLE_TEXT}, {.role = 200}, ""},
};

static void sequences(void **state)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(1000);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(theme_cases); i++) {
        const struct theme_case *c = &theme_cases[i];
        const struct theme *t = theme_find(str_of(c->theme));

        assert_non_null(t);
        buf_clear(&out);
        theme_write(t, c->depth, c->has_from ? &c->from : NULL, c->to, &out);
        if (!str_is(buf_str(&out), c->bytes))
            fail_msg("row %zu: ESC %s", i, out.len ? out.ptr + 1 : "");
    }
}

/* In each theme added text looks different from removed text, and good from bad. */
static void told_apart(void **state)
{
    static const enum style_role pairs[][2] = {
        {ROLE_ADDED, ROLE_REMOVED},
        {ROLE_GOOD, ROLE_BAD},
        {ROLE_ADDED, ROLE_ADDED_WORD},
        {ROLE_TEXT, ROLE_SELECTED},
        {ROLE_TEXT, ROLE_FAINT},
        {ROLE_REMOVED, ROLE_REMOVED_WORD},
        {ROLE_MODE_PLAN, ROLE_MODE_BYPASS},
    };
    CLEANUP(buf_release) struct buf out = BUF_INIT(1000);

    (void)state;
    for (size_t t = 0; t < theme_count(); t++) {
        for (int depth = COLORS_16; depth <= COLORS_TRUE; depth++) {
            for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
                struct style from = STYLE(pairs[i][0]);

                buf_clear(&out);
                theme_write(theme_find(str_of(theme_name(t))), (enum color_depth)depth, &from,
                            STYLE(pairs[i][1]), &out);
                if (!out.len)
                    fail_msg("theme %s, depth %d, pair %zu", theme_name(t), depth, i);
            }
        }
    }
    assert_null(theme_find(STR("no such")));
}

UNIT_TEST(theme)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences),
        cmocka_unit_test(told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
