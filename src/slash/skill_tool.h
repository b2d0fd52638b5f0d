/*
 * The Skill tool: the model calls commands that the user would type after a slash.
 *
 * A skill becomes a text in the user's place, after the results of the step, and its grants apply
 * to the agent that called it until its turn ends. One that grants permissions or brings hooks is
 * asked about; one that only brings text is not. A skill with `context: fork` runs as a subagent,
 * and its last answer is the result.
 */
#pragma once

#include "base/str.h"

struct buf;
struct cancel;
struct err;
struct host;
struct identity;
struct own_command;
struct slash_call;
struct spawner;
struct own_now;

extern const char skill_md[];
extern const char skill_schema[];

/* The text of a skill as the prompt of a subagent, until it rests: its last answer. tool_id: the
 * call that asks for it; empty: the user does. */
int skill_run_apart(struct spawner *spawner, const struct identity *by, struct str tool_id,
                    const struct own_command *c, const struct slash_call *text,
                    struct cancel *cancel, struct buf *ret, struct err *err);
/* Gives the host the tool and the list of skills (host_set_listing()). n lives as long as h. */
int skill_tool_add(struct host *h, struct own_now *n, struct err *err);
