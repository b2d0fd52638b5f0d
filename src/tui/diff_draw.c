/*
 * diff_draw: every line is colored by its language, laid on the background of its kind, marked
 * where its words differ from its partner's, and wrapped beside its number. It stops one row
 * behind what may be shown, so a large change costs what is seen of it. UI thread.
 */
#include "tui/diff_draw.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tui/code.h"
#include "tui/diff_view.h"
#include "tui/diff_words.h"

#define NARROW 40      /* cells: below, there are no numbers */
#define MAX_LINE 4000  /* bytes of a line that are shown, unless all is */
#define LOOK_AHEAD 400 /* lines beyond the window, in which partners are found */

void diff_draw_begin(struct diff_draw *d, const struct diff_view *view, size_t last_number)
{
    *d = (struct diff_draw){
        .view = view,
        .language = code_language(view->path),
        .budget = DIFF_WORDS_BUDGET,
        .rows = LINES_INIT,
        .laid = LINES_INIT,
        .front = LINES_INIT,
    };
    d->rows.shows_all = d->laid.shows_all = true;
    if (view->cols < NARROW)
        return;
    d->digits = 1;
    for (; last_number >= 10 && d->digits < 8; last_number /= 10)
        d->digits++;
}

size_t diff_draw_room(const struct diff_draw *d)
{
    return d->view->max_rows ? d->view->max_rows + LOOK_AHEAD : SIZE_MAX;
}

static enum style_role kind_role(char kind)
{
    return kind == '+' ? ROLE_ADDED : kind == '-' ? ROLE_REMOVED : ROLE_TEXT;
}

static enum style_role word_role(char kind)
{
    return kind == '+' ? ROLE_ADDED_WORD : ROLE_REMOVED_WORD;
}

/* One line with the colors of its language, as line i of `to`. */
static void color_line(const struct diff_draw *d, const struct diff_line *l, int *state,
                       struct lines *to)
{
    struct str text = d->view->max_rows ? str_clip(l->text, MAX_LINE) : l->text;

    if (kind_role(l->kind) == ROLE_TEXT && l->kind != ' ') {
        lines_put(to, STYLE(ROLE_FAINT), text);
    } else {
        code_draw(d->language, text, state, to);
        if (text.len < l->text.len)
            lines_puts(to, ROLE_FAINT, d->view->ascii ? "..." : "…");
    }
    lines_end(to);
}

/* The same on the background of its kind; marks: the bytes that differ. */
static void lay_line(struct line l, char kind, const char *marks, struct lines *to)
{
    size_t span = 0;
    size_t at = 0;

    if (kind_role(kind) == ROLE_TEXT) {
        lines_add(to, l);
        return;
    }
    while (at < l.text.len) {
        bool is_marked = marks[at];
        size_t end = at + 1;
        struct style style = STYLE(ROLE_TEXT);

        while (span < l.span_count && l.spans[span].from <= at)
            span++;
        if (span)
            style = l.spans[span - 1].style;
        while (end < l.text.len && (bool)marks[end] == is_marked &&
               !(span < l.span_count && l.spans[span].from == end))
            end++;
        style.bg = COLOR_ROLE | (is_marked ? word_role(kind) : kind_role(kind));
        lines_put(to, style, str_first(str_from(l.text, at), end - at));
        at = end;
    }
    lines_end(to);
}

static void put_front(const struct diff_draw *d, const struct diff_line *l, bool is_first,
                      struct lines *to)
{
    enum style_role role = kind_role(l->kind);
    bool has_sign = role != ROLE_TEXT;

    if (d->digits && is_first && (has_sign || l->kind == ' '))
        lines_putf(to, STYLE(ROLE_FAINT), "%*zu", d->digits, l->number);
    else
        lines_spaces(to, STYLE(ROLE_TEXT), d->digits);
    if (has_sign && is_first) {
        lines_spaces(to, STYLE(ROLE_TEXT), d->digits ? 1 : 0);
        lines_put(to, STYLE(role), str_make(&l->kind, 1));
    } else if (l->text.len) {
        lines_spaces(to, STYLE(ROLE_TEXT), d->digits ? 2 : 1);
    }
    if (l->text.len)
        lines_put(to, STYLE(role), STR(" "));
    lines_end(to);
}

