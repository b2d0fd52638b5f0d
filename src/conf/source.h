/*
 * One place settings come from: a file, the text of --settings, an option, a variable.
 *
 * Everything is kept in the arena it was read into, so a source has no release. The document is
 * always an object; a file that is not there has none, and that is no error unless it was asked for
 * by name. Positions are looked up in a table of line starts, so that a large file costs no more
 * per question than a small one.
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
    bool ours;          /* tenax's own, not Claude's */
    bool required;      /* named by the user: it must be there */
    bool on_top;        /* a client's: over variables and options, too */
    const char *path;   /* file to read, or NULL when the text is given */
    const char *name;   /* for people: "~/.tenax/settings.json", "--settings", "--model" */
    bool has_positions; /* a document written by hand, with lines and columns */
    struct str text;
    const struct json *root; /* NULL: nothing there */
    size_t *line_starts;     /* made by source_load() */
    size_t line_count;
};

/* Reads and parses; sets root, or leaves it NULL for a missing file. The error says
 * name:line:column. Minor problems (a dangling link, invalid UTF-8) become warnings. */
int source_load(struct source *s, struct arena *arena, struct strv *warnings, struct err *err);

/* Appends "name:line:column" (or just the name) of a value of this source. */
void source_add_where(const struct source *s, const struct json *v, struct buf *out);

/* The text of a document that sets one key: {"permissions":{"defaultMode":"plan"}}. The row's type
 * says whether the values become a string, a list or a boolean: true, unless the last value is one
 * of "0", "false", "no", "off" and nothing. Unless whole, a list's values are split at commas. */
struct str source_text_for(struct arena *arena, const struct key *k, const struct strv *values,
                           bool whole);

bool source_same_file(const struct source *a, const struct source *b);
