/*
 * The commands after "/" that match the typed text, best first: the exact name, an exact alias,
 * names that begin with it, aliases that do, and names that contain the letters (fuzzy.h). UI
 * thread.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct answer;
struct completer_command;

void complete_slash(const struct completer_command *commands, size_t count, struct str typed,
                    struct answer *ret);
