/*
 * paint: a line becomes bytes. Runs of ASCII are copied; only the rest is looked at by the
 * grapheme. UI thread.
 */
#include "tui/screen/paint.h"

#include "base/buf.h"
#include "base/mem.h"
#include "tui/screen/width.h"

struct paint_instead {
    const char *of, *by;
};

/* One cell for one cell. Boxes and marks, which are ours, mostly. */
static const struct paint_instead paint_marks[] = {
    {"\u2500", "-"}, {"\u2501", "-"}, {"\u2502", "|"}, {"\u2503", "|"}, {"\u250c", "+"},
    {"\u2510", "+"}, {"\u2514", "+"}, {"\u2518", "+"}, {"\u251c", "+"}, {"\u2524", "+"},
    {"\u252c", "+"}, {"\u2534", "+"}, {"\u253c", "+"}, {"\u256d", "+"}, {"\u256e", "+"},
    {"\u256f", "+"}, {"\u2570", "+"}, {"\u2022", "*"}, {"\u25cf", "*"}, {"\u25cb", "o"},
    {"\u00b7", "."}, {"\u22ef", "."}, {"\u276f", ">"}, {"\u203a", ">"}, {"\u2192", ">"},
    {"\u2190", "<"}, {"\u2191", "^"}, {"\u2193", "v"}, {"\u2713", "+"}, {"\u2714", "+"},
    {"\u2717", "x"}, {"\u2718", "x"}, {"\u23bf", "|"}, {"\u258f", "|"}, {"\u2588", "#"},
    {"\u2591", "."},
};

/* What stands in people's text. */
static const struct paint_instead paint_signs[] = {
    {"\u201c", "\""}, {"\u201d", "\""}, {"\u2018", "'"}, {"\u2019", "'"},
    {"\u2013", "-"},  {"\u2014", "-"},  {"\u00a0", " "}, {"\u2026", "."},
};

static bool paint_from(struct buf *out, struct str grapheme, const struct paint_instead *list,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_is(grapheme, list[i].of)) {
            buf_adds(out, list[i].by);
            return true;
        }
    }
    return false;
}

/* False: it goes out as it is. */
static bool paint_instead(const struct paint *p, struct str grapheme, int cells)
{
    if (paint_from(p->out, grapheme, paint_marks, ARRAY_LEN(paint_marks)))
        return true;
    if (p->able->letters)
        return false;
    if (!paint_from(p->out, grapheme, paint_signs, ARRAY_LEN(paint_signs))) {
        while (cells-- > 0)
            buf_addc(p->out, '?');
    }
    return true;
}

/* The bytes for one grapheme that is not ASCII; col: after it. */
static void paint_grapheme(const struct paint *p, struct str grapheme, int cells, int col)
{
    bool is_other = grapheme.len > 1 || (unsigned char)grapheme.ptr[0] >= 0x80;

    if (!p->able->unicode && is_other && paint_instead(p, grapheme, cells))
        return;
    buf_add(p->out, grapheme);
    if (!width_is_sure(grapheme) && !p->able->is_plain)
        buf_addf(p->out, "\033[%dG", col + 1);
}

static size_t paint_easy(struct str s)
{
    size_t at = 0;

    while (at < s.len && (unsigned char)s.ptr[at] < 0x80)
        at++;
    /* The last one may carry marks. */
    return at && at < s.len ? at - 1 : at;
}

/* Text in one style; returns the column after it. */
static int paint_run(const struct paint *p, struct str text, int col)
{
    size_t at = 0;

    while (at < text.len) {
        struct str rest = str_from(text, at);
        size_t len = paint_easy(rest);
        int cells = (int)len;

        if (len) {
            buf_add(p->out, str_first(rest, len));
        } else {
            len = width_next(rest, &cells);
            paint_grapheme(p, str_first(rest, len), cells, col + cells);
        }
        col += cells;
        at += len;
    }
    return col;
}

/* A piece of a line in one style, of which a cell may be marked. */
static int paint_piece(const struct paint *p, struct style *now, struct style style,
                       struct str text, int col, int mark)
{
    struct style marked = style;
    struct str before;
    struct str after;
    int cells;

    theme_write(p->theme, p->able->colors, now, style, p->out);
    *now = style;
    if (mark < col) /* no piece's, or another's */
        return paint_run(p, text, col);
    before = width_first(text, mark - col);
    after = str_from(text, before.len);
    if (!after.len)
        return paint_run(p, text, col);
    col = paint_run(p, before, col);
    marked.flags ^= STYLE_REVERSE;
    theme_write(p->theme, p->able->colors, now, marked, p->out);
    col = paint_run(p, str_first(after, width_next(after, &cells)), col);
    theme_write(p->theme, p->able->colors, &marked, style, p->out);
    return paint_run(p, str_from(after, width_next(after, &cells)), col);
}

static void paint_link(const struct paint *p, struct str *now, struct str target)
{
    if (!p->able->links || str_eq(*now, target))
        return;
    buf_adds(p->out, "\033]8;;");
    buf_add(p->out, target);
    buf_adds(p->out, "\033\\");
    *now = target;
}

void paint_line(const struct paint *p, struct line l, size_t from, int col, int mark)
{
    struct style now = STYLE(ROLE_TEXT);
    struct str link = {0};
    size_t i = 0;

    while (i + 1 < l.span_count && l.spans[i + 1].from <= from)
        i++;
    while (from < l.text.len) {
        struct style style = l.span_count ? l.spans[i].style : STYLE(ROLE_TEXT);
        size_t stop = i + 1 < l.span_count ? l.spans[i + 1].from : l.text.len;

        paint_link(p, &link, line_link(l, style));
        col = paint_piece(p, &now, style, str_make(l.text.ptr + from, stop - from), col, mark);
        from = stop;
        i++;
    }
    paint_link(p, &link, (struct str){0});
    if (mark >= col) {
        theme_write(p->theme, p->able->colors, &now, STYLE(ROLE_TEXT), p->out);
        for (; col < mark; col++)
            buf_addc(p->out, ' ');
        now = STYLE_WITH(ROLE_TEXT, STYLE_REVERSE);
        theme_write(p->theme, p->able->colors, &STYLE(ROLE_TEXT), now, p->out);
        buf_addc(p->out, ' ');
    }
    theme_write(p->theme, p->able->colors, &now, STYLE(ROLE_TEXT), p->out);
}

void paint_text(const struct paint *p, struct str text)
{
    paint_run(p, text, 0);
}
