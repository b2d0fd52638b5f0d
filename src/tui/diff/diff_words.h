/*
 * The words that differ between two lines that are versions of each other.
 *
 * Words, runs of spaces and single signs are compared. The work is bounded: by the length of the
 * part between the common beginning and the common end, and by a budget for all lines together. Two
 * lines that have little in common are not compared. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

/* Steps for one drawing; 0 left: only beginnings and ends are compared. */
#define DIFF_WORDS_BUDGET ((size_t)4 << 20)

/* Sets one byte for each of old and new that differs; both arrays are given zeroed. Nothing is set
 * when they are not alike. */
void diff_words(struct str old, struct str new, char *ret_old, char *ret_new, size_t *budget);
