/*
 * Where a search begins: the `path` argument of Glob and Grep, resolved and looked at.
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
    char *path; /* absolute, as it was named */
    char *real; /* where that led to when it was permitted: the folder to search */
    bool is_file;
};

/* path empty: the working directory. ERR_NOT_FOUND comes with a "did you mean"; ERR_BAD_INPUT when
 * it is neither a folder nor (with files) a regular file. */
int search_root(const struct tool_call *call, struct str path, bool files, struct search_root *ret,
                struct err *err);
void search_root_release(struct search_root *r);

/* What goes before a path below root to make it one the model can use: nothing for the working
 * directory, "src/" below it, "/usr/include/" elsewhere. */
void search_prefix(const struct tool_call *call, const char *root, struct buf *ret);

bool search_respects_git(const struct tool_call *call); /* setting respectGitignore */

/* "*.c", ".github/x", "{.a,b}/x": a part of it begins with a dot. */
bool search_names_hidden(struct str glob);

/* Sentences about omissions, if any; each on a separate line. */
void search_explain(const struct walk_report *r, struct buf *ret);
