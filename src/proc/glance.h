/*
 * Runs a short query to a program, such as git for its status.
 *
 * A job of proc.h costs a thread and three processes, so that no process escapes. This starts a
 * plain child of the calling thread: in its own session, without terminal and input, killed when
 * that thread ends. It is for programs that get only our own arguments and leave no processes;
 * glance_free() kills only its process group. Output is read only while waiting.
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
    size_t max_output; /* kept of each stream; all is read */
};

struct glance {
    struct buf out, err; /* output so far */
    bool is_over;        /* it has ended, and all is read */
    int code;            /* valid then: exit code, or 128 + signal */
    int pid;
    int pidfd;  /* -1 = not available */
    int fds[2]; /* for its output; -1 at the end */
};

/* Returns after the exec: ERR_NOT_FOUND (no such program), ERR_DENIED (not executable), ERR_IO. The
 * same thread must wait for it and free it. */
struct glance *glance_start(const struct glance_spec *spec, struct err *err);
void glance_free(struct glance *g); /* kills it if it is running; NULL is fine */

/* Waits until both have ended (either may be NULL): ERR_TIMEOUT, ERR_CANCELLED. The deadline is
 * real time, also under a virtual clock. */
int glance_wait(struct glance *one, struct glance *other, int64_t deadline_ms,
                struct cancel *cancel, struct err *err);
int64_t glance_now_ms(void);

/* For the proc thread: there are children that are neither its own nor leftovers. */
bool glance_is_running(void);
