/*
 * One replacement in a text: exact, unique unless all are meant, line endings kept.
 *
 * A model never sees \r\n, so in a text that has it both strings match and are put in with the
 * endings found there, line by line; everything else is compared byte for byte. When a string is
 * not found the reason that a model can act on is worked out (edit_explain.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct buf;

struct edit {
    struct str old; /* not empty */
    struct str new;
    bool all;
};

/* Appends the changed text and counts the places, or returns -1 with the reason, of some lines,
 * appended to ret_why. */
int edit_match_apply(struct str text, const struct edit *e, struct buf *ret_text,
                     size_t *ret_places, struct buf *ret_why);

/* Why old is not in text (both with \n only): the most likely cause, and the lines it probably
 * means. Bounded: at most the first 100,000 lines are looked at. */
void edit_explain(struct str text, struct str old, struct buf *ret_why);
