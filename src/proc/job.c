/*
 * One job on the proc thread: its warden, its pipes, its clock, its mail.
 *
 * The warden (warden.h) knows the processes; here is when to ask it for what, and everything that
 * has to do with bytes. Nothing here waits: the loop decides when to read and write. Only those up
 * to job_settle() are for any thread.
 */
#include "proc/job.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/log.h"
#include "proc/child.h"
#include "proc/descent.h"
#include "proc/loop.h"
#include "proc/zygote.h"

#define JOB_WARDEN_PATIENCE_MS 5000           /* from KILLING until we take over from the warden */
#define JOB_STRAY_PATIENCE_MS 5000            /* from STRAYING until we go on without proof */
#define JOB_DRAIN_BYTES ((size_t)1024 * 1024) /* the most a pipe holds by default */
#define JOB_MAX_UNREAD ((size_t)1024 * 1024)  /* then it is paused, until half of it is read */

void job_ref(struct proc *p)
{
    atomic_fetch_add(&p->refs, 1);
}

void job_unref(struct proc *p)
{
    if (!p || atomic_fetch_sub(&p->refs, 1) > 1)
        return;
    for (int kind = 0; kind < JOB_FD_KINDS; kind++)
        fd_closep(&p->fds[kind].fd);
    launch_release(&p->launch);
    buf_release(&p->input);
    buf_release(&p->dir);
    mailbox_unref(p->to);
    gate_release(&p->gate);
    free(p);
}

bool job_was_read(struct proc *p, size_t bytes)
{
    size_t left = atomic_fetch_sub(&p->unread, bytes) - bytes;

    return left <= JOB_MAX_UNREAD / 2 && atomic_load(&p->paused) &&
           atomic_exchange(&p->paused, false);
}

static struct proc_mail *job_mail_new(struct proc *p, enum proc_mail_what what, size_t bytes)
{
    struct proc_mail *m = mem_zalloc(sizeof(*m));

    m->mail.kind = &proc_mail_kind;
    m->mail.bytes = bytes;
    m->proc = p;
    m->what = what;
    job_ref(p);
    return m;
}

static void job_report_output(struct proc *p, int fd, struct str bytes)
{
    struct proc_mail *m;
    size_t room = p->max_output - p->delivered;

    if (bytes.len > room)
        p->dropped += bytes.len - room;
    bytes = str_first(bytes, room);
    p->delivered += bytes.len;
    if (!bytes.len || atomic_load(&p->unwatched))
        return;

    m = job_mail_new(p, PROC_OUTPUT, bytes.len);
    m->fd = fd;
    buf_init(&m->bytes, bytes.len);
    buf_add(&m->bytes, bytes);
    atomic_fetch_add(&p->unread, bytes.len);
    mailbox_send(p->to, &m->mail);
}

static void job_report_exit(struct proc *p)
{
    struct proc_mail *m;

    if (atomic_load(&p->unwatched))
        return;
    m = job_mail_new(p, PROC_EXIT, sizeof(*m));
    m->how = p->how;
    m->code = p->code;
    m->ended_rest = p->ended_rest;
    m->dropped = p->dropped;
    buf_move(&m->bytes, &p->dir);
    m->wall_ms = loop_now_ms() - p->start_ms;
    atomic_store(&p->told_end, true);
    mailbox_send(p->to, &m->mail);
}

static void job_report_failure(struct proc *p, const struct err *failure)
{
    struct proc_mail *m;

    if (atomic_load(&p->unwatched))
        return;
    m = job_mail_new(p, PROC_EXIT, sizeof(*m));
    m->how = PROC_NOT_STARTED;
    m->code = failure->code;
    buf_init(&m->bytes, sizeof(failure->text));
    buf_adds(&m->bytes, failure->text);
    mailbox_send(p->to, &m->mail);
}

void job_settle(struct proc *p, const struct err *failure)
{
    bool first;

    gate_take(&p->gate);
    first = !p->settled;
    p->settled = true;
    if (first && failure)
        p->failure = *failure;
    gate_give(&p->gate);
    gate_wake(&p->gate);
    if (first && failure && p->at_once)
        job_report_failure(p, failure);
}

static void job_order_warden(struct proc *p, int what, int signo)
{
    struct warden_order order = {what, signo};

    if (p->fds[JOB_WARDEN].fd < 0)
        return;
    kill(p->warden, SIGCONT); /* not reaped, so it is ours; the job may have stopped it */
    send(p->fds[JOB_WARDEN].fd, &order, sizeof(order), MSG_DONTWAIT | MSG_NOSIGNAL);
}

