/*
 * The content of a workspace as git objects, in a repository of our own.
 *
 * The repository lies outside of the workspace, so that nothing in there can prune, replace or
 * re-attribute what it holds: no filter, no attribute, no hook and no configuration of the
 * workspace has a say, only its .gitignore files. Where the workspace is a repository, its object
 * files are linked into ours and its index is where ours begins, which makes this cheap. Any
 * thread; waits for git.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/strv.h"
#include "goal/git/git.h"
#include "goal/origin/inventory.h"

struct cancel;
struct err;
struct git_state;

struct tree {
    const char *dir;      /* the workspace */
    const char *top;      /* of its work tree: dir, or a folder above it */
    const char *git_dir;  /* ours */
    char *const *environ; /* as tenax was started */
    const char *excludes; /* of tree_init(): patterns besides the .gitignore files */
    const char *index;    /* another than the repository's own; NULL: that */
    const char *skip;     /* a folder that does not count, relative to dir; NULL: none */
    const char *spare;    /* a file that does not count, relative to dir; NULL: none */
};

/* An empty repository that treats all content as it is. */
int tree_make(const char *git_dir, struct err *err);
/* Makes the repository. files: of the workspace, to find attributes that change content.
 * *ret_excludes is yours to free. */
int tree_init(const struct tree *t, const struct git_state *state, const struct inventory *files,
              struct cancel *cancel, char **ret_excludes, struct err *err);
/* The present content of the workspace as a tree. more: ignored files that still belong to it,
 * relative to the workspace; may be NULL. */
int tree_take(const struct tree *t, const struct strv *more, struct cancel *cancel,
              char ret_id[static GIT_ID], struct err *err);
/* The next tree_take() reads files that changed, whatever the index says: git compares times by the
 * second, the inventory by the nanosecond. changes may be NULL. */
int tree_forget(const struct tree *t, const inventory_change_vec *changes, struct cancel *cancel,
                struct err *err);
/* For a struct tree with a separate index. */
int tree_copy_index(const char *from, const char *to, struct err *err);
/* Which of these files the .gitignore files leave out. paths: relative to the workspace, each
 * followed by a NUL. The answer has the same form. */
int tree_ignored(const struct tree *t, struct str paths, struct cancel *cancel, struct buf *ret,
                 struct err *err);
/* The files of the last tree_take(), relative to the workspace, each followed by a NUL. */
int tree_list(const struct tree *t, struct cancel *cancel, struct buf *ret, struct err *err);
/* For questions of others. */
struct git tree_git(const struct tree *t, struct cancel *cancel);
