/*
 * Test helper: a small server that runs one function per connection on its own thread, with
 * blocking reads and writes; and a client that collects an answer.
 */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "net/net.h"
#include "sync/thread.h"

#define TEST_WAIT_MS (30 * 1000) /* longer than this is a hang, even under a sanitizer */

struct server;

struct conn {
    struct server *server;
    struct thread *thread;
    int fd;
    SSL *ssl; /* NULL: plain */
};

typedef void (*serve_fn)(struct conn *c);

struct server {
    serve_fn serve;
    void *arg;
    SSL_CTX *tls; /* NULL: plain */
    int fd;
    int port;
    struct thread *thread;
    VEC(struct conn *) conns; /* the accepting thread's */
    atomic_int accepted;
};

/* Connection side. */

static inline ssize_t conn_read(struct conn *c, char *to, size_t size)
{
    return c->ssl ? SSL_read(c->ssl, to, (int)size) : recv(c->fd, to, size, 0);
}

/* False if the other side has closed. */
static inline bool conn_write(struct conn *c, struct str bytes)
{
    while (bytes.len) {
        ssize_t n = c->ssl ? SSL_write(c->ssl, bytes.ptr, (int)bytes.len)
                           : send(c->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

        if (n <= 0)
            return false;
        bytes = str_from(bytes, (size_t)n);
    }
    return true;
}

static inline bool conn_puts(struct conn *c, const char *text)
{
    return conn_write(c, str_of(text));
}

/* Reads a request into *head and *body. False if there is none. */
static inline bool conn_request(struct conn *c, struct buf *head, struct buf *body)
{
    size_t length_at;
    size_t want = 0;

    buf_clear(head);
    buf_clear(body);
    while (!str_ends(buf_str(head), STR("\r\n\r\n"))) {
        char byte;

        if (conn_read(c, &byte, 1) != 1)
            return false;
        buf_addc(head, byte);
    }
    length_at = str_find_nocase(buf_str(head), STR("\r\ncontent-length:"));
    if (length_at < head->len)
        want = strtoul(head->ptr + length_at + 17, NULL, 10);
    while (body->len < want) {
        size_t room = want - body->len < 65536 ? want - body->len : 65536;
        ssize_t n = conn_read(c, buf_room(body, room), room);

        if (n <= 0)
            return false;
        buf_grown(body, (size_t)n);
    }
    return true;
}

static inline bool conn_skip_request(struct conn *c)
{
    CLEANUP(buf_release) struct buf head = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf body = BUF_INIT(100 << 20);

    return conn_request(c, &head, &body);
}

/* Blocks until the client has closed its side. */
static inline void conn_wait_close(struct conn *c)
{
    char bytes[4096];

    while (conn_read(c, bytes, sizeof(bytes)) > 0)
        continue;
}

static inline void conn_reset(struct conn *c)
{
    struct linger abort = {.l_onoff = 1};

    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
}

static inline void conn_main(void *arg)
{
    struct conn *c = arg;
    bool ready = true;

    if (c->server->tls) {
        c->ssl = SSL_new(c->server->tls);
        SSL_set_fd(c->ssl, c->fd);
        ready = SSL_accept(c->ssl) == 1;
    }
    if (ready)
        c->server->serve(c);
    if (c->ssl && ready)
        SSL_shutdown(c->ssl);
    SSL_free(c->ssl);
    close(c->fd);
}

/* Server side. */

static inline void server_main(void *arg)
{
    struct server *s = arg;

    for (;;) {
        int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
        struct conn *c;

        if (fd < 0)
            return;
        atomic_fetch_add(&s->accepted, 1);
        c = mem_zalloc(sizeof(*c));
        c->server = s;
        c->fd = fd;
        c->thread = thread_start("conn", conn_main, c, NULL);
        if (!c->thread)
            BUG("no thread for a connection");
        vec_push(&s->conns, c);
    }
}

/* On loopback; -1 when there is no such address here. */
static inline int server_start_at(struct server *s, const char *ip)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any.sa_family = strchr(ip, ':') ? AF_INET6 : AF_INET};
    socklen_t size = address.any.sa_family == AF_INET6 ? sizeof(address.v6) : sizeof(address.v4);

    inet_pton(address.any.sa_family, ip,
              address.any.sa_family == AF_INET6 ? (void *)&address.v6.sin6_addr
                                                : (void *)&address.v4.sin_addr);
    s->fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->fd < 0 || bind(s->fd, &address.any, size) < 0 || listen(s->fd, 1024) < 0)
        return -1;
    getsockname(s->fd, &address.any, &size);
    s->port = ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
    s->thread = thread_start("server", server_main, s, NULL);
    return s->thread ? 0 : -1;
}

