/*
 * Lines in, lines out, over two descriptors, for callers that poll.
 *
 * A line that is too long is skipped up to its newline and reported once. Output waits in a bounded
 * queue until the other side takes it; conn_flush() never blocks as long as it is called when the
 * descriptor can be written (pipes, files and terminals stay in blocking mode: the parent process
 * owns their flags). One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

struct err;

struct conn {
    int in, out;       /* -1: none. Not closed here */
    bool is_socket;    /* send(2) without waiting and without SIGPIPE */
    size_t max_line;   /* bytes */
    struct buf unread; /* the beginning of a line */
    size_t searched;   /* of it: no newline in there */
    bool skipping;     /* up to the next newline */
    struct buf queue;  /* to be written; its limit is conn_init()'s */
    size_t sent;       /* of the queue */
};

void conn_init(struct conn *c, int in, int out, size_t max_line, size_t max_queue);
void conn_release(struct conn *c);

/* line is lent and has no newline; NULL as its ptr: a line longer than max_line was left out. */
typedef void (*conn_line_fn)(struct str line, void *arg);

/* Reads once and hands out the lines that are complete: 1; 0 at the end, when a last line without
 * newline is handed out too; -1 on an error. Call when `in` can be read. */
int conn_read(struct conn *c, conn_line_fn fn, void *arg, struct err *err);

/* The text goes whole into the queue or, when there is no room, not at all: -1 with ERR_TOO_BIG. */
int conn_send(struct conn *c, struct str text, struct err *err);
size_t conn_unsent(const struct conn *c); /* bytes */
/* Writes what can be written now. Call when `out` can be written. */
int conn_flush(struct conn *c, struct err *err);
