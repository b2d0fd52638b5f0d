/* The dialogs that choose: lists, search with a preview, the slider, rewind, confirm, edit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tui/dialog/dialogs.h"
#include "tui/dialog/panel_check.h"
#include "unit.h"

#define LEVELS 6

/* "-": off, "*": the one in force. */
static struct panel *open_pick(enum pick_look look, const char *const *labels, size_t at)
{
    struct choice choices[16] = {0};
    struct pick pick = {
        .look = look,
        .title = STR("Effort"),
        .note = STR("How hard to think"),
        .low = STR("Faster"),
        .high = STR("Smarter"),
        .choices = choices,
        .at = at,
    };

    for (; labels[pick.count]; pick.count++) {
        const char *label = labels[pick.count];
        struct choice *c = &choices[pick.count];

        c->is_off = *label == '-';
        c->is_current = *label == '*';
        label += c->is_off || c->is_current;
        c->label = str_of(label);
        c->detail = strcmp(label, "high") == 0 ? STR("for hard things") : STR("");
        if (look == PICK_SEARCH) {
            c->detail = STR("2 days ago");
            c->preview = *label == 't' ? STR("You: say two\nIt: two") : STR("You: something else");
        }
    }
    return dialog_pick_new(&pick);
}

static const char *const levels[] = {"low", "medium", "*high", "xhigh", "max", "ultracode", NULL};
static const char *const some_off[] = {"low", "-medium", "*high", "-max", NULL};
static const char *const all_off[] = {"-low", "-*medium", "-high", NULL};
static const char *const words[] = {"one", "*two", "three", "-four", NULL};

static const struct {
    const char *name;
    enum pick_look look;
    const char *const *labels;
    size_t at;
    const char *keys;
    enum panel_state state;
    size_t chosen;
} pick_rows[] = {
    {"slider: enter", PICK_SLIDER, levels, 2, "enter", PANEL_DONE, 2},
    {"slider: right", PICK_SLIDER, levels, 2, "right enter", PANEL_DONE, 3},
    {"slider: left", PICK_SLIDER, levels, 2, "left enter", PANEL_DONE, 1},
    {"slider: h and l", PICK_SLIDER, levels, 2, "h h l enter", PANEL_DONE, 1},
    {"slider: pressed fast", PICK_SLIDER, levels, 2, "llh enter", PANEL_DONE, 3},
    {"slider: home", PICK_SLIDER, levels, 2, "home enter", PANEL_DONE, 0},
    {"slider: end", PICK_SLIDER, levels, 2, "end enter", PANEL_DONE, 5},
    {"slider: no wrap at the right", PICK_SLIDER, levels, 5, "right right enter", PANEL_DONE, 5},
    {"slider: no wrap at the left", PICK_SLIDER, levels, 0, "left enter", PANEL_DONE, 0},
    {"slider: esc", PICK_SLIDER, levels, 2, "right esc", PANEL_LEFT, 3},
    {"slider: q", PICK_SLIDER, levels, 2, "right q", PANEL_LEFT, 3},
    {"slider: ctrl+c", PICK_SLIDER, levels, 2, "ctrl+c", PANEL_LEFT, 2},
    {"slider: what is off is passed over", PICK_SLIDER, some_off, 0, "right enter", PANEL_DONE, 2},
    {"slider: nor at the end", PICK_SLIDER, some_off, 2, "end enter", PANEL_DONE, 2},
    {"slider: nothing to choose", PICK_SLIDER, all_off, 1, "right enter home", PANEL_OPEN, 1},
    {"slider: nothing to choose, esc", PICK_SLIDER, all_off, 1, "esc", PANEL_LEFT, 1},
    {"list: where it begins", PICK_LIST, words, 1, "enter", PANEL_DONE, 1},
    {"list: number", PICK_LIST, words, 1, "3", PANEL_DONE, 2},
    {"list: letter and enter", PICK_LIST, words, 0, "t enter", PANEL_DONE, 1},
    {"list: pressed fast", PICK_LIST, words, 0, "xx3", PANEL_DONE, 2},
    {"search: pressed fast", PICK_SEARCH, words, 0, "thr enter", PANEL_DONE, 2},
    {"list: off", PICK_LIST, words, 0, "4", PANEL_OPEN, 0},
    {"list: esc", PICK_LIST, words, 0, "esc", PANEL_LEFT, 0},
    {"search", PICK_SEARCH, words, 0, "t h enter", PANEL_DONE, 2},
    {"search: digits are typed", PICK_SEARCH, words, 0, "3 enter", PANEL_OPEN, 0},
    {"search: esc clears, esc leaves", PICK_SEARCH, words, 0, "x esc esc", PANEL_LEFT, 0},
    {"search: q is typed", PICK_SEARCH, words, 0, "q", PANEL_OPEN, 0},
};

