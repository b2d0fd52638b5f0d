/*
 * Agents from the inside; for agents*.c only.
 */
#pragma once

#include "agent/identity.h"
#include "agent/spawn.h"
#include "base/arena.h"
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
    RUN_ENDING, /* it rests, and its end is being made */
    RUN_OVER,
};

/* One agent, from its start to its end. */
struct run {
    struct agents *agents;
    struct arena arena; /* of all that is text; written before it is shared */
    char id[TASK_ID_MAX + 1];
    struct identity by; /* who started it */
    struct definitions *types;
    const struct definition *type; /* NULL: of a fork */
    struct str description, prompt, tool_use_id, model, name, mode;
    enum effort effort;
    enum agents_road road;
    struct pool pool;
    int depth;
    bool resumes;
    struct worktree tree;    /* its own; path NULL: none */
    const char *output_file; /* "" where nothing is kept */

    /* Under the gate of agents. */
    int refs;
    enum run_state state;
    bool is_away; /* in the background */
    bool is_settling, settles_again;
    bool is_waiting; /* for its own background agents */
    bool is_stopped;
    bool is_judged;           /* how it ended is decided: a stop comes too late */
    bool is_writing;          /* its meta file */
    bool has_meta, meta_away; /* what stands in it */
    enum task_state meta_state;
    int held;        /* notifications on their way to it: it does not end before they are there */
    struct buf late; /* messages to it while it waited for a slot */
    const char *stopped_by; /* "user", "parent" */
    const char *broken;     /* why it could not begin; or NULL */
    int calls;              /* of Agent that it waits in: it holds no slot then */
    bool holds_slot;
    struct buf model_name; /* that answered last */
    struct llm_usage last;
    int64_t tool_uses;
    int64_t began_ms;
    struct agents_outcome outcome; /* once it is over */
};

struct agents {
    struct agents_spec spec;
    struct gate gate;        /* of what follows */
    VEC(struct run *) runs;  /* not over */
    VEC(struct run *) queue; /* pending, in order */
    size_t slots;            /* in use */
    int64_t max_running, max_session, max_depth;
    int64_t started;
    int jobs; /* on threads of the crew */
    bool is_closed;
    struct definitions *types;
    struct buf brought; /* JSON of an SDK */
    struct strv told;   /* lines of the types that the model knows of */
};

/* agents.c */
void agents_poke(void *arg); /* those who wait look again */

/* run.c */
struct run *run_find(struct agents *a, const char *id); /* the gate is taken; or NULL */
void run_unref(struct run *r);                          /* the gate is not taken */
/* It has a slot: its child is made, and begins. -1: it is over, with the reason. */
int run_launch(struct run *r, struct err *err);
void run_on_rest(void *arg, const char *id);
void run_hear(void *arg, const char *id, const struct event *e);
/* Ends it, as by the user or by an agent (by). False: it has ended already. */
bool run_stop(struct run *r, const char *by);
/* The next ones that wait for a slot begin. */
void runs_next(struct agents *a);
extern const struct task_ops run_ops;
/* No effect once it has ended, except for the end. */
void meta_write(struct run *r, enum task_state state);
/* A definition may narrow its parent's mode, and one that the user has written may accept edits. */
struct str mode_choose(struct permit *parent, const struct definition *type);
/* Into the list, with a slot or in the queue for one; the gate is taken. */
void run_list(struct run *r);
/* The same once its row is in the table: it may be given a slot. */
void run_queue(struct run *r);
void run_unlist(struct run *r);    /* the gate is taken */
void run_give_slot(struct run *r); /* the same */
