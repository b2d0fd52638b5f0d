/*
 * What runs in a child between fork and exec.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct launch_plan;

/* For functions that run on borrowed memory and never return: AddressSanitizer's records of their
 * frames would remain. */
#define CHILD_FN __attribute__((no_sanitize_address))

enum child_stage {
    CHILD_FORK,
    CHILD_NAMESPACES, /* this and the next three in the warden, before there is a child */
    CHILD_NETWORK,
    CHILD_OVERLAY,
    CHILD_MOUNTS,
    CHILD_PROCESSES,
    CHILD_RIGHTS,
    CHILD_CALLS,
    CHILD_TERMINAL,
    CHILD_DIR,
    CHILD_EXEC,
};

/* The part of a confinement that failed at a stage, as text. */
const char *child_lacks(enum child_stage stage);

/* What went wrong, left in memory that the child and its warden share until the exec. */
struct child_failure {
    bool failed;
    int stage;
    int sys;
};

/* Closes lowest and everything above. */
void child_close_from(int lowest);

/* Handlers are reset by exec, but "ignored" is inherited; SIGPIPE is, for one. */
void child_reset_signals(void);

/* Descriptors 0 to 2 are in place, everything else is close-on-exec, signals are reset and every
 * one is blocked. */
_Noreturn void child_exec(const struct launch_plan *plan, pid_t parent, struct child_failure *ret);
