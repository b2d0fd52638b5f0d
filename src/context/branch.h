/*
 * The branches of a git repository, read from its files without starting git.
 *
 * This is what is left to say when git is missing or slow. Repositories that keep their refs in
 * another way (reftable) give no names.
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
    /* Its own settings name programs for the content of files (filters), or other files of settings
     * that may: whoever has git look at files runs what the folder says. */
    bool has_filters;
    /* git might find another repository here, or refuse this one: what names its folders has more
     * in it than git writes, or a folder is somebody else's. */
    bool is_odd;
};

void branch_find(const char *dir, struct branch *ret);
char *branch_current(const char *dir); /* that alone, in a few system calls */
void branch_release(struct branch *b);
