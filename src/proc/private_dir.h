/*
 * A folder in memory to which no path leads, except for chosen jobs.
 *
 * It is a file system of its own, mounted over an empty folder in a mount namespace of its own. A
 * job that names it (confine.h) begins in that namespace. Other processes have another folder at
 * that path, or none; what they may still do is trace such a job, or tenax, and look through its
 * files in /proc. The memory is free again when the last descriptor and the last job are gone. Any
 * thread.
 */
#pragma once

#include <stdint.h>

struct err;

struct private_dir {
    int dir;                /* the folder */
    int user, mounts, root; /* the namespaces, and the root in them; user -1: that of tenax */
};

#define PRIVATE_DIR_INIT                                                                           \
    {                                                                                              \
        -1, -1, -1, -1                                                                             \
    }

/* `at` must be a folder without links that this user cannot rename. It has room for max_bytes and
 * can hold the upper folder of an overlay. ERR_UNSUPPORTED: it is not possible here, with the
 * reason. */
int private_dir_make(const char *at, uint64_t max_bytes, struct private_dir *ret, struct err *err);
void private_dir_release(struct private_dir *d); /* may be called again */
