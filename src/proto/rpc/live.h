/*
 * Sessions that are open in this process for clients: opened, found by id, closed.
 *
 * Opening, closing and whatever else may wait runs as chores (host/chore.h) that come back to the
 * loop: each session has a queue of chores, which run in order. Everything here is called on the
 * loop's thread; a session may be used by any number of clients. It is also on the control socket,
 * like every other session.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/id.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"
#include "host/host.h"
#include "proto/peer.h"

struct args;
struct cancel;
struct conf;
struct chores;
struct err;
struct hub;
struct live_table;
struct mail;
struct mailbox;
struct observer;
struct opening;
struct slash;

struct live {
    struct live_table *table;
    char id[ID_UUID_LEN + 1];
    struct conf *conf;
    struct host *host;
    struct slash *slash;
    struct chores *chores;
    struct strv notes; /* for the user, of its opening */
    struct peer_session control;
    bool is_public; /* on the control socket */
    size_t users;   /* views (proto/rpc/client.h) */
    size_t holds;   /* requests under way whose answers come before the events that they cause */
    bool is_closing;
    struct observer *observer; /* of a turn without users, which is closed when it ends; or NULL */
    VEC(struct opening *) reopen; /* wait until it is closed */
};

/* Which session: copied by live_open(). */
struct live_spec {
    const char *dir;    /* absolute; NULL: the folder of the resumed session, else ours */
    const char *resume; /* uuid; NULL: a new one */
    bool forks;         /* the resumed session is copied under a new id */
    bool is_unkept;
    const struct strv *folders; /* beside dir; NULL: none */
    struct str servers;         /* MCP servers of the client: {"name": entry}; empty: none */
    struct str settings;        /* of the client, over all others: an object; empty: none */
    struct str system, append;  /* the system prompt, and text appended to it; empty: unchanged */
    bool trusts;                /* the client has trusted the folder for this session */
};

/* On the loop's thread. live NULL: err says why; holder: {"pid","host"} of the process that has the
 * session, or empty. False: the client that asked has left; a session without users is then closed.
 */
typedef bool (*live_opened_fn)(void *arg, struct live *live, struct str holder,
                               const struct err *err);
typedef void (*live_closed_fn)(void *arg);

struct live_table_spec {
    const struct host_spec *host; /* what all sessions have in common; lent */
    struct mailbox *back;         /* of the loop, which gives chores to live_chore() */
    /* The settings of a folder; any thread. */
    int (*settings)(void *arg, const char *dir, bool trusts, struct conf **ret, struct err *err);
    void *arg;
    void (*closed)(void *arg, const char *id); /* a session has ended; NULL: not wanted */
    void *closed_arg;
};

struct live_table *live_table_new(const struct live_table_spec *spec);
/* Closes all; returns when they have ended. After the loop. NULL is fine. */
void live_table_free(struct live_table *t);
struct hub *live_table_hub(struct live_table *t);

struct live *live_find(struct live_table *t, struct str id); /* NULL: it is not open, or closing */
size_t live_count(const struct live_table *t);
struct live *live_at(const struct live_table *t, size_t i);
/* One that is open already is given to fn as it is; one that is closing is opened again. */
void live_open(struct live_table *t, const struct live_spec *spec, live_opened_fn fn, void *arg);
/* Interrupts it. fn may be NULL. One that is closing already stays as it is, and fn never runs. */
void live_close(struct live *l, live_closed_fn fn, void *arg);
/* Closes it if it has no users, but not before its turn is over. begins: one will begin by itself.
 */
void live_close_unused(struct live *l, bool begins);
/* Observers of turns without users have mail. */
void live_observed(struct live_table *t, const struct observer *observer);

/* run() on the thread of the session's chores, done() on the loop. */
void live_do(struct live *l, void *chore);
/* The same beside all others, for what belongs to no session. */
void live_do_beside(struct live_table *t, void *chore);
/* A chore that has come back. */
void live_chore(struct live_table *t, struct mail *m);
