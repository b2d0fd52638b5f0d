/*
 * The warden process: starts the leader, reaps, reports, obeys.
 *
 * It lives on after a fork from a program with threads and never execs, so only plain system calls
 * are made here and in what it calls (tree.h, child.h). Its whole state is on its stack.
 */
#include "proc/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/mem.h"
#include "proc/child.h"
#include "proc/launch.h"
#include "proc/tree.h"

#define WARDEN_SOCKET 3
#define WARDEN_SLOWEST_MS 64 /* between two looks for survivors */

struct warden {
    int signals_fd; /* SIGCHLD */
    int exec_fd;    /* what the leader says before exec; -1 once known */
    pid_t leader;   /* 0 once reaped */
    pid_t group;    /* the leader's pid, for good */
    bool killing;
    int64_t look_at_ms; /* killing: when to look for survivors again */
    int64_t pause_ms;   /* grows while somebody refuses to die */
    struct tree tree;
};

static void warden_report(int what, int a, int b, bool alone)
{
    struct warden_report report = {what, a, b, alone};

    send(WARDEN_SOCKET, &report, sizeof(report), MSG_NOSIGNAL);
}

/* Everything but descriptors 0 to 3. */
static void warden_close_rest(void)
{
    struct rlimit limit;

    if (close_range(WARDEN_SOCKET + 1, ~0U, 0) == 0)
        return;
    /* Before Linux 5.9. Descriptors above the limit exist only if it was lowered after they were
     * opened, which we never do. */
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > 1 << 20)
        limit.rlim_cur = 1 << 20;
    for (int fd = WARDEN_SOCKET + 1; fd < (int)limit.rlim_cur; fd++)
        close(fd);
}

/* Puts the job's descriptors at 0, 1, 2 and the socket at 3, whatever numbers they had. */
static bool warden_place_fds(const struct launch *l, int socket)
{
    int high[WARDEN_SOCKET + 1];

    /* Out of the way first: one of them may have the number that another one is to get. */
    for (int i = 0; i < 3; i++)
        high[i] = fcntl(l->stdio[i], F_DUPFD_CLOEXEC, WARDEN_SOCKET + 1);
    high[WARDEN_SOCKET] = fcntl(socket, F_DUPFD_CLOEXEC, WARDEN_SOCKET + 1);
    for (int i = 0; i < 3; i++) {
        if (dup2(high[i], i) < 0)
            return false;
    }
    if (dup3(high[WARDEN_SOCKET], WARDEN_SOCKET, O_CLOEXEC) < 0)
        return false;
    warden_close_rest();
    return true;
}

static int warden_start_leader(struct warden *w, const struct launch *l)
{
    pid_t self = getpid();
    int fds[2];

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    w->leader = fork();
    if (w->leader < 0)
        return -1;
    if (!w->leader)
        child_exec(l, self, fds[1]);
    w->group = w->leader;
    w->exec_fd = fds[0];
    close(fds[1]);
    for (int fd = 0; fd < 3; fd++)
        close(fd); /* else the job's pipes would never end */
    return 0;
}

static void warden_read_exec(struct warden *w)
{
    struct child_failure failure;
    ssize_t len = read(w->exec_fd, &failure, sizeof(failure));

    if (len < 0)
        return; /* not yet */
    if (len == sizeof(failure))
        warden_report(WARDEN_FAILED, failure.stage, failure.sys, true);
    else
        warden_report(WARDEN_STARTED, w->group, 0, false);
    close(w->exec_fd);
    w->exec_fd = -1;
}

/* Reaps all there is to reap; ends the process when no child is left. */
static void warden_reap(struct warden *w)
{
    struct signalfd_siginfo ignored;
    siginfo_t leader_end = {0};
    siginfo_t info;
    ssize_t len = read(w->signals_fd, &ignored, sizeof(ignored));
    int rc;

    (void)len; /* only to make it unreadable; waitid() is the truth */
    if (w->exec_fd >= 0)
        warden_read_exec(w); /* before the report of its end */
    for (;;) {
        info.si_pid = 0;
        rc = waitid(P_ALL, 0, &info, WEXITED | WNOHANG);
        if (rc < 0 || !info.si_pid)
            break;
        if (info.si_pid == w->leader) {
            w->leader = 0;
            leader_end = info;
        }
    }
    if (leader_end.si_pid)
        warden_report(WARDEN_LEADER, leader_end.si_code, leader_end.si_status, rc < 0);
    if (rc < 0 && errno == ECHILD)
        _exit(0);
}

