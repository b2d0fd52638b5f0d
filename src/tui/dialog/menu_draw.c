/*
 * menu_draw: a window on the rows of a menu. It is found from the cursor upwards and filled
 * downwards, each row drawn into scratch lines to learn how high it is. UI thread.
 */
#include <stdio.h>

#include "tui/complete/fuzzy.h"
#include "tui/dialog/menu.h"
#include "tui/dialog/menu_state.h"
#include "tui/screen/width.h"

#define MIN_DETAIL 10 /* least cells for a detail shown after a label */

static const char *cursor_mark(const struct view *v, bool here)
{
    if (v->plain)
        return "";
    if (!here)
        return "  ";
    return v->ascii ? "> " : "❯ ";
}

/* "❯ 2. [x] " */
static void put_mark(const struct menu *m, const struct view *v, size_t i, struct style style,
                     struct lines *to)
{
    const struct row *r = menu_row_seen(m, i);

    lines_put(to, style, str_of(cursor_mark(v, i == m->at)));
    if (m->flags & MENU_NUMBERS && i < 9)
        lines_putf(to, style, "%zu. ", i + 1);
    if (m->flags & MENU_CHECKS && !r->is.no_check)
        lines_puts(to, r->is_checked ? ROLE_GOOD : style.role, r->is_checked ? "[x] " : "[ ] ");
}

/* How many bytes here match the filter. */
static size_t found_here(struct str filter, struct str text)
{
    struct str word;

    while (str_cut(&filter, ' ', &word)) {
        if (word.len && str_eq_nocase(str_first(text, word.len), word))
            return word.len;
    }
    return 0;
}

/* The label, with matches of the filter marked. */
static void put_label(const struct menu *m, struct str label, struct style style, struct lines *to)
{
    unsigned short places[FUZZY_MAX_QUERY];
    size_t count = m->is_fuzzy ? fuzzy_places(buf_str(&m->filter), label, places) : 0;
    struct style found = style;
    size_t next = 0;

    found.role = ROLE_MATCH;
    for (size_t at = 0; at < label.len;) {
        int cells;
        size_t len = found_here(buf_str(&m->filter), str_from(label, at));
        bool is_found = len > 0;

        if (!is_found)
            len = width_next(str_from(label, at), &cells);
        while (next < count && places[next] < at)
            next++;
        if (m->is_fuzzy)
            is_found = next < count && places[next] < at + len;
        lines_put(to, is_found ? found : style, str_first(str_from(label, at), len));
        at += len;
    }
}

static void put_words(const struct row *r, const struct view *v, struct lines *to)
{
    if (r->is.is_current)
        lines_puts(to, ROLE_GOOD, v->ascii || v->plain ? " (current)" : " ✓");
    if (v->plain && r->is.is_off)
        lines_puts(to, ROLE_FAINT, " (not available)");
}

enum fit {
    FIT_CUT,      /* one row, its end cut */
    FIT_SQUEEZED, /* one row, its middle left out */
    FIT_WORDS,    /* as many rows as it takes */
    FIT_LETTERS,  /* the same of a name, which has no words to break between */
};

/* Turns the text being edited into rows. */
static void fit(struct menu *m, const struct view *v, enum fit how, int indent, struct lines *ret)
{
    int cols = v->cols;
    struct lines blank = LINES_INIT;
    struct line l;

    lines_end(&m->scratch);
    l = lines_at(&m->scratch, lines_count(&m->scratch) - 1);
    if (how == FIT_WORDS || how == FIT_LETTERS) {
        struct wrap wrap = {.cells = cols, .anywhere = how == FIT_LETTERS};

        lines_end(&blank);
        lines_spaces(&blank, STYLE(ROLE_TEXT), indent < cols / 2 ? indent : 0);
        lines_end(&blank);
        wrap.first = lines_at(&blank, 0);
        wrap.rest = lines_at(&blank, 1);
        lines_wrap(ret, l, &wrap);
    } else if (how == FIT_SQUEEZED) {
        lines_add_squeezed(ret, l, cols, v->ascii);
    } else {
        lines_add_cut(ret, l, cols, v->ascii);
    }
    lines_release(&blank);
}

/* The detail on separate rows. */
static void draw_below(struct menu *m, const struct view *v, const struct row *r, int indent,
                       struct lines *ret)
{
    lines_clear(&m->scratch);
    lines_spaces(&m->scratch, STYLE(ROLE_TEXT), indent < v->cols / 2 ? indent : 0);
    lines_put(&m->scratch, STYLE(ROLE_FAINT), r->is.detail);
    fit(m, v, FIT_WORDS, indent, ret);
}

/* "anthropic/claude-sonnet-5", "/statusline": told apart by their ends. */
static bool is_name(struct str label)
{
    for (size_t i = 0; i < label.len; i++) {
        if (label.ptr[i] <= ' ' || label.ptr[i] > '~')
            return false;
    }
    return true;
}

/* The mark of the one in force stands at the end, too. */
static enum fit row_fit(const struct row *r, bool whole, bool shows_detail)
{
    bool name = is_name(r->is.label);

    if (whole)
        return name && !shows_detail ? FIT_LETTERS : FIT_WORDS;
    return (name || r->is.is_current) && !shows_detail ? FIT_SQUEEZED : FIT_CUT;
}

/* Details stand in a column, where the labels leave room for one and nothing is wrapped. */
static int gap_to_detail(const struct menu *m, const struct view *v, int indent, int used)
{
    int column = indent + m->widest + 2;

    if (m->flags & MENU_WHOLE || v->plain || column > v->cols * 3 / 5 || column < used + 2)
        return 2;
    return column - used;
}

