/*
 * What runs in a child between fork and exec.
 */
#pragma once

#include <sys/types.h>

struct launch;

enum child_stage {
    CHILD_FORK,
    CHILD_TERMINAL,
    CHILD_DIR,
    CHILD_EXEC,
};

/* What went wrong, sent through a close-on-exec pipe: its end of file without one means success. */
struct child_failure {
    int stage;
    int sys;
};

/* Descriptors 0 to 2 are in place, everything else is close-on-exec, every signal is blocked. */
_Noreturn void child_exec(const struct launch *l, pid_t parent, int failure_fd);
