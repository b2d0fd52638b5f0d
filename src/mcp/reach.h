/*
 * Reaching the server of a tool that is not there yet: how all servers are, which one a tool's name
 * belongs to, and waiting for it. Any thread.
 */
#pragma once

#include "agent/extra.h"
#include "base/str.h"

struct buf;
struct cancel;
struct err;
struct mcp;
struct mcp_client;

void mcp_reach_servers(const struct mcp *m, struct extra_servers *ret);
/* CONNECTED, too, when it is no server's. */
enum extra_state mcp_reach_state(const struct mcp *m, struct str tool);
/* Waits until the servers of these tools (blanks between; empty: all servers) have connected or
 * failed; those named that have failed are tried again, unless that was just done. */
void mcp_reach_await(struct mcp *m, struct str tools, struct cancel *cancel);
/* The server of this tool, connected, and what it calls the tool; NULL with the reason. */
struct mcp_client *mcp_reach_tool(struct mcp *m, struct str tool, struct cancel *cancel,
                                  struct buf *ret_raw, struct err *err);
/* The scopes that a login should have: those that the server named last, and those granted before.
 * home: where tokens are. */
void mcp_reach_scope(struct mcp_client *c, const char *home, struct buf *ret);
