/*
 * What an MCP server's answer to tools/call becomes for the model: text and images, everything else
 * as files.
 */
#pragma once

struct err;
struct json;
struct tool_call;
struct tool_result;

/* server and tool: for the lines that say where something is from. */
int mcp_result_read(const struct json *result, const char *server, const char *tool,
                    struct tool_call *call, struct tool_result *ret, struct err *err);
