/*
 * screen: frames become bytes.
 *
 * The region's rows count from 0; the row the terminal's cursor stands on is known (at_row), and
 * all movement is relative to it: up by as many rows as were gone down, down by IND, which makes
 * room where there is none. A frame is the lines to be committed and the new region in one
 * list, compared with the old region row by row: what is committed as it stood costs nothing.
 *
 * Rows that are settled end at the anchor. There the cursor waits, behind the last letter of them;
 * see screen.h for what that is good for. UI thread.
 */
#include "tui/screen.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "tui/paint.h"
#include "tui/reflow.h"
#include "tui/screen_log.h"
#include "tui/term.h"
#include "tui/width.h"

#define SCREEN_MAX_FRAME ((size_t)256 << 20)
#define SCREEN_NO_ROW SIZE_MAX
#define SCREEN_PREFIX 8 /* shorter beginnings are not worth a movement */
/* One resize seldom comes alone, and some (tmux) tell only of the last: so long the cursor stays
 * where none of them matters. */
#define SCREEN_UNREST_MS 1000
#define SCREEN_HOLD_MS 300

/* What a row looks like: its line and, where a cursor is drawn, its cell. */
struct screen_mark {
    size_t row; /* SCREEN_NO_ROW: none */
    int col;
};

struct screen {
    struct term *term;
    const struct theme *theme;
    struct term_size size;
    struct lines shown;    /* the region as it stands */
    struct lines full;     /* what the alternate screen shows */
    struct lines frame;    /* what shall stand */
    struct lines waiting;  /* for the next frame, then committed */
    struct screen_log log; /* what stands on a plain terminal */
    struct screen_mark mark;
    size_t anchor; /* rows that are settled */
    size_t settled, lost;
    size_t above;  /* rows of the window above the region: so many at least */
    size_t stands; /* lines that were written there */
    size_t at_row;
    int at_col;
    int drawn_cols; /* of the window, when the region was drawn */
    bool has_begun; /* modes are set, the style is known */
    bool wraps;
    unsigned touched; /* rows, by this frame */
    bool has_moved;   /* a resize since: only the anchor is where it was */
    bool is_visible;  /* the terminal's cursor */
    bool is_full, is_full_new, is_paused;
    int64_t calm_from, held_until;
    struct buf out;
    struct screen_counts counts;
};

struct screen *screen_new(struct term *t, const struct theme *theme)
{
    struct screen *s = mem_zalloc(sizeof(*s));
    const struct lines empty = LINES_INIT;

    s->term = t;
    s->theme = theme;
    s->size = term_size(t);
    s->shown = empty;
    s->full = empty;
    s->frame = empty;
    s->waiting = empty;
    s->log.prompt = empty;
    s->mark.row = SCREEN_NO_ROW;
    s->is_visible = true;
    buf_init(&s->out, SCREEN_MAX_FRAME);
    return s;
}

void screen_free(struct screen *s)
{
    const struct lines nothing = LINES_INIT;

    if (!s)
        return;
    screen_full(s, false);
    s->held_until = 0;
    if (lines_count(&s->waiting)) /* committed is committed */
        screen_draw(s, &nothing, (struct screen_cursor){0});
    screen_pause(s);
    lines_release(&s->shown);
    lines_release(&s->full);
    lines_release(&s->frame);
    lines_release(&s->waiting);
    lines_release(&s->log.prompt);
    buf_release(&s->out);
    mem_freep(&s);
}

void screen_theme(struct screen *s, const struct theme *theme)
{
    if (s->theme == theme)
        return;
    s->theme = theme;
    if (s->has_begun && !s->is_paused) { /* all of it in the new colors */
        screen_pause(s);
        screen_resume(s);
    }
    s->is_full_new = true;
}

/* --- Size --- */

int screen_cols(const struct screen *s)
{
    return s->size.cols > 2 ? s->size.cols - 1 : 1;
}

int screen_rows(const struct screen *s)
{
    if (s->is_full)
        return s->size.rows;
    return s->size.rows > 2 ? s->size.rows - 1 : 1;
}

/* What a resize leaves above the region, at least. Broken rows of it push up what is above; a
 * wider window joins rows that were broken before, but no two lines; a lower one keeps the cursor's
 * row. */
static size_t screen_still_above(const struct screen *s, struct term_size was)
{
    size_t count = lines_count(&s->shown);
    size_t above = s->above;
    size_t more = 0;

    if (s->size.cols < was.cols && s->anchor < count)
        more = reflow_lines(&s->shown, s->anchor, count, s->size.cols) - (count - s->anchor);
    above -= more < above ? more : above;
    if (s->size.cols > was.cols && above > s->stands)
        above = s->stands;
    more = s->at_row > s->anchor ? s->at_row - s->anchor : 0; /* down to the cursor */
    if (above + more + 1 > (size_t)s->size.rows)
        above = (size_t)s->size.rows > more + 1 ? (size_t)s->size.rows - more - 1 : 0;
    return above;
}

