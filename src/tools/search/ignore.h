/*
 * Which files a search passes over: .gitignore and its relatives, with ripgrep's meaning.
 *
 * struct ignore_rules is one file's rules (or the globs of a search); the last rule that fits a
 * path decides. struct ignore knows all files that speak for a walk, and a walk enters folders: a
 * struct ignore_level is a folder's own rules on top of those above it, up to the root of the file
 * system. In order of weight: .rgignore, .ignore, .gitignore, .git/info/exclude, the user's global
 * ignore file; of the same kind, the deepest folder that has an opinion. Git's files count inside a
 * git repository only, and not above its root.
 *
 * Rules never change once read; levels may be entered by several threads at once. Unreadable and
 * senseless lines are passed over, as git does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct ignore;
struct ignore_level;
struct ignore_rules;

#define IGNORE_MAX_FILE ((size_t)1 << 20) /* bytes; a larger file is not read */

enum ignore_verdict {
    IGNORE_SILENT, /* no rule fits */
    IGNORE_DROP,
    IGNORE_KEEP, /* a rule with ! */
};

/* The text of an ignore file; one rule a line. */
struct ignore_rules *ignore_rules_new(void);
void ignore_rules_add(struct ignore_rules *r, struct str text);
void ignore_rules_free(struct ignore_rules *r);
size_t ignore_rules_drops(const struct ignore_rules *r); /* rules without ! */
/* path: relative to the folder the rules stand in. */
enum ignore_verdict ignore_rules_check(const struct ignore_rules *r, struct str path, bool is_dir);

/* root: absolute and without links; the files of the folders above it are read now. git: whether
 * git's files count at all. */
struct ignore *ignore_new(const char *root, bool git);
void ignore_free(struct ignore *ig);

/* What a folder has, seen while it was listed. */
enum ignore_files {
    IGNORE_HAS_GIT = 1, /* .git, a folder or a file */
    IGNORE_HAS_GITIGNORE = 2,
    IGNORE_HAS_IGNORE = 4,
    IGNORE_HAS_RGIGNORE = 8,
};
unsigned ignore_file_flag(struct str name); /* 0: none of them */

/* The rules that hold inside a folder; above: those of the folder it is in (NULL: it is the root
 * itself). dir_fd: the folder, open. path: relative to the root, empty for the root. Lives as long
 * as ig. */
const struct ignore_level *ignore_enter(struct ignore *ig, const struct ignore_level *above,
                                        int dir_fd, struct str path, unsigned files);
/* path: relative to the root, in the folder of the level. */
enum ignore_verdict ignore_check(const struct ignore *ig, const struct ignore_level *level,
                                 struct str path, bool is_dir);
