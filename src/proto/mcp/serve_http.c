/*
 * Clients over HTTP, on this machine alone: POST /mcp with a message, answered as JSON, or as an
 * event stream when a tool is called. A thread for each connection; each answers one request.
 *
 * A page in a browser must not reach it: Host and Origin have to name this machine, and a client
 * has to know the token, which is in a file that only the user can read.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/vec.h"
#include "json/json.h"
#include "proto/mcp/serve.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "sync/ticket.h"

#define HTTP_MAX_HEAD ((size_t)32 << 10)
#define HTTP_MAX_CONNS 64
#define HTTP_MAX_SESSIONS 64
#define HTTP_READ_MS (30 * 1000) /* for a whole request */
#define HTTP_WRITE_MS (30 * 1000)
#define HTTP_LAST_MS 2000 /* for the client to close its side */
#define HTTP_TOKEN 40
#define HTTP_SESSION 32

struct http_session {
    char id[HTTP_SESSION + 1];
    struct serve_peer *peer;
    unsigned users;
    bool is_over;
    int64_t used_ms;
};

struct http_listener {
    struct serve *serve;
    const struct serve_http *spec;
    struct cancel *cancel;
    char token[HTTP_TOKEN + 1];
    struct serve_peer *common; /* of messages that belong to no session */
    struct gate gate;
    unsigned conns;                      /* threads; under the gate, like what follows */
    VEC(struct http_session *) sessions; /* the oldest first */
};

struct http_conn {
    struct http_listener *listener;
    int fd;
    struct buf in; /* head and body */
    size_t head;   /* its length, with the empty line */
    struct str method, path;
    struct ticket writing;
    const char *session; /* that the answer names; NULL: none */
    bool is_stream, has_answered, is_broken;
};

/* ---- Reading ---- */

static int conn_await(struct http_conn *c, short events, int64_t until_ms)
{
    struct pollfd fds[2] = {{.fd = c->fd, .events = events},
                            {.fd = cancel_fd(c->listener->cancel), .events = POLLIN}};
    int64_t left = until_ms - clock_mono_ms();
    int n;

    do
        n = poll(fds, 2, (int)clock_real_ms(left > 0 ? left : 0));
    while (n < 0 && errno == EINTR);
    return n <= 0 || fds[1].revents ? -1 : 0;
}

static int conn_read_some(struct http_conn *c, int64_t until_ms)
{
    char piece[16 << 10];
    ssize_t n;

    if (conn_await(c, POLLIN, until_ms) < 0)
        return -1;
    n = recv(c->fd, piece, sizeof(piece), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return -1;
    buf_add(&c->in, str_make(piece, (size_t)n));
    return c->in.over ? -1 : 0;
}

/* The value of a header; empty: it is not there. *ret_count: how often it is. */
static struct str header(const struct http_conn *c, const char *name, unsigned *ret_count)
{
    struct str rest = str_first(buf_str(&c->in), c->head);
    struct str found = STR("");
    struct str line;

    *ret_count = 0;
    while (str_cut(&rest, '\n', &line)) {
        size_t at = str_chr(line, ':');

        if (at < line.len && str_eq_nocase(str_first(line, at), str_of(name))) {
            found = str_trim(str_from(line, at + 1));
            ++*ret_count;
        }
    }
    return found;
}

static struct str one_header(const struct http_conn *c, const char *name)
{
    unsigned count;
    struct str value = header(c, name, &count);

    return count == 1 ? value : STR("");
}

/* ---- Answering ---- */

static void conn_write(struct http_conn *c, struct str bytes)
{
    int64_t until_ms = clock_mono_ms() + HTTP_WRITE_MS;

    while (bytes.len && !c->is_broken) {
        ssize_t n = send(c->fd, bytes.ptr, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n >= 0)
            bytes = str_from(bytes, (size_t)n);
        else if (errno != EAGAIN && errno != EINTR)
            c->is_broken = true;
        else
            c->is_broken = conn_await(c, POLLOUT, until_ms) < 0;
    }
}

static void conn_head(struct http_conn *c, int status, const char *phrase, const char *type,
                      int64_t len)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(4096);

    buf_addf(&out, "HTTP/1.1 %d %s\r\nConnection: close\r\nCache-Control: no-store\r\n", status,
             phrase);
    if (type)
        buf_addf(&out, "Content-Type: %s\r\n", type);
    if (len >= 0)
        buf_addf(&out, "Content-Length: %lld\r\n", (long long)len);
    if (status == 401)
        buf_adds(&out, "WWW-Authenticate: Bearer\r\n");
    if (status == 405)
        buf_adds(&out, "Allow: POST, DELETE\r\n");
    if (c->session)
        buf_addf(&out, "Mcp-Session-Id: %s\r\n", c->session);
    buf_adds(&out, "\r\n");
    c->has_answered = true;
    conn_write(c, buf_str(&out));
}

