/*
 * A crew: threads for pieces of work that come again and again, mostly one at a time.
 *
 * Starting a thread and waiting for its end costs more than many a piece of work. crew_start()
 * hands fn(arg) to the thread that waits for work, or to a new one when there is none; all start at
 * once, and a thread that finishes while another one waits already ends. A piece of work must
 * report its own end, by mail; the crew does not.
 */
#pragma once

#include "sync/thread.h"

struct crew;
struct err;

struct crew *crew_new(void);
void crew_free(struct crew *c); /* waits for all work; NULL is fine */

/* name as in thread_start(), lent until fn returns. Any thread. */
int crew_start(struct crew *c, const char *name, thread_fn fn, void *arg, struct err *err);
