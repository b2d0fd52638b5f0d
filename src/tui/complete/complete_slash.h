/*
 * The commands behind "/" that fit what is typed, best first: the one of that very name, the one
 * that is also called so, those that begin so, those that have another name that does, and those
 * that have the letters in them (fuzzy.h). UI thread.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct answer;
struct completer_command;

void complete_slash(const struct completer_command *commands, size_t count, struct str typed,
                    struct answer *ret);
