/*
 * ListMcpResourcesTool and ReadMcpResourceTool: what servers offer to be read. Rows made at run
 * time, offered while a connected server has resources. Run on tool threads.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct buf;
struct cancel;
struct err;
struct mcp;
struct tool_entry;

#define MCP_RESOURCE_TOOLS 2

/* MCP_RESOURCE_TOOLS rows, which live as long as m. */
void mcp_resource_tools(struct mcp *m, struct tool_entry *ret);

/* For a prompt that names a resource of server i: a line for the transcript, and the text for the
 * model. Waits for a server that connects. */
int mcp_resource_attach(struct mcp *m, size_t i, struct str uri, struct cancel *cancel,
                        struct buf *ret_line, struct buf *ret_text, struct err *err);
