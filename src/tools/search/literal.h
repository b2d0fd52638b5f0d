/*
 * Searches for several literal strings at once: a cheap test for every file before the expensive
 * one.
 *
 * literals_find() returns the first place where any of them occurs. Each is found by its two rarest
 * bytes, sixteen places at a time if the machine supports it. For each string the last known place
 * in the text is remembered, so that going through a text costs one pass per string. The set is
 * shared; the remembered places are in struct literal_scan, one per thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define LITERALS_MAX 8
#define LITERAL_MAX_BYTES 32

struct literal {
    unsigned char bytes[LITERAL_MAX_BYTES]; /* lower case when the set is caseless */
    size_t len;
    size_t rare, rarer; /* offsets of its two rarest bytes */
};

struct literals {
    struct literal items[LITERALS_MAX];
    size_t count;  /* 0 = any place matches */
    bool caseless; /* ASCII letters only */
};

struct literal_scan {
    const char *text; /* the text that the places refer to */
    size_t next[LITERALS_MAX];
};

/* Longer ones are truncated; false if there are too many. */
bool literals_add(struct literals *l, struct str s);

/* How selective a literal is: higher is better, 0 is useless. */
size_t literal_worth(struct str s);

/* The first place at or after from, or text.len. Set scan->text to NULL before a new text; within
 * one, from must not decrease. */
size_t literals_find(const struct literals *l, struct literal_scan *scan, struct str text,
                     size_t from);