static inline void server_start(struct server *s, serve_fn serve, void *arg)
{
    *s = (struct server){.serve = serve, .arg = arg};
    if (server_start_at(s, "127.0.0.1") < 0)
        BUG("cannot listen on loopback: %s", strerror(errno));
}

/* Every connection must end by itself or because the client has closed. */
static inline void server_stop(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    thread_join(s->thread);
    VEC_EACH(&s->conns, c) {
        thread_join((*c)->thread);
        free(*c);
    }
    vec_release(&s->conns);
    close(s->fd);
    SSL_CTX_free(s->tls);
}

/* A port with a full accept queue: another connect gets no answer. Linux accepts backlog + 1
 * connections. */
static inline int listen_full(int *ret_fd, int *ret_filler_fd)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);

    *ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *ret_filler_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(*ret_fd, (struct sockaddr *)&address, size) < 0 || listen(*ret_fd, 0) < 0 ||
        getsockname(*ret_fd, (struct sockaddr *)&address, &size) < 0 ||
        connect(*ret_filler_fd, (struct sockaddr *)&address, size) < 0)
        BUG("cannot fill a listening socket: %s", strerror(errno));
    return ntohs(address.sin_port);
}

static inline void sem_wait_long(sem_t *sem)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += TEST_WAIT_MS / 1000;
    while (sem_timedwait(sem, &until) < 0) {
        if (errno != EINTR)
            BUG("waited too long");
    }
}

/* Client side. */

struct answer {
    int heads;
    int status;
    struct strv headers;
    struct buf body;
    int pieces;
    struct net_end end;
    struct net_stats stats;
};

static inline void answer_release(struct answer *a)
{
    strv_release(&a->headers);
    buf_release(&a->body);
    *a = (struct answer){0};
}

/* Adds a mail to the answer and frees it; true when it was the end. */
static inline bool answer_add(struct answer *a, struct mail *mail)
{
    struct net_mail *m = (struct net_mail *)mail;
    enum net_mail_what what = m->what;

    if (mail->kind != &net_mail_kind)
        BUG("a mail of another kind");
    if (what == NET_HEAD) {
        a->heads++;
        a->status = m->status;
        a->headers = m->headers;
        m->headers = (struct strv)STRV_INIT;
    } else if (what == NET_BYTES) {
        if (!a->heads)
            BUG("bytes before the head");
        a->pieces++;
        a->body.max = BUF_NO_LIMIT;
        buf_add(&a->body, buf_str(&m->bytes));
        net_used(m->stream, m->bytes.len);
    } else {
        a->end = m->end;
        net_stream_stats(m->stream, &a->stats);
    }
    mail_free(mail);
    return what == NET_END;
}

static inline struct mail *next_mail(struct mailbox *mb)
{
    /* A virtual clock would jump to the deadline at once. */
    int64_t until_ms = clock_is_virtual() ? -1 : clock_mono_ms() + TEST_WAIT_MS;
    struct mail *m = NULL;

    if (mailbox_take(mb, NULL, until_ms, &m, NULL) < 0)
        BUG("no mail for too long");
    return m;
}

static inline void answer_wait(struct answer *a, struct mailbox *mb)
{
    while (!answer_add(a, next_mail(mb)))
        continue;
}

static inline char *url_of(char *out, size_t size, const char *scheme, const char *host, int port)
{
    snprintf(out, size, "%s://%s:%d/path?q=1", scheme, host, port);
    return out;
}

/* Does the request (which it empties) and waits for the end. */
static inline void fetch_with(struct net *n, struct net_request *r, struct answer *a)
{
    struct mailbox *mb = mailbox_new();
    struct err err = {0};
    struct net_stream *s = net_start(n, r, mb, &err);

    *a = (struct answer){0};
    if (!s)
        BUG("net_start: %s", err.text);
    answer_wait(a, mb);
    net_stream_unref(s);
    mailbox_unref(mb);
}

static inline void fetch(struct net *n, const char *scheme, const char *host, int port,
                         struct answer *a)
{
    char url[300];
    struct net_request r = {.method = "GET", .url = url_of(url, sizeof(url), scheme, host, port)};

    fetch_with(n, &r, a);
}
