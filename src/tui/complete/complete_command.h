/*
 * fileSuggestion: a command from the settings that finds files for "@" in place of the list.
 *
 * It gets {"query": "src/ma"} on standard input, runs in the folder with CLAUDE_PROJECT_DIR and
 * TENAX_PROJECT_DIR set, and says a name a line, best first. Any thread; waits for it.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct answer;
struct cancel;
struct conf;

/* Whether there is one that may run: disableAllHooks and allowManagedHooksOnly hold here, too. */
bool complete_command_is_set(const struct conf *conf);
/* Its matches. If the command fails, the only match is the error with its reason. False: it was
 * cancelled. */
bool complete_command_run(const struct conf *conf, const char *dir, struct str query,
                          struct cancel *cancel, struct answer *a);
