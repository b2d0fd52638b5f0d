/*
 * Writes markdown from a stream of text and structure.
 *
 * The caller reports what comes next: text, a break, the start and end of lists, quotes, spans,
 * code blocks, tables. White space is written only when text follows, so that blocks are separated
 * by exactly one blank line, and empty elements leave no trace. What depends on the end (a link
 * around text, a fence longer than any in the code, a table cell on one line) is inserted when it
 * closes. Ends without a start are ignored. For html.c only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define MD_LISTS 12
#define MD_QUOTES 6
#define MD_SPANS 24
#define MD_TABLES 8

enum md_span {
    MD_LINK,
    MD_STRONG,
    MD_EM,
    MD_CODE,
    MD_DEL,
};

struct md {
    struct buf *out;
    size_t start;          /* where our text begins in out */
    unsigned owed;         /* newlines to write before the next text: 0 to 2 */
    unsigned fresh;        /* newlines written since the last text */
    bool space;            /* a space is owed */
    unsigned heading;      /* level of the open heading, or 0 */
    bool heading_is_owed;  /* its '#' */
    bool item_is_owed;     /* the marker of a list item */
    const char *lead_owed; /* before the next text: ": " of a definition; or NULL */

    struct md_list {
        bool ordered;
        int64_t next;
        bool has_items;
    } lists[MD_LISTS];
    unsigned list_depth; /* may pass MD_LISTS: deeper ones are flat */
    unsigned quote_depth;
    unsigned last_quotes; /* of the last line with text */

    struct md_open {
        enum md_span kind;
        size_t start; /* SIZE_MAX: no text yet */
        size_t url;   /* MD_LINK: where its address begins in urls */
    } spans[MD_SPANS];
    unsigned span_depth; /* may pass MD_SPANS: deeper ones are not marked */
    struct buf urls;     /* of the open links, one after the other, each with its NUL */

    bool in_code;
    size_t code_start; /* SIZE_MAX: no text yet */
    char language[32];

    struct md_table {
        bool is_layout; /* holds blocks: written as such */
        size_t rows;
        size_t cells;      /* of the row */
        size_t cell_start; /* SIZE_MAX: none is open */
        unsigned spans;    /* that were open when the cell began: they do not end in it */
    } tables[MD_TABLES];
    unsigned table_depth;
};

void md_init(struct md *m, struct buf *out);
void md_release(struct md *m);

void md_text(struct md *m, struct str text);    /* white space collapses, but in code */
void md_break(struct md *m, unsigned newlines); /* 1: a new line, 2: a new paragraph */
void md_line_break(struct md *m);               /* <br> */
void md_rule(struct md *m);
void md_lead(struct md *m, const char *lead); /* static */

void md_heading(struct md *m, unsigned level);
void md_heading_end(struct md *m);
void md_list(struct md *m, bool ordered, int64_t first);
void md_list_end(struct md *m);
void md_item(struct md *m);
void md_quote(struct md *m);
void md_quote_end(struct md *m);

void md_open_span(struct md *m, enum md_span kind, struct str url);
void md_close_span(struct md *m, enum md_span kind);
void md_image(struct md *m, struct str alt, struct str url);

void md_code(struct md *m);
void md_code_language(struct md *m, struct str language); /* the first counts */
void md_code_end(struct md *m);

void md_table(struct md *m);
void md_row(struct md *m);
void md_cell(struct md *m);
void md_cell_end(struct md *m);
void md_row_end(struct md *m);
void md_table_end(struct md *m);
/* The following content does not fit into a cell: the enclosing tables are written as blocks from
 * here on. */
void md_spread_tables(struct md *m);

void md_end(struct md *m); /* closes open elements */
