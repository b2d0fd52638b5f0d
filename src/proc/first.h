/*
 * The first process of a job's own PID namespace (confinement.own_processes).
 *
 * It is a copy of the warden, gets a /proc of the namespace, starts the leader, reaps whatever is
 * left to it, and ends with the leader. The kernel then kills everything else in the namespace
 * before the warden can reap it. No process of the job can signal it, and Landlock or its
 * capabilities keep them from tracing it. Private to this folder; plain system calls only.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "proc/child.h"

struct launch_plan;

/* Lies in memory that it shares with the warden, zeroed at first. */
struct first_report {
    struct child_failure failure;
    pid_t leader; /* as the warden sees it; 0: there was none */
    /* The rest when is_over: */
    bool is_over;    /* the leader has ended */
    bool ended_rest; /* there were others, which end now */
    int code;        /* as si_code and si_status of the leader */
    int status;
    char dir[PATH_MAX]; /* where the leader was in the end; "" unless tell_dir */
};

/* Runs in a copy of the warden. The pipe `started` is closed when the leader has exec'ed, or failed
 * to; stack_end is of a stack for the leader. */
_Noreturn void first_main(const struct launch_plan *plan, const int started[static 2],
                          char *stack_end, struct first_report *ret);
