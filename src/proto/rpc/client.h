/*
 * Clients that speak JSON-RPC, and the sessions that each of them sees.
 *
 * service_run() is the main loop of `tenax acp` and `tenax app-server`. A client is a connection; a
 * view is one session as one client sees it: a place in the session's feed and a front of its asks.
 * What the messages mean is the protocol's business, a struct protocol each. Before a view is asked
 * something it has seen all events that came before. All of it runs on the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/ask.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "host/chore.h"
#include "proto/rpc/live.h"
#include "proto/rpc/rpc.h"
#include "sync/mailbox.h"

struct ask_front;
struct ask_mail;
struct cancel;
struct client;
struct event;
struct json;
struct observer;
struct server_conn;
struct service;
struct client_view;

struct protocol {
    bool is_bare; /* rpc.h */
    void *(*client_new)(struct client *c);
    void (*client_free)(void *own);
    void (*request)(struct client *c, struct rpc_call *call);
    void (*notified)(struct client *c, struct str method, const struct json *params);
    void (*taken_back)(struct client *c, struct rpc_call *call); /* NULL: not wanted */
    void *(*view_new)(struct client_view *v);
    void (*view_free)(void *own);
    void (*event)(struct client_view *v, const struct event *e);
    /* Ends with view_asked(), or at once with view_answer(). */
    void (*ask)(struct client_view *v, uint64_t id, const struct ask *ask);
    void (*withdrawn)(struct client_view *v,
                      int64_t request); /* NULL: the taking back says it all */
    void (*ended)(struct client *c);    /* its input is over: it interrupts what it has begun */
    void (*closed)(struct client *c,
                   struct str session); /* a session has ended; NULL: not wanted */
};

struct client {
    struct service *service;
    struct server_conn *conn;
    struct rpc *rpc;
    VEC(struct client_view *) views;
    void *own;      /* the protocol's */
    bool is_ended;  /* it says no more */
    bool is_closed; /* and the client is gone */
    size_t refs;
};

/* A request that is under way. */
struct view_ask {
    uint64_t id; /* asks.h */
    int64_t request;
};

struct client_view {
    struct client *client;
    struct live *live;
    struct observer *observer;
    struct ask_front *front;
    VEC(struct ask_mail *) put; /* asks that wait until the events before them were seen */
    VEC(struct view_ask) asked;
    bool is_held; /* events wait until the protocol lets them through; see also live->holds */
    void *own;    /* the protocol's */
};

struct service_spec {
    const struct protocol *protocol;
    struct live_table_spec table; /* except back */
    const char *socket;           /* where to listen; NULL: standard input and output */
    struct cancel *cancel;
};

/* -1: it cannot listen. */
int service_run(const struct service_spec *spec, struct err *err);

struct live_table *client_table(const struct client *c);
struct cancel *client_cancel(const struct client *c);
const struct live_table_spec *client_spec(const struct client *c);
void client_ref(struct client *c);
void client_unref(struct client *c);
/* The view of a session; NULL: it has none. */
struct client_view *client_view(const struct client *c, struct str session);
/* Every client of the process. */
void client_each(const struct client *c, void (*fn)(struct client *c, void *arg), void *arg);

/* from: a number of the feed (host/events/feed.h). */
struct client_view *view_new(struct client *c, struct live *l, uint64_t from);
void view_free(struct client_view *v);
void view_pump(struct client_view *v);
/* The same, only events with a lower number, also of one that is held. */
void view_pump_before(struct client_view *v, uint64_t seq);
/* The session's goal as it is now (goal_thread_json()), and the number of the next event: the goal
 * of all earlier ones is older. Any thread. */
uint64_t view_goal(struct live *l, struct buf *ret);
/* The client was sent a request about this ask. */
void view_asked(struct client_view *v, uint64_t id, int64_t request);
/* The ask of an answered request; 0: it is over. It is no longer pending. */
uint64_t view_take_asked(struct client_view *v, int64_t request);
void view_answer(struct client_view *v, uint64_t id,
                 struct ask_answer *answer); /* takes its content */
/* Requests about asks that are over are taken back now. */
void view_take_back_asks(struct client_view *v);

/* ---- Mail about a view ---- */

/* First member of a mail from another thread: run() on the loop, unless the view is gone. */
struct view_mail {
    struct mail mail;
    uint64_t view; /* view_number() */
    void (*run)(struct client_view *v, struct view_mail *m);
    void (*release)(struct view_mail *m); /* frees it, whether it ran or not */
};
extern const struct mail_kind view_mail_kind;
uint64_t view_number(const struct client_view *v);
struct mailbox *client_mailbox(const struct client *c); /* of the loop */

/* ---- Calls that take a chore ---- */

/* First member of a chore that answers a call when it comes back; freed without an answer, it
 * refuses. run() sets err, or adds the result to `result`. */
struct call_chore {
    struct chore chore;
    struct client *client;
    struct rpc_call *call;
    struct live *live; /* NULL: of no session */
    struct buf result;
    struct err err;
    void (*run)(struct call_chore *c);
    void (*answer)(struct call_chore *c); /* on the loop, when there was no error; NULL: answered
                                             with `result` */
    void (*failed)(struct call_chore *c); /* the same when there was one; NULL: refused */
    enum rpc_code (*code)(const struct err *err);
    void (*release)(struct call_chore *c); /* of what it has beside these; NULL: nothing */
};
/* size: of the struct it is the first member of. Takes the call, which may be NULL: then answer and
 * failed are given. */
void *call_chore_new(size_t size, struct client *c, struct rpc_call *call, struct live *l,
                     void (*run)(struct call_chore *c));
void call_chore_start(void *chore);
