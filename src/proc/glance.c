/*
 * glance: one child, two pipes, which the asking thread reads. Any thread, one per glance.
 */
#include "proc/glance.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "proc/child.h"
#include "proc/launch.h"
#include "proc/loop.h"
#include "sync/cancel.h"
#include "sync/signals.h"
#include "sync/thread.h"

#define GLANCE_STACK ((size_t)32 << 10) /* of the child, until its exec */
#define GLANCE_READ ((size_t)16 << 10)

/* ThreadSanitizer takes a process that shares our memory for a fork, and lets no thread start after
 * it. */
#if defined(__SANITIZE_THREAD__)
#define GLANCE_SHARES 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GLANCE_SHARES 0
#endif
#endif
#ifndef GLANCE_SHARES
#define GLANCE_SHARES CLONE_VM
#endif

struct glance_child {
    struct launch_plan plan;
    pid_t parent;
    int stdio[3];
    struct child_failure *failure; /* in memory that is shared, whatever else is */
};

static atomic_int glance_count; /* from before one starts until it is reaped */

bool glance_is_running(void)
{
    return atomic_load(&glance_count) > 0;
}

/* ---- Start ---- */

CHILD_FN static int glance_become(void *arg)
{
    struct glance_child *c = arg;

    child_reset_signals();
    for (int i = 0; i < 3; i++)
        dup2(c->stdio[i], i);
    child_exec(&c->plan, c->parent, c->failure);
}

/* The child runs in our memory, on a separate stack, while this thread is suspended: so nothing is
 * copied, and an error needs no pipe. Signals are blocked, or a handler could run in it. */
