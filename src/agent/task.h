/*
 * Tasks: work that continues in the background of a turn. Agents, shell commands, monitors,
 * workflows and teammates are kinds of task, with a common life cycle, output file and
 * notification.
 *
 * A session has one table. A worker begins a row, reports progress and ends it. The table reports
 * this to the session's observers (EVENT_TASK_*), and when a background task ends, notifies the
 * agent that started it. The row stays, so that the outcome can be read. The functions that stop a
 * task and read its output (struct task_ops) belong to its worker, which must call task_withdraw()
 * before it goes away. Any thread; no lock is held while ops or the listener run.
 *
 * Tools reach the table and their agent through the agent's workspace.
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

#define TASK_ID_MAX 17  /* agents: "a" and 16 hexadecimal digits; others: a letter and 8 digits */
#define TASK_RUN_MAX 31 /* time in base 36, "-", 8 hexadecimal digits */
#define TASK_MAX_RESULT ((size_t)16 << 10) /* in a notification; the rest is in the file */
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
    TASK_PENDING, /* waiting for a free slot */
    TASK_RUNNING,
    TASK_WAITING, /* its turn has ended, but its own background agents still run */
    TASK_COMPLETED,
    TASK_FAILED,
    TASK_KILLED,
    TASK_STOPPED, /* it was running when a previous process died */
};
const char *task_state_name(enum task_state s); /* "running" */
bool task_is_over(enum task_state s);

void task_make_id(struct task_table *t, enum task_kind kind, char ret[static TASK_ID_MAX + 1]);
void task_make_run(char ret[static TASK_RUN_MAX + 1]);

struct task_usage {
    int64_t tokens, tool_uses, duration_ms;
};

/* The state of a task. Lent for the call, or allocated in the arena of task_look(). */
struct task_view {
    const char *id;
    const char *run;
    enum task_kind kind;
    enum task_state state;
    const char *owner; /* the agent that started it: "main", or its id */
    const char *type;  /* an agent's type: "Explore"; or NULL */
    const char *name;  /* the name that SendMessage uses; or NULL */
    int depth;         /* of an agent: 1 if main started it, …; else 0 */
    bool is_background;
    bool is_known;              /* the owner knows that it ends: no notification */
    int64_t began_ms, ended_ms; /* clock_mono_ms(); 0: not yet */
    struct str description, command, prompt, tool_use_id, output_file;
    struct str activity, tool; /* current activity, and the tool in use */
    struct task_usage usage;
    /* Set at the end. */
    struct str
        summary; /* "failed with exit code 1"; for an agent the reason of a failure, or empty */
    struct str note;
    struct str result; /* an agent's report */
    struct str worktree, branch;
    bool has_code;
    int code;
};

struct task_ops {
    /* Requests the stop and returns at once; the worker reports the end later. by: the requesting
     * agent; NULL = the user. */
    int (*stop)(void *arg, const char *id, const char *by, struct err *err);
    /* Appends new output. NULL = the task's result, if any. */
    int (*output)(void *arg, const char *id, struct buf *ret, struct err *err);
};

/* Valid during the call, except ops and arg. */
struct task_spec {
    const char *id;  /* task_make_id() */
    const char *run; /* NULL = make a new one */
    enum task_kind kind;
    bool is_pending;
    bool is_background;
    int depth;
    const char *type, *name; /* or NULL */
    struct str description, command, prompt, tool_use_id, output_file;
    const struct task_ops *ops; /* NULL = can be neither stopped nor read */
    void *arg;
};

struct task_end {
    enum task_state state;
    struct str summary, note, result, worktree, branch;
    bool has_code;
    int code;
    bool is_known;
    const struct task_usage *usage; /* NULL = unknown */
};

/* Observer of tasks. emit() takes ownership of the event. notify() gets the notification text for
 * an agent ("main" or its id) and wakes the agent unless is_quiet. */
struct task_listener {
    void (*emit)(void *arg, struct event *e);
    void (*notify)(void *arg, const char *owner, const struct task_view *v, struct str text,
                   bool is_quiet);
    void *arg;
};

