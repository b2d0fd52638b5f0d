/*
 * What a terminal makes of rows when its window is resized.
 *
 * A narrower window breaks rows that do not fit, and rows that exceed its height then move into the
 * scrollback, out of which nothing can be taken back. A lower window first drops the rows below the
 * cursor, then moves those at the top into the scrollback. All of that happens before the program
 * is notified, so the screen must fit beforehand: into the smallest window that is promised to stay
 * clean. Pure functions.
 */
#pragma once

#include <stddef.h>

#include "tui/screen/line.h"

/* The smallest window. */
#define REFLOW_COLS 20
#define REFLOW_ROWS 5

/* Rows that a line takes in a window of so many columns: at least one. */
size_t reflow_line(struct line l, int cols);
/* The same of the lines [from, to). */
size_t reflow_lines(const struct lines *ls, size_t from, size_t to, int cols);
