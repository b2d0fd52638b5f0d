/*
 * A session that another process holds, taken over from it.
 *
 * A program that reads a result may resume the session before the process that printed it has
 * exited, so a holder that ends is waited for. One that is idle ends when it is asked to
 * (release_session on its control socket). One that works keeps its session, which is known within
 * two seconds.
 */
#pragma once

struct cancel;
struct err;
struct hold;

/* As hold_take() (store/hold.h); ERR_BUSY: the holder works, or does not end in time. Waits. */
/* on_wait: for the user, once, when it takes longer; or NULL. */
int handover_take(const char *home, const char *session, const char *socket,
                  void (*on_wait)(const char *text), struct cancel *cancel, struct hold **ret,
                  struct err *err);
