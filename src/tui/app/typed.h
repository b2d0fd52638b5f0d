/*
 * Text as the user may enter it: valid UTF-8, lines that end in \n, tabs, no other control
 * characters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/* Adds the cleaned bytes and returns how many were used: all of them at the end, else all but an
 * incomplete start (part of a character, \r). Invalid UTF-8 becomes U+FFFD. Stops for good when ret
 * is full. */
size_t typed_clean(struct str bytes, bool is_end, struct buf *ret);

/* Whether s is the beginning of a character that only further bytes can complete. */
bool typed_is_partial(struct str s);
