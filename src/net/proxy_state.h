/*
 * Internals of the proxy. For its files only.
 *
 * A proxy is reference counted by its owner, its doors and its connections, because a connection
 * that resolves a name cannot be waited for.
 */
#pragma once

#include <stdatomic.h>

#include "base/strv.h"
#include "net/net_stream.h"
#include "net/proxy.h"
#include "sync/thread.h"

struct proxy {
    atomic_int refs;
    struct host_list *allowed, *denied;
    struct net_config upstream; /* only its proxies */
    int64_t head_ms, connect_ms, idle_ms;
    int http_port, socks_port; /* the user's own; 0 = none */
    struct cancel *stop;
    struct mailbox *new_doors;

    struct gate gate;      /* guards the fields below */
    struct thread *thread; /* NULL before the first door */
    int doors;
    int conns;
    int looking; /* connections that are resolving a name */
};

struct proxy_door {
    atomic_int refs;
    struct proxy *proxy;
    int fd; /* the proxy thread's */
    struct lock lock;
    struct strv refusals;
};

/* Parts of the lines about refused connections, which proxy_refusal_parse() reads. */
#define PROXY_REFUSED "connection to "
#define PROXY_DENIED_ADDRESS "it leads to the denied address "
#define PROXY_PRIVATE "it leads to the private address "

struct proxy_door *proxy_door_ref(struct proxy_door *d);
void proxy_door_refuse(struct proxy_door *d, struct str line);
void proxy_unref(struct proxy *p);

/* proxy_conn.c: takes ownership of the descriptor, whatever it is. */
void proxy_conn_start(struct proxy_door *d, int fd);
