/*
 * Markdown that is still being written, as it will most likely go on.
 *
 * "some **bol" would show its stars until the bold text ends, and then jump. So an unfinished
 * paragraph is drawn with its open marks closed, and without marks at the very end that could still
 * become anything. Only the tail is repaired like this; finished text is drawn as written. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;

/* Appends the text of an unfinished paragraph with its marks closed. */
void markdown_mend(struct str text, struct buf *ret);
/* Whether a line that has only begun may still become many things: "-", "``", "- [x". */
bool markdown_mend_hides(struct str line);
