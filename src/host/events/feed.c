/*
 * feed: the ring of events and the positions of its observers. Any thread.
 *
 * The ring is a circular array of references. Positions are event numbers, so an observer needs no
 * list of its own, and dropping one costs nothing. Merging deltas leaves gaps in the numbers, so a
 * position means "the first event with at least this number".
 */
#include "host/events/feed.h"

#include <stdatomic.h>

#include "agent/event.h"
#include "base/vec.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "sync/wait.h"

#define FEED_MERGE_BYTES ((size_t)4 << 10) /* maximum size of a merged delta */
#define FEED_MERGE_BACK 64                 /* how many events to search for one to merge with */

const struct feed_limits feed_limits_default = {
    .ring_bytes = (size_t)3 << 20,
    .ring_events = 2048,
    .lag_bytes = (size_t)1 << 20,
    .lag_events = 512,
};

struct observer {
    struct feed *feed;
    uint64_t next; /* number of the next event */
    bool remote;
    bool sees_children;
    bool gap;        /* requested events are gone, not reported yet */
    bool dropped;    /* overtaken by the ring */
    bool woken;      /* a wake mail was sent, or it is still taking events */
    event_set kinds; /* kinds that wake it */
    struct mailbox *to;
};

struct feed {
    atomic_int refs;
    struct gate gate; /* guards all fields below */
    struct feed_limits limits;
    struct event **ring; /* room for ring_events, more while a local observer needs them */
    size_t cap, at, len; /* `at` is the oldest */
    size_t bytes;
    uint64_t last; /* number of the newest event */
    VEC(struct observer *) observers;
};

struct feed *feed_new(const struct feed_limits *limits)
{
    struct feed *f = mem_zalloc(sizeof(*f));

    atomic_init(&f->refs, 1);
    gate_init(&f->gate);
    f->limits = limits ? *limits : feed_limits_default;
    return f;
}

struct feed *feed_ref(struct feed *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

static struct event **feed_at(const struct feed *f, size_t i)
{
    return &f->ring[(f->at + i) % f->cap];
}

void feed_unref(struct feed *f)
{
    if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; i < f->len; i++)
        event_unref(*feed_at(f, i));
    mem_freep(&f->ring);
    vec_release(&f->observers);
    gate_release(&f->gate);
    mem_freep(&f);
}

static uint64_t feed_oldest(const struct feed *f)
{
    return f->len ? (*feed_at(f, 0))->seq : f->last + 1;
}

