/*
 * Files that an agent must not change to get its way: what says whether the goal is met.
 *
 * Taken when the goal is set: what --protect names (globs, path_glob.h; a folder means all in it);
 * files that a check names; what its commands read their recipe from (Makefile, package.json,
 * CMakeLists.txt, … by program); existing test files by the usual names; and which file PATH gives
 * for the programs of the checks. protect_find.h has the rules one by one. Each with the hash of
 * its content, in a manifest that is kept as a file; whoever keeps the file's own hash knows that
 * nobody has edited it. A file that is gone, or is a link or a folder now, has changed. Of a
 * package.json everything counts but what it depends on.
 *
 * New files are free, but for those that would be read before or beside a recipe that is there: a
 * GNUmakefile beside a Makefile, a pytest.ini, a conftest.py among tests, a program that stands
 * before another of its name in PATH.
 *
 * What this does not see: what a test imports, and what packages hold (node_modules, .venv).
 *
 * Files whose size, inode, mtime and ctime are as before are not read again: nobody but root can
 * set a ctime. One that had changed within the last moments before it was taken is always read.
 * Files above 256 MB and those that cannot be read are known by these four alone. Any thread; waits
 * (for the disk, and in protect_take() for git).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"

struct cancel;
struct err;
struct protect;

#define PROTECT_MAX_FILES 20000 /* of the usual names; more: the rest is left out, with a note */

struct protect_spec {
    const char *dir;           /* of the workspace: absolute, no links */
    const struct strv *globs;  /* of --protect; may be empty */
    const struct strv *checks; /* commands */
    char *const *environ;      /* for PATH */
    bool is_named_only;        /* nothing but what globs and checks lead to */
};

/* notes: for the user, such as a glob that matches nothing. ERR_CANCELLED, ERR_IO (no such
 * folder). */
int protect_take(const struct protect_spec *spec, struct cancel *cancel, struct protect **ret,
                 struct strv *ret_notes, struct err *err);
/* What globs and checks lead to comes on top, as it is now. What is protected already stays as it
 * was taken: whoever has changed it has changed it. Test files that came since are free. On failure
 * p is good for nothing but protect_free(). */
int protect_extend(struct protect *p, const struct protect_spec *spec, struct cancel *cancel,
                   struct strv *ret_notes, struct err *err);
void protect_free(struct protect *p);          /* NULL is fine */
size_t protect_count(const struct protect *p); /* files */
/* Their names, at most `max`, in the order they were found. */
void protect_names(const struct protect *p, size_t max, struct strv *ret);

/* The manifest's file, and its hash in hex. protect_read() fails with ERR_PROTOCOL when the file
 * does not have this hash. */
int protect_write(const struct protect *p, const char *path, char ret_sha256[SHA256_HEX + 1],
                  struct err *err);
int protect_read(const char *path, struct str sha256, struct protect **ret, struct err *err);

enum protect_what {
    PROTECT_CHANGED,
    PROTECT_GONE,
    PROTECT_REPLACED, /* by a link, a folder, a device */
    PROTECT_SHADOWED, /* PATH gives another program now, or a new file would be read first */
};
const char *protect_what_name(enum protect_what w); /* "changed", "gone", "replaced", "shadowed" */

struct protect_change {
    enum protect_what what;
    char *path; /* relative to dir; of a program its name */
    char *why;  /* "a test file", "named by the check 'make test'", … */
};

typedef VEC(struct protect_change) protect_change_vec;
void protect_changes_release(protect_change_vec *v);

/* What has changed since. */
int protect_verify(const struct protect *p, struct cancel *cancel, protect_change_vec *ret,
                   struct err *err);
/* The file is fine as it is now (path relative to dir or absolute; a folder: all in it; or the name
 * of a program), or all are when path is empty. *ret_count: how many had changed. ERR_NOT_FOUND:
 * nobody protects that one. Accepted files stay protected; the manifest has to be written again. */
int protect_accept(struct protect *p, struct str path, struct cancel *cancel, size_t *ret_count,
                   struct err *err);
/* For the model: what changed and that only the user can accept it. */
void protect_explain(const protect_change_vec *v, struct buf *ret);
