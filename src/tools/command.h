/*
 * How a command of the model is run: its shell, its environment, and its end.
 *
 * The shell is the setting defaultShell, else bash; if that is missing, /bin/sh with a note.
 * Commands get the workspace's environment with variables that make programs behave without a
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
    int64_t timeout_ms;      /* 0 = none */
    int64_t linger_ms;
    struct sandbox_job *job; /* confines it; NULL: nothing does. Only lent to command_start() */
    bool by_user;            /* not the agent's doing */
    bool keeps_stderr_apart; /* PROC_OUTPUT says which of the two it is */
    bool tell_dir;           /* PROC_EXIT says where it ended, unless it cannot have moved */
};

/* *ret_moves: the command may change the directory, and PROC_EXIT will have it. Notes for the model
 * are appended, one per line. */
struct proc *command_start(struct workspace *w, const struct command_spec *c, struct mailbox *to,
                           bool *ret_moves, struct buf *notes, struct err *err);

/* Appends the name of a signal: "SIGKILL". */
void command_add_signal(struct buf *to, int signo);
