/*
 * The zygote: one small, long-lived process from which every warden is made.
 *
 * A fork costs what the forking process holds: tenax with a long conversation pays for copying its
 * page tables, and afterwards for every page it writes to. So the proc thread forks only once, when
 * it starts, and that copy, which never grows and lets go of what it does not need (shed.h), makes
 * the wardens. They are its siblings, not its
 * children (CLONE_PARENT): to tenax they are children like any other.
 *
 * One warden is always made ahead, the spare, so that a job starts without waiting for a fork; as
 * soon as it is taken the next one is asked for. One that comes back from its job (reserve.h) is
 * taken before it, so that commands one after the other need no fork at all. From the first
 * confined job on there is a second spare, which is in the namespaces already that such jobs need,
 * and has most of their Landlock rules: a network namespace takes longer to make than all the rest.
 * (Not the mount namespace: it would keep file systems busy.)
 *
 * The zygote holds one descriptor, its end of a socket, and ends when tenax's end closes. It never
 * sees the specification of a job: that goes to the warden alone (launch.h). It blocks every
 * signal. A job may still kill it, or the spare, as it may kill everything of its user: then the
 * next warden is made by a new one. Jobs do not inherit later changes of tenax itself, such as
 * limits.
 *
 * Proc thread only.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct err;
struct launch;

struct zygote_spare {
    int socket;     /* our end; -1: none was asked for */
    pid_t pid;      /* 0: unknown yet, -1: there is none */
    bool is_late;   /* and is waited for no more */
    int namespaces; /* flags of unshare(2): those that it prepares for */
};

enum zygote_spare_kind {
    ZYGOTE_PLAIN,
    ZYGOTE_CONFINED, /* wanted as soon as its namespaces are not 0 */
    ZYGOTE_SPARES,
};

struct zygote {
    pid_t pid; /* 0: none */
    int socket;
    struct zygote_spare spares[ZYGOTE_SPARES];
    bool lost_one; /* a spare never reported, and may have to be reaped as a stray (loop.c) */
};

/* Failure is not fatal: the next zygote_start_warden() tries again. */
void zygote_init(struct zygote *z);
void zygote_release(struct zygote *z); /* ends and reaps it and the spares; wardens live on */

/* Returns the warden's pid, and our end of its socket; -1: none could be made. */
pid_t zygote_start_warden(struct zygote *z, const struct launch *l, int *ret_socket,
                          struct err *err);

/* Whether a child of ours is the zygote or a spare. */
bool zygote_is(struct zygote *z, pid_t pid);
