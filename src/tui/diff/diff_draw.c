/*
 * diff_draw: every line is colored by its language, laid on the background of its kind, marked
 * where its words differ from its partner's, and wrapped beside its number. One line at a time, and
 * only as far as the view reaches, so a large change costs only its visible part. UI thread.
 */
#include "tui/diff/diff_draw.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tui/diff/diff_view.h"
#include "tui/diff/diff_words.h"
#include "tui/markdown/code.h"

#define NARROW 40      /* cells: below, there are no numbers */
#define MAX_LINE 4000  /* bytes of a line that are shown, unless all is */
#define LOOK_AHEAD 400 /* lines beyond the window, in which partners are found */

void diff_draw_begin(struct diff_draw *d, const struct diff_view *view, size_t last_number)
{
    *d = (struct diff_draw){
        .view = *view,
        .language = code_language(view->path),
        .budget = DIFF_WORDS_BUDGET,
        .rows = LINES_INIT,
        .colored = LINES_INIT,
        .laid = LINES_INIT,
        .front = LINES_INIT,
        .marks = BUF_INIT(BUF_NO_LIMIT),
    };
    d->colored.shows_all = true;
    if (view->cols < NARROW)
        return;
    d->digits = 1;
    for (; last_number >= 10 && d->digits < 8; last_number /= 10)
        d->digits++;
}

size_t diff_draw_room(const struct diff_draw *d)
{
    return d->view.max_rows ? d->view.max_rows + LOOK_AHEAD : SIZE_MAX;
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
    struct str text = d->view.max_rows ? str_clip(l->text, MAX_LINE) : l->text;

    if (kind_role(l->kind) == ROLE_TEXT && l->kind != ' ') {
        lines_put(to, STYLE(ROLE_FAINT), text);
    } else {
        code_draw(d->language, text, state, to);
        if (text.len < l->text.len)
            lines_puts(to, ROLE_FAINT, d->view.ascii ? "..." : "…");
    }
    lines_end(to);
}

