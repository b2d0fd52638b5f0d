/*
 * Which files the deny rules Read(…), or Edit(…), mean on this disk, so that commands can be kept
 * from them.
 *
 * A literal path stands for itself. For patterns, and for names that count at any depth, folders
 * are searched: those of the pattern; those of patterns that reach beyond the working folders are
 * not searched outside of these. Matches are kept: the next look reads again only folders that have
 * changed since, and asks the kernel which these are (guard/folder_watch.h). .git and node_modules
 * are not searched, links are not followed. The work of one look is bounded; the next one continues
 * it.
 */
#pragma once

#include <stdbool.h>

#include "guard/denied.h"

struct denied_files;
struct permit;
struct strv;

struct denied_files *denied_files_new(enum denied_what what);
void denied_files_free(struct denied_files *f); /* NULL is fine */

/* Appends them; dirs are the working folders. False: there is more than can be looked at or kept.
 * Any thread. */
bool denied_files_find(struct denied_files *f, struct permit *p, const struct strv *dirs,
                       struct strv *ret);
