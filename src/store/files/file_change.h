/*
 * What happened to a file, as the transcript has it: how it was before a tool changed it, and how
 * the tool left it.
 *
 * A change is one entry of a file-history-snapshot line. The line before the edit records the state
 * of the file and where its bytes are kept; the one after the edit repeats that and adds the new
 * state, so that later changes by others show. Both have the same path and version; versions of a
 * path count up through the session.
 *
 * Other agents write the same lines, with less in them: what they do not say is unknown here.
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
    LOOK_BIG,   /* a file, larger than one may be here: there is no hash */
    LOOK_OTHER, /* a folder, a link, a device: nothing tools change */
};

#define FILE_LOOK_NO_TIME (-1)

/* A file at one moment. */
struct file_look {
    enum look_kind kind;
    char hash[SHA256_HEX + 1]; /* of a LOOK_FILE; "" when only the rest is known */
    int64_t size;
    int64_t
        mtime_ns;  /* of a LOOK_FILE that was just written FILE_LOOK_NO_TIME: it proves nothing */
    unsigned mode; /* permission bits */
};

/* Links are not followed. ret_bytes: its content, or NULL for those who do not want it. ERR_IO when
 * it cannot be read. */
int file_look_at(const char *path, size_t max_bytes, struct file_look *ret, struct buf *ret_bytes,
                 struct err *err);
/* Whether the file is unchanged. Times are compared first, so that an untouched file is not
 * read. */
int file_look_still(const char *path, const struct file_look *was, size_t max_bytes, bool *ret,
                    struct err *err);
/* Both are known and have the same content (or both have none). */
bool file_look_equal(const struct file_look *a, const struct file_look *b);

#define FILE_CHANGE_NOT_KEPT "not-kept" /* stands for a backup's name; others look in vain */

struct file_change {
    struct str path;    /* absolute, links followed */
    struct str message; /* uuid of the user's message it happened after */
    struct str tool;    /* id of the call; or empty */
    int64_t version;    /* from 1 */
    int64_t time_ms;
    struct file_look before;
    struct str backup;   /* name of its bytes; empty: there were none */
    struct str not_kept; /* why there is no backup although there were bytes; or empty */
    unsigned folders;    /* how many folders above it were missing */
    struct file_look left;
    uint64_t offset; /* of its first line in the transcript; 0 when it comes from nowhere else */
};

/* The whole line, with its newline. is_update: the message has a line already. */
void file_change_write(const struct file_change *c, bool is_update, struct buf *out);

/* All changes of a session, in the order in which they happened. */
struct file_changes {
    struct arena arena;
    VEC(struct file_change *) list;
    struct map newest; /* path → its last one */
};
void file_changes_release(struct file_changes *all);
/* Adds the line if it is a change; others are skipped. dir: the base of relative paths (which
 * others write). */
void file_changes_add(struct file_changes *all, struct str line, uint64_t offset, struct str dir);
/* A copy is kept; of the same path and version: the newer one in its place. */
struct file_change *file_changes_keep(struct file_changes *all, const struct file_change *c);
