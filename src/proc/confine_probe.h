/*
 * Whether the backends work here, found out by trying: what a distribution, a container or an
 * administrator forbids is in no version number. Private to this folder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Not, and why has the words. Some milliseconds each. */
bool confine_probe_landlock(char *ret_why, size_t size);
bool confine_probe_bubblewrap(char *ret_why, size_t size);
