/*
 * Locks a file for one write, between processes (an OFD lock).
 *
 * Polls instead of waiting in the kernel, because a cancel could not end that; usually the lock is
 * free. One thread per descriptor.
 */
#pragma once

#include <stdint.h>

struct cancel;
struct err;

/*
 * Waits at most max_ms, and only a moment more once cancel (may be NULL) is set, so that the record
 * of the cancel is still written. Succeeds without a lock if the file system has none. ERR_BUSY
 * names the process that holds the lock, if that is visible.
 */
int file_lock_take(int fd, const char *path, int64_t max_ms, struct cancel *cancel,
                   struct err *err);
void file_lock_give(int fd);
