/*
 * The warden process: waits for its job, starts the leader, reaps, reports, obeys.
 *
 * It is a copy of the zygote, which is one of a program with threads, and never execs, so only
 * plain system calls are made here and in what it calls (tree.h, child.h). Its state is on its
 * stack, and the room for a launch is static, like everything else a copy.
 */
#include "proc/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/mem.h"
#include "proc/broker.h"
#include "proc/child.h"
#include "proc/confine_enter.h"
#include "proc/confine_image.h"
#include "proc/fence.h"
#include "proc/first.h"
#include "proc/launch.h"
#include "proc/observe.h"
#include "proc/tree.h"

#define WARDEN_SOCKET 3 /* the job's own are below */
#define WARDEN_SIGNALS 4
#define WARDEN_FINISH_MS 30000
#define WARDEN_SLOWEST_MS 64 /* between two looks for survivors */
#define WARDEN_LEADER_STACK (32 * 1024)
#define WARDEN_PAGE 4096

struct warden {
    pid_t leader;               /* 0 once reaped; in a PID namespace by its first process */
    pid_t group;                /* the leader's pid, for good */
    struct first_report *apart; /* of one that does not run in our memory; NULL: it does */
    pid_t first;                /* of a PID namespace, 0 once reaped; the leader is its child */
    int over; /* ends with the leader that is its child; -1: nothing to wait for */
    bool tell_dir;
    struct confine_image *confine; /* NULL: none */
    bool finishes;
    bool is_left;          /* tenax has died, and the job may finish */
    int64_t left_until_ms; /* then it is killed */
    bool killing;
    int64_t look_at_ms; /* killing: when to look for survivors again */
    int64_t pause_ms;   /* grows while a process refuses to die */
    struct process_tree tree;
};

struct warden_leader {
    const struct launch_plan *plan;
    pid_t warden;
    struct child_failure failure;
};

/* Not on the stack: compilers touch all of what they put there, and most of it is never used. */
static struct {
    _Alignas(64) char leader[WARDEN_LEADER_STACK];
    _Alignas(max_align_t) char plan[LAUNCH_ROOM];
} warden_room;

static void warden_report(struct warden_report *report)
{
    size_t len = offsetof(struct warden_report, dir) + strlen(report->dir) + 1;

    report->warden = getpid();
    send(WARDEN_SOCKET, report, len, MSG_NOSIGNAL);
}

static void warden_report_failure(int stage, int sys)
{
    struct warden_report report = {.what = WARDEN_FAILED, .a = stage, .b = sys, .alone = true};

    warden_report(&report);
}

static void warden_close_stdio(void)
{
    for (int fd = 0; fd < WARDEN_SOCKET; fd++)
        close(fd);
}

/* Socket and signals in their places, whatever numbers they have; 0 to 2 free, nothing else open.
 */
static bool warden_place_fds(int socket)
{
    sigset_t child;
    int signals;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    /* Out of the way first: one may have the number that the other is to get. */
    signals = fcntl(signals, F_DUPFD_CLOEXEC, WARDEN_SIGNALS + 1);
    socket = fcntl(socket, F_DUPFD_CLOEXEC, WARDEN_SIGNALS + 1);
    if (dup3(socket, WARDEN_SOCKET, O_CLOEXEC) < 0 || dup3(signals, WARDEN_SIGNALS, O_CLOEXEC) < 0)
        return false;
    child_close_from(WARDEN_SIGNALS + 1);
    warden_close_stdio();
    return true;
}

/* The next packet is an order, and taken; false: it is something else, or the end. */
static bool warden_take_order(struct warden_order *ret)
{
    ssize_t len;

    do
        len = recv(WARDEN_SOCKET, ret, sizeof(*ret), MSG_PEEK | MSG_TRUNC);
    while (len < 0 && errno == EINTR);
    if (len != sizeof(*ret)) /* a launch is shorter, or longer */
        return false;
    recv(WARDEN_SOCKET, ret, sizeof(*ret), 0);
    return true;
}