static void picks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pick_rows); i++) {
        struct panel *p = open_pick(pick_rows[i].look, pick_rows[i].labels, pick_rows[i].at);
        enum panel_state got;

        panel_fits(p);
        got = panel_keys(p, pick_rows[i].keys);
        panel_fits(p);
        if (got != pick_rows[i].state || dialog_pick_at(p) != pick_rows[i].chosen)
            fail_msg("%s: state %d, %zu", pick_rows[i].name, got, dialog_pick_at(p));
        panel_free(p);
    }
}

static const struct {
    const char *name;
    enum pick_look look;
    const char *const *labels;
    size_t at;
    const char *keys;
    int cols, rows;
    enum panel_look how;
    const char *shown;
} look_rows[] = {
    {"slider", PICK_SLIDER, levels, 2, "", 60, 24, LOOK_NORMAL,
     "── Effort ──────────────────────────────────────────────────\n"
     "How hard to think\n"
     "Faster                                               Smarter\n"
     "○──────────○───────────●───────────○───────────○───────────○\n"
     "low     medium       high        xhigh        max  ultracode\n"
     "\n"
     "for hard things\n"
     "←→ move · Enter choose · Esc cancel\n"},
    {"slider: the one in force is marked when the cursor is elsewhere", PICK_SLIDER, levels, 2,
     "right", 60, 24, LOOK_ASCII,
     "o----------o-----------o-----------#-----------o-----------o\n"
     "low     medium       high        xhigh        max  ultracode\n"
     "                      now\n"},
    {"slider: below 60 columns a list", PICK_SLIDER, levels, 2, "down", 59, 24, LOOK_NORMAL,
     "  low\n"
     "  medium\n"
     "  high (now)\n"
     "❯ xhigh\n"
     "  max\n"
     "  ultracode\n"
     "↑↓ move · Enter choose · Esc cancel\n"},
    {"slider: 20 columns", PICK_SLIDER, levels, 2, "", 20, 24, LOOK_ASCII,
     "-- Effort ----------\n"
     "How hard to think\n"
     "  low\n"
     "  medium\n"
     "> high (now)\n"},
    {"slider: plain", PICK_SLIDER, levels, 2, "right", 80, 24, LOOK_PLAIN,
     "Effort\n"
     "How hard to think\n"
     "low\n"
     "medium\n"
     "high (now)\n"
     "xhigh\n"
     "max\n"
     "ultracode\n"
     "arrows move, Esc cancel\n"
     "Enter: xhigh\n"},
    {"slider: nothing to choose", PICK_SLIDER, all_off, 1, "", 80, 24, LOOK_NORMAL,
     "\nEsc cancel\n"},
    {"slider: nothing to choose, plain", PICK_SLIDER, all_off, 1, "", 80, 24, LOOK_PLAIN,
     "low (not available)\n"},
    {"list", PICK_LIST, words, 1, "", 40, 24, LOOK_NORMAL,
     "── Effort ──────────────────────────────\n"
     "How hard to think\n"
     "  1. one\n"
     "❯ 2. two ✓\n"
     "  3. three\n"
     "  4. four\n"
     "Enter choose · Esc cancel\n"},
    {"search, with a preview below", PICK_SEARCH, words, 1, "", 40, 24, LOOK_ASCII,
     "/ type to search\n"
     "  one    2 days ago\n"
     "> two (current)  2 days ago\n"
     "  three  2 days ago\n"
     "  four   2 days ago\n"
     "--\n"
     "You: say two\n"
     "It: two\n"
     "Enter choose, Esc cancel\n"},
    {"search, with a preview beside", PICK_SEARCH, words, 1, "", 90, 24, LOOK_NORMAL,
     "⌕ type to search                     │ You: say two\n"
     "  one    2 days ago                  │ It: two\n"
     "❯ two ✓  2 days ago                  │ \n"},
    {"search, plain", PICK_SEARCH, words, 1, "t w", 90, 24, LOOK_PLAIN,
     "two (current)  2 days ago\n"
     "Preview:\n"
     "You: say two\n"
     "It: two\n"
     "Esc cancel\n"
     "search: tw, Enter: two\n"},
};

static void looks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(look_rows); i++) {
        CLEANUP(buf_release) struct buf shown = BUF_INIT(1 << 20);
        struct panel *p = open_pick(look_rows[i].look, look_rows[i].labels, look_rows[i].at);

        panel_keys(p, look_rows[i].keys);
        panel_text(p, look_rows[i].cols, look_rows[i].rows, look_rows[i].how, &shown);
        if (!str_has(buf_str(&shown), str_of(look_rows[i].shown)))
            fail_msg("%s:\n%s-- and not\n%s", look_rows[i].name, buf_cstr(&shown),
                     look_rows[i].shown);
        panel_free(p);
    }
}

/* ---- rewind ---- */

static const struct dialog_rewind_point points[] = {
    {STR_INIT("u3"), STR_INIT("and the tests"), STR_INIT("1 min ago"), 0},
    {STR_INIT("u2"), STR_INIT("fix the parser"), STR_INIT("3 min ago"), 2},
    {STR_INIT("u1"), STR_INIT("hello"), STR_INIT("1 h ago"), 1},
};

