/*
 * Words of others inside of a sequence: no control characters, no end of it, not too long.
 */
#pragma once

#include "base/str.h"

struct buf;

#define TERM_CLEAN_MAX 200

void term_clean(struct buf *b, struct str text);
