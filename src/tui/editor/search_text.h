/*
 * Search text of the user: letters match in either case, of any alphabet, unless the query has a
 * capital.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

/* Where the query stands first, or text.len; *ret_len (may be NULL): how many bytes of the text
 * match, which may be others than were asked for. */
size_t search_text_find(struct str text, struct str query, size_t *ret_len);
