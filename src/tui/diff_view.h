/*
 * A change of a file as people read it: lines with their numbers, - red, + green, the words that
 * differ marked, hunks parted by "⋯". Pure. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "tui/line.h"

struct json;

struct diff_view {
    const struct json *patch; /* structuredPatch of a result: [{oldStart, …, lines: ["-…", …]}] */
    struct str path;          /* for highlighting */
    int cols;
    size_t max_rows; /* the rest is told as "… 120 more lines (Ctrl-O)"; 0: all of it */
    bool ascii;
};
void diff_view_draw(const struct diff_view *v, struct lines *ret);
/* Of a call that has not run: what Edit, MultiEdit, Write and NotebookEdit would do, from the
 * call's input and the file as it is now. False: it is none of these, or cannot be told. */
bool diff_view_of_call(struct str tool, const struct json *input, const char *dir,
                       const struct diff_view *how, struct lines *ret);
void diff_view_count(const struct json *patch, size_t *ret_added, size_t *ret_removed);
