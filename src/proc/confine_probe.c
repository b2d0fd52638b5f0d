/*
 * confine_probe: a child that only confines itself, or mounts an overlay; a job that is observed,
 * or has private processes. Any thread.
 */
#include "proc/confine_probe.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "proc/confine.h"
#include "proc/confine_enter.h"
#include "proc/confine_image.h"
#include "proc/landlock.h"
#include "proc/proc.h"

#define PROBE_TIMEOUT_MS 10000
#define PROBE_STACK ((size_t)64 << 10)
#ifdef __SANITIZE_THREAD__ /* which takes every clone() for a fork */
#define PROBE_MEMORY 0
#else
#define PROBE_MEMORY CLONE_VM
#endif

struct probe {
    const struct confine_kit *kit;
    bool (*then)(void); /* what else is tried, in the child; NULL: nothing */
    bool is_over;       /* the child has come to its end */
    struct child_failure failure;
};

/* In the child: plain system calls only. */
static int probe_try(void *arg)
{
    struct probe *p = arg;
    struct confine_image *image = (struct confine_image *)p->kit->image.ptr;
    struct confine_ahead ahead = CONFINE_AHEAD_INIT;
    enum child_stage stage;
    bool works;

    memcpy(image->fds, p->kit->fds, sizeof(image->fds));
    works = confine_enter(image, &ahead, &stage);
    if (works) {
        stage = CHILD_RIGHTS;
        works = confine_drop_rights(image);
    }
    if (works) {
        stage = CHILD_CALLS;
        works = confine_drop_calls(image);
    }
    if (works && p->then) {
        stage = CHILD_OVERLAY;
        works = p->then();
    }
    p->failure = (struct child_failure){.failed = !works, .stage = (int)stage, .sys = errno};
    p->is_over = true;
    return 0;
}

/* The child runs in our memory, on a part of our stack, while this thread stands still: the others
 * go on, and none of their pages is copied. */
static bool probe_run(const struct confine_kit *kit, bool (*then)(void), char *ret_why, size_t size,
                      pid_t *ret_leaving)
{
    _Alignas(64) char stack[PROBE_STACK];
    struct probe *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                           /*fd=*/-1, 0);
    int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    pid_t child = -1;
    bool works;

    if (p != MAP_FAILED) {
        p->kit = kit;
        p->then = then;
        child = clone(probe_try, stack + sizeof(stack), PROBE_MEMORY | CLONE_VFORK | SIGCHLD, p);
    }
    if (child < 0) {
        snprintf(ret_why, size, "no process to ask by");
        if (p != MAP_FAILED)
            munmap(p, sizeof(*p));
        return false;
    }
    *ret_leaving = child;
    if (dumpable == 0 || dumpable == 1) /* which belongs to the memory, and so to us both */
        prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
    works = p->is_over && !p->failure.failed;
    if (!p->is_over)
        snprintf(ret_why, size, "a process that confined itself did not survive it");
    else if (!works)
        snprintf(ret_why, size, "%s (%s)", child_lacks((enum child_stage)p->failure.stage),
                 strerrordesc_np(p->failure.sys));
    munmap(p, sizeof(*p));
    return works;
}

bool confine_probe_landlock(char *ret_why, size_t size, pid_t *ret_leaving)
{
    struct confine_kit kit = CONFINE_KIT_INIT;
    struct err err = {0};
    int abi = landlock_abi();
    bool works = false;

    *ret_leaving = 0;
    if (abi < LANDLOCK_ABI_REFER) {
        snprintf(ret_why, size, "Landlock %d is needed (Linux 5.19); the kernel has %s%.0d",
                 LANDLOCK_ABI_REFER, abi ? "Landlock " : "none", abi);
        return false;
    }
    if (confine_kit_init_try(&kit, "landlock", &err) == 0)
        works = probe_run(&kit, /*then=*/NULL, ret_why, size, ret_leaving);
    else
        snprintf(ret_why, size, "%s", err.text);
    confine_kit_release(&kit);
    return works;
}

/* In a private file system, over a folder that every machine has. */
static bool probe_mount_overlay(void)
{
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/dev", "tmpfs", 0, "mode=0755,size=1m") == 0 &&
           mkdir("/dev/lower", 0755) == 0 && mkdir("/dev/upper", 0755) == 0 &&
           mkdir("/dev/work", 0755) == 0 &&
           mount("overlay", "/dev/lower", "overlay", 0,
                 "userxattr,volatile,lowerdir=/dev/lower,upperdir=/dev/upper,workdir=/dev/work") ==
               0;
}

bool confine_probe_overlay(char *ret_why, size_t size, pid_t *ret_leaving)
{
    struct confine_kit kit = CONFINE_KIT_INIT;
    struct err err = {0};
    bool works = false;

    *ret_leaving = 0;
    if (confine_kit_init_try_view(&kit, &err) == 0)
        works = probe_run(&kit, probe_mount_overlay, ret_why, size, ret_leaving);
    else
        snprintf(ret_why, size, "%s", err.text);
    confine_kit_release(&kit);
    return works;
}

/* A whole job, because every part of it can be forbidden. */
bool confine_probe_observe(char *ret_why, size_t size, pid_t *ret_leaving)
{
    static const char *const argv[] = {"/bin/sh", "-c", ":", NULL};
    CLEANUP(fd_closep) int fd = memfd_create("tenax-observed", MFD_CLOEXEC);
    const struct confinement c = {.is_view = true, .observe = fd};
    const struct proc_spec spec = {.argv = argv, .confine = &c, .timeout_ms = PROBE_TIMEOUT_MS};
    struct proc_result result = {0};
    struct err err = {0};
    struct stat st;
    int rc = fd > 0 ? proc_run(&spec, /*cancel=*/NULL, &result, &err) : -1;

    *ret_leaving = 0;
    proc_result_release(&result);
    if (rc < 0)
        snprintf(ret_why, size, "%s", fd > 0 ? err.text : "no file in memory");
    else if (fstat(fd, &st) == 0 && st.st_size > 0)
        return true;
    else
        snprintf(ret_why, size, "the memory of other processes cannot be read");
    return false;
}

/* Without a private /proc the job would see the processes of others, and through them their
 * files. */
static bool probe_own_processes(char *ret_why, size_t size)
{
    static const char *const argv[] = {"/bin/sh", "-c", ":", NULL};
    const struct confinement c = {.is_view = true, .own_processes = true};
    const struct proc_spec spec = {.argv = argv, .confine = &c, .timeout_ms = PROBE_TIMEOUT_MS};
    struct proc_result result = {0};
    struct err err = {0};
    int rc = proc_run(&spec, /*cancel=*/NULL, &result, &err);

    proc_result_release(&result);
    if (rc < 0)
        snprintf(ret_why, size, "%s", err.text);
    return rc == 0;
}

bool confine_probe_namespaces(char *ret_why, size_t size, pid_t *ret_leaving)
{
    struct confine_kit kit = CONFINE_KIT_INIT;
    struct err err = {0};
    bool works = false;

    *ret_leaving = 0;
    if (confine_kit_init_try(&kit, "namespaces", &err) == 0)
        works = probe_run(&kit, /*then=*/NULL, ret_why, size, ret_leaving);
    else
        snprintf(ret_why, size, "%s", err.text);
    confine_kit_release(&kit);
    return works && probe_own_processes(ret_why, size);
}
