/*
 * The Landlock system calls, for which libc has no names. Plain system calls: fit for wardens and
 * for children before exec. Rights are those of <linux/landlock.h>; what that header may be too old
 * for is here. -1: errno says why.
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

#define LANDLOCK_ABI_REFER 2  /* the first that lets files move between folders; Linux 5.19 */
#define LANDLOCK_ABI_SCOPES 6 /* the first with scopes; Linux 6.12 */

/* What can be asked of one file; other rights are folders'. */
#define LANDLOCK_FILE_RIGHTS                                                                       \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |   \
     LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_IOCTL_DEV)

int landlock_abi(void); /* 0: there is none */

/* A new ruleset, close-on-exec, for an ABI of LANDLOCK_ABI_REFER and later. Here and below, rights
 * unknown to the kernel are ignored. */
int landlock_new(uint64_t handled_fs, uint64_t scoped);
/* Gives rights below a folder, or to a file. */
int landlock_allow(int ruleset, int path_fd, uint64_t rights);
/* For the calling process, for good; no_new_privs must be set. */
int landlock_enter(int ruleset);
