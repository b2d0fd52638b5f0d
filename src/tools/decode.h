/*
 * Decodes bytes of a file to UTF-8: honors a byte order mark, and replaces invalid characters by
 * U+FFFD, following the Encoding Standard (one for each maximal prefix of a character), like
 * ripgrep.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct buf;

enum encoding {
    ENCODING_UTF8,
    ENCODING_UTF16_LE,
    ENCODING_UTF16_BE,
};

/* By its mark, whose length is set; UTF-8 without one. */
enum encoding decode_mark(struct str bytes, size_t *ret_len);

bool decode_is_ascii(struct str bytes);

/* Appends. UTF-16 must be whole; UTF-8 may be cut at any newline. */
void decode_utf8(struct str bytes, struct buf *ret);
void decode_utf16(struct str bytes, bool big_endian, struct buf *ret);
