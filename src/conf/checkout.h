/*
 * The git checkout a folder belongs to, found without starting git.
 */
#pragma once

#include <stdbool.h>

struct arena;

/* The top folder of the checkout that dir is in; for a linked worktree that of its main checkout,
 * or the worktree's own when the repository is bare, does not know it, or lies inside of it: then
 * the author of its .git may have chosen any, or made one. NULL when dir is in no repository. A
 * path in the arena. */
const char *checkout_root(struct arena *arena, const char *dir);
/* Whether git tracks this file, or a link or folder on the way to it: it came with the repository.
 * One whose index cannot be read counts as tracked. */
bool checkout_tracks(const char *path);
