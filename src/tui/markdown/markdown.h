/*
 * Markdown as it streams in, made into lines.
 *
 * Text comes in pieces. Blocks that cannot change any more are handed out as finished lines
 * (markdown_take()); the rest, drawn as it stands now, is the tail. A paragraph or list item is
 * finished when the next block begins, a fence line by line, a table when it ends or outgrows
 * max_rows (then as plain rows from there on). Finished lines never change, so the final text is
 * the same however it was cut into pieces. One thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "tui/markdown/code.h"
#include "tui/screen/line.h"

struct markdown;

struct markdown_spec {
    bool ascii;
    bool spells_links;       /* for a terminal without links: targets stand after them */
    struct line first, rest; /* put in front of the first row and of all others ("● ", "  ") */
};

struct markdown *markdown_new(const struct markdown_spec *spec); /* the lines are copied */
void markdown_free(struct markdown *m);
void markdown_add(struct markdown *m, struct str text);
void markdown_end(struct markdown *m); /* no more text: all of it is finished */
/* Finished lines not taken yet, for a window of so many cells and rows. */
void markdown_take(struct markdown *m, int cols, int max_rows, struct lines *ret);
/* The unfinished rest: the last rows of it, at most so many. */
void markdown_tail(struct markdown *m, int cols, int max_rows, struct lines *ret);

/* All at once. */
void markdown_draw(struct str text, const struct markdown_spec *spec, int cols, struct lines *ret);
