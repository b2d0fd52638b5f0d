/*
 * What tools of servers said of themselves when the user let them run: a server that describes a
 * tool differently later may want something else of it.
 *
 * Kept in a file, by server as it is configured and by tool. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/sha256.h"
#include "base/str.h"

struct buf;
struct json;
struct mcp_known;
struct mcp_server;

struct mcp_known *mcp_known_new(const char *path);
void mcp_known_free(struct mcp_known *k); /* NULL is fine */

/* Whether the tool, one of a server's list, was let run when it said something else; ret_before:
 * its description then. */
bool mcp_known_differs(struct mcp_known *k, const struct mcp_server *s, const struct json *tool,
                       struct buf *ret_before);
/* The user lets it run as it describes itself now. */
void mcp_known_keep(struct mcp_known *k, const struct mcp_server *s, const struct json *tool);
