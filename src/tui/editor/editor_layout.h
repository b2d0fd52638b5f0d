/*
 * How the editor's text falls into rows.
 *
 * Only the rows around a place are made: lines are broken between words, and a line of more than a
 * few thousand bytes begins anew every few thousand, so that no row depends on more text than that.
 * Drawing a text of a megabyte costs no more than drawing its visible part. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

struct editor_text;

struct editor_row {
    size_t from, to;
    bool ends_line; /* a newline or the end of the text follows */
};
typedef VEC(struct editor_row) editor_row_vec;

enum editor_shape {
    SHAPE_TEXT,
    SHAPE_TAB,      /* spaces */
    SHAPE_PASTE,    /* its label, cut to the cells */
    SHAPE_REPLACED, /* nothing a terminal should see as it is, or too wide: one cell */
};

struct editor_atom {
    size_t len;
    int cells;
    enum editor_shape shape;
};
/* What stands at `at`, which is no newline, in a row `width` cells wide, at cell `col` of it. */
struct editor_atom editor_layout_atom(const struct editor_text *t, size_t at, int col, int width);

/* The row of `at`, with up to so many rows before and after it: *ret_index is its place in the
 * list. Rows are at most width + 1 cells wide: a space between words may hang over. */
struct editor_around {
    editor_row_vec rows;
    size_t index;
    bool is_start, is_end; /* the text's own */
};
void editor_layout_around(const struct editor_text *t, size_t at, int width, size_t reach,
                          struct editor_around *ret);
void editor_layout_release(struct editor_around *a);

/* Cells before `at` in its row, and the place at a cell (or the last before it). */
int editor_layout_column(const struct editor_text *t, struct editor_row row, size_t at, int width);
size_t editor_layout_place(const struct editor_text *t, struct editor_row row, int col, int width);
