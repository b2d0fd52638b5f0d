/*
 * Where the browser comes back to after a login: one port of this machine, one request that counts.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

struct cancel;
struct err;

/* port 0: any. *ret_port: the one it is. The descriptor, or -1. */
int oauth_listen(int port, int *ret_port, struct err *err);
/* The query of the request that has this state; others are turned away. ERR_TIMEOUT after five
 * minutes, ERR_CANCELLED. */
int oauth_await(int fd, struct str state, struct cancel *cancel, struct buf *ret_query,
                struct err *err);
/* A parameter of a query, decoded; nothing: it has none. */
void oauth_query_get(struct str query, const char *name, struct buf *ret);
