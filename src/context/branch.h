/*
 * The branches of a git repository, read from its files without starting git.
 *
 * The information that remains when git is missing or slow. Repositories that store their refs
 * otherwise (reftable) give no names.
 */
#pragma once

#include <stdbool.h>

struct branch {
    bool is_repo;
    char *tree;      /* the folder that has the .git */
    char *git;       /* that .git, or the folder that it names */
    char *common;    /* what its commondir names, of a linked worktree; NULL: there is none */
    char *current;   /* "main"; NULL: not on a branch, or not known */
    char *commit;    /* that is checked out, its whole name; NULL: there is none, or not known */
    char *main_name; /* the branch that work goes back to: what origin calls HEAD, else main, master
                        or trunk where there is one; NULL: not known */
    /* Its own settings name programs for the content of files (filters), or other settings files
     * that may: letting git read files would run the folder's programs. */
    bool has_filters;
    /* git might find another repository here, or refuse this one: the file that names its folders
     * has more than git writes, or a folder has another owner. */
    bool is_odd;
};

void branch_find(const char *dir, struct branch *ret);
char *branch_current(const char *dir); /* that alone, in a few system calls */
void branch_release(struct branch *b);
