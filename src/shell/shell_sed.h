/*
 * sed, as far as its words show what it does.
 */
#pragma once

#include <stdbool.h>

struct shell_part;
struct strv;

/* p is a sed command. Appends its files and says whether it changes them. False for a command not
 * fully understood, with some files appended perhaps. */
bool shell_sed_take(const struct shell_part *p, bool *ret_in_place, struct strv *ret_files);
