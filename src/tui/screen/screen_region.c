/*
 * The live region: frames become bytes.
 *
 * The region's rows count from 0; the row the terminal's cursor stands on is known (at_row), and
 * all movement is relative to it: up by as many rows as were gone down, down by IND, which makes
 * room where there is none. A frame is the lines to be committed and the new region in one list,
 * compared with the old region row by row: committing unchanged rows costs nothing.
 *
 * Settled rows end at the anchor. There the cursor waits, after the last letter of them; see
 * screen.h for the reason. UI thread.
 */
#include "base/clock.h"
#include "tui/screen/reflow.h"
#include "tui/screen/screen_state.h"
#include "tui/screen/width.h"

#define SCREEN_PREFIX 8 /* shorter beginnings are not worth a movement */

/* --- Movement --- */

static void screen_up(struct screen *s, size_t rows)
{
    if (rows == 1)
        buf_adds(&s->out, "\033[A");
    else if (rows)
        buf_addf(&s->out, "\033[%zuA", rows);
}

static void screen_to_row(struct screen *s, size_t row)
{
    if (row < s->at_row)
        screen_up(s, s->at_row - row);
    /* No line feed: the driver would write each separately, which would take half of the time of a
     * long answer. */
    for (; s->at_row < row; s->at_row++) {
        buf_adds(&s->out, "\033D");
        s->at_col = -1; /* a narrower window may have moved it */
    }
    s->at_row = row;
}

static void screen_to_col(struct screen *s, int col)
{
    if (col == 0)
        buf_addc(&s->out, '\r');
    else
        buf_addf(&s->out, "\033[%dG", col + 1);
    s->at_col = col;
}

static void screen_place(struct screen *s, size_t row, int col)
{
    screen_to_row(s, row);
    if (s->at_col != col)
        screen_to_col(s, col);
}

/* From the cursor on. In two steps, and never from the top left corner: there tmux takes it for a
 * clearing of the whole screen, and saves what stands on it into the scrollback. */
static void screen_erase_below(struct screen *s)
{
    buf_adds(&s->out, "\033[K\033[C\033[J");
    s->at_col = -1;
}

/* The region begins to be drawn, or again after a while: from where the cursor is. */
static void screen_begin(struct screen *s)
{
    if (s->has_begun)
        return;
    buf_adds(&s->out, "\033[?7l\033[m\r");
    s->has_begun = true;
    s->at_row = 0;
    s->at_col = 0;
    s->anchor = 0;
    s->above = 0; /* not known */
    s->stands = 0;
    lines_clear(&s->shown);
    s->mark.row = SCREEN_NO_ROW;
}

/* Rows that a line of the old region takes now, when the window breaks what does not fit. */
static size_t screen_broken(const struct screen *s, struct line l)
{
    if (s->size.cols >= s->drawn_cols || !term_able(s->term)->reflows)
        return 1;
    return reflow_line(l, s->size.cols);
}

/* From the cursor up to the anchor after a resize. */
static size_t screen_above(const struct screen *s)
{
    struct line l;
    size_t rows = 0;
    int col = s->at_col;

    for (size_t i = s->anchor; i < s->at_row; i++)
        rows += screen_broken(s, lines_at(&s->shown, i));
    if (s->at_row >= lines_count(&s->shown) || !col)
        return rows;
    l = lines_at(&s->shown, s->at_row);
    l.text = width_first(l.text, col < line_width(l) ? col + 1 : col);
    return rows + screen_broken(s, l) - 1;
}

/* Erases the region after the anchor; the rows before it are no longer part of it. */
static void screen_erase_moved(struct screen *s)
{
    if (s->anchor && s->at_row < s->anchor) { /* at the end of a text that stays */
        buf_adds(&s->out, "\r\n");
    } else {
        buf_addc(&s->out, '\r');
        screen_up(s, screen_above(s));
    }
    screen_erase_below(s);
    buf_addc(&s->out, '\r');
    lines_clear(&s->shown);
    s->mark.row = SCREEN_NO_ROW;
    s->anchor = 0;
    s->at_row = 0;
    s->at_col = 0;
    s->has_moved = false;
}

void screen_erase_region(struct screen *s)
{
    if (s->has_moved) {
        screen_erase_moved(s);
    } else {
        screen_to_row(s, 0);
        buf_addc(&s->out, '\r');
        screen_erase_below(s);
    }
    lines_clear(&s->shown);
}

/* --- Rows --- */

