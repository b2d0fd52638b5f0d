/*
 * A warden: one small process per job, between tenax and the job's leader.
 *
 * It is created before there is a job for it (zygote.h), reports that it is ready, and waits for a
 * launch (launch.h), or ends if there is none. It may be asked to prepare for a sandboxed job.
 *
 * It is a child subreaper, so that all leftover processes of the job (after a double fork, setsid()
 * or with an empty environment) become children of this job's warden and of no other: the job of a
 * stray process is never guessed. It ends when it has no child left, which proves that no process
 * is left. When tenax dies, even by kill -9, its end of the socket closes and the warden kills all
 * processes below; with proc_spec.finishes, as soon as the leader has ended. A job that kills its
 * own warden gains nothing: tenax is a subreaper as well and kills the processes that it inherits
 * (loop.c).
 *
 * The warden shares its working directory with the leader, so it knows the leader's final directory
 * (launch_plan.tell_dir) however the leader ends.
 *
 * Both sides exchange packets over a SOCK_SEQPACKET pair.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum warden_report_what {
    WARDEN_READY,   /* for a launch */
    WARDEN_STARTED, /* a: pid of the leader, after its exec */
    WARDEN_FAILED,  /* a: enum child_stage, b: errno; the warden then ends */
    WARDEN_LEADER,  /* the leader is reaped; a: si_code, b: si_status. If alone, the warden ends */
};

struct warden_report {
    int what;
    int warden; /* its own pid */
    int a;
    int b;
    bool alone;         /* LEADER: no other process is left */
    char dir[PATH_MAX]; /* LEADER: its final directory; "" unless tell_dir. Only the used part is
                           sent, including NUL */
};

enum warden_order_what {
    WARDEN_PREPARE, /* before a launch: for a job with these namespaces (confine_enter.h) */
    WARDEN_SIGNAL,  /* signo to the leader's group */
    WARDEN_END,     /* SIGTERM to all processes */
    WARDEN_KILL,    /* until no process is left */
};

struct warden_order {
    int what;
    int signo; /* PREPARE: flags of unshare(2) */
};

/* In a copy of a warden: closes the warden's own descriptors. */
void warden_drop_fds(void);

/* Runs in a separate process (zygote.h), with signals reset, and never returns; exits with 0 when
 * no process is left. */
_Noreturn void warden_main(int socket);
