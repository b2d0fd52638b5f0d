/*
 * Braces of the shell: "a{b,c}" is "ab" and "ac", "{1..3}" is 1, 2 and 3.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct strv;

/* Appends all words that a word without quotes becomes; itself when it has no braces. False: there
 * are more than max of them, and some are missing. */
bool shell_braces(struct str word, size_t max, struct strv *ret);
