/*
 * Threads, locks and waits. Used directly only in this folder and where stated.
 *
 * Threads start with all signals blocked (signals.h) and a 256 KB stack, four times that with
 * sanitizers; fault handlers have a separate stack, so that they work when it overflows. Locks are
 * held for a few instructions: never call out while holding one, never hold two. To wait for events
 * use a mailbox or a cancel token; struct gate is for the few places where two threads of one
 * module wait on a condition.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct thread;

typedef void (*thread_fn)(void *arg);

/* name shows in ps and debuggers (15 characters). */
struct thread *thread_start(const char *name, thread_fn fn, void *arg, struct err *err);
void thread_join(struct thread *t); /* also frees it; NULL is fine */
/* A detached thread, for work that may hang in a call that cannot be cancelled (an unresponsive
 * name server). Its data must be reference counted, not lent. */
int thread_start_loose(const char *name, thread_fn fn, void *arg, struct err *err);
void thread_rename(const char *name); /* the calling thread */

struct lock {
    pthread_mutex_t mutex;
};
#define LOCK_INIT                                                                                  \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER                                                                  \
    }
void lock_init(struct lock *l);
void lock_release(struct lock *l); /* destroys it */
void lock_take(struct lock *l);
void lock_give(struct lock *l);

/* A condition variable with its own lock, which gate_wait() releases while it waits. */
struct gate {
    pthread_mutex_t mutex;
    atomic_uint wakes;   /* the futex; a counter, so that no wake is missed */
    atomic_uint waiting; /* threads in gate_wait(); changed under the lock */
};
#define GATE_INIT                                                                                  \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, 0, 0                                                            \
    }
void gate_init(struct gate *g);
void gate_release(struct gate *g);
void gate_take(struct gate *g);
void gate_give(struct gate *g);
/* False at the deadline (in clock_mono_ms(), -1 = none), to which a virtual clock jumps at once.
 * May return true spuriously: wait in a loop that checks the condition. */
bool gate_wait(struct gate *g, int64_t deadline_ms);
/* Wakes all waiters, with the lock held or after releasing it. In the second case woken threads
 * need not wait for it, but may be finished with the gate, which the caller must keep alive. */
void gate_wake(struct gate *g);
