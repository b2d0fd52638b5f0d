/*
 * One page of the web, for tools: asked for, followed as far as it stays on its host, and read
 * whole. For src/tools only.
 *
 * Limits: 10 MB of content, 10 s to connect, 20 s of silence, 60 s in all for each of at most 6
 * requests. Nothing is sent but the address and who asks (tenax and its version).
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

struct cancel;
struct err;
struct net;

#define FETCH_MAX_BYTES ((size_t)10 << 20)
#define FETCH_MAX_URL 2000
#define FETCH_MAX_MOVES 5

enum fetch_kind {
    FETCH_TEXT,
    FETCH_HTML,
    FETCH_OTHER, /* images, archives, PDF: its body is not read */
};

struct fetch {
    int status;
    struct buf url;   /* that answered */
    struct buf moved; /* it has moved to this address on another host; empty: no */
    struct buf type;  /* the content-type header */
    struct buf body;
    enum fetch_kind kind;
};

#define FETCH_INIT                                                                                 \
    {                                                                                              \
        .url = BUF_INIT(4 * FETCH_MAX_URL), .moved = BUF_INIT(4 * FETCH_MAX_URL),                  \
        .type = BUF_INIT(FETCH_MAX_URL), .body = BUF_INIT(FETCH_MAX_BYTES)                         \
    }
void fetch_release(struct fetch *f);

/* The address to request: without fragment; https in place of http for a name without a port (write
 * the port to keep http). ERR_BAD_INPUT has the reason. */
int fetch_address(struct str url, struct buf *ret, struct err *err);
/* Its host, for permission rules; empty when there is none. Slices the argument. */
struct str fetch_host(struct str url);

/* url: as fetch_address() makes it. ERR_DENIED: it leads to a private address, and that is not
 * allowed. An answer with an error status is an answer. */
int fetch_run(struct net *net, struct str url, bool allow_private, struct cancel *cancel,
              struct fetch *ret, struct err *err);
