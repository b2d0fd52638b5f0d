/*
 * Output styles: how the model works with the user and writes, selected by `outputStyle`.
 *
 * Some are built in ("Concise", "Explanatory", "Learning", "Proactive"; "Default" means none);
 * others are Markdown files of the user, the project or the administrator (conf/places.h,
 * "output-styles"), named by their frontmatter's `name` or their file name. An untrusted project
 * provides none, and project files must not be links to outside. denied: files that must not be
 * read.
 */
#pragma once

#include <stdbool.h>

#include "base/path_veto.h"
#include "base/str.h"

struct arena;
struct conf;
struct err;
struct strv;

#define STYLE_MAX_TEXT ((size_t)256 << 10)

struct output_style {
    struct str name; /* its own name; empty = no style */
    struct str text;
    bool keeps_coding; /* keep tenax's instructions about writing code in the prompt */
};

/* Loads the one in the settings. ERR_NOT_FOUND lists the available ones; ERR_BAD_INPUT and others
 * for an invalid file. Allocated in the arena. */
int style_find(const struct conf *conf, struct path_veto denied, struct arena *arena,
               struct output_style *ret, struct err *err);

/* All available names: "default", other built-in ones, then files. */
void style_names(const struct conf *conf, struct strv *ret);
