/*
 * Commands in the background: they run beside the session and decide nothing, but their text for
 * the model and the user is delivered with the next prompt; and an objection of one that asks for
 * it (asyncRewake) at once.
 *
 * They are so from the start ("async" in the settings), or because the first thing they say is
 * {"async": true}. At most STRAYS_MAX run at once. They end with the session. Any thread.
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
struct strays;

#define STRAYS_MAX 32

struct stray {
    struct hook_handler *handler;
    enum hook_event event;
    struct hook_sight sight;
    struct proc *proc;
    struct buf out, err;
    int64_t deadline_ms; /* clock_mono_ms(); -1: the time it was started with is enough */
};
typedef VEC(struct stray) stray_vec;

struct strays_spec {
    struct workspace *workspace;              /* lent */
    void (*wake)(void *arg, struct str text); /* tells the model, and starts a turn if none runs */
    void *wake_arg;
    struct hook_watch *watch; /* receives the progress of watched runs; NULL: none */
};

/* Both are called by any thread. */
struct strays *strays_new(const struct strays_spec *spec);
/* Neither is called any more, or still running, when this returns. */
void strays_mute(struct strays *s);
void strays_free(struct strays *s); /* ends what still runs; NULL is fine */

/* Takes the sight; on failure it is as it was. */
int strays_start(struct strays *s, const struct program_place *place, struct hook_handler *h,
                 struct hook_sight *sight, enum hook_event event, int64_t timeout_ms,
                 const struct program_input *in, struct err *err);
/* From here on the strays' watch receives what the run's did. */
void strays_watch(struct strays *s, struct stray *one, struct hook_sight *sight);
/* Takes over running commands, in the mailbox that gets their mail. Takes the list and keeps the
 * mailbox; on failure neither. */
int strays_adopt(struct strays *s, struct mailbox *mail, stray_vec *list, struct err *err);
/* One of them has ended; end: enum output_end. The stray stays the caller's. */
void strays_hear(struct strays *s, struct stray *one, int end, int code);
void stray_release(struct stray *one);

/* Whether one of them has text to deliver, and delivering it. */
bool strays_have_news(struct strays *s);
void strays_tell(struct strays *s, struct hook_outcome *io);
