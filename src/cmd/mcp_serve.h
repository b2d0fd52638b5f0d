/*
 * `tenax mcp serve`, a verb of the command mcp.
 */
#pragma once

struct cmd;

int mcp_serve(struct cmd *c); /* the exit code */
