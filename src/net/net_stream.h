/*
 * One request on its easy handle: the inside of struct net_stream, for the files of this room only.
 *
 * A stream is counted by its owner, by the network thread while it runs, by every mail about it (so
 * that an old mail can never be taken for one of a newer stream) and by the nudge queue. All
 * functions here run on the network thread, except where they say otherwise.
 */
#pragma once

#include <stdatomic.h>

#include "net/curl_table.h"
#include "net/net.h"
#include "net/url.h"

/* What all streams of a net have in common. */
struct net_config {
    char *ca_file;     /* NULL: curl's own choice */
    char *ca_dir;      /* looked into before ca_file; NULL: not */
    char *proxy;       /* NULL: from the environment */
    char *plain_proxy; /* for http:// */
    char *no_proxy;    /* NULL: from the environment */
    bool http2;
    CURLSH *share;     /* TLS sessions, so that a second connection to a host shakes hands faster */
    bool ca_dir_lacks; /* the network thread's: ca_file trusted a certificate that ca_dir did not */
};

void net_config_init(struct net_config *c, const struct net_options *options);
/* ca_file and ca_dir, before the first stream: the explicit choice, else the environment's, else
 * the system's. */
void net_config_find_certificates(struct net_config *c, const char *chosen);
void net_config_release(struct net_config *c); /* not the share */
/* The proxy that serves the URL, as curl would choose it; "": none. */
const char *net_config_proxy(const struct net_config *c, const struct url *url);
/* ERR_BAD_INPUT when that one cannot be used: curl's own error would show its password. */
int net_config_check_proxy(const struct net_config *c, const struct url *url, struct err *err);

/* What streams tell the loop. */
struct net_notes {
    struct net_stream *dirty; /* have bytes to mail at the end of the round */
    int64_t look_at_ms;       /* when a deadline may have passed; INT64_MAX: none */
};

struct net_stream {
    atomic_int refs;
    struct net *net;
    struct mailbox *to; /* until it is closed */
    int64_t queued_us;  /* from net_start() to net_stream_open() */

    /* Between the owner and the network thread. */
    atomic_bool cancelled;
    atomic_bool ended; /* its end is mailed, so that it closes by itself */
    atomic_bool paused;
    atomic_size_t unread; /* bytes mailed, or about to be, and not yet net_used() */

    /* The nudge queue, under the net's lock. */
    bool nudged;
    struct net_stream *next_nudged;

    /* The network thread's. */
    struct net_request request; /* its method and url are ours to free */
    struct url url;             /* slices of request.url */
    struct net_config *config;
    bool opened; /* or cancelled before it could be */
    CURL *easy;  /* NULL before it is opened and after it is closed */
    struct curl_slist *headers;
    size_t live_index;
    struct net_mail *bytes; /* collected since the last flush */
    struct net_notes *notes;
    struct net_stream *next_dirty; /* in notes->dirty, while bytes is not NULL */
    struct strv head;              /* header lines of the answer so far */
    size_t head_bytes;             /* of all header lines, informational answers included */
    size_t body_bytes;             /* decoded */
    int status;
    bool head_sent;
    bool by_dir;            /* certificates are looked up in ca_dir */
    bool dir_failed;        /* and were not found there */
    bool connected;         /* the request is on its way; before that the connect limit counts */
    bool by_proxy;          /* public_only: a proxy goes there for us */
    bool found_private;     /* public_only: an address was passed over */
    int64_t last_byte_ms;   /* idle time counts from here */
    int64_t paused_ms;      /* when it was paused */
    int64_t total_until_ms; /* INT64_MAX: no limit */
    int64_t sent_bytes;     /* when idle time was last looked at */
    struct net_end end;     /* set before curl knows, when the fault is ours to find */
    struct net_stats stats;
    char curl_text[CURL_ERROR_SIZE];
};

/* Any thread. */
struct net_stream *net_stream_new(struct net *n, struct net_config *config,
                                  struct net_request *request, const struct url *url,
                                  struct mailbox *to);
struct net_stream *net_stream_ref(struct net_stream *s);
void net_stream_drop(struct net_stream *s); /* gives one count back; NULL is fine */
void net_free_if_last(struct net *n);       /* net.c: a stream of it is gone */

/* Makes the easy handle and starts it on multi. -1 after having mailed the end. */
int net_stream_open(struct net_stream *s, CURLM *multi, struct net_notes *notes);

/* Goes on when it is paused and enough was read. A failure is the end of the stream: what curl held
 * back was delivered right here, and curl will not report it again. */
CURLcode net_stream_resume(struct net_stream *s);

/* The loop's look at a stream whose time may be up (notes->look_at_ms); mails the end when it is.
 */
bool net_stream_expired(struct net_stream *s, int64_t now_ms);

/* Code is that of a certificate found wanting by ca_dir: starts over with ca_file. */
bool net_stream_try_ca_file(struct net_stream *s, CURLM *multi, CURLcode code);

void net_stream_flush(struct net_stream *s); /* mails the collected bytes */

/* The last two, for a stream that has nothing to flush. */
void net_stream_done(struct net_stream *s, CURLcode code); /* mails the end */
void net_stream_close(struct net_stream *s, CURLM *multi); /* silent; frees unneeded parts */

/* Sending frees mail of a cancelled stream instead: the owner only gets mail sent before. */
struct net_mail *net_mail_new(struct net_stream *s, enum net_mail_what what);
void net_mail_send(struct net_stream *s, struct net_mail *m);

/* net_fault.c: the meaning of code for the user, without secrets. */
void net_fault(const struct net_stream *s, CURLcode code, struct net_end *ret);
void net_fault_set(struct net_end *end, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
