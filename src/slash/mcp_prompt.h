/*
 * Prompts of MCP servers as commands: "/mcp__server__prompt words". The commands' thread.
 */
#pragma once

#include "slash/slash.h"

struct arena;
struct cancel;
struct host;

/* Its arguments begin with the name of the prompt. */
extern const struct slash_command slash_mcp_prompt_entry;

/* Whether a server has a prompt of this name; waits for one that connects and may have it. */
bool mcp_prompt_is(struct host *h, struct str name, struct cancel *cancel);
void mcp_prompt_list(struct host *h, struct arena *arena, slash_item_vec *ret);
