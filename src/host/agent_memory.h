/*
 * The memory of an agent type (`memory` in its definition): a folder that stays between sessions,
 * where the agent reads and writes without asking, and whose MEMORY.md it is given at its start.
 *
 *   user     <home>/agent-memory/<type>/
 *   project  .tenax/agent-memory/<type>/        shared with the project
 *   local    .tenax/agent-memory-local/<type>/  for this checkout
 */
#pragma once

#include "base/str.h"

struct buf;
struct conf;
struct workspace;

/* Makes the folder, permits it to the agent of w, and appends a reminder about it. Nothing if scope
 * is empty. */
void agent_memory_open(const struct conf *conf, struct workspace *w, struct str scope,
                       struct str type, struct buf *ret);
