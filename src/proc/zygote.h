/*
 * The zygote: one small, long-lived process from which every warden is made.
 *
 * A fork costs what the forking process holds: tenax with a long conversation pays for copying its
 * page tables, and afterwards for every page it writes to. So the proc thread forks only once, when
 * it starts, and that copy, which never grows, makes the wardens. They are its siblings, not its
 * children (CLONE_PARENT): to tenax they are children like any other.
 *
 * One warden is always made ahead, the spare, so that a job starts without waiting for a fork; as
 * soon as it is taken the next one is asked for.
 *
 * The zygote holds one descriptor, its end of a socket, and ends when tenax's end closes. What a
 * job is to be it never sees: that goes to the warden alone (launch.h). It blocks every signal. A
 * job may kill it all the same, or the spare, as it may kill everything of its user: then the next
 * warden is made by a new one. What tenax should ever change about itself later, such as a limit,
 * jobs do not inherit.
 *
 * Proc thread only.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct err;
struct launch;

struct zygote {
    pid_t pid; /* 0: none */
    int socket;
    int spare;       /* our end of its socket; -1: none was asked for */
    pid_t spare_pid; /* 0: not heard of yet, -1: there is none */
    bool lost_one;   /* a spare was never heard of, and may have to be reaped as a stray (loop.c) */
};

/* Failure is not fatal: the next zygote_start_warden() tries again. */
void zygote_init(struct zygote *z);
void zygote_release(struct zygote *z); /* ends and reaps it and the spare; wardens live on */

/* Gives the warden's pid, and our end of its socket; -1: nobody is left of it. */
pid_t zygote_start_warden(struct zygote *z, const struct launch *l, int *ret_socket,
                          struct err *err);

/* Whether a child of ours is the zygote or the spare. */
bool zygote_is(struct zygote *z, pid_t pid);
