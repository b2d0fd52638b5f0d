/*
 * One replacement in a text: exact; unique unless all are meant; keeps line endings.
 *
 * A model never sees \r\n. In a text that has it, both strings match line by line and get the
 * endings found there; everything else is compared byte for byte. If a string is not found,
 * edit_explain.c computes a reason that helps the model.
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

/* Appends the changed text and counts the places; or returns -1 with the reason, possibly several
 * lines, in ret_why. */
int edit_match_apply(struct str text, const struct edit *e, struct buf *ret_text,
                     size_t *ret_places, struct buf *ret_why);

/* Explains why old is not in text (both with \n only): the most likely cause, and the lines that
 * are probably meant. Examines at most the first 100,000 lines. */
void edit_explain(struct str text, struct str old, struct buf *ret_why);
