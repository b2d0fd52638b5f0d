/*
 * The editor as rows: the prompt's mark, the text around the cursor, and below it the list of
 * completions or the search. The cost depends on the visible part only. UI thread.
 */
#include <stdint.h>

#include "base/mem.h"
#include "tui/editor/editor_layout.h"
#include "tui/editor/editor_move.h"
#include "tui/editor/editor_state.h"
#include "tui/screen/keypress.h"
#include "tui/screen/width.h"

#define MARK_CELLS 2
#define MARK_FROM 8 /* columns; narrower, the room is for the text */

/* --- one row --------------------------------------------------------------------------------- */

/* A highlighted range: a selection, or a match of the search. */
struct span_of {
    size_t from, to;
    struct style style;
};

struct drawing {
    const struct editor_text *text;
    struct span_of set_off;
    int width;
    struct lines *to;
};

static struct style style_at(const struct drawing *d, size_t at)
{
    return at >= d->set_off.from && at < d->set_off.to ? d->set_off.style : STYLE(ROLE_TEXT);
}

static void draw_label(const struct drawing *d, size_t at, struct style style, int cells)
{
    CLEANUP(buf_release) struct buf label = BUF_INIT(100);
    size_t number;
    const struct editor_paste *p = editor_text_folded(d->text, at, &number);

    editor_text_label(p, number, &label);
    if (style.role == ROLE_TEXT)
        style.role = ROLE_ACCENT;
    lines_put(d->to, style, str_first(buf_str(&label), (size_t)cells));
}

static void draw_row(const struct drawing *d, struct editor_row row)
{
    struct str text = editor_text_str(d->text);
    bool can_join = false; /* something stands before, on which marks can stand */
    int col = 0;

    for (size_t at = row.from; at < row.to;) {
        struct editor_atom a = editor_layout_atom(d->text, at, col, d->width);
        struct style style = style_at(d, at);

        if (a.shape == SHAPE_TAB)
            lines_spaces(d->to, style, a.cells);
        else if (a.shape == SHAPE_PASTE)
            draw_label(d, at, style, a.cells);
        else if (a.shape == SHAPE_REPLACED)
            lines_puts(d->to, (enum style_role)style.role, "?");
        else if (a.cells || can_join)
            lines_put(d->to, style, str_make(text.ptr + at, a.len));
        can_join = a.shape == SHAPE_TEXT && (a.cells || can_join);
        col += a.cells;
        at += a.len;
    }
    if (row.ends_line && style_at(d, row.to).role != ROLE_TEXT && col < d->width)
        lines_put(d->to, d->set_off.style, STR(" ")); /* the line end is selected, too */
}

/* --- the text -------------------------------------------------------------------------------- */

static enum style_role mode_role(const struct editor *e)
{
    switch (editor_mode(e)) {
    case EDITOR_SHELL:
        return ROLE_WARNING;
    case EDITOR_MEMORY:
        return ROLE_GOOD;
    default:
        return ROLE_ACCENT;
    }
}

/* In front of a row: the prompt, spaces, or that there is more above or below. */
static void draw_mark(const struct editor *e, const struct view *v, bool is_first, bool more_above,
                      bool more_below, struct lines *ret)
{
    bool ascii = v->ascii || v->plain || e->spec.ascii;

    if (v->cols < MARK_FROM)
        return;
    if (is_first)
        lines_puts(ret, mode_role(e), ascii ? "> " : "\xe2\x9d\xaf ");
    else if (more_above)
        lines_puts(ret, ROLE_FAINT, ascii ? "^ " : "\xe2\x86\x91 ");
    else if (more_below)
        lines_puts(ret, ROLE_FAINT, ascii ? "v " : "\xe2\x86\x93 ");
    else
        lines_spaces(ret, STYLE(ROLE_TEXT), MARK_CELLS);
}

static int mark_cells(const struct view *v)
{
    return v->cols < MARK_FROM ? 0 : MARK_CELLS;
}

/* A row has a spare cell after its text: for the cursor, or the space between two words. */
static int text_width(const struct view *v)
{
    int width = v->cols - mark_cells(v) - 1;

    return width > 1 ? width : 1;
}

/* Which row comes first, so that the cursor's is seen and no more moves than must. */
static size_t first_row(const struct editor *e, const struct editor_around *a, size_t rows)
{
    size_t first = 0;

    while (first + 1 < a->rows.len && a->rows.ptr[first + 1].from <= e->top)
        first++;
    if (first > a->index)
        first = a->index;
    if (a->index >= first + rows)
        first = a->index + 1 - rows;
    if (a->is_end && first + rows > a->rows.len)
        first = a->rows.len > rows ? a->rows.len - rows : 0;
    return first;
}

static void draw_text(struct editor *e, const struct view *v, const struct drawing *d, size_t rows,
                      struct screen_cursor *cursor)
{
    const struct editor_text *t = d->text;
    CLEANUP(editor_layout_release) struct editor_around a;
    size_t first, last;

