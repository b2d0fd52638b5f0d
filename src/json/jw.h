/*
 * JSON, written piece by piece into a buffer.
 *
 * Commas, quotes and escapes are the writer's; the caller says what comes next. Nesting is tracked
 * (512 at most) and misuse is a BUG(). Strings: invalid UTF-8 bytes become U+FFFD; three-byte lone
 * surrogates become their \udxxx escape, or U+FFFD in a writer made with JW_CLEAN (what goes to
 * providers must be valid Unicode); two halves that meet become one character there. Compact by
 * default; JW_PRETTY indents by two spaces. Several values may follow each other at the top: what
 * stands between them is the caller's. One writer serves one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct buf;
struct json;

enum jw_flags {
    JW_PRETTY = 1,
    JW_CLEAN = 2,
};

struct jw {
    struct buf *out;
    unsigned flags;
    unsigned depth;
    bool after_key;
    bool in_string;        /* between jw_str_begin() and jw_str_end() */
    uint64_t in_object[8]; /* one bit per level */
    uint64_t has_items[8];
};

void jw_init(struct jw *w, struct buf *out, unsigned flags);

void jw_object(struct jw *w);
void jw_object_end(struct jw *w);
void jw_array(struct jw *w);
void jw_array_end(struct jw *w);
void jw_key(struct jw *w, const char *key);
void jw_key_str(struct jw *w, struct str key);

void jw_str(struct jw *w, struct str s);
void jw_cstr(struct jw *w, const char *s); /* NULL writes null */
void jw_i64(struct jw *w, int64_t n);
void jw_bool(struct jw *w, bool b);
void jw_null(struct jw *w);
void jw_raw(struct jw *w, struct str json); /* already JSON; written as it is */

/* 15 digits, or as many more as it takes to read back the same; NaN and infinity write null. */
void jw_double(struct jw *w, double n);

/* Numbers as they were written. Containers that would pass the depth limit become null, so that no
 * text from outside can make a BUG() of it. */
void jw_json(struct jw *w, const struct json *v);

/* A string value in parts, so that base64 and long texts need no copy: */
void jw_str_begin(struct jw *w);
void jw_str_part(struct jw *w, struct str s);       /* parts end at character boundaries */
void jw_str_base64(struct jw *w, struct str bytes); /* in multiples of 3 bytes, except the last */
void jw_str_end(struct jw *w);

/* Key and value in one. */
void jw_kstr(struct jw *w, const char *key, struct str s);
void jw_kcstr(struct jw *w, const char *key, const char *s);
void jw_ki64(struct jw *w, const char *key, int64_t n);
void jw_kbool(struct jw *w, const char *key, bool b);
void jw_kraw(struct jw *w, const char *key, struct str json);
void jw_kjson(struct jw *w, const char *key, const struct json *v);
