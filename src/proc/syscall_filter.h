/*
 * The seccomp filter of sandboxed jobs: which system calls are denied, with which errors.
 *
 * It closes what folders and namespaces leave open: socket families, access to other processes,
 * parts of the kernel with a history of holes (io_uring, userfaultfd, bpf), and what would let a
 * job undo its sandbox (mounts, namespaces). Everything else is allowed, since we cannot list what
 * programs need. Programs get an errno, never a signal.
 */
#pragma once

#include "base/str.h"
#include "proc/confine.h"

struct err;

enum filter_unix {
    FILTER_UNIX_CLOSED,
    FILTER_UNIX_ASKED, /* no datagrams; the broker decides about connect(2) (broker.h) */
    FILTER_UNIX_OPEN,
};

/* An array of struct sock_filter, made at the first call for each kind and kept. Any thread. */
int syscall_filter_get(enum confine_net net, enum filter_unix unix_sockets, struct str *ret,
                       struct err *err);
