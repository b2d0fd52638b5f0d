/*
 * What a path holds right now, told by bytes that cannot lie about having changed.
 *
 * Only regular files are ever opened, and never through a link in the last place: a fifo, a device
 * or a loop of links costs nothing. Private to this folder. Any thread; waits for the disk.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"

struct cancel;
struct err;

enum digest_kind {
    DIGEST_GONE,
    DIGEST_FILE,
    DIGEST_LINK,   /* its target is the content */
    DIGEST_OTHER,  /* a folder, a fifo, a device, a socket */
    DIGEST_CLOSED, /* a file that cannot be read */
};

#define DIGEST_MAX_BYTES ((int64_t)256 << 20) /* a longer file is not read: its sha256 is "-" */

struct digest {
    enum digest_kind kind;
    int64_t size, mtime_ns, ctime_ns;
    uint64_t ino;
    bool settled;                /* old enough: a later change shows in mtime or ctime */
    char sha256[SHA256_HEX + 1]; /* of digest_read() */
};

/* path: relative to dir_fd, or absolute. Without the content. */
void digest_look(int dir_fd, const char *path, struct digest *ret);
/* With it. Fails only when it is cancelled. */
int digest_read(int dir_fd, const char *path, struct cancel *cancel, struct digest *ret,
                struct err *err);
