/* Deadlines in a binary heap: each is no earlier than the one above it. */
#include "timers.h"

void timers_release(struct timers *t)
{
    vec_release(&t->heap);
}

static void put(struct timers *t, size_t i, struct timer *timer)
{
    t->heap.ptr[i] = timer;
    timer->place = i + 1;
}

/* Moves the timer at i up or down to where it belongs. */
static void settle(struct timers *t, size_t i)
{
    struct timer *timer = t->heap.ptr[i];

    while (i > 0 && t->heap.ptr[(i - 1) / 2]->deadline_ms > timer->deadline_ms) {
        put(t, i, t->heap.ptr[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < t->heap.len &&
            t->heap.ptr[child + 1]->deadline_ms < t->heap.ptr[child]->deadline_ms)
            child++;
        if (child >= t->heap.len || t->heap.ptr[child]->deadline_ms >= timer->deadline_ms)
            break;
        put(t, i, t->heap.ptr[child]);
        i = child;
    }
    put(t, i, timer);
}

void timers_start(struct timers *t, struct timer *timer, int64_t deadline_ms)
{
    timer->deadline_ms = deadline_ms;
    vec_push(&t->heap, timer);
    settle(t, t->heap.len - 1);
}

void timers_stop(struct timers *t, struct timer *timer)
{
    size_t i = timer->place - 1;
    struct timer *last;

    if (!timer->place)
        return;
    timer->place = 0;
    last = t->heap.ptr[--t->heap.len];
    if (last == timer)
        return;
    put(t, i, last);
    settle(t, i);
}

struct timer *timers_first(const struct timers *t)
{
    return t->heap.len ? t->heap.ptr[0] : NULL;
}
