/*
 * A short description of a call: its most significant argument. Pure; any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct json;

/* The argument's first line; a path below dir (may be NULL) becomes relative. Empty if no argument
 * is significant. */
struct str tool_about(const struct json *input, const char *dir);
/* True if that argument has more lines: the display should indicate it. */
bool tool_about_goes_on(const struct json *input);
/* The same for an input that is still streaming in: JSON without its end. */
void tool_about_partial(struct str json, const char *dir, struct buf *ret);
