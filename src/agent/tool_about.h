/*
 * A call in a few words: the one argument that says most about it. Pure; any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct json;

/* Its first line; of a path below dir (may be NULL) the part below. Empty: no argument is
 * telling. */
struct str tool_about(const struct json *input, const char *dir);
/* There are lines after that first one: the display should mention it. */
bool tool_about_goes_on(const struct json *input);
/* The first line of an input that is still coming in: JSON without its end. */
void tool_about_partial(struct str json, const char *dir, struct buf *ret);
