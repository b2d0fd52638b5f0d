/*
 * The start of a search: resolves and checks the `path` argument of Glob and Grep.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct err;
struct strv;
struct tool_call;
struct walk_report;

struct search_root {
    char *path; /* absolute, as given */
    char *real; /* where that led when it was permitted: the folder to search */
    bool is_file;
};

/* path empty: the working directory. ERR_NOT_FOUND comes with a suggestion; ERR_BAD_INPUT if it is
 * neither a folder nor (with files) a regular file. */
int search_root(const struct tool_call *call, struct str path, bool files, struct search_root *ret,
                struct err *err);
void search_root_release(struct search_root *r);

/* The prefix that makes a path below root usable for the model: empty for the working directory,
 * "src/" below it, "/usr/include/" elsewhere. */
void search_prefix(const struct tool_call *call, const char *root, struct buf *ret);

bool search_respects_git(const struct tool_call *call); /* setting respectGitignore */

/* "*.c", ".github/x", "{.a,b}/x": whether a part of it begins with a dot. */
bool search_names_hidden(struct str glob);

/* Appends sentences about omissions, if any, one per line. */
void search_explain(const struct walk_report *r, struct buf *ret);
