/*
 * The children of a session: implements agent/spawn.h.
 *
 * What a child shares with the session (rules, models, hooks, network, texts) belongs to the host
 * and outlives it; the rest (workspace, conversation, transcript) ends with it. Any thread, except
 * children_free().
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct agent_input;
struct buf;
struct cancel;
struct children;
struct err;
struct host;
struct spawner;

struct children *children_new(struct host *h);
/* Ends all of them and waits. No other can be started afterwards. */
void children_free(struct children *all);
/* Like agent_ask_hooks(), for the agent with this id. 0 if it does not exist (any more). */
int children_ask_hooks(struct children *all, const char *id, const char *event, struct str members,
                       struct cancel *cancel, struct buf *ret_reason, struct err *err);
/* Like agent_send(), for the agent with this id. False, leaving the input unchanged, if it does not
 * exist (any more). */
bool children_send(struct children *all, const char *id, struct agent_input *input);
struct spawner *children_spawner(struct children *all);
