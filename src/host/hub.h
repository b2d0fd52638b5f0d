/*
 * The hub: what the sessions of one process share, and the list of these sessions.
 *
 * One network thread for all sessions with the same network settings, one crew of threads for
 * agents and their calls. host_new() adds its session, host_free() removes it; in between it can be
 * found by its id. A host without a given hub has its own. Any thread, except hub_new() and
 * hub_free().
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct cancel;
struct conf;
struct crew;
struct err;
struct host;
struct hub;
struct net;
struct store;

struct hub *hub_new(void);
void hub_free(struct hub *hub); /* all its sessions must have ended. NULL is fine */

struct crew *hub_crew(struct hub *hub);
/* The network for these settings; started at the first request. Valid until hub_free(). NULL with
 * the reason on failure. */
struct net *hub_net(struct hub *hub, const struct conf *conf, struct err *err);

/* The store in this folder ($TENAX_HOME), which the caller frees: the one connection of this
 * process (store_shared()), which the hub keeps open until hub_free(). */
int hub_store(struct hub *hub, const char *home, struct cancel *cancel, struct store **ret,
              struct err *err);

/* A session of this process; NULL if there is none. It exists until hub_give(); the caller must not
 * wait for its end before that. */
struct host *hub_take(struct hub *hub, struct str session);
void hub_give(struct hub *hub, struct host *h); /* NULL is fine */

/* host.c: ERR_BUSY: a session with this id is open in this process. */
int hub_add(struct hub *hub, struct host *h, struct err *err);
void hub_remove(struct hub *hub, struct host *h); /* waits until it is not in use any more */
