/*
 * A line becomes bytes for a terminal: colors, links, and characters that it can show.
 *
 * Every line begins and ends in the plain style with no link open. After a grapheme about whose
 * width terminals disagree the column is set explicitly (width.h), so that the following text
 * stands in its place.
 */
#pragma once

#include <stddef.h>

#include "tui/screen/line.h"
#include "tui/screen/term.h"

struct buf;

struct paint {
    const struct theme *theme;
    const struct term_able *able;
    struct buf *out;
};

/* From this byte and column of the line on. mark: the cell of a cursor that is drawn; -1: none. */
void paint_line(const struct paint *p, struct line l, size_t from, int col, int mark);
/* The text alone, as a log has it. */
void paint_text(const struct paint *p, struct str text);
