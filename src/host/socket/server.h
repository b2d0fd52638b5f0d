/*
 * Connections of lines and the loop that serves them: one thread polls all of them and never waits
 * for any of them.
 *
 * The speaker (proto) defines the protocol on a connection. A speaker stops giving text to a
 * connection that has SERVER_BUSY unsent bytes until `ready` is called: then a reader that has
 * stopped costs a place in the feed and nothing else. A connection that holds max_queue unsent
 * bytes is closed. The control socket (host/socket/socket.h) has such a loop on a separate thread;
 * a process whose only work is to serve editors runs one on its main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct cancel;
struct mail;
struct mailbox;
struct server;
struct server_conn;

#define SERVER_MAX_CONNS 32
#define SERVER_BUSY ((size_t)256 << 10)

/* All called on the loop's thread. */
struct speaker {
    void *(*open)(struct server_conn *c, void *arg);
    void (*line)(void *peer, struct str line); /* ptr NULL: one that was too long */
    void (*mail)(void *peer, struct mail *m);  /* from server_conn_mailbox(); taken */
    void (*ready)(void *peer);                 /* no longer busy */
    void (*close)(void *peer);
    /* NULL: a connection whose input has ended is closed once all is sent. Else the speaker closes
     * it with server_conn_end(). */
    void (*ended)(void *peer);
    /* From server_mailbox(); taken. NULL: no senders. */
    void (*post)(void *arg, struct mail *m);
};

struct server_spec {
    const struct speaker *speaker;
    void *arg;
    size_t max_line, max_queue;
    struct cancel *stop; /* ends the loop */
};

struct server *server_new(const struct server_spec *spec);
void server_free(struct server *s); /* after server_run(); NULL is fine */

/* Accepts connections on this listening socket, except from another user. The descriptor stays the
 * caller's. Before server_run(). */
void server_listen(struct server *s, int fd);
/* A connection over two descriptors, which stay the caller's. Before server_run(). */
void server_attach(struct server *s, int in, int out);
/* Until stop is set, or the last connection is closed when nothing listens. Closes all. */
void server_run(struct server *s);

/* fn(arg) on the loop's thread; returns when it has run. Not on that thread, and not when it is
 * about to end. */
void server_do(struct server *s, void (*fn)(void *arg), void *arg);
struct mailbox *server_mailbox(struct server *s); /* for speaker.post */

/* On the loop's thread: fn(peer, arg) for each connection. */
void server_each(struct server *s, void (*fn)(void *peer, void *arg), void *arg);

/* The peer was started by this process, and is neither a command of the user nor a hook: a command
 * of the agent, most likely (proc/descent.h). */
bool server_conn_is_own(const struct server_conn *c);
void server_conn_send(struct server_conn *c, struct str text); /* whole lines */
size_t server_conn_unsent(const struct server_conn *c);
struct mailbox *server_conn_mailbox(struct server_conn *c);
/* Closed once all is sent, or when so many ms have passed. */
void server_conn_end(struct server_conn *c, int64_t within_ms);
