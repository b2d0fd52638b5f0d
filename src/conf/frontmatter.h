/*
 * Frontmatter: YAML between two lines "---" at the top of a Markdown file, converted to a JSON
 * object.
 *
 * Plain scalars: true, false, null and integers have their types, all others are strings. A value
 * on one line that is not valid YAML ("argument-hint: [file] [line]") is taken as a string.
 * Aliases, multiple documents and nesting deeper than FRONTMATTER_MAX_DEPTH are rejected.
 */
#pragma once

#include "base/str.h"

struct arena;
struct err;
struct json;

#define FRONTMATTER_MAX ((size_t)64 << 10)
#define FRONTMATTER_MAX_DEPTH 16

/* ret_json is an empty object if there is none; *ret_body is the rest of the text. ERR_BAD_INPUT
 * with the line; ERR_TOO_BIG. */
int frontmatter_read(struct str text, struct arena *arena, const struct json **ret_json,
                     struct str *ret_body, struct err *err);
