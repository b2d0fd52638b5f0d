/*
 * MCP servers that live in the client: messages travel as mcp_message control requests, in both
 * directions. One for each owner of a session; it outlives the session's servers.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct json;
struct mailbox;
struct sdk_link;
struct sdk_servers;

/* Requests go to the mailbox as line_mail (peer.h). */
struct sdk_servers *sdk_servers_new(struct mailbox *to);
void sdk_servers_free(struct sdk_servers *s); /* nothing uses the link any more */
struct sdk_link *sdk_servers_link(struct sdk_servers *s);

/* The client's response to one of our requests: its output, or (json NULL) the error it reported.
 * False when the id is none of ours, or no longer waited for. */
bool sdk_servers_answer(struct sdk_servers *s, struct str request_id, const struct json *output,
                        struct str error);
/* A message that a server sends by itself. False: no such server is connected. */
bool sdk_servers_message(struct sdk_servers *s, struct str server, const struct json *message);
/* The client is gone, or must not be waited for: what waits fails. */
void sdk_servers_close(struct sdk_servers *s);
void sdk_servers_reopen(struct sdk_servers *s); /* for the session that comes */