/* What can be done before the job is known. If it fails, the second attempt reports it. */
static void warden_prepare(struct confine_ahead *ret)
{
    struct warden_order order;

    while (warden_take_order(&order)) {
        if (order.what == WARDEN_PREPARE)
            confine_prepare(order.signo, ret);
    }
}

/* Into the job's namespaces ourselves, so that leader and warden go on sharing what they share. */
static bool warden_confine(const struct launch_plan *plan, struct confine_ahead *ahead)
{
    enum child_stage stage;

    if (!plan->confine || confine_enter(plan->confine, ahead, &stage))
        return true;
    warden_report_failure(stage, errno);
    _exit(0);
}

CHILD_FN static int warden_become_leader(void *arg)
{
    struct warden_leader *leader = arg;

    child_exec(leader->plan, leader->warden, &leader->failure);
}

void warden_drop_fds(void)
{
    close(WARDEN_SOCKET);
    close(WARDEN_SIGNALS);
}

/* Until the leader has exec'ed, or failed to, which is when the pipe ends. Its exec is among the
 * calls to answer. Calls of the new program wait until the end of the pipe has been seen, unless it
 * is faster: the first process of a PID namespace holds the pipe, too, until it runs again. */
static void warden_await_exec(struct confine_image *image, int started)
{
    struct pollfd fds[] = {
        {.fd = started, .events = POLLIN},
        {.fd = -1, .events = POLLIN},
    };

    for (;;) {
        fds[1].fd = image->hand[1] >= 0 ? image->hand[0] : image->asks;
        if (poll(fds, ARRAY_LEN(fds), -1) < 0)
            continue;
        if (fds[0].revents)
            break;
        if (fds[1].revents & POLLIN && image->hand[1] >= 0)
            confine_take_asks(image);
        else if (fds[1].revents & POLLIN)
            broker_answer(image);
    }
    confine_take_asks(image);
    observe_started(image);
    close(started);
}

/* In a process with separate memory: the first one of a PID namespace, which outlives the exec of
 * the leader, or a leader whose exec is sent to us for an answer. */
