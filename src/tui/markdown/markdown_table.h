/*
 * A table of markdown: rows are gathered until it ends, then drawn with columns as wide as they
 * need to be. One that has no end in sight is drawn with the columns as they are known by then, and
 * goes on row by row. Where the columns do not fit into the window, every row becomes a list of
 * "header: value". UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "tui/markdown/markdown_inline.h"
#include "tui/markdown/markdown_start.h"

struct lines;

struct markdown_table {
    bool flows;     /* the first rows are out */
    bool has_rules; /* between its rows: some of them take more than one line */
    bool is_ascii;
    size_t columns;
    char align[MARKDOWN_MAX_CELLS]; /* 'l', 'c' or 'r' */
    int wanted[MARKDOWN_MAX_CELLS]; /* cells, when it flows */
    int least[MARKDOWN_MAX_CELLS];
    struct buf header;
    struct buf rows; /* not drawn yet, each with a newline */
    size_t row_count;
};

struct markdown_table_look {
    int cells; /* of the window */
    struct markdown_inline text;
};

void markdown_table_release(struct markdown_table *t);
/* text: of BLOCK_TABLE. */
void markdown_table_begin(struct markdown_table *t, struct str text, bool ascii);
void markdown_table_row(struct markdown_table *t, struct str row);
/* So much has come that it is no use to wait for its end. */
bool markdown_table_outgrows(const struct markdown_table *t, int max_rows);
/* Draws the rows not drawn yet. */
void markdown_table_draw(struct markdown_table *t, const struct markdown_table_look *look,
                         bool at_end, struct lines *ret);
void markdown_table_copy(const struct markdown_table *t, struct markdown_table *ret);
