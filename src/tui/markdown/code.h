/*
 * Code with simple highlighting: keywords, strings, numbers, comments, by one table of languages.
 *
 * Lines are drawn one at a time; what goes on from line to line (a comment, a long string) is in
 * *state, which is 0 at first. A language that is not known is drawn as it is. Pure; any thread.
 */
#pragma once

#include "base/str.h"

struct lines;

/* Adds to the line that is being written and does not end it. The language as after a fence ("c",
 * "python", ""). */
void code_draw(struct str language, struct str text, int *state, struct lines *ret);
/* A file's language by its name; empty when it is not known. */
struct str code_language(struct str path);
