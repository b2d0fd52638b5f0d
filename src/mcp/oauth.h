/*
 * Logins to MCP servers (OAuth 2.1): the authorization server is found, a client registered, the
 * user sent to a browser, and the code that comes back exchanged for tokens, which are kept
 * (token.h).
 *
 * Everything waits on the caller's thread and ends promptly when the token is set. Nothing but what
 * OAuth needs goes to an authorization server: no configured header, and over plain HTTP only to
 * this machine or the server's own host. Errors never hold a token or a code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct cancel;
struct err;
struct mcp_server;
struct mcp_token;
struct net;

struct oauth {
    struct net *net;
    const char *home; /* where tokens are kept */
    const struct mcp_server *server;
    struct cancel *cancel;
};

struct oauth_login {
    const char *client_secret; /* of a configured client; NULL: none */
    struct str scope;          /* wanted beside what the server asks for; or empty */
    /* Shows the address to the user, who logs in there. */
    int (*open)(void *arg, const char *url, struct err *err);
    /* Reads the address that the browser was sent to in the end. NULL: it comes to a port of this
     * machine. */
    int (*pasted)(void *arg, struct buf *ret, struct err *err);
    void *arg;
};

/* ERR_DENIED: the user or the server said no; ERR_AUTH, ERR_PROTOCOL, ERR_NETWORK, ERR_TIMEOUT. */
int oauth_login(const struct oauth *o, const struct oauth_login *login, struct err *err);

/* A token that is good for a while. stale: one that the server has refused; another process may
 * have renewed it since. ret: MCP_TOKEN_INIT. ERR_NOT_FOUND: there is none; ERR_AUTH: a login is
 * needed. */
int oauth_token(const struct oauth *o, struct str stale, struct mcp_token *ret, struct err *err);

/* A parameter of a WWW-Authenticate header: "scope", "error"; empty: it has none. */
void oauth_challenge(struct str header, const char *name, struct buf *ret);
