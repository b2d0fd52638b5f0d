/*
 * The settings keys tenax knows, one row each.
 *
 * Checking, merging, "did you mean" and the table in docs/settings.md all go by these rows. A path
 * is dotted, a child follows its parent, and "*" stands for any name (the name of a provider, of a
 * variable). An object without rows for its members is free-form.
 *
 * To add a key: one line in keys.def. To begin using a key that was marked KEY_LATER: drop the
 * mark; the keys test fails while the program reads a key that is marked or not listed, and while a
 * key in use is missing from docs/settings.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct buf;
struct json;

/* What a value may be; several bits: any of them. */
enum key_types {
    KEY_BOOL = 1,
    KEY_INT = 2,
    KEY_NUMBER = 4,
    KEY_STRING = 8,
    KEY_STRINGS = 16, /* a list of strings; other elements are skipped singly */
    KEY_LIST = 32,
    KEY_OBJECT = 64,
};

enum key_flags {
    KEY_LATER = 1, /* accepted and checked, but nothing reads it yet: our own files get a warning */
    KEY_WHOLE = 2, /* the highest level's value is taken whole; lists are not joined */
    KEY_TRUST = 4, /* from project files only when the folder is trusted */
    KEY_MANAGED = 8, /* only the managed level may set it */
    KEY_OURS = 16,   /* only our own files may set it */
    KEY_OWN = 128,   /* not from the project's settings, which others write, trusted or not */
    KEY_MOOT = 64,   /* Claude's, and nothing can come of it here: the help says why, to our files,
                        too */
};

struct key {
    const char *path; /* "permissions.defaultMode", "providers.*.baseUrl" */
    unsigned types;
    const char *values; /* strings: "off 5m 1h"; integers: "0..3600"; NULL: anything */
    unsigned flags;
    const char *env; /* variables that beat the files, first one set wins; NULL: none */
    const char *help;
};

const struct key *key_table(size_t *ret_count);

/* The row of a member; parent NULL: top level. NULL when there is none. */
const struct key *key_child(const struct key *parent, struct str name);
const struct key *key_find(struct str path); /* a row's own path, "*" included */
bool key_has_children(const struct key *k);

/* The known name closest to a mistyped member, or empty. */
struct str key_suggest(const struct key *parent, struct str name);

/* False when the value does not fit, with the reason: "must be a boolean, not a string". Elements
 * of lists and members of objects are not looked at. */
bool key_accepts(const struct key *k, const struct json *v, struct buf *ret_reason);
