/*
 * Ids as 128-bit numbers, so that lines of the chain have a fixed size.
 *
 * Ids in transcripts are usually UUIDs but may be any text. The hash is seeded per process, so that
 * no file can be crafted whose ids collide in a hash table. Zero means no id.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct uid {
    uint64_t hi, lo;
};

struct uid uid_of(struct str text); /* none for empty text */

static inline bool uid_is_none(struct uid u)
{
    return !(u.hi | u.lo);
}

static inline bool uid_eq(struct uid a, struct uid b)
{
    return a.hi == b.hi && a.lo == b.lo;
}
