/*
 * The known settings keys, one row each.
 *
 * Checking, merging, suggestions and the table in docs/settings.md use these rows. A path is
 * dotted, a child follows its parent, and "*" stands for any name (of a provider, of a variable).
 * An object without rows for its members is free-form.
 *
 * To add a key: one line in keys.def. To begin using a key marked KEY_LATER: remove the mark. The
 * keys test fails if the program reads a key that is marked or not listed, or if a key in use is
 * missing from docs/settings.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct buf;
struct json;

/* The allowed types of a value, as bits. */
enum key_types {
    KEY_BOOL = 1,
    KEY_INT = 2,
    KEY_NUMBER = 4,
    KEY_STRING = 8,
    KEY_STRINGS = 16, /* a list of strings; invalid elements are skipped individually */
    KEY_LIST = 32,
    KEY_OBJECT = 64,
};

enum key_flags {
    KEY_LATER = 1,   /* accepted and checked, but not used yet: a warning in our own files */
    KEY_WHOLE = 2,   /* only the highest level's value is used; lists are not joined */
    KEY_TRUST = 4,   /* from project files only if the folder is trusted */
    KEY_MANAGED = 8, /* only at the managed level */
    KEY_OURS = 16,   /* only in our own files */
    KEY_OWN = 128,   /* not from the project's settings, which others write, even if trusted */
    KEY_MOOT = 64, /* a key of Claude Code without effect here: the help says why, also as a warning
                      for our files */
};

struct key {
    const char *path; /* "permissions.defaultMode", "providers.*.baseUrl" */
    unsigned types;
    const char *values; /* strings: "off 5m 1h"; integers: "0..3600"; NULL = any */
    unsigned flags;
    const char *env; /* variables that override the files, the first one set wins; or NULL */
    const char *help;
};

const struct key *key_table(size_t *ret_count);

/* The row of a member; parent NULL = top level. NULL if there is none. */
const struct key *key_child(const struct key *parent, struct str name);
const struct key *key_find(struct str path); /* a row's own path, "*" included */
bool key_has_children(const struct key *k);

/* The known name closest to a mistyped member, or empty. */
struct str key_suggest(const struct key *parent, struct str name);

/* False if the value is invalid, with the reason: "must be a boolean, not a string". Does not check
 * elements of lists and members of objects. */
bool key_accepts(const struct key *k, const struct json *v, struct buf *ret_reason);