static void conn_refuse(struct http_conn *c, int status, const char *phrase, const char *why)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(2000);

    buf_addf(&body,
             "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"%s\"}}",
             why);
    conn_head(c, status, phrase, "application/json", (int64_t)body.len);
    conn_write(c, buf_str(&body));
}

static void conn_send(void *arg, struct str message)
{
    struct http_conn *c = arg;
    CLEANUP(buf_release) struct buf event = BUF_INIT(BUF_NO_LIMIT);

    if (ticket_take(&c->writing, c->listener->cancel, NULL) < 0)
        return;
    if (!c->is_stream) {
        conn_head(c, 200, "OK", "application/json", (int64_t)message.len);
        conn_write(c, message);
    } else {
        if (!c->has_answered)
            conn_head(c, 200, "OK", "text/event-stream", -1);
        buf_adds(&event, "event: message\ndata: ");
        buf_add(&event, message);
        buf_adds(&event, "\n\n");
        conn_write(c, buf_str(&event));
    }
    ticket_give(&c->writing);
}

/* ---- Who may ---- */

/* "localhost:8080", "127.0.0.1", "[::1]:1": of this machine. */
static bool is_local_host(struct str host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str name = str_of(names[i]);
        struct str port = str_from(host, name.len);

        if (!str_eq_nocase(str_first(host, name.len), name))
            continue;
        if (!port.len)
            return true;
        if (port.ptr[0] != ':' || port.len > 6)
            continue;
        port = str_from(port, 1);
        while (port.len && port.ptr[0] >= '0' && port.ptr[0] <= '9')
            port = str_from(port, 1);
        if (!port.len)
            return true;
    }
    return false;
}

static bool is_local_origin(struct str origin)
{
    if (str_starts(origin, STR("http://")))
        return is_local_host(str_from(origin, 7));
    return str_starts(origin, STR("https://")) && is_local_host(str_from(origin, 8));
}

static bool knows_token(const struct http_conn *c)
{
    struct str given = one_header(c, "authorization");
    const char *token = c->listener->token;
    unsigned differs = 0;

    if (c->listener->spec->no_token)
        return true;
    if (given.len != HTTP_TOKEN + 7 || !str_eq_nocase(str_first(given, 7), STR("bearer ")))
        return false;
    for (size_t i = 0; i < HTTP_TOKEN; i++) /* as long for every wrong one */
        differs |= (unsigned)(given.ptr[i + 7] ^ token[i]);
    return !differs;
}

/* ---- Sessions ---- */

static struct http_session *session_hold(struct http_listener *l, struct str id)
{
    struct http_session *found = NULL;

    gate_take(&l->gate);
    VEC_EACH(&l->sessions, s) {
        if (str_is(id, (*s)->id) && !(*s)->is_over)
            found = *s;
    }
    if (found) {
        found->users++;
        found->used_ms = clock_mono_ms();
    }
    gate_give(&l->gate);
    return found;
}

static void session_end(struct http_session *s)
{
    serve_peer_free(s->peer);
    mem_freep(&s);
}

/* Out of the list when it is over and unused. */
static void session_drop(struct http_listener *l, struct http_session *s)
{
    bool ends;

    gate_take(&l->gate);
    ends = --s->users == 0 && s->is_over;
    for (size_t i = 0; ends && i < l->sessions.len; i++) {
        if (l->sessions.ptr[i] == s) {
            l->sessions.ptr[i] = l->sessions.ptr[--l->sessions.len];
            break;
        }
    }
    gate_give(&l->gate);
    if (ends)
        session_end(s);
}

