/*
 * Fuzzy matching: whether all letters of a question are in a name, in order, and how well.
 *
 * Good is: at the start of words, next to each other, in the last part of a path, and little
 * besides. Letters match whatever their case. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define FUZZY_MAX_QUERY 64 /* bytes; more never match */
#define FUZZY_MAX_TEXT 512 /* of a longer name only its end is looked at */

/* Which letters there are, a bit for each kind: a name that lacks one of the question's cannot
 * match. Made once for each name. */
uint64_t fuzzy_letters(struct str text);

/* Higher is better. False: no match. */
bool fuzzy_match(struct str query, struct str text, int *ret_score);
/* The bytes of text that matched, at most FUZZY_MAX_QUERY; how many. */
size_t fuzzy_places(struct str query, struct str text, unsigned short ret[FUZZY_MAX_QUERY]);
