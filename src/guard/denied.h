/*
 * What the deny rules Read(…), or Edit(…), of a moment are about.
 *
 * Tools that search many files ask it for each; the sandbox closes to commands those that are there
 * (guard/denied_files.h). It never changes, so any thread may ask.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct denied;
struct permit;
struct rule;

enum denied_what {
    DENIED_READ,
    DENIED_EDIT,
};

/* NULL: there is no such rule. */
struct denied *denied_new(struct permit *p, enum denied_what what);
void denied_free(struct denied *d); /* NULL is fine */
void denied_freep(struct denied **d);

/* An absolute path without "." and "..": it or a folder above it is denied. NULL denies nothing. */
bool denied_has(const struct denied *d, const char *path);

/* Its rules, for who looks for what they match. */
size_t denied_count(const struct denied *d);
const struct rule *denied_rule(const struct denied *d, size_t i);
bool denied_is_same(const struct denied *a, const struct denied *b); /* the same rules */
