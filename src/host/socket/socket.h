/*
 * The control socket, $TENAX_HOME/run/<pid>.sock, through which other programs of the same user
 * reach the sessions of this process.
 *
 * One thread serves all connections (host/socket/server.h); an agent never waits for it. The folder
 * is 0700, the socket 0600, and the kernel identifies the peer: another uid is rejected, and our
 * own commands are recognized. The speaker (proto) defines the protocol. Stale sockets of killed
 * processes are removed. Lines have at most 1 MB; a connection that does not read its output holds
 * at most SOCKET_MAX_QUEUE and is then closed.
 */
#pragma once

#include <stddef.h>

struct err;
struct server;
struct socket;
struct speaker;

#define SOCKET_MAX_LINE ((size_t)1 << 20)
#define SOCKET_MAX_QUEUE ((size_t)4 << 20)
/* home: $TENAX_HOME, created if missing. ERR_UNSUPPORTED: the path is too long for a socket;
 * ERR_IO: the home is not writable. */
int socket_start(const char *home, const struct speaker *speaker, void *arg, struct socket **ret,
                 struct err *err);
/* Closes all connections, joins the thread, removes the socket (and the folders if they were
 * created for it and are empty). NULL is fine. */
void socket_stop(struct socket *s);

struct server *socket_server(struct socket *s); /* its loop, for server_do() and server_each() */
