/*
 * Background hook commands ("async"): they cannot block anything, but their text for the model and
 * the user is delivered with the next prompt, or at once if asyncRewake is set and they object.
 *
 * They are so from the start ("async" in the settings), or because the first thing they say is
 * {"async": true}. At most ASYNC_HOOKS_MAX run at once. They end with the session. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/hook.h"
#include "agent/hook_sight.h"
#include "base/buf.h"
#include "base/vec.h"

struct err;
struct hook_handler;
struct mailbox;
struct proc;
struct program_input;
struct program_place;
struct async_hooks;

#define ASYNC_HOOKS_MAX 32

struct async_hook {
    struct hook_handler *handler;
    enum hook_event event;
    struct hook_sight sight;
    struct proc *proc;
    struct buf out, err;
    int64_t deadline_ms; /* clock_mono_ms(); -1 = the timeout that it was started with */
};
typedef VEC(struct async_hook) async_hook_vec;

struct async_hooks_spec {
    struct workspace *workspace;              /* lent */
    void (*wake)(void *arg, struct str text); /* tells the model, and starts a turn if none runs */
    void *wake_arg;
    struct hook_watch *watch; /* receives the progress of watched runs; or NULL */
};

/* Both are called by any thread. */
struct async_hooks *async_hooks_new(const struct async_hooks_spec *spec);
/* Neither is called any more, or still running, when this returns. */
void async_hooks_mute(struct async_hooks *s);
void async_hooks_free(struct async_hooks *s); /* ends what still runs; NULL is fine */

/* Takes the sight; on failure it is as it was. */
int async_hooks_start(struct async_hooks *s, const struct program_place *place,
                      struct hook_handler *h, struct hook_sight *sight, enum hook_event event,
                      int64_t timeout_ms, const struct program_input *in, struct err *err);
/* From here on the watch of async hooks receives what the run's did. */
void async_hooks_watch(struct async_hooks *s, struct async_hook *one, struct hook_sight *sight);
/* Takes over running commands, in the mailbox that gets their mail. Takes the list and keeps the
 * mailbox; on failure neither. */
int async_hooks_adopt(struct async_hooks *s, struct mailbox *mail, async_hook_vec *list,
                      struct err *err);
/* One of them has ended; end: enum output_end. It stays the caller's. */
void async_hooks_hear(struct async_hooks *s, struct async_hook *one, int end, int code);
void async_hook_release(struct async_hook *one);

/* Whether one of them has text to deliver, and delivering it. */
bool async_hooks_have_news(struct async_hooks *s);
void async_hooks_tell(struct async_hooks *s, struct hook_outcome *io);