bool screen_look(struct screen *s)
{
    struct term_size was = s->size;
    struct term_size now = term_size(s->term);

    if (now.cols == was.cols && now.rows == was.rows)
        return false;
    s->size = now;
    s->calm_from = clock_mono_ms() + SCREEN_UNREST_MS;
    if (term_able(s->term)->reflows)
        s->held_until = clock_mono_ms() + SCREEN_HOLD_MS;
    s->is_full_new = true;
    if (!s->has_moved && lines_count(&s->shown)) {
        s->lost += s->anchor;
        s->above += s->anchor;
        s->stands += s->anchor;
        s->has_moved = true;
    }
    s->above = screen_still_above(s, was);
    return true;
}

size_t screen_room(const struct screen *s, size_t settled, size_t rows)
{
    size_t bottom = s->above + lines_count(&s->waiting) + rows;

    if (!term_able(s->term)->keeps_blank || bottom > (size_t)s->size.rows)
        return (size_t)screen_rows(s);
    return bottom - (settled ? 1 : 0); /* there the cursor waits */
}

int64_t screen_due(const struct screen *s)
{
    bool is_held = !s->has_moved && !s->is_full && clock_mono_ms() < s->held_until;

    return is_held ? s->held_until : -1;
}

size_t screen_lost(struct screen *s)
{
    size_t lost = s->lost;

    s->lost = 0;
    return lost;
}

void screen_commit(struct screen *s, const struct lines *ls)
{
    lines_add_all(&s->waiting, ls);
    s->counts.commits += lines_count(ls);
}

size_t screen_committed(const struct screen *s)
{
    return s->counts.commits;
}

void screen_settled(struct screen *s, size_t rows)
{
    s->settled = rows;
}

struct screen_counts screen_counts(const struct screen *s)
{
    return s->counts;
}

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
    /* No line feed: the driver would take each for a write of its own, and half of the time that a
     * long answer costs would be spent there. */
    for (; s->at_row < row; s->at_row++) {
        buf_adds(&s->out, "\033D");
        s->at_col = -1; /* a window that is narrower by now has moved it */
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

/* Erases the region behind the anchor; what stands before it is no longer of it. */
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

/* --- Rows --- */

static struct paint screen_paint(struct screen *s)
{
    return (struct paint){.theme = s->theme, .able = term_able(s->term), .out = &s->out};
}

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
    s->at_col = -1; /* somewhere behind it */
    s->touched++;
}

static int screen_mark_in(struct screen_mark m, size_t row)
{
    return m.row == row ? m.col : -1;
}

/* --- Frames --- */

/* The committed lines and the region, in s->frame; gives how many of the first. */
static size_t screen_compose(struct screen *s, const struct lines *region,
                             struct screen_cursor *cursor)
{
    size_t count = lines_count(region);
    size_t max = (size_t)screen_rows(s);
    size_t skip = count > max ? count - max : 0;
    size_t commits = 0;

    if (cursor->shown && cursor->row < skip)
        skip = cursor->row;
    lines_clear(&s->frame);
    if (!s->is_full) {
        lines_add_all(&s->frame, &s->waiting);
        commits = lines_count(&s->waiting);
        lines_clear(&s->waiting);
    }
    for (size_t i = skip; i < count && i < skip + max; i++)
        lines_add_cut(&s->frame, lines_at(region, i), screen_cols(s), !term_able(s->term)->unicode);
    cursor->row -= cursor->row < skip ? cursor->row : skip;
    s->settled -= s->settled < skip ? s->settled : skip;
    if (cursor->col >= screen_cols(s))
        cursor->col = screen_cols(s) - 1;
    return commits;
}

static void screen_wrap(struct screen *s, bool on)
{
    if (s->wraps == on)
        return;
    buf_adds(&s->out, on ? "\033[?7h" : "\033[?7l");
    s->wraps = on;
}

/* A settled row that only goes on, where the cursor waits: what is below is erased, and the rest of
 * the row follows. Should the row be broken by now, it goes on in the right place all the same. */
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

/* A row that is settled, and everything below it anew. A resize that we have not heard of may have
 * dropped or cut it, so it is written also where it stood; and the terminal may break it. */
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

/* The rows behind the anchor that differ, top down; `old` rows stand. */
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

/* What is behind the settled rows. The cursor stands where it will wait, and comes back to that
 * place as the terminal remembers it: nothing of ours could say it better after a resize. */