static void screen_put_row(struct screen *s, size_t row, const struct line *old, int old_mark,
                           int mark)
{
    const struct paint paint = screen_paint(s);
    struct line l = lines_at(&s->frame, row);
    size_t from = 0;
    int col = 0;

    if (old) {
        int limit = mark < 0 ? old_mark : old_mark < 0 || mark < old_mark ? mark : old_mark;

        from = line_shared(*old, l, limit < 0 ? INT32_MAX : limit, &col);
        if (col < SCREEN_PREFIX && s->at_col != col) {
            from = 0;
            col = 0;
        }
    }
    if (s->at_col != col)
        screen_to_col(s, col);
    paint_line(&paint, l, from, col, mark);
    s->at_col = -1; /* somewhere after it */
    s->touched++;
}

static int screen_mark_in(struct screen_mark m, size_t row)
{
    return m.row == row ? m.col : -1;
}

/* --- Frames --- */

static void screen_wrap(struct screen *s, bool on)
{
    if (s->wraps == on)
        return;
    buf_adds(&s->out, on ? "\033[?7h" : "\033[?7l");
    s->wraps = on;
}

/* A settled row that only grows, where the cursor waits: everything below is erased, and the rest
 * of the row follows. If the row has been broken since, it still continues in the right place. */
static bool screen_go_on(struct screen *s, size_t row, struct line was)
{
    const struct paint paint = screen_paint(s);
    struct line l = lines_at(&s->frame, row);
    int width = line_width(was);
    int col;

    if (s->at_row != row || s->at_col != width || row + 1 != s->anchor || !width ||
        line_shared(was, l, INT32_MAX, &col) != was.text.len)
        return false;
    buf_adds(&s->out, "\033[J"); /* without a movement: it may be about to break */
    screen_wrap(s, true);
    paint_line(&paint, l, was.text.len, width, /*mark=*/-1);
    s->at_col = line_width(l);
    s->touched++;
    return true;
}

/* A settled row, and everything below it anew. An unreported resize may have dropped or cut it, so
 * it is written also where it stood; and the terminal may break it. */
static void screen_settle(struct screen *s, size_t row, bool has_below)
{
    const struct paint paint = screen_paint(s);

    screen_to_row(s, row);
    buf_addc(&s->out, '\r');
    if (has_below)
        screen_erase_below(s);
    if (has_below)
        buf_addc(&s->out, '\r');
    screen_wrap(s, true);
    paint_line(&paint, lines_at(&s->frame, row), 0, 0, /*mark=*/-1);
    s->at_col = -1; /* measured when it is the last one */
    s->touched++;
}

/* The settled rows. Gives how many rows of the old region still stand. */
static size_t screen_put_settled(struct screen *s, size_t anchor)
{
    size_t old = lines_count(&s->shown);

    for (size_t i = 0; i < anchor; i++) {
        struct line was = i < old ? lines_at(&s->shown, i) : (struct line){0};

        if (i < old && i < s->anchor && line_eq(was, lines_at(&s->frame, i)))
            continue;
        if (i >= old || !screen_go_on(s, i, was)) {
            screen_settle(s, i, i < old);
            old = i < old ? i : old;
        } else {
            old = i + 1;
        }
    }
    if (anchor && s->at_row == anchor - 1 && s->at_col < 0)
        s->at_col = line_width(lines_at(&s->frame, anchor - 1));
    screen_wrap(s, false);
    return old;
}

/* Makes sure that there are so many rows below the cursor, which stays where it is. */
static void screen_make_room(struct screen *s, size_t rows)
{
    for (size_t i = 0; i < rows; i++)
        buf_adds(&s->out, "\033D");
    screen_up(s, rows);
}

/* Down in the region, whose rows are there already. */
static void screen_down_to(struct screen *s, size_t row)
{
    if (row > s->at_row)
        buf_addf(&s->out, "\033[%zuB", row - s->at_row);
    s->at_row = row;
}

/* Rows of the smallest window that a row takes. */
static size_t screen_least_rows(struct line l, int mark)
{
    size_t rows = reflow_line(l, REFLOW_COLS);
    size_t marked = (size_t)(mark + REFLOW_COLS) / REFLOW_COLS;

    return rows > marked ? rows : marked;
}

/* Empties a row that gets shorter by so much that it matters when the window is made narrow: tmux
 * forgets how long a row was only when all of it is erased. */
static bool screen_empty_row(struct screen *s, struct line was, int old_mark, struct line l,
                             int mark)
{
    if (!term_able(s->term)->reflows ||
        screen_least_rows(was, old_mark) <= screen_least_rows(l, mark))
        return false;
    screen_to_col(s, 0);
    buf_adds(&s->out, "\033[K");
    return true;
}

