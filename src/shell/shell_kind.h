/*
 * Whether a simple command only reads, as far as its words show.
 *
 * Everything here is a list of known cases. Anything else is not read-only.
 */
#pragma once

#include <stdbool.h>

struct shell;
struct shell_part;

/* A part that only reads: no option of it writes or runs something else. */
bool shell_part_is_read_only(const struct shell_part *p);
/* The same, seen together with what runs before it: p is one of the parts of s. reads:
 * shell_part_is_read_only(). */
bool shell_part_is_free(const struct shell *s, const struct shell_part *p, bool reads);

/* It does what the beginning of a command does not show, so that a rule for a beginning does not
 * allow it: find with an action, watch, setsid, flock, sort -o; and, when the rule names a verb,
 * npm test --prefix DIR and git log --output=FILE. */
bool shell_part_exceeds(const struct shell_part *p, bool any_verb);
