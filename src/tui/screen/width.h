/*
 * How wide text is on a terminal.
 *
 * Text is a row of graphemes (what users call a character: an emoji of several code points, a
 * letter with its marks), and each takes 0, 1 or 2 cells. Invalid UTF-8 counts as one cell, as
 * U+FFFD will. Control characters have no width here; lines (line.h) never hold any. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Bytes of the grapheme at the start of s (0: s is empty) and its cells. Fast on ASCII. */
size_t width_next(struct str s, int *ret_cells);
/* Bytes of the grapheme that ends at `at`, which is the start of one. */
size_t width_prev(struct str s, size_t at, int *ret_cells);
int width_of(struct str s);
/* The longest beginning that takes at most so many cells. */
struct str width_first(struct str s, int cells);
/* The first parts of a list ("one, two") that fit whole; where not even one does, its beginning. */
struct str width_first_parts(struct str s, int cells);
/* Whether all terminals agree about this grapheme; after another one, set the cursor's column. */
bool width_is_sure(struct str grapheme);
