/*
 * Threads, locks and waits. This folder is their only home.
 *
 * Threads start with every signal blocked (signals.h) and a 256 KB stack, four times that under
 * sanitizers; a fault's handler has a separate stack, so that it runs when theirs is full. Locks
 * are held for a few instructions: never call out while holding one, never hold two. Waiting for
 * something to happen is a mailbox's or a cancel token's business; struct gate is for the few
 * places that wait on a condition between two threads of one room.
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
/* It is never joined: for work that may be stuck in a call that cannot be cancelled (a name server
 * that does not answer). Its data is counted, not lent. */
int thread_start_loose(const char *name, thread_fn fn, void *arg, struct err *err);
void thread_rename(const char *name); /* the one that calls */

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

/* A condition with its own lock: gate_wait() gives the lock up while it waits. */
struct gate {
    pthread_mutex_t mutex;
    atomic_uint wakes;   /* the futex; counts them, so that none is missed on the way to sleep */
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
/* False at the deadline (clock_mono_ms() time, -1: none), which a virtual clock jumps to at once.
 * May return true for no reason: wait in a loop that looks at the condition. */
bool gate_wait(struct gate *g, int64_t deadline_ms);
/* All waiters. With the lock held, or after releasing it: then woken threads do not have to wait
 * for it, but may also be done with the gate, which the caller has to keep alive. */
void gate_wake(struct gate *g);
