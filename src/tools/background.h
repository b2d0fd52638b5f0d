/*
 * Commands that run in the background of a workspace, and their output.
 *
 * Each has an id (bash_1, …) and a file with all its output. The agent is notified of their start
 * and end (agent/task.h). They end with the workspace. At most 32 run at once. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "agent/task.h"
#include "base/buf.h"
#include "base/str.h"

struct command_spec;
struct err;
struct mail_kind;
struct mailbox;
struct proc;
struct sandbox_job;
struct spool;
struct workspace;

#define BACKGROUND_ID (TASK_ID_MAX + 1)

struct background_started {
    char id[BACKGROUND_ID];
    char *path; /* the output file; the caller frees it */
};

struct background_spec {
    const struct command_spec *command; /* its job becomes the background command's, or is freed */
    struct str what;                    /* for people; empty = the command itself */
    struct str tool_use_id;
    bool is_monitor; /* each line of its standard output is an event for the agent */
};
int background_start(struct workspace *w, const struct background_spec *spec,
                     struct background_started *ret, struct buf *notes, struct err *err);

/* Lets a running foreground command be moved to the background. It announces its mailbox; the
 * mailbox gets a request, and the command hands over its state, if it still can. */
extern const struct mail_kind background_mail_kind;
void background_stand_by(struct workspace *w, struct str tool_use_id, struct mailbox *mail);
void background_stand_down(struct workspace *w, struct mailbox *mail);
/* Requests this for the command of one call, or for all if the id is empty; returns how many got
 * the request. */
size_t background_send(struct workspace *w, struct str tool_use_id);

/* Hands over the state, all of it on success; on -1 the caller keeps it. */
struct background_handover {
    struct proc *proc;
    struct mailbox *mail;
    struct spool *spool;
    struct sandbox_job *job; /* the sandbox; or NULL */
    const char *dir;         /* where it started; lent, like the rest */
    struct str command, what, tool_use_id;
};
int background_adopt(struct workspace *w, const struct background_handover *from,
                     struct background_started *ret, struct err *err);

struct background_view {
    enum task_state status;
    char *command;      /* yours to free */
    bool has_code;      /* false: it is running, or was killed */
    int code;           /* the exit code, or 128 + signal */
    struct buf text;    /* new output, with the middle omitted if it is long */
    struct buf summary; /* "running", "completed", "failed with exit code 1", "killed" */
};
void background_view_release(struct background_view *v);

/* Output since the last call; with a pattern only matching lines, the others are skipped
 * permanently. ERR_NOT_FOUND lists the existing ids, ERR_BAD_INPUT explains the problem with the
 * pattern. */
int background_look(struct workspace *w, struct str id, struct str pattern,
                    struct background_view *ret, struct err *err);

/* The last max_bytes of all output, without changing the position up to which BashOutput has read.
 */
int background_tail(struct workspace *w, struct str id, size_t max_bytes, struct buf *ret,
                    size_t *ret_total, struct err *err);

/* How many are running, their descriptions for the user (names may be NULL), and the start of the
 * newest (clock_mono_ms()). */
size_t background_running(struct workspace *w, struct buf *names, int64_t *ret_began_ms);

/* Ends the commands, except monitors, that have printed nothing for this long, as
 * background_kill() does, and appends their names. *io_look_ms: when the next one may be due, or
 * -1; may be lowered. */
void background_end_silent(struct workspace *w, int64_t silence_ms, struct buf *ret_names,
                           int64_t *io_look_ms);

/* All commands in the order they started, including ended ones; returns how many. Rows are valid
 * during the call. */
struct background_row {
    const char *id;
    struct str command;
    enum task_state status;
    struct str summary;
    const char *path; /* of the output */
};
size_t background_each(struct workspace *w, void (*fn)(void *arg, const struct background_row *row),
                       void *arg);

/* Returns at once; sends SIGTERM, then SIGKILL. Appends the summary if it had already ended. */
int background_kill(struct workspace *w, struct str id, struct buf *ret_was_over, struct err *err);
/* Sends SIGKILL to all of them at once, so that they cannot do anything more. */
void background_kill_all(struct workspace *w);
