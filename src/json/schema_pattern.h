/*
 * Regular expressions of a schema; for src/json only.
 *
 * JSON Schema means JavaScript's; PCRE2 is set to read \uXXXX, $ and [] the way JavaScript does. A
 * pattern comes from outside: its length, nesting, and the work and memory of a match are limited.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct json;
struct schema_pattern;

/* The patterns compiled during one check, so that each is compiled once. Zeroed to begin with. */
struct schema_patterns {
    struct schema_pattern *ptr;
    size_t len;
    size_t cap;
};

/* True unless the pattern (a JSON string) is known not to match: a bad pattern, and a match that
 * reaches a limit, count as true. */
bool schema_pattern_matches(struct schema_patterns *all, const struct json *pattern,
                            struct str text);
/* The same for a pattern that is a member's name, as those of patternProperties. A bad one is for
 * no name. */
bool schema_pattern_matches_key(struct schema_patterns *all, const struct json *member,
                                struct str text);
void schema_patterns_release(struct schema_patterns *all);

/* 0, or -1 with the reason in text. */
int schema_pattern_check(struct str pattern, char *text, size_t size);
