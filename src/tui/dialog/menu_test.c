/* menu: every way to move and to choose, the visible part of long lists, all sizes and looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tui/dialog/menu.h"
#include "tui/dialog/panel_check.h"
#include "unit.h"

/* A panel around it, for panel_check.h. */
struct menu_panel {
    struct panel panel;
    struct menu *menu;
    enum menu_act last;
};

static void menu_panel_draw(struct panel *p, const struct view *v, struct lines *ret,
                            struct screen_cursor *ret_cursor)
{
    menu_draw(((struct menu_panel *)p)->menu, v, ret, ret_cursor);
}

static enum panel_state menu_panel_key(struct panel *p, const struct keypress *k)
{
    struct menu_panel *m = (struct menu_panel *)p;

    m->last = menu_key(m->menu, k);
    return m->last == MENU_CHOSEN ? PANEL_DONE : PANEL_OPEN;
}

static const struct panel_kind menu_panel_kind = {
    .name = "menu", .draw = menu_panel_draw, .key = menu_panel_key};

/* "-label": off; "*label": current; "label|detail". */
static void menu_begin(struct menu_panel *m, unsigned flags, const char *rows)
{
    struct str rest = str_of(rows);
    struct str row;

    *m = (struct menu_panel){.panel = {.kind = &menu_panel_kind}, .menu = menu_new(flags)};
    while (str_cut(&rest, '\n', &row)) {
        struct menu_row r = {.is_off = str_starts(row, STR("-")),
                             .is_current = str_starts(row, STR("*"))};

        row = str_from(row, r.is_off || r.is_current);
        r.label = str_first(row, str_chr(row, '|'));
        r.detail = str_from(row, r.label.len + 1);
        menu_add(m->menu, &r);
    }
}

static const struct {
    const char *name;
    unsigned flags;
    const char *rows;
    const char *keys;
    bool is_chosen;
    size_t at;
} key_rows[] = {
    {"enter", 0, "a\nb\nc", "enter", true, 0},
    {"down", 0, "a\nb\nc", "down enter", true, 1},
    {"no wrap at the end", 0, "a\nb\nc", "down down down down", false, 2},
    {"no wrap at the start", 0, "a\nb\nc", "up", false, 0},
    {"ctrl+n and ctrl+p", 0, "a\nb\nc", "ctrl+n ctrl+n ctrl+p", false, 1},
    {"home and end", 0, "a\nb\nc", "end enter", true, 2},
    {"home", 0, "a\nb\nc", "end home", false, 0},
    {"page down", 0, "a\nb\nc", "pagedown", false, 2},
    {"number", MENU_NUMBERS, "a\nb\nc", "2", true, 1},
    {"a number there is none of", MENU_NUMBERS, "a\nb\nc", "7", false, 0},
    {"numbers mean nothing without the flag", 0, "a\nb\nc", "2", false, 0},
    {"off rows are passed over", 0, "a\n-b\nc", "down", false, 2},
    {"an off row at the end", 0, "a\n-b", "down", false, 0},
    {"an off row at the start", 0, "-a\nb", "enter", true, 1},
    {"the number of an off row", MENU_NUMBERS, "a\n-b\nc", "2", false, 0},
    {"all off", MENU_NUMBERS, "-a\n-b", "down enter 1", false, 0},
    {"first letters", MENU_JUMP, "one\ntwo\nthree", "t", false, 1},
    {"the next with that letter", MENU_JUMP, "one\ntwo\nthree", "t t", false, 2},
    {"letters go round", MENU_JUMP, "one\ntwo\nthree", "t t t", false, 1},
    {"letters in any case", MENU_JUMP, "one\nTwo", "t", false, 1},
    {"filter", MENU_FILTER, "one\ntwo\nthree", "t h enter", true, 2},
    {"filter by words in any order", MENU_FILTER, "red ball\nblue ball", "b l u e enter", true, 1},
    {"filter finds details", MENU_FILTER, "one|eins\ntwo|zwei", "z w enter", true, 1},
    {"filter: two words", MENU_FILTER, "red ball\nblue ball\nblue cube", "c u space b l enter",
     true, 2},
    {"filter: letters, where no row has the word", MENU_FILTER, "fix the parser\nadd tests",
     "f t p enter", true, 0},
    {"filter: words win over letters", MENU_FILTER, "sweeten\nwe", "w e enter", true, 0},
    {"filter: nothing", MENU_FILTER, "one\ntwo", "x enter", false, MENU_NOWHERE},
    {"filter: backspace", MENU_FILTER, "one\ntwo", "x backspace down enter", true, 1},
    {"filter: escape clears it", MENU_FILTER, "one\ntwo", "x esc enter", true, 0},
    {"filter: ctrl+u clears it", MENU_FILTER, "one\ntwo", "t w ctrl+u enter", true, 0},
    {"filter: off rows", MENU_FILTER, "-tea\ntwo", "t enter", true, 1},
    {"checks: space", MENU_CHECKS | MENU_NUMBERS, "a\nb", "space down space", false, 1},
    {"checks: enter ends it", MENU_CHECKS | MENU_NUMBERS, "a\nb", "2 enter", true, 1},
    {"an empty menu", 0, "", "enter down", true, 0}, /* one row with an empty label */
};

