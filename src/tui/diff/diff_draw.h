/*
 * Lines of a change drawn one hunk after the other, wherever they come from.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"
#include "tui/diff/diff_view.h"
#include "tui/screen/line.h"

struct diff_line {
    char kind;     /* ' ', '-', '+'; others are remarks ("\ No newline at end of file") */
    size_t number; /* in the old file for '-', else in the new one */
    struct str text;
};

struct diff_draw {
    struct diff_view view;
    struct str language;
    int digits;                        /* of the numbers; 0: there is no room for them */
    size_t budget;                     /* for comparing words */
    size_t line_count;                 /* drawn so far */
    bool is_full;                      /* as many rows as there may be, and one more */
    struct lines rows;                 /* the drawn rows */
    struct lines colored, laid, front; /* memory that is used again */
    VEC(size_t) line_of;               /* for each row, the lines that are complete before it */

    /* The hunk that is being drawn, and the change in it: lines from..mid are removed, mid..end
     * added. */
    const struct diff_line *lines;
    size_t count, at;
    size_t from, mid, end;
    int states[2];        /* of the old and the new text */
    int ahead;            /* of the new text, as far as partners were looked at */
    struct buf marks;     /* one for each byte of these lines */
    VEC(size_t) marks_of; /* where those of the added lines are that had a partner */
};

void diff_draw_begin(struct diff_draw *d, const struct diff_view *view, size_t last_number);
/* How many more lines are worth being gathered for a hunk. */
size_t diff_draw_room(const struct diff_draw *d);
void diff_draw_hunk(struct diff_draw *d, const struct diff_line *lines, size_t count);
/* total: lines of all hunks. Adds the rows and a note about the rest. */
void diff_draw_end(struct diff_draw *d, size_t total, struct lines *ret);

/* The same for the visible part: a hunk, whose lines are lent until it is drawn, up to so many rows
 * of all. */
void diff_draw_open(struct diff_draw *d, const struct diff_line *lines, size_t count);
bool diff_draw_go(struct diff_draw *d, size_t rows); /* true: that hunk is drawn */
void diff_draw_release(struct diff_draw *d);
/* How many rows these lines will be. For most lines their length suffices. */
size_t diff_draw_count(struct diff_draw *d, const struct diff_line *lines, size_t count);
