/*
 * The control socket: $TENAX_HOME/run/<pid>.sock, where other programs of the same user meet the
 * sessions of this process.
 *
 * One thread serves all connections and never waits for any of them; an agent never waits for it.
 * The folder is 0700, the socket 0600, and who connects is asked for by the kernel: another uid is
 * shown out, and one of our own commands is known as such. What is said on a connection is a
 * speaker's business (proto). Sockets that processes
 * left behind when they were killed are removed. Lines have at most 1 MB; a connection that does
 * not take what it is sent holds at most SOCKET_MAX_QUEUE and is then closed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct err;
struct mail;
struct mailbox;
struct socket;
struct socket_conn;

#define SOCKET_MAX_LINE ((size_t)1 << 20)
#define SOCKET_MAX_QUEUE ((size_t)4 << 20)
#define SOCKET_MAX_CONNS 32
/* A speaker stops taking events for a connection that has so much unsent, and goes on when `ready`
 * says so: then a reader that has stopped costs a place in the feed and nothing else. */
#define SOCKET_BUSY ((size_t)256 << 10)

/* All called on the socket's thread. */
struct socket_speaker {
    void *(*open)(struct socket_conn *c, void *arg);
    void (*line)(void *peer, struct str line); /* ptr NULL: one that was too long */
    void (*mail)(void *peer, struct mail *m);  /* from socket_conn_mailbox(); taken */
    void (*ready)(void *peer);                 /* no longer busy */
    void (*close)(void *peer);
};

/* home: $TENAX_HOME, made when it is not there. Fails with ERR_UNSUPPORTED when the path is too
 * long for a socket, ERR_IO when the home cannot be written. */
int socket_start(const char *home, const struct socket_speaker *speaker, void *arg,
                 struct socket **ret, struct err *err);
/* Closes all connections, joins the thread, removes the socket (and the folders, if they were made
 * for it and nothing else is in them). NULL is fine. */
void socket_stop(struct socket *s);

/* fn(arg) on the socket's thread; returns when it has run. Not on that thread, and not when it is
 * about to be stopped. */
void socket_do(struct socket *s, void (*fn)(void *arg), void *arg);

/* On the socket's thread: fn(peer, arg) for each connection. */
void socket_each(struct socket *s, void (*fn)(void *peer, void *arg), void *arg);

/* Whoever connected was started by this process, and is neither a command of a person nor a hook: a
 * command of the agent, most likely (proc/kin.h). */
bool socket_conn_is_own(const struct socket_conn *c);
void socket_conn_send(struct socket_conn *c, struct str text); /* whole lines */
size_t socket_conn_unsent(const struct socket_conn *c);
struct mailbox *socket_conn_mailbox(struct socket_conn *c);
