/*
 * The hand that draws blocks of markdown (markdown_split.h) into a window.
 *
 * The page is shared by all drawings of one text; the pen remembers what matters of the text drawn
 * so far. The look of a block depends only on the text, the window and the pen; a copy of the pen
 * draws a possible continuation without changing anything. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/markdown/markdown_split.h"
#include "tui/markdown/markdown_table.h"
#include "tui/screen/line.h"

struct markdown_spec;

#define MARKDOWN_MAX_LANGUAGE 24 /* bytes of the language after a fence */

struct markdown_page {
    bool ascii, spells_links;
    struct lines margin;          /* the prefix of the first row, and of all others */
    struct lines scratch, prefix; /* memory that is used again */
};
void markdown_page_init(struct markdown_page *p, const struct markdown_spec *spec);
void markdown_page_release(struct markdown_page *p);

struct markdown_pen { /* zeroed at first */
    bool has_drawn;
    enum block_kind last;
    size_t last_depth;
    uint32_t last_in[MARKDOWN_MAX_DEPTH]; /* ids of containers */
    char language[MARKDOWN_MAX_LANGUAGE + 1];
    int code_state;
    struct md_block table_block;
    struct markdown_table table;
};
void markdown_pen_release(struct markdown_pen *p);
void markdown_pen_copy(const struct markdown_pen *p, struct markdown_pen *ret);

struct markdown_drawing {
    struct markdown_page *page;
    struct markdown_pen *pen;
    const struct blocks *blocks;
    const struct markdown_link *links;
    int cols, max_rows;
    struct lines *out;
};
void markdown_pen_draw(const struct markdown_drawing *d);
