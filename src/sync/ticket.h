/*
 * Tickets: exclusive access for work that may take long.
 *
 * A lock is for a few instructions. A thread that exclusively reads files, asks a model or runs a
 * command holds a ticket; others wait in order of arrival, and may give up.
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
    struct ticket_wait *first, **last; /* waiting threads */
};
void ticket_init(struct ticket *t);
void ticket_release(struct ticket *t);

/* -1 with ERR_CANCELLED if cancel was set first. cancel may be NULL. */
int ticket_take(struct ticket *t, struct cancel *cancel, struct err *err);
void ticket_give(struct ticket *t);
