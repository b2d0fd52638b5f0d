/*
 * Child processes: one long-lived thread starts, watches, feeds and ends them.
 *
 * A job is a command in its own process group and session, with close-on-exec on all our
 * descriptors, its own directory and environment, default signal dispositions and the signal mask
 * tenax was started with, and pipes or a pty. Its output arrives as proc_mail: any number of
 * PROC_OUTPUT, then exactly one PROC_EXIT, sent when the leader is reaped, all descendants are gone
 * and all output is read.
 *
 * No process escapes. Between tenax and each leader is a small process, the warden (warden.h),
 * which inherits all leftover processes of the job: after setsid(), after a double fork, with an
 * empty environment. Ending a job sends SIGTERM to all its processes, and after a grace period
 * stops and kills (by pidfd) all processes found below, repeatedly until none is left. When tenax
 * itself dies, even by kill -9, the wardens do the same at once. Exceptions are processes that we
 * may not signal (a job that became another user: given up after 10 seconds) and those that other
 * services start for a job (docker, systemd-run, at). For a short query to a program that starts no
 * others, glance.h is cheaper.
 *
 * A job whose leader exits while descendants continue lasts until they end; after linger_ms they
 * are ended as the leader would be. Times here are real, also under a virtual clock (clock.h),
 * which children do not use.
 *
 * A slow receiver makes the job wait: if more than 1 MB of its output is in mail that is not freed
 * yet, its pipes are not read until half of that is left.
 *
 * tell_dir lets the leader share its working directory with the warden, so that it is known even
 * after an exec or a kill. As a side effect of the kernel, a setuid program that the leader itself
 * execs gains no rights, and it cannot enter another mount namespace; programs that it starts can.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "sync/mailbox.h"

struct cancel;
struct confinement;
struct err;
struct proc;

struct proc_spec {
    const char *const *argv; /* argv[0] is looked up in PATH of envp */
    const char *const *envp; /* NULL = ours */
    const char *dir;         /* NULL = ours */
    /* Written to standard input, which is then closed (on a pty: Ctrl-D is typed); at most 16 MB.
     * Empty: no input, unless keep_stdin. */
    struct str input;
    bool keep_stdin;           /* keeps it open for proc_write() */
    bool pty;                  /* stdin, stdout and stderr on a new, controlling terminal */
    unsigned short rows, cols; /* of the pty; 0 = 24 x 80 */
    bool merge_stderr;         /* 2>&1 */
    bool tell_dir;             /* PROC_EXIT has the leader's final directory */
    bool at_once;              /* proc_start() does not wait for the exec */
    size_t max_output; /* bytes delivered in total; more is read and counted, but not delivered. 0 =
                          64 MB */
    int64_t timeout_ms;                /* then the job is ended; 0 = none */
    int64_t grace_ms;                  /* between TERM and KILL; 0 = 1000 */
    int64_t linger_ms;                 /* for descendants after the leader's exit; -1 = unlimited */
    const struct confinement *confine; /* NULL = not sandboxed */
    bool by_user; /* not the agent's doing, nor is what it starts (descent.h) */
    /* For a program that leaves locks behind when it is killed: if tenax dies, the job may run on
     * for up to 30 seconds. */
    bool finishes;
};

enum proc_mail_what {
    PROC_OUTPUT,
    PROC_EXIT,
};

enum proc_how {
    PROC_EXITED,      /* code is the exit status */
    PROC_SIGNALLED,   /* code is the signal, sent by another process */
    PROC_TIMED_OUT,   /* before the leader exited; code is its exit status or 128 + signal */
    PROC_KILLED,      /* the same, by proc_end() or proc_shutdown() */
    PROC_NOT_STARTED, /* with at_once: code is the enum err_code, bytes are the error text */
};

extern const struct mail_kind proc_mail_kind;

struct proc_mail {
    struct mail mail;
    struct proc *proc; /* stays a valid pointer as long as the mail */
    enum proc_mail_what what;
    int fd;           /* OUTPUT: 1 or 2 */
    struct buf bytes; /* OUTPUT; EXIT: the directory of tell_dir, empty if it was deleted; or why it
                         was not started */
    enum proc_how how; /* EXIT */
    int code;
    bool ended_rest; /* EXIT: descendants outlived the leader and were ended after linger_ms */
    size_t dropped;  /* EXIT: bytes over max_output */
    int64_t wall_ms;
};

/* Returns after the exec. ERR_NOT_FOUND (no such program), ERR_DENIED (not executable), ERR_TOO_BIG
 * (input, arguments), ERR_UNSUPPORTED (the sandbox is not possible), ERR_CANCELLED (during
 * proc_shutdown()), ERR_IO (other errors, such as an invalid directory). An error of the child
 * before exec is reported here, not as an exit code, and no mail follows. With at_once only errors
 * before there is a child are reported here, others as PROC_NOT_STARTED. */
struct proc *proc_start(const struct proc_spec *spec, struct mailbox *to, struct err *err);
int proc_pid(const struct proc *p); /* the leader's, also its group and session; not with at_once */

/* Any thread, at any time; without effect if it is too late. None of these waits. */

/* Queues input; ERR_TOO_BIG if more than 16 MB would wait. It is not an error if the program does
 * not read any more. */
int proc_write(struct proc *p, struct str bytes, struct err *err);
size_t proc_waiting(const struct proc *p); /* bytes of input that it has not read yet */
void proc_close_input(struct proc *p);
void proc_resize(struct proc *p, unsigned short rows, unsigned short cols);
void proc_signal(struct proc *p, int signo); /* to the leader's group */
void proc_end(struct proc *p);               /* TERM, grace, KILL; PROC_EXIT follows */
void proc_kill(struct proc *p);              /* the same with KILL at once: no trap runs */
void proc_keep(struct proc *p); /* removes timeout_ms and lingers without limit from now on */

/* Ends it if it is running, and sends no more mail; queued mail still refers to it. NULL is fine.
 */
void proc_unref(struct proc *p);

struct proc_result {
    enum proc_how how;
    int code;
    struct buf out;
    struct buf err;
    size_t dropped;
    int64_t wall_ms;
};
void proc_result_release(struct proc_result *r);

/* Runs a program to its end on the caller's thread. A cancel returns ERR_CANCELLED at once; the job
 * is then ended in the background. */
int proc_run(const struct proc_spec *spec, struct cancel *cancel, struct proc_result *ret,
             struct err *err);

/* Call it at process exit: ends every job with 200 ms grace and joins the thread. Children that
 * were not started here are left alone as long as they are in our session. A later proc_start()
 * starts the thread again. */
void proc_shutdown(void);