static void screen_put_live(struct screen *s, size_t anchor, size_t old, struct screen_mark mark)
{
    size_t rows = lines_count(&s->frame) > old ? lines_count(&s->frame) : old;
    size_t row = s->at_row;
    int col = s->at_col;
    size_t before = s->out.len;
    size_t begun;

    /* Also for rows that stand: a lower window has dropped them, and what is written to them would
     * be written over the text. */
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

static void screen_show_cursor(struct screen *s, bool on)
{
    if (s->is_visible == on)
        return;
    buf_adds(&s->out, on ? "\033[?25h" : "\033[?25l");
    s->is_visible = on;
}

/* One write, between marks when it is more than a row. */
static void screen_send(struct screen *s)
{
    if (!s->out.len)
        return;
    if (term_able(s->term)->sync && s->touched > 1) {
        buf_insert(&s->out, 0, STR("\033[?2026h"));
        buf_adds(&s->out, "\033[?2026l");
    }
    s->touched = 0;
    s->counts.frames++;
    s->counts.bytes += s->out.len;
    term_write(s->term, buf_str(&s->out));
    buf_clear(&s->out);
}

/* The rows of the frame from `from` on are the region that stands now. */
static void screen_keep(struct screen *s, struct lines *shown, size_t from)
{
    lines_clear(shown);
    for (size_t i = from; i < lines_count(&s->frame); i++)
        lines_add(shown, lines_at(&s->frame, i));
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

static void screen_draw_region(struct screen *s, const struct lines *region,
                               struct screen_cursor cursor)
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

static void screen_draw_full(struct screen *s, const struct lines *region,
                             struct screen_cursor cursor)
{
    const struct paint paint = screen_paint(s);
    size_t old;

    if (s->is_full_new) {
        buf_adds(&s->out, "\033[?7l\033[m\033[H\033[2J");
        lines_clear(&s->full);
        s->is_full_new = false;
    }
    screen_compose(s, region, &cursor);
    screen_show_cursor(s, false);
    old = lines_count(&s->full);
    for (size_t i = 0; i < lines_count(&s->frame); i++) {
        struct line l = lines_at(&s->frame, i);

        if (i < old && line_eq(lines_at(&s->full, i), l))
            continue;
        buf_addf(&s->out, "\033[%zuH", i + 1);
        paint_line(&paint, l, 0, 0, /*mark=*/-1);
        s->touched++;
        if (i < old && line_width(lines_at(&s->full, i)) > line_width(l))
            buf_adds(&s->out, "\033[K");
    }
    if (old > lines_count(&s->frame))
        buf_addf(&s->out, "\033[%zuH\033[J", lines_count(&s->frame) + 1);
    if (cursor.shown) {
        buf_addf(&s->out, "\033[%zu;%dH", cursor.row + 1, cursor.col + 1);
        screen_show_cursor(s, true);
    }
    screen_keep(s, &s->full, 0);
    s->settled = 0;
    screen_send(s);
}

static void screen_draw_plain(struct screen *s, const struct lines *region)
{
    const struct paint paint = screen_paint(s);

    screen_log_draw(&s->log, &paint, &s->waiting, region, screen_cols(s));
    lines_clear(&s->waiting);
    s->settled = 0;
    screen_send(s);
}

void screen_draw(struct screen *s, const struct lines *region, struct screen_cursor cursor)
{
    if (s->is_paused || term_wants_write(s->term) || screen_due(s) >= 0)
        return;
    if (term_able(s->term)->is_plain)
        screen_draw_plain(s, region);
    else if (s->is_full)
        screen_draw_full(s, region, cursor);
    else
        screen_draw_region(s, region, cursor);
}

/* --- The alternate screen, and giving the terminal away --- */

void screen_full(struct screen *s, bool on)
{
    if (s->is_full == on || term_able(s->term)->is_plain)
        return;
    s->is_full = on;
    s->is_full_new = true;
    term_alternate(s->term, on);
    lines_clear(&s->full);
}

bool screen_is_full(const struct screen *s)
{
    return s->is_full;
}

void screen_pause(struct screen *s)
{
    if (s->is_paused)
        return;
    s->is_paused = true;
    if (term_able(s->term)->is_plain) {
        screen_log_erase(&s->log, &s->out);
        screen_send(s);
        return;
    }
    if (!s->has_begun)
        return;
    screen_full(s, false);
    if (s->has_moved) {
        screen_erase_moved(s);
    } else {
        screen_to_row(s, 0);
        buf_addc(&s->out, '\r');
        screen_erase_below(s);
    }
    lines_clear(&s->shown);
    buf_adds(&s->out, "\r\033[?7h");
    screen_show_cursor(s, true);
    s->has_begun = false;
    screen_send(s);
}

void screen_resume(struct screen *s)
{
    if (!s->is_paused)
        return;
    s->is_paused = false;
    s->has_begun = false;
    s->has_moved = false;
    s->is_visible = true;
    lines_clear(&s->shown);
    screen_look(s);
}
