/*
 * sha256: FIPS 180-4. Whole blocks are read where they lie; only the rest of a portion is copied.
 * No state but the caller's.
 */
#include "base/sha256.h"

#include <string.h>

#define BLOCK 64

static const uint32_t round_words[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn_right(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t read_big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void take_block(uint32_t state[static 8], const unsigned char *block)
{
    uint32_t w[64];
    /* Eight variables, not an array that is shifted: they stay in registers. */
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

    for (int i = 0; i < 16; i++)
        w[i] = read_big_endian(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t x = turn_right(w[i - 15], 7) ^ turn_right(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t y = turn_right(w[i - 2], 17) ^ turn_right(w[i - 2], 19) ^ w[i - 2] >> 10;

        w[i] = w[i - 16] + x + w[i - 7] + y;
    }
    for (int i = 0; i < 64; i++) {
        uint32_t x = turn_right(e, 6) ^ turn_right(e, 11) ^ turn_right(e, 25);
        uint32_t y = turn_right(a, 2) ^ turn_right(a, 13) ^ turn_right(a, 22);
        uint32_t choice = g ^ (e & (f ^ g));
        uint32_t majority = (a & b) | (c & (a | b));
        uint32_t t = h + x + choice + round_words[i] + w[i];

        h = g;
        g = f;
        f = e;
        e = d + t;
        d = c;
        c = b;
        b = a;
        a = t + y + majority;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void sha256_init(struct sha256 *s)
{
    *s = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                   0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *s, struct str bytes)
{
    size_t have = s->len % BLOCK;

    s->len += bytes.len;
    if (have) {
        struct str first = str_first(bytes, BLOCK - have);

        if (first.len)
            memcpy(s->block + have, first.ptr, first.len);
        if (have + first.len < BLOCK)
            return;
        take_block(s->state, s->block);
        bytes = str_from(bytes, first.len);
    }
    for (; bytes.len >= BLOCK; bytes = str_from(bytes, BLOCK))
        take_block(s->state, (const unsigned char *)bytes.ptr);
    if (bytes.len)
        memcpy(s->block, bytes.ptr, bytes.len);
}

void sha256_end(struct sha256 *s, char out[static SHA256_HEX + 1])
{
    uint64_t bits = s->len * 8;
    size_t have = s->len % BLOCK;
    char pad[BLOCK + 8] = {(char)0x80};
    size_t zeros = (have < BLOCK - 8 ? BLOCK : 2 * BLOCK) - 8 - have;

    for (int i = 0; i < 8; i++)
        pad[zeros + 7 - (size_t)i] = (char)(bits >> 8 * i);
    sha256_add(s, str_make(pad, zeros + 8));
    for (int i = 0; i < SHA256_HEX; i++)
        out[i] = "0123456789abcdef"[s->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    out[SHA256_HEX] = '\0';
}

void sha256_hex(struct str bytes, char out[static SHA256_HEX + 1])
{
    struct sha256 s;

    sha256_init(&s);
    sha256_add(&s, bytes);
    sha256_end(&s, out);
}
