/*
 * Decodes bytes of files and pages to UTF-8, and back.
 *
 * A byte order mark takes precedence. UTF-8 is decoded here; invalid characters become U+FFFD,
 * following the Encoding Standard (one for each maximal prefix of a character), like ripgrep. All
 * other encodings are left to iconv. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct buf;
struct err;

/* What files are read and written in. */
enum encoding {
    ENCODING_UTF8, /* also stands for any encoding that is not recognized */
    ENCODING_UTF16_LE,
    ENCODING_UTF16_BE,
    ENCODING_SHIFT_JIS,
    ENCODING_EUC_JP,
    ENCODING_GBK,
    ENCODING_EUC_KR,
};

const char *encoding_name(enum encoding e); /* for messages: "Shift_JIS" */

/* By its mark, whose length is set; UTF-8 without one. */
enum encoding decode_mark(struct str bytes, size_t *ret_len);
/* The encoding of a text without a mark that is not valid UTF-8. An East Asian encoding is
 * recognized only if all bytes are valid in it and most characters are common ones, else
 * ENCODING_UTF8. The text may end inside a character. */
enum encoding decode_guess(struct str bytes);

bool decode_is_ascii(struct str bytes);

/* Appends. UTF-8 may be cut at any newline; in other encodings the text must be whole. */
void decode_utf8(struct str bytes, struct buf *ret);
void decode_from(enum encoding e, struct str bytes, struct buf *ret);
/* By the name of an encoding, as on the web. False if it is unknown; nothing is appended then. */
bool decode_named(const char *name, struct str bytes, struct buf *ret);

/* Appends text in the encoding; bytes that are not UTF-8 become U+FFFD, except in UTF-8, where they
 * are kept. ERR_BAD_INPUT if the encoding lacks a character. */
int encode_to(enum encoding e, struct str text, struct buf *ret, struct err *err);
