/*
 * What the model calls the tools of servers: mcp__<server>__<tool>.
 *
 * Characters outside [A-Za-z0-9_-] become "_". Where two tools would have the same name, the one
 * whose own name needed no change keeps it, else the first by name; the others get six digits of a
 * digest appended. Names longer than providers take are cut the same way.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

#define MCP_MAX_NAME 64

struct buf;

struct mcp_named {
    struct str server, tool; /* as the server calls them */
    char name[MCP_MAX_NAME + 1];
};

/* "mcp__my_server__" of "my server". */
void mcp_name_prefix(struct str server, struct buf *ret);
void mcp_names_make(struct mcp_named *list, size_t count);
