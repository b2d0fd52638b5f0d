/*
 * Limits tool results: the model gets the head and the tail, and a file has the whole text.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct buf;
struct workspace;

/* If the text is longer than max, cuts it and names the file that has all of it. name: the file's
 * base name. Any thread. */
void cap_text(struct workspace *w, struct str name, size_t max, struct buf *text);
