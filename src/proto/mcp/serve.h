/*
 * Our tools for programs that speak the Model Context Protocol (`tenax mcp serve`).
 *
 * A peer is one client. A transport (serve_stdio.c, serve_http.c) gives each of its messages to
 * serve_take(), on any thread and several at once; a request is answered before that returns. Calls
 * take the same way as those of a model: hooks, rules, mode. What would ask the user becomes an
 * elicitation of the client that made the call, where it has that, else an error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct cancel;
struct conf;
struct err;
struct host;
struct json;
struct serve;
struct serve_call;
struct serve_peer;

#define SERVE_MAX_MESSAGE ((size_t)16 << 20) /* of a client */
#define SERVE_MAX_CALLS 32                   /* of a client that run at the same time */

/* Where messages that belong to one request go. send() may be called from several threads. */
struct serve_way {
    void (*send)(void *arg, struct str message);
    void *arg;
};

/* host: with only_calls. never_asks: what would ask is refused, whatever the client can do. */
struct serve *serve_new(struct host *host, bool never_asks, struct cancel *cancel, struct err *err);
void serve_free(struct serve *s); /* after its peers; NULL is fine */

struct serve_peer *serve_peer_new(struct serve *s);
void serve_peer_end(struct serve_peer *p);  /* cancels its calls, and there will be no more */
void serve_peer_free(struct serve_peer *p); /* no thread is in serve_take() with it */

enum serve_kind {
    SERVE_BAD, /* not a message of JSON-RPC */
    SERVE_REQUEST,
    SERVE_NOTIFICATION,
    SERVE_ANSWER,
};
enum serve_kind serve_kind(const struct json *message);
/* A request that may take long, and for which the client may be asked something. */
bool serve_is_call(const struct json *message);
/* The version of a message that carries it (2026-07-28 and later); empty: it is of a session. */
struct str serve_version(const struct json *message);
void serve_take(struct serve_peer *p, const struct json *message, const struct serve_way *way);
/* The same in two steps, for a call: from the first on it can be cancelled, and its id is in use.
 * NULL: it was refused. The second runs and answers it; message and way live as long. */
struct serve_call *serve_call_new(struct serve_peer *p, const struct json *message,
                                  const struct serve_way *way);
void serve_call_run(struct serve_call *c);
/* Answers without a peer. code: of JSON-RPC; id NULL: null. */
void serve_refuse(const struct serve_way *way, const struct json *id, int code, const char *text);

/* Until standard input ends or the token is set. */
int serve_stdio(struct serve *s, struct cancel *cancel, struct err *err);

struct serve_http {
    const char *address; /* "127.0.0.1:8080"; port 0: any */
    const char *home;    /* where the file with the token is */
    bool no_token;
};
/* Until the token is set. Says on standard error where it listens. ERR_BAD_INPUT: an address that
 * is not of this machine alone. */
int serve_http(struct serve *s, const struct serve_http *spec, struct cancel *cancel,
               struct err *err);
