/*
 * The control socket speaks the same lines as standard input and output: what a client may ask for
 * is in control.c, and `observe` makes it see the session.
 */
#pragma once

struct err;
struct peer_session;
struct socket;

/* The session outlives the socket (host/socket.h: socket_stop()). */
int listen_start(struct peer_session *session, struct socket **ret, struct err *err);
