/*
 * Whether a simple command only reads, as far as it can be told from its words.
 *
 * Everything here is a list of what is known. What is not on it is not read-only.
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

/* find with an action, watch, setsid, flock: they run or remove what a prefix does not show. */
bool shell_part_runs_others(const struct shell_part *p);
