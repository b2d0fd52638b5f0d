/*
 * SHA-256, for telling contents apart: what has the same digest is taken to be the same bytes.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

#define SHA256_HEX 64

/* The digest in lower-case hexadecimal, terminated. */
void sha256_hex(struct str bytes, char out[static SHA256_HEX + 1]);

/* The same over bytes that come in portions. */
struct sha256 {
    uint32_t state[8];
    uint64_t len; /* bytes so far */
    unsigned char block[64];
};
void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, struct str bytes);
void sha256_end(struct sha256 *s, char out[static SHA256_HEX + 1]);
