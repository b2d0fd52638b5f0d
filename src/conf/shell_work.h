/*
 * Commands that work on files: which paths, and whether one of them must not go.
 */
#pragma once

#include <stdbool.h>

struct shell;
struct strv;

/* mkdir, touch, rm, rmdir, mv, cp, sed -i on paths that are written out, beside parts that read.
 * Appends the paths; false for anything else. */
bool shell_is_file_work(const struct shell *s, struct strv *ret_paths);

/* Some part, also behind sudo and the like, removes /, a folder below it, the home, cwd or what is
 * above it, or a folder that a variable names. */
bool shell_removes_critical(const struct shell *s, const char *cwd, const char *home);
