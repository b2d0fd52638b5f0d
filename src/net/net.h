/*
 * HTTP, from one thread that owns every connection.
 *
 * net_start() gives a request to the network thread and returns at once; what happens arrives as
 * net_mail in the caller's mailbox, in this order: at most one NET_HEAD, any number of NET_BYTES,
 * exactly one NET_END. After net_cancel() no more mail of that stream arrives except, possibly,
 * mail queued before or at that moment, so compare m->stream. The network thread never waits for a
 * receiver: when more than NET_PAUSE_BYTES of a stream are unread, the transfer is paused (its
 * timers too) until half of that is left; the receiver reports used bytes with net_used().
 *
 * Cancelling takes effect within a few milliseconds at any point: resolving, connecting, TLS
 * handshake, waiting, mid-body, paused; other streams notice nothing.
 *
 * A body that is cut short is an error, by its length or its chunks; one that has neither lasts
 * until the connection closes, and the receiver must know by itself whether it is complete.
 *
 * Redirects are never followed: a 3xx answer is delivered as such (a key must not travel to another
 * host). Bodies encoded with gzip or deflate arrive decoded. Proxies come from the usual
 * environment (https_proxy, no_proxy, …), certificates from SSL_CERT_FILE and SSL_CERT_DIR, else
 * the system's. HTTP/1.1 unless http2 is set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/strv.h"
#include "sync/mailbox.h"

struct err;
struct net;
struct net_stream;

#define NET_PAUSE_BYTES ((size_t)1 << 20)

struct net_options {
    const char *ca_file;     /* NULL: SSL_CERT_FILE and SSL_CERT_DIR, else the system's */
    const char *proxy;       /* NULL: from the environment; "": none */
    const char *plain_proxy; /* the same, for http:// alone; NULL: as proxy */
    const char *no_proxy;    /* NULL: from the environment */
    bool http2;
};

struct net_request {
    const char *method; /* "POST" */
    const char *url;
    struct strv headers; /* "name: value" */
    struct buf body;
    int64_t connect_ms; /* 0: 15 s; covers resolving, connecting and TLS */
    int64_t idle_ms; /* 0: 90 s without a byte in or out, once connected; paused time is not idle */
    int64_t total_ms; /* 0: none */
    size_t max_bytes; /* of the decoded body; 0: 256 MB. Past it the stream ends with ERR_TOO_BIG */
    /* Only to public addresses (address.h); else it ends with ERR_DENIED, before anything is sent.
     * Decided on the address of the connection. Through a proxy that is up to the proxy: then only
     * the host as written is checked. */
    bool public_only;
};

void net_request_release(struct net_request *r);

enum net_mail_what {
    NET_HEAD,  /* status and headers are known */
    NET_BYTES, /* a piece of the body */
    NET_END,   /* complete (code is ERR_NONE), or failed */
};

extern const struct mail_kind net_mail_kind;

struct net_mail {
    struct mail mail;
    struct net_stream *stream; /* for comparing and net_used(); valid as long as the mail */
    enum net_mail_what what;
    int status;          /* HEAD, END: HTTP status, 0 when there was none */
    struct strv headers; /* HEAD: "name: value", names in lower case */
    struct buf bytes;    /* BYTES */
    struct net_end {
        /* enum err_code: NONE; NETWORK, TIMEOUT and PROTOCOL may pass with another try; TOO_BIG,
         * BAD_INPUT and DENIED (a certificate that is not trusted, or not this host's) do not. */
        int code;
        bool before_head; /* nothing of the answer had arrived */
        char text[200];   /* "cannot connect to api.example.com:443: connection refused" */
    } end;
};

/* The value of one of a HEAD mail's headers, by lower-case name; empty when absent. */
struct str net_mail_header(const struct strv *headers, const char *name);

/* Starts the network thread, which first loads libcurl: that takes some milliseconds, in which the
 * caller may do other work, but start no thread. net_loaded() waits for its end, net_ready() until
 * libcurl is set up as well, and both report errors; otherwise net_start() reports them. */
struct net *net_new(const struct net_options *options, struct err *err);
int net_loaded(struct net *n, struct err *err);
int net_ready(struct net *n, struct err *err);
void net_free(struct net *n); /* cancels what runs, joins the thread */

/* Takes the request's content (the struct is left empty), but not on failure: ERR_BAD_INPUT for a
 * URL (also the proxy's), method or header that makes no sense, or as net_ready(). The stream is
 * yours: net_stream_unref(). */
struct net_stream *net_start(struct net *n, struct net_request *request, struct mailbox *to,
                             struct err *err);
void net_used(struct net_stream *s, size_t bytes);
void net_cancel(struct net_stream *s);
void net_stream_unref(struct net_stream *s); /* cancels when it still runs; NULL is fine */

struct net_stats {
    int64_t dns_us, connect_us, tls_us, first_byte_us; /* since net_start(); 0 = not reached */
    size_t sent_bytes, received_bytes;
    bool reused; /* an open connection served it */
};
void net_stream_stats(const struct net_stream *s, struct net_stats *ret); /* after NET_END */

/* "libcurl/7.88.1 OpenSSL/3.0.16 …", for doctor; once it is ready. */
const char *net_library(struct net *n);

/* A URL this program can use: http or https, a host, no credentials inside. ERR_BAD_INPUT has the
 * reason. */
int net_check_url(struct str url, struct err *err);

bool net_is_token(struct str s); /* what may name a header or a method (RFC 9110) */
