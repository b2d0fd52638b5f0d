/*
 * A warden: one small process per job, between tenax and the job's leader.
 *
 * It is made before there is a job for it (zygote.h), says that it is there, and waits for a launch
 * (launch.h); when none comes it ends. It may be told to prepare for a confined one. When its job
 * was not confined and has left nobody and nothing behind, it waits for the next one.
 *
 * It is a child subreaper, so that whatever the job leaves behind, by double fork, setsid() or an
 * emptied environment, comes back to this job's warden and to nobody else's: which job a stray
 * belongs to is never guessed. It ends, or says that it is alone, when it has no child left, which
 * is the proof that nobody is. When tenax dies in any way, kill -9 included, its end of the socket
 * closes and the warden kills all that is below. A job that kills its own warden gains nothing:
 * tenax is a subreaper as well and kills what then falls to it (loop.c).
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
    WARDEN_KILL,    /* until nobody is left */
};

struct warden_order {
    int what;
    int signo; /* PREPARE: flags of unshare(2) */
};

/* In a copy of a warden: closes what is the warden's alone. */
void warden_drop_fds(void);

/* Runs in a process of its own (zygote.h), with signals reset, and never returns; exits with 0 when
 * nobody is left. */
_Noreturn void warden_main(int socket);
