/*
 * Tasks: work that goes on beside a turn. Agents, shell commands, monitors, workflows and teammates
 * are kinds of one task with one life, one output file and one notification.
 *
 * A session has one table. The worker begins a row, reports progress and ends it; the table
 * notifies the session's observers (EVENT_TASK_*), and when a task in the background ends, the
 * agent that started it gets the notification. A row stays after the end, so that its outcome can
 * be read; what stops it and what reads its output (struct task_ops) goes with its maker, who calls
 * tasks_withdraw() before it goes. Any thread; no lock is held while ops or the listener run.
 *
 * The workspace of an agent names the table and the agent: tools reach both through it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct arena;
struct buf;
struct cancel;
struct err;
struct event;
struct jw;
struct task_table;
struct workspace;

#define TASK_ID_MAX 17  /* "a" and 16 hexadecimal digits; of the others one letter and 8 */
#define TASK_RUN_MAX 31 /* time in base 36, "-", 8 hexadecimal digits */
#define TASK_MAX_RESULT ((size_t)16 << 10) /* of a notification; the rest is in the file */
#define TASK_MAX_SUMMARY ((size_t)4 << 10)
#define TASK_MAX_ROWS 20000

enum task_kind {
    TASK_AGENT,
    TASK_SHELL,
    TASK_MONITOR,
    TASK_WORKFLOW,
    TASK_REMOTE,
    TASK_TEAMMATE,
};
const char *task_kind_type(enum task_kind k); /* "local_agent": task_type of SDKs */
const char *task_kind_hook(enum task_kind k); /* "subagent": type in hooks' input */

enum task_state {
    TASK_PENDING, /* no slot is free yet */
    TASK_RUNNING,
    TASK_WAITING, /* its turn is over, and its own background agents run */
    TASK_COMPLETED,
    TASK_FAILED,
    TASK_KILLED,
    TASK_STOPPED, /* it ran when the process before this one died */
};
const char *task_state_name(enum task_state s); /* "running" */
bool task_is_over(enum task_state s);

void task_make_id(struct task_table *t, enum task_kind kind, char ret[static TASK_ID_MAX + 1]);
void task_make_run(char ret[static TASK_RUN_MAX + 1]);

struct task_usage {
    int64_t tokens, tool_uses, duration_ms;
};

/* How a task stands. Everything is lent for the call, or lives in the arena of task_look(). */
struct task_view {
    const char *id;
    const char *run;
    enum task_kind kind;
    enum task_state state;
    const char *owner; /* the agent that started it: "main", or its id */
    const char *type;  /* of an agent: "Explore"; or NULL */
    const char *name;  /* as SendMessage has it; or NULL */
    int depth;         /* of an agent: 1 when main has started it; else 0 */
    bool is_background;
    bool is_known;              /* its end is no news to its owner: no notification */
    int64_t began_ms, ended_ms; /* clock_mono_ms(); 0: not yet */
    struct str description, command, prompt, tool_use_id, output_file;
    struct str activity, tool; /* what it does, and the tool it does it with */
    struct task_usage usage;
    /* Of the end. */
    struct str summary; /* "failed with exit code 1"; of an agent why it failed, or empty */
    struct str note;
    struct str result; /* an agent's report */
    struct str worktree, branch;
    bool has_code;
    int code;
};

struct task_ops {
    /* Returns at once; the end is reported when it has ended. by: the agent that requests it; NULL:
     * the user. */
    int (*stop)(void *arg, const char *id, const char *by, struct err *err);
    /* Appends what there is new to see. NULL: the result, or nothing. */
    int (*output)(void *arg, const char *id, struct buf *ret, struct err *err);
};

/* Lent for the call, except ops and arg. */
struct task_spec {
    const char *id;  /* task_make_id() */
    const char *run; /* NULL: a new one */
    enum task_kind kind;
    bool is_pending;
    bool is_background;
    int depth;
    const char *type, *name; /* or NULL */
    struct str description, command, prompt, tool_use_id, output_file;
    const struct task_ops *ops; /* NULL: it can neither be stopped nor read */
    void *arg;
};

struct task_end {
    enum task_state state;
    struct str summary, note, result, worktree, branch;
    bool has_code;
    int code;
    bool is_known;
    const struct task_usage *usage; /* NULL: none is known */
};

