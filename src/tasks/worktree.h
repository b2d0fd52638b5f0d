/*
 * A git worktree of an agent's own: made for it, and taken away when nothing in it has changed.
 *
 * While its agent works, a file beside it names this process. When the process has died, the next
 * one that makes a worktree there, or resumes the session, ends in its place what it has left. Any
 * thread; waits for git.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct arena;
struct cancel;
struct err;

/* Strings live in the arena it was made with. */
struct worktree {
    const char *path;   /* NULL: there is none */
    const char *branch; /* worktree-agent-<id> */
    const char *base;   /* the commit it began at */
    const char *root;   /* the main checkout */
    size_t left_out;    /* files of the caller that are not committed, and so are not in it */
};

/* dir: where the caller works. ERR_UNSUPPORTED: no git, no repository, or no commit in it. */
int worktree_make(const char *dir, char *const *variables, const char *id, struct arena *arena,
                  struct cancel *cancel, struct worktree *ret, struct err *err);
/* Removes it when it holds no new commit and no new file; true: it is kept. */
bool worktree_end(const struct worktree *t, char *const *variables);
/* Ends what processes that died have left in a checkout. */
void worktree_sweep(const char *root, char *const *variables);
/* The one of this agent again, of which a file says that it was at path, on that branch, which
 * began at base: false: it is gone, or no such path is an agent's. */
bool worktree_again(struct str path, struct str branch, struct str base, const char *id,
                    struct arena *arena, struct worktree *ret);
