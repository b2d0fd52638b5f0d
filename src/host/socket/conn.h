/*
 * Line-based input and output on two descriptors, for callers that poll.
 *
 * A line that is too long is skipped up to its newline and reported once. Output waits in a bounded
 * queue until the other side reads it; conn_flush() never blocks if it is called when the
 * descriptor is writable (pipes, files and terminals stay in blocking mode, since their flags
 * belong to the parent process). One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

struct err;

struct conn {
    int in, out;       /* -1 = none. Not closed here */
    bool is_socket;    /* send(2) without waiting and without SIGPIPE */
    size_t max_line;   /* bytes */
    struct buf unread; /* an incomplete line */
    size_t searched;   /* part of it without a newline */
    bool skipping;     /* until the next newline */
    struct buf queue;  /* output; its limit is set by conn_init() */
    size_t sent;       /* of the queue */
};

void conn_init(struct conn *c, int in, int out, size_t max_line, size_t max_queue);
void conn_release(struct conn *c);

/* line is lent, without its newline; ptr NULL: a line longer than max_line was skipped. */
typedef void (*conn_line_fn)(struct str line, void *arg);

/* Reads once and delivers complete lines: 1; 0 at the end, after a last line without newline; -1 on
 * error. Call it when `in` is readable. */
int conn_read(struct conn *c, conn_line_fn fn, void *arg, struct err *err);

/* Queues the text as a whole or, if there is no room, not at all: -1 with ERR_TOO_BIG. */
int conn_send(struct conn *c, struct str text, struct err *err);
size_t conn_unsent(const struct conn *c); /* bytes */
/* Writes as much as possible. Call it when `out` is writable. */
int conn_flush(struct conn *c, struct err *err);
