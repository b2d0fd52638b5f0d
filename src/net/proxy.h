/*
 * The sandbox's network access: a CONNECT proxy that only connects to hosts allowed by the
 * settings.
 *
 * Sandboxed commands have no network. Their connections to the proxy's port are passed to us one by
 * one, as descriptors over an inherited socket (proc/confine.h). The proxy reads one request from
 * each (proxy_head.h), looks the host up in two lists, and connects both ends; it does not look at
 * the data. A host that is not allowed gets 403 with the reason.
 *
 * What counts is the actual address of a connection: an allowed name that resolves to a private
 * address is refused, unless that address is listed itself, or the name always means this machine
 * or its network (localhost). Denied addresses are refused under any name. If the environment has
 * another proxy, that proxy resolves names, and only the name is checked.
 *
 * One thread waits at the doors; each connection has its own thread, at most PROXY_MAX_CONNS. All
 * functions: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct err;
struct host_list;
struct proxy;
struct proxy_door;
struct strv;

#define PROXY_MAX_CONNS 128
#define PROXY_MAX_DOORS 64
#define PROXY_MAX_REFUSALS 16 /* remembered per door */

struct proxy_spec {
    struct host_list *allowed; /* HOST_WEB_PORTS; owned */
    struct host_list *denied;  /* HOST_ALL_PORTS; owned; takes precedence */
    /* Other proxies to go through; "" or NULL = none. plain: for http://. */
    const char *upstream, *upstream_plain, *no_proxy;
    /* The user's own proxies on this machine; 0 = none. Connections in their protocol are passed on
     * without being read, and the lists do not apply. */
    int http_port, socks_port;
    int64_t head_ms;    /* timeout for receiving a request; 0 = 20 s */
    int64_t connect_ms; /* timeout for connecting; 0 = 20 s */
    int64_t idle_ms;    /* without a byte in either direction; 0 = 10 min */
};

/* Starts no thread before the first door. */
struct proxy *proxy_new(const struct proxy_spec *spec);
/* Ends all connections and waits for that. NULL is fine. */
void proxy_free(struct proxy *p);

/* Opens a door for one job. *ret_fd is the end that the job inherits; close it once the job has
 * started. The door closes itself when no process has that end any more. ERR_TOO_BIG, ERR_IO. */
struct proxy_door *proxy_open(struct proxy *p, int *ret_fd, struct err *err);
/* The refused connections, one per line: "connection to example.com:443: it is not among the
 * allowed hosts". */
void proxy_door_refusals(struct proxy_door *d, struct strv *ret);
/* What such a line is about. */
struct proxy_refusal {
    struct str target;  /* "example.com:443" */
    struct str address; /* it is allowed, but leads to this private address; empty = none */
    bool is_denied;     /* it leads to a denied address, which no list of names allows */
};
/* Slices of the line. False if it is none. */
bool proxy_refusal_parse(struct str line, struct proxy_refusal *ret);
/* Gives up the refusals; connections continue. NULL is fine. */
void proxy_door_unref(struct proxy_door *d);
