/*
 * The control socket speaks the same lines as standard input and output: what a client may ask for
 * is in control.c, and `observe` makes it see a session.
 *
 * One socket serves all sessions of the process. A line with the `session_id` of one of them is for
 * that one; all others are for the first. A client that has named a session finds `session_id` in
 * what that session asks it, and says it again with its answer.
 */
#pragma once

struct ear;
struct err;
struct host;
struct listen;
struct peer_session;
struct slash;

/* The first session. Each outlives its place here. */
int listen_start(struct peer_session *session, struct listen **ret, struct err *err);
void listen_add(struct listen *l, struct peer_session *session);
/* Its clients hear no more of it when this returns. */
void listen_remove(struct listen *l, struct peer_session *session);
void listen_stop(struct listen *l); /* NULL is fine */

/* The same for a session that is not driven by lines: all its clients come over the socket. NULL:
 * there is none, which is not an error. Freed before the slash and the host. */
struct ear *ear_new(struct host *h, struct slash *slash);
void ear_free(struct ear *e); /* NULL is fine */
