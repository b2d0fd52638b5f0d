/*
 * What is to be protected, and why: the rules, applied to a workspace and its checks.
 *
 * - what --protect names;
 * - what a check names: the scripts it runs, the files its commands are given or read from, but not
 *   what commands that only look or build (grep, test, gcc, eslint) are pointed at: that is the
 *   work itself;
 * - what its programs read their orders from (recipe.h), the scripts of package.json and the rules
 *   of a makefile followed one level; and where such files are, those that would be read before or
 *   beside them and are not there;
 * - test files by the usual names, but for what compilers made of them;
 * - programs of the checks, as PATH gives them.
 *
 * Commands are read without running a shell: what a variable or a substitution would give is not
 * known. Private to this folder. Any thread; waits for the disk and for git.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"

struct buf;
struct cancel;
struct err;
struct protect_spec;

enum found_kind {
    FOUND_FILE,
    FOUND_ORDERS,  /* a package.json: what it depends on is free */
    FOUND_ABSENT,  /* must not appear */
    FOUND_PROGRAM, /* path is its name */
};

struct found {
    enum found_kind kind;
    char *path; /* relative to the workspace when below it, else absolute */
    char *why;
};

struct protect_find {
    const struct protect_spec *spec;
    struct cancel *cancel;
    VEC(struct found) found;
    struct map known; /* kind and path of those */
    struct strv notes;
    struct strv files; /* of the workspace, but for what git ignores; in order */
    struct strv env;   /* as checks get it */
    int named;         /* files that a check names, for notes */
    bool python_tests; /* a check runs them: conftest.py has a say in every folder of tests */
};

int protect_find_run(struct protect_find *f, struct err *err);
void protect_find_release(struct protect_find *f);

/* For the parts of the search. */

/* path: absolute or relative to the workspace; "." and ".." are taken out. Known ones stay as they
 * are. */
void protect_find_add(struct protect_find *f, enum found_kind kind, struct str path,
                      const char *why);
bool protect_find_has(const struct protect_find *f, struct str relative);   /* a file */
bool protect_find_lists(const struct protect_find *f, struct str relative); /* in files */
/* The absolute path, and the one to be kept. Yours to free. */
char *protect_find_absolute(const struct protect_find *f, const char *folder, struct str path);
struct str protect_find_relative(const struct protect_find *f, struct str absolute);
/* A regular file, reached through links or not. */
bool protect_find_is_file(const char *absolute);

/* What compilers make: it will be made anew, and says nothing about what it does. */
bool protect_find_is_built(const char *absolute);

/* protect_check.c: everything that one check leads to. */
void protect_find_check(struct protect_find *f, struct str command);