int job_open(struct proc *p, struct loop *loop, struct err *err)
{
    p->next_ms = -1;
    p->start_ms = loop_now_ms();
    p->warden = zygote_start_warden(loop_zygote(loop), &p->launch, &p->fds[JOB_WARDEN].fd, err);
    if (p->by_user && p->warden > 0)
        descent_add(p->warden);
    launch_close(&p->launch);
    if (p->warden < 0)
        return -1;
    loop_watch(loop, &p->fds[JOB_WARDEN], EPOLLIN);
    return 0;
}

/* The phase moves on at the earliest of all such times. */
static void job_due(struct proc *p, int64_t at_ms)
{
    if (p->next_ms < 0 || at_ms < p->next_ms)
        p->next_ms = at_ms;
}

/* From exec on: before, the program may not exist, and nothing is reported. */
static void job_started(struct proc *p, struct loop *loop, pid_t pid)
{
    p->started = true;
    p->pid = pid;
    if (p->timeout_ms > 0)
        job_due(p, p->start_ms + p->timeout_ms);
    loop_watch(loop, &p->fds[JOB_OUT], EPOLLIN);
    loop_watch(loop, &p->fds[JOB_ERR], EPOLLIN);
    loop_watch(loop, &p->fds[JOB_IN], p->input.len ? EPOLLOUT : 0);
    job_settle(p, /*failure=*/NULL);
}

static void job_not_started(struct proc *p, int stage, int sys)
{
    struct err err = {0};
    const char *name = p->launch.name;

    p->failed = true;
    errno = sys;
    switch (stage) {
    case CHILD_TERMINAL:
        err_sys(&err, ERR_IO, "cannot give '%s' its terminal", name);
        break;
    case CHILD_NAMESPACES:
    case CHILD_NETWORK:
    case CHILD_OVERLAY:
    case CHILD_MOUNTS:
    case CHILD_PROCESSES:
    case CHILD_RIGHTS:
    case CHILD_CALLS:
        err_sys(&err, ERR_UNSUPPORTED, "cannot confine '%s': %s", name, child_lacks(stage));
        break;
    case CHILD_DIR:
        err_sys(&err, ERR_IO, "cannot run '%s' in '%s'", name, p->launch.dir);
        break;
    case CHILD_EXEC:
        if (sys == ENOENT || sys == ENOTDIR)
            err_sys(&err, ERR_NOT_FOUND, "cannot run '%s'", name);
        else if (sys == E2BIG)
            err_sys(&err, ERR_TOO_BIG, "cannot run '%s'", name);
        else if (sys == EACCES || sys == EPERM || sys == ENOEXEC || sys == EISDIR)
            err_sys(&err, ERR_DENIED, "cannot run '%s'", name);
        else
            err_sys(&err, ERR_IO, "cannot run '%s'", name);
        break;
    default:
        err_sys(&err, ERR_IO, "cannot fork for '%s'", name);
        break;
    }
    job_settle(p, &err);
}

/* The leader is gone, others are not. */
static void job_end_rest(struct proc *p)
{
    p->ended_rest = true;
    job_end(p, p->how, p->grace_ms);
}

static void job_leader_done(struct proc *p, const struct warden_report *report)
{
    bool exited = report->a == CLD_EXITED;
    int status = report->b;

    p->leader_done = true;
    buf_init(&p->dir, PATH_MAX);
    buf_adds(&p->dir, report->dir);
    if (p->phase != JOB_RUNNING) { /* how says who ended it */
        p->code = exited ? status : 128 + status;
        return;
    }
    p->how = exited ? PROC_EXITED : PROC_SIGNALLED;
    p->code = status;
    if (report->alone)
        return;
    if (p->linger_ms == 0)
        job_end_rest(p);
    else if (p->linger_ms > 0)
        job_due(p, loop_now_ms() + p->linger_ms);
}

void job_end(struct proc *p, enum proc_how how, int64_t grace_ms)
{
    int64_t kill_at_ms = loop_now_ms() + grace_ms;

    if (p->phase == JOB_RUNNING) {
        if (!p->leader_done)
            p->how = how;
        p->phase = JOB_ENDING;
        p->next_ms = kill_at_ms;
        job_order_warden(p, WARDEN_END, 0);
    } else if (p->phase == JOB_ENDING) {
        job_due(p, kill_at_ms); /* another deadline may be sooner */
    }
}

void job_kill(struct proc *p)
{
    if (p->phase != JOB_RUNNING && p->phase != JOB_ENDING)
        return;
    if (p->phase == JOB_RUNNING && !p->leader_done)
        p->how = PROC_KILLED;
    p->phase = JOB_KILLING;
    p->next_ms = loop_now_ms() + JOB_WARDEN_PATIENCE_MS;
    job_order_warden(p, WARDEN_KILL, 0);
}

