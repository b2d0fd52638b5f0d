/*
 * Material from outside, in numbered blocks that nothing can break out of.
 *
 * Block 3 begins with a title of ours ("## 3. …"). Each of its lines begins with "3| "; a line that
 * is too long to be shown as one continues after "3+ "; our own remarks follow "3# ". So text that
 * pretends to be the end of its block, another block, a remark of ours or another turn is still a
 * line of block 3. Invisible bytes are made visible: invalid UTF-8 as "\xff", control, zero-width
 * and direction characters as "\u{202e}"; and the special words of chat templates get a backslash
 * ("<\|im_start|>"), because some servers obey them wherever they stand. Pure functions.
 */
#pragma once

#include <stddef.h>

#include "base/mem.h"
#include "base/str.h"

struct buf;

#define EXHIBIT_LEAST ((size_t)200) /* bytes that a text is always given */

enum exhibit_cut {
    CUT_END,    /* a long text loses its end */
    CUT_MIDDLE, /* keeps a third of the room for its beginning, the rest for its end */
};

void exhibit_title(struct buf *ret, size_t number, const char *fmt, ...) PRINTF_LIKE(3, 4);
void exhibit_note(struct buf *ret, size_t number, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The text in at most max_bytes (EXHIBIT_LEAST when less is given), a note where it was cut
 * included. */
void exhibit_text(struct buf *ret, size_t number, struct str text, size_t max_bytes,
                  enum exhibit_cut cut);
/* What it takes uncut; `most` when that is more. */
size_t exhibit_size(size_t number, struct str text, size_t most);
