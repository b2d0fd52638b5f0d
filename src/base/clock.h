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

/* Test mode: from here on the clocks stand still and move only by clock_advance_ms(). */
void clock_make_virtual(int64_t start_ms);
void clock_advance_ms(int64_t ms);
bool clock_is_virtual(void);

/* "2026-01-31T12:00:00.123Z"; out holds at least 25 bytes. */
void clock_iso(int64_t wall_ms, char out[static 25]);
