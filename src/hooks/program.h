/*
 * A command handler, started: its own session, the folder the agent is in (while it exists), the
 * event on its standard input.
 *
 * It sees our environment without OTEL_*, and CLAUDE_PROJECT_DIR and TENAX_PROJECT_DIR, the folder
 * the session began in. With `args` the command is a program, and ${CLAUDE_PROJECT_DIR} in it and
 * in them is replaced here; without, a shell gets the text as it is and finds the variable itself.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "base/strv.h"

struct conf;
struct err;
struct hook_handler;
struct mailbox;
struct proc;
struct workspace;

#define PROGRAM_LINGER_MS 200 /* for what it leaves behind */

/* What all of a session's have in common. */
struct program_place {
    struct workspace *workspace;
    struct strv env;
    int64_t grace_ms; /* between being asked to stop and being killed */
};
void program_place_init(struct program_place *p, struct workspace *w, const struct conf *conf);
void program_place_release(struct program_place *p);

/* Its mail goes to `to`, also when the program cannot be run (PROC_NOT_STARTED). Fails as
 * proc_start() does at_once. */
struct proc *program_start(const struct program_place *p, const struct hook_handler *h,
                           int64_t timeout_ms, struct str input, struct mailbox *to,
                           struct err *err);
