/*
 * Which files a search skips: .gitignore and similar files, interpreted like in ripgrep.
 *
 * struct ignore_rules has the rules of one file (or the globs of a search); the last matching rule
 * decides. struct ignore has all ignore files of a walk. A walk enters folders: a struct
 * ignore_level adds a folder's own rules to those above it, up to the root of the file system. In
 * order of precedence: .rgignore, .ignore, .gitignore, .git/info/exclude, the user's global ignore
 * file; among the same kind the deepest folder with a matching rule. Git's files count only inside
 * a git repository, and not above its root.
 *
 * Rules are immutable; several threads may enter levels at once. Unreadable files and invalid lines
 * are ignored, as by git.
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
    IGNORE_SILENT, /* no rule matches */
    IGNORE_DROP,
    IGNORE_KEEP, /* a rule with ! */
};

/* The text of an ignore file, one rule per line. */
struct ignore_rules *ignore_rules_new(void);
void ignore_rules_add(struct ignore_rules *r, struct str text);
void ignore_rules_free(struct ignore_rules *r);
size_t ignore_rules_drops(const struct ignore_rules *r); /* number of rules without ! */
/* path: relative to the folder of the rules. */
enum ignore_verdict ignore_rules_check(const struct ignore_rules *r, struct str path, bool is_dir);

/* root: absolute, without links; reads the files of the folders above it. git: whether git's files
 * count. */
struct ignore *ignore_new(const char *root, bool git);
void ignore_free(struct ignore *ig);

/* Which of these files a folder has, as seen in its listing. */
enum ignore_files {
    IGNORE_HAS_GIT = 1, /* .git, a folder or a file */
    IGNORE_HAS_GITIGNORE = 2,
    IGNORE_HAS_IGNORE = 4,
    IGNORE_HAS_RGIGNORE = 8,
};
unsigned ignore_file_flag(struct str name); /* 0: none of them */

/* The rules inside a folder; above: those of its parent (NULL = it is the root). dir_fd: the
 * folder, open. path: relative to the root, empty for the root. Exists as long as ig. */
const struct ignore_level *ignore_enter(struct ignore *ig, const struct ignore_level *above,
                                        int dir_fd, struct str path, unsigned files);
/* path: relative to the root, in the folder of the level. */
enum ignore_verdict ignore_check(const struct ignore *ig, const struct ignore_level *level,
                                 struct str path, bool is_dir);

/* Whether git ignores a file, by the rules of the folders on the way to it alone; a file that is
 * tracked anyway counts as ignored, too. path: absolute, without links; it need not exist. */
bool ignore_drops_file(const char *path);
