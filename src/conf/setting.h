/*
 * One setting by its name: looked up, shown, judged and written. What `tenax config` and the
 * command /config share.
 *
 * A new value is judged by the same rows and the same check as a file would be, before anything is
 * written; the file keeps every other byte (settings_file.h).
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

/* The row of a key as people write it, "env.PATH"; NULL with the nearest one in the error. */
const struct key *setting_row(struct str path, struct err *err);

/* All values at a key and below it, or everything when it is NULL. Every value and every element of
 * a list has its own origin, so each is reported by itself. value is JSON; often secret ones (env,
 * headers) are masked, unless a key was asked for by name. */
typedef void (*setting_fn)(void *arg, const char *path, struct str value, struct str origin);
void setting_each(const struct conf *conf, const char *key, setting_fn fn, void *arg);

/* Why nothing comes of a key that is set; NULL: something does. */
const char *setting_unused(const char *path);

/* The text after a key, as JSON: several words or a word for a list are its elements; a word that
 * is not JSON of the right type is a string where one may stand. */
int setting_value(const char *key, const struct key *row, char *const *words, size_t count,
                  struct buf *ret, struct err *err);

/* A whole document as if a file of this level had it: ERR_BAD_INPUT says what would be left out. */
int setting_check_all(const char *name, enum source_level level, struct str text,
                      struct strv *ret_warnings, struct err *err);

/* ERR_BAD_INPUT: what would be left out if the file had it; nothing was changed. */
int setting_write(const struct source *target, const char *key, struct str value,
                  struct strv *ret_warnings, struct err *err);
/* Into the user's own file, $TENAX_HOME/settings.json; value NULL: removed. ret_warnings also names
 * a higher level that wins. */
int setting_write_user(const struct conf *conf, const char *key, const struct str *value,
                       struct strv *ret_warnings, struct err *err);
