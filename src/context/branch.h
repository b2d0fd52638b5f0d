/*
 * The branches of a git repository, read from its files without running git, for when git is
 * missing or slow. Repositories with other ref storage (reftable) give no names.
 */
#pragma once

#include <stdbool.h>

struct branch {
    bool is_repo;
    char *tree;      /* the folder with .git */
    char *git;       /* .git itself, or the folder that it points to */
    char *common;    /* for a linked worktree, the target of its commondir; or NULL */
    char *current;   /* "main"; NULL = not on a branch, or unknown */
    char *commit;    /* full name of the checked-out commit; NULL = none, or unknown */
    char *main_name; /* the main branch: origin's HEAD, else main, master or trunk if there is one;
                        NULL = unknown */
    /* The repository's settings name programs for file contents (filters), or include other
     * settings files that may: letting git read files would run them. */
    bool has_filters;
    /* git might use another repository here, or refuse this one: the .git file has unusual content,
     * or a folder has another owner. */
    bool is_odd;
};

void branch_find(const char *dir, struct branch *ret);
char *branch_current(const char *dir); /* only that, in a few system calls */
void branch_release(struct branch *b);
