/*
 * Path globs in ripgrep's dialect: ? * ** [a-z] [!x] {a,b} and \ before any of them.
 *
 * `*` and `?` do not match slashes, `**` between slashes matches any number of folders, a class
 * never matches a slash. A pattern without a slash (except at its end) applies to names at any
 * depth; with one, to whole paths. Braces nest. Matching takes time proportional to pattern times
 * path for each of the at most GLOB_MATCH_MAX_FORMS patterns that braces expand to. A parsed glob
 * is immutable and may be shared.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct err;
struct glob_match;

#define GLOB_MATCH_MAX_BYTES 4096
#define GLOB_MATCH_MAX_FORMS 256

/* ERR_BAD_INPUT ("a '[' is not closed"), ERR_TOO_BIG. */
int glob_match_parse(struct str pattern, struct glob_match **ret, struct err *err);
void glob_match_free(struct glob_match *g);

/* path: relative to the pattern's folder, without "./" and without a slash at either end. */
bool glob_match_fits(const struct glob_match *g, struct str path);