static int warden_start_apart(struct warden *w, const struct launch_plan *plan)
{
    char *stack_end = warden_room.leader + sizeof(warden_room.leader);
    pid_t warden = getpid();
    bool is_first = plan->confine->namespaces & CLONE_NEWPID;
    int started[2];
    int over[2];
    int flags = SIGCHLD;
    pid_t pid;

    w->apart = mmap(NULL, sizeof(*w->apart), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                    /*fd=*/-1, 0);
    if (w->apart == MAP_FAILED || pipe2(started, O_CLOEXEC) < 0 || pipe2(over, O_CLOEXEC) < 0)
        return -1;
    if (plan->tell_dir && !is_first)
        flags |= CLONE_FS;
    pid = (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (pid < 0)
        return -1;
    if (pid == 0 && is_first)
        first_main(plan, started, over, stack_end, w->apart);
    if (pid == 0)
        child_exec(plan, warden, &w->apart->failure);
    close(started[1]);
    close(over[1]);
    warden_await_exec(plan->confine, started[0]);
    w->leader = is_first ? w->apart->leader : pid;
    w->group = w->leader;
    if (is_first) {
        w->first = pid;
        w->over = over[0];
    } else {
        close(over[0]);
    }
    return 0;
}

static void warden_report_start(struct warden *w, const struct child_failure *failure)
{
    struct warden_report report = {.what = WARDEN_STARTED, .a = w->group};

    if (failure->failed)
        warden_report_failure(failure->stage, failure->sys);
    else
        warden_report(&report);
    warden_close_stdio(); /* else the job's pipes would never end */
}

/* Returns when the leader has exec'ed, or failed to. Until then it runs in our memory, on a
 * separate stack, while we are suspended: far cheaper than a second copy of tenax's page tables,
 * and an error needs no pipe to come back. */
static int warden_start_leader(struct warden *w, const struct launch_plan *plan)
{
    char *stack_end = warden_room.leader + sizeof(warden_room.leader);
    struct warden_leader leader = {.plan = plan, .warden = getpid()};
    int flags = CLONE_VM | CLONE_VFORK | SIGCHLD;

    w->tell_dir = plan->tell_dir;
    w->finishes = plan->finishes;
    if (plan->tell_dir)
        flags |= CLONE_FS;
    w->confine = plan->confine;
    if (w->confine &&
        (w->confine->namespaces & CLONE_NEWPID || w->confine->has_fd[CONFINE_RECORDS])) {
        if (warden_start_apart(w, plan) < 0)
            return -1;
        warden_report_start(w, &w->apart->failure);
        return 0;
    }
    w->leader = clone(warden_become_leader, stack_end, flags, &leader);
    if (w->leader < 0)
        return -1;
    if (w->confine)
        confine_take_asks(w->confine);
    w->group = w->leader;
    warden_report_start(w, &leader.failure);
    return 0;
}

/* Not libc's, which may go and allocate. A folder that was removed, or that cannot be reached from
 * our root, has no name. */
static void warden_get_dir(char ret[static PATH_MAX])
{
    if (syscall(SYS_getcwd, ret, PATH_MAX) < 0 || ret[0] != '/')
        ret[0] = '\0';
}

static void warden_report_leader(struct warden *w, struct warden_report *report)
{
    w->leader = 0;
    if (w->confine) /* before the end is reported */
        observe_flush(w->confine);
    if (!w->first && w->tell_dir)
        warden_get_dir(report->dir);
    warden_report(report);
}

/* Of a leader that the first process of its namespace has reaped. When that was killed itself, the
 * leader was, too. */
static void warden_hear_of_end(struct warden *w)
{
    struct warden_report report = {.what = WARDEN_LEADER, .a = CLD_KILLED, .b = SIGKILL};

    close(w->over);
    w->over = -1;
    if (w->apart->is_over) {
        report.a = w->apart->code;
        report.b = w->apart->status;
        report.alone = w->apart->alone;
        memcpy(report.dir, w->apart->dir, sizeof(report.dir));
    }
    warden_report_leader(w, &report);
}

/* Reaps all there is to reap; ends the process when no child is left. */
static void warden_reap(struct warden *w)
{
    struct signalfd_siginfo ignored;
    struct warden_report report = {.what = WARDEN_LEADER};
    bool leader_ended = false;
    siginfo_t info;
    ssize_t len = read(WARDEN_SIGNALS, &ignored, sizeof(ignored));
    int rc;

    (void)len; /* only to make it unreadable; waitid() is the truth */
    for (;;) {
        info.si_pid = 0;
        rc = waitid(P_ALL, 0, &info, WEXITED | WNOHANG);
        if (rc < 0 || !info.si_pid)
            break;
        if (info.si_pid == w->first) {
            if (w->over >= 0)
                warden_hear_of_end(w);
            w->first = 0;
        } else if (info.si_pid == w->leader && !w->first) {
            leader_ended = true;
            report.a = info.si_code;
            report.b = info.si_status;
        }
    }
    report.alone = rc < 0 && errno == ECHILD;
    if (leader_ended)
        warden_report_leader(w, &report);
    if (report.alone)
        _exit(0);
}

static void warden_mark(struct process_tree *t, void *arg)
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

/* The group in one call, which no fork can slip past; then those that left the group, one by one.
 * No process gets two: some programs take a second SIGTERM for impatience. */
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

/* From now on every process found is killed, less and less often, until none is left. Most jobs
 * never leave their group, and one call ends those. */
static void warden_kill(struct warden *w)
{
    w->killing = true;
    w->pause_ms = 1;
    w->look_at_ms = warden_now_ms() + 1;
    if (w->first)
        kill(w->first, SIGKILL); /* and with it the kernel kills all others */
    else if (w->leader)
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
        if (w->finishes && w->leader) {
            w->is_left = true;
            w->left_until_ms = warden_now_ms() + WARDEN_FINISH_MS;
        } else {
            warden_kill(w);
        }
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

/* An observed job asks a lot: as long as nothing else happens, it gets its answers here. */
static bool warden_answer(struct warden *w, struct pollfd *fds, size_t count)
{
    struct pollfd *asks = &fds[count - 1];
    bool goes_on = broker_answer(w->confine);

    while (goes_on && w->confine->observer && !w->killing && !w->confine->is_stopped &&
           poll(fds, count, broker_lock_pause_ms()) == 1 && asks->revents == POLLIN)
        goes_on = broker_answer(w->confine);
    return goes_on;
}

/* Kills a job whose tenax has died once its leader has ended or its time is over; else returns how
 * long to wait. */
static int warden_let_finish(struct warden *w)
{
    int64_t left_ms = w->left_until_ms - warden_now_ms();

    if (w->leader && left_ms > 0)
        return (int)left_ms;
    warden_kill(w);
    return warden_look_again(w);
}

static int warden_pause_ms(struct warden *w)
{
    if (w->killing)
        return warden_look_again(w);
    return w->is_left ? warden_let_finish(w) : broker_lock_pause_ms();
}

/* One wait. While killing, the socket has nothing more to say (and at its end is always
 * readable). */
static void warden_step(struct warden *w)
{
    int pause_ms = warden_pause_ms(w);
    struct pollfd fds[] = {
        {.fd = WARDEN_SIGNALS, .events = POLLIN},
        {.fd = w->killing || w->is_left ? -1 : WARDEN_SOCKET, .events = POLLIN},
        {.fd = w->confine ? w->confine->listener : -1, .events = POLLIN},
        {.fd = w->over, .events = POLLIN},
        {.fd = w->confine ? w->confine->request : -1, .events = POLLIN},
        {.fd = w->confine ? w->confine->asks : -1, .events = POLLIN},
    };

    poll(fds, ARRAY_LEN(fds), pause_ms);
    if (w->confine)
        broker_lock_again(w->confine);
    if (fds[1].revents)
        warden_obey(w);
    if (fds[2].revents && w->confine->is_sealed)
        fds[4].fd = fence_take_connection(w->confine);
    else if (fds[2].revents)
        confine_forward(w->confine);
    if (fds[3].revents)
        warden_hear_of_end(w);
    if (fds[4].revents)
        fence_take_request(w->confine);
    if (w->confine && fds[5].revents &&
        (!(fds[5].revents & POLLIN) || !warden_answer(w, fds, ARRAY_LEN(fds)))) {
        close(w->confine->asks); /* none of those who could ask is left */
        w->confine->asks = -1;
    }
    if (w->confine && w->confine->is_stopped && !w->killing)
        warden_kill(w);
    warden_reap(w);
}

/* Touches the pages that most launches need in advance, while nothing waits for them. */
static void warden_warm(void)
{
    volatile char *stack_end = warden_room.leader + sizeof(warden_room.leader);
    volatile char *plan = warden_room.plan;

    stack_end[-1] = 0;
    stack_end[-1 - WARDEN_PAGE] = 0;
    plan[0] = 0;
}

static void warden_report_ready(void)
{
    struct warden_report report = {.what = WARDEN_READY};

    warden_report(&report);
}

_Noreturn void warden_main(int socket)
{
    struct warden w = {.over = -1};
    struct confine_ahead ahead = CONFINE_AHEAD_INIT;
    struct launch_plan plan;
    sigset_t all;

    setsid(); /* a signal to tenax's group, from a terminal say, is not for us */
    prctl(PR_SET_NAME, "tenax-job");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (!warden_place_fds(socket))
        _exit(1);

    warden_warm();
    warden_report_ready();
    warden_prepare(&ahead);
    if (launch_receive(WARDEN_SOCKET, warden_room.plan, &plan) < 0 ||
        !warden_confine(&plan, &ahead) || warden_start_leader(&w, &plan) < 0) {
        warden_report_failure(CHILD_FORK, errno); /* not read by anything when we are not needed */
        _exit(0);
    }
    if (w.confine && w.confine->is_stopped) /* already: nothing else would wake us */
        warden_kill(&w);
    for (;;)
        warden_step(&w); /* exits when no process of the job is left */
}
