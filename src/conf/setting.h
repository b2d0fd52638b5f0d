/*
 * A single setting: lookup, display, check and change, for `tenax config` and /config.
 *
 * A new value is checked by the same rows as a file before anything is written; all other bytes of
 * the file are kept (settings_file.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "conf/source.h"

struct buf;
struct conf;
struct err;
struct key;
struct strv;

#define SETTING_MAX_TEXT ((size_t)16 << 20) /* of a listing */

/* The row of a key as the user writes it, "env.PATH"; NULL, with the nearest one in the error. */
const struct key *setting_row(struct str path, struct err *err);

/* All values at a key and below it; key NULL = everything. Every value and every list element has
 * its own origin and is reported individually. value is JSON; often secret ones (env, headers) are
 * masked, unless the key was named. */
typedef void (*setting_fn)(void *arg, const char *path, struct str value, struct str origin);
void setting_each(const struct conf *conf, const char *key, setting_fn fn, void *arg);

/* Why a key has no effect; NULL if it has one. */
const char *setting_unused(const char *path);

/* Converts the words after a key to JSON: several words, or a word for a list, become its elements;
 * a word that is not JSON of the right type becomes a string if one is allowed. */
int setting_value(const char *key, const struct key *row, char *const *words, size_t count,
                  struct buf *ret, struct err *err);

/* Checks a whole document as if it were a file of this level: ERR_BAD_INPUT says what would be
 * skipped. */
int setting_check_all(const char *name, enum source_level level, struct str text,
                      struct strv *ret_warnings, struct err *err);

/* ERR_BAD_INPUT: the value would be skipped; nothing was changed. */
int setting_write(const struct source *target, const char *key, struct str value,
                  struct strv *ret_warnings, struct err *err);
/* Writes to the user's own file, $TENAX_HOME/settings.json; value NULL = remove. ret_warnings also
 * reports a higher level that takes precedence. */
int setting_write_user(const struct conf *conf, const char *key, const struct str *value,
                       struct strv *ret_warnings, struct err *err);
