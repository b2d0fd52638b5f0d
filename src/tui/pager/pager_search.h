/*
 * Finding text in a pager; for pager.c.
 *
 * Letters match in either case unless the query has a capital. A match may go over the end of a
 * row: between words a break counts as a space.
 */
#pragma once

#include "tui/pager/pager.h"

/* pager.c: a part as it is drawn; lent until the next call. A row of one brought into view. */
const struct lines *pager_part(struct pager *p, uint64_t at);
void pager_show_row(struct pager *p, uint64_t at, size_t row);

/* Begins at the last match, or at the top of the window. */
void pager_search(struct pager *p, bool backward);
/* Goes on for a while. */
void pager_search_on(struct pager *p);
/* The line with matches of the search marked. */
void pager_mark(const struct pager *p, struct line l, struct lines *ret);