/* The one that was idle longest makes room. NULL: all are in use. */
static struct http_session *session_new(struct http_listener *l)
{
    struct http_session *s = mem_zalloc(sizeof(*s));
    struct http_session *old = NULL;
    size_t at = 0;

    id_fill(s->id, HTTP_SESSION);
    s->users = 1;
    s->used_ms = clock_mono_ms();
    s->peer = serve_peer_new(l->serve);
    gate_take(&l->gate);
    if (l->sessions.len >= HTTP_MAX_SESSIONS) {
        for (size_t i = 0; i < l->sessions.len; i++) {
            if (!l->sessions.ptr[i]->users && (!old || l->sessions.ptr[i]->used_ms < old->used_ms))
                old = l->sessions.ptr[at = i];
        }
        if (old)
            l->sessions.ptr[at] = l->sessions.ptr[--l->sessions.len];
    }
    if (l->sessions.len < HTTP_MAX_SESSIONS) {
        vec_push(&l->sessions, s);
        gate_give(&l->gate);
    } else {
        gate_give(&l->gate);
        session_end(s);
        s = NULL;
    }
    if (old)
        session_end(old);
    return s;
}

/* ---- One request ---- */

static void conn_run(struct http_conn *c, struct serve_peer *peer, const struct json *m)
{
    struct serve_way way = {conn_send, c};

    c->is_stream = serve_is_call(m);
    serve_take(peer, m, &way);
    if (c->has_answered)
        return;
    if (serve_kind(m) == SERVE_REQUEST) /* it was cancelled: the stream ends without an answer */
        conn_head(c, 200, "OK", "text/event-stream", 0);
    else
        conn_head(c, 202, "Accepted", /*type=*/NULL, 0);
}

/* A message that carries its version: the headers must say the same. */
static void conn_modern(struct http_conn *c, const struct json *m)
{
    struct str version = one_header(c, "mcp-protocol-version");
    struct str method = one_header(c, "mcp-method");
    struct str name = one_header(c, "mcp-name");
    bool names = serve_is_call(m);

    if (!str_eq(version, serve_version(m)) || !str_eq(method, json_get_str(m, "method")) ||
        (names && !str_eq(name, json_get_str(json_get(m, "params"), "name")))) {
        CLEANUP(buf_release) struct buf body = BUF_INIT(4096);
        struct str id = json_raw(json_get(m, "id"));

        buf_addf(&body,
                 "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32020,\"message\":"
                 "\"The headers and the message differ\"}}",
                 STR_ARG(id.len && id.len < 1000 ? id : STR("null")));
        conn_head(c, 400, "Bad Request", "application/json", (int64_t)body.len);
        conn_write(c, buf_str(&body));
        return;
    }
    conn_run(c, c->listener->common, m);
}

static void conn_message(struct http_conn *c, const struct json *m)
{
    struct http_listener *l = c->listener;
    struct str id = one_header(c, "mcp-session-id");
    bool begins = str_is(json_get_str(m, "method"), "initialize");
    struct http_session *s;

    if (serve_kind(m) == SERVE_BAD) {
        conn_refuse(c, 400, "Bad Request", "Invalid request");
        return;
    }
    if (serve_version(m).len) {
        conn_modern(c, m);
        return;
    }
    if (!begins && !id.len) {
        conn_refuse(c, 400, "Bad Request", "Mcp-Session-Id is missing");
        return;
    }
    s = begins ? session_new(l) : session_hold(l, id);
    if (!s) {
        if (begins)
            conn_refuse(c, 503, "Service Unavailable", "Too many sessions");
        else
            conn_refuse(c, 404, "Not Found", "There is no such session");
        return;
    }
    c->session = begins ? s->id : NULL;
    conn_run(c, s->peer, m);
    session_drop(l, s);
}

static void conn_delete(struct http_conn *c)
{
    struct http_session *s = session_hold(c->listener, one_header(c, "mcp-session-id"));

    if (!s) {
        conn_refuse(c, 404, "Not Found", "There is no such session");
        return;
    }
    gate_take(&c->listener->gate);
    s->is_over = true;
    gate_give(&c->listener->gate);
    serve_peer_end(s->peer);
    session_drop(c->listener, s);
    conn_head(c, 204, "No Content", /*type=*/NULL, -1);
}

