/*
 * agent_rows: the rows of agents at every width, more of them than fit, their figures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tui/screen/width.h"
#include "tui/status/agent_rows.h"
#include "unit.h"

static const struct agent_row three[] = {
    {.name = STR_INIT("main"), .elapsed_ms = -1, .is_shown = true, .is_running = true},
    {.name = STR_INIT("Explore"),
     .what = STR_INIT("Research hooks"),
     .doing = STR_INIT("Read(src/hooks/registry.c)"),
     .elapsed_ms = 23000,
     .tokens = 10900,
     .is_running = true},
    {.name = STR_INIT("@lint"),
     .what = STR_INIT("general-purpose\nsecond line"),
     .state = STR_INIT("asks"),
     .role = ROLE_WARNING,
     .color = "blue",
     .elapsed_ms = -1,
     .is_running = true},
};

static const struct rows_case {
    int cols, rows;
    bool ascii;
    size_t focus;
    const char *shown;
} rows_cases[] = {
    {100, 8, false, AGENT_ROWS_NONE,
     "  ● main\n"
     "  ○ Explore  Research hooks   23s · ↓ 10.9k tokens  Read(src/hooks/registry.c)\n"
     "  ○ @lint    general-purpose  asks\n"},
    {60, 8, false, 1,
     "  ● main\n"
     "❯ ○ Explore  Research hooks   23s · ↓ 10.9k tokens  Read(sr…\n"
     "  ○ @lint    general-purpose  asks\n"},
    {40, 8, false, 2,
     "  ● main\n"
     "  ○ Explore  Research hooks  23s · 10.9k\n"
     "❯ ○ @lint    general-purpo…  asks\n"},
    {20, 8, false, AGENT_ROWS_NONE,
     "  ● main\n"
     "  ○ Explore  23s\n"
     "  ○ @lint    asks\n"},
    {12, 8, false, AGENT_ROWS_NONE,
     "  ● main\n"
     "  ○ E…  23s\n"
     "  ○ @…  asks\n"},
    {60, 8, true, 0,
     "> * main\n"
     "  o Explore  Research hooks   23s, 10.9k tokens  Read(src...\n"
     "  o @lint    general-purpose  asks\n"},
    {40, 2, false, AGENT_ROWS_NONE,
     "  ● main\n"
     "  … 2 more\n"},
    {40, 2, false, 2,
     "❯ ○ @lint  general-purpose  asks\n"
     "  … 2 more\n"},
    {40, 0, false, AGENT_ROWS_NONE, ""},
};

static void rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows_cases); i++) {
        const struct rows_case *c = &rows_cases[i];
        struct view v = {.cols = c->cols, .rows = c->rows, .ascii = c->ascii};
        CLEANUP(lines_release) struct lines ls = LINES_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

        agent_rows_draw(three, ARRAY_LEN(three), c->focus, &v, &ls);
        for (size_t k = 0; k < lines_count(&ls); k++) {
            buf_add(&text, lines_at(&ls, k).text);
            buf_addc(&text, '\n');
        }
        if (!str_is(buf_str(&text), c->shown))
            fail_msg("row %zu:\n%sinstead of\n%s", i, buf_cstr(&text), c->shown);
    }
}

/* A thousand take as many rows as a few, and every row fits at every width. */
static void many(void **state)
{
    struct agent_row *all = mem_zalloc(1000 * sizeof(*all));

    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        all[i] = three[i % ARRAY_LEN(three)];
        all[i].name = i == 999 ? STR("the-last-one") : all[i].name;
    }
    for (int cols = 1; cols < 130; cols++) {
        CLEANUP(lines_release) struct lines ls = LINES_INIT;
        struct view v = {.cols = cols, .rows = 20};

        agent_rows_draw(all, 1000, 999, &v, &ls);
        assert_int_equal(lines_count(&ls), AGENT_ROWS_MAX + 1);
        for (size_t k = 0; k < lines_count(&ls); k++)
            assert_true(line_width(lines_at(&ls, k)) <= cols);
        if (cols > 30)
            assert_true(str_has(lines_at(&ls, AGENT_ROWS_MAX - 1).text, STR("the-last-one")));
    }
    mem_freep(&all);
}

static void figures(void **state)
{
    static const struct {
        int64_t ms, n;
        const char *elapsed, *count;
    } cases[] = {
        {-5, 0, "0s", "0"},
        {59999, 999, "59s", "999"},
        {60000, 1000, "1m 0s", "1.0k"},
        {3599000, 999949, "59m 59s", "999.9k"},
        {7500000, 999950, "2h 5m", "1.0M"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(100);

        agent_rows_elapsed(cases[i].ms, &text);
        assert_string_equal(buf_cstr(&text), cases[i].elapsed);
        buf_clear(&text);
        agent_rows_count(cases[i].n, &text);
        assert_string_equal(buf_cstr(&text), cases[i].count);
    }
    assert_int_equal(agent_rows_color("blue"), COLOR_INDEX | 4);
    assert_int_equal(agent_rows_color(""), 0);
    assert_int_equal(agent_rows_color(NULL), 0);
}

UNIT_TEST(agent_rows)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(many),
        cmocka_unit_test(figures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
