/*
 * Examines sixty-four bytes of JSON at a time: one bit per byte.
 *
 * Uses SSE2 on x86-64 and plain C elsewhere; other code sees only the masks. A block is always
 * loaded as a whole: buffers have extra room at the end (WINDOW_SLACK), and callers mask the
 * excess.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

struct line_block {
    __m128i part[4];
};

static inline struct line_block block_load(const char *at)
{
    struct line_block b;

    for (int i = 0; i < 4; i++)
        b.part[i] = _mm_loadu_si128((const __m128i *)(at + 16 * i));
    return b;
}

#define BLOCK_MASK(x, test)                                                                        \
    ({                                                                                             \
        uint64_t mask_ = 0;                                                                        \
        for (int i_ = 0; i_ < 4; i_++) {                                                           \
            __m128i x = b->part[i_];                                                               \
            mask_ |= (uint64_t)(unsigned)_mm_movemask_epi8(test) << (16 * i_);                     \
        }                                                                                          \
        mask_;                                                                                     \
    })

static inline uint64_t block_eq(const struct line_block *b, char c)
{
    const __m128i all = _mm_set1_epi8(c);

    return BLOCK_MASK(x, _mm_cmpeq_epi8(x, all));
}

/* Bytes that are c once bit 0x20 is set: '{' and '[' have the same other bits, '}' and ']' too. */
static inline uint64_t block_eq_20(const struct line_block *b, char c)
{
    const __m128i all = _mm_set1_epi8(c);
    const __m128i bit = _mm_set1_epi8(0x20);

    return BLOCK_MASK(x, _mm_cmpeq_epi8(_mm_or_si128(x, bit), all));
}

static inline uint64_t block_controls(const struct line_block *b)
{
    const __m128i last = _mm_set1_epi8(0x1f);

    return BLOCK_MASK(x, _mm_cmpeq_epi8(_mm_min_epu8(x, last), x));
}

/* Quotes, backslashes and control characters among the first sixteen bytes: most strings are
 * shorter. */
static inline unsigned block_stops16(const char *at)
{
    __m128i x = _mm_loadu_si128((const __m128i *)at);
    __m128i quotes = _mm_cmpeq_epi8(x, _mm_set1_epi8('"'));
    __m128i slashes = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));
    __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x);

    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, slashes), controls));
}

#else

struct line_block {
    unsigned char byte[64];
};

static inline struct line_block block_load(const char *at)
{
    struct line_block b;

    memcpy(b.byte, at, sizeof(b.byte));
    return b;
}

#define BLOCK_MASK(x, test)                                                                        \
    ({                                                                                             \
        uint64_t mask_ = 0;                                                                        \
        for (int i_ = 0; i_ < 64; i_++) {                                                          \
            unsigned char x = b->byte[i_];                                                         \
            mask_ |= (uint64_t)(test) << i_;                                                       \
        }                                                                                          \
        mask_;                                                                                     \
    })

static inline uint64_t block_eq(const struct line_block *b, char c)
{
    return BLOCK_MASK(x, x == (unsigned char)c);
}

static inline uint64_t block_eq_20(const struct line_block *b, char c)
{
    return BLOCK_MASK(x, (x | 0x20) == (unsigned char)c);
}

static inline uint64_t block_controls(const struct line_block *b)
{
    return BLOCK_MASK(x, x < 0x20);
}

static inline unsigned block_stops16(const char *at)
{
    unsigned mask = 0;

    for (unsigned i = 0; i < 16; i++)
        mask |= (unsigned)(at[i] == '"' || at[i] == '\\' || (unsigned char)at[i] < 0x20) << i;
    return mask;
}

#endif

/* The first of these characters, or stop. */
static inline const char *block_string_stop(const char *at, const char *stop)
{
    while (at < stop) {
        unsigned stops = block_stops16(at);

        if (stops) {
            at += __builtin_ctz(stops);
            return at < stop ? at : stop;
        }
        at += 16;
    }
    return stop;
}

/* A mask of the first n bits. */
static inline uint64_t block_first(uint64_t n)
{
    return n < 64 ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;
}

/* The bytes that are escaped by a backslash before them. *carry: whether the previous block ended
 * with such a backslash; updated for this block. */
static inline uint64_t block_escaped(uint64_t slashes, uint64_t *carry)
{
    uint64_t escaped = *carry;

    slashes &= ~*carry;
    *carry = 0;
    while (slashes) {
        uint64_t slash = slashes & -slashes;

        escaped |= slash << 1;
        *carry = slash >> 63;
        slashes &= ~(slash | slash << 1);
    }
    return escaped;
}

/* Each bit becomes the parity of the bits up to it, which turns quotes into the ranges they enclose
 * (including the opening quote, without the closing one). */
static inline uint64_t block_inside(uint64_t quotes)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        quotes ^= quotes << shift;
    return quotes;
}
