/*
 * clock: real time, or a virtual one for tests. Any thread.
 */
#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"

static atomic_bool clock_virtual;
static _Atomic int64_t clock_virtual_us;

/* Written before there are threads. */
static int64_t clock_speed = 1;
static int64_t clock_wall_off_us;
static int64_t clock_start_us[2]; /* of the monotonic clock and the wall clock */

static int64_t clock_now_us(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t clock_read_us(clockid_t id)
{
    int64_t start, now;

    if (atomic_load_explicit(&clock_virtual, memory_order_relaxed))
        return atomic_load(&clock_virtual_us);
    now = clock_now_us(id);
    if (clock_speed == 1)
        return now;
    start = clock_start_us[id == CLOCK_REALTIME];
    return start + (now - start) * clock_speed;
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
    return (clock_read_us(CLOCK_REALTIME) + clock_wall_off_us) / 1000;
}

int64_t clock_file_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
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

void clock_test_mode(const char *spec)
{
    struct str number = str_of(spec);
    struct str name;
    int64_t n;

    str_cut(&number, ':', &name);
    if (str_to_i64(number, &n, /*err=*/NULL) == 0 && str_is(name, "fast") && n > 0 && n <= 100000) {
        clock_start_us[0] = clock_now_us(CLOCK_MONOTONIC);
        clock_start_us[1] = clock_now_us(CLOCK_REALTIME);
        clock_speed = n;
        return;
    }
    if (str_to_i64(number, &n, /*err=*/NULL) == 0 && str_is(name, "wall")) {
        clock_wall_off_us = n * 1000;
        return;
    }
    BUG("TENAX_TEST_CLOCK=%s: expected fast:N or wall:MS", spec);
}

int64_t clock_real_ms(int64_t ms)
{
    return ms <= 0 ? ms : (ms - 1) / clock_speed + 1;
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