static void draw_line(struct diff_draw *d, const struct diff_line *l, struct line colored,
                      const char *marks)
{
    struct wrap wrap = {.cells = d->view->cols, .anywhere = true};

    lines_clear(&d->front);
    put_front(d, l, /*is_first=*/true, &d->front);
    put_front(d, l, /*is_first=*/false, &d->front);
    lines_clear(&d->laid);
    lay_line(colored, l->kind, marks, &d->laid);
    wrap.first = lines_at(&d->front, 0);
    wrap.rest = lines_at(&d->front, 1);
    lines_wrap(&d->rows, lines_at(&d->laid, 0), &wrap);
    while (d->line_of.len < lines_count(&d->rows))
        vec_push(&d->line_of, d->line_count);
    d->line_count++;
    d->is_full = d->view->max_rows && lines_count(&d->rows) > d->view->max_rows;
}

static void draw_gap(struct diff_draw *d)
{
    lines_spaces(&d->rows, STYLE(ROLE_FAINT), d->digits ? d->digits - 1 : 0);
    lines_puts(&d->rows, ROLE_FAINT, d->view->ascii ? "..." : "⋯");
    lines_end(&d->rows);
    vec_push(&d->line_of, d->line_count);
}

static size_t run_end(const struct diff_line *lines, size_t count, size_t from, char kind)
{
    while (from < count && lines[from].kind == kind)
        from++;
    return from;
}

/* Lines from..mid are removed, mid..end added. Each has the one in the same place of the other run
 * as its partner. */
static void draw_change(struct diff_draw *d, const struct diff_line *lines, size_t from, size_t mid,
                        size_t end, int states[2])
{
    CLEANUP(lines_release) struct lines colored = LINES_INIT;
    CLEANUP(mem_freep) char *marks = NULL; /* one for each byte of all these lines */

    for (size_t i = from; i < end; i++)
        color_line(d, &lines[i], &states[i >= mid], &colored);
    marks = mem_zalloc(colored.text.len + 1);
    for (size_t i = from; i < mid && mid + (i - from) < end; i++) {
        struct str old = lines_at(&colored, i - from).text;
        struct str new = lines_at(&colored, mid - from + (i - from)).text;

        if (old.len && new.len)
            diff_words(old, new, marks + (old.ptr - colored.text.ptr),
                       marks + (new.ptr - colored.text.ptr), &d->budget);
    }
    for (size_t i = from; i < end && !d->is_full; i++) {
        struct line l = lines_at(&colored, i - from);

        draw_line(d, &lines[i], l, l.text.len ? marks + (l.text.ptr - colored.text.ptr) : marks);
    }
}

void diff_draw_hunk(struct diff_draw *d, const struct diff_line *lines, size_t count)
{
    CLEANUP(lines_release) struct lines colored = LINES_INIT;
    int states[2] = {0, 0}; /* of the old and the new text */
    size_t i = 0;

    if (lines_count(&d->rows))
        draw_gap(d);
    while (i < count && !d->is_full) {
        size_t mid = run_end(lines, count, i, '-');
        size_t end = run_end(lines, count, mid, '+');

        if (end > i) {
            draw_change(d, lines, i, mid, end, states);
            i = end;
            continue;
        }
        lines_clear(&colored);
        color_line(d, &lines[i], &states[1], &colored);
        states[0] = states[1];
        draw_line(d, &lines[i], lines_at(&colored, 0), NULL);
        i++;
    }
}

static void put_more(const struct diff_view *v, size_t lines, struct lines *to)
{
    CLEANUP(lines_release) struct lines row = LINES_INIT;

    lines_putf(&row, STYLE(ROLE_FAINT), "%s %zu more line%s", v->ascii ? "..." : "…", lines,
               lines == 1 ? "" : "s");
    if (v->cols >= NARROW)
        lines_puts(&row, ROLE_FAINT, " (Ctrl-O)");
    lines_end(&row);
    lines_add_cut(to, lines_at(&row, 0), v->cols, v->ascii);
}

void diff_draw_end(struct diff_draw *d, size_t total, struct lines *ret)
{
    size_t max = d->view->max_rows;
    size_t rows = lines_count(&d->rows);

    if (max && (rows > max || d->line_count < total)) {
        size_t shown = rows < max - 1 ? rows : max - 1;
        size_t complete = shown < rows ? d->line_of.ptr[shown] : d->line_count;

        for (size_t i = 0; i < shown; i++)
            lines_add(ret, lines_at(&d->rows, i));
        put_more(d->view, total - complete, ret);
    } else {
        lines_add_all(ret, &d->rows);
    }
    lines_release(&d->rows);
    lines_release(&d->laid);
    lines_release(&d->front);
    vec_release(&d->line_of);
}
