/*
 * One source of settings: a file, the text of --settings, an option, a variable.
 *
 * Everything is in the arena it was read into, so a source need not be released. The document is
 * always an object; a missing file has none, which is an error only if the user named it. Positions
 * are computed from a table of line starts, so that lookups in large files are fast.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct arena;
struct buf;
struct err;
struct json;
struct key;
struct strv;

#define SOURCE_MAX_BYTES ((size_t)2 << 20)

enum source_level {
    LEVEL_USER,
    LEVEL_PROJECT,
    LEVEL_LOCAL,
    LEVEL_FLAG, /* --settings, variables, options */
    LEVEL_MANAGED,
};

struct source {
    enum source_level level;
    bool ours;          /* tenax's own, as opposed to Claude's */
    bool required;      /* named by the user: it must exist */
    bool on_top;        /* a client's: overrides variables and options, too */
    const char *path;   /* file to read; NULL if the text is given */
    const char *name;   /* for messages: "~/.tenax/settings.json", "--settings", "--model" */
    bool has_positions; /* a document with meaningful lines and columns */
    struct str text;
    const struct json *root; /* NULL = nothing */
    size_t *line_starts;     /* made by source_load() */
    size_t line_count;
};

/* Reads and parses; sets root, or leaves it NULL for a missing file. Errors have name:line:column.
 * Minor problems (a dangling link, invalid UTF-8) become warnings. */
int source_load(struct source *s, struct arena *arena, struct strv *warnings, struct err *err);

/* Appends "name:line:column" (or just the name) of a value of this source. */
void source_add_where(const struct source *s, const struct json *v, struct buf *out);

/* Makes a document that sets one key: {"permissions":{"defaultMode":"plan"}}. The row's type
 * determines whether the values become a string, a list or a boolean: true, unless the last value
 * is "0", "false", "no", "off" or empty. Unless whole, a list's values are split at commas. */
struct str source_text_for(struct arena *arena, const struct key *k, const struct strv *values,
                           bool whole);

bool source_same_file(const struct source *a, const struct source *b);
