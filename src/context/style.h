/*
 * Output styles: how the model is to work with the user and to write, named by `outputStyle`.
 *
 * Some are built in ("Concise", "Explanatory", "Learning", "Proactive"; "Default" is none); others
 * are Markdown files of the user, the project or the administrator (conf/places.h,
 * "output-styles"), known by their frontmatter's `name` or their file's. A project that is not
 * trusted brings none, and none of a project's is a link out of it. denied: what must not be read;
 * NULL: nothing.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct arena;
struct conf;
struct denied;
struct err;
struct strv;

#define STYLE_MAX_TEXT ((size_t)256 << 10)

struct output_style {
    struct str name; /* as it calls itself; empty: none is wanted */
    struct str text;
    bool keeps_coding; /* what tenax says about writing code stays in the prompt */
};

/* The one that the settings name. ERR_NOT_FOUND, listing the available ones; ERR_BAD_INPUT and
 * others for an unusable file. All in the arena. */
int style_find(const struct conf *conf, const struct denied *denied, struct arena *arena,
               struct output_style *ret, struct err *err);

/* All there are to choose from: "default", the others built in, then those of files. */
void style_names(const struct conf *conf, struct strv *ret);
