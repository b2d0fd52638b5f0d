/*
 * A program that is asked something and answers in a moment: git, for its status.
 *
 * A job of proc.h costs a thread and three processes, so that no process escapes it. A glance
 * starts a plain child of the calling thread: in a separate session, without a terminal and without
 * input, and killed when that thread ends. It is for programs whose arguments are ours and which
 * leave no processes; glance_free() kills its process group, and no more. Their output is read only
 * while it is waited for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct cancel;
struct err;

struct glance_spec {
    const char *const *argv; /* argv[0] is looked up in PATH of envp */
    const char *const *envp;
    const char *dir;
    size_t max_output; /* that is kept of each stream; all is read */
};

struct glance {
    struct buf out, err; /* its output so far */
    bool is_over;        /* it has ended, and all is read */
    int code;            /* then: its exit code, or 128 + signal */
    int pid;
    int pidfd;  /* -1: none to be had */
    int fds[2]; /* of its output, -1: at its end */
};

/* Returns when the program runs: ERR_NOT_FOUND (there is none), ERR_DENIED (it may not be run),
 * ERR_IO. The thread that starts it waits for it and frees it. */
struct glance *glance_start(const struct glance_spec *spec, struct err *err);
void glance_free(struct glance *g); /* kills it when it still runs; NULL is fine */

/* Until both are over (either may be NULL): ERR_TIMEOUT, ERR_CANCELLED. The deadline is real time,
 * also under a virtual clock: children do not live by it. */
int glance_wait(struct glance *one, struct glance *other, int64_t deadline_ms,
                struct cancel *cancel, struct err *err);
int64_t glance_now_ms(void);

/* For the proc thread: there are children that are neither its own nor leftovers. */
bool glance_is_running(void);
