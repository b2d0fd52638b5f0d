/*
 * Commands that work on files: which paths.
 */
#pragma once

#include <stdbool.h>

struct shell;
struct strv;

/* mkdir, touch, rm, rmdir, mv, cp, sed -i on paths that are written out, beside parts that read.
 * Appends the paths; false for anything else. */
bool shell_is_file_work(const struct shell *s, struct strv *ret_paths);

/* cp, tee, sed -i or another command that changes the files it names is given a name that only the
 * running shell knows: tee "$X". */
bool shell_hides_writes(const struct shell *s);
