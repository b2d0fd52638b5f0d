/*
 * Who works on a session: one process at a time.
 *
 * The holder keeps a lock on $TENAX_HOME/run/<session>.lock, which the kernel frees however the
 * process ends; pid, host and control socket stand in the file for later processes. A file left by
 * a killed process is no obstacle. The lock belongs to the open file (F_OFD_SETLK): two holds of
 * one process exclude each other as well, and a look takes no lock, so it never makes a take fail.
 * Safe from any thread.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"

struct err;
struct hold;
struct strv;

struct holder {
    int64_t pid; /* 0: it holds the session but has not said who it is */
    struct buf host, socket;
    int64_t since_ms; /* wall clock */
};
void holder_release(struct holder *h);

/* ERR_BUSY with its holder and what to do ("--fork-session"). ERR_UNSUPPORTED on a file system
 * without locks, where nothing protects the session; ERR_BAD_INPUT for a session that is not a file
 * name. socket: "" when there is none. */
int hold_take(const char *home, const char *session, const char *socket, struct hold **ret,
              struct err *err);
void hold_give(struct hold *h); /* NULL is fine */

/* 1 and its holder (ret may be NULL), 0: not held, -1. */
int hold_look(const char *home, const char *session, struct holder *ret, struct err *err);

/* The same by what the kernel says alone, not by the file's content: which process has the lock,
 * also when the file was removed, replaced or overwritten since. Where that cannot be seen (another
 * user's process, no /proc), as hold_look(). Reads all of /proc. */
int hold_seek(const char *home, const char *session, struct holder *ret, struct err *err);

/* All sessions that are held. */
void hold_list(const char *home, struct strv *ret);