static pid_t glance_fork(struct glance_child *c)
{
    CLEANUP(mem_freep) char *stack = mem_alloc(GLANCE_STACK);
    sigset_t all;
    sigset_t before;
    pid_t pid;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = clone(glance_become, stack + GLANCE_STACK, GLANCE_SHARES | CLONE_VFORK | SIGCHLD, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* True: it has not been reaped already. */
static bool glance_reap(pid_t pid, int flags, siginfo_t *ret)
{
    int r;

    do {
        r = waitid(P_PID, (id_t)pid, ret, WEXITED | flags);
    } while (r < 0 && errno == EINTR);
    return r == 0;
}

static int glance_not_started(const struct glance_spec *spec, const struct child_failure *f,
                              struct err *err)
{
    errno = f->sys;
    if (f->stage == CHILD_DIR)
        return err_sys(err, ERR_IO, "cannot run '%s' in '%s'", spec->argv[0], spec->dir);
    return err_sys(err,
                   f->sys == ENOENT   ? ERR_NOT_FOUND
                   : f->sys == EACCES ? ERR_DENIED
                                      : ERR_IO,
                   "cannot run '%s'", spec->argv[0]);
}

static void *glance_share(size_t bytes)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, /*fd=*/-1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

/* -1: errno says why, or *ret_failure. */
static pid_t glance_launch(const struct glance_spec *spec, const int stdio[static 3],
                           struct child_failure *ret_failure)
{
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    struct glance_child c = {
        .plan = {.argv = (char *const *)spec->argv,
                 .envp = (char *const *)spec->envp,
                 .dir = spec->dir,
                 .mask = *signals_original()},
        .parent = getpid(),
        .stdio = {stdio[0], stdio[1], stdio[2]},
        .failure = glance_share(sizeof(*c.failure)),
    };
    siginfo_t ignored;
    pid_t pid;

    if (!c.failure)
        return -1;
    launch_find_program(spec->argv[0], spec->envp, &paths);
    c.plan.paths = strv_get(&paths);
    pid = glance_fork(&c);
    *ret_failure = *c.failure;
    munmap(c.failure, sizeof(*c.failure));
    if (pid < 0 || !ret_failure->failed)
        return pid;
    (void)glance_reap(pid, /*flags=*/0, &ignored);
    return -1;
}

static int glance_run(struct glance *g, const struct glance_spec *spec, const int stdio[static 3],
                      struct err *err)
{
    struct child_failure failure = {0};

    atomic_fetch_add(&glance_count, 1);
    g->pid = glance_launch(spec, stdio, &failure);
    if (g->pid > 0) {
        g->pidfd = pidfd_open(g->pid, 0);
        return 0;
    }
    atomic_fetch_sub(&glance_count, 1);
    if (failure.failed)
        return glance_not_started(spec, &failure, err);
    return err_sys(err, ERR_IO, "cannot make a process for '%s'", spec->argv[0]);
}

static int glance_pipe(int *ret_ours, int *ret_theirs, struct err *err)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(err, ERR_IO, "cannot make a pipe");
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    *ret_ours = fds[0];
    *ret_theirs = fds[1];
    return 0;
}

struct glance *glance_start(const struct glance_spec *spec, struct err *err)
{
    struct glance *g = mem_zalloc(sizeof(*g));
    int stdio[3] = {-1, -1, -1};
    int rc = -1;

    g->fds[0] = g->fds[1] = g->pid = g->pidfd = -1;
    buf_init(&g->out, spec->max_output);
    buf_init(&g->err, spec->max_output);
    stdio[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (stdio[0] < 0)
        err_sys(err, ERR_IO, "cannot open /dev/null");
    else if (glance_pipe(&g->fds[0], &stdio[1], err) == 0 &&
             glance_pipe(&g->fds[1], &stdio[2], err) == 0)
        rc = glance_run(g, spec, stdio, err);
    for (int i = 0; i < 3; i++)
        fd_closep(&stdio[i]);
    if (rc == 0)
        return g;
    glance_free(g);
    return NULL;
}

/* ---- End ---- */

/* A process that cannot even be killed now is not waited for by a thread with other work. */
static void glance_bury(void *arg)
{
    siginfo_t ignored;

    (void)glance_reap((pid_t)(intptr_t)arg, /*flags=*/0, &ignored);
    atomic_fetch_sub(&glance_count, 1);
}

static void glance_kill(pid_t pid)
{
    kill(-pid, SIGKILL); /* its group: it is not reaped, so no other process has that number */
    if (thread_start_loose("bury", glance_bury, (void *)(intptr_t)pid, /*err=*/NULL) < 0)
        atomic_fetch_sub(&glance_count, 1);
}

void glance_free(struct glance *g)
{
    if (!g)
        return;
    fd_closep(&g->fds[0]);
    fd_closep(&g->fds[1]);
    fd_closep(&g->pidfd);
    if (g->pid > 0 && !g->is_over)
        glance_kill(g->pid);
    buf_release(&g->out);
    buf_release(&g->err);
    mem_freep(&g);
}

/* ---- In between ---- */

static void glance_read(struct glance *g, int i)
{
    char bytes[GLANCE_READ];
    ssize_t len = read(g->fds[i], bytes, sizeof(bytes));

    if (len > 0)
        buf_add(i ? &g->err : &g->out, str_make(bytes, (size_t)len));
    else if (len == 0 || (errno != EAGAIN && errno != EINTR))
        fd_closep(&g->fds[i]);
}

/* Once both pipes have ended. Without a pidfd (before Linux 5.3) that is taken for its end, which
 * is then waited for. */
static void glance_look(struct glance *g)
{
    siginfo_t info = {0};

    if (g->is_over || g->fds[0] >= 0 || g->fds[1] >= 0)
        return;
    if (!glance_reap(g->pid, g->pidfd < 0 ? 0 : WNOHANG, &info))
        g->code = 128 + SIGKILL; /* the proc thread took it for a stray */
    else if (!info.si_pid)
        return;
    else
        g->code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    g->is_over = true;
    atomic_fetch_sub(&glance_count, 1);
}

/* Adds what it is waited for with. */
static size_t glance_watch(const struct glance *g, struct pollfd *fds)
{
    bool is_silent = g->fds[0] < 0 && g->fds[1] < 0;
    size_t n = 0;

    for (int i = 0; i < 2; i++) {
        if (g->fds[i] >= 0)
            fds[n++] = (struct pollfd){.fd = g->fds[i], .events = POLLIN};
    }
    if (is_silent && !g->is_over)
        fds[n++] = (struct pollfd){.fd = g->pidfd, .events = POLLIN};
    return n;
}

static void glance_take(struct glance *g)
{
    for (int i = 0; i < 2; i++) {
        if (g->fds[i] >= 0)
            glance_read(g, i);
    }
    glance_look(g);
}

int64_t glance_now_ms(void)
{
    return loop_now_ms();
}

int glance_wait(struct glance *one, struct glance *other, int64_t deadline_ms,
                struct cancel *cancel, struct err *err)
{
    struct glance *both[] = {one, other};

    for (;;) {
        struct pollfd fds[7] = {{.fd = cancel ? cancel_fd(cancel) : -1, .events = POLLIN}};
        int64_t left_ms = deadline_ms - loop_now_ms();
        size_t n = 1;

        for (size_t i = 0; i < ARRAY_LEN(both); i++) {
            if (both[i])
                glance_take(both[i]);
            if (both[i])
                n += glance_watch(both[i], fds + n);
        }
        if (n == 1)
            return 0;
        if (cancel_check(cancel, err) < 0)
            return -1;
        if (left_ms <= 0)
            return err_set(err, ERR_TIMEOUT, "no answer in time");
        (void)poll(fds, n, left_ms > INT32_MAX ? INT32_MAX : (int)left_ms); /* or EINTR */
    }
}
