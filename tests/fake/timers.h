/*
 * Deadlines, ordered: a heap that knows where each timer is, so that starting and stopping one
 * costs a few steps among thousands.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct timer {
    int64_t deadline_ms;
    void *owner;
    size_t place; /* in the heap, from 1; 0: not running */
};

struct timers {
    VEC(struct timer *) heap;
};

void timers_release(struct timers *t);
void timers_start(struct timers *t, struct timer *timer, int64_t deadline_ms); /* not running yet */
void timers_stop(struct timers *t, struct timer *timer); /* fine when it is not running */
struct timer *timers_first(const struct timers *t);      /* NULL when none runs */
