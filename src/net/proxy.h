/*
 * The way out of the sandbox: a CONNECT proxy that only goes where the settings say.
 *
 * Confined commands have no network. What they connect to inside is handed out to us, connection by
 * connection, as descriptors over a socket that was inherited (proc/confine.h). The proxy reads one
 * request from each (proxy_head.h), looks the host up in two lists, and joins both ends; it never
 * looks at what flows then. A host that is not allowed is answered with 403 and the reason.
 *
 * The actual address of a connection counts: an allowed name that leads to a private address is
 * refused, unless that address is listed itself, or the name is one that only ever means this
 * machine or its network (localhost). Denied addresses are refused under any name. With another
 * proxy in the environment, that proxy resolves names, and only the text is checked.
 *
 * One thread waits at the doors; each connection has its own while it lasts, at most
 * PROXY_MAX_CONNS. All functions: any thread.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

struct err;
struct host_list;
struct proxy;
struct proxy_door;
struct strv;

#define PROXY_MAX_CONNS 128
#define PROXY_MAX_DOORS 64
#define PROXY_MAX_REFUSALS 16 /* remembered for each door */

struct proxy_spec {
    struct host_list *allowed; /* HOST_WEB_PORTS; taken over */
    struct host_list *denied;  /* HOST_ALL_PORTS; taken over; wins */
    /* Proxies to go through, "" or NULL: none. plain: for http://. */
    const char *upstream, *upstream_plain, *no_proxy;
    /* The user's own proxies on this machine, 0: none. Connections in their protocol are passed on
     * unread, and the lists do not apply to them. */
    int http_port, socks_port;
    int64_t head_ms;    /* for a request to arrive; 0: 20 s */
    int64_t connect_ms; /* for a connection; 0: 20 s */
    int64_t idle_ms;    /* without a byte either way; 0: 10 min */
};

/* Starts no thread before the first door. */
struct proxy *proxy_new(const struct proxy_spec *spec);
/* Ends all connections and waits for that. NULL is fine. */
void proxy_free(struct proxy *p);

/* A door for one job. *ret_fd is the end that the job inherits, yours to close once it has started;
 * when no process has it any more the door closes by itself. ERR_TOO_BIG, ERR_IO. */
struct proxy_door *proxy_open(struct proxy *p, int *ret_fd, struct err *err);
/* The refused connections, a line each: "connection to example.com:443: it is not among the allowed
 * hosts". */
void proxy_door_refusals(struct proxy_door *d, struct strv *ret);
/* Refusals are not needed any more; connections continue. NULL is fine. */
void proxy_door_unref(struct proxy_door *d);
