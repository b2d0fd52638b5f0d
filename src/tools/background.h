/*
 * Commands that run in the background of a workspace, and what they say.
 *
 * Each has an id (bash_1, …) and a file that gets all of its output. The agent is notified of their
 * start and end (agent/task.h). They end with the workspace. At most 32 run at once. Any thread.
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
    char *path; /* of the output; yours to free */
};

struct background_spec {
    const struct command_spec *command; /* its job becomes the background command's, or is freed */
    struct str what;                    /* for people; empty = the command itself */
    struct str tool_use_id;
    bool is_monitor; /* each line of its standard output is an event for the agent */
};
int background_start(struct workspace *w, const struct background_spec *spec,
                     struct background_started *ret, struct buf *notes, struct err *err);

/* A running command in the foreground may be sent here. It announces its mailbox; the mailbox gets
 * a request, and the command hands over its state, if it still can. */
extern const struct mail_kind background_mail_kind;
void background_stand_by(struct workspace *w, struct str tool_use_id, struct mailbox *mail);
void background_stand_down(struct workspace *w, struct mailbox *mail);
/* The command of one call, or all there are when the id is empty: returns how many were
 * notified. */
size_t background_send(struct workspace *w, struct str tool_use_id);

/* The state handed over, all of it taken when this succeeds; -1: it stays where it is. */
struct background_handover {
    struct proc *proc;
    struct mailbox *mail;
    struct spool *spool;
    struct sandbox_job *job; /* NULL: nothing confines it */
    const char *dir;         /* where it began; lent, as the rest */
    struct str command, what, tool_use_id;
};
int background_adopt(struct workspace *w, const struct background_handover *from,
                     struct background_started *ret, struct err *err);

struct background_view {
    enum task_state status;
    char *command;      /* yours to free */
    bool has_code;      /* false: it runs, or was killed */
    int code;           /* the exit code, or 128 + signal */
    struct buf text;    /* new output, with its middle left out when it is long */
    struct buf summary; /* "running", "completed", "failed with exit code 1", "killed" */
};
void background_view_release(struct background_view *v);

/* Output since the last look; with a pattern only the lines that match, the others are skipped for
 * good. ERR_NOT_FOUND lists the ids there are, ERR_BAD_INPUT explains the problem with the
 * pattern. */
int background_look(struct workspace *w, struct str id, struct str pattern,
                    struct background_view *ret, struct err *err);

/* The last max_bytes of all its output, without moving the position up to which BashOutput has
 * read. */
int background_tail(struct workspace *w, struct str id, size_t max_bytes, struct buf *ret,
                    size_t *ret_total, struct err *err);

/* How many run, their descriptions for the user (names may be NULL), and when the newest of them
 * began (clock_mono_ms()). */
size_t background_running(struct workspace *w, struct buf *names, int64_t *ret_began_ms);

/* All there are, in the order they began, also those that are over: how many. Everything is lent
 * for the call. */
struct background_row {
    const char *id;
    struct str command;
    enum task_state status;
    struct str summary;
    const char *path; /* of the output */
};
size_t background_each(struct workspace *w, void (*fn)(void *arg, const struct background_row *row),
                       void *arg);

/* Returns at once; it gets SIGTERM, then SIGKILL. Appends the summary when it was over already. */
int background_kill(struct workspace *w, struct str id, struct buf *ret_was_over, struct err *err);
/* All of them get SIGKILL at once: they cannot do anything more. */
void background_kill_all(struct workspace *w);
