/*
 * Text as a person may put it in: valid UTF-8, lines that end in \n, tabs, no other control
 * characters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/* Adds the bytes, made so, and says how many were used: all of them at the end, else all but a
 * beginning of something (a part of a character, \r). What is no UTF-8 becomes U+FFFD. Stops for
 * good when ret is full. */
size_t typed_clean(struct str bytes, bool is_end, struct buf *ret);

/* Whether s is the beginning of a character that only further bytes can complete. */
bool typed_is_partial(struct str s);
