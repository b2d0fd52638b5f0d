/*
 * Stores bytes under their digest: one file each in one folder, mode 0600, written completely or
 * not at all.
 *
 * Equal bytes are stored once. In total they take at most max_bytes: when more is added, the least
 * recently used are dropped, and the caller gets their number. A read returns the stored bytes or
 * an error: they are checked against the name. Not thread-safe; several processes may share a
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

/* The folder is created with the first file. */
void backups_init(struct backups *b, const char *dir, uint64_t max_bytes);
void backups_release(struct backups *b);

/* name: sha256_hex() of the bytes. They are on disk on return. */
int backups_put(struct backups *b, struct str bytes, const char *name, size_t *ret_dropped,
                struct err *err);
/* ERR_NOT_FOUND: never stored, or dropped. ERR_IO: the bytes have changed. */
int backups_get(const char *dir, struct str name, size_t max_bytes, struct buf *ret,
                struct err *err);
/* Copies all files to another folder, using hard links if possible. */
int backups_copy(const char *from, const char *to, struct err *err);
