/*
 * Starts a command handler: in its own session, in the agent's working directory (if it exists),
 * with the event on standard input.
 *
 * Its environment is ours without OTEL_*, plus CLAUDE_PROJECT_DIR and TENAX_PROJECT_DIR, the folder
 * in which the session began; CLAUDE_CODE_SESSION_ID and TENAX_SESSION_ID; CLAUDECODE,
 * CLAUDE_CODE_ENTRYPOINT and AI_AGENT, by which scripts detect an agent; CLAUDE_EFFORT and
 * TENAX_EFFORT if an effort is set; CLAUDE_ENV_FILE and TENAX_ENV_FILE for events where that file
 * is used. ${CLAUDE_PROJECT_DIR} is replaced in `command` and `args`; in a shell command only if
 * the folder's name is safe with and without quotes, otherwise the shell expands the variable.
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

#define PROGRAM_LINGER_MS 200 /* for processes that it leaves behind */

/* Common to all handlers of a session. */
struct program_place {
    struct workspace *workspace;
    const struct conf *conf;
    const char *session;         /* session id; or NULL. Lent */
    const char *entrypoint;      /* the program that uses the session: "sdk-cli"; NULL = "cli" */
    const struct strv *more_env; /* "NAME=value", overrides all others; may be NULL. Lent */
};
void program_place_init(struct program_place *p, struct workspace *w, const struct conf *conf);
void program_place_release(struct program_place *p);

/* Input of one run. */
struct program_input {
    struct str text;      /* on its standard input */
    struct str effort;    /* "high"; empty = as in the settings */
    const char *env_file; /* NULL: none */
};

/* Its mail goes to `to`, also if the program cannot be run (PROC_NOT_STARTED). Fails like
 * proc_start() if it cannot even be tried. */
struct proc *program_start(const struct program_place *p, const struct hook_handler *h,
                           int64_t timeout_ms, const struct program_input *in, struct mailbox *to,
                           struct err *err);