/* 0: the body follows, ret_len bytes of it; -1: it was refused. */
static int conn_judge(struct http_conn *c, size_t *ret_len)
{
    unsigned origins, hosts, lengths, codings;
    struct str origin = header(c, "origin", &origins);
    struct str host = header(c, "host", &hosts);
    struct str length = header(c, "content-length", &lengths);
    int64_t len = 0;

    (void)header(c, "transfer-encoding", &codings);
    if (hosts != 1 || !is_local_host(host) || origins > 1 ||
        (origins && !is_local_origin(origin))) {
        conn_refuse(c, 403, "Forbidden", "Host or Origin is not this machine");
        return -1;
    }
    if (!knows_token(c)) {
        conn_refuse(c, 401, "Unauthorized", "The token is missing or wrong");
        return -1;
    }
    if (!str_is(c->path, "/mcp")) {
        conn_refuse(c, 404, "Not Found", "The address is /mcp");
        return -1;
    }
    if (str_is(c->method, "DELETE")) {
        conn_delete(c);
        return -1;
    }
    if (!str_is(c->method, "POST")) {
        conn_refuse(c, 405, "Method Not Allowed", "Only POST and DELETE");
        return -1;
    }
    if (codings || lengths != 1 || str_to_i64(length, &len, NULL) < 0 || len < 0) {
        conn_refuse(c, 411, "Length Required", "Content-Length is missing or wrong");
        return -1;
    }
    if (len > (int64_t)SERVE_MAX_MESSAGE) {
        conn_refuse(c, 413, "Content Too Large", "The message is longer than 16 MB");
        return -1;
    }
    *ret_len = (size_t)len;
    return 0;
}

static void conn_serve(struct http_conn *c)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    int64_t until_ms = clock_mono_ms() + HTTP_READ_MS;
    const struct json *m = NULL;
    struct str line, rest;
    size_t len = 0;

    while (str_find(buf_str(&c->in), STR("\r\n\r\n")) == c->in.len) {
        if (c->in.len > HTTP_MAX_HEAD || conn_read_some(c, until_ms) < 0)
            return;
    }
    c->head = str_find(buf_str(&c->in), STR("\r\n\r\n")) + 4;
    line = str_first(buf_str(&c->in), str_chr(buf_str(&c->in), '\r'));
    rest = line;
    if (!str_cut(&rest, ' ', &c->method) || !str_cut(&rest, ' ', &c->path) ||
        !str_starts(rest, STR("HTTP/1."))) {
        conn_refuse(c, 400, "Bad Request", "That is not HTTP");
        return;
    }
    c->method = arena_str(&arena, c->method); /* the buffer may move */
    c->path = arena_str(&arena, c->path);
    if (conn_judge(c, &len) < 0)
        return;
    if (str_eq_nocase(one_header(c, "expect"), STR("100-continue")))
        conn_write(c, STR("HTTP/1.1 100 Continue\r\n\r\n"));
    while (c->in.len < c->head + len) {
        if (conn_read_some(c, until_ms) < 0)
            return;
    }
    if (json_parse(&arena, str_first(str_from(buf_str(&c->in), c->head), len), &m, NULL, NULL) < 0)
        conn_refuse(c, 400, "Bad Request", "The body is not JSON");
    else
        conn_message(c, m);
}

static void conn_thread(void *arg)
{
    struct http_conn *c = arg;
    struct http_listener *l = c->listener;
    int64_t until_ms;

    conn_serve(c);
    shutdown(c->fd, SHUT_WR);
    /* Closing with bytes unread would take the answer away from the client again. */
    until_ms = clock_mono_ms() + HTTP_LAST_MS;
    buf_clear(&c->in);
    while (clock_mono_ms() < until_ms && conn_read_some(c, until_ms) == 0)
        buf_clear(&c->in);
    close(c->fd);
    buf_release(&c->in);
    ticket_release(&c->writing);
    mem_freep(&c);
    gate_take(&l->gate);
    l->conns--;
    gate_wake(&l->gate);
    gate_give(&l->gate);
}

