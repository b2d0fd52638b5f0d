/*
 * Results that are too long to show: the model gets head and tail, a file the whole.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct buf;
struct workspace;

/* Cuts a text longer than max and says where all of it is; name: of the file. Any thread. */
void cap_text(struct workspace *w, struct str name, size_t max, struct buf *text);
