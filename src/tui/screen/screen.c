/*
 * screen: its life, its size, and which kind of frame is drawn. UI thread.
 */
#include "tui/screen/screen.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "tui/screen/paint.h"
#include "tui/screen/reflow.h"
#include "tui/screen/screen_log.h"
#include "tui/screen/screen_state.h"
#include "tui/screen/term.h"

#define SCREEN_MAX_FRAME ((size_t)256 << 20)
/* One resize seldom comes alone, and some (tmux) tell only of the last: so long the cursor stays
 * where none of them matters. */
#define SCREEN_UNREST_MS 1000
#define SCREEN_HOLD_MS 300

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

/* The least number of rows that a resize leaves above the region. Broken rows of the region push up
 * the rows above it; a wider window joins rows that were broken before, but never two lines; a
 * lower one keeps the cursor's row. */
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

/* --- For frames of every kind --- */

size_t screen_compose(struct screen *s, const struct lines *region, struct screen_cursor *cursor)
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

void screen_keep(struct screen *s, struct lines *shown, size_t from)
{
    lines_clear(shown);
    for (size_t i = from; i < lines_count(&s->frame); i++)
        lines_add(shown, lines_at(&s->frame, i));
}

void screen_show_cursor(struct screen *s, bool on)
{
    if (s->is_visible == on)
        return;
    buf_adds(&s->out, on ? "\033[?25h" : "\033[?25l");
    s->is_visible = on;
}

struct paint screen_paint(struct screen *s)
{
    return (struct paint){.theme = s->theme, .able = term_able(s->term), .out = &s->out};
}

void screen_send(struct screen *s)
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

/* --- Frames --- */

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
    screen_erase_region(s);
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