static void warden_mark(struct tree *t, void *arg)
{
    (void)arg;
    tree_mark_children(t, getpid());
}

static void warden_signal_group(struct warden *w, int signo)
{
    if (w->leader) { /* not reaped, so its number still means this group */
        kill(-w->group, signo);
        return;
    }
    tree_read(&w->tree);
    warden_mark(&w->tree, NULL);
    tree_spread(&w->tree);
    for (size_t i = 0; i < w->tree.len; i++) {
        if (w->tree.procs[i].marked && w->tree.procs[i].pgrp == w->group)
            tree_signal(&w->tree.procs[i], signo);
    }
}

/* The group in one call, which no fork can slip past; then those who left the group, one by one.
 * Nobody gets two: some programs take a second SIGTERM for impatience. */
static void warden_end(struct warden *w)
{
    bool group_told = w->leader && kill(-w->group, SIGTERM) == 0;

    tree_read(&w->tree);
    warden_mark(&w->tree, NULL);
    tree_spread(&w->tree);
    for (size_t i = 0; i < w->tree.len; i++) {
        const struct tree_proc *p = &w->tree.procs[i];

        if (!p->marked)
            continue;
        if (!group_told || p->pgrp != w->group)
            tree_signal(p, SIGTERM);
        if (p->state == 'T')
            tree_signal(p, SIGCONT); /* a stopped process does not see the SIGTERM */
    }
}

static int64_t warden_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* From now on whoever is found is killed, more and more seldom, until nobody is left. Most jobs
 * never leave their group, and one call ends those. */
static void warden_kill(struct warden *w)
{
    w->killing = true;
    w->pause_ms = 1;
    w->look_at_ms = warden_now_ms() + 1;
    if (w->leader)
        kill(-w->group, SIGKILL);
    else
        tree_kill(&w->tree, warden_mark, NULL);
}

static int warden_look_again(struct warden *w)
{
    int64_t now_ms = warden_now_ms();

    if (now_ms >= w->look_at_ms) {
        tree_kill(&w->tree, warden_mark, NULL);
        if (w->pause_ms < WARDEN_SLOWEST_MS)
            w->pause_ms *= 2;
        w->look_at_ms = warden_now_ms() + w->pause_ms;
        return (int)w->pause_ms;
    }
    return (int)(w->look_at_ms - now_ms);
}

static void warden_obey(struct warden *w)
{
    struct warden_order order;
    ssize_t len = recv(WARDEN_SOCKET, &order, sizeof(order), MSG_DONTWAIT);

    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len != sizeof(order)) { /* tenax is gone */
        warden_kill(w);
        return;
    }
    switch (order.what) {
    case WARDEN_SIGNAL:
        warden_signal_group(w, order.signo);
        break;
    case WARDEN_END:
        warden_end(w);
        break;
    default:
        warden_kill(w);
        break;
    }
}

/* One wait. While killing, the socket has nothing more to say (and at its end is always
 * readable). */
static void warden_step(struct warden *w)
{
    struct pollfd fds[] = {
        {.fd = w->signals_fd, .events = POLLIN},
        {.fd = w->exec_fd, .events = POLLIN},
        {.fd = w->killing ? -1 : WARDEN_SOCKET, .events = POLLIN},
    };

    poll(fds, ARRAY_LEN(fds), w->killing ? warden_look_again(w) : -1);
    if (fds[1].revents)
        warden_read_exec(w);
    if (fds[2].revents)
        warden_obey(w);
    warden_reap(w);
}

_Noreturn void warden_main(const struct launch *l, int socket)
{
    struct warden w = {.exec_fd = -1};
    sigset_t all;
    sigset_t child;

    setsid(); /* a signal to tenax's group, from a terminal say, is not for us */
    prctl(PR_SET_NAME, "tenax-job");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);

    if (!warden_place_fds(l, socket))
        _exit(1);
    w.signals_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (w.signals_fd < 0 || warden_start_leader(&w, l) < 0) {
        warden_report(WARDEN_FAILED, CHILD_FORK, errno, true);
        _exit(0);
    }
    for (;;)
        warden_step(&w);
}
