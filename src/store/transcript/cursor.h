/*
 * One line's JSON, walked through a window: into what matters, over the rest.
 *
 * All of these skip leading white space, continue into the next piece of a long line by themselves,
 * and return false (or -1) when the line ends or does not match. Structure is checked as far as it
 * is walked: braces count, control characters inside strings are wrong. The inside of skipped
 * values (escapes, digits, which bracket closes which) is left to the parser that reads the line.
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

/* Passes the next byte, if it is that one. */
static inline bool cursor_take(struct window *w, char c)
{
    if (cursor_peek(w) != (unsigned char)c)
        return false;
    w->at++;
    return true;
}

/* Members of an object or elements of an array, entered with cursor_take(): true when there is
 * another one to be read or skipped, false after its end; *is_bad tells an end from a fault.
 * is_first starts as true. */
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

/* A key with its colon, or a string value, decoded; good until the cursor moves on. One longer than
 * WINDOW_TEXT is given as empty. */
bool cursor_decode(struct window *w, struct str *ret); /* after the quote; any string */
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

bool cursor_colon(struct window *w, struct str *key); /* keeps the key where the window moves */
static inline bool cursor_key(struct window *w, struct str *ret)
{
    if (!cursor_string(w, ret))
        return false;
    if (w->at == w->stop || *w->at != ':')
        return cursor_colon(w, ret);
    w->at++;
    return true;
}

bool cursor_bool(struct window *w, bool *ret); /* anything else than true and false is false */

/* A value of any kind. */
bool cursor_skip_far(struct window *w);
bool cursor_skip_string(struct window *w); /* after its opening quote, or anywhere in it */
static inline bool cursor_skip(struct window *w)
{
    if (w->at == w->stop || *w->at != '"')
        return cursor_skip_far(w);
    w->at++;
    /* Most strings are short, and have no escapes. */
    w->at = block_string_stop(w->at, w->stop - w->at > 64 ? w->at + 64 : w->stop);
    if (w->at == w->stop || *w->at != '"')
        return cursor_skip_string(w);
    w->at++;
    return true;
}

bool cursor_leave(struct window *w); /* the rest of the object or array we are in */
