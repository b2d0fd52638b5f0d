/*
 * Keys and tokens that must never be shown.
 *
 * Code that reads a key registers it here; everything that leaves for a log, a terminal, a file of
 * a session or its database, an error, or as a result for the model goes through secret_scrub()
 * once, at the exit. Copies of the user's own files are not changed. The first 64 values stay for
 * the life of the process; of those that follow, as the keys that a helper makes anew every few
 * minutes, the last 64 do. Values below 6 bytes are not registered, nor are values below 8 bytes
 * that have no digit or nothing else: they would scrub plain words. Looking costs one memmem() for
 * each. Safe from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

#define SECRET_HIDDEN "[hidden]" /* never longer than what it stands for */

/* As it is, and as it looks within JSON where that is different. */
void secret_add(struct str value);

/* Whether a registered value is in it. */
bool secret_is_in(struct str text);

/* Replaces every registered value in the buffer by SECRET_HIDDEN. */
void secret_scrub(struct buf *text);

/* How many bytes at the end may be the beginning of a registered value: code that scrubs data in
 * pieces keeps them for the next piece. */
size_t secret_tail(struct str text);

/* Appends at most max bytes of it: secrets are replaced first, since half of one would not be
 * recognized. Of a text that is still growing the tail is shown, without bytes that may be the
 * beginning of a secret. */
void secret_shown(struct str text, bool is_growing, size_t max, struct buf *ret);

/* Same for a fixed, NUL-terminated text, such as struct err's. */
void secret_scrub_text(char *text, size_t size);

/* A form of a key that the user can recognize: "sk-a…wxyz (51 characters)". */
void secret_mask(struct str value, struct buf *out);
