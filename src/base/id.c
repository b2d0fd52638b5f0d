/*
 * id: random ids from the kernel, or from a seeded sequence in tests. Any thread: the seeded state
 * is one atomic counter, mixed on the way out.
 */
#include "base/id.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"

static atomic_bool id_seeded;
static _Atomic uint64_t id_state;

/* Every event has an id: one call of the kernel serves a few of them. */
static _Thread_local uint64_t id_pool[32];
static _Thread_local size_t id_left;

static void id_refill(void)
{
    while (getrandom(id_pool, sizeof(id_pool), 0) != (ssize_t)sizeof(id_pool)) {
        if (errno != EINTR)
            BUG("the kernel gives no random bytes");
    }
    id_left = ARRAY_LEN(id_pool);
}

void id_seed(uint64_t seed)
{
    atomic_store(&id_state, seed);
    atomic_store(&id_seeded, true);
}

uint64_t id_random(void)
{
    uint64_t x;

    if (atomic_load(&id_seeded)) {
        /* splitmix64: a counter in big steps, well mixed. */
        x = atomic_fetch_add(&id_state, 0x9E3779B97F4A7C15u) + 0x9E3779B97F4A7C15u;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        return x ^ (x >> 31);
    }
    if (!id_left)
        id_refill();
    x = id_pool[--id_left];
    id_pool[id_left] = 0; /* given out: not to be found in memory again */
    return x;
}

void id_fill(char *out, size_t n)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    /* Ten digits of base 62 fit into 64 bits with little bias. */
    for (size_t i = 0; i < n;) {
        uint64_t x = id_random();

        for (int k = 0; k < 10 && i < n; k++, i++) {
            out[i] = digits[x % 62];
            x /= 62;
        }
    }
}

/* The last n hexadecimal digits of x. Not by printf(): every event has a uuid. */
static void id_hex(char *out, size_t n, uint64_t x)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = n; i-- > 0; x >>= 4)
        out[i] = digits[x & 15];
}

void id_uuid(char out[static ID_UUID_LEN + 1])
{
    uint64_t a = (id_random() & ~(uint64_t)0xF000) | 0x4000;
    uint64_t b = (id_random() & ~((uint64_t)3 << 62)) | (uint64_t)1 << 63;

    memcpy(out, "........-....-....-....-............", ID_UUID_LEN + 1);
    id_hex(out, 8, a >> 32);
    id_hex(out + 9, 4, a >> 16);
    id_hex(out + 14, 4, a);
    id_hex(out + 19, 4, b >> 48);
    id_hex(out + 24, 12, b);
}

/* Every name in a folder of sessions is asked about: a table, because a chain of comparisons would
 * cost as much as to read the folder. */
static bool id_are_hex(const char *s, size_t n)
{
    static const bool hex[256] = {
        ['0'] = true, ['1'] = true, ['2'] = true, ['3'] = true, ['4'] = true, ['5'] = true,
        ['6'] = true, ['7'] = true, ['8'] = true, ['9'] = true, ['a'] = true, ['b'] = true,
        ['c'] = true, ['d'] = true, ['e'] = true, ['f'] = true, ['A'] = true, ['B'] = true,
        ['C'] = true, ['D'] = true, ['E'] = true, ['F'] = true,
    };
    bool all = true;

    for (size_t i = 0; i < n; i++)
        all &= hex[(unsigned char)s[i]];
    return all;
}

bool id_is_uuid(struct str s)
{
    return s.len == ID_UUID_LEN && s.ptr[8] == '-' && s.ptr[13] == '-' && s.ptr[18] == '-' &&
           s.ptr[23] == '-' && id_are_hex(s.ptr, 8) && id_are_hex(s.ptr + 9, 4) &&
           id_are_hex(s.ptr + 14, 4) && id_are_hex(s.ptr + 19, 4) && id_are_hex(s.ptr + 24, 12);
}

struct str id_make(char *out, size_t size, const char *prefix, size_t n)
{
    size_t len = strlen(prefix);

    if (len + n + 1 > size)
        BUG("no room for an id of %zu characters", len + n);
    memcpy(out, prefix, len);
    id_fill(out + len, n);
    out[len + n] = '\0';
    return str_make(out, len + n);
}
