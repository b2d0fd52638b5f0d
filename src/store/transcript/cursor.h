/*
 * Walks the JSON of one line through a window: enters what matters and skips the rest.
 *
 * All functions skip leading white space, continue into the next piece of a long line by
 * themselves, and return false (or -1) if the line ends or does not match. Structure is checked as
 * far as it is walked: braces are counted, control characters inside strings are errors. The inside
 * of skipped values (escapes, digits, matching of brackets) is left to the parser that reads the
 * line.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "store/transcript/block.h"
#include "store/transcript/window.h"

/* The next byte, or -1. */
int cursor_peek_far(struct window *w);
static inline int cursor_peek(struct window *w)
{
    return w->at<w->stop && * w->at> ' ' ? *w->at : cursor_peek_far(w);
}

/* Consumes the next byte if it is c. */
static inline bool cursor_take(struct window *w, char c)
{
    if (cursor_peek(w) != (unsigned char)c)
        return false;
    w->at++;
    return true;
}

/* Iterates over the members of an object or the elements of an array, entered with cursor_take():
 * true if there is another one to read or skip, false after the end; *is_bad distinguishes the end
 * from an error. is_first starts as true. */
static inline bool cursor_next(struct window *w, char end, bool *is_first, bool *is_bad)
{
    bool was_first = *is_first;

    *is_first = false;
    *is_bad = false;
    if (cursor_take(w, end))
        return false;
    if (was_first || cursor_take(w, ','))
        return true;
    *is_bad = true;
    return false;
}

/* A key with its colon, or a string value, decoded; valid until the cursor moves. A string longer
 * than WINDOW_TEXT is returned as empty. */
bool cursor_decode(struct window *w, struct str *ret); /* after the opening quote */
static inline bool cursor_string(struct window *w, struct str *ret)
{
    const char *end;

    if (!cursor_take(w, '"'))
        return false;
    end = block_string_stop(w->at, w->stop);
    if (end == w->stop || *end != '"')
        return cursor_decode(w, ret);
    *ret = (struct str){w->at, end - w->at > WINDOW_TEXT ? 0 : (size_t)(end - w->at)};
    w->at = end + 1;
    return true;
}

bool cursor_colon(struct window *w, struct str *key); /* copies the key if the window moves */
static inline bool cursor_key(struct window *w, struct str *ret)
{
    if (!cursor_string(w, ret))
        return false;
    if (w->at == w->stop || *w->at != ':')
        return cursor_colon(w, ret);
    w->at++;
    return true;
}

bool cursor_bool(struct window *w, bool *ret); /* false for anything but true and false */

/* A value of any kind. */
bool cursor_skip_far(struct window *w);
bool cursor_skip_string(struct window *w); /* after its opening quote, or anywhere inside */
static inline bool cursor_skip(struct window *w)
{
    if (w->at == w->stop || *w->at != '"')
        return cursor_skip_far(w);
    w->at++;
    /* Most strings are short and have no escapes. */
    w->at = block_string_stop(w->at, w->stop - w->at > 64 ? w->at + 64 : w->stop);
    if (w->at == w->stop || *w->at != '"')
        return cursor_skip_string(w);
    w->at++;
    return true;
}

bool cursor_leave(struct window *w); /* skips the rest of the current object or array */
