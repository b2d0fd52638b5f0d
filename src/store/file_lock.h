/*
 * The lock of a file for the length of one write, between processes (an OFD lock).
 *
 * It is asked for again and again instead of being waited for in the kernel, which no cancel could
 * end; usually it is free. One thread for one descriptor.
 */
#pragma once

#include <stdint.h>

struct cancel;
struct err;

/*
 * Waits max_ms at most, and only a moment more once cancel (which may be NULL) is set: the note
 * about the cancel is written, too. Where a file system has no locks it continues without. -1 with
 * ERR_BUSY, which names the process that has it, if that can be seen.
 */
int file_lock_take(int fd, const char *path, int64_t max_ms, struct cancel *cancel,
                   struct err *err);
void file_lock_give(int fd);
