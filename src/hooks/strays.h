/*
 * Commands that nobody waits for: they run beside the session and have no say, but what they add
 * for the model and for people is heard when the next prompt comes; and one that asks for it
 * (asyncRewake) is heard at once when it objects.
 *
 * They are so from the start ("async" in the settings), or because the first thing they say is
 * {"async": true}. At most STRAYS_MAX run at once. They end with the session. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/hook.h"
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
    struct proc *proc;
    struct buf out, err;
    int64_t deadline_ms; /* clock_mono_ms(); -1: the time it was started with is enough */
};
typedef VEC(struct stray) stray_vec;

/* wake tells the model, and starts a turn if none runs; any thread. workspace is lent. */
struct strays *strays_new(struct workspace *w, void (*wake)(void *arg, struct str text), void *arg);
/* wake is not called any more, and nobody is in it, when this returns. */
void strays_mute(struct strays *s);
void strays_free(struct strays *s); /* ends what still runs; NULL is fine */

int strays_start(struct strays *s, const struct program_place *place, struct hook_handler *h,
                 enum hook_event event, int64_t timeout_ms, const struct program_input *in,
                 struct err *err);
/* Goes on with commands that were waited for, in the mailbox that gets their mail. Takes the list
 * and keeps the mailbox; on failure neither. */
int strays_adopt(struct strays *s, struct mailbox *mail, stray_vec *list, struct err *err);
/* One of them has ended; end: enum output_end. The stray stays the caller's. */
void strays_hear(struct strays *s, const struct stray *one, int end, int code);
void stray_release(struct stray *one);

/* Whether one of them has left something to be told, and telling it. */
bool strays_have_news(struct strays *s);
void strays_tell(struct strays *s, struct hook_outcome *io);
