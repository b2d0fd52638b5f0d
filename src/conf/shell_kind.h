/*
 * What a simple command does, as far as it can be told from its words: reads only, works on files,
 * removes what must not be removed.
 *
 * Everything here is a list of what is known. What is not on it is not read-only and no file work.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct shell;
struct shell_part;
struct strv;

/* The whole text only reads. */
bool shell_is_read_only(const struct shell *s);

/* A part that only reads: no option of it writes or runs something else. */
bool shell_part_is_read_only(const struct shell_part *p);
/* The same, seen together with what runs before it: p is one of the parts of s. */
bool shell_part_is_free(const struct shell *s, const struct shell_part *p);

/* mkdir, touch, rm, rmdir, mv, cp, sed -i on paths that are written out, beside parts that read.
 * Appends the paths; false for anything else. */
bool shell_is_file_work(const struct shell *s, struct strv *ret_paths);

/* find with an action, watch, setsid, flock: they run or remove what a prefix does not show. */
bool shell_part_runs_others(const struct shell_part *p);

/* Some part, also behind sudo and the like, removes /, a folder below it, the home, cwd or what is
 * above it, or a folder that a variable names. */
bool shell_removes_critical(const struct shell *s, const char *cwd, const char *home);

/* The first word without its folder; a shell; a program that runs what follows it (sudo, env,
 * find), shells included. */
struct str shell_base_name(struct str path);
struct str shell_part_program(const struct shell_part *p);
bool shell_part_is_shell(const struct shell_part *p);
bool shell_part_is_runner(const struct shell_part *p);
