/*
 * Internals of the task table; for task*.c only. Functions with a row argument need the gate held.
 */
#pragma once

#include <stdatomic.h>

#include "agent/task.h"
#include "base/map.h"
#include "base/vec.h"
#include "sync/thread.h"

#define TASK_KINDS 6

/* The strings belong to the row. */
struct task_row {
    char id[TASK_ID_MAX + 1];
    char run[TASK_RUN_MAX + 1];
    enum task_kind kind;
    enum task_state state;
    char *owner, *type, *name;
    char *description, *command, *tool_use_id, *output_file;
    char *activity, *tool;
    char *summary, *note, *result, *worktree, *branch;
    int depth;
    bool is_background, is_known, has_code;
    bool is_telling;  /* it has ended, and its notification is being delivered */
    bool is_stopping; /* its owner requested the stop and needs no notification of it */
    int code;
    int64_t began_ms, ended_ms, told_ms;
    struct task_usage usage;
    const struct task_ops *ops;
    void *arg;
    int pins;
};

struct task_table {
    atomic_int refs;
    atomic_uint made[TASK_KINDS]; /* numbers of ids when a test makes them predictable */
    struct gate gate;             /* guards the fields below */
    VEC(struct task_row *) rows;
    struct map by_id; /* row index + 1 */
    struct task_listener listener;
    bool has_listener;
    int calls; /* listener calls in progress */
};

/* task.c */
struct task_row *task_row_find(struct task_table *t, struct str id); /* or NULL */
/* By id, or the newest row with this name. */
struct task_row *task_row_named(struct task_table *t, struct str id);
void task_row_view(const struct task_row *r, struct arena *arena, struct task_view *ret);
struct str task_row_str(const char *s);
const char *task_place_agent(struct workspace *w);
