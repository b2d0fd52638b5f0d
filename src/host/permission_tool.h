/*
 * --permission-prompt-tool mcp__server__tool: a tool of an MCP server answers in place of the user.
 *
 * It is called with {"tool_name","input","tool_use_id"} and answers with a text that is
 * {"behavior":"allow","updatedInput"?} or {"behavior":"deny","message"?}. Anything else, and a
 * server that cannot be reached, denies the call and says why.
 */
#pragma once

struct asker;
struct cancel;
struct host;

struct permission_tool;

struct permission_tool *permission_tool_new(struct host *h, const char *name); /* name is lent */
void permission_tool_free(struct permission_tool *t);                          /* NULL is fine */
/* Asks the tool for permissions, and whoever else there is for everything else. */
struct asker *permission_tool_asker(struct permission_tool *t);
/* Waits for its server; a notice says when it has no such tool. */
void permission_tool_await(struct permission_tool *t, struct cancel *cancel);
