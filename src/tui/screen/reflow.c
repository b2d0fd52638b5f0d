/*
 * reflow: lines broken as terminals do it: where the row is full, and never inside a wide
 * character. Pure functions.
 */
#include "tui/screen/reflow.h"

#include "tui/screen/width.h"

size_t reflow_line(struct line l, int cols)
{
    size_t rows = 1;
    size_t at = 0;
    int used = 0;

    while (at < l.text.len) {
        int cells;

        at += width_next(str_from(l.text, at), &cells);
        if (used + cells > cols) {
            rows++;
            used = 0;
        }
        used += cells;
    }
    return rows;
}

size_t reflow_lines(const struct lines *ls, size_t from, size_t to, int cols)
{
    size_t rows = 0;

    for (size_t i = from; i < to; i++)
        rows += reflow_line(lines_at(ls, i), cols);
    return rows;
}
