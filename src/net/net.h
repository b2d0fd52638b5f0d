/*
 * HTTP, with one thread that owns all connections.
 *
 * net_start() passes a request to the network thread and returns at once. The result arrives as
 * net_mail in the caller's mailbox, in this order: at most one NET_HEAD, any number of NET_BYTES,
 * exactly one NET_END. After net_cancel() no more mail of that stream arrives, except mail that was
 * already queued, so compare m->stream. The network thread never waits for a receiver: if more than
 * NET_PAUSE_BYTES of a stream are unread, the transfer and its timers are paused until half of that
 * is left; the receiver reports what it has read with net_used().
 *
 * A cancel takes effect within a few milliseconds in any state: resolving, connecting, TLS
 * handshake, waiting, mid-body, paused. Other streams are not affected.
 *
 * A truncated body is an error, according to its length or chunks; a body that has neither ends
 * when the connection closes, and the receiver must know whether it is complete.
 *
 * Redirects are never followed: a 3xx answer is delivered as such (a key must not be sent to
 * another host). Bodies encoded with gzip or deflate are decoded. Proxies come from the usual
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
    const char *ca_file;     /* NULL = SSL_CERT_FILE and SSL_CERT_DIR, else the system's */
    const char *proxy;       /* NULL = from the environment; "" = none */
    const char *plain_proxy; /* the same for http:// only; NULL = proxy */
    const char *no_proxy;    /* NULL = from the environment */
    bool http2;
};

struct net_request {
    const char *method; /* "POST" */
    const char *url;
    struct strv headers; /* "name: value" */
    struct buf body;
    int64_t connect_ms; /* 0 = 15 s; for resolving, connecting and TLS */
    int64_t
        idle_ms; /* 0 = 90 s without a byte in or out, once connected; paused time does not count */
    int64_t total_ms; /* 0 = none */
    size_t max_bytes; /* of the decoded body; 0 = 256 MB. A longer one ends the stream with
                         ERR_TOO_BIG */
    /* Connect only to public addresses (address.h); otherwise the stream ends with ERR_DENIED
     * before anything is sent. The address of the connection is checked. Through a proxy, the proxy
     * connects, and only the host as written is checked. */
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
    struct net_stream *stream; /* for comparison and net_used(); valid as long as the mail */
    enum net_mail_what what;
    int status;          /* HEAD, END: HTTP status; 0 = none */
    struct strv headers; /* HEAD: "name: value", names in lower case */
    struct buf bytes;    /* BYTES */
    struct net_end {
        /* enum err_code: NONE; NETWORK, TIMEOUT and PROTOCOL, where a retry may help; TOO_BIG,
         * BAD_INPUT and DENIED (an untrusted certificate, or one for another host), where it does
         * not. */
        int code;
        bool before_head; /* no part of the answer had arrived */
        char text[200];   /* "cannot connect to api.example.com:443: connection refused" */
    } end;
};

/* The value of one of a HEAD mail's headers, by lower-case name; empty when absent. */
struct str net_mail_header(const struct strv *headers, const char *name);

/* Starts the network thread, which first loads libcurl. That takes some milliseconds, during which
 * the caller must not start a thread. net_loaded() waits for the end of loading, net_ready() until
 * libcurl is initialized as well; both report errors, otherwise net_start() does. */
struct net *net_new(const struct net_options *options, struct err *err);
int net_loaded(struct net *n, struct err *err);
int net_ready(struct net *n, struct err *err);
void net_free(struct net *n); /* cancels all streams and joins the thread */

/* Takes the request's content (leaving the struct empty), but not on failure: ERR_BAD_INPUT for an
 * invalid URL (also the proxy's), method or header, or an error of net_ready(). The caller must
 * net_stream_unref() the result. */
struct net_stream *net_start(struct net *n, struct net_request *request, struct mailbox *to,
                             struct err *err);
void net_used(struct net_stream *s, size_t bytes);
void net_cancel(struct net_stream *s);
void net_stream_unref(struct net_stream *s); /* cancels it if it is running; NULL is fine */

struct net_stats {
    int64_t dns_us, connect_us, tls_us, first_byte_us; /* since net_start(); 0 = not reached */
    size_t sent_bytes, received_bytes;
    bool reused; /* an open connection served it */
};
void net_stream_stats(const struct net_stream *s, struct net_stats *ret); /* after NET_END */

/* "libcurl/7.88.1 OpenSSL/3.0.16 …", for doctor; valid after net_ready(). */
const char *net_library(struct net *n);

/* Checks for a usable URL: http or https, a host, no credentials. ERR_BAD_INPUT has the reason. */
int net_check_url(struct str url, struct err *err);

bool net_is_token(struct str s); /* a valid header name or method (RFC 9110) */
