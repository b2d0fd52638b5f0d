/*
 * UTF-8 by the byte: decoding, checking, encoding.
 *
 * Lone surrogates (ED A0..BF xx) count as invalid here; json.h says where they are let through.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Bytes of the valid character at the start of s, or 0 when there is none. *ret_code
 * may be NULL. */
size_t utf8_decode(struct str s, uint32_t *ret_code);

/* How many bytes from the start are valid. Fast on ASCII. */
size_t utf8_valid_len(struct str s);

bool utf8_is_valid(struct str s);

/* Whether a character lets words be shown in another order than they stand: embeddings, overrides
 * and isolates of bidirectional text. */
bool utf8_turns_text(uint32_t code);
/* Whether it is invisible, changes the reading direction, or is unassigned; including control
 * characters except tab and newline. */
bool utf8_is_unseen(uint32_t code);

/* Writes 1 to 4 bytes and returns how many. Surrogates are written as three bytes. */
size_t utf8_encode(uint32_t code, char out[4]);
