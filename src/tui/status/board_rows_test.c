/*
 * board_rows: items in every state at several widths, more of them than are shown, none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tui/screen/width.h"
#include "tui/status/board_rows.h"
#include "unit.h"

/* Items 1 to 4, the last one blocked by the second and the third; then `more` free ones. */
static void fill(struct board *b, int64_t more)
{
    static const struct work_item first[] = {
        {.id = 1, .subject = STR_INIT("Read the parser"), .status = ITEM_COMPLETED},
        {.id = 2,
         .subject = STR_INIT("Write the tests of the whole parser, and of the printer"),
         .owner = STR_INIT("alice"),
         .status = ITEM_IN_PROGRESS},
        {.id = 3,
         .subject = STR_INIT("Fix it\nin two lines"),
         .owner = STR_INIT("bob"),
         .status = ITEM_IN_PROGRESS},
        {.id = 4, .subject = STR_INIT("Publish")},
    };

    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        vec_push(&b->items, first[i]);
    vec_push(&b->items.ptr[3].blocked_by, 2);
    vec_push(&b->items.ptr[3].blocked_by, 3);
    for (int64_t i = 0; i < more; i++) {
        struct work_item item = {.id = 5 + i, .subject = STR("Another one")};

        vec_push(&b->items, item);
    }
}

static bool is_bob(void *arg, struct str owner)
{
    (void)arg;
    return str_is(owner, "bob");
}

static const struct board_case {
    int cols, rows;
    bool ascii;
    int64_t more; /* -1: the board is empty */
    const char *shown;
} board_cases[] = {
    {80, 10, false, 0,
     "  ✔ #1 Read the parser\n"
     "  ◼ #2 Write the tests of the whole parser, and of the printer  alice\n"
     "  ◼ #3 Fix it  bob (gone)\n"
     "  ◻ #4 Publish  › blocked by #2, #3\n"},
    {40, 10, true, 4,
     "  x #1 Read the parser\n"
     "  * #2 Write the tests of the ...  alice\n"
     "  * #3 Fix it  bob (gone)\n"
     "  o #4 Publish  > blocked by #2, #3\n"
     "  o #5 Another one\n"
     "  o #6 Another one\n"
     "  ... 2 more open\n"},
    {20, 10, false, 0,
     "  ✔ #1 Read the par…\n"
     "  ◼ #2 Write the te…\n"
     "  ◼ #3 Fix it  bob …\n"
     "  ◻ #4 Publish  › b…\n"},
    {80, 3, false, 0,
     "  ◼ #2 Write the tests of the whole parser, and of the printer  alice\n"
     "  ◼ #3 Fix it  bob (gone)\n"
     "  … 1 more open, 1 more done\n"},
    {80, 10, false, -1, "  The task list is empty\n"},
    {80, 0, false, 0, ""},
};

static void rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(board_cases); i++) {
        const struct board_case *c = &board_cases[i];
        CLEANUP(board_release) struct board b = BOARD_INIT;
        CLEANUP(lines_release) struct lines ls = LINES_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        struct view v = {.cols = c->cols, .rows = c->rows, .ascii = c->ascii};

        if (c->more >= 0)
            fill(&b, c->more);
        board_rows_draw(&b, is_bob, NULL, &v, &ls);
        for (size_t k = 0; k < lines_count(&ls); k++) {
            buf_add(&text, lines_at(&ls, k).text);
            buf_addc(&text, '\n');
        }
        if (!str_is(buf_str(&text), c->shown))
            fail_msg("row %zu:\n%sinstead of\n%s", i, buf_cstr(&text), c->shown);
    }
}

/* A thousand items take as many rows as a few, and every row fits at every width. */
static void many(void **state)
{
    CLEANUP(board_release) struct board b = BOARD_INIT;

    (void)state;
    fill(&b, 996);
    for (int cols = 1; cols < 130; cols++) {
        CLEANUP(lines_release) struct lines ls = LINES_INIT;
        struct view v = {.cols = cols, .rows = 20};

        board_rows_draw(&b, is_bob, NULL, &v, &ls);
        assert_int_equal(lines_count(&ls), 1 + BOARD_ROWS_OPEN + 1);
        for (size_t k = 0; k < lines_count(&ls); k++)
            assert_true(line_width(lines_at(&ls, k)) <= cols);
    }
}

UNIT_TEST(board_rows)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
