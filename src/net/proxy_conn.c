/*
 * proxy_conn: one connection through the proxy, as straight-line code on a separate thread:
 * conn_serve() is that page. The client's descriptor is shared with its sender, so no flags are set
 * on it: every call is non-blocking by itself, and all waiting is conn_poll()'s.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "net/address.h"
#include "net/host_list.h"
#include "net/proxy_head.h"
#include "net/proxy_state.h"
#include "sync/cancel.h"

#define CONN_PIECE ((size_t)32 << 10)
#define CONN_MAX_UPSTREAM ((size_t)16 << 10) /* of the head another proxy answers with */

/* Bytes on their way in one direction. */
struct flow {
    int from, to;
    int64_t left; /* that may still be read; -1: all */
    bool ended;   /* nothing more comes, and the other side knows */
    size_t start, end;
    char bytes[CONN_PIECE];
};

struct proxy_client {
    struct proxy *proxy;
    struct proxy_door *door;
    int client, server; /* server: -1 before there is one */
    struct buf head;    /* read so far; bytes after the request's head are passed to the server */
    struct proxy_head request;
    struct flow out, in;
};

/* Another proxy between us and the host. */
struct upstream {
    struct host_name host;
    int port;
    struct buf auth; /* a whole header line, or empty */
};

/* ---- waiting ---- */

/* Until one of them is ready: 0; ERR_TIMEOUT, ERR_CANCELLED. */
static int conn_poll(struct proxy_client *c, struct pollfd *fds, size_t count, int64_t timeout_ms,
                     struct err *err)
{
    struct pollfd all[3] = {{.fd = cancel_fd(c->proxy->stop), .events = POLLIN}};
    int n;

    for (size_t i = 0; i < count; i++)
        all[i + 1] = fds[i];
    do
        n = poll(all, count + 1, (int)clock_real_ms(timeout_ms > 0 ? timeout_ms : 1));
    while (n < 0 && errno == EINTR);
    if (cancel_check(c->proxy->stop, err) < 0)
        return -1;
    if (n == 0)
        return err_set(err, ERR_TIMEOUT, "nothing happened for too long");
    for (size_t i = 0; i < count; i++)
        fds[i].revents = all[i + 1].revents;
    return 0;
}

static int conn_wait(struct proxy_client *c, int fd, short events, int64_t until_ms,
                     struct err *err)
{
    struct pollfd one = {.fd = fd, .events = events};

    return conn_poll(c, &one, 1, until_ms - clock_mono_ms(), err);
}

