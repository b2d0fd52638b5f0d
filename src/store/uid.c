/*
 * Ids as numbers. Two lanes of multiply-and-fold over words of eight bytes; pure except for the
 * seed, which the kernel gave the process at its start.
 */
#include "store/uid.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The same for all of the process: the first caller sets it, others set the same. */
static uint64_t seed(void)
{
    static _Atomic uint64_t known;
    uint64_t value = atomic_load_explicit(&known, memory_order_relaxed);
    unsigned long random;

    if (value)
        return value;
    random = getauxval(AT_RANDOM); /* the address of 16 bytes */
    if (random)
        memcpy(&value, (const void *)random, sizeof(value));
    value |= 1;
    atomic_store_explicit(&known, value, memory_order_relaxed);
    return value;
}

static void mix(struct uid *u, uint64_t word)
{
    u->hi = fold(u->hi ^ word, 0xd6e8feb86659fd93u);
    u->lo = fold(u->lo + word, 0xa0761d6478bd642fu) ^ u->hi;
}

struct uid uid_of(struct str text)
{
    uint64_t start = seed();
    struct uid u = {start ^ 0x9e3779b97f4a7c15u, ~start};
    uint64_t word;
    size_t i;

    if (!text.len)
        return (struct uid){0};
    for (i = 0; text.len - i >= sizeof(word); i += sizeof(word)) {
        memcpy(&word, text.ptr + i, sizeof(word));
        mix(&u, word);
    }
    word = text.len;
    while (i < text.len)
        word = word << 8 | (unsigned char)text.ptr[i++];
    mix(&u, word);
    u.hi = fold(u.hi, 0xe7037ed1a0b428dbu);
    u.lo = fold(u.lo ^ u.hi, 0x8ebc6af09c88c6e3u) | 1; /* never none */
    return u;
}