static void keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(key_rows); i++) {
        struct menu_panel m;
        bool chosen;

        menu_begin(&m, key_rows[i].flags, key_rows[i].rows);
        chosen = panel_keys(&m.panel, key_rows[i].keys) == PANEL_DONE;
        if (chosen != key_rows[i].is_chosen || menu_at(m.menu) != key_rows[i].at)
            fail_msg("%s: %s at %zu", key_rows[i].name, chosen ? "chosen" : "open",
                     menu_at(m.menu));
        panel_fits(&m.panel);
        menu_free(m.menu);
    }
}

static void checks(void **state)
{
    struct menu_panel m;

    (void)state;
    menu_begin(&m, MENU_CHECKS | MENU_NUMBERS, "a\nb\nc");
    panel_keys(&m.panel, "1 3 1 1");
    assert_true(menu_is_checked(m.menu, 0));
    assert_false(menu_is_checked(m.menu, 1));
    assert_true(menu_is_checked(m.menu, 2));
    assert_false(menu_is_checked(m.menu, 9));
    panel_shows(&m.panel, 20, 9, LOOK_ASCII, "> 1. [x] a\n  2. [ ] b\n  3. [x] c\n");
    menu_free(m.menu);
}

static const struct {
    const char *name;
    unsigned flags;
    const char *rows;
    const char *keys;
    int cols, height;
    enum panel_look look;
    const char *shown;
} draw_rows[] = {
    {"numbers", MENU_NUMBERS, "Yes\nNo", "", 20, 9, LOOK_NORMAL, "❯ 1. Yes\n  2. No\n"},
    {"cursor", MENU_NUMBERS, "Yes\nNo", "down", 20, 9, LOOK_NORMAL, "  1. Yes\n❯ 2. No\n"},
    {"ascii", MENU_NUMBERS, "Yes\nNo", "", 20, 9, LOOK_ASCII, "> 1. Yes\n  2. No\n"},
    {"plain", MENU_NUMBERS, "*Yes\nNo\n-Maybe", "", 40, 9, LOOK_PLAIN,
     "1. Yes (current)\n2. No\n3. Maybe (not available)\n"},
    {"current", 0, "*a\nb", "", 20, 9, LOOK_NORMAL, "❯ a ✓\n  b\n"},
    {"details", 0, "one|the first\ntwo|the second", "", 40, 9, LOOK_NORMAL,
     "❯ one  the first\n  two  the second\n"},
    {"a detail is cut", 0, "one|the first of all of them\ntwo", "", 20, 9, LOOK_NORMAL,
     "❯ one  the first of…\n  two\n"},
    {"no room for a detail: below, at the cursor", 0, "a longer label|detail\nanother label|more",
     "", 20, 9, LOOK_NORMAL, "❯ a longer label\n  detail\n  another label\n"},
    {"a long label is cut, not at the cursor", 0,
     "abcdefghij klmnopqrst uvw\nabcdefghij klmnopqrst uvw", "", 20, 9, LOOK_NORMAL,
     "❯ abcdefghij\n  klmnopqrst uvw\n  abcdefghij klmnop…\n"},
    {"a long name keeps its end", 0, "short\nanthropic/claude-sonnet-5\n*anthropic/claude-opus-5",
     "", 20, 9, LOOK_NORMAL, "❯ short\n  anthropi…-sonnet-5\n  anthropi…-opus-5 ✓\n"},
    {"and has no words", 0, "anthropic/claude-sonnet-5", "", 20, 9, LOOK_NORMAL,
     "❯ anthropic/claude-s\n  onnet-5\n"},
    {"whole", MENU_WHOLE, "a\nabcdefghij klmnopqrst uvw|x y", "", 20, 9, LOOK_NORMAL,
     "❯ a\n  abcdefghij\n  klmnopqrst uvw\n  x y\n"},
    {"long lists: the beginning", 0, "1\n2\n3\n4\n5\n6\n7\n8", "", 20, 5, LOOK_NORMAL,
     "❯ 1\n  2\n  3\n  4\n  ↑ 0  ↓ 4\n"},
    {"long lists: the end", 0, "1\n2\n3\n4\n5\n6\n7\n8", "end", 20, 5, LOOK_ASCII,
     "  5\n  6\n  7\n> 8\n  4 above, 0 below\n"},
    {"one row of room", 0, "1\n2\n3", "down", 20, 1, LOOK_NORMAL, "❯ 2\n"},
    {"filter", MENU_FILTER, "one\ntwo", "t", 20, 9, LOOK_NORMAL, "⌕ t\n❯ two\n"},
    {"filter, plain", MENU_FILTER, "one\ntwo", "t", 20, 9, LOOK_PLAIN, "two\n"},
    {"filter without a match", MENU_FILTER, "one\ntwo", "x", 20, 9, LOOK_NORMAL,
     "⌕ x\n  nothing like that\n"},
    {"wide characters", 0, "日本語日本語日本語日本\n日本語日本語日本語日本語", "", 20, 9,
     LOOK_NORMAL, "❯ 日本語日本語日本語\n  日本\n  日本語日本語日本…\n"},
};

