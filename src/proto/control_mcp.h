/*
 * Control requests about MCP servers; for control.c.
 */
#pragma once

struct control_call;
struct err;
struct jw;

/* The members sdkMcpServers and mcpServers of initialize. */
int control_take_servers(struct control_call *call, struct err *err);

int control_mcp_status(struct control_call *call, struct jw *w, struct err *err);
int control_mcp_set_servers(struct control_call *call, struct jw *w, struct err *err);
int control_mcp_reconnect(struct control_call *call, struct jw *w, struct err *err);
int control_mcp_toggle(struct control_call *call, struct jw *w, struct err *err);
int control_mcp_message(struct control_call *call, struct jw *w, struct err *err);
