/*
 * Internals of agents; for src/tasks only.
 */
#pragma once

#include "agent/spawn.h"
#include "base/arena.h"
#include "base/identity.h"
#include "base/vec.h"
#include "sync/thread.h"
#include "tasks/agents.h"
#include "tasks/definition.h"
#include "tasks/pool.h"
#include "tasks/worktree.h"

enum run_state {
    RUN_PENDING, /* waits for a slot */
    RUN_STARTING,
    RUN_WORKING,
    RUN_ENDING, /* it rests, and its result is being determined */
    RUN_OVER,
};

/* One agent, from its start to its end. */
struct run {
    struct agents *agents;
    struct arena arena; /* owns all strings; written before the run is shared */
    char id[TASK_ID_MAX + 1];
    struct identity by; /* the agent that started it */
    struct definitions *types;
    const struct definition *type; /* NULL for a fork */
    struct str description, prompt, tool_use_id, model, name, mode;
    enum effort effort;
    enum agents_road road;
    struct pool pool;
    int depth;
    bool resumes;
    struct worktree tree;    /* its worktree; path NULL = none */
    const char *output_file; /* "" if nothing is saved */

    /* Guarded by the gate of agents. */
    int refs;
    enum run_state state;
    bool is_away; /* in the background */
    bool is_settling, settles_again;
    bool is_waiting; /* for its own background agents */
    bool is_stopped;
    bool is_judged;           /* the result is decided: a stop comes too late */
    bool is_writing;          /* its meta file is being written */
    bool has_meta, meta_away; /* the meta file exists, and the values in it */
    enum task_state meta_state;
    int held;               /* notifications on the way to it: it must not end before they arrive */
    struct buf late;        /* messages that arrived while it waited for a slot */
    const char *stopped_by; /* "user", "parent" */
    const char *broken;     /* why it could not start; or NULL */
    int calls;              /* Agent calls that it waits in; it holds no slot during them */
    bool holds_slot;
    struct buf model_name; /* the model that answered last */
    struct llm_usage last;
    int64_t tool_uses;
    int64_t began_ms;
    struct agents_outcome outcome; /* valid in RUN_OVER */
};

struct agents {
    struct agents_spec spec;
    struct gate gate;        /* guards the fields below */
    VEC(struct run *) runs;  /* that have not ended */
    VEC(struct run *) queue; /* pending, in order */
    size_t slots;            /* in use */
    int64_t max_running, max_session, max_depth;
    int64_t started;
    int jobs; /* running on crew threads */
    bool is_closed;
    struct definitions *types;
    struct definitions *workers; /* the types in coordinator mode; NULL if it is off */
    struct buf brought;          /* JSON of an SDK's definitions */
    struct strv told;            /* the lines about types that the model was sent */
    VEC(struct hire *) hires;    /* for team members */
};

/* hire.c */
void hires_release(struct agents *a);

/* agents.c */
enum pool_kind run_pool_kind(const struct run *r);
int order_check(const struct agents_order *o, struct err *err);
struct str model_choose(const struct agents *a, const struct agents_order *o,
                        const struct definition *type);
int type_refuse(const struct definitions *l, struct str name, struct err *err);
void agents_poke(void *arg); /* wakes all waiting threads */

/* run.c */
struct run *run_find(struct agents *a, const char *id); /* the gate must be held; may return NULL */
void run_unref(struct run *r);                          /* the gate must not be held */
/* Creates the child and starts it; the run must have a slot. On -1 it has ended with the reason. */
int run_launch(struct run *r, struct err *err);
void run_on_rest(void *arg, const char *id);
void run_hear(void *arg, const char *id, const struct event *e);
/* Stops it on behalf of the user or an agent (by). False if it had already ended. */
bool run_stop(struct run *r, const char *by);
/* Starts the next runs that wait for a slot. */
void runs_next(struct agents *a);
extern const struct task_ops run_ops;
/* After its end only the final state is written. */
void meta_write(struct run *r, enum task_state state);
/* The mode of an agent: its definition may restrict the parent's mode; one written by the user may
 * also allow edits. */
struct str agents_mode_of(struct permit *parent, const struct definition *type);
/* Adds it to the list, with a slot or in the queue for one; the gate must be held. */
void run_list(struct run *r);
/* Lets it get a slot; call it once its row is in the table. */
void run_queue(struct run *r);
void run_unlist(struct run *r);    /* the gate must be held */
void run_give_slot(struct run *r); /* the gate must be held */