/* Index of the first event with at least this number; len if there is none. */
static size_t feed_find(const struct feed *f, uint64_t seq)
{
    size_t low = 0;
    size_t high = f->len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((*feed_at(f, middle))->seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether a local observer is too far behind. Counts bytes only if the number of events suggests
 * it. */
static bool feed_is_full(const struct feed *f)
{
    VEC_EACH(&f->observers, it) {
        size_t from = feed_find(f, (*it)->next);
        size_t bytes = 0;

        if ((*it)->remote || from == f->len)
            continue;
        if (f->len - from >= f->limits.lag_events)
            return true;
        if (f->bytes < f->limits.lag_bytes)
            continue;
        for (size_t i = from; i < f->len; i++)
            bytes += event_bytes(*feed_at(f, i));
        if (bytes >= f->limits.lag_bytes)
            return true;
    }
    return false;
}

static void feed_wake(void *arg)
{
    struct feed *f = arg;

    gate_take(&f->gate);
    gate_wake(&f->gate);
    gate_give(&f->gate);
}

/* The gate is held on call and return. */
static void feed_wait(struct feed *f, struct cancel *cancel)
{
    struct cancel_hook *hook;

    gate_give(&f->gate);
    wait_point(WAIT_MAIL, cancel);
    hook = cancel_on(cancel, feed_wake, f);
    gate_take(&f->gate);
    while (!cancel_is_set(cancel) && feed_is_full(f))
        gate_wait(&f->gate, /*deadline_ms=*/-1);
    gate_give(&f->gate);
    cancel_off(hook);
    gate_take(&f->gate);
}

/* Whether no observer has taken this event yet. */
static bool feed_is_unseen(const struct feed *f, uint64_t seq)
{
    VEC_EACH(&f->observers, it) {
        if ((*it)->next > seq)
            return false;
    }
    return true;
}

/* The agent's last event, if it is among the newest. */
static struct event **feed_last_of(const struct feed *f, const struct identity *by)
{
    size_t end = f->len > FEED_MERGE_BACK ? f->len - FEED_MERGE_BACK : 0;

    for (size_t i = f->len; i > end; i--) {
        struct event **e = feed_at(f, i - 1);

        if (identity_is_same(&(*e)->by, by))
            return e;
    }
    return NULL;
}

/* Merges the event into the agent's last one; NULL if that is not possible. */
static struct event *feed_merge(struct feed *f, struct event *e)
{
    struct event **last = e->kind == EVENT_BLOCK_DELTA ? feed_last_of(f, &e->by) : NULL;
    struct event *merged;

    if (!last || (*last)->text.len + e->text.len > FEED_MERGE_BYTES ||
        !feed_is_unseen(f, (*last)->seq))
        return NULL;
    merged = event_merge(*last, e);
    if (!merged)
        return NULL;
    if (last != feed_at(f, f->len - 1))
        merged->seq = (*last)->seq; /* numbers increase along the ring */
    f->bytes -= event_bytes(*last);
    event_unref(*last);
    *last = merged;
    return merged;
}

static void feed_grow(struct feed *f)
{
    size_t cap = f->cap ? f->cap * 2 : 64;
    struct event **ring = mem_alloc(cap * sizeof(*ring));

    for (size_t i = 0; i < f->len; i++)
        ring[i] = *feed_at(f, i);
    mem_freep(&f->ring);
    f->ring = ring;
    f->cap = cap;
    f->at = 0;
}

/* Drops events beyond the limit that no local observer needs. */
static void feed_forget(struct feed *f)
{
    while (f->len > 1 && (f->len > f->limits.ring_events || f->bytes > f->limits.ring_bytes)) {
        struct event *oldest = *feed_at(f, 0);

        VEC_EACH(&f->observers, it) {
            if (!(*it)->remote && (*it)->next <= oldest->seq)
                return;
        }
        VEC_EACH(&f->observers, it) {
            if ((*it)->next <= oldest->seq)
                (*it)->dropped = true;
        }
        f->bytes -= event_bytes(oldest);
        f->at = (f->at + 1) % f->cap;
        f->len--;
        event_unref(oldest);
    }
}

static bool observer_shows(const struct observer *o, const struct event *e)
{
    return o->sees_children || identity_is_main(&e->by);
}

/* Whether the newest event need not wake the observer yet. */
static bool feed_can_wait(const struct feed *f, const struct observer *o)
{
    const struct event *newest = f->len ? *feed_at(f, f->len - 1) : NULL;

    return newest && !(o->kinds & EVENT_BIT(newest->kind) && observer_shows(o, newest)) &&
           f->len - feed_find(f, o->next) < f->limits.lag_events / 2 &&
           f->bytes < f->limits.lag_bytes / 2;
}

/* The gate is held: mailboxes never wait and call nothing. */
static void feed_tell(struct feed *f)
{
    VEC_EACH(&f->observers, it) {
        struct observer *o = *it;
        struct observer_mail *m;

        if (o->woken || feed_can_wait(f, o))
            continue;
        o->woken = true;
        m = mem_zalloc(sizeof(*m));
        m->mail.kind = &observer_mail_kind;
        m->observer = o;
        mailbox_send(o->to, &m->mail);
    }
}

void feed_emit(struct feed *f, struct event *e, struct cancel *cancel)
{
    struct event *merged;

    gate_take(&f->gate);
    if (cancel && !cancel_is_set(cancel) && feed_is_full(f))
        feed_wait(f, cancel);
    e->seq = f->last + 1;
    merged = feed_merge(f, e);
    f->last = e->seq;
    if (merged) {
        event_unref(e);
        e = merged;
    } else {
        if (f->len == f->cap)
            feed_grow(f);
        f->len++;
        *feed_at(f, f->len - 1) = e;
    }
    f->bytes += event_bytes(e);
    feed_forget(f);
    feed_tell(f);
    gate_give(&f->gate);
}

uint64_t feed_next(struct feed *f)
{
    uint64_t next;

    gate_take(&f->gate);
    next = f->last + 1;
    gate_give(&f->gate);
    return next;
}

uint64_t feed_first(struct feed *f)
{
    uint64_t first;

    gate_take(&f->gate);
    first = feed_oldest(f);
    gate_give(&f->gate);
    return first;
}

static void observer_mail_free(struct mail *m)
{
    mem_freep(&m);
}

const struct mail_kind observer_mail_kind = {"observer", observer_mail_free};

struct observer *feed_observe(struct feed *f, uint64_t from, unsigned flags, struct mailbox *to)
{
    struct observer *o = mem_zalloc(sizeof(*o));

    o->feed = feed_ref(f);
    o->remote = flags & OBSERVER_REMOTE;
    o->sees_children = flags & OBSERVER_CHILDREN;
    o->kinds = ~(event_set)0;
    o->to = mailbox_ref(to);
    gate_take(&f->gate);
    o->next = from > f->last ? f->last + 1 : from ? from : 1;
    if (o->next < feed_oldest(f)) {
        o->gap = true;
        o->next = feed_oldest(f);
    }
    vec_push(&f->observers, o);
    if (o->gap || o->next <= f->last)
        feed_tell(f);
    gate_give(&f->gate);
    return o;
}

void observer_wake_on(struct observer *o, event_set kinds)
{
    gate_take(&o->feed->gate);
    o->kinds = kinds;
    gate_give(&o->feed->gate);
}

void observer_free(struct observer *o)
{
    struct feed *f;

    if (!o)
        return;
    f = o->feed;
    gate_take(&f->gate);
    for (size_t i = 0; i < f->observers.len; i++) {
        if (f->observers.ptr[i] == o) {
            f->observers.ptr[i] = f->observers.ptr[--f->observers.len];
            break;
        }
    }
    gate_wake(&f->gate);
    gate_give(&f->gate);
    mailbox_unref(o->to);
    feed_unref(f);
    mem_freep(&o);
}

/* Index of the next event it shows; len if there is none. The gate is held. */
static size_t observer_at(const struct observer *o)
{
    const struct feed *f = o->feed;
    size_t at = feed_find(f, o->next);

    while (at < f->len && !observer_shows(o, *feed_at(f, at)))
        at++;
    return at;
}

bool observer_has_before(struct observer *o, uint64_t seq)
{
    struct feed *f = o->feed;
    bool has;
    size_t at;

    gate_take(&f->gate);
    at = observer_at(o);
    has = !o->dropped && at < f->len && (*feed_at(f, at))->seq < seq;
    gate_give(&f->gate);
    return has;
}

enum observed observer_take(struct observer *o, struct event **ret_event, uint64_t *ret_seq)
{
    struct feed *f = o->feed;
    enum observed what = OBSERVED_NOTHING;
    size_t at;

    gate_take(&f->gate);
    at = observer_at(o);
    if (o->dropped) {
        *ret_seq = o->next - 1;
        what = OBSERVED_DROPPED;
    } else if (o->gap) {
        o->gap = false;
        *ret_seq = o->next;
        what = OBSERVED_GAP;
    } else if (at < f->len) {
        *ret_event = event_ref(*feed_at(f, at));
        o->next = (*ret_event)->seq + 1;
        if (!o->remote)
            gate_wake(&f->gate);
        what = OBSERVED_EVENT;
    } else {
        o->next = f->last + 1;
        o->woken = false;
        if (!o->remote)
            gate_wake(&f->gate);
    }
    gate_give(&f->gate);
    return what;
}
