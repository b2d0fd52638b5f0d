/*
 * Commands that would remove what nobody means to lose.
 */
#pragma once

#include <stdbool.h>

struct shell;

/* Some part, also behind sudo and the like, inside what a shell is given and in the folders that a
 * cd leads to, removes /, a folder below it, a home, cwd or what is above it, or a folder that a
 * variable names. */
bool shell_removes_critical(const struct shell *s, const char *cwd, const char *home);