struct task_table *task_table_new(void);
struct task_table *task_table_ref(struct task_table *t);
void task_table_unref(struct task_table *t); /* NULL is fine */
/* l may be NULL. After the return the previous listener will not be called again. */
void task_table_listen(struct task_table *t, const struct task_listener *l);

/* Makes the workspace's agent use this table. A workspace that was never given one creates its own,
 * for "main". */
void task_table_join(struct workspace *w, struct task_table *t, const char *agent);
struct task_table *task_table_of(struct workspace *w); /* valid as long as the workspace */
/* Work whose lifetime is tied to the workspace calls this before it attaches itself, so that the
 * table is freed after it. */
void task_table_open(struct workspace *w);

/* ERR_TOO_BIG: the table is full. A finished row with the same id is reused. */
int task_begin(struct workspace *w, const struct task_spec *spec, struct err *err);
/* The same for an agent given by its id. */
int task_begin_as(struct task_table *t, const char *owner, const struct task_spec *spec,
                  struct err *err);
/* Adds a finished row of an earlier process, without a notification. */
void task_restore(struct task_table *t, const char *owner, const struct task_spec *spec,
                  enum task_state state);
/* PENDING, RUNNING, WAITING. */
void task_set_state(struct task_table *t, const char *id, enum task_state state);
void task_set_background(struct task_table *t, const char *id);
void task_set_known(struct task_table *t, const char *id);
void task_progress(struct task_table *t, const char *id, struct str activity, struct str tool,
                   const struct task_usage *usage);
void task_end(struct task_table *t, const char *id, const struct task_end *end);
/* Sends a message from one agent (id) to another ("main", or an id) as a notification. */
void task_say(struct task_table *t, const char *id, const char *to, struct str text);
/* Removes arg from all rows; waits until no call uses it. */
void task_withdraw(struct task_table *t, const void *arg);

/* ---- Reading ---- */

/* Finds a row by id, or the newest row with this name. False if there is none. */
bool task_look(struct task_table *t, struct str id, struct arena *arena, struct task_view *ret);
/* Calls fn for all rows, oldest first, until it returns false. Rows that begin during the call may
 * be left out. */
void task_each(struct task_table *t, bool (*fn)(void *arg, const struct task_view *v), void *arg);
/* Whether `by` ("main", or an agent's id) may read and stop the task: main may for all, others for
 * tasks that they or their descendants started. */
bool task_is_below(struct task_table *t, const char *by, const char *id);
/* Counts unfinished tasks of these kinds (bits), started by this agent (NULL = any); `background`:
 * only background tasks. */
#define TASK_BIT(kind) (1u << (kind))
size_t task_running(struct task_table *t, unsigned kinds, const char *owner, bool background);
/* by: the requesting agent; NULL = the user, who may stop and read all tasks. ERR_NOT_FOUND lists
 * the existing tasks. ERR_UNSUPPORTED: it cannot be stopped. Stopping a finished task is an error
 * that says how it ended. An agent gets no notification about a task that it killed, but it gets
 * one if the task ended by itself first. */
int task_stop(struct task_table *t, const char *by, struct str id, struct err *err);
int task_output(struct task_table *t, const char *by, struct str id, struct buf *ret,
                struct err *err);
/* 1: the task has ended; 0: timeout; -1: cancelled. */
int task_wait(struct task_table *t, const char *id, int64_t timeout_ms, struct cancel *cancel,
              struct err *err);

/* ---- Output formats ---- */

/* The agent's running background tasks for hook inputs: an array of {"id","type","status",
 * "description","command"}. */
void task_write_running(struct workspace *w, struct jw *out);
/* <task-notification>…</task-notification> */
void task_write_notification(const struct task_view *v, struct buf *ret);
/* The same for something that a running monitor reports. */
void task_write_event(const struct task_view *v, struct str event, struct buf *ret);
/* Escapes the text so that it cannot open or close an element of a notification. */
void task_add_escaped(struct buf *ret, struct str text);
/* Writes one sentence: Agent "D" finished. */
void task_write_summary(const struct task_view *v, struct buf *ret);
