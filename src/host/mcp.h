/*
 * The MCP servers of a session as part of the host, and which project servers the user has
 * approved.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct cancel;
struct conf;
struct err;
struct host;
struct json;
struct mcp;
struct mcp_changes;
struct mcp_server;
struct sdk_link;
struct strv;

struct mcp *host_mcp(struct host *h);
/* Their list, as system/init and mcp_status have it. */
void host_write_mcp(struct host *h, bool tools, struct buf *ret);

/* Servers that a client brings: mcp_set(). */
int host_set_servers(struct host *h, const struct json *servers, struct sdk_link *link,
                     struct mcp_changes *ret, struct err *err);

/* These act at once, on the server with this number (mcp_find()). */
int host_toggle_server(struct host *h, size_t i, bool on, struct err *err);
int host_approve_server(struct host *h, size_t i, struct cancel *cancel, struct err *err);
/* Shows an address to log in at, waits for the user, and connects. */
int host_login_server(struct host *h, size_t i, struct cancel *cancel, struct err *err);

/* What mcp_sources.approved wants. A store that is not there yet is not made. */
int mcp_approvals(const struct conf *conf, struct strv *ret, struct cancel *cancel,
                  struct err *err);
/* The user approves a server of the project as its entry is now. */
int mcp_approve(const struct conf *conf, const struct mcp_server *s, struct cancel *cancel,
                struct err *err);
