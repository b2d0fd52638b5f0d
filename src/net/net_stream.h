/*
 * One request and its curl handle: the internals of struct net_stream, for this folder only.
 *
 * A stream is reference counted by its owner, by the network thread while it runs, by every mail
 * about it (so that an old mail is never mistaken for one of a newer stream) and by the nudge
 * queue. All functions run on the network thread unless stated otherwise.
 */
#pragma once

#include <stdatomic.h>

#include "net/curl_table.h"
#include "net/net.h"
#include "net/url.h"

/* Common to all streams of a net. */
struct net_config {
    char *ca_file;     /* NULL = curl's default */
    char *ca_dir;      /* used before ca_file; may be NULL */
    char *proxy;       /* NULL = from the environment */
    char *plain_proxy; /* for http:// */
    char *no_proxy;    /* NULL = from the environment */
    bool http2;
    CURLSH *share;     /* shares TLS sessions, to speed up further connections to a host */
    bool ca_dir_lacks; /* network thread: ca_file trusted a certificate that ca_dir does not have */
};

void net_config_init(struct net_config *c, const struct net_options *options);
/* Sets ca_file and ca_dir before the first stream: the explicit choice, else from the environment,
 * else the system's. */
void net_config_find_certificates(struct net_config *c, const char *chosen);
void net_config_release(struct net_config *c); /* not the share */
/* The proxy that curl would use for the URL; "" = none. */
const char *net_config_proxy(const struct net_config *c, const struct url *url);
/* ERR_BAD_INPUT if that proxy cannot be used; curl's own error would show its password. */
int net_config_check_proxy(const struct net_config *c, const struct url *url, struct err *err);

/* Messages from streams to the loop. */
struct net_notes {
    struct net_stream *dirty; /* streams with bytes to mail at the end of the round */
    int64_t look_at_ms;       /* when the next deadline may pass; INT64_MAX = none */
};

struct net_stream {
    atomic_int refs;
    struct net *net;
    struct mailbox *to; /* until it is closed */
    int64_t queued_us;  /* from net_start() to net_stream_open() */

    /* Shared by the owner and the network thread. */
    atomic_bool cancelled;
    atomic_bool ended; /* its end is mailed, so it closes by itself */
    atomic_bool paused;
    atomic_size_t unread; /* bytes mailed or about to be, without net_used() */

    /* The nudge queue, guarded by the net's lock. */
    bool nudged;
    struct net_stream *next_nudged;

    /* Network thread only. */
    struct net_request request; /* we own its method and url */
    struct url url;             /* slices of request.url */
    struct net_config *config;
    bool opened; /* or cancelled before that */
    CURL *easy;  /* NULL before it is opened and after it is closed */
    struct curl_slist *headers;
    size_t live_index;
    struct net_mail *bytes; /* collected since the last flush */
    struct net_notes *notes;
    struct net_stream *next_dirty; /* linked in notes->dirty while bytes is not NULL */
    struct strv head;              /* header lines of the answer so far */
    size_t head_bytes;             /* of all header lines, including informational answers */
    size_t body_bytes;             /* decoded */
    int status;
    bool head_sent;
    bool by_dir;            /* certificates are looked up in ca_dir */
    bool dir_failed;        /* ca_dir did not have the certificate */
    bool connected;         /* the request is being sent; before that the connect timeout applies */
    bool by_proxy;          /* public_only: a proxy connects for us */
    bool found_private;     /* public_only: a private address was skipped */
    int64_t last_byte_ms;   /* start of the idle time */
    int64_t paused_ms;      /* when it was paused */
    int64_t total_until_ms; /* INT64_MAX = no limit */
    int64_t sent_bytes;     /* at the last check of the idle time */
    struct net_end end;     /* set if we detect the error before curl does */
    struct net_stats stats;
    char curl_text[CURL_ERROR_SIZE];
};

/* Any thread. */
struct net_stream *net_stream_new(struct net *n, struct net_config *config,
                                  struct net_request *request, const struct url *url,
                                  struct mailbox *to);
struct net_stream *net_stream_ref(struct net_stream *s);
void net_stream_drop(struct net_stream *s); /* drops a reference; NULL is fine */
void net_free_if_last(struct net *n);       /* net.c: called when a stream is freed */

/* Creates the curl handle and adds it to multi. On -1 the end was mailed. */
int net_stream_open(struct net_stream *s, CURLM *multi, struct net_notes *notes);

/* Continues a paused stream if enough was read. An error ends the stream: curl has delivered held
 * data here and will not report the error again. */
CURLcode net_stream_resume(struct net_stream *s);

/* Called by the loop when the stream's time may be up (notes->look_at_ms); mails the end if it is.
 */
bool net_stream_expired(struct net_stream *s, int64_t now_ms);

/* For the error code of a certificate that ca_dir does not have: starts again with ca_file. */
bool net_stream_try_ca_file(struct net_stream *s, CURLM *multi, CURLcode code);

void net_stream_flush(struct net_stream *s); /* mails the collected bytes */

/* The next two are for a stream with nothing to flush. */
void net_stream_done(struct net_stream *s, CURLcode code); /* mails the end */
/* silent; frees what is not needed any more */
void net_stream_close(struct net_stream *s, CURLM *multi);

/* If the stream is cancelled, sending the mail frees it instead. */
struct net_mail *net_mail_new(struct net_stream *s, enum net_mail_what what);
void net_mail_send(struct net_stream *s, struct net_mail *m);

/* net_fault.c: describes code for the user, without secrets. */
void net_fault(const struct net_stream *s, CURLcode code, struct net_end *ret);
void net_fault_set(struct net_end *end, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
