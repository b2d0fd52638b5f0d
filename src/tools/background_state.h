/*
 * Commands in the background from the inside; for background*.c only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "proc/proc.h"
#include "sync/thread.h"
#include "tools/background.h"
#include "tools/line_events.h"
#include "tools/spool.h"

struct cancel;
struct sandbox_job;

#define BACKGROUND_MAX_SUMMARY ((size_t)1000)
#define BACKGROUND_MAX_BLOCKED ((size_t)64 << 10)

struct job {
    struct background *list;
    char id[BACKGROUND_ID];
    char *command;
    char *what;
    char *tool_use_id;
    struct mailbox *mail;
    struct proc *proc;
    struct thread *thread;
    struct spool spool;         /* the thread's, except its path */
    struct sandbox_job *inside; /* the thread's; NULL: nothing confines it, or it is over */
    char *dir;                  /* where it began */
    enum task_kind kind;        /* TASK_SHELL or TASK_MONITOR */
    int64_t timeout_ms;         /* 0 = none */
    struct line_events events;  /* the thread's: of a monitor */

    /* Under the list's lock. */
    bool is_over;
    int64_t began_ms;
    int64_t heard_ms; /* of its last output, or its start */
    bool is_killed;   /* by background_kill() */
    bool has_flooded; /* a monitor that reported too many events, and is being ended */
    enum proc_how how;
    int code;
    size_t written;     /* bytes of the file */
    size_t seen;        /* of these */
    struct buf line;    /* that has begun; it is in no file yet */
    uint64_t line_seen; /* str_hash() of it as it was last shown */
    size_t lost;
    struct buf blocked; /* by the sandbox, once it is over */
    bool has_shown_blocked;
};

/* A command of the foreground. */
struct stander {
    struct str tool_use_id; /* lent */
    struct mailbox *mail;   /* lent, and its address is who it is */
};

struct background {
    struct workspace *workspace;
    struct cancel *stop;
    struct lock lock;
    VEC(struct job *) jobs;
    VEC(struct stander) foreground;
};

struct background *background_of(struct workspace *w);

/* Lock held, as for the others. */
enum task_state job_status(const struct job *j);
void job_summarise(const struct job *j, struct buf *ret);
/* NULL, with an error that names those there are. */
struct job *background_find(struct background *list, struct str id, struct err *err);