static void take_conn(struct http_listener *l, int fd)
{
    struct http_conn *c = mem_zalloc(sizeof(*c));
    bool may;

    c->listener = l;
    c->fd = fd;
    buf_init(&c->in, HTTP_MAX_HEAD * 2 + SERVE_MAX_MESSAGE);
    ticket_init(&c->writing);
    gate_take(&l->gate);
    may = l->conns < HTTP_MAX_CONNS;
    l->conns++;
    gate_give(&l->gate);
    if (!may)
        conn_refuse(c, 503, "Service Unavailable", "Too many connections");
    if (may && thread_start_loose("mcp http", conn_thread, c, NULL) == 0)
        return;
    close(c->fd);
    buf_release(&c->in);
    ticket_release(&c->writing);
    mem_freep(&c);
    gate_take(&l->gate);
    l->conns--;
    gate_give(&l->gate);
}

/* ---- Life ---- */

static int listen_at(const char *address, struct buf *ret_url, struct err *err)
{
    struct str text = str_of(address);
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof(at);
    int64_t port = 0;
    size_t colon = text.len;
    int one = 1;
    int fd;

    while (colon && text.ptr[colon - 1] != ':')
        colon--;
    if (!colon || str_to_i64(str_from(text, colon), &port, NULL) < 0 || port < 0 || port > 65535 ||
        !str_is_word_of(str_first(text, colon - 1), "127.0.0.1 localhost"))
        return err_set(err, ERR_BAD_INPUT,
                       "--http: '%.100s' is not 127.0.0.1:PORT; other machines cannot be served",
                       address);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons((uint16_t)port);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot make a socket");
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0) {
        err_sys(err, ERR_IO, "cannot listen on %s", address);
        close(fd);
        return -1;
    }
    buf_addf(ret_url, "http://127.0.0.1:%d/mcp", ntohs(at.sin_port));
    return fd;
}

/* A new one each time, for those who can read the user's files. */
static int make_token(struct http_listener *l, struct buf *ret_path, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(l->spec->home, "mcp-serve.token");
    CLEANUP(buf_release) struct buf line = BUF_INIT(100);

    id_fill(l->token, HTTP_TOKEN);
    secret_add(str_of(l->token));
    buf_addf(&line, "%s\n", l->token);
    if (file_mkdirs(l->spec->home, 0700, err) < 0 ||
        file_replace(path, buf_str(&line), 0600, err) < 0)
        return err_prefix(err, "the token cannot be kept");
    buf_adds(ret_path, path);
    return 0;
}

static void listener_end(struct http_listener *l)
{
    gate_take(&l->gate);
    while (l->conns)
        (void)gate_wait(&l->gate, /*deadline_ms=*/-1);
    gate_give(&l->gate);
    VEC_EACH(&l->sessions, s) {
        session_end(*s);
    }
    vec_release(&l->sessions);
    serve_peer_free(l->common);
    gate_release(&l->gate);
}

int serve_http(struct serve *serve, const struct serve_http *spec, struct cancel *cancel,
               struct err *err)
{
    struct http_listener l = {.serve = serve, .spec = spec, .cancel = cancel};
    CLEANUP(buf_release) struct buf url = BUF_INIT(200);
    CLEANUP(buf_release) struct buf path = BUF_INIT(8192);
    CLEANUP(buf_release) struct buf line = BUF_INIT(16 << 10);
    CLEANUP(fd_closep) int fd = listen_at(spec->address, &url, err);

    if (fd < 0 || (!spec->no_token && make_token(&l, &path, err) < 0))
        return -1;
    gate_init(&l.gate);
    l.common = serve_peer_new(serve);
    buf_addf(&line, "tenax: MCP server on %s", buf_cstr(&url));
    if (path.len)
        buf_addf(&line, ", with the token in %s", buf_cstr(&path));
    buf_addc(&line, '\n');
    (void)fd_write_all(STDERR_FILENO, buf_str(&line), NULL);
    while (cancel_wait_fd(cancel, fd, /*ms=*/-1, NULL) >= 0) {
        int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

        if (client >= 0)
            take_conn(&l, client);
        else if (errno != EINTR && errno != EAGAIN && errno != ECONNABORTED)
            (void)cancel_wait(cancel, 100, NULL); /* no descriptors, for a moment */
    }
    listener_end(&l);
    return 0;
}
