/*
 * The handlers of one event at work: started together, waited for in one mailbox, and merged in the
 * order in which they stand in the list.
 *
 * For src/hooks only. A list belongs to the thread that runs the event.
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

#define WORK_MAX_INPUT ((size_t)16 << 20) /* what proc takes */

/* What all handlers of a session are started with. */
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

/* One handler at work. */
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

/* Adds a handler, which is shared; it has so long. */
void works_add(works *list, struct hook_handler *h, int64_t timeout_ms);
/* Starts all of them, and reports each. If one cannot be started, the error is its result. */
void works_start(works *list, struct work_place *place, const struct hook_input *in,
                 struct cancel *cancel, struct mailbox *to);
/* Until all have ended, are late, or continue in the background; reports each end.
 * ERR_CANCELLED. */
int works_await(works *list, const struct hook_input *in, struct mailbox *mail,
                struct cancel *cancel, struct err *err);
/* Merges their outputs into the outcome (work_merge.c). -1: handlers have failed; the first is
 * named, the others counted. */
int works_merge(const works *list, const struct hook_input *in, struct hook_outcome *io,
                struct err *err);
/* Reports the end of one, once (work_merge.c): observers need not wait for the others. */
void work_tell_end(struct work *w, const struct hook_input *in);
/* Those that go on by themselves are given away; true: the mailbox is theirs now. */
bool works_leave(works *list, struct work_place *place, enum hook_event event,
                 struct mailbox *mail);
void works_release(works *list); /* what still runs is ended, by others */