/* The rows after the anchor that differ, top down; `old` rows stand. */
static void screen_put_rows(struct screen *s, size_t anchor, size_t old, struct screen_mark mark)
{
    size_t total = lines_count(&s->frame);

    for (size_t i = anchor; i < total; i++) {
        struct line was = i < old ? lines_at(&s->shown, i) : (struct line){0};
        struct line l = lines_at(&s->frame, i);
        int old_mark = i < old ? screen_mark_in(s->mark, i) : -1;
        int new_mark = screen_mark_in(mark, i);
        int width = line_width(l) > new_mark + 1 ? line_width(l) : new_mark + 1;
        bool stands = i < old;

        if (stands && old_mark == new_mark && line_eq(was, l))
            continue;
        screen_down_to(s, i);
        if (stands && screen_empty_row(s, was, old_mark, l, new_mark))
            stands = false;
        screen_put_row(s, i, stands ? &was : NULL, old_mark, new_mark);
        if (i + 1 == total && old > total) {
            screen_erase_below(s);
            old = total;
        } else if (stands && (line_width(was) > width || old_mark >= width)) {
            buf_adds(&s->out, "\033[K");
        }
    }
    if (old > total) {
        screen_down_to(s, total);
        buf_addc(&s->out, '\r');
        screen_erase_below(s);
    }
}

/* The rows after the settled ones. The cursor stands where it will wait, and the terminal itself
 * saves and restores that place: after a resize only it knows the position. */
static void screen_put_live(struct screen *s, size_t anchor, size_t old, struct screen_mark mark)
{
    size_t rows = lines_count(&s->frame) > old ? lines_count(&s->frame) : old;
    size_t row = s->at_row;
    int col = s->at_col;
    size_t before = s->out.len;
    size_t begun;

    /* Also for unchanged rows: a lower window has dropped them, and output to them would overwrite
     * the text. */
    screen_make_room(s, rows > row + 1 ? rows - row - 1 : 0);
    buf_adds(&s->out, "\0337");
    begun = s->out.len;
    screen_put_rows(s, anchor, old, mark);
    if (s->out.len == begun) {
        buf_cut(&s->out, before, begun - before);
        return;
    }
    buf_adds(&s->out, "\0338");
    s->at_row = row;
    s->at_col = col;
}

/* Whether the terminal's own cursor may stand there: a lower window keeps the rows down to it, so
 * that those of the region, broken by a narrower one, must fit into the smallest. */
static bool screen_may_stand(const struct screen *s, size_t from, size_t row)
{
    size_t to = row < lines_count(&s->frame) ? row + 1 : lines_count(&s->frame);

    if (!term_able(s->term)->reflows)
        return to <= from + REFLOW_ROWS;
    return reflow_lines(&s->frame, from, to, REFLOW_COLS) <= REFLOW_ROWS;
}

void screen_draw_region(struct screen *s, const struct lines *region, struct screen_cursor cursor)
{
    struct screen_mark mark = {.row = SCREEN_NO_ROW};
    bool is_real;
    size_t commits;
    size_t anchor;
    size_t rest;
    size_t old;

    screen_begin(s);
    if (s->has_moved)
        screen_erase_moved(s);
    commits = screen_compose(s, region, &cursor);
    rest = lines_count(&s->frame) - commits;
    anchor = s->settled < rest ? s->settled : rest;
    is_real = cursor.shown && cursor.calm && clock_mono_ms() >= s->calm_from &&
              screen_may_stand(s, commits + anchor, commits + cursor.row);
    if (cursor.shown && !is_real)
        mark = (struct screen_mark){commits + cursor.row, cursor.col};
    if (!is_real)
        screen_show_cursor(s, false);
    old = screen_put_settled(s, commits + anchor);
    if (anchor)
        screen_place(s, commits + anchor - 1,
                     line_width(lines_at(&s->frame, commits + anchor - 1)));
    else
        screen_place(s, commits, 0);
    screen_put_live(s, commits + anchor, old, mark);
    if (is_real) {
        screen_place(s, commits + cursor.row, cursor.col);
        screen_show_cursor(s, true);
    }

    screen_keep(s, &s->shown, commits);
    s->at_row -= commits;
    s->above += commits;
    s->stands += commits;
    if (s->above + rest > (size_t)s->size.rows)
        s->above = (size_t)s->size.rows > rest ? (size_t)s->size.rows - rest : 0;
    s->anchor = anchor;
    s->settled = 0;
    s->drawn_cols = s->size.cols;
    s->mark = mark;
    if (mark.row != SCREEN_NO_ROW)
        s->mark.row -= commits;
    screen_send(s);
}
