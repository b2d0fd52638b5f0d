/*
 * Logins to MCP servers, for the command mcp. Main thread.
 */
#pragma once

struct cmd;
struct conf;
struct err;
struct mcp_client;
struct mcp_server;
struct net;

#define MCP_MAX_LOGINS 3 /* in a row */

/* What the functions below work with; lent. */
void mcp_login_use(struct net *net, const struct conf *conf);
/* The exit code. */
int mcp_login(struct cmd *c, const struct mcp_server *s);
int mcp_logout(struct cmd *c, const struct mcp_server *s);
/* The server wants one, or more than the last one covers; it is connected anew then. */
int mcp_login_again(struct cmd *c, struct mcp_client *client, struct err *err);
