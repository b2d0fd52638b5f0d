/*
 * line_compare: whether two lines show the same, and how far. One thread.
 */
#include "tui/screen/line.h"
#include "tui/screen/width.h"

bool line_eq(struct line a, struct line b)
{
    if (!str_eq(a.text, b.text) || a.span_count != b.span_count)
        return false;
    for (size_t i = 0; i < a.span_count; i++) {
        struct style x = a.spans[i].style;
        struct style y = b.spans[i].style;

        if (a.spans[i].from != b.spans[i].from || !str_eq(line_link(a, x), line_link(b, y)))
            return false;
        x.link = y.link = 0;
        if (!style_eq(x, y))
            return false;
    }
    return true;
}

/* Whether a grapheme ends here: what follows may be a mark that belongs to it. */
static bool line_is_whole(struct line l, size_t at)
{
    int cells;
    size_t before = width_prev(l.text, at, &cells);

    return at == l.text.len || !before ||
           width_next(str_from(l.text, at - before), &cells) == before;
}

/* One grapheme less. */
static size_t line_step(struct line l, size_t at, int *col)
{
    int cells;
    size_t before = width_prev(l.text, at, &cells);

    *col -= cells;
    return at - before;
}

size_t line_shared(struct line a, struct line b, int cells, int *ret_col)
{
    size_t most = 0;
    size_t at = 0;
    size_t good = 0;
    int col = 0;

    *ret_col = 0;
    while (most < a.text.len && most < b.text.len && a.text.ptr[most] == b.text.ptr[most])
        most++;
    for (size_t i = 0; i < a.span_count || i < b.span_count; i++) {
        if (i < a.span_count && i < b.span_count && a.spans[i].from == b.spans[i].from &&
            style_eq(a.spans[i].style, b.spans[i].style) && !a.spans[i].style.link)
            continue;
        if (i < a.span_count && a.spans[i].from < most)
            most = a.spans[i].from;
        if (i < b.span_count && b.spans[i].from < most)
            most = b.spans[i].from;
        break;
    }
    while (at < most) {
        int wide;
        size_t len = width_next(str_from(a.text, at), &wide);

        if (at + len > most || col + wide > cells)
            break;
        at += len;
        col += wide;
        good = at;
        *ret_col = col;
    }
    return line_is_whole(a, good) && line_is_whole(b, good) ? good : line_step(a, good, ret_col);
}
