/*
 * Ids as numbers: 128 bits for any text, so that a line of the chain has a fixed size.
 *
 * Ids in transcripts are UUIDs mostly, but need not be. The hash is seeded per process: no file can
 * be crafted whose ids collide in one slot of a table. Zero stands for no id.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct uid {
    uint64_t hi, lo;
};

struct uid uid_of(struct str text); /* none for the empty text */

static inline bool uid_is_none(struct uid u)
{
    return !(u.hi | u.lo);
}

static inline bool uid_eq(struct uid a, struct uid b)
{
    return a.hi == b.hi && a.lo == b.lo;
}
