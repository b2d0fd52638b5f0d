/*
 * How a command of the model is run: which shell, which environment, how it is ended.
 *
 * The shell is the setting defaultShell, else bash; where it is missing, /bin/sh, and a note says
 * so. Commands see the workspace's environment with variables that make programs behave without a
 * terminal: no pagers, no editors, no questions. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct buf;
struct conf;
struct err;
struct mailbox;
struct proc;
struct sandbox_job;
struct workspace;

struct command_spec {
    struct str text;
    const char *dir;
    const struct conf *conf; /* NULL: defaults */
    int64_t timeout_ms;      /* 0: none */
    int64_t linger_ms;
    struct sandbox_job *job; /* confines it; NULL: nothing does. Only lent to command_start() */
    bool by_user;            /* not the agent's doing */
    bool keeps_stderr_apart; /* PROC_OUTPUT says which of the two it is */
    bool tell_dir;           /* PROC_EXIT says where it ended, unless it cannot have moved */
};

/* *ret_moves: the command may end elsewhere, and PROC_EXIT will say where. Notes for the model are
 * appended, a line each. */
struct proc *command_start(struct workspace *w, const struct command_spec *c, struct mailbox *to,
                           bool *ret_moves, struct buf *notes, struct err *err);

/* Appends how a signal is called: "SIGKILL". */
void command_add_signal(struct buf *to, int signo);