void job_keep(struct proc *p)
{
    p->timeout_ms = 0;
    p->linger_ms = -1;
    if (p->phase == JOB_RUNNING)
        p->next_ms = -1;
}

void job_tick(struct proc *p, int64_t now_ms)
{
    switch (p->phase) {
    case JOB_RUNNING:
        if (p->leader_done)
            job_end_rest(p);
        else
            job_end(p, PROC_TIMED_OUT, p->grace_ms);
        break;
    case JOB_ENDING:
        p->phase = JOB_KILLING;
        p->next_ms = now_ms + JOB_WARDEN_PATIENCE_MS;
        job_order_warden(p, WARDEN_KILL, 0);
        break;
    case JOB_KILLING:
    case JOB_LEFT:
        /* Stopped again and again by its job, or held up by processes it may not kill. What it
         * watched falls to us when it dies. */
        log_debug("proc", "warden %d of %d does not end: taking over", p->warden, p->pid);
        p->next_ms = -1;
        kill(p->warden, SIGKILL);
        break;
    case JOB_STRAYING:
        log_debug("proc", "something below %d cannot be killed", p->pid);
        p->phase = JOB_OVER;
        break;
    case JOB_OVER:
        break;
    }
}

static void job_warden_gone(struct proc *p, struct loop *loop)
{
    struct err err = {0};
    int status = 0;

    loop_close(loop, &p->fds[JOB_WARDEN]);
    descent_remove(p->warden); /* before its number can be another's */
    /* Its end of the socket closes when it exits, so this waits for microseconds at most. */
    while (waitpid(p->warden, &status, 0) < 0 && errno == EINTR)
        continue;
    if (p->phase == JOB_LEFT || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
        p->phase = JOB_OVER;
    } else {
        p->phase = JOB_STRAYING;
        p->next_ms = loop_now_ms() + JOB_STRAY_PATIENCE_MS;
        if (!p->leader_done && p->how == PROC_EXITED)
            p->how = PROC_SIGNALLED;
        if (!p->leader_done)
            p->code = SIGKILL; /* what its death sends the leader */
    }
    if (!p->started && !p->failed) {
        err_set(&err, ERR_IO, "cannot start '%s': its warden was killed", p->launch.name);
        p->failed = true;
        job_settle(p, &err);
    }
}

/* Nothing waits for the warden's own end, which takes longer than all the rest. */
static void job_left(struct proc *p, struct loop *loop)
{
    p->phase = JOB_LEFT;
    p->next_ms = loop_now_ms() + JOB_WARDEN_PATIENCE_MS;
    job_finish(p, loop);
}

static void job_read_warden(struct proc *p, struct loop *loop)
{
    struct warden_report report;
    const ssize_t shortest = offsetof(struct warden_report, dir) + 1;
    ssize_t len = recv(p->fds[JOB_WARDEN].fd, &report, sizeof(report), MSG_DONTWAIT);

    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len < shortest) {
        job_warden_gone(p, loop);
        return;
    }
    switch (report.what) {
    case WARDEN_READY:
        break;
    case WARDEN_STARTED:
        job_started(p, loop, report.a);
        break;
    case WARDEN_FAILED:
        if (!p->started)
            job_not_started(p, report.a, report.b);
        break;
    default:
        if (p->started)
            job_leader_done(p, &report);
        if (p->started && report.alone)
            job_left(p, loop);
        break;
    }
}

/* One read; false when there is nothing (more). A terminal ends with EIO. */
static bool job_read(struct proc *p, struct loop *loop, enum job_fd_kind kind, size_t *ret_len)
{
    struct job_fd *f = &p->fds[kind];
    char *bytes = loop_scratch(loop);
    ssize_t len;

    if (f->fd < 0)
        return false;
    len = read(f->fd, bytes, LOOP_READ_BYTES);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (len <= 0) {
        loop_close(loop, f);
        return false;
    }
    *ret_len = (size_t)len;
    job_report_output(p, kind == JOB_ERR ? 2 : 1, str_make(bytes, (size_t)len));
    return true;
}

/* A receiver that falls behind makes the job wait in write(). The mark is set before the last check
 * of the unread size: a reader of the rest then either sees the mark or has been counted. */
static void job_pause(struct proc *p, struct loop *loop)
{
    if (atomic_load(&p->unread) <= JOB_MAX_UNREAD)
        return;
    atomic_store(&p->paused, true);
    if (job_was_read(p, 0))
        return;
    loop_unwatch(loop, &p->fds[JOB_OUT]);
    loop_unwatch(loop, &p->fds[JOB_ERR]);
}