    editor_layout_around(t, t->cursor, d->width, rows, &a);
    first = first_row(e, &a, rows);
    last = first + rows < a.rows.len ? first + rows : a.rows.len;
    e->rows = last - first;
    e->top = a.rows.ptr[first].from;
    for (size_t i = first; i < last; i++) {
        bool is_first = a.rows.ptr[i].from == 0;
        bool is_last = i + 1 == a.rows.len && a.is_end;

        draw_mark(e, v, is_first, i == first && !is_first, i + 1 == last && !is_last, d->to);
        if (i == a.index) {
            int col = editor_layout_column(t, a.rows.ptr[i], t->cursor, d->width);

            col += mark_cells(v);
            *cursor =
                (struct screen_cursor){lines_count(d->to), col < v->cols ? col : v->cols - 1, true};
        }
        draw_row(d, a.rows.ptr[i]);
        lines_end(d->to);
    }
}

static void draw_hint(const struct editor *e, const struct view *v, struct str hint,
                      struct lines *ret, struct screen_cursor *cursor)
{
    draw_mark(e, v, /*is_first=*/true, false, false, ret);
    *cursor = (struct screen_cursor){lines_count(ret), mark_cells(v), true};
    lines_put(ret, STYLE(ROLE_FAINT), width_first_parts(hint, text_width(v)));
    lines_end(ret);
}

/* --- the search ------------------------------------------------------------------------------ */

/* The end of the search text, when there is no room for all of it. */
static struct str query_end(struct str query, int cells)
{
    while (width_of(query) > cells) {
        int w;

        query = str_from(query, width_next(query, &w));
    }
    return query;
}

/* behind: the note after the search text. It is left out where it does not fit, or cut if may_cut.
 */
static void draw_query(const struct editor *e, const struct view *v, struct str behind,
                       bool may_cut, struct lines *ret, struct screen_cursor *cursor)
{
    const struct editor_search *s = &e->search;
    const char *label = s->failed ? "no match: " : "search: ";
    struct lines query = LINES_INIT; /* as it will look */
    int room;

    if (v->cols >= 20)
        lines_puts(ret, s->failed ? ROLE_WARNING : ROLE_ACCENT, label);
    room = v->cols - lines_column(ret) - 1;
    lines_put(&query, STYLE(ROLE_TEXT), buf_str(&s->query));
    lines_end(&query);
    lines_put(ret, STYLE(ROLE_TEXT), query_end(lines_at(&query, 0).text, room > 0 ? room : 0));
    lines_release(&query);
    *cursor = (struct screen_cursor){lines_count(ret), lines_column(ret), true};
    room = v->cols - lines_column(ret) - 4;
    if (behind.len && room > 0 && (may_cut || room >= width_of(behind))) {
        lines_spaces(ret, STYLE(ROLE_TEXT), 3);
        lines_put(ret, STYLE(ROLE_FAINT), width_first(behind, room));
    }
    lines_end(ret);
}

/* The match, in place of the text; in one row, after the search text. */
static void draw_search(struct editor *e, const struct view *v, size_t rows, struct lines *ret,
                        struct screen_cursor *cursor)
{
    struct editor_text found;
    struct drawing d = {&found, {0}, text_width(v), ret};
    struct str text = STR("");

    if (e->search.place != SIZE_MAX)
        editor_past_get(&e->past, e->search.place, &text);
    if (rows == 1) {
        draw_query(e, v, str_first(text, str_chr(text, '\n')), /*may_cut=*/true, ret, cursor);
        return;
    }
    editor_text_init(&found);
    editor_text_insert(&found, text);
    found.cursor = editor_move_snap(&found, e->search.at < found.bytes.len ? e->search.at : 0);
    if (!e->search.failed)
        d.set_off =
            (struct span_of){found.cursor, found.cursor + e->search.query.len, STYLE(ROLE_MATCH)};
    if (e->search.place == SIZE_MAX) {
        d.text = &e->text;
        d.set_off = (struct span_of){0};
    }
    draw_text(e, v, &d, rows - 1, cursor);
    editor_text_release(&found);
    draw_query(e, v, STR("Ctrl-R older, Enter takes it, Esc back"), /*may_cut=*/false, ret, cursor);
}

/* --- all of it ------------------------------------------------------------------------------- */

void editor_draw(struct editor *e, const struct view *v, struct str hint, struct lines *ret,
                 struct screen_cursor *ret_cursor)
{
    struct drawing d = {&e->text, {0}, text_width(v), ret};
    size_t rows = v->rows > 1 && !v->plain ? (size_t)v->rows : 1; /* plain: the cursor's row */
    size_t below = editor_list_rows(&e->list);
    bool has_note = e->note && !below && rows > 1;

    e->width = d.width;
    e->rows = 0;
    if (e->search.is_open) {
        draw_search(e, v, rows, ret, ret_cursor);
        e->rows++; /* the question */
        return;
    }
    if (below >= rows)
        below = rows - 1;
    if (editor_vim_selection(e, &d.set_off.from, &d.set_off.to))
        d.set_off.style = STYLE_WITH(ROLE_SELECTED, STYLE_REVERSE);
    if (editor_is_empty(e))
        draw_hint(e, v, hint, ret, ret_cursor);
    else
        draw_text(e, v, &d, rows - below - has_note, ret_cursor);
    if (below)
        editor_list_draw(&e->list, v, below, ret);
    if (has_note) {
        lines_put(ret, STYLE(ROLE_WARNING), width_first(str_of(e->note), v->cols));
        lines_end(ret);
    }
}

size_t editor_text_rows(const struct editor *e)
{
    return e->rows;
}
