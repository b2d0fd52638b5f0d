/*
 * Shared by the files of the markdown writer: the current line, and its open elements. For md.c,
 * md_span.c and md_table.c only.
 */
#pragma once

#include "tools/web/md.h"

#define MD_UNSET SIZE_MAX

/* How many of the open things have a place of their own. */
static inline unsigned md_depth(unsigned depth, unsigned max)
{
    return depth < max ? depth : max;
}

static inline void md_cut(struct buf *b, size_t len)
{
    buf_cut(b, len, b->len - len);
}

/* What a line begins with: quotes, then the room of the lists around it. */
void md_add_prefix(const struct md *m, struct buf *out, bool is_item);
void md_newline(struct md *m);
/* Writes the newlines that are owed; the line they lead to is empty then. */
void md_settle_line(struct md *m);

/* How often c stands in a row, at most. */
size_t md_longest_run(struct str text, char c);

/* Ends the innermost span, marked if it has text. */
void md_pop_span(struct md *m);

/* The innermost table, or NULL when there is none or it is too deep to be one. */
struct md_table *md_table_of(struct md *m);
