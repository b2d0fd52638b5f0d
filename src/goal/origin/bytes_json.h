/*
 * Bytes in JSON.
 *
 * A path or the content of a file is any bytes; a JSON string is not. Other than plain ASCII bytes
 * are written as %XX, and so is the percent sign. Any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/strv.h"

struct json;
struct jw;

void bytes_write(struct jw *w, struct str bytes);
struct str bytes_parse(struct arena *arena, struct str text); /* NUL-terminated */

/* An array of them as a member of the object that is being written. */
void bytes_write_list(struct jw *w, const char *key, const struct strv *list);
void bytes_parse_list(const struct json *list, struct strv *ret);
