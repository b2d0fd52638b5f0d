/*
 * Time. Every timer in tenax reads clock_mono_ms(), so that tests can make it virtual.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int64_t clock_mono_ms(void); /* for deadlines and durations */
int64_t clock_mono_us(void);
int64_t clock_wall_ms(void); /* since 1970, for what people and files see */
int64_t clock_file_ms(void); /* the same, never virtual: what files are stamped with */

/* Test mode: from here on the clocks stand still and move only by clock_advance_ms(). */
void clock_make_virtual(int64_t start_ms);
void clock_advance_ms(int64_t ms);
bool clock_is_virtual(void);

/* Tests of the whole program set TENAX_TEST_CLOCK to "fast:N" (both clocks run N times as fast, and
 * waits end so much sooner) or "wall:MS" (the wall clock is off by so much). */
void clock_test_mode(const char *spec); /* from main(), when the variable is set */
/* How long ms of clock_mono_ms() really take, for the system calls that wait; at least 1. */
int64_t clock_real_ms(int64_t ms);

/* "2026-01-31T12:00:00.123Z"; out holds at least 25 bytes. */
void clock_iso(int64_t wall_ms, char out[static 25]);