/* The same on the background of its kind; marks: the bytes that differ; NULL: none does. */
static void lay_line(struct line l, char kind, const char *marks, struct lines *to)
{
    size_t span = 0;
    size_t at = 0;

    if (kind_role(kind) == ROLE_TEXT) {
        lines_add(to, l);
        return;
    }
    while (at < l.text.len) {
        bool is_marked = marks && marks[at];
        size_t end = at + 1;
        struct style style = STYLE(ROLE_TEXT);

        while (span < l.span_count && l.spans[span].from <= at)
            span++;
        if (span)
            style = l.spans[span - 1].style;
        while (end < l.text.len && (marks && marks[end]) == is_marked &&
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
    struct wrap wrap = {.cells = d->view.cols, .anywhere = true};

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
    d->is_full = d->view.max_rows && lines_count(&d->rows) > d->view.max_rows;
}

static void draw_gap(struct diff_draw *d)
{
    lines_spaces(&d->rows, STYLE(ROLE_FAINT), d->digits ? d->digits - 1 : 0);
    lines_puts(&d->rows, ROLE_FAINT, d->view.ascii ? "..." : "⋯");
    lines_end(&d->rows);
    vec_push(&d->line_of, d->line_count);
}

static size_t run_end(const struct diff_line *lines, size_t count, size_t from, char kind)
{
    while (from < count && lines[from].kind == kind)
        from++;
    return from;
}

/* The change that begins here; none: mid and end are where it would be. */
static void find_change(struct diff_draw *d)
{
    d->from = d->at;
    d->mid = run_end(d->lines, d->count, d->from, '-');
    d->end = run_end(d->lines, d->count, d->mid, '+');
    d->ahead = d->states[1];
    d->marks_of.len = 0;
    buf_clear(&d->marks);
}

static void draw_context(struct diff_draw *d)
{
    color_line(d, &d->lines[d->at], &d->states[1], &d->colored);
    d->states[0] = d->states[1];
    draw_line(d, &d->lines[d->at], lines_at(&d->colored, 0), /*marks=*/NULL);
}

/* Each has the one in the same place of the other run as its partner; what differs in that is kept
 * until it is drawn itself. */
static void draw_removed(struct diff_draw *d)
{
    size_t partner = d->mid + (d->at - d->from);
    struct line old;
    struct str new;
    char *marks;

    color_line(d, &d->lines[d->at], &d->states[0], &d->colored);
    if (partner < d->end)
        color_line(d, &d->lines[partner], &d->ahead, &d->colored);
    old = lines_at(&d->colored, 0);
    if (partner >= d->end) {
        draw_line(d, &d->lines[d->at], old, /*marks=*/NULL);
        return;
    }
    new = lines_at(&d->colored, 1).text;
    vec_push(&d->marks_of, d->marks.len);
    marks = buf_room(&d->marks, old.text.len + new.len);
    memset(marks, 0, old.text.len + new.len);
    if (old.text.len && new.len)
        diff_words(old.text, new, marks + new.len, marks, &d->budget);
    buf_grown(&d->marks, new.len);
    draw_line(d, &d->lines[d->at], old, marks + new.len);
}

static void draw_added(struct diff_draw *d)
{
    size_t i = d->at - d->mid;
    const char *marks = i < d->marks_of.len ? d->marks.ptr + d->marks_of.ptr[i] : NULL;

    color_line(d, &d->lines[d->at], &d->states[1], &d->colored);
    draw_line(d, &d->lines[d->at], lines_at(&d->colored, 0), marks);
}

void diff_draw_open(struct diff_draw *d, const struct diff_line *lines, size_t count)
{
    if (lines_count(&d->rows))
        draw_gap(d);
    d->lines = lines;
    d->count = count;
    d->at = d->end = 0;
    d->states[0] = d->states[1] = 0;
}

bool diff_draw_go(struct diff_draw *d, size_t rows)
{
    for (; d->at < d->count && !d->is_full && lines_count(&d->rows) < rows; d->at++) {
        lines_clear(&d->colored);
        if (d->at >= d->end)
            find_change(d);
        if (d->at >= d->end)
            draw_context(d);
        else if (d->at < d->mid)
            draw_removed(d);
        else
            draw_added(d);
    }
    return d->at == d->count;
}

void diff_draw_hunk(struct diff_draw *d, const struct diff_line *lines, size_t count)
{
    diff_draw_open(d, lines, count);
    (void)diff_draw_go(d, SIZE_MAX);
}

/* Text that is as wide as it has bytes, and the most that its tabs may add. */
static bool text_is_short(struct str text, int room)
{
    int most = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\t')
            most += 8;
        else if (text.ptr[i] >= ' ' && text.ptr[i] < 0x7f)
            most++;
        else
            return false;
        if (most > room)
            return false;
    }
    return true;
}

size_t diff_draw_count(struct diff_draw *d, const struct diff_line *lines, size_t count)
{
    static const struct diff_line any = {' ', 0, STR_INIT("x")}; /* all are as wide in front */
    struct wrap wrap = {.cells = d->view.cols, .anywhere = true};
    size_t rows = 0;
    int room;

    lines_clear(&d->front);
    put_front(d, &any, /*is_first=*/true, &d->front);
    wrap.first = wrap.rest = lines_at(&d->front, 0);
    room = wrap.cells - line_width(wrap.first);
    for (size_t i = 0; i < count; i++) {
        int state = 0;

        if (text_is_short(lines[i].text, room)) {
            rows++;
            continue;
        }
        lines_clear(&d->colored);
        color_line(d, &lines[i], &state, &d->colored);
        rows += lines_wrap_count(lines_at(&d->colored, 0), &wrap);
    }
    return rows;
}

static void put_more(const struct diff_view *v, size_t lines, struct lines *to)
{
    CLEANUP(lines_release) struct lines row = LINES_INIT;

    lines_putf(&row, STYLE(ROLE_FAINT), "%s %zu more line%s", v->ascii ? "..." : "…", lines,
               lines == 1 ? "" : "s");
    if (v->cols >= NARROW && !v->is_cut)
        lines_puts(&row, ROLE_FAINT, " (Ctrl-O)");
    lines_end(&row);
    lines_add_cut(to, lines_at(&row, 0), v->cols, v->ascii);
}

void diff_draw_end(struct diff_draw *d, size_t total, struct lines *ret)
{
    size_t max = d->view.max_rows;
    size_t rows = lines_count(&d->rows);

    if (max && (rows > max || d->line_count < total)) {
        size_t shown = rows < max - 1 ? rows : max - 1;
        size_t complete = shown < rows ? d->line_of.ptr[shown] : d->line_count;

        for (size_t i = 0; i < shown; i++)
            lines_add(ret, lines_at(&d->rows, i));
        put_more(&d->view, total - complete, ret);
    } else {
        lines_add_all(ret, &d->rows);
    }
    diff_draw_release(d);
}

void diff_draw_release(struct diff_draw *d)
{
    lines_release(&d->rows);
    lines_release(&d->colored);
    lines_release(&d->laid);
    lines_release(&d->front);
    vec_release(&d->line_of);
    vec_release(&d->marks_of);
    buf_release(&d->marks);
}
