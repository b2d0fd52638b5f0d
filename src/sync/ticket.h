/*
 * Tickets: work that one thread does at a time and that may take long.
 *
 * A lock is for a few instructions. A thread that reads files, asks a model or runs a command
 * exclusively holds a ticket: the next ones wait in the order in which they came, and each of them
 * can give up.
 */
#pragma once

#include <stdbool.h>

#include "sync/thread.h"

struct cancel;
struct err;
struct ticket_wait;

struct ticket {
    struct gate gate;
    bool is_held;
    struct ticket_wait *first, **last; /* who waits */
};
void ticket_init(struct ticket *t);
void ticket_release(struct ticket *t);

/* -1: cancel was set before the ticket was free, ERR_CANCELLED. NULL is never set. */
int ticket_take(struct ticket *t, struct cancel *cancel, struct err *err);
void ticket_give(struct ticket *t);
