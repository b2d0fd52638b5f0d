/*
 * The Landlock system calls, which libc does not wrap. Plain system calls: usable in wardens and in
 * children before exec. Rights are those of <linux/landlock.h>, plus what an old header may lack.
 * -1: see errno.
 */
#pragma once

#include <linux/landlock.h>
#include <stdint.h>

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#ifndef LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)
#endif

#define LANDLOCK_ABI_REFER 2  /* the first that allows moving files between folders; Linux 5.19 */
#define LANDLOCK_ABI_SCOPES 6 /* the first with scopes; Linux 6.12 */

/* Rights that apply to single files; others are for folders. */
#define LANDLOCK_FILE_RIGHTS                                                                       \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |   \
     LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_IOCTL_DEV)

int landlock_abi(void); /* 0 = not available */

/* A new ruleset, close-on-exec, for ABI LANDLOCK_ABI_REFER or later. Here and below, rights unknown
 * to the kernel are ignored. */
int landlock_new(uint64_t handled_fs, uint64_t scoped);
/* Grants rights below a folder, or to a file. */
int landlock_allow(int ruleset, int path_fd, uint64_t rights);
/* Applies to the calling process permanently; no_new_privs must be set. */
int landlock_enter(int ruleset);