void job_resume(struct proc *p, struct loop *loop)
{
    loop_watch(loop, &p->fds[JOB_OUT], EPOLLIN);
    loop_watch(loop, &p->fds[JOB_ERR], EPOLLIN);
}

static void job_drop_input(struct proc *p, struct loop *loop)
{
    atomic_fetch_sub(&p->input_waiting, p->input.len - p->input_at);
    buf_release(&p->input);
    p->input_at = 0;
    loop_close(loop, &p->fds[JOB_IN]);
}

static void job_feed(struct proc *p, struct loop *loop)
{
    struct job_fd *f = &p->fds[JOB_IN];
    struct str rest = str_from(buf_str(&p->input), p->input_at);
    ssize_t len = rest.len ? write(f->fd, rest.ptr, rest.len) : 0;

    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len < 0) { /* EPIPE: it does not want to read, which is its right */
        job_drop_input(p, loop);
        return;
    }
    p->input_at += (size_t)len;
    atomic_fetch_sub(&p->input_waiting, (size_t)len);
    if (p->input_at < p->input.len)
        return;
    buf_clear(&p->input);
    p->input_at = 0;
    if (p->input_ends)
        job_drop_input(p, loop);
    else
        loop_watch(loop, f, 0);
}

void job_event(struct job_fd *f, struct loop *loop, uint32_t events)
{
    size_t len;

    if (f->fd < 0)
        return; /* closed by an earlier event of the same round */
    switch (f->kind) {
    case JOB_OUT:
    case JOB_ERR:
        if (job_read(f->job, loop, f->kind, &len))
            job_pause(f->job, loop);
        break;
    case JOB_IN:
        if (events & (EPOLLERR | EPOLLHUP))
            job_drop_input(f->job, loop);
        else
            job_feed(f->job, loop);
        break;
    default:
        job_read_warden(f->job, loop);
        break;
    }
}

void job_write(struct proc *p, struct loop *loop, struct str bytes)
{
    struct job_fd *f = &p->fds[JOB_IN];

    if (f->fd < 0 || p->input_ends) {
        atomic_fetch_sub(&p->input_waiting, bytes.len);
        return;
    }
    buf_cut(&p->input, 0, p->input_at);
    p->input_at = 0;
    buf_add(&p->input, bytes);
    if (bytes.len)
        p->input_in_line = bytes.ptr[bytes.len - 1] != '\n';
    loop_watch(loop, f, EPOLLOUT);
}

/* A terminal has no end of file: its reader sees one when the line is empty and Ctrl-D comes; one
 * more is needed to hand over a line that has begun. */
static void job_type_end(struct proc *p)
{
    static const char end[] = "\004\004";
    struct str typed = str_make(end, p->input_in_line ? 2 : 1);

    buf_add(&p->input, typed);
    atomic_fetch_add(&p->input_waiting, typed.len);
}

void job_close_input(struct proc *p, struct loop *loop)
{
    if (p->fds[JOB_IN].fd < 0 || p->input_ends)
        return;
    if (p->pty)
        job_type_end(p);
    p->input_ends = true;
    loop_watch(loop, &p->fds[JOB_IN], EPOLLOUT);
}

void job_resize(struct proc *p, unsigned short rows, unsigned short cols)
{
    struct winsize size = {.ws_row = rows, .ws_col = cols};

    if (p->pty && p->fds[JOB_OUT].fd >= 0)
        ioctl(p->fds[JOB_OUT].fd, TIOCSWINSZ, &size);
}

void job_signal(struct proc *p, int signo)
{
    job_order_warden(p, WARDEN_SIGNAL, signo);
}

/* No descendant is left, but another process may hold a pipe open (a server that inherited it):
 * take the available bytes and do not wait for the end. */
static void job_drain(struct proc *p, struct loop *loop, enum job_fd_kind kind)
{
    size_t total = 0;
    size_t len = 0;

    while (total < JOB_DRAIN_BYTES && job_read(p, loop, kind, &len))
        total += len;
    loop_close(loop, &p->fds[kind]);
}

void job_finish(struct proc *p, struct loop *loop)
{
    if (p->finished)
        return;
    p->finished = true;
    if (p->started) {
        job_drain(p, loop, JOB_OUT);
        job_drain(p, loop, JOB_ERR);
    }
    job_drop_input(p, loop);
    loop_close(loop, &p->fds[JOB_OUT]);
    loop_close(loop, &p->fds[JOB_ERR]);
    if (p->started)
        job_report_exit(p);
}
