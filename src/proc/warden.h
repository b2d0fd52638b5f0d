/*
 * A warden: one small process per job, between tenax and the job's leader.
 *
 * It is made before there is a job for it (zygote.h), reports that it is ready, and waits for a
 * launch (launch.h); when none comes it ends. It may be asked to prepare for a confined one. When
 * its job was not confined and has left no processes or other traces, it waits for the next one.
 *
 * It is a child subreaper, so that all leftover processes of the job, by double fork, setsid() or
 * an emptied environment, come back to this job's warden and to no other: which job a stray belongs
 * to is never guessed. It ends, or reports that it is alone, when it has no child left, which
 * proves that no process is. When tenax dies in any way, kill -9 included, its end of the socket
 * closes and the warden kills all that is below. A job that kills its own warden gains nothing:
 * tenax is a subreaper as well and kills the processes that then fall to it (loop.c).
 *
 * Where the leader is in the end (launch_plan.tell_dir) the warden knows because the two share
 * their working directory: whatever the leader does last, exit, exec or be killed, it is there to
 * ask. Before the next job it goes back to where it was born, with the umask of then; if its root
 * is another one, it ends.
 *
 * The two talk in packets over a SOCK_SEQPACKET pair.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum warden_report_what {
    WARDEN_READY,   /* for a launch */
    WARDEN_STARTED, /* a: pid of the leader, which has exec'ed */
    WARDEN_FAILED,  /* a: enum child_stage, b: errno; the warden then ends */
    WARDEN_LEADER,  /* the leader is reaped; a: si_code, b: si_status. Alone, the warden ends,
                     * unless it stays */
};

struct warden_report {
    int what;
    int warden; /* its own pid */
    int a;
    int b;
    bool alone;         /* LEADER: no other is left */
    bool stays;         /* LEADER: and the warden waits for another launch */
    char dir[PATH_MAX]; /* LEADER: where it was in the end; "" unless tell_dir. Sent as far as it is
                         * used, NUL included */
};

enum warden_order_what {
    WARDEN_PREPARE, /* before a launch: for these namespaces (confine_enter.h) */
    WARDEN_SIGNAL,  /* signo to the leader's group */
    WARDEN_END,     /* SIGTERM to everybody */
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
