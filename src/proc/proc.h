/*
 * Child processes, started, watched, fed and ended by one long-lived thread.
 *
 * A job is a command in its own process group and session, with close-on-exec on everything of
 * ours, its own directory and environment, and pipes or a pty. What it says arrives as proc_mail:
 * any number of PROC_OUTPUT, then exactly one PROC_EXIT, sent when the leader has been reaped, every
 * descendant is gone and all output is read. Nobody escapes: tenax is a child subreaper, and ending a
 * job kills its group and every process found below it (by pidfd), also those that called setsid()
 * or whose parents have died. All of this ends with the process: children get a parent-death signal.
 *
 * A job whose leader exits while descendants go on is not over until they are; after linger_ms they
 * are ended like the leader would be.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "sync/mailbox.h"

struct cancel;
struct err;
struct proc;

struct proc_spec {
    const char *const *argv; /* argv[0] is looked up in PATH of envp */
    const char *const *envp; /* NULL: ours */
    const char *dir;         /* NULL: ours */
    struct str
        input; /* written to standard input, then closed; empty: /dev/null unless keep_stdin */
    bool keep_stdin;           /* stay open for proc_write() */
    bool pty;                  /* stdin, stdout and stderr on a new terminal */
    unsigned short rows, cols; /* 0: 24 x 80 */
    bool merge_stderr;         /* 2>&1 */
    size_t
        max_output; /* bytes delivered over the whole life (0: 64 MB); the rest is read and counted, not delivered */
    int64_t timeout_ms; /* 0: none; then the job is ended */
    int64_t grace_ms;   /* between TERM and KILL; 0: 1000 */
    int64_t linger_ms;  /* for descendants after the leader's exit; 0: 0, -1: for ever */
};

enum proc_mail_what {
    PROC_OUTPUT,
    PROC_EXIT,
};

enum proc_how {
    PROC_EXITED,    /* code is the exit status */
    PROC_SIGNALLED, /* code is the signal, sent by somebody else */
    PROC_TIMED_OUT,
    PROC_KILLED, /* by proc_end() or cancel */
};

extern const struct mail_kind proc_mail_kind;

struct proc_mail {
    struct mail mail;
    struct proc *proc;
    enum proc_mail_what what;
    int fd;            /* OUTPUT: 1 or 2 */
    struct buf bytes;  /* OUTPUT */
    enum proc_how how; /* EXIT */
    int code;
    size_t dropped; /* EXIT: bytes over max_output */
    int64_t wall_ms;
};

/* Fails with ERR_NOT_FOUND (no such program), ERR_DENIED (not executable), ERR_IO; an error of the
 * child before exec is reported here, not as an exit code. */
struct proc *proc_start(const struct proc_spec *spec, struct mailbox *to, struct err *err);
int proc_pid(const struct proc *p);
int proc_write(struct proc *p, struct str bytes,
               struct err *err); /* queued; at most 16 MB waiting */
void proc_close_input(struct proc *p);
void proc_resize(struct proc *p, unsigned short rows, unsigned short cols);
void proc_signal(struct proc *p, int signo); /* to the group */
void proc_end(struct proc *p);               /* TERM, grace, KILL; PROC_EXIT follows */
void proc_unref(struct proc *p);             /* ends it when it still runs; NULL is fine */

struct proc_result {
    enum proc_how how;
    int code;
    struct buf out;
    struct buf err;
    size_t dropped;
    int64_t wall_ms;
};
void proc_result_release(struct proc_result *r);

/* Runs to the end on the caller's thread. A cancel ends the job and gives ERR_CANCELLED. */
int proc_run(const struct proc_spec *spec, struct cancel *cancel, struct proc_result *ret,
             struct err *err);

void proc_shutdown(void); /* at process exit: ends every job with 200 ms grace, joins the thread */
