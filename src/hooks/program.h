/*
 * A command handler, started: its own session, the folder the agent is in (while it exists), the
 * event on its standard input.
 *
 * It sees our environment without OTEL_*, and CLAUDE_PROJECT_DIR and TENAX_PROJECT_DIR, the folder
 * the session began in; CLAUDE_CODE_SESSION_ID and TENAX_SESSION_ID; CLAUDECODE,
 * CLAUDE_CODE_ENTRYPOINT and AI_AGENT, by which scripts know that an agent runs them; CLAUDE_EFFORT
 * and TENAX_EFFORT where an effort is set; CLAUDE_ENV_FILE and TENAX_ENV_FILE, where what it writes
 * counts. ${CLAUDE_PROJECT_DIR} is replaced in `command` and
 * `args`; in a text for a shell only by a name that means the same with and without quotes, and
 * else left to the shell, which finds the variable.
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

#define PROGRAM_LINGER_MS 200 /* for processes it leaves */

/* What all of a session's have in common. */
struct program_place {
    struct workspace *workspace;
    const struct conf *conf;
    const char *session;         /* its id; NULL: none. Lent */
    const char *entrypoint;      /* what it is used by: "sdk-cli"; NULL: "cli" */
    const struct strv *more_env; /* "NAME=value" over all else; NULL: none. Lent */
};
void program_place_init(struct program_place *p, struct workspace *w, const struct conf *conf);
void program_place_release(struct program_place *p);

/* What one run is given. */
struct program_input {
    struct str text;      /* on its standard input */
    struct str effort;    /* "high"; empty: what the settings say */
    const char *env_file; /* NULL: none */
};

/* Its mail goes to `to`, also when the program cannot be run (PROC_NOT_STARTED). Fails as
 * proc_start() does at_once. */
struct proc *program_start(const struct program_place *p, const struct hook_handler *h,
                           int64_t timeout_ms, const struct program_input *in, struct mailbox *to,
                           struct err *err);
