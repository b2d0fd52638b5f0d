/*
 * Cancel tokens: "stop what you are doing", from any thread to any number of waiters.
 *
 * Everything that blocks takes one and returns ERR_CANCELLED promptly when it is set. A token made
 * with a parent is set with it. Setting is final and idempotent. cancel_set() may be called from
 * any thread but not from a signal handler (signals come through sync/signals.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cancel;
struct err;

typedef void (*cancel_fn)(void *arg);

struct cancel *cancel_new(struct cancel *parent); /* parent may be NULL; kept alive by the child */
struct cancel *cancel_ref(struct cancel *c);
void cancel_unref(struct cancel *c);
void cancel_unrefp(struct cancel **c); /* for CLEANUP() */

void cancel_set(struct cancel *c);
/* The same, but not by a change of mind: the process has to end. Interrupted work is left open, to
 * be resumed. Tokens below it know, too. */
void cancel_end(struct cancel *c);
bool cancel_is_set(const struct cancel *c);                /* false for NULL */
bool cancel_is_end(const struct cancel *c);                /* set, and by cancel_end() */
int cancel_check(const struct cancel *c, struct err *err); /* -1 with ERR_CANCELLED when set */

/* Readable for good once set: for code that polls descriptors. Lent; -1 when the process has run
 * out of descriptors. */
int cancel_fd(struct cancel *c);

/* Waits so long, or until it is set: -1 with ERR_CANCELLED then. NULL is never set. */
int cancel_wait(struct cancel *c, int64_t ms, struct err *err);
/* The same, and until a descriptor is readable (or broken): 1 then, 0 when the time is up. fd -1:
 * none; ms -1: no limit. A virtual clock is moved instead of waiting, as by a mailbox. */
int cancel_wait_fd(struct cancel *c, int fd, int64_t ms, struct err *err);

/* fn(arg) runs once, on the thread that sets the token (at once, here, when it is set already). It
 * must not block. Every hook is given back to cancel_off(), which returns only when fn is not
 * running and never will (called from inside fn itself it returns at once). cancel_on() gives NULL
 * when fn has run here already. */
struct cancel_hook;
struct cancel_hook *cancel_on(struct cancel *c, cancel_fn fn, void *arg);
void cancel_off(struct cancel_hook *hook); /* NULL is fine */
