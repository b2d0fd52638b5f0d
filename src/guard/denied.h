/*
 * A snapshot of the deny rules Read(…) or Edit(…).
 *
 * Tools that search many files check each with it; the sandbox hides the existing files from
 * commands (guard/denied_files.h). Immutable; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/path_veto.h"

struct denied;
struct permit;
struct rule;

enum denied_what {
    DENIED_READ,
    DENIED_EDIT,
};

/* NULL if there is no such rule. */
struct denied *denied_new(struct permit *p, enum denied_what what);
void denied_free(struct denied *d); /* NULL is fine */
void denied_freep(struct denied **d);

/* An absolute path without "." and "..": whether it or a folder above it is denied. NULL denies
 * nothing. */
bool denied_has(const struct denied *d, const char *path);

/* By the rules Read(…) in force at each question. p must outlive it. */
struct path_veto permit_reading_veto(struct permit *p);

/* Its rules, for finding what they match. */
size_t denied_count(const struct denied *d);
const struct rule *denied_rule(const struct denied *d, size_t i);
bool denied_is_same(const struct denied *a, const struct denied *b); /* the same rules */
