/*
 * Finds the files on disk that the deny rules Read(…) or Edit(…) match, so that commands can be
 * kept from them.
 *
 * A literal path stands for itself. For patterns, and for names at any depth, folders are searched;
 * patterns that reach beyond the working directories are searched only inside these. Matches are
 * kept: a later search reads only folders that have changed, which the kernel reports
 * (guard/folder_watch.h). .git and node_modules are not searched, and links are not followed. The
 * work per search is limited; the next one continues it.
 */
#pragma once

#include <stdbool.h>

#include "guard/denied.h"

struct denied_files;
struct permit;
struct strv;

struct denied_files *denied_files_new(enum denied_what what);
void denied_files_free(struct denied_files *f); /* NULL is fine */

/* Appends them; dirs are the working directories. False if there are too many to examine or keep.
 * Any thread. */
bool denied_files_find(struct denied_files *f, struct permit *p, const struct strv *dirs,
                       struct strv *ret);