static void draw_row(struct menu *m, const struct view *v, size_t i, struct lines *ret)
{
    const struct row *r = menu_row_seen(m, i);
    bool here = i == m->at;
    struct style style = STYLE(r->is.is_off ? ROLE_FAINT : here ? ROLE_SELECTED : ROLE_TEXT);
    bool whole = m->flags & MENU_WHOLE || here || v->plain;
    bool shows_detail;
    int indent;
    int used;
    bool below;

    lines_clear(&m->scratch);
    put_mark(m, v, i, style, &m->scratch);
    indent = lines_column(&m->scratch);
    if (m->filter.len)
        put_label(m, r->is.label, style, &m->scratch);
    else
        lines_put(&m->scratch, style, r->is.label);
    put_words(r, v, &m->scratch);
    used = lines_column(&m->scratch);
    below = r->is.detail.len && (m->flags & MENU_WHOLE ? used + 2 + width_of(r->is.detail) > v->cols
                                                       : used + 2 + MIN_DETAIL > v->cols);
    shows_detail = r->is.detail.len && !below;
    if (shows_detail) {
        lines_spaces(&m->scratch, STYLE(ROLE_TEXT), gap_to_detail(m, v, indent, used));
        lines_put(&m->scratch, STYLE(ROLE_FAINT), r->is.detail);
        whole = whole && (m->flags & MENU_WHOLE || v->plain);
    }
    fit(m, v, row_fit(r, whole, shows_detail), indent, ret);
    if (below && (here || m->flags & MENU_WHOLE || v->plain))
        draw_below(m, v, r, indent, ret);
}

static size_t row_height(struct menu *m, const struct view *v, size_t i, struct lines *scratch)
{
    lines_clear(scratch);
    draw_row(m, v, i, scratch);
    return lines_count(scratch);
}

/* The first row such that the one under the cursor is still in the window. */
static void find_top(struct menu *m, const struct view *v, size_t rows, struct lines *scratch)
{
    size_t top = m->at;
    size_t used = row_height(m, v, m->at, scratch);

    if (m->top > m->at)
        m->top = m->at;
    while (top > m->top) {
        used += row_height(m, v, top - 1, scratch);
        if (used > rows)
            break;
        top--;
    }
    m->top = top;
}

static void draw_filter(struct menu *m, const struct view *v, struct lines *ret,
                        struct screen_cursor *ret_cursor)
{
    const char *mark = v->ascii ? "/ " : "⌕ ";
    struct str text = buf_str(&m->filter);
    int room = v->cols - width_of(str_of(mark)) - 1;
    int cells;

    while (text.len && width_of(text) > room)
        text = str_from(text, width_next(text, &cells));
    lines_clear(&m->scratch);
    lines_puts(&m->scratch, ROLE_ACCENT, mark);
    lines_put(&m->scratch, STYLE(ROLE_TEXT), text);
    ret_cursor->row = lines_count(ret);
    ret_cursor->col = lines_column(&m->scratch);
    ret_cursor->shown = ret_cursor->col < v->cols;
    if (!m->filter.len)
        lines_puts(&m->scratch, ROLE_FAINT, "type to search");
    fit(m, v, FIT_CUT, 0, ret);
}

static void draw_note(struct menu *m, const struct view *v, const char *text, struct lines *ret)
{
    lines_clear(&m->scratch);
    lines_puts(&m->scratch, ROLE_FAINT, text);
    fit(m, v, FIT_CUT, 0, ret);
}

static void draw_more(struct menu *m, const struct view *v, size_t end, struct lines *ret)
{
    char text[80];

    snprintf(text, sizeof(text), v->ascii || v->plain ? "  %zu above, %zu below" : "  ↑ %zu  ↓ %zu",
             m->top, m->seen.len - end);
    draw_note(m, v, text, ret);
}

void menu_draw(struct menu *m, const struct view *v, struct lines *ret,
               struct screen_cursor *ret_cursor)
{
    struct lines row = LINES_INIT;
    size_t rows = v->rows > 0 ? (size_t)v->rows : 1;
    size_t used = 0;
    bool has_more;
    size_t i;

    if (m->flags & MENU_FILTER && rows > 1 && !v->plain) {
        draw_filter(m, v, ret, ret_cursor);
        rows--;
    }
    if (!m->seen.len) {
        draw_note(m, v, "  nothing like that", ret);
        return;
    }
    /* A line for how many there are beside, when there are: first without it. */
    find_top(m, v, rows, &row);
    for (i = m->top; i < m->seen.len && used <= rows; i++)
        used += row_height(m, v, i, &row);
    has_more = (m->top || used > rows) && rows > 2;
    if (has_more) {
        rows--;
        find_top(m, v, rows, &row);
    }
    for (i = m->top, used = 0; i < m->seen.len; i++) {
        size_t height = row_height(m, v, i, &row);

        if (used && used + height > rows)
            break;
        for (size_t j = 0; j < height && used + j < rows; j++)
            lines_add(ret, lines_at(&row, j));
        used += height;
    }
    m->page = i - m->top;
    if (has_more)
        draw_more(m, v, i, ret);
    lines_release(&row);
}

void menu_prompt(struct menu *m, const struct view *v, struct lines *ret)
{
    size_t at = menu_at(m);

    lines_clear(&m->scratch);
    if (m->flags & MENU_FILTER)
        lines_putf(&m->scratch, STYLE(ROLE_ACCENT), "search: %s", buf_cstr(&m->filter));
    if (at != MENU_NOWHERE && !m->rows.ptr[at].is.is_off) {
        lines_puts(&m->scratch, ROLE_ACCENT, m->flags & MENU_FILTER ? ", Enter: " : "Enter: ");
        lines_put(&m->scratch, STYLE(ROLE_ACCENT), m->rows.ptr[at].is.label);
    }
    fit(m, v, FIT_CUT, 0, ret);
}
