/*
 * Sockets: one thread, one epoll, any number of connections, plain and TLS.
 */
#pragma once

#include <stdbool.h>

struct err;
struct host;
struct server;
struct tls;

struct server *server_new(struct host *host, struct tls *tls, struct err *err);
void server_free(struct server *s);

/* Listens on a numeric address; port 0 takes any free one. *ret_port is the one it got. */
int server_listen(struct server *s, const char *address, int port, bool tls, int *ret_port,
                  struct err *err);

/* Serves until SIGTERM or SIGINT, which must be blocked. */
int server_run(struct server *s, struct err *err);
