/*
 * Keeps the head and tail of a text of any length, and the size of the part between.
 *
 * Up to head_max + tail_max bytes are kept as they are; of a longer text the first and last ones,
 * cut at line ends if possible. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

struct clip {
    size_t tail_max;
    struct buf head;
    struct buf tail; /* temporarily up to twice the limit */
    size_t total;    /* bytes in all */
    size_t lines;    /* ends of lines in all */
};

void clip_init(struct clip *c, size_t head_max, size_t tail_max);
void clip_release(struct clip *c);
void clip_add(struct clip *c, struct str text);
/* whether nothing is omitted, even with `more` bytes */
bool clip_is_whole(const struct clip *c, size_t more);
struct str clip_last(const struct clip *c, size_t max, size_t lines); /* lent, for display */

/* Writes the text. If a part is omitted, a line says how much, and where all of it is (path NULL =
 * nowhere). */
void clip_write(const struct clip *c, const char *path, struct buf *ret);