static void drawing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(draw_rows); i++) {
        CLEANUP(buf_release) struct buf shown = BUF_INIT(1 << 20);
        struct menu_panel m;

        menu_begin(&m, draw_rows[i].flags, draw_rows[i].rows);
        panel_keys(&m.panel, draw_rows[i].keys);
        panel_text(&m.panel, draw_rows[i].cols, draw_rows[i].height, draw_rows[i].look, &shown);
        if (!str_is(buf_str(&shown), draw_rows[i].shown))
            fail_msg("%s:\n%s-- and not\n%s", draw_rows[i].name, buf_cstr(&shown),
                     draw_rows[i].shown);
        menu_free(m.menu);
    }
}

/* --plain: the row under the cursor is printed separately. */
static void prompts(void **state)
{
    static const struct {
        unsigned flags;
        const char *rows, *keys, *shown;
    } cases[] = {
        {MENU_NUMBERS, "Yes\nNo", "", "Enter: Yes"},
        {MENU_NUMBERS, "Yes\nNo", "down", "Enter: No"},
        {MENU_NUMBERS, "-Yes\n-No", "", ""},
        {MENU_FILTER, "one\ntwo", "", "search: , Enter: one"},
        {MENU_FILTER, "one\ntwo", "t", "search: t, Enter: two"},
        {MENU_FILTER, "one\ntwo", "x", "search: x"},
        {0, "a very long label that is not whole", "", "Enter: a very long la..."},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(lines_release) struct lines ls = LINES_INIT;
        struct view v = panel_view(24, 5, LOOK_PLAIN);
        struct menu_panel m;

        menu_begin(&m, cases[i].flags, cases[i].rows);
        panel_keys(&m.panel, cases[i].keys);
        menu_prompt(m.menu, &v, &ls);
        assert_int_equal(lines_count(&ls), 1);
        if (!str_is(lines_at(&ls, 0).text, cases[i].shown))
            fail_msg("'%.*s', and not '%s'", STR_ARG(lines_at(&ls, 0).text), cases[i].shown);
        menu_free(m.menu);
    }
}

/* Matches of the filter are marked, wherever they are. */
static void found_letters(void **state)
{
    static const struct {
        const char *keys, *marked;
    } rows[] = {
        {"", ""}, {"b a", "BABA"}, {"b a space l", "BAlBA"}, {"l b", "lB"}, {"b space b", "BB"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(lines_release) struct lines ls = LINES_INIT;
        CLEANUP(buf_release) struct buf marked = BUF_INIT(100);
        struct view v = panel_view(40, 5, LOOK_ASCII);
        struct screen_cursor cursor = {0};
        struct menu_panel m;
        struct line l;

        menu_begin(&m, MENU_FILTER, "BAl BAr");
        panel_keys(&m.panel, rows[i].keys);
        menu_draw(m.menu, &v, &ls, &cursor);
        l = lines_at(&ls, 1);
        for (size_t s = 0; s < l.span_count; s++) {
            size_t end = s + 1 < l.span_count ? l.spans[s + 1].from : l.text.len;

            if (l.spans[s].style.role == ROLE_MATCH)
                buf_add(&marked,
                        str_first(str_from(l.text, l.spans[s].from), end - l.spans[s].from));
        }
        if (!str_is(buf_str(&marked), rows[i].marked))
            fail_msg("'%s': '%s', and not '%s'", rows[i].keys, buf_cstr(&marked), rows[i].marked);
        menu_free(m.menu);
    }
}

/* Ten thousand sessions: only visible ones are drawn. */
static void many(void **state)
{
    CLEANUP(buf_release) struct buf label = BUF_INIT(100);
    struct menu_panel m;

    (void)state;
    menu_begin(&m, MENU_FILTER, "first");
    for (size_t i = 1; i < 10000; i++) {
        buf_clear(&label);
        buf_addf(&label, "row %zu", i);
        menu_add(m.menu, &(struct menu_row){.label = buf_str(&label)});
    }
    panel_keys(&m.panel, "end");
    panel_shows(&m.panel, 80, 5, LOOK_NORMAL, "❯ row 9999\n  ↑ 9997  ↓ 0\n");
    panel_keys(&m.panel, "home pagedown");
    panel_shows(&m.panel, 80, 5, LOOK_NORMAL, "❯ row 21\n");
    panel_keys(&m.panel, "9 9 9 down");
    panel_shows(&m.panel, 80, 9, LOOK_NORMAL, "  row 999\n❯ row 1999\n");
    menu_free(m.menu);
}

UNIT_TEST(menu)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys),    cmocka_unit_test(checks),        cmocka_unit_test(drawing),
        cmocka_unit_test(prompts), cmocka_unit_test(found_letters), cmocka_unit_test(many),
    };

    clock_make_virtual(1000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
