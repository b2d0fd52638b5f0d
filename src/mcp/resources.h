/*
 * ListMcpResourcesTool and ReadMcpResourceTool: what servers offer to be read. Rows made at run
 * time, offered while a connected server has resources. Run on tool threads.
 */
#pragma once

#include <stddef.h>

struct mcp;
struct tool_entry;

#define MCP_RESOURCE_TOOLS 2

/* MCP_RESOURCE_TOOLS rows, which live as long as m. */
void mcp_resource_tools(struct mcp *m, struct tool_entry *ret);
