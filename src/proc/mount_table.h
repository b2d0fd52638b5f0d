/*
 * The kernel's list of mounts: one file system, or a part of one, may be visible in several places,
 * and a rule about a file applies to all of them. For this folder only; any thread.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/vec.h"

struct strv;

struct mount_entry {
    char *device; /* "8:1" */
    char *root;   /* the folder of that file system that is mounted */
    char *at;     /* where */
};

struct mount_table {
    VEC(struct mount_entry) list; /* in the order of mounting: later ones cover earlier ones */
};

/* Empty if it cannot be read. */
void mount_table_read(struct mount_table *t);
void mount_table_release(struct mount_table *t);

/* Appends the other places where a file or folder, or a part of a folder, is visible. path:
 * absolute, without links. */
void mount_table_find(const struct mount_table *t, const char *path, struct strv *ret);
