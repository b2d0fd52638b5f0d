/*
 * Cancel tokens: request any number of waiters, from any thread, to stop.
 *
 * Everything that blocks takes one and returns ERR_CANCELLED promptly when it is set. A token with
 * a parent is set together with it. Setting is final and idempotent. cancel_set() may be called on
 * any thread but not from a signal handler (signals arrive through sync/signals.h).
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
/* Sets it because the process must end, not because the user interrupted: the work is left open and
 * can be resumed. Applies to child tokens, too. */
void cancel_end(struct cancel *c);
bool cancel_is_set(const struct cancel *c);                /* false for NULL */
bool cancel_is_end(const struct cancel *c);                /* set, and by cancel_end() */
int cancel_check(const struct cancel *c, struct err *err); /* -1 with ERR_CANCELLED when set */

/* Becomes readable when it is set, for code that polls. Lent; -1 if there are no descriptors left.
 */
int cancel_fd(struct cancel *c);

/* Waits for this time; -1 with ERR_CANCELLED if it is set. NULL is never set. */
int cancel_wait(struct cancel *c, int64_t ms, struct err *err);
/* The same, and until a descriptor is readable (or broken): returns 1, or 0 after the time. fd -1:
 * none; ms -1: no limit. Advances a virtual clock instead of waiting, like a mailbox. */
int cancel_wait_fd(struct cancel *c, int fd, int64_t ms, struct err *err);

/* Runs fn(arg) once, on the thread that sets the token (at once if it is already set; then
 * cancel_on() returns NULL). fn must not block. Every hook must be passed to cancel_off(), after
 * which fn is not running and will not be called (called from fn itself, it returns at once). */
struct cancel_hook;
struct cancel_hook *cancel_on(struct cancel *c, cancel_fn fn, void *arg);
void cancel_off(struct cancel_hook *hook); /* NULL is fine */
