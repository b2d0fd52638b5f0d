/*
 * One connected MCP server: a separate thread owns the connection and all pending requests.
 *
 * It connects, finds out which protocol the server speaks, reads the lists, and then serves
 * requests of any thread. A lost connection to a URL is tried again at growing intervals, a process
 * that ended is started again with the next request (one that keeps dying is left alone for a
 * while). A request that was under way then fails and is not repeated, because it may have taken
 * effect.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "mcp/asked.h"
#include "mcp/lists.h"

struct cancel;
struct err;
struct json;
struct mcp_client;
struct mcp_server;
struct net;
struct sandbox;
struct sdk_link;

#define MCP_CALL_MS (10LL * 60 * 1000)      /* without any message about the call */
#define MCP_CALL_MAX_MS (4LL * 3600 * 1000) /* in all */
#define MCP_START_MS (30 * 1000)
#define MCP_START_MAX_MS (600 * 1000) /* whatever its settings say */

enum mcp_state {
    MCP_IDLE, /* it starts when it is first used */
    MCP_CONNECTING,
    MCP_CONNECTED,
    MCP_NEEDS_AUTH,
    MCP_FAILED,
};
/* "pending" (of the first two), "connected", "needs-auth", "failed" */
const char *mcp_state_name(enum mcp_state s);

/* What may be seen of it at a moment. */
struct mcp_look {
    enum mcp_state state;
    struct mcp_lists *lists; /* a reference of yours; NULL: not known */
    char error[500];         /* of FAILED and NEEDS_AUTH */
    char scope[500];         /* that a login should have, as the server said last; or empty */
    const char *code;        /* the same, in one word: "ECONNREFUSED" */
};

struct mcp_client_spec {
    const struct mcp_server *server; /* lent for the client's life, as all strings here */
    const char *dir;
    char *const *env;
    const char *home; /* where tokens of logins are; NULL: nowhere */
    const char *log;
    const char *cache;       /* file of the lists it had last; NULL: they are not kept */
    bool is_lazy;            /* it starts with the first request */
    int64_t delay_ms;        /* before it starts */
    struct sandbox *sandbox; /* for servers that want to be confined; NULL: there is none */
    struct net *net;
    struct sdk_link *link; /* NULL: there is no client with servers */
    mcp_roots_fn roots;    /* NULL: there are none */
    /* State or lists have changed. On the client's thread; must not block. */
    void (*changed)(void *arg);
    /* What the server says for people to read (notifications/message, of level error and above).
     * On the client's thread; must not block. NULL: not wanted. */
    void (*said)(void *arg, const char *server, struct str text);
    /* It was told that the user is done with a page that it had asked to be opened. As said(). */
    void (*done)(void *arg, const char *server, struct str id);
    mcp_ask_fn ask;  /* NULL: the user cannot be asked */
    bool can_sample; /* requests for a model's answer may be asked */
    void *arg;
};

struct mcp_client *mcp_client_new(const struct mcp_client_spec *spec, struct err *err);
/* Closes the connection, ends pending requests. Waits about a second at most. NULL is fine. */
void mcp_client_free(struct mcp_client *c);
const struct mcp_server *mcp_client_server(const struct mcp_client *c);

void mcp_client_look(struct mcp_client *c, struct mcp_look *ret);
unsigned mcp_client_changes(struct mcp_client *c); /* how often state or lists have changed */
/* Until it is connected or has failed, at most so long: 0, or -1 with the reason. One that is idle
 * is not waited for: reconnect it first. */
int mcp_client_wait(struct mcp_client *c, int64_t ms, struct cancel *cancel, struct err *err);
void mcp_client_reconnect(struct mcp_client *c); /* now, also after a failure */
/* The same; done is called once, on the client's thread, when it has connected (err NULL) or not.
 */
void mcp_client_reconnect_then(struct mcp_client *c, void (*done)(void *arg, const struct err *err),
                               void *arg);
/* Ends the connection for good; mcp_client_free() is still to be called. Does not wait. */
void mcp_client_stop(struct mcp_client *c);
/* It has failed, and that was a while ago: another try makes sense. */
bool mcp_client_has_rested(struct mcp_client *c);
/* The working folders have changed: the server is told. */
void mcp_client_roots_changed(struct mcp_client *c);

struct mcp_request {
    const char *method; /* "tools/call" */
    struct str params;  /* JSON object without _meta, or empty */
    struct str meta;    /* members of _meta, "\"a\":1", or empty */
    int64_t timeout_ms; /* 0: MCP_CALL_MS */
    /* "3/10", or the server's text. On the client's thread; must not block. NULL: not wanted. */
    void (*progress)(void *arg, struct str text);
    void *arg;
};

/* Sends a request and waits for its result, whose JSON is appended to ret. An error of the server
 * is ERR_BAD_INPUT with its text; ERR_TIMEOUT, ERR_NETWORK, ERR_AUTH, ERR_CANCELLED (the server is
 * notified). Any thread. */
int mcp_client_call(struct mcp_client *c, const struct mcp_request *request, struct cancel *cancel,
                    struct buf *ret, struct err *err);
