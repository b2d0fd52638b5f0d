/*
 * Internals of a job, as the proc thread sees it. For this folder only.
 *
 *   RUNNING ──end──▶ ENDING (SIGTERM sent) ──grace──▶ KILLING ──▶ LEFT ──▶ OVER
 *
 * A job is LEFT when its warden reports that the leader is reaped and no other process is left;
 * then PROC_EXIT is sent. It is OVER when the warden has ended, too. If
 * the warden was killed, the job is STRAYING until the loop has ended the processes that we have
 * inherited.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "proc/launch.h"
#include "proc/proc.h"
#include "proc/warden.h"
#include "sync/thread.h"

struct loop;

enum job_phase {
    JOB_RUNNING,
    JOB_ENDING,
    JOB_KILLING,
    JOB_LEFT,
    JOB_STRAYING,
    JOB_OVER,
};

enum job_fd_kind {
    JOB_OUT,
    JOB_ERR,
    JOB_IN,
    JOB_WARDEN,
    JOB_FD_KINDS,
};

/* A descriptor the loop watches; -1 once closed. */
struct job_fd {
    struct proc *job;
    enum job_fd_kind kind;
    int fd;
    bool is_watched; /* by the loop */
};

struct proc {
    /* Any thread. */
    atomic_int refs;       /* the caller's, the loop's, and one per order and mail on its way */
    atomic_bool unwatched; /* by proc_unref(): no more mail */
    atomic_bool told_end;  /* PROC_EXIT was sent: no process is left */
    atomic_size_t input_waiting; /* bytes not yet written to its standard input */
    atomic_size_t unread;        /* bytes of output in mail that is not freed yet */
    atomic_bool paused;          /* its output is not read until enough of that is freed */

    struct gate gate; /* guards what proc_start() waits for */
    bool settled;
    struct err failure; /* code ERR_NONE: started */
    int pid;            /* the leader's; written before settled */

    /* Written before the loop knows the job; then the loop's. */
    struct mailbox *to;
    struct launch launch;
    struct job_fd fds[JOB_FD_KINDS];
    struct buf input; /* from input_at on not yet written */
    size_t input_at;
    bool input_ends;    /* close when it is written */
    bool input_in_line; /* the last byte was not a newline */
    bool pty;
    bool at_once; /* do not wait for it to settle */
    size_t max_output;
    int64_t timeout_ms;
    int64_t grace_ms;
    int64_t linger_ms;
    bool by_user; /* the spec's */

    /* The loop's. */
    enum job_phase phase;
    bool started; /* exec'ed */
    bool failed;  /* it was not started; proc_start() knows why */
    bool leader_done;
    bool finished;     /* PROC_EXIT is sent, if it is to be sent */
    bool ended_rest;   /* descendants that outlived the leader were ended */
    struct buf dir;    /* the leader's final directory */
    enum proc_how how; /* valid when the leader is done or the job is being ended */
    int code;
    pid_t warden;
    int64_t start_ms;
    int64_t next_ms; /* when the phase changes by itself; -1 = never */
    size_t delivered;
    size_t dropped; /* bytes over max_output */
};

void job_ref(struct proc *p);
void job_unref(struct proc *p);

/* Mail with this many bytes was freed; true if the job may be read again, which needs an order. */
bool job_was_read(struct proc *p, size_t bytes);

/* Reports the result of the start to proc_start() or by mail; only the first call counts. */
void job_settle(struct proc *p, const struct err *failure);

/* Below: proc thread only. job_open() starts a warden; it and all others move the job on, and the
 * loop looks at its phase afterwards. */
int job_open(struct proc *p, struct loop *loop, struct err *err);
void job_event(struct job_fd *f, struct loop *loop, uint32_t events);
void job_keep(struct proc *p);
void job_tick(struct proc *p, int64_t now_ms);      /* when next_ms has come */
void job_resume(struct proc *p, struct loop *loop); /* when it is not paused any more */
void job_write(struct proc *p, struct loop *loop, struct str bytes);
void job_close_input(struct proc *p, struct loop *loop);
void job_resize(struct proc *p, unsigned short rows, unsigned short cols);
void job_signal(struct proc *p, int signo);
void job_end(struct proc *p, enum proc_how how, int64_t grace_ms);
void job_kill(struct proc *p); /* the same without a grace */
/* LEFT or OVER: reads the remaining output, sends PROC_EXIT; only the first call counts. */
void job_finish(struct proc *p, struct loop *loop);
