/*
 * The table of a snapshot: files by path, and for those that have changed what they count as.
 *
 * An entry is small, because there is one for every file; what only a changed file needs is kept
 * apart. Entries move when the table grows: keep indices. Private to this folder. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "goal/content.h"

struct sha256;

enum snapshot_ignored {
    SNAPSHOT_NOT_ASKED,
    SNAPSHOT_COUNTS,
    SNAPSHOT_IGNORED,
};

struct snapshot_entry {
    struct str path;     /* relative to the folder, or absolute; a NUL behind it */
    uint64_t look;       /* content_look() when it was last read; 0: gone */
    struct content base; /* in the beginning */
    uint32_t round;      /* of the last look */
    uint32_t change;     /* number from 1 in changes; 0: never changed */
    enum snapshot_ignored ignored : 8;
    bool written; /* by a tool: counts also when git ignores it */
    bool due;     /* a tool has written it since the last look */
    bool young;   /* content_is_young() when it was read */
};

struct snapshot_change {
    size_t entry;
    struct content now, told;
    struct content from,
        to; /* while it holds `from` it counts as `to`; from CONTENT_UNKNOWN: none */
};

struct snapshot_table {
    struct arena arena; /* the paths */
    VEC(struct snapshot_entry) entries;
    VEC(struct snapshot_change) changes;
    VEC(size_t) written;
    uint32_t *slots; /* number from 1 of an entry; 0: free */
    size_t slot_count;
};

void snapshot_table_release(struct snapshot_table *t);
struct snapshot_entry *snapshot_table_find(struct snapshot_table *t, struct str path);
/* One that is not there yet; its base is CONTENT_GONE. */
struct snapshot_entry *snapshot_table_add(struct snapshot_table *t, struct str path);
size_t snapshot_table_index(const struct snapshot_table *t, const struct snapshot_entry *e);
char *snapshot_entry_path(const char *dir, const struct snapshot_entry *e); /* yours to free */

/* What it holds now. */
void snapshot_table_set(struct snapshot_table *t, struct snapshot_entry *e, struct content now);
/* Adds everything that differs from the beginning, in the order of paths, and remembers that it was
 * told. */
void snapshot_table_tell(struct snapshot_table *t, struct sha256 *hash);
/* What differs from what was told counts as told. */
void snapshot_table_forgive(struct snapshot_table *t);
