/*
 * Keys and tokens that must never be shown.
 *
 * Whoever reads a key registers it here; everything that leaves for a log, a terminal, a transcript
 * or an error goes through secret_scrub() once, at the exit. Registered values stay for the life of
 * the process (at most 64; shorter than 8 bytes are not registered, they would scrub plain words).
 * Safe from any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

void secret_add(struct str value);

/* Replaces every registered value in the buffer by "[hidden]". */
void secret_scrub(struct buf *text);

/* Same for a fixed, NUL-terminated text, such as struct err's. */
void secret_scrub_text(char *text, size_t size);

/* For a person to recognise a key: "sk-a…wxyz (51 characters)". */
void secret_mask(struct str value, struct buf *out);
