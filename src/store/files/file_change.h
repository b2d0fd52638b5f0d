/*
 * A change of a file, as recorded in the transcript: the state before a tool changed it, and the
 * state in which the tool left it.
 *
 * A change is one entry of a file-history-snapshot line. The line before the edit records the state
 * of the file and where its bytes are saved; the line after the edit repeats that and adds the new
 * state, so that later changes by others can be detected. Both have the same path and version; the
 * versions of a path count up through the session.
 *
 * Other agents write the same lines with fewer fields; missing facts are unknown.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/vec.h"

struct buf;
struct err;

enum look_kind {
    LOOK_UNKNOWN,
    LOOK_ABSENT, /* no such file */
    LOOK_FILE,
    LOOK_BIG,   /* a file above the size limit: there is no hash */
    LOOK_OTHER, /* a folder, link or device, which tools do not change */
};

#define FILE_LOOK_NO_TIME (-1)

/* The state of a file at one moment. */
struct file_look {
    enum look_kind kind;
    char hash[SHA256_HEX + 1]; /* of a LOOK_FILE; "" if unknown */
    int64_t size;
    int64_t mtime_ns; /* FILE_LOOK_NO_TIME for a LOOK_FILE that was just written, because its time
                         proves nothing */
    unsigned mode;    /* permission bits */
};

/* Does not follow links. ret_bytes: its content, or NULL. ERR_IO if it cannot be read. */
int file_look_at(const char *path, size_t max_bytes, struct file_look *ret, struct buf *ret_bytes,
                 struct err *err);
/* Whether the file is unchanged. Compares times first, to avoid reading it. */
int file_look_still(const char *path, const struct file_look *was, size_t max_bytes, bool *ret,
                    struct err *err);
/* Both are known and have the same content (or both do not exist). */
bool file_look_equal(const struct file_look *a, const struct file_look *b);

#define FILE_CHANGE_NOT_KEPT                                                                       \
    "not-kept" /* used as a backup's name; other programs will not find it */

struct file_change {
    struct str path;    /* absolute, links resolved */
    struct str message; /* uuid of the user's message before it */
    struct str tool;    /* id of the call; or empty */
    int64_t version;    /* from 1 */
    int64_t time_ms;
    struct file_look before;
    struct str backup;   /* name of the saved bytes; empty = none */
    struct str not_kept; /* reason why bytes were not saved; or empty */
    unsigned folders;    /* number of missing folders above it */
    struct file_look left;
    uint64_t offset; /* offset of its first line in the transcript; 0 = not from a transcript */
};

/* Appends the whole line with its newline. is_update: the message already has a line. */
void file_change_write(const struct file_change *c, bool is_update, struct buf *out);

/* All changes of a session, in order. */
struct file_changes {
    struct arena arena;
    VEC(struct file_change *) list;
    struct map newest; /* path → its last change */
};
void file_changes_release(struct file_changes *all);
/* Adds the line if it is a change; ignores others. dir: the base of relative paths, which other
 * programs write. */
void file_changes_add(struct file_changes *all, struct str line, uint64_t offset, struct str dir);
/* Keeps a copy; replaces an older one with the same path and version. */
struct file_change *file_changes_keep(struct file_changes *all, const struct file_change *c);
