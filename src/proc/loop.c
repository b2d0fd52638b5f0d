/*
 * The proc thread. It watches all descriptors of all jobs, and is the parent of the zygote and of
 * all wardens; it lives as long as they do, because a parent-death signal belongs to the thread
 * that forked.
 *
 * Each round: events, orders, then one pass over the jobs for what time or an event has moved on.
 * Jobs are a handful, so that pass is a plain loop.
 */
#include "proc/loop.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include "base/err.h"
#include "base/vec.h"
#include "proc/foreground.h"
#include "proc/glance.h"
#include "proc/job.h"
#include "proc/tree.h"
#include "proc/zygote.h"
#include "sync/thread.h"

#define LOOP_EVENTS 64
#define LOOP_SHUTDOWN_GRACE_MS 200
#define LOOP_STRAY_FIRST_MS 5
#define LOOP_STRAY_SLOWEST_MS 5000

struct loop {
    struct thread *thread;
    struct mailbox *orders;
    int epoll_fd;
    int signals_fd; /* SIGCHLD: a warden was stopped (or ended, which its socket tells anyway), or a
                       guest has ended */
    bool stopping;
    VEC(struct proc *) jobs; /* a reference each */
    int64_t strays_at_ms;    /* when to look for strays again; -1: there are none */
    int64_t strays_pause_ms;
    bool had_foreground; /* there may be guests */
    bool guests_due;     /* the list is to be made anew */
    VEC(struct tree_proc) guests;
    struct process_tree tree;
    struct zygote zygote;
    char scratch[LOOP_READ_BYTES];
};

static struct lock loop_lock = LOCK_INIT;
static struct lock stop_lock = LOCK_INIT; /* one stops it at a time */
static struct loop *loop_running;         /* under loop_lock */

int64_t loop_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

char *loop_scratch(struct loop *loop)
{
    return loop->scratch;
}

struct zygote *loop_zygote(struct loop *loop)
{
    return &loop->zygote;
}

void loop_watch(struct loop *loop, struct job_fd *f, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = f};
    int op = f->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    if (f->fd < 0)
        return;
    if (epoll_ctl(loop->epoll_fd, op, f->fd, &event) < 0)
        BUG("epoll: %s", strerror(errno));
    f->is_watched = true;
}

void loop_unwatch(struct loop *loop, struct job_fd *f)
{
    if (f->is_watched)
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, f->fd, NULL);
    f->is_watched = false;
}

void loop_close(struct loop *loop, struct job_fd *f)
{
    if (f->fd < 0)
        return;
    /* Closing alone is not enough for a terminal's two descriptors, which are one open file. */
    loop_unwatch(loop, f);
    close(f->fd);
    f->fd = -1;
}

static void order_free(struct mail *m)
{
    struct order *order = (struct order *)m;
    struct err err = {0};

    if (order->what == ORDER_START && !order->obeyed) {
        err_set(&err, ERR_CANCELLED, "no new processes: shutting down");
        job_settle(order->proc, &err);
    }
    job_unref(order->proc);
    buf_release(&order->bytes);
    free(order);
}

static const struct mail_kind order_kind = {"proc order", order_free};

static void loop_open_job(struct loop *loop, struct proc *p)
{
    struct err err = {0};

    if (job_open(p, loop, &err) < 0) {
        job_settle(p, &err);
        return;
    }
    job_ref(p);
    vec_push(&loop->jobs, p);
}

static bool loop_is_warden(struct loop *loop, pid_t pid)
{
    VEC_EACH(&loop->jobs, job) {
        if ((*job)->warden == pid && (*job)->fds[JOB_WARDEN].fd >= 0)
            return true;
    }
    return false;
}

/* ---- Guests: processes left by programs in the foreground (foreground.h) ---- */

/* Whether a child of ours may come from a job. Processes left by a job fall to its warden as long
 * as that lives; when it was killed, all is clear again once the strays are gone. */
