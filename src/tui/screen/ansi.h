/*
 * Escape sequences in the text of others: where they end, and what of them is wanted.
 *
 * Pure functions on a whole piece of text; bytes that come in portions go through base/plain.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "tui/screen/style.h"

/* Bytes of the sequence at the start of s, which begins with ESC. One without an end is only its
 * first two bytes: what follows is shown. */
size_t ansi_length(struct str s);
/* SGR: changes *style, where "reset" means base. False: it is another sequence. */
bool ansi_style(struct str sequence, struct style base, struct style *style);
/* OSC 8: the target of a link that begins, empty where one ends. False: another sequence. */
bool ansi_link(struct str sequence, struct str *ret_target);
