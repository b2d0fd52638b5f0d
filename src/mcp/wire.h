/*
 * How messages travel to one MCP server and back. Used by that server's own thread alone
 * (client.c), whose mailbox gets the mail of processes and connections.
 *
 * What comes is given to `message`, one whole JSON text at a time; a request that cannot be
 * delivered or answered any more to `undone`; the end of the connection to `lost`, once, after
 * which the wire is only good for wire_free().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct err;
struct mail;
struct mailbox;
struct mcp_server;
struct net;
struct sandbox;
struct sdk_link;
struct strv;
struct wire;

#define WIRE_MAX_MESSAGE ((size_t)16 << 20)
#define WIRE_MAX_NOISE 100 /* lines in a row that are no JSON */

struct wire_spec {
    const struct mcp_server *server;
    const char *dir;         /* where a process works */
    char *const *env;        /* the user's */
    const char *home;        /* where tokens of logins are; NULL: nowhere */
    struct sandbox *sandbox; /* of commands; NULL: there is none */
    const char *log;         /* file for what a process writes to standard error; NULL: nowhere */
    struct net *net;
    struct sdk_link *link; /* to servers in the session's client; NULL: there is none */
    struct mailbox *mail;  /* the thread's own */
    int64_t (*message)(void *arg,
                       struct str json); /* the id of the request that it answers, or 0 */
    void (*undone)(void *arg, int64_t id, const struct err *err);
    void (*lost)(void *arg, const struct err *err);
    void *arg;
};

struct wire_kind {
    int (*send)(struct wire *w, struct str message, int64_t id, const struct strv *headers,
                struct err *err);
    bool (*mail)(struct wire *w, struct mail *m);
    void (*ready)(struct wire *w); /* the version is agreed on; NULL: makes no difference */
    void (*tick)(struct wire *w);  /* NULL: due_ms stays 0 */
    /* Nobody waits for the answer to this request. True: the server knows it from this alone; NULL:
     * it has to be told. */
    bool (*drop)(struct wire *w, int64_t id);
    void (*free)(struct wire *w);
};

/* The first member of each kind. */
struct wire {
    const struct wire_kind *kind;
    struct wire_spec spec;
    int64_t due_ms;   /* when tick() wants to be called (clock_mono_ms()); 0: never */
    char scope[500];  /* that the server wants beside those of the login; or empty */
    char version[32]; /* of the protocol, once it is agreed on; empty: not yet */
    /* Requests stand for themselves: no session, and no stream that is taken up again. */
    bool is_modern;
    bool has_ended_session; /* lost, but the server can be reached at once, with a new session */
    int64_t refused_id;     /* a request that this kept from being looked at; 0: none */
};

/* ERR_NOT_FOUND, ERR_DENIED: the program cannot be started. */
struct wire *wire_stdio_new(const struct wire_spec *spec, struct err *err);
struct wire *wire_sdk_new(const struct wire_spec *spec, struct err *err);
struct wire *wire_http_new(const struct wire_spec *spec, struct err *err);

/* Variables that a server's programs get: a project's server those that hold no secret, others all
 * but keys of model providers. */
void wire_environment(const struct mcp_server *server, char *const *env, struct strv *ret);

/* id: of a request that wants an answer; 0: of none. headers: "name: value", for connections that
 * have them; NULL: none. */
static inline int wire_send(struct wire *w, struct str message, int64_t id,
                            const struct strv *headers, struct err *err)
{
    return w->kind->send(w, message, id, headers, err);
}
/* Whether the mail was the wire's; the caller frees it. */
static inline bool wire_mail(struct wire *w, struct mail *m)
{
    return w->kind->mail(w, m);
}
/* Waits for a mail that is_last() knows, at most until then; what else comes is sent again to the
 * same mailbox. For the end of a wire. */
void wire_await(struct wire *w, int64_t until_ms,
                bool (*is_last)(struct wire *w, const struct mail *m));
/* Ends it: a process has a second to go by itself. NULL is fine. */
static inline void wire_free(struct wire *w)
{
    if (w)
        w->kind->free(w);
}