static const struct {
    const char *name;
    const char *keys;
    enum panel_state state;
    const char *uuid;
    bool files, conversation;
} rewind_rows[] = {
    {"the newest, conversation", "enter enter", PANEL_DONE, "u3", false, true},
    {"no files to go back", "enter 2 3", PANEL_OPEN, "u3", false, true},
    {"conversation", "down enter 1", PANEL_DONE, "u2", false, true},
    {"files", "down enter 2", PANEL_DONE, "u2", true, false},
    {"both", "down enter 3", PANEL_DONE, "u2", true, true},
    {"searched for", "h e l enter 3", PANEL_DONE, "u1", true, true},
    {"another message after all", "enter esc down enter 3", PANEL_DONE, "u2", true, true},
    {"esc", "esc", PANEL_LEFT, "", false, false},
    {"esc twice", "down enter esc esc", PANEL_LEFT, "", false, false},
};

static void rewinds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rewind_rows); i++) {
        struct panel *p = dialog_rewind_new(points, ARRAY_LEN(points));
        struct dialog_rewind_choice got;
        enum panel_state how;

        panel_fits(p);
        how = panel_keys(p, rewind_rows[i].keys);
        panel_fits(p);
        dialog_rewind_chosen(p, &got);
        if (how != rewind_rows[i].state || !str_is(got.uuid, rewind_rows[i].uuid) ||
            got.files != rewind_rows[i].files || got.conversation != rewind_rows[i].conversation)
            fail_msg("%s: state %d, '%.*s', %d %d", rewind_rows[i].name, how, STR_ARG(got.uuid),
                     got.files, got.conversation);
        panel_free(p);
    }
}

static void rewind_looks(void **state)
{
    struct panel *p = dialog_rewind_new(points, ARRAY_LEN(points));

    (void)state;
    panel_shows(p, 60, 24, LOOK_NORMAL,
                "❯ and the tests   1 min ago\n  fix the parser  3 min ago, 2 files\n");
    panel_keys(p, "down enter");
    panel_shows(
        p, 80, 24, LOOK_NORMAL,
        "fix the parser\n2 files would change. What commands did is not covered. Going back "
        "can be\nundone.\n\n❯ 1. The conversation\n  2. The files\n  3. Both\n");
    panel_free(p);

    p = dialog_rewind_new(NULL, 0);
    panel_fits(p);
    panel_shows(p, 80, 24, LOOK_NORMAL, "There is no message to go back to yet.\n");
    assert_int_equal(panel_keys(p, "enter down enter"), PANEL_OPEN);
    assert_int_equal(panel_keys(p, "esc"), PANEL_LEFT);
    panel_free(p);
}

/* ---- confirm, edit ---- */

static void confirms(void **state)
{
    static const char *const options[] = {"Keep it", "Replace it", "Quit"};
    static const struct {
        const char *keys;
        enum panel_state state;
        size_t at;
    } rows[] = {
        {"enter", PANEL_DONE, 0}, {"2", PANEL_DONE, 1}, {"r", PANEL_OPEN, 0},
        {"esc", PANEL_LEFT, 0},   {"x", PANEL_OPEN, 0}, {"down down enter", PANEL_DONE, 2},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct panel *p = dialog_confirm_new(STR("Replace the goal?"), STR("There is one: x"),
                                             options, ARRAY_LEN(options));

        assert_int_equal(panel_keys(p, "2"), PANEL_OPEN); /* typed ahead */
        panel_fits(p);
        panel_wait(p);
        panel_shows(p, 40, 24, LOOK_ASCII, "There is one: x\n\n> 1. Keep it\n  2. Replace it\n");
        if (panel_keys(p, rows[i].keys) != rows[i].state || dialog_confirm_at(p) != rows[i].at)
            fail_msg("'%s': %zu", rows[i].keys, dialog_confirm_at(p));
        panel_free(p);
    }
}

static void edits(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
    struct panel *p = dialog_edit_new(STR("The goal"), STR("all tests"), false);

    (void)state;
    panel_fits(p);
    panel_shows(p, 40, 24, LOOK_NORMAL, "── The goal ───");
    panel_shows(p, 40, 24, LOOK_NORMAL, "all tests");
    assert_int_equal(panel_keys(p, "space p a s s enter"), PANEL_DONE);
    dialog_edit_text(p, &text);
    assert_string_equal(buf_cstr(&text), "all tests pass");
    panel_free(p);

    p = dialog_edit_new(STR("The goal"), STR("x"), false);
    assert_int_equal(panel_keys(p, "y esc"), PANEL_LEFT);
    panel_free(p);

    p = dialog_edit_new(STR("The goal"), STR("x"), true); /* vim: the first Esc is its own */
    assert_int_equal(panel_keys(p, "y esc"), PANEL_OPEN);
    panel_free(p);
}

UNIT_TEST(dialog_pick)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks),        cmocka_unit_test(looks),    cmocka_unit_test(rewinds),
        cmocka_unit_test(rewind_looks), cmocka_unit_test(confirms), cmocka_unit_test(edits),
    };

    clock_make_virtual(1000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
