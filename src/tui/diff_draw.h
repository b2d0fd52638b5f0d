/*
 * Lines of a change drawn one hunk after the other, wherever they come from.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/vec.h"
#include "tui/line.h"

struct diff_view;

struct diff_line {
    char kind;     /* ' ', '-', '+'; others are remarks ("\ No newline at end of file") */
    size_t number; /* in the old file for '-', else in the new one */
    struct str text;
};

struct diff_draw {
    const struct diff_view *view;
    struct str language;
    int digits;               /* of the numbers; 0: there is no room for them */
    size_t budget;            /* for comparing words */
    size_t line_count;        /* drawn so far */
    bool is_full;             /* as many rows as there may be, and one more */
    struct lines rows;        /* what is drawn */
    struct lines laid, front; /* memory that is used again */
    VEC(size_t) line_of;      /* for each row, the lines that are complete before it */
};

void diff_draw_begin(struct diff_draw *d, const struct diff_view *view, size_t last_number);
/* How many more lines are worth being gathered for a hunk. */
size_t diff_draw_room(const struct diff_draw *d);
void diff_draw_hunk(struct diff_draw *d, const struct diff_line *lines, size_t count);
/* total: lines of all hunks. Adds the rows and what is to be said of the rest. */
void diff_draw_end(struct diff_draw *d, size_t total, struct lines *ret);
