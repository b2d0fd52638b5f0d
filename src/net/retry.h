/*
 * When to try again, and after how long: pure arithmetic, no waiting.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct retry_policy {
    int max_tries;        /* attempts in all */
    int64_t first_ms;     /* first delay; doubles each time */
    int64_t cap_ms;       /* longest own delay */
    int64_t asked_cap_ms; /* longest delay taken from the server */
};

extern const struct retry_policy retry_default; /* 10 tries, 500 ms, 32 s, 10 min */

/* Delay before attempt number `next` (2 is the first retry). asked_ms is what the server said, or
 * -1; "at once" (0) gets our own delay, a server in trouble is not to be hammered. random is any
 * 64-bit value: own delays are jittered down by up to a quarter. Returns -1 when there is no
 * further try, or the server asks for more than asked_cap_ms. */
int64_t retry_delay_ms(const struct retry_policy *p, int next, int64_t asked_ms, uint64_t random);

/* "retry-after-ms: 1500", "retry-after: 2" or an HTTP date, relative to wall_now_ms; -1 when there
 * is none or it makes no sense. Both slices may be empty. */
int64_t retry_after_ms(struct str retry_after_ms_value, struct str retry_after_value,
                       int64_t wall_now_ms);

/* Texts such as "Please try again in 11.054s" / "in 500ms", and "34s"; -1 when there is none. */
int64_t retry_text_ms(struct str text);

/* When a limit begins anew, relative to wall_now_ms: "1767225600" (seconds of the epoch, or
 * milliseconds), "90" (seconds from now), "6m0s". 0: it is past; -1: it makes no sense. */
int64_t retry_reset_ms(struct str value, int64_t wall_now_ms);
