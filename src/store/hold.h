/*
 * Who works on a session: one process at a time.
 *
 * The holder keeps an flock on $TENAX_HOME/run/<session>.lock, which the kernel frees however the
 * process ends; pid, host and control socket stand in the file for those who come second.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"

struct err;
struct hold;

struct holder {
    int64_t pid;
    struct buf host, socket;
    int64_t since_ms;
};
void holder_release(struct holder *h);

/* ERR_BUSY with who has it and what to do ("--fork-session"). socket: "" when there is none. */
int hold_take(const char *home, const char *session, const char *socket, struct hold **ret,
              struct err *err);
void hold_give(struct hold *h); /* NULL is fine */

/* 1 and who, 0: nobody, -1. */
int hold_look(const char *home, const char *session, struct holder *ret, struct err *err);
