/*
 * The feed: one session's events, numbered, kept for a while, and read by any number of observers.
 *
 * There is one queue, the ring of the last events, and an observer is a place in it. Nothing is
 * copied per observer and no observer can make memory grow: a local observer (stdout, a screen)
 * that falls behind by more than the limit makes the emitter wait; a remote one that the ring has
 * passed by is dropped, is notified with the last number it received, and may observe again from
 * there. Deltas of one agent that no observer has taken yet merge into one, also where those of
 * other agents came in between, so that a slow reader gets fewer and longer ones and all observers
 * see the same events.
 *
 * Everything here may be called from any thread; an observer belongs to one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/event.h"
#include "sync/mailbox.h"

struct cancel;
struct feed;
struct observer;

struct feed_limits {
    size_t ring_bytes, ring_events; /* size of the ring */
    size_t lag_bytes, lag_events; /* how far a local observer may fall behind; at most the ring's */
};
extern const struct feed_limits feed_limits_default;

struct feed *feed_new(const struct feed_limits *limits); /* NULL: the default ones */
struct feed *feed_ref(struct feed *f);
void feed_unref(struct feed *f);

/* Takes the event and numbers it. Waits while a local observer is full, unless cancel is set or
 * NULL: observers themselves must never wait here. */
void feed_emit(struct feed *f, struct event *e, struct cancel *cancel);
uint64_t feed_next(struct feed *f);  /* the number the next event will have */
uint64_t feed_first(struct feed *f); /* the oldest that is kept; feed_next() when none is */

enum observer_flags {
    OBSERVER_REMOTE = 1,   /* dropped rather than waited for */
    OBSERVER_CHILDREN = 2, /* sees all agents of the session; others see the main one alone */
};

#define FEED_NOW UINT64_MAX

/* Events from number `from` on (FEED_NOW: those to come). A wake mail goes to the mailbox whenever
 * there is something to take after observer_take() has said that there was nothing. */
struct observer *feed_observe(struct feed *f, uint64_t from, unsigned flags, struct mailbox *to);
/* From here on only events of these kinds wake it; what else has come is taken with them, or when
 * half the limit has gathered. For readers that make nothing of a delta by itself: each wake costs
 * two switches of thread. */
void observer_wake_on(struct observer *o, event_set kinds);
void observer_free(struct observer *o); /* NULL is fine; a wake mail may still be in the mailbox */

extern const struct mail_kind observer_mail_kind;
struct observer_mail {
    struct mail mail;
    const struct observer *observer; /* for comparing */
};

enum observed {
    OBSERVED_NOTHING, /* a wake mail will come */
    OBSERVED_EVENT,   /* *ret_event is yours: event_unref() */
    OBSERVED_GAP,     /* `from` was no longer kept; events go on at *ret_seq */
    OBSERVED_DROPPED, /* fell behind; the last number it got was *ret_seq. Nothing more comes */
};
enum observed observer_take(struct observer *o, struct event **ret_event, uint64_t *ret_seq);
