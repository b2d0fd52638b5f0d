/*
 * A change of a file as people read it: lines with their numbers, - red, + green, the words that
 * differ marked, hunks parted by "⋯". Pure. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "tui/screen/line.h"

struct json;

struct diff_view {
    const struct json *patch; /* structuredPatch of a result: [{oldStart, …, lines: ["-…", …]}] */
    struct str path;          /* for highlighting */
    int cols;
    size_t max_rows; /* the rest is counted as "… 120 more lines (Ctrl-O)"; 0: all of it */
    bool ascii;
    bool is_cut; /* no key shows the rest */
};
void diff_view_draw(const struct diff_view *v, struct lines *ret);
/* Of a file that is new: all of its lines are added. v->patch is not looked at. */
void diff_view_draw_new(const struct diff_view *v, struct str text, struct lines *ret);
size_t diff_view_lines(struct str text); /* how many these are */
void diff_view_count(const struct json *patch, size_t *ret_added, size_t *ret_removed);

/* A change not made yet: what Edit, MultiEdit, Write and NotebookEdit would do, from the call's
 * input (which must outlive it) and the file as it is now. Only the visible rows are drawn;
 * how->max_rows is 0. */
struct diff_preview;
/* NULL: the call is none of these, or its effect cannot be computed. */
struct diff_preview *diff_preview_new(struct str tool, const struct json *input, const char *dir,
                                      const struct diff_view *how);
void diff_preview_free(struct diff_preview *p);
size_t diff_preview_rows(const struct diff_preview *p); /* of all of it */
/* Adds the rows that follow those that were added before, until so many of all have been. */
void diff_preview_draw(struct diff_preview *p, size_t rows, struct lines *ret);
