/*
 * Writes that must not be lost, numbered, so that tests can make exactly the n-th one fail.
 *
 * Everything that keeps a user's work goes through here: transcripts, files replaced whole, copies
 * of files before an edit. Outside test mode a call costs one relaxed load more than the system
 * call. Tests set TENAX_TEST_WRITE to
 *
 *   kill:N   SIGKILL to ourselves before the N-th write        torn:N  … in the middle of it
 *   after:N  … after it, before the caller knows
 *   full:N   the N-th write ends half-way with ENOSPC, all further ones at once
 *   eio:N    the N-th write fails with EIO; later ones do not
 *   commit:N, committed:N  SIGKILL before, after the N-th commit of a database
 *   count    the totals are printed on stderr at exit
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

void disk_test_mode(const char *spec); /* from main(), when the variable is set */

/* As write(2) and fdatasync(2), but EINTR is handled. */
ssize_t disk_write(int fd, const void *bytes, size_t len);
int disk_sync(int fd);
/* As renameat2(2), and a step of any other kind that changes files: numbered as writes are. The
 * step is the caller's, made after disk_step() has returned 0. */
int disk_rename(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int disk_step(void);
int64_t disk_syncs(void); /* how many there were in test mode */

/* Around what a library commits for us. */
void disk_commit_begins(void);
void disk_commit_ends(void);
