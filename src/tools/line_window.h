/*
 * Selects and numbers some lines of a text that arrives in parts of any size.
 *
 * Lines are shown without \r, at most 2000 characters of each, with U+FFFD for NUL and invalid
 * UTF-8. After max_bytes no more lines are added. All lines are counted, so that a huge file needs
 * no more memory than its shown part.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

#define LINE_MAX_CHARS 2000

struct line_window {
    size_t first; /* first line to show, from 1 */
    size_t limit; /* lines */
    struct buf numbered;
    struct buf plain; /* the same without numbers */
    size_t shown;     /* lines */
    size_t total;     /* lines so far; final after line_window_end() */
    size_t cut_lines; /* shown lines longer than LINE_MAX_CHARS */
    size_t bad_bytes; /* invalid UTF-8 in shown lines */
    bool is_full;     /* stopped by max_bytes before the limit */

    struct buf line;   /* the incomplete line; only as much as may be shown */
    size_t line_bytes; /* its full length */
};

void line_window_init(struct line_window *w, size_t first, size_t limit, size_t max_bytes);
void line_window_feed(struct line_window *w, struct str text);
void line_window_end(struct line_window *w);
void line_window_release(struct line_window *w);
