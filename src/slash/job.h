/*
 * The inside of a session's commands; for slash.c and slash_run.c only.
 *
 * A job is something that was said, on its way to the commands' thread: slash.c puts it there and
 * takes it up, slash_run.c does it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/vec.h"
#include "slash/slash.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

struct cancel;
struct goal_argument;
struct host;
struct own_now;
struct slash_front;

#define SLASH_MAX_ANSWER ((size_t)4 << 20)

struct job;

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
    VEC(struct job *) jobs; /* that have not been dealt with, in order; the mailbox owns them */
    struct slash_end end;
    struct cancel *running; /* of the command at work; NULL: none is */
    bool is_left;           /* for another session: what is said behind that is not for this one */
    slash_input_vec behind; /* it is for that one */
    struct own_now *own;
};

enum job_kind {
    JOB_COMMAND,
    JOB_OWN,   /* "/name": a command of the person's own, or none at all; "/ name": name is empty */
    JOB_INPUT, /* said behind a command */
    JOB_FINISH,
    JOB_STOP,
};

struct job {
    struct mail mail;
    enum job_kind kind;
    bool has_begun, is_withdrawn; /* under the lock */
    int64_t until_ms;             /* when nobody waits for it any more; 0: somebody always does */
    const struct slash_command *command;
    struct agent_input input; /* its message is what was typed; NULL: nothing was */
    struct buf name;          /* of the command */
    struct buf args;
    struct goal_argument *goal; /* NULL: args count */
    slash_answer_fn answer;     /* NULL: host_answer() */
    void (*fn)(void *arg);      /* of JOB_FINISH */
    void *arg;                  /* of both */
};

/* The thread of the commands, but for slash_is_left(): any. */
void slash_run(struct slash *s, struct job *j);
bool slash_is_left(struct slash *s);
