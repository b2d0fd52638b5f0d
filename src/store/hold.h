/*
 * Ensures that only one process works on a session.
 *
 * The holder keeps a lock on $TENAX_HOME/run/<session>.lock, which the kernel releases however the
 * process ends; pid, host and control socket are in the file for other processes. A file left by a
 * killed process does no harm. The lock belongs to the open file (F_OFD_SETLK): two holds in one
 * process exclude each other as well, and hold_look() takes no lock, so it never makes hold_take()
 * fail. Safe from any thread.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"

struct err;
struct hold;
struct strv;

struct holder {
    int64_t pid; /* 0 = unknown */
    struct buf host, socket;
    int64_t since_ms; /* wall clock */
};
void holder_release(struct holder *h);

/* ERR_BUSY names the holder and what to do ("--fork-session"). ERR_UNSUPPORTED on a file system
 * without locks, where the session is not protected; ERR_BAD_INPUT if the session is not a file
 * name. socket: may be "". */
int hold_take(const char *home, const char *session, const char *socket, struct hold **ret,
              struct err *err);
void hold_give(struct hold *h); /* NULL is fine */

/* 1 and its holder (ret may be NULL), 0 if not held, -1. */
int hold_look(const char *home, const char *session, struct holder *ret, struct err *err);

/* The same using only the kernel's information, not the file's content: finds the process with the
 * lock even if the file was removed, replaced or overwritten. If that is not visible (another
 * user's process, no /proc), works like hold_look(). Reads all of /proc. */
int hold_seek(const char *home, const char *session, struct holder *ret, struct err *err);

/* Lists all held sessions. */
void hold_list(const char *home, struct strv *ret);
