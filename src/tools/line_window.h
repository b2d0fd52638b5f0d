/*
 * Some lines of a text, numbered, as the text comes by in parts of any size.
 *
 * Lines are shown without \r, at most 2000 characters of each, with U+FFFD for NUL and invalid
 * UTF-8. When max_bytes are shown no more lines are added. All lines are counted, so that a huge
 * file can be looked into in no more memory than its shown part.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

#define LINE_MAX_CHARS 2000

struct line_window {
    size_t first; /* line to begin with, from 1 */
    size_t limit; /* lines */
    struct buf numbered;
    struct buf plain; /* the same without numbers */
    size_t shown;     /* lines */
    size_t total;     /* lines that have come by; final after line_window_end() */
    size_t cut_lines; /* shown lines longer than LINE_MAX_CHARS */
    size_t bad_bytes; /* of shown lines, not UTF-8 */
    bool is_full;     /* max_bytes stopped it before the limit */

    struct buf line;   /* the one that is still coming; only as much as may be shown */
    size_t line_bytes; /* all of the coming line, to know that there is one */
};

void line_window_init(struct line_window *w, size_t first, size_t limit, size_t max_bytes);
void line_window_feed(struct line_window *w, struct str text);
void line_window_end(struct line_window *w);
void line_window_release(struct line_window *w);
