/*
 * Markdown that is still being written, as it will most likely go on.
 *
 * "some **bol" would show its stars until the bold text ends, and then jump. So what is drawn of an
 * unfinished paragraph is the text with its open marks closed, and without marks at the very end
 * that could still become anything. Only the tail is ever mended; what is finished is drawn as it
 * is written. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;

/* Appends the mended text of an unfinished paragraph. */
void markdown_mend(struct str text, struct buf *ret);
/* Whether a line that has only begun may still become many things: "-", "``", "- [x". */
bool markdown_mend_hides(struct str line);
