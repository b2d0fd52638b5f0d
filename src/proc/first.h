/*
 * The first process of a job's PID namespace.
 *
 * It is a copy of the warden, mounts a /proc for the namespace, starts the leader and reaps all
 * orphaned processes. It reports the leader's end and stays until the last process of the namespace
 * is gone; the warden ends all of them by killing it. No process of the job can signal it, and its
 * capabilities keep them from tracing it. For this folder only; plain system calls only.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "proc/child.h"

struct launch_plan;

/* In memory shared with the warden, zeroed at first. */
struct first_report {
    struct child_failure failure;
    pid_t leader; /* as seen by the warden; 0 = there was none */
    /* Valid if is_over: */
    bool is_over; /* the leader has ended */
    bool alone;   /* no other process is left: the first process ends, too */
    int code;     /* as si_code and si_status of the leader */
    int status;
    char dir[PATH_MAX]; /* the leader's final directory; "" unless tell_dir */
};

/* Runs in a copy of the warden. The pipe `started` is closed when the leader has exec'ed or failed
 * to, `over` when the leader has ended. stack_end is of a stack for the leader. */
_Noreturn void first_main(const struct launch_plan *plan, const int started[static 2],
                          const int over[static 2], char *stack_end, struct first_report *ret);
