/*
 * Child processes, started, watched, fed and ended by one long-lived thread.
 *
 * A job is a command in its own process group and session, with close-on-exec on everything of
 * ours, its own directory and environment, the signal mask tenax was started with and default
 * dispositions, and pipes or a pty. What it says arrives as proc_mail: any number of PROC_OUTPUT,
 * then exactly one PROC_EXIT, sent when the leader has been reaped, every descendant is gone and
 * all output is read.
 *
 * No process escapes. Between tenax and each leader stands a small process, the warden (warden.h),
 * to which all leftover processes of the job fall back: by setsid(), by double fork, with an
 * emptied environment. Ending a job sends SIGTERM to all of it and after a grace period stops and
 * kills (by pidfd) all processes found below, again and again until none is left. When tenax itself
 * dies, kill -9 included, the wardens do the same at once. Out of reach are processes we may not
 * signal (a job that became another user: given up after 10 seconds) and those that other services
 * start on a job's behalf (docker, systemd-run, at). For a short query to a program that starts no
 * others, glance.h is cheaper.
 *
 * A job whose leader exits while descendants go on is not over until they are; after linger_ms they
 * are ended like the leader would be. Times here are real, also under a virtual clock (clock.h):
 * children do not live by it.
 *
 * A receiver that falls behind makes the job wait: with more than 1 MB of its output in mail not
 * freed yet, its pipes are not read until half of that is.
 *
 * tell_dir lets the leader share its working directory with the warden, so that it is known also
 * after an exec or a kill. The kernel's price: a program that the leader itself becomes by exec
 * gets no more rights from being setuid and cannot enter another mount namespace; what it starts
 * can.
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
    const char *const *envp; /* NULL: ours */
    const char *dir;         /* NULL: ours */
    /* Written to standard input, which then ends (on a pty: Ctrl-D is typed); at most 16 MB. Empty:
     * nothing to read, unless keep_stdin. */
    struct str input;
    bool keep_stdin;           /* stay open for proc_write() */
    bool pty;                  /* stdin, stdout and stderr on a new, controlling terminal */
    unsigned short rows, cols; /* of the pty; 0: 24 x 80 */
    bool merge_stderr;         /* 2>&1 */
    bool tell_dir;             /* PROC_EXIT says where the leader was in the end */
    bool at_once;              /* proc_start() does not wait until the program runs */
    size_t max_output;         /* bytes delivered over the whole life; more is read and counted,
                                * not delivered. 0: 64 MB */
    int64_t timeout_ms;        /* then the job is ended; 0: none */
    int64_t grace_ms;          /* between TERM and KILL; 0: 1000 */
    int64_t linger_ms;         /* for descendants after the leader's exit; -1: unlimited */
    const struct confinement *confine; /* NULL: the job may do all that we may */
    bool by_user; /* not the agent's doing, nor is what it starts (descent.h) */
};

enum proc_mail_what {
    PROC_OUTPUT,
    PROC_EXIT,
};

enum proc_how {
    PROC_EXITED,      /* code is the exit status */
    PROC_SIGNALLED,   /* code is the signal, sent by another process */
    PROC_TIMED_OUT,   /* before the leader exited; code is its exit status, or 128 + signal */
    PROC_KILLED,      /* the same, by proc_end() or proc_shutdown() */
    PROC_NOT_STARTED, /* with at_once: code is the enum err_code, bytes are the words */
};

extern const struct mail_kind proc_mail_kind;

struct proc_mail {
    struct mail mail;
    struct proc *proc; /* stays a valid pointer as long as the mail */
    enum proc_mail_what what;
    int fd;           /* OUTPUT: 1 or 2 */
    struct buf bytes; /* OUTPUT; EXIT: the folder of tell_dir, empty when it is gone; why it did not
                       * start */
    enum proc_how how; /* EXIT */
    int code;
    bool ended_rest; /* EXIT: descendants outlived the leader and were ended after linger_ms */
    size_t dropped;  /* EXIT: bytes over max_output */
    int64_t wall_ms;
};

/* Returns when the program runs. Fails with ERR_NOT_FOUND (no such program), ERR_DENIED (not
 * executable), ERR_TOO_BIG (input, arguments), ERR_UNSUPPORTED (it cannot be confined as asked
 * for), ERR_CANCELLED (during proc_shutdown()), ERR_IO (the rest, such as a bad directory); an
 * error of the child before exec is reported here, not as an exit code, and no mail follows it.
 * With at_once only what goes wrong before there is a child is reported here, the rest as
 * PROC_NOT_STARTED. */
struct proc *proc_start(const struct proc_spec *spec, struct mailbox *to, struct err *err);
int proc_pid(const struct proc *p); /* the leader's, which is also its group and session; not with
                                     * at_once */

/* Any thread, at any time; what comes too late does nothing. None of these waits. */

/* Queued; ERR_TOO_BIG when more than 16 MB would wait. A program that no longer reads is no
 * error. */
int proc_write(struct proc *p, struct str bytes, struct err *err);
size_t proc_waiting(const struct proc *p); /* bytes of input that it has not taken yet */
void proc_close_input(struct proc *p);
void proc_resize(struct proc *p, unsigned short rows, unsigned short cols);
void proc_signal(struct proc *p, int signo); /* to the leader's group */
void proc_end(struct proc *p);               /* TERM, grace, KILL; PROC_EXIT follows */
void proc_kill(struct proc *p);              /* the same with KILL at once: no trap runs */
void proc_keep(struct proc *p); /* from here on it has no timeout_ms, and lingers without limit */

/* Ends it when it still runs, and sends no more mail; queued mail still holds it. NULL is fine. */
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

/* Runs to the end on the caller's thread. A cancel gives ERR_CANCELLED at once; the job is then
 * ended in the background. */
int proc_run(const struct proc_spec *spec, struct cancel *cancel, struct proc_result *ret,
             struct err *err);

/* At process exit: ends every job with 200 ms grace, joins the thread. Children of ours that did
 * not start here are left alone as long as they are in our session. A later proc_start() starts
 * anew. */
void proc_shutdown(void);
