/*
 * The children of a session: the host's side of agent/spawn.h.
 *
 * What a child shares with the session (rules, models, hooks, network, texts) is the host's and
 * outlives it; the rest (workspace, conversation, transcript) ends with it. Any thread, except
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
/* Ends them all at once, and waits for them. No other one can be started from here on. */
void children_free(struct children *all);
/* As agent_ask_hooks(), of the agent with this id. 0: it is not there (any more). */
int children_ask_hooks(struct children *all, const char *id, const char *event, struct str members,
                       struct cancel *cancel, struct buf *ret_reason, struct err *err);
/* For the agent with this id, as agent_send() has it; false: it is not there (any more), and the
 * input is as it was. */
bool children_send(struct children *all, const char *id, struct agent_input *input);
struct spawner *children_spawner(struct children *all);
