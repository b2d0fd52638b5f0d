/*
 * Bytes kept by their digest: one file each in one folder, 0600, there whole or not at all.
 *
 * The same bytes are kept once. Together they take at most max_bytes: when more is put, those used
 * longest ago go, and the caller gets their number. A read returns the stored bytes or an error:
 * they are checked against the name. Not for several threads at once; several processes may share a
 * folder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "base/str.h"

struct buf;
struct err;

struct backups {
    char *dir;
    uint64_t max_bytes;
    uint64_t total; /* bytes in the folder */
    bool is_counted;
};

/* The folder is made with the first file. */
void backups_init(struct backups *b, const char *dir, uint64_t max_bytes);
void backups_release(struct backups *b);

/* name: sha256_hex() of the bytes. On disk when this returns. */
int backups_put(struct backups *b, struct str bytes, const char *name, size_t *ret_dropped,
                struct err *err);
/* ERR_NOT_FOUND: never kept, or dropped. ERR_IO: it is no longer what it was. */
int backups_get(const char *dir, struct str name, size_t max_bytes, struct buf *ret,
                struct err *err);
/* Everything of one folder also in another, at no cost where the file system has hard links. */
int backups_copy(const char *from, const char *to, struct err *err);
