/*
 * The mounts, as the kernel lists them: one file system, or a part of one, can be visible at
 * several places. A rule about a file applies to all of them. Private to this folder; any thread.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/vec.h"

struct strv;

struct mount_entry {
    char *device; /* "8:1" */
    char *root;   /* the folder of that file system that is seen */
    char *at;     /* where */
};

struct mount_table {
    VEC(struct mount_entry) list; /* in the order of mounting: later ones cover earlier ones */
};

/* Empty when it cannot be read. */
void mount_table_read(struct mount_table *t);
void mount_table_release(struct mount_table *t);

/* Appends the other places where a file or folder is seen, or a part of a folder. path: absolute,
 * without links. */
void mount_table_find(const struct mount_table *t, const char *path, struct strv *ret);
