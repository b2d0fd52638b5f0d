/*
 * The feed: a session's events, numbered, kept for a while, for any number of observers.
 *
 * There is one ring of the last events, and an observer is a position in it. Nothing is copied per
 * observer, and no observer can make memory grow: if a local observer (stdout, a screen) falls
 * behind by more than the limit, the emitter waits; a remote one that the ring has passed is
 * dropped, gets the last number it received, and may start again from there. Deltas of one agent
 * that no observer has taken are merged, even if deltas of other agents are in between, so that a
 * slow reader gets fewer and longer ones, and all observers see the same events.
 *
 * Any thread; an observer belongs to one.
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
    size_t lag_bytes,
        lag_events; /* how far a local observer may fall behind; at most the ring's size */
};
extern const struct feed_limits feed_limits_default;

struct feed *feed_new(const struct feed_limits *limits); /* NULL = defaults */
struct feed *feed_ref(struct feed *f);
void feed_unref(struct feed *f);

/* Takes the event and numbers it. Waits while a local observer is full, unless cancel is set or
 * NULL: observers themselves must never wait here. */
void feed_emit(struct feed *f, struct event *e, struct cancel *cancel);
uint64_t feed_next(struct feed *f);  /* the number of the next event */
uint64_t feed_first(struct feed *f); /* the oldest event kept; feed_next() if there is none */

enum observer_flags {
    OBSERVER_REMOTE = 1,   /* dropped rather than waited for */
    OBSERVER_CHILDREN = 2, /* sees all agents of the session; others see only the main one */
};

#define FEED_NOW UINT64_MAX

/* Observes events from number `from` on (FEED_NOW = new ones). Sends a wake mail when there is
 * something to take after observer_take() had nothing. */
struct observer *feed_observe(struct feed *f, uint64_t from, unsigned flags, struct mailbox *to);
/* Only events of these kinds wake it from here on; others are taken with them, or when half the
 * limit has accumulated. For readers that do not need each delta: a wake costs two thread switches.
 */
void observer_wake_on(struct observer *o, event_set kinds);
void observer_free(struct observer *o); /* NULL is fine; a wake mail may still be in the mailbox */

extern const struct mail_kind observer_mail_kind;
struct observer_mail {
    struct mail mail;
    const struct observer *observer; /* for comparison */
};

enum observed {
    OBSERVED_NOTHING, /* a wake mail follows */
    OBSERVED_EVENT,   /* *ret_event must be unreferenced */
    OBSERVED_GAP,     /* `from` is too old; events continue at *ret_seq */
    OBSERVED_DROPPED, /* fell behind; *ret_seq is the last number it got. Nothing more follows */
};
/* The next event has a lower number than this. */
bool observer_has_before(struct observer *o, uint64_t seq);
enum observed observer_take(struct observer *o, struct event **ret_event, uint64_t *ret_seq);
