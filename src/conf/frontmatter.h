/*
 * Frontmatter: the YAML between two lines "---" at the top of a Markdown file.
 *
 * It becomes a JSON object, so that everybody reads it with what they know. What a plain scalar
 * looks like decides: true, false, null and whole numbers are what they are, all else is a string.
 * A value that is no YAML but stands on one line ("argument-hint: [file] [line]") is taken as it
 * is. Aliases, several documents and nesting deeper than FRONTMATTER_MAX_DEPTH are refused.
 */
#pragma once

#include "base/str.h"

struct arena;
struct err;
struct json;

#define FRONTMATTER_MAX ((size_t)64 << 10)
#define FRONTMATTER_MAX_DEPTH 16

/* ret_json is an empty object when there is none; *ret_body is the rest after it. ERR_BAD_INPUT
 * with the line; ERR_TOO_BIG. */
int frontmatter_read(struct str text, struct arena *arena, const struct json **ret_json,
                     struct str *ret_body, struct err *err);
