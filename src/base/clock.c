/*
 * clock: real time, or a virtual one for tests. Any thread.
 */
#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static atomic_bool clock_virtual;
static _Atomic int64_t clock_virtual_us;

static int64_t clock_read_us(clockid_t id)
{
    struct timespec t;

    if (atomic_load_explicit(&clock_virtual, memory_order_relaxed))
        return atomic_load(&clock_virtual_us);
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_mono_ms(void)
{
    return clock_read_us(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_mono_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

int64_t clock_wall_ms(void)
{
    return clock_read_us(CLOCK_REALTIME) / 1000;
}

void clock_make_virtual(int64_t start_ms)
{
    atomic_store(&clock_virtual_us, start_ms * 1000);
    atomic_store(&clock_virtual, true);
}

void clock_advance_ms(int64_t ms)
{
    atomic_fetch_add(&clock_virtual_us, ms * 1000);
}

bool clock_is_virtual(void)
{
    return atomic_load_explicit(&clock_virtual, memory_order_relaxed);
}

void clock_iso(int64_t wall_ms, char out[static 25])
{
    const int64_t last = 253402300799999; /* the end of 9999: later years have no four digits */
    int64_t shown = wall_ms < 0 ? 0 : wall_ms > last ? last : wall_ms;
    time_t seconds = (time_t)(shown / 1000);
    struct tm tm;
    size_t n;

    gmtime_r(&seconds, &tm);
    n = strftime(out, 25, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + n, 25 - n, ".%03uZ", (unsigned)(shown % 1000));
}
