/*
 * Runs the handlers of one event: starts them together, waits for them in one mailbox, and merges
 * their outputs in the order of the list. For src/hooks only. A list belongs to the thread that
 * runs the event.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/hook.h"
#include "agent/hook_sight.h"
#include "base/buf.h"
#include "base/vec.h"
#include "hooks/output.h"
#include "hooks/post.h"
#include "hooks/program.h"
#include "hooks/question.h"

struct crew;
struct handler_call;
struct hook_handler;
struct mailbox;
struct proc;
struct async_hooks;
struct workspace;

#define WORK_MAX_INPUT ((size_t)16 << 20) /* proc's limit */

/* Common to all handlers of a session. */
struct work_place {
    struct workspace *workspace;
    struct program_place programs;
    struct question_place questions;
    struct post_place posts;
    struct crew *crew;
    struct async_hooks *async_hooks;
};

enum work_state {
    WORK_RUNS,
    WORK_ENDED,
    WORK_LEFT, /* a handler call that did not end when cancelled: its result is not ours */
};

/* One running handler. */
struct work {
    struct hook_handler *handler;
    enum work_state state;
    struct hook_sight sight;

    struct proc *proc; /* a command */
    struct buf out, err;
    enum output_end end;
    int code;
    bool is_stray;         /* it asked to run in the background */
    int64_t async_hook_ms; /* for how long; 0: as long as any other */
    struct buf shell_path; /* its CLAUDE_ENV_FILE; empty: none */

    struct handler_call *call; /* anything else */
    int64_t timeout_ms, deadline_ms;
    bool is_late;
};
typedef VEC(struct work) works;

/* Adds a handler, which is shared, with its timeout. */
void works_add(works *list, struct hook_handler *h, int64_t timeout_ms);
/* Starts all of them and reports each. If one cannot be started, its result is the error. */
void works_start(works *list, struct work_place *place, const struct hook_input *in,
                 struct cancel *cancel, struct mailbox *to);
/* Waits until each has ended, timed out, or moved to the background; reports each end.
 * ERR_CANCELLED. */
int works_await(works *list, const struct hook_input *in, struct mailbox *mail,
                struct cancel *cancel, struct err *err);
/* Merges their outputs into the outcome (work_merge.c). -1 if handlers have failed; the error names
 * the first and counts the others. */
int works_merge(const works *list, const struct hook_input *in, struct hook_outcome *io,
                struct err *err);
/* Reports the end of one handler, once (work_merge.c), without waiting for the others. */
void work_tell_end(struct work *w, const struct hook_input *in);
/* Passes on those that run in the background; true if the mailbox was passed on, too. */
bool works_leave(works *list, struct work_place *place, enum hook_event event,
                 struct mailbox *mail);
void works_release(works *list); /* running ones are ended in the background */
