/*
 * The control socket speaks the same lines as standard input and output: what a client may ask for
 * is in control.c, and `observe` makes it see the session.
 */
#pragma once

struct ear;
struct err;
struct host;
struct peer_session;
struct slash;
struct socket;

/* The session outlives the socket (host/socket.h: socket_stop()). */
int listen_start(struct peer_session *session, struct socket **ret, struct err *err);

/* The same for a session that nobody drives by lines: all its clients come over the socket. NULL:
 * there is none, which is not worth failing for. Freed before the slash and the host. */
struct ear *ear_new(struct host *h, struct slash *slash);
void ear_free(struct ear *e); /* NULL is fine */
