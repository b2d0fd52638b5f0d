/*
 * kernel: probes by harmless system calls. Any thread; each call has no lasting effect.
 */
#include "proc/kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

/* Younger than some distributions' headers. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define LANDLOCK_VERSION_FLAG 1u

/* The number in a small file of /proc, or -1. file_slurp() refuses these: their size is 0. */
static int64_t kernel_number(const char *path)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    CLEANUP(buf_release) struct buf text = BUF_INIT(64);
    int64_t n = -1;

    if (fd < 0 || buf_add_fd(&text, fd, NULL) < 0)
        return -1;
    str_to_i64(str_trim(buf_str(&text)), &n, NULL);
    return n;
}

void kernel_probe(struct kernel *ret)
{
    struct utsname name;
    long n;
    int fd;

    *ret = (struct kernel){0};
    if (uname(&name) == 0)
        snprintf(ret->release, sizeof(ret->release), "%s", name.release);
    n = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_FLAG);
    ret->landlock_abi = n > 0 ? (int)n : 0;
    ret->seccomp = prctl(PR_GET_SECCOMP) >= 0;
    fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    ret->pidfd = fd >= 0;
    if (fd >= 0)
        close(fd);
    /* No descriptor is that high: nothing is closed. */
    ret->close_range = syscall(SYS_close_range, ~0u, ~0u, 0) == 0;
    ret->user_namespaces = kernel_number("/proc/sys/user/max_user_namespaces") > 0 &&
                           kernel_number("/proc/sys/kernel/unprivileged_userns_clone") != 0;
}
