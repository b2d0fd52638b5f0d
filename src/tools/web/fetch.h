/*
 * Fetches one web page for tools, following redirects on the same host. For src/tools only.
 *
 * Limits: 10 MB of content, 10 s to connect, 20 s of silence, 60 s in total for each of at most 6
 * requests. Sends only the address and the user agent (tenax and its version).
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
    FETCH_OTHER, /* images, archives, PDF: the body is not read */
};

struct fetch {
    int status;
    struct buf url;   /* the final URL */
    struct buf moved; /* redirected to this URL on another host; or empty */
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

/* Normalizes a URL: removes the fragment; https instead of http for a name without a port (write
 * the port to keep http). ERR_BAD_INPUT has the reason. */
int fetch_address(struct str url, struct buf *ret, struct err *err);
/* Its host, for permission rules; empty when there is none. Slices the argument. */
struct str fetch_host(struct str url);

/* url: from fetch_address(). ERR_DENIED: it leads to a private address, which is not allowed. An
 * answer with an error status is not a failure. */
int fetch_run(struct net *net, struct str url, bool allow_private, struct cancel *cancel,
              struct fetch *ret, struct err *err);
