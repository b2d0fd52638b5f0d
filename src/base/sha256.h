/*
 * SHA-256, for telling contents apart: what has the same digest is taken to be the same bytes.
 */
#pragma once

#include "base/str.h"

#define SHA256_HEX 64

/* The digest in lower-case hexadecimal, terminated. */
void sha256_hex(struct str bytes, char out[static SHA256_HEX + 1]);
