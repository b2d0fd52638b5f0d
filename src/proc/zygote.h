/*
 * The zygote: one small, long-lived process that creates all wardens.
 *
 * The cost of a fork depends on the memory of the process: tenax with a long conversation would pay
 * for copying its page tables and then for every page that it writes. So the proc thread forks
 * once, when it starts, and that copy, which never grows, creates the wardens. They are its
 * siblings, not its children (CLONE_PARENT), so tenax can wait for them.
 *
 * One spare warden is always created ahead, so that a job need not wait for a fork; once it is used
 * the next one is requested. After the first sandboxed job there is a second
 * spare, which has already entered the namespaces for such jobs and has most of their Landlock
 * rules, because creating a network namespace takes longer than everything else. (Not the mount
 * namespace, which would keep file systems busy.)
 *
 * The zygote has one descriptor, its end of a socket, and ends when tenax's end closes. It never
 * sees a job's specification, which is sent only to the warden (launch.h). It blocks all signals. A
 * job may kill it or the spare, like any process of its user: then the next warden is created by a
 * new zygote. Jobs do not inherit later changes of tenax itself, such as limits.
 *
 * Proc thread only.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct err;
struct launch;

struct zygote_spare {
    int socket;     /* our end; -1 = none was requested */
    pid_t pid;      /* 0 = unknown yet, -1 = failed */
    bool is_late;   /* not waited for any more */
    int namespaces; /* flags of unshare(2) that it prepares for */
};

enum zygote_spare_kind {
    ZYGOTE_PLAIN,
    ZYGOTE_CONFINED, /* wanted once its namespaces are not 0 */
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
void zygote_release(struct zygote *z); /* ends and reaps it and the spares; other wardens remain */

/* Returns the warden's pid and our end of its socket; -1 on failure. */
pid_t zygote_start_warden(struct zygote *z, const struct launch *l, int *ret_socket,
                          struct err *err);

/* Whether a child of ours is the zygote or a spare. */
bool zygote_is(struct zygote *z, pid_t pid);
