/*
 * A crew: reuses threads for recurring pieces of work, usually one at a time.
 *
 * Starting and joining a thread often costs more than the work itself. crew_start() passes fn(arg)
 * to an idle thread, or to a new one if there is none; work always starts at once, and a thread
 * that finishes while another one is idle ends. Work must report its own end, by mail.
 */
#pragma once

#include "sync/thread.h"

struct crew;
struct err;

struct crew *crew_new(void);
void crew_free(struct crew *c); /* waits for all work; NULL is fine */

/* name: as in thread_start(), must stay valid until fn returns. Any thread. */
int crew_start(struct crew *c, const char *name, thread_fn fn, void *arg, struct err *err);
