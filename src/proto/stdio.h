/*
 * A session on standard input and output: json and stream-json, with a prompt or with a client.
 *
 * Events become lines on `out`; lines on `in`, when there is one, are messages and requests of the
 * client that started us (peer.h). The end of the input means that nothing more will be said: what
 * waits is done, then it is over. A reader that stops reading makes the agent wait; one that goes
 * away ends the run.
 */
#pragma once

#include <stdbool.h>

#include "slash/slash.h"

struct cancel;
struct err;
struct host;
struct peer_session;

enum stdio_format {
    STDIO_LINES,  /* stream-json */
    STDIO_RESULT, /* json: the last result alone; notices go to complain() */
    STDIO_ARRAY,  /* json --verbose: all messages as one array */
};

struct stdio_spec {
    struct peer_session *session;
    int in; /* -1: no client */
    int out;
    enum stdio_format format;
    bool answers_asks; /* the client is asked for permissions */
    struct cancel *cancel;
    void (*complain)(void *arg, const char *text); /* about input that makes no sense,
                                                      and what the format has no place for */
    void *complain_arg;
    /* Emits the first output; nothing, when the client will. */
    int (*begin)(void *arg, struct err *err);
    /* The session has begun; work that is not urgent can be done now. */
    void (*begun)(void *arg);
    /* "/clear": prepares another session (-1: this one stays); when all earlier input is finished,
     * it replaces this one in `session`. NULL: none can be started. */
    int (*look)(void *arg, struct err *err);
    int (*renew)(void *arg, struct err *err);
    /* All turns are over; events emitted now are still shown. NULL: nothing more. */
    void (*over)(void *arg);
    void *begin_arg; /* of all of them */
};

struct stdio_end {
    bool is_error;  /* of the last result */
    bool read_fail; /* the reader of the output is gone */
};

/* -1: the session could not begin, or the output failed for another reason than its reader. */
int stdio_run(const struct stdio_spec *spec, struct stdio_end *ret, struct err *err);
