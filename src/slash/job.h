/*
 * The inside of a session's commands; for slash.c and slash_run.c only.
 *
 * A job is an input (agent/input.h) that slash.c has claimed and looked at; slash_run.c does it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "slash/slash.h"
#include "sync/thread.h"

struct cancel;
struct goal_argument;
struct host;
struct own_now;
struct slash_front;

#define SLASH_MAX_ANSWER ((size_t)4 << 20)

struct mailbox;

struct slash {
    struct host *host;
    struct cancel *cancel;
    const struct slash_front *front; /* NULL: none */
    slash_anew_fn anew;              /* NULL: it cannot be */
    void *anew_arg;
    void (*anew_release)(void *arg);
    struct mailbox *mailbox;
    struct lock lock; /* of what follows */
    struct thread *thread;
    struct slash_end end;
    struct cancel *running; /* of the command at work; NULL: none is */
    bool is_left;           /* for another session: unread input is now for that one */
    struct own_now *own;
};

enum job_kind {
    JOB_COMMAND,
    JOB_OWN,    /* "/name": a command of the user's own, or none at all; "/ name": name is empty */
    JOB_INPUT,  /* a prompt */
    JOB_REFUSE, /* a message that could not be read: args is why */
    JOB_FINISH,
};

struct slash_job {
    struct input_order order; /* of a job that was not typed */
    enum job_kind kind;
    int64_t until_ms; /* when no caller waits for it any more; 0: one always does */
    const struct slash_command *command;
    struct agent_input *input; /* claimed in the queue */
    bool is_passed;            /* it is no longer: it waits for its turn, or has failed */
    bool in_order;             /* of a job that was not typed: as agent_input.in_order */
    struct buf name;           /* of the command */
    struct buf args;
    struct goal_argument *goal; /* NULL: args count */
    slash_answer_fn answer;     /* NULL: host_answer() */
    void (*fn)(void *arg);      /* of JOB_FINISH */
    void *arg;                  /* of both */
};

/* -1: the prompt could not be passed on. The reader's thread. */
int slash_run(struct slash *s, struct slash_job *j, struct err *err);
