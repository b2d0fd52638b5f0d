/*
 * Computes when to retry: pure arithmetic, no waiting.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct retry_policy {
    int max_tries;        /* including the first attempt */
    int64_t first_ms;     /* first delay; doubles each time */
    int64_t cap_ms;       /* longest delay of our own */
    int64_t asked_cap_ms; /* longest delay that a server may ask for */
};

extern const struct retry_policy retry_default; /* 10 tries, 500 ms, 32 s, 10 min */

/* Delay before attempt number `next` (2 is the first retry). asked_ms: the server's wish, or -1;
 * for 0 ("at once") our own delay is used, to protect a server in trouble. random: any 64-bit
 * value; our own delays are reduced at random by up to a quarter. -1 if there are no attempts left
 * or the server asks for more than asked_cap_ms. */
int64_t retry_delay_ms(const struct retry_policy *p, int next, int64_t asked_ms, uint64_t random);

/* "retry-after-ms: 1500", "retry-after: 2" or an HTTP date, relative to wall_now_ms; -1 if missing
 * or invalid. Both slices may be empty. */
int64_t retry_after_ms(struct str retry_after_ms_value, struct str retry_after_value,
                       int64_t wall_now_ms);

/* Finds "Please try again in 11.054s", "in 500ms", "34s" in a text; -1 if there is none. */
int64_t retry_text_ms(struct str text);

/* When a limit is reset, relative to wall_now_ms: "1767225600" (seconds of the epoch, or
 * milliseconds), "90" (seconds from now), "6m0s". 0 if it is past, -1 if it is invalid. */
int64_t retry_reset_ms(struct str value, int64_t wall_now_ms);