static int conn_write(struct proxy_client *c, int fd, struct str bytes, int64_t until_ms,
                      struct err *err)
{
    while (bytes.len) {
        ssize_t n = send(fd, bytes.ptr, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_sys(err, ERR_NETWORK, "the connection broke");
        if (n > 0)
            bytes = str_from(bytes, (size_t)n);
        else if (conn_wait(c, fd, POLLOUT, until_ms, err) < 0)
            return -1;
    }
    return 0;
}

/* Reads until a head is complete and gives its length: 0 when there is none in time, or it is too
 * long. */
static size_t conn_read_head(struct proxy_client *c, int fd, struct buf *head, int64_t until_ms,
                             struct err *err)
{
    for (;;) {
        size_t len = proxy_head_len(buf_str(head));
        char piece[2048];
        ssize_t n;

        if (len)
            return len;
        if (head->len >= head->max) {
            err_set(err, ERR_TOO_BIG, "the head is longer than %zu KB", head->max >> 10);
            return 0;
        }
        n = recv(fd, piece,
                 sizeof(piece) < head->max - head->len ? sizeof(piece) : head->max - head->len,
                 MSG_DONTWAIT);
        if (n > 0) {
            buf_add(head, str_make(piece, (size_t)n));
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            err_set(err, ERR_NETWORK, "the connection was closed");
            return 0;
        } else if (conn_wait(c, fd, POLLIN, until_ms, err) < 0) {
            return 0;
        }
    }
}

/* ---- answering ---- */

static void conn_answer(struct proxy_client *c, int status, const char *phrase, const char *why)
{
    CLEANUP(buf_release) struct buf answer = BUF_INIT(4096);
    char skipped[2048];

    buf_addf(&answer,
             "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: "
             "%zu\r\nConnection: close\r\nProxy-Connection: close\r\n\r\n%s\n",
             status, phrase, strlen(why) + 1, why);
    (void)conn_write(c, c->client, buf_str(&answer), clock_mono_ms() + c->proxy->head_ms, NULL);
    shutdown(c->client, SHUT_WR);
    /* Closing with bytes unread would take the answer away from the client again. */
    for (int i = 0; i < 64; i++) {
        if (recv(c->client, skipped, sizeof(skipped), MSG_DONTWAIT) <= 0)
            break;
    }
}

/* Refused by the lists: the client is notified, and the starter of the job. */
static void conn_refuse(struct proxy_client *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void conn_refuse(struct proxy_client *c, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf why = BUF_INIT(1024);
    va_list args;

    buf_adds(&line, PROXY_REFUSED);
    proxy_head_target(&c->request, &line);
    buf_adds(&line, ": ");
    va_start(args, fmt);
    buf_addv(&line, fmt, args);
    va_end(args);
    proxy_door_refuse(c->door, buf_str(&line));
    buf_addf(&why, "blocked by the sandbox: %s", buf_cstr(&line));
    conn_answer(c, 403, "Blocked by the sandbox", buf_cstr(&why));
}

/* ---- the lists ---- */

static bool conn_is_allowed(struct proxy_client *c)
{
    const struct host_name *host = &c->request.host;

    if (host_list_has(c->proxy->denied, host, c->request.port)) {
        conn_refuse(c, "the host is among the denied ones");
        return false;
    }
    if (host_list_has(c->proxy->allowed, host, c->request.port))
        return true;
    if (host_list_has(c->proxy->allowed, host, 443))
        conn_refuse(c, "the host is allowed, but not at this port");
    else
        conn_refuse(c, "the host is not among the allowed ones");
    return false;
}

/* An address that an allowed name leads to. */
static bool conn_may_reach(const struct proxy_client *c, const struct sockaddr *address)
{
    const struct proxy_head *r = &c->request;
    struct host_name found;

    if (!host_name_of(address, &found) || host_list_has(c->proxy->denied, &found, r->port))
        return false;
    return r->host.is_address || address_is_public(address) ||
           !address_host_may_be_public(str_of(r->host.text)) ||
           host_list_has(c->proxy->allowed, &found, r->port);
}

/* ---- reaching the server ---- */

static int conn_connect(struct proxy_client *c, const struct sockaddr *address, socklen_t len,
                        int64_t until_ms, struct err *err)
{
    int one = 1;
    int failed = 0;
    socklen_t failed_len = sizeof(failed);

    c->server = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->server < 0)
        return err_sys(err, ERR_IO, "there is no socket");
    if (connect(c->server, address, len) < 0) {
        if (errno != EINPROGRESS)
            failed = errno;
        else if (conn_wait(c, c->server, POLLOUT, until_ms, err) < 0)
            failed = -1;
        else
            getsockopt(c->server, SOL_SOCKET, SO_ERROR, &failed, &failed_len);
    }
    if (failed) {
        fd_closep(&c->server);
        errno = failed;
        return failed < 0 ? -1 : err_sys(err, ERR_NETWORK, "it cannot be connected to");
    }
    setsockopt(c->server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return 0;
}

/* Waits for name servers; nothing waits for us in that time (proxy_free()). */
static int conn_look_up(struct proxy_client *c, const struct host_name *host, int port,
                        struct addrinfo **ret, struct err *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    char service[12];
    int rc;

    snprintf(service, sizeof(service), "%d", port);
    hints.ai_flags = AI_NUMERICSERV | (host->is_address ? AI_NUMERICHOST : AI_ADDRCONFIG);
    gate_take(&c->proxy->gate);
    c->proxy->looking++;
    gate_wake(&c->proxy->gate);
    gate_give(&c->proxy->gate);
    rc = getaddrinfo(host->text, service, &hints, ret);
    gate_take(&c->proxy->gate);
    c->proxy->looking--;
    gate_give(&c->proxy->gate);
    if (cancel_check(c->proxy->stop, err) < 0) {
        if (!rc)
            freeaddrinfo(*ret);
        return -1;
    }
    if (rc)
        return err_set(err, ERR_NETWORK, "the name is not known (%s)", gai_strerror(rc));
    return 0;
}

/* One address after the other. with_lists: ERR_DENIED when there is none we may go to. */
static int conn_reach(struct proxy_client *c, const struct host_name *host, int port,
                      bool with_lists, struct err *err)
{
    int64_t until_ms = clock_mono_ms() + c->proxy->connect_ms;
    struct host_name passed = {0};
    struct addrinfo *found;
    struct err last = {0};
    int rc = -1;

    if (conn_look_up(c, host, port, &found, err) < 0)
        return -1;
    for (const struct addrinfo *a = found; a && rc < 0 && last.code != ERR_CANCELLED;
         a = a->ai_next) {
        if (with_lists && !conn_may_reach(c, a->ai_addr))
            host_name_of(a->ai_addr, &passed);
        else
            rc = conn_connect(c, a->ai_addr, a->ai_addrlen, until_ms, &last);
    }
    freeaddrinfo(found);
    if (rc < 0 && passed.text[0] && !last.code)
        return host_list_has(c->proxy->denied, &passed, port)
                   ? err_set(err, ERR_DENIED, PROXY_DENIED_ADDRESS "%s", passed.text)
                   : err_set(err, ERR_DENIED, PROXY_PRIVATE "%s, which is not listed", passed.text);
    if (rc < 0 && err)
        *err = last;
    return rc;
}

/* ---- another proxy ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void add_decoded(struct buf *to, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '%' && i + 2 < text.len && hex_digit(text.ptr[i + 1]) >= 0 &&
            hex_digit(text.ptr[i + 2]) >= 0) {
            buf_addc(to, (char)(hex_digit(text.ptr[i + 1]) * 16 + hex_digit(text.ptr[i + 2])));
            i += 2;
        } else {
            buf_addc(to, text.ptr[i]);
        }
    }
}

/* "http://name:password@host:port/", of which only host and port are needed. */
static int upstream_parse(struct str text, struct upstream *ret, struct err *err)
{
    struct str rest = text;
    size_t at;

    if (str_eq_nocase(str_first(rest, 7), STR("http://")))
        rest = str_from(rest, 7);
    else if (str_has(rest, STR("://")))
        return err_set(err, ERR_UNSUPPORTED, "the proxy of the environment is not an http:// one");
    rest = str_first(rest, str_chr(rest, '/'));
    at = rest.len;
    for (size_t i = 0; i < rest.len; i++) {
        if (rest.ptr[i] == '@')
            at = i; /* the last: names and passwords may have one */
    }
    if (at < rest.len) {
        CLEANUP(buf_release) struct buf plain = BUF_INIT(1024);

        add_decoded(&plain, str_first(rest, at));
        buf_adds(&ret->auth, "Proxy-Authorization: Basic ");
        buf_add_base64(&ret->auth, buf_str(&plain));
        buf_adds(&ret->auth, "\r\n");
        rest = str_from(rest, at + 1);
    }
    ret->port = 1080; /* as curl has it */
    return host_port_parse(rest, &ret->host, &ret->port, err);
}

/* Asks the other proxy for a tunnel; bytes after its answer are for the client. */
static int upstream_tunnel(struct proxy_client *c, const struct upstream *u, struct buf *ret_rest,
                           struct err *err)
{
    int64_t until_ms = clock_mono_ms() + c->proxy->connect_ms;
    CLEANUP(buf_release) struct buf ask = BUF_INIT(8192);
    CLEANUP(buf_release) struct buf target = BUF_INIT(512);
    CLEANUP(buf_release) struct buf answer = BUF_INIT(CONN_MAX_UPSTREAM);
    size_t len;
    int status;

    proxy_head_target(&c->request, &target);
    buf_addf(&ask, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", buf_cstr(&target),
             buf_cstr(&target), buf_cstr(&u->auth));
    if (conn_write(c, c->server, buf_str(&ask), until_ms, err) < 0)
        return -1;
    len = conn_read_head(c, c->server, &answer, until_ms, err);
    if (!len)
        return err_prefix(err, "the proxy %s:%d", u->host.text, u->port);
    status = proxy_answer_status(buf_str(&answer));
    if (status < 200 || status > 299)
        return err_set(err, ERR_NETWORK, "the proxy %s:%d answered %d", u->host.text, u->port,
                       status);
    buf_add(ret_rest, str_from(buf_str(&answer), len));
    return 0;
}

/* ---- joining both ends ---- */

static void flow_keep(struct flow *f, struct str bytes)
{
    f->start = 0;
    f->end = bytes.len;
    memcpy(f->bytes, bytes.ptr, bytes.len);
}

static bool flow_may_read(const struct flow *f)
{
    return !f->ended && f->start == f->end && f->left != 0;
}

/* Moves what can be moved at once. False when the connection is over. */
static bool flow_move(struct flow *f, bool *ret_moved)
{
    if (flow_may_read(f)) {
        size_t room = f->left >= 0 && f->left < (int64_t)sizeof(f->bytes) ? (size_t)f->left
                                                                          : sizeof(f->bytes);
        ssize_t n = recv(f->from, f->bytes, room, MSG_DONTWAIT);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        f->start = 0;
        f->end = (size_t)n;
        if (f->left > 0)
            f->left -= n;
        if (n == 0) {
            f->ended = true;
            shutdown(f->to, SHUT_WR);
            *ret_moved = true;
        }
    }
    if (f->start < f->end) {
        ssize_t n =
            send(f->to, f->bytes + f->start, f->end - f->start, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        f->start += (size_t)n;
        *ret_moved = true;
    }
    return true;
}

static void flow_wants(const struct flow *f, struct pollfd *from, struct pollfd *to)
{
    if (flow_may_read(f))
        from->events |= POLLIN;
    if (f->start < f->end)
        to->events |= POLLOUT;
}

static void conn_join(struct proxy_client *c)
{
    struct err err = {0};

    while (!(c->in.ended && c->in.start == c->in.end)) {
        struct pollfd fds[2] = {{.fd = c->client}, {.fd = c->server}};
        bool moved = false;

        if (!flow_move(&c->out, &moved) || !flow_move(&c->in, &moved))
            return;
        if (moved)
            continue;
        flow_wants(&c->out, &fds[0], &fds[1]);
        flow_wants(&c->in, &fds[1], &fds[0]);
        if (!fds[1].events) /* its end would be reported at once, and endlessly */
            fds[1].fd = -1;
        if (conn_poll(c, fds, 2, c->proxy->idle_ms, &err) < 0)
            return;
        /* The reader of the answer is gone; the end of a server shows in recv(). */
        if (fds[0].revents & (POLLERR | POLLHUP))
            return;
    }
}

/* ---- one connection ---- */

/* The way to the server, through another proxy where the environment has one. */
static int conn_open(struct proxy_client *c, struct buf *ret_rest, struct buf *ret_plain,
                     struct err *err)
{
    struct url url = {
        .tls = c->request.is_tunnel, .host = str_of(c->request.host.text), .port = c->request.port};
    const char *by = net_config_proxy(&c->proxy->upstream, &url);
    CLEANUP(buf_release) struct buf auth = BUF_INIT(2048);
    struct upstream u = {.auth = BUF_INIT(2048)};
    int rc;

    if (!*by) {
        proxy_head_write(&c->request, /*by_proxy=*/false, ret_plain);
        return conn_reach(c, &c->request.host, c->request.port, /*with_lists=*/true, err);
    }
    rc = upstream_parse(str_of(by), &u, err);
    buf_move(&auth, &u.auth);
    if (rc < 0 || conn_reach(c, &u.host, u.port, /*with_lists=*/false, err) < 0)
        return -1;
    if (!c->request.is_tunnel) {
        proxy_head_write(&c->request, /*by_proxy=*/true, ret_plain);
        buf_add(ret_plain, buf_str(&auth));
        return 0;
    }
    buf_move(&u.auth, &auth);
    rc = upstream_tunnel(c, &u, ret_rest, err);
    buf_release(&u.auth);
    return rc;
}

/* The first bytes in both directions; then only bytes are moved. */
static int conn_begin(struct proxy_client *c, struct str client_rest, struct buf *server_rest,
                      struct buf *plain)
{
    int64_t until_ms = clock_mono_ms() + c->proxy->connect_ms;
    bool is_tunnel = c->request.is_tunnel;
    int64_t body = c->request.body_bytes;

    c->out.from = c->in.to = c->client;
    c->out.to = c->in.from = c->server;
    c->in.left = -1;
    c->out.left = is_tunnel ? -1 : body;
    if (!is_tunnel) {
        client_rest = str_first(client_rest, (size_t)body);
        c->out.left = body - (int64_t)client_rest.len;
        buf_adds(plain, "\r\n");
    }
    flow_keep(&c->out, client_rest);
    flow_keep(&c->in, buf_str(server_rest));
    if (is_tunnel)
        return conn_write(c, c->client, STR("HTTP/1.1 200 Connection established\r\n\r\n"),
                          until_ms, /*err=*/NULL);
    return conn_write(c, c->server, buf_str(plain), until_ms, /*err=*/NULL);
}

static void conn_serve(struct proxy_client *c)
{
    CLEANUP(buf_release) struct buf server_rest = BUF_INIT(CONN_MAX_UPSTREAM);
    CLEANUP(buf_release) struct buf plain = BUF_INIT(2 * PROXY_MAX_HEAD);
    struct err err = {0};
    size_t len = conn_read_head(c, c->client, &c->head, clock_mono_ms() + c->proxy->head_ms, &err);
    int status;

    if (!len) {
        if (err.code == ERR_TOO_BIG)
            conn_answer(c, 431, "Request Header Fields Too Large", err.text);
        else if (err.code == ERR_TIMEOUT)
            conn_answer(c, 408, "Request Timeout", "no request arrived in time");
        return;
    }
    status = proxy_head_parse(str_first(buf_str(&c->head), len), &c->request, &err);
    if (status) {
        conn_answer(c, status, "Bad Request", err.text);
        return;
    }
    if (!conn_is_allowed(c))
        return;
    if (conn_open(c, &server_rest, &plain, &err) < 0) {
        if (err.code == ERR_DENIED)
            conn_refuse(c, "%s", err.text);
        else if (err.code != ERR_CANCELLED)
            conn_answer(c, 502, "Bad Gateway", err.text);
        return;
    }
    if (conn_begin(c, str_from(buf_str(&c->head), len), &server_rest, &plain) == 0)
        conn_join(c);
}

/* The user's own proxy that is meant: SOCKS begins with its version, HTTP with a letter. 0:
 * none. */
static int conn_own_proxy(struct proxy_client *c)
{
    int64_t until_ms = clock_mono_ms() + c->proxy->head_ms;
    unsigned char first;
    ssize_t n;

    if (!c->proxy->http_port && !c->proxy->socks_port)
        return 0;
    do
        n = recv(c->client, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    while (n < 0 && (errno == EAGAIN || errno == EINTR) &&
           conn_wait(c, c->client, POLLIN, until_ms, /*err=*/NULL) == 0);
    if (n != 1)
        return 0;
    return first == 4 || first == 5 ? c->proxy->socks_port : c->proxy->http_port;
}

static void conn_hand_over(struct proxy_client *c, int port)
{
    struct sockaddr_in there = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct err err = {0};

    if (conn_connect(c, (const struct sockaddr *)&there, sizeof(there),
                     clock_mono_ms() + c->proxy->connect_ms, &err) < 0) {
        err_prefix(&err, "your own proxy, 127.0.0.1:%d", port);
        if (port == c->proxy->http_port)
            conn_answer(c, 502, "Bad Gateway", err.text);
        return;
    }
    c->out.from = c->in.to = c->client;
    c->out.to = c->in.from = c->server;
    c->out.left = c->in.left = -1;
    conn_join(c);
}

static void conn_run(struct proxy_client *c)
{
    int own_proxy = conn_own_proxy(c);

    if (own_proxy)
        conn_hand_over(c, own_proxy);
    else
        conn_serve(c);
}

static void conn_free(struct proxy_client *c)
{
    struct proxy *p = c->proxy;

    fd_closep(&c->client);
    fd_closep(&c->server);
    buf_release(&c->head);
    proxy_door_unref(c->door);
    mem_freep(&c);
    gate_take(&p->gate);
    p->conns--;
    gate_wake(&p->gate);
    gate_give(&p->gate);
    proxy_unref(p);
}

static void conn_thread(void *arg)
{
    struct proxy_client *c = arg;

    conn_run(c);
    conn_free(c);
}

/* What came through a door may be anything that a descriptor can be. */
static bool is_stream_socket(int fd)
{
    int type = 0;
    socklen_t len = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

void proxy_conn_start(struct proxy_door *d, int fd)
{
    static const char busy[] = "HTTP/1.1 503 Too many connections\r\nContent-Length: 0\r\n\r\n";
    struct proxy *p = d->proxy;
    struct err err = {0};
    struct proxy_client *c;
    bool is_full;

    gate_take(&p->gate);
    is_full = p->conns >= PROXY_MAX_CONNS;
    if (!is_full)
        p->conns++;
    gate_give(&p->gate);
    if (is_full) {
        (void)send(fd, busy, sizeof(busy) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        fd_closep(&fd);
        return;
    }
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    c = mem_zalloc(sizeof(*c));
    c->proxy = p;
    c->door = proxy_door_ref(d);
    c->client = fd;
    c->server = -1;
    buf_init(&c->head, PROXY_MAX_HEAD);
    if (!is_stream_socket(fd) || thread_start_loose("proxy conn", conn_thread, c, &err) < 0)
        conn_free(c);
}
