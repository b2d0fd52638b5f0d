/*
 * private_dir: a child that shares our memory and our descriptors enters new namespaces, mounts the
 * file system, opens everything, and ends. Runs on the thread that calls, which stands still
 * meanwhile.
 */
#include "proc/private_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "proc/confine_enter.h"
#include "proc/confine_image.h"

#define PRIVATE_STACK ((size_t)64 << 10)
#define PRIVATE_XATTR "user.overlay.tenax"
#ifdef __SANITIZE_THREAD__ /* which takes every clone() for a fork */
#define PRIVATE_MEMORY 0
#else
#define PRIVATE_MEMORY CLONE_VM
#endif

struct private_making {
    const char *at;
    char options[64];
    bool is_privileged;
    struct private_dir made;
    int sys; /* 0: it is made */
};

/* In the child: plain system calls only. */
static bool private_mount(struct private_making *m)
{
    struct private_dir *d = &m->made;

    if (!confine_enter_namespaces(CLONE_NEWNS | (m->is_privileged ? 0 : CLONE_NEWUSER)) ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", m->at, "tmpfs", MS_NOSUID | MS_NODEV, m->options) < 0)
        return false;
    d->dir = open(m->at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    d->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    d->mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (!m->is_privileged)
        d->user = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
    return d->dir >= 0 && d->root >= 0 && d->mounts >= 0 && (m->is_privileged || d->user >= 0);
}

static int private_child(void *arg)
{
    struct private_making *m = arg;

    m->sys = private_mount(m) ? 0 : errno;
    return 0;
}

static void private_run(struct private_making *m)
{
    _Alignas(64) char stack[PRIVATE_STACK];
    int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    pid_t child = clone(private_child, stack + sizeof(stack),
                        PRIVATE_MEMORY | CLONE_VFORK | CLONE_FILES | SIGCHLD, m);

    if (child < 0) {
        m->sys = errno;
        return;
    }
    if (dumpable == 0 || dumpable == 1) /* which belongs to the memory, and so to us both */
        prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

int private_dir_make(const char *at, uint64_t max_bytes, struct private_dir *ret, struct err *err)
{
    struct private_making *m =
        mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, /*fd=*/-1, 0);
    struct private_dir made;

    if (m == MAP_FAILED)
        return err_sys(err, ERR_UNSUPPORTED, "no memory is left");
    *m = (struct private_making){
        .at = at, .is_privileged = confine_is_privileged(), .made = PRIVATE_DIR_INIT, .sys = EPERM};
    snprintf(m->options, sizeof(m->options), "mode=0700,size=%llu", (unsigned long long)max_bytes);
    private_run(m);
    made = m->made;
    errno = m->sys;
    munmap(m, sizeof(*m));
    if (!errno && fsetxattr(made.dir, PRIVATE_XATTR, "y", 1, 0) == 0) { /* since Linux 6.6 */
        fremovexattr(made.dir, PRIVATE_XATTR);
        *ret = made;
        return 0;
    }
    err_sys(err, ERR_UNSUPPORTED, "no private folder at '%s'", at);
    private_dir_release(&made);
    return -1;
}

void private_dir_release(struct private_dir *d)
{
    fd_closep(&d->dir);
    fd_closep(&d->user);
    fd_closep(&d->mounts);
    fd_closep(&d->root);
    *d = (struct private_dir)PRIVATE_DIR_INIT;
}
