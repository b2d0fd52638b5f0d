/*
 * Changes to one of tenax's own settings files.
 *
 * A file is read, one value of it replaced and the whole put in place of the old one, under a lock
 * that keeps a second tenax out. Everything else stays as written, byte for byte: other keys, their
 * order, the white space between them.
 */
#pragma once

#include "base/str.h"

struct buf;
struct err;
struct json;

/* Gets the value that is there, or NULL, and appends the new one as JSON. Appending nothing leaves
 * the file as it is. */
typedef int (*settings_value_fn)(const struct json *old, struct buf *ret, void *arg,
                                 struct err *err);

/* key: dotted, "permissions.allow". A missing file or folder is made. ERR_BAD_INPUT when the file
 * is not a JSON object, or the key leads through another type; nothing is written then. */
int settings_file_change(const char *path, const char *key, settings_value_fn fn, void *arg,
                         struct err *err);

/* Takes the key and its value out: 1, or 0 when it is not there. */
int settings_file_remove(const char *path, const char *key, struct err *err);

/* A change of a text; what settings_file_change() does between reading and writing. */
int settings_text_set(struct str text, const char *key, struct str value, struct buf *ret,
                      struct err *err);
