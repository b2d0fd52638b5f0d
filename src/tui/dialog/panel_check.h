/*
 * For tests of panels: keys by name, the panel as text. Include after cmocka.h.
 *
 *     struct panel *p = dialog_pick_new(&pick);
 *     assert_int_equal(panel_keys(p, "down down enter"), PANEL_DONE);
 *     panel_shows(p, 80, 24, "❯ 2. two");
 *
 * The clock is virtual and a panel is drawn before its first key, as the app does it.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "tui/dialog/dialog_page.h"
#include "tui/dialog/panel.h"
#include "tui/screen/keypress.h"
#include "tui/screen/width.h"

enum panel_look {
    LOOK_NORMAL,
    LOOK_ASCII,
    LOOK_PLAIN,
};

static inline struct view panel_view(int cols, int rows, enum panel_look look)
{
    return (struct view){.cols = cols,
                         .rows = rows,
                         .now_ms = clock_mono_ms(),
                         .ascii = look != LOOK_NORMAL,
                         .plain = look == LOOK_PLAIN};
}

static inline bool panel_is_ascii(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] >= 0x80)
            return false;
    }
    return true;
}

/* The drawn rows, a newline after each. Every row fits, and so does the number of them. */
static inline void panel_text(struct panel *p, int cols, int rows, enum panel_look look,
                              struct buf *ret)
{
    CLEANUP(lines_release) struct lines ls = LINES_INIT;
    struct view v = panel_view(cols, rows, look);
    struct screen_cursor cursor = {0};

    p->kind->draw(p, &v, &ls, &cursor);
    buf_clear(ret);
    for (size_t i = 0; i < lines_count(&ls); i++) {
        struct line l = lines_at(&ls, i);

        if (line_width(l) > cols)
            fail_msg("%s at %d columns: row %zu is %d cells wide: '%.*s'", p->kind->name, cols, i,
                     line_width(l), STR_ARG(l.text));
        if (look != LOOK_NORMAL && !panel_is_ascii(l.text))
            fail_msg("%s in ASCII: '%.*s'", p->kind->name, STR_ARG(l.text));
        buf_add(ret, l.text);
        buf_addc(ret, '\n');
    }
    if (lines_count(&ls) > (size_t)rows)
        fail_msg("%s at %dx%d has %zu rows:\n%s", p->kind->name, cols, rows, lines_count(&ls),
                 buf_cstr(ret));
    if (cursor.shown && (cursor.row >= lines_count(&ls) || cursor.col > cols))
        fail_msg("%s: the cursor is at %zu,%d", p->kind->name, cursor.row, cursor.col);
}

static inline bool panel_has(struct panel *p, int cols, int rows, enum panel_look look,
                             const char *text)
{
    CLEANUP(buf_release) struct buf shown = BUF_INIT(1 << 20);

    panel_text(p, cols, rows, look, &shown);
    return str_has(buf_str(&shown), str_of(text));
}

static inline void panel_shows(struct panel *p, int cols, int rows, enum panel_look look,
                               const char *text)
{
    CLEANUP(buf_release) struct buf shown = BUF_INIT(1 << 20);

    panel_text(p, cols, rows, look, &shown);
    if (!str_has(buf_str(&shown), str_of(text)))
        fail_msg("%s at %dx%d does not show '%s':\n%s", p->kind->name, cols, rows, text,
                 buf_cstr(&shown));
}

/* Every size and look there is: nothing is too wide, too high or beyond ASCII. */
static inline void panel_fits(struct panel *p)
{
    static const int cols[] = {4, 9, 20, 40, 59, 60, 80, 89, 90, 200};
    static const int rows[] = {1, 2, 3, 5, 8, 12, 24, 60};
    CLEANUP(buf_release) struct buf shown = BUF_INIT(1 << 20);

    for (size_t c = 0; c < ARRAY_LEN(cols); c++) {
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
            for (int look = LOOK_NORMAL; look <= LOOK_PLAIN; look++)
                panel_text(p, cols[c], rows[r], (enum panel_look)look, &shown);
        }
    }
}

/* Key names separated by spaces; anything else is typed as text. */
static inline enum panel_state panel_keys(struct panel *p, const char *keys)
{
    CLEANUP(buf_release) struct buf shown = BUF_INIT(1 << 20);
    enum panel_state state = PANEL_OPEN;
    struct str rest = str_of(keys);
    struct str name;

    while (state == PANEL_OPEN && str_cut(&rest, ' ', &name)) {
        struct keypress k = {0};

        if (!name.len)
            continue;
        panel_text(p, 80, 24, LOOK_NORMAL, &shown);
        assert_true(keypress_parse(name, &k));
        state = p->kind->key(p, &k);
        if (state == PANEL_HELD && !rest.len) { /* nothing is typed after it */
            clock_advance_ms(DIALOG_HOLD_MS);
            state = p->kind->wake(p);
        }
        if (state == PANEL_EARLY || state == PANEL_HELD)
            state = PANEL_OPEN;
    }
    return state;
}

/* Long enough to rule out type-ahead. */
static inline void panel_wait(struct panel *p)
{
    CLEANUP(buf_release) struct buf shown = BUF_INIT(1 << 20);

    panel_text(p, 80, 24, LOOK_NORMAL, &shown);
    clock_advance_ms(1000);
}
