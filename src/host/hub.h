/*
 * The hub: what the sessions of one process share, and which there are.
 *
 * One network thread for all that want the network the same way, one crew of threads for agents and
 * their calls. host_new() adds its session, host_free() takes it away; in between it is found by
 * its id. A host that is given no hub has one to itself. Any thread, except hub_new() and
 * hub_free().
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct conf;
struct crew;
struct err;
struct host;
struct hub;
struct net;
struct strv;

struct hub *hub_new(void);
void hub_free(struct hub *hub); /* all its sessions have ended. NULL is fine */

struct crew *hub_crew(struct hub *hub);
/* The network as these settings want it; begun when it is the first that wants it so. Lent until
 * hub_free(). NULL with the reason. */
struct net *hub_net(struct hub *hub, const struct conf *conf, struct err *err);

/* A session of this process. It does not end before it is given back with hub_give(); until then
 * its caller must not wait for its end. NULL: there is none. */
struct host *hub_take(struct hub *hub, struct str session);
void hub_give(struct hub *hub, struct host *h);       /* NULL is fine */
void hub_sessions(struct hub *hub, struct strv *ret); /* their ids, oldest first */

/* host.c: ERR_BUSY: a session with this id is open in this process. */
int hub_add(struct hub *hub, struct host *h, struct err *err);
void hub_remove(struct hub *hub, struct host *h); /* waits until all are given back */
