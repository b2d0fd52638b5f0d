/*
 * Tokens of MCP servers, in $TENAX_HOME/mcp-auth.json, which only the user can read. Every token
 * read or written is registered as a secret. Any thread.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"

struct cancel;
struct err;
struct mcp_server;

#define TOKEN_MAX ((size_t)16 << 10) /* of each text */

struct mcp_token {
    struct buf access, refresh, scope;
    struct buf client_id, client_secret, method; /* "none", "client_secret_basic", "…_post" */
    struct buf issuer, endpoint, resource, redirect;
    int64_t expires_ms; /* wall clock; 0: unknown */
};
#define MCP_TOKEN_INIT                                                                             \
    {                                                                                              \
        .access = BUF_INIT(TOKEN_MAX), .refresh = BUF_INIT(TOKEN_MAX),                             \
        .scope = BUF_INIT(TOKEN_MAX), .client_id = BUF_INIT(TOKEN_MAX),                            \
        .client_secret = BUF_INIT(TOKEN_MAX), .method = BUF_INIT(TOKEN_MAX),                       \
        .issuer = BUF_INIT(TOKEN_MAX), .endpoint = BUF_INIT(TOKEN_MAX),                            \
        .resource = BUF_INIT(TOKEN_MAX), .redirect = BUF_INIT(TOKEN_MAX)                           \
    }
void mcp_token_release(struct mcp_token *t);

/* The descriptor of the lock, closed to give it up; another process may be renewing a token. -1. */
int mcp_token_lock(const char *home, struct cancel *cancel, struct err *err);

/* ret: MCP_TOKEN_INIT. ERR_NOT_FOUND: there is none. */
int mcp_token_load(const char *home, const struct mcp_server *s, struct mcp_token *ret,
                   struct err *err);
/* With the lock. t NULL: it is removed. */
int mcp_token_save(const char *home, const struct mcp_server *s, const struct mcp_token *t,
                   struct err *err);