static bool loop_is_in_doubt(struct loop *loop)
{
    if (loop->strays_at_ms >= 0 || loop->zygote.lost_one)
        return true;
    VEC_EACH(&loop->jobs, job) {
        siginfo_t info = {0};

        if ((*job)->phase == JOB_STRAYING)
            return true;
        if ((*job)->fds[JOB_WARDEN].fd >= 0 &&
            (waitid(P_PID, (id_t)(*job)->warden, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
             info.si_pid))
            return true;
    }
    return false;
}

/* Those that have ended: nothing else waits for them. */
static void loop_reap_guests(struct loop *loop)
{
    size_t left = 0;

    VEC_EACH(&loop->guests, guest) {
        if (waitpid(guest->pid, NULL, WNOHANG) == 0)
            loop->guests.ptr[left++] = *guest;
    }
    loop->guests.len = left;
}

static void loop_know_guests(struct loop *loop)
{
    pid_t self;

    /* The second look is the one that counts: wardens that live after the snapshot did before. A
     * program that is still waited for is no guest; when it has ended, guests are due again. */
    if (!loop->guests_due || loop_is_in_doubt(loop) || tree_read(&loop->tree) < 0 ||
        loop_is_in_doubt(loop) || foreground_is_running() || glance_is_running())
        return;
    self = getpid();
    loop->guests_due = false;
    loop->guests.len = 0;
    for (size_t i = 0; i < loop->tree.len; i++) {
        const struct tree_proc *p = &loop->tree.procs[i];

        if (p->ppid == self && !zygote_is(&loop->zygote, p->pid) && !loop_is_warden(loop, p->pid))
            vec_push(&loop->guests, *p);
    }
    loop_reap_guests(loop);
}

static bool loop_is_guest(struct loop *loop, const struct tree_proc *p)
{
    VEC_EACH(&loop->guests, guest) {
        if (guest->pid == p->pid && guest->start == p->start)
            return true;
    }
    return false;
}

/* ---- Orders ---- */

/* A job may stop its warden, and would then never report again. */
static void loop_wake_wardens(struct loop *loop)
{
    VEC_EACH(&loop->jobs, job) {
        siginfo_t info = {0};

        if ((*job)->fds[JOB_WARDEN].fd >= 0 &&
            waitid(P_PID, (id_t)(*job)->warden, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid)
            kill((*job)->warden, SIGCONT);
    }
}

static void loop_begin_stop(struct loop *loop)
{
    loop->stopping = true;
    loop->guests_due = loop->had_foreground; /* who came since */
    loop_know_guests(loop);
    VEC_EACH(&loop->jobs, job) {
        job_end(*job, PROC_KILLED, LOOP_SHUTDOWN_GRACE_MS);
    }
}

static void loop_obey(struct loop *loop, struct order *order)
{
    struct proc *p = order->proc;

    switch (order->what) {
    case ORDER_START:
        order->obeyed = !loop->stopping;
        if (order->obeyed)
            loop_open_job(loop, p);
        break;
    case ORDER_WRITE:
        job_write(p, loop, buf_str(&order->bytes));
        break;
    case ORDER_CLOSE_INPUT:
        job_close_input(p, loop);
        break;
    case ORDER_RESIZE:
        job_resize(p, (unsigned short)order->a, (unsigned short)order->b);
        break;
    case ORDER_SIGNAL:
        job_signal(p, order->a);
        break;
    case ORDER_END:
        job_end(p, PROC_KILLED, p->grace_ms);
        break;
    case ORDER_KILL:
        job_kill(p);
        break;
    case ORDER_KEEP:
        job_keep(p);
        break;
    case ORDER_RESUME:
        job_resume(p, loop);
        break;
    case ORDER_GUESTS:
        loop->had_foreground = loop->guests_due = true;
        break;
    case ORDER_SHUTDOWN:
        loop_begin_stop(loop);
        break;
    }
}

static void loop_take_orders(struct loop *loop)
{
    for (;;) {
        struct mail *m = mailbox_try(loop->orders);

        if (!m)
            return;
        loop_obey(loop, (struct order *)m);
        mail_free(m);
    }
}

/* Strays: children that fell to us because their warden was killed, or wardens killed at birth.
 * Outside of jobs only the zygote and guests leave our session, and no process below a warden can
 * be in it. */
static void loop_mark_strays(struct process_tree *t, void *arg)
{
    struct loop *loop = arg;
    pid_t self = getpid();
    pid_t session = getsid(0);

    for (size_t i = 0; i < t->len; i++) {
        struct tree_proc *p = &t->procs[i];

        p->marked = p->ppid == self && p->session != session && !zygote_is(&loop->zygote, p->pid) &&
                    !loop_is_warden(loop, p->pid) && !loop_is_guest(loop, p);
    }
}

/* True when none is left. */
static bool loop_end_strays(struct loop *loop)
{
    siginfo_t info;
    size_t alive;
    pid_t self = getpid();

    /* Without any child there is no need to read all of /proc. */
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
        return true;
    alive = tree_kill(&loop->tree, loop_mark_strays, loop);

    for (size_t i = 0; i < loop->tree.len; i++) {
        const struct tree_proc *p = &loop->tree.procs[i];

        if (p->marked && p->ppid == self)
            waitpid(p->pid, NULL, WNOHANG);
    }
    return alive == 0;
}

static void loop_settle_strays(struct loop *loop, int64_t now_ms)
{
    bool straying = loop->zygote.lost_one;

    loop->zygote.lost_one = false;
    VEC_EACH(&loop->jobs, job) {
        straying = straying || (*job)->phase == JOB_STRAYING;
    }
    if (straying && loop->strays_at_ms < 0) {
        loop->strays_at_ms = now_ms;
        loop->strays_pause_ms = LOOP_STRAY_FIRST_MS;
    }
    if (loop->strays_at_ms < 0 || loop->strays_at_ms > now_ms)
        return;
    if (!loop_end_strays(loop)) { /* a process takes time to die, or we cannot kill it */
        loop->strays_at_ms = now_ms + loop->strays_pause_ms;
        if (loop->strays_pause_ms < LOOP_STRAY_SLOWEST_MS)
            loop->strays_pause_ms *= 2;
        return;
    }
    loop->strays_at_ms = -1;
    VEC_EACH(&loop->jobs, job) {
        if ((*job)->phase == JOB_STRAYING)
            (*job)->phase = JOB_OVER;
    }
}

/* Handles everything that is due, and drops jobs that are over. */
static void loop_tick(struct loop *loop)
{
    int64_t now_ms = loop_now_ms();
    size_t kept = 0;

    loop_settle_strays(loop, now_ms);
    loop_know_guests(loop);
    for (size_t i = 0; i < loop->jobs.len; i++) {
        struct proc *p = loop->jobs.ptr[i];

        if (p->phase != JOB_OVER && p->next_ms >= 0 && p->next_ms <= now_ms)
            job_tick(p, now_ms);
        if (p->phase != JOB_OVER) {
            loop->jobs.ptr[kept++] = p;
            continue;
        }
        job_finish(p, loop);
        job_unref(p);
    }
    loop->jobs.len = kept;
}

/* Milliseconds until something is due, or -1. */
static int loop_patience(struct loop *loop)
{
    int64_t first_ms = loop->strays_at_ms;
    int64_t left_ms;

    VEC_EACH(&loop->jobs, job) {
        if ((*job)->next_ms >= 0 && (first_ms < 0 || (*job)->next_ms < first_ms))
            first_ms = (*job)->next_ms;
    }
    if (first_ms < 0)
        return -1;
    left_ms = first_ms - loop_now_ms();
    if (left_ms < 0)
        return 0;
    return left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

static void loop_look_at_children(struct loop *loop)
{
    struct signalfd_siginfo ignored;

    if (read(loop->signals_fd, &ignored, sizeof(ignored)) < 0)
        return;
    loop_wake_wardens(loop);
    loop_reap_guests(loop);
}

static void loop_main(void *arg)
{
    struct loop *loop = arg;
    struct epoll_event events[LOOP_EVENTS];

    zygote_init(&loop->zygote);
    while (!loop->stopping || loop->jobs.len) {
        int n = epoll_wait(loop->epoll_fd, events, LOOP_EVENTS, loop_patience(loop));

        for (int i = 0; i < n; i++) {
            struct job_fd *f = events[i].data.ptr;

            if (events[i].data.ptr == loop)
                loop_look_at_children(loop);
            else if (f)
                job_event(f, loop, events[i].events);
        }
        loop_take_orders(loop);
        loop_tick(loop);
    }
    zygote_release(&loop->zygote);
    loop_end_strays(loop);
}

static void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    if (loop->orders)
        mailbox_close(loop->orders);
    mailbox_unref(loop->orders);
    fd_closep(&loop->epoll_fd);
    fd_closep(&loop->signals_fd);
    vec_release(&loop->jobs);
    vec_release(&loop->guests);
    tree_release(&loop->tree);
    free(loop);
}

static void loop_freep(struct loop **loop)
{
    loop_free(*loop);
}

static struct loop *loop_new(struct err *err)
{
    CLEANUP(loop_freep) struct loop *loop = mem_zalloc(sizeof(*loop));
    struct epoll_event on_order = {.events = EPOLLIN, .data.ptr = NULL};
    struct epoll_event on_signal = {.events = EPOLLIN, .data.ptr = loop};
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t child;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    loop->strays_at_ms = -1;
    loop->orders = mailbox_new();
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->signals_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (loop->epoll_fd < 0 || loop->signals_fd < 0 ||
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, mailbox_fd(loop->orders), &on_order) < 0 ||
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->signals_fd, &on_signal) < 0) {
        err_sys(err, ERR_IO, "cannot watch processes");
        return NULL;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigaction(SIGCHLD, &action, NULL); /* inherited as ignored, it would hide how children end */
    loop->thread = thread_start("proc", loop_main, loop, err);
    return loop->thread ? TAKE_PTR(loop) : NULL;
}

int loop_start(struct err *err)
{
    int rc = 0;

    lock_take(&loop_lock);
    if (!loop_running) {
        loop_running = loop_new(err);
        rc = loop_running ? 0 : -1;
    }
    lock_give(&loop_lock);
    return rc;
}

void loop_send(struct order *order)
{
    struct mailbox *to = NULL;

    order->mail.kind = &order_kind;
    lock_take(&loop_lock);
    if (loop_running)
        to = mailbox_ref(loop_running->orders);
    lock_give(&loop_lock);
    if (to)
        mailbox_send(to, &order->mail);
    else
        mail_free(&order->mail);
    mailbox_unref(to);
}

/* It counts as running until it has ended, so that new jobs are refused: a second loop beside it
 * would take its wardens for strays. */
void loop_stop(void)
{
    struct order *order = mem_zalloc(sizeof(*order));
    struct loop *loop;

    order->what = ORDER_SHUTDOWN;
    order->mail.kind = &order_kind;
    lock_take(&stop_lock);
    lock_take(&loop_lock);
    loop = loop_running;
    lock_give(&loop_lock);
    if (loop) {
        mailbox_send(loop->orders, &order->mail);
        thread_join(loop->thread);
        lock_take(&loop_lock);
        loop_running = NULL;
        lock_give(&loop_lock);
        loop_free(loop);
    } else {
        mail_free(&order->mail);
    }
    lock_give(&stop_lock);
}
