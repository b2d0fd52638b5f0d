/*
 * Takes a session over from another process.
 *
 * A program that reads a result may resume the session before the process that printed it has
 * exited, so this waits for a holder that is exiting. An idle holder ends when asked to
 * (release_session on its control socket). A working one keeps its session, which is detected
 * within two seconds.
 */
#pragma once

struct cancel;
struct err;
struct hold;

/* Like hold_take() (store/hold.h), but waits. ERR_BUSY: the holder is working or does not end in
 * time. */
/* on_wait: tells the user, once, if it takes longer; may be NULL. */
int handover_take(const char *home, const char *session, const char *socket,
                  void (*on_wait)(const char *text), struct cancel *cancel, struct hold **ret,
                  struct err *err);
