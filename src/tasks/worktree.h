/*
 * A git worktree for one agent, removed at its end if nothing in it has changed.
 *
 * While the agent works, a file beside the worktree names this process. If the process dies, the
 * next one that creates a worktree there or resumes the session cleans up. Any thread; waits for
 * git.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct arena;
struct cancel;
struct err;

/* Strings are in the arena it was made with. */
struct worktree {
    const char *path;       /* NULL = none */
    const char *branch;     /* worktree-agent-<id> */
    const char *base;       /* the commit it was created from */
    const char *root;       /* the main checkout */
    size_t left_out;        /* uncommitted files of the caller, which are missing in it */
    const char *submodules; /* "a, b": their folders, which are empty in it; NULL = none */
};

/* dir: the caller's working directory. base: "fresh" starts from the remote's default branch, if
 * the repository knows one, everything else from the caller's HEAD. ERR_UNSUPPORTED: no git, no
 * repository, or no commit. */
int worktree_make(const char *dir, struct str base, char *const *variables, const char *id,
                  struct arena *arena, struct cancel *cancel, struct worktree *ret,
                  struct err *err);
/* Removes it unless it has new commits or files; returns true if it is kept. */
bool worktree_end(const struct worktree *t, char *const *variables);
/* Cleans up worktrees of processes that died. */
void worktree_sweep(const char *root, char *const *variables);
/* Finds the worktree of an agent again, given the path, branch and base that its meta file has.
 * False if it is gone or the path is not one of an agent's worktree. */
bool worktree_again(struct str path, struct str branch, struct str base, const char *id,
                    struct arena *arena, struct worktree *ret);
