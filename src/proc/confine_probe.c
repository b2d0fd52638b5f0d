/*
 * confine_probe: a child that confines itself and does nothing else; a bwrap that runs "true". Any
 * thread.
 */
#include "proc/confine_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "proc/bubblewrap.h"
#include "proc/confine.h"
#include "proc/confine_enter.h"
#include "proc/confine_image.h"
#include "proc/landlock.h"
#include "proc/proc.h"

#define PROBE_TIMEOUT_MS 10000

/* In the child: plain system calls only. */
static _Noreturn void probe_try(const struct confine_kit *kit, int to)
{
    struct confine_image *image = (struct confine_image *)kit->image.ptr;
    struct child_failure failure = {0};
    enum child_stage stage;
    ssize_t len;

    memcpy(image->fds, kit->fds, sizeof(image->fds));
    failure.failed = !confine_enter(image, /*entered=*/0, &stage);
    if (!failure.failed) {
        stage = CHILD_RIGHTS;
        failure.failed = !confine_drop_rights(image);
    }
    if (!failure.failed) {
        stage = CHILD_CALLS;
        failure.failed = !confine_drop_calls(image);
    }
    failure.stage = (int)stage;
    failure.sys = errno;
    len = write(to, &failure, sizeof(failure));
    _exit(len == sizeof(failure) ? 0 : 1);
}

static bool probe_hear(pid_t child, int from, char *ret_why, size_t size)
{
    struct child_failure failure;
    ssize_t len;

    do
        len = read(from, &failure, sizeof(failure));
    while (len < 0 && errno == EINTR);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (len != sizeof(failure)) {
        snprintf(ret_why, size, "a process that confined itself did not survive it");
        return false;
    }
    if (failure.failed)
        snprintf(ret_why, size, "%s (%s)", child_lacks((enum child_stage)failure.stage),
                 strerrordesc_np(failure.sys));
    return !failure.failed;
}

static bool probe_run(const struct confine_kit *kit, char *ret_why, size_t size)
{
    int ends[2];
    pid_t child;
    bool works = false;

    if (pipe2(ends, O_CLOEXEC) < 0) {
        snprintf(ret_why, size, "no pipe to ask by");
        return false;
    }
    child = fork();
    if (child == 0)
        probe_try(kit, ends[1]);
    close(ends[1]);
    if (child > 0)
        works = probe_hear(child, ends[0], ret_why, size);
    else
        snprintf(ret_why, size, "no process to ask by");
    close(ends[0]);
    return works;
}

bool confine_probe_landlock(char *ret_why, size_t size)
{
    static const char *const nothing[] = {NULL};
    static const char *const argv[] = {"true", NULL};
    const struct confinement strict = {
        .write = nothing,
        .net = CONFINE_NET_NONE,
        .by = confine_backend_named("landlock"),
    };
    const struct proc_spec spec = {.argv = argv};
    struct confine_kit kit = CONFINE_KIT_INIT;
    struct err err = {0};
    int abi = landlock_abi();
    bool works = false;

    if (abi < LANDLOCK_ABI_SCOPES) {
        snprintf(ret_why, size,
                 "Landlock %d is needed, to keep signals in (Linux 6.12); the kernel has %s%.0d",
                 LANDLOCK_ABI_SCOPES, abi ? "Landlock " : "none", abi);
        return false;
    }
    if (confine_kit_init(&kit, &strict, &spec, &err) == 0)
        works = probe_run(&kit, ret_why, size);
    else
        snprintf(ret_why, size, "%s", err.text);
    confine_kit_release(&kit);
    return works;
}

bool confine_probe_bubblewrap(char *ret_why, size_t size)
{
    const char *path = bubblewrap_path();
    const char *argv[] = {path,
                          "--ro-bind",
                          "/",
                          "/",
                          "--dev",
                          "/dev",
                          "--unshare-ipc",
                          "--unshare-pid",
                          "--unshare-net",
                          "true",
                          NULL};
    const struct proc_spec spec = {.argv = argv, .timeout_ms = PROBE_TIMEOUT_MS};
    struct proc_result result = {0};
    struct err err = {0};
    bool works;

    if (!path) {
        snprintf(ret_why, size, "bwrap is not installed (package bubblewrap)");
        return false;
    }
    if (proc_run(&spec, /*cancel=*/NULL, &result, &err) < 0) {
        snprintf(ret_why, size, "%s", err.text);
        return false;
    }
    works = result.how == PROC_EXITED && result.code == 0;
    if (!works)
        snprintf(ret_why, size, "it does not work: %.*s", (int)strcspn(buf_cstr(&result.err), "\n"),
                 buf_cstr(&result.err));
    proc_result_release(&result);
    return works;
}