/* Observer of tasks. emit() takes the event; notify() gets the text of a notification for an agent
 * ("main" or its id), and wakes the agent unless is_quiet. */
struct task_listener {
    void (*emit)(void *arg, struct event *e);
    void (*notify)(void *arg, const char *owner, const struct task_view *v, struct str text,
                   bool is_quiet);
    void *arg;
};

struct task_table *task_table_new(void);
struct task_table *task_table_ref(struct task_table *t);
void task_table_unref(struct task_table *t); /* NULL is fine */
/* NULL: no listener; the previous one is not called any more when it returns. */
void task_table_listen(struct task_table *t, const struct task_listener *l);

/* The agent of this workspace starts its tasks in the table. One that was never given a table makes
 * its own, for "main". */
void task_table_join(struct workspace *w, struct task_table *t, const char *agent);
struct task_table *task_table_of(struct workspace *w); /* lent as long as the workspace */
/* Work that ends with the workspace (one of its things) calls this before it makes itself one. */
void task_table_open(struct workspace *w);

/* ERR_TOO_BIG: the table is full. A row with the same id that is over begins again. */
int task_begin(struct workspace *w, const struct task_spec *spec, struct err *err);
/* The same for an agent that is known by its id. */
int task_begin_as(struct task_table *t, const char *owner, const struct task_spec *spec,
                  struct err *err);
/* A finished row of an earlier process; no notification. */
void task_restore(struct task_table *t, const char *owner, const struct task_spec *spec,
                  enum task_state state);
/* PENDING, RUNNING, WAITING. */
void task_set_state(struct task_table *t, const char *id, enum task_state state);
void task_set_background(struct task_table *t, const char *id);
void task_set_known(struct task_table *t, const char *id);
void task_progress(struct task_table *t, const char *id, struct str activity, struct str tool,
                   const struct task_usage *usage);
void task_end(struct task_table *t, const char *id, const struct task_end *end);
/* What an agent (by its id) writes to another one ("main", or an id), as a notification. */
void task_say(struct task_table *t, const char *id, const char *to, struct str text);
/* No row uses arg any more when it returns: it waits for current users. */
void task_withdraw(struct task_table *t, const void *arg);

/* ---- Reading ---- */

/* By id, or by a name: the newest that has it. False: there is none. */
bool task_look(struct task_table *t, struct str id, struct arena *arena, struct task_view *ret);
/* All rows in the order they began; fn returns false to stop. Rows that begin during the call may
 * be left out. */
void task_each(struct task_table *t, bool (*fn)(void *arg, const struct task_view *v), void *arg);
/* Whether `by` ("main", or an agent's id) may read and stop it: main all, others what they have
 * started and what that has started. */
bool task_is_below(struct task_table *t, const char *by, const char *id);
/* How many are not over: of these kinds (bits), started by this agent (NULL: by any), in the
 * background alone. */
#define TASK_BIT(kind) (1u << (kind))
size_t task_running(struct task_table *t, unsigned kinds, const char *owner, bool background);
/* by NULL: the user, who may stop and read all. ERR_NOT_FOUND: names those there are.
 * ERR_UNSUPPORTED: it cannot be stopped. Stopping one that is over is an error that says how it
 * ended. An agent that stops a task gets no notification that it was killed; a task that had ended
 * by itself before it was reached is notified as any. */
int task_stop(struct task_table *t, const char *by, struct str id, struct err *err);
int task_output(struct task_table *t, const char *by, struct str id, struct buf *ret,
                struct err *err);
/* 1: it is over; 0: not within the time; -1: cancelled. */
int task_wait(struct task_table *t, const char *id, int64_t timeout_ms, struct cancel *cancel,
              struct err *err);

/* ---- As others read it ---- */

/* What runs in the background of this agent, as hooks have it: an array of {"id","type","status",
 * "description","command"}. */
void task_write_running(struct workspace *w, struct jw *out);
/* <task-notification>…</task-notification> */
void task_write_notification(const struct task_view *v, struct buf *ret);
/* So that nothing in the text opens or closes an element of a notification. */
void task_add_escaped(struct buf *ret, struct str text);
/* One sentence: Agent "D" finished. */
void task_write_summary(const struct task_view *v, struct buf *ret);
