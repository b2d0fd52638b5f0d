/*
 * The inner loop of reading and writing strings; for src/json only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/utf8.h"

/* Stands for itself in a JSON string: ASCII, but no control character, quote or backslash. */
static inline bool scan_is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Non-zero when one of eight bytes is not plain. Subtracting borrows into the top bit of a byte
 * that is below the subtrahend; a false alarm only sends the caller to the byte loop. */
static inline uint64_t scan_special8(uint64_t x)
{
    const uint64_t ones = 0x0101010101010101;
    uint64_t quote = x ^ (ones * '"');
    uint64_t slash = x ^ (ones * '\\');

    return (x | (x - ones * 0x20) | (quote - ones) | (slash - ones)) & (ones * 0x80);
}

/* Four to fifteen bytes, all of them plain: by two looks, which may overlap. False: perhaps not. */
static inline bool scan_short(const char *at, size_t len)
{
    uint64_t x;
    uint64_t y;
    uint32_t half[2];

    if (len >= 8) {
        memcpy(&x, at, 8);
        memcpy(&y, at + len - 8, 8);
        return !(scan_special8(x) | scan_special8(y));
    }
    memcpy(&half[0], at, 4);
    memcpy(&half[1], at + len - 4, 4);
    return !scan_special8((uint64_t)half[1] << 32 | half[0]);
}

/* The first byte that is not plain, or end. */
static inline const char *scan_plain(const char *at, const char *end)
{
#ifdef __SSE2__
    const __m128i quotes = _mm_set1_epi8('"');
    const __m128i slashes = _mm_set1_epi8('\\');
    const __m128i spaces = _mm_set1_epi8(0x20);

    while (end - at >= 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)at);
        __m128i low = _mm_cmplt_epi8(x, spaces); /* signed: controls and everything from 0x80 */
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(x, quotes), _mm_cmpeq_epi8(x, slashes));
        unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(hit, low));

        if (mask)
            return at + __builtin_ctz(mask);
        at += 16;
    }
#endif
    if (end - at >= 4 && end - at < 16 && scan_short(at, (size_t)(end - at)))
        return end;
    while (end - at >= 8) {
        uint64_t x;

        memcpy(&x, at, sizeof(x));
        if (scan_special8(x))
            break;
        at += 8;
    }
    while (at < end && scan_is_plain((unsigned char)*at))
        at++;
    return at;
}

/* Passes over valid multi-byte characters too: stops at a quote, a backslash, a control character,
 * an invalid byte, or end. */
static inline const char *scan_valid(const char *at, const char *end)
{
    for (;;) {
        at = scan_plain(at, end);
        if (at == end || (unsigned char)*at < 0x80)
            return at;

        size_t n = utf8_decode((struct str){at, (size_t)(end - at)}, /*ret_code=*/NULL);

        if (!n)
            return at;
        at += n;
    }
}
