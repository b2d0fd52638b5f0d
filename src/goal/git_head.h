/*
 * Which commit is checked out, read from the repository's files: cheap enough for every round.
 * Private to this folder. Any thread.
 */
#pragma once

#include "base/buf.h"

struct git;
struct err;

struct git_head {
    char *git_dir; /* NULL: not in git */
    char *common;  /* that all worktrees share */
};

/* Asks git, once. Not being in git is no error. */
int git_head_find(const struct git *g, struct git_head *ret, struct err *err);
void git_head_release(struct git_head *h);
/* The commit, or the name of a branch that has none yet; empty when not in git. g: for repositories
 * that keep their refs in another way. */
void git_head_read(const struct git_head *h, const struct git *g, struct buf *ret);
