/*
 * A few literal strings, looked for all at once: the cheap question a search asks of every file
 * before the expensive one.
 *
 * literals_find() gives the first place where any of them stands. Each is found by its two rarest
 * bytes, sixteen places at a time where the machine can. A set remembers per string where it was
 * last seen in a text, so going through a text costs one pass per string, however many there are to
 * find. The set is shared; the remembered places are in struct literal_scan, one per thread.
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
    size_t count;  /* 0: every place is as good as any other */
    bool caseless; /* ASCII letters only */
};

struct literal_scan {
    const char *text; /* what the places are about */
    size_t next[LITERALS_MAX];
};

/* Longer ones are cut; false when there are too many. */
bool literals_add(struct literals *l, struct str s);

/* How well a literal tells places apart: higher is better, 0 is not worth the search. */
size_t literal_worth(struct str s);

/* The first place at or after from, or text.len. Set scan->text to NULL before a new text; within
 * one, from only grows. */
size_t literals_find(const struct literals *l, struct literal_scan *scan, struct str text,
                     size_t from);
