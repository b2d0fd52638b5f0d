/*
 * The network thread against servers that do every kind of thing. Time limits are tested in
 * net_time_test.c, cancelling in net_cancel_test.c, TLS, proxies and the environment in
 * net_tls_test.c.
 */
#include "net/net.h"

#include <dlfcn.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <zlib.h>

#include <cmocka.h>

#include "net/net_stream.h"
#include "net/test_server.h"
#include "unit.h"

/* Names are resolved here: no test asks a real name server. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **res)
{
    (void)node;
    (void)service;
    (void)hints;
    (void)res;
    return EAI_NONAME;
}

static struct net *new_net(void)
{
    static const struct net_options direct = {.proxy = ""};
    struct err err = {0};
    struct net *n = net_new(&direct, &err);

    if (!n)
        fail_msg("%s", err.text);
    return n;
}

/* Answers: what the server sends, and what arrives. */

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

struct answer_case {
    const char *what;
    struct str sends; /* then it closes */
    int status;
    const char *body;
    int code;
    const char *says; /* part of the text */
    const char *header;
};

static const struct answer_case answer_cases[] = {
    {"length", STR_INIT(OK_HEAD "Content-Length: 5\r\n\r\nhello"), 200, "hello", ERR_NONE, "", ""},
    {"chunked",
     STR_INIT(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n"),
     200, "hello", ERR_NONE, "", "transfer-encoding: chunked"},
    {"trailer",
     STR_INIT(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Late: 1\r\n\r\n"),
     200, "hello", ERR_NONE, "", ""},
    {"until close", STR_INIT(OK_HEAD "\r\nhello"), 200, "hello", ERR_NONE, "", ""},
    {"HTTP/1.0", STR_INIT("HTTP/1.0 200 OK\r\n\r\nhello"), 200, "hello", ERR_NONE, "", ""},
    {"no reason phrase", STR_INIT("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"), 200, "", ERR_NONE,
     "", ""},
    {"no content", STR_INIT("HTTP/1.1 204 No Content\r\n\r\n"), 204, "", ERR_NONE, "", ""},
    {"not modified", STR_INIT("HTTP/1.1 304 Not Modified\r\n\r\n"), 304, "", ERR_NONE, "", ""},
    {"client error", STR_INIT("HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno"), 404, "no",
     ERR_NONE, "", ""},
    {"server error", STR_INIT("HTTP/1.1 529 Busy\r\nContent-Length: 2\r\n\r\nno"), 529, "no",
     ERR_NONE, "", ""},
    {"redirect is an answer",
     STR_INIT("HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 2\r\n\r\ngo"),
     307, "go", ERR_NONE, "", "location: http://127.0.0.1:1/"},
    {"informational answers first",
     STR_INIT("HTTP/1.1 100 Continue\r\nX-A: 1\r\n\r\nHTTP/1.1 103 Early\r\nX-B: 1\r\n\r\n" OK_HEAD
              "X-C: 1\r\nContent-Length: 2\r\n\r\nok"),
     200, "ok", ERR_NONE, "", "x-c: 1"},
    {"names in lower case, values kept",
     STR_INIT(OK_HEAD "X-MiXed:  A b:C \r\nContent-Length: 0\r\n\r\n"), 200, "", ERR_NONE, "",
     "x-mixed:  A b:C "},
    {"folded header", STR_INIT(OK_HEAD "X-Long: a\r\n  b\r\nContent-Length: 0\r\n\r\n"), 200, "",
     ERR_NONE, "", "x-long: a b"},
    {"truncated by length", STR_INIT(OK_HEAD "Content-Length: 9\r\n\r\nhello"), 200, "hello",
     ERR_NETWORK, "127.0.0.1 closed the connection in the middle of the answer", ""},
    {"truncated chunk", STR_INIT(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n9\r\nhello"), 200,
     "hello", ERR_NETWORK, "in the middle of the answer", ""},
    {"truncated between chunks",
     STR_INIT(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), 200, "hello",
     ERR_NETWORK, "in the middle of the answer", ""},
    {"truncated last chunk",
     STR_INIT(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"), 200, "hello",
     ERR_NETWORK, "in the middle of the answer", ""},
    {"bad chunk", STR_INIT(OK_HEAD "Transfer-Encoding: chunked\r\n\r\nxyz\r\nhello"), 200, "",
     ERR_NETWORK, "127.0.0.1", ""},
    {"nothing at all", STR_INIT(""), 0, "", ERR_NETWORK, "closed the connection without an answer",
     ""},
    {"half a head", STR_INIT(OK_HEAD "Content-"), 0, "", ERR_NETWORK,
     "127.0.0.1 closed the connection in the middle of the answer", ""},
    {"only an informational answer", STR_INIT("HTTP/1.1 100 Continue\r\n\r\n"), 0, "", ERR_NETWORK,
     "127.0.0.1", ""},
    {"not HTTP", STR_INIT("220 smtp.example.com ready\r\n"), 0, "", ERR_PROTOCOL,
     "does not speak proper HTTP", ""},
    {"binary garbage", STR_INIT("\x16\x03\x01\x00\x02\xff\x00\x00"), 0, "", ERR_PROTOCOL,
     "does not speak proper HTTP", ""},
    {"broken gzip",
     STR_INIT(OK_HEAD "Content-Encoding: gzip\r\nContent-Length: 12\r\n\r\nnot zipped!!"), 200, "",
     ERR_PROTOCOL, "is not encoded as it says", ""},
    {"unknown encoding passes",
     STR_INIT(OK_HEAD "Content-Encoding: identity\r\nContent-Length: 2\r\n\r\nok"), 200, "ok",
     ERR_NONE, "", ""},
};

static void serve_answer_case(struct conn *c)
{
    const struct answer_case *row = c->server->arg;

    if (conn_skip_request(c))
        conn_write(c, row->sends);
}

static bool has_header(const struct answer *a, const char *line)
{
    return !*line || strv_has(&a->headers, str_of(line));
}

static void answers(void **state)
{
    struct net *n = new_net();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answer_cases); i++) {
        const struct answer_case *row = &answer_cases[i];
        struct server server;
        struct answer a;

        server_start(&server, serve_answer_case, (void *)row);
        fetch(n, "http", "127.0.0.1", server.port, &a);
        if (a.status != row->status || a.end.code != row->code ||
            !str_is(buf_str(&a.body), row->body) ||
            !str_has(str_of(a.end.text), str_of(row->says)) || !has_header(&a, row->header) ||
            a.heads != (row->status != 0) || a.end.before_head != (row->status == 0))
            fail_msg("%s: status %d, %d heads, code %s, text '%s', body '%s'", row->what, a.status,
                     a.heads, err_code_name(a.end.code), a.end.text, buf_cstr(&a.body));
        answer_release(&a);
        server_stop(&server);
    }
    net_free(n);
}

static void serve_head_forever(struct conn *c)
{
    char line[1024];

    if (!conn_skip_request(c) || !conn_puts(c, OK_HEAD))
        return;
    memset(line, 'a', sizeof(line));
    memcpy(line, "X-A: ", 5);
    memcpy(line + sizeof(line) - 2, "\r\n", 2);
    while (conn_write(c, str_make(line, sizeof(line))))
        continue;
}

static void an_endless_head_is_cut(void **state)
{
    struct net *n = new_net();
    struct server server;
    struct answer a;

    (void)state;
    server_start(&server, serve_head_forever, NULL);
    fetch(n, "http", "127.0.0.1", server.port, &a);
    assert_int_equal(a.end.code, ERR_TOO_BIG);
    assert_int_equal(a.heads, 0);
    answer_release(&a);
    net_free(n);
    server_stop(&server);
}

static void serve_long_line(struct conn *c)
{
    static char line[(size_t)256 << 10];

    memset(line, 'a', sizeof(line));
    if (conn_skip_request(c) && conn_puts(c, OK_HEAD "X-Long: "))
        conn_write(c, str_make(line, sizeof(line)));
    conn_wait_close(c);
}

/* curl calls it "out of memory", which would be tried again and tell the user nothing. */
static void a_long_header_line_is_named(void **state)
{
    struct net *n = new_net();
    struct server server;
    struct answer a;

    (void)state;
    server_start(&server, serve_long_line, NULL);
    fetch(n, "http", "127.0.0.1", server.port, &a);
    assert_int_equal(a.end.code, ERR_TOO_BIG);
    assert_true(str_has(str_of(a.end.text), STR("header line")));
    answer_release(&a);
    net_free(n);
    server_stop(&server);
}

static void serve_reset(struct conn *c)
{
    conn_skip_request(c);
    if (c->server->arg)
        conn_puts(c, OK_HEAD "Content-Length: 9\r\n\r\n");
    conn_reset(c);
}

static void a_reset_is_an_error(void **state)
{
    struct net *n = new_net();

    (void)state;
    for (int after_head = 0; after_head < 2; after_head++) {
        struct server server;
        struct answer a;

        server_start(&server, serve_reset, after_head ? n : NULL);
        fetch(n, "http", "127.0.0.1", server.port, &a);
        assert_int_equal(a.end.code, ERR_NETWORK);
        assert_non_null(strstr(a.end.text, "connection reset by peer"));
        answer_release(&a);
        server_stop(&server);
    }
    net_free(n);
}

static void nobody_there(void **state)
{
    struct net *n = new_net();
    struct server server;
    struct answer a;
    char want[100];

    (void)state;
    server_start(&server, serve_reset, NULL);
    server_stop(&server); /* now nothing listens on that port */
    fetch(n, "http", "127.0.0.1", server.port, &a);
    assert_int_equal(a.end.code, ERR_NETWORK);
    snprintf(want, sizeof(want), "cannot connect to 127.0.0.1:%d: connection refused", server.port);
    assert_string_equal(a.end.text, want);
    assert_true(a.end.before_head);
    answer_release(&a);

    fetch(n, "http", "nowhere.test", 80, &a);
    assert_int_equal(a.end.code, ERR_NETWORK);
    assert_string_equal(a.end.text, "cannot resolve host 'nowhere.test'");
    answer_release(&a);
    net_free(n);
}

/* Encodings. */

static void zip(struct str text, int window_bits, struct buf *out)
{
    z_stream z = {0};
    size_t room = text.len + 1000;

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)text.ptr;
    z.avail_in = (uInt)text.len;
    z.next_out = (Bytef *)buf_room(out, room);
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    buf_grown(out, z.total_out);
    deflateEnd(&z);
}

struct zipped {
    const char *encoding;
    struct buf bytes;
};

static void serve_zipped(struct conn *c)
{
    const struct zipped *z = c->server->arg;
    char head[200];

    snprintf(head, sizeof(head), OK_HEAD "Content-Encoding: %s\r\nContent-Length: %zu\r\n\r\n",
             z->encoding, z->bytes.len);
    if (conn_skip_request(c) && conn_puts(c, head))
        conn_write(c, buf_str(&z->bytes));
}

static void zipped_bodies_arrive_unzipped(void **state)
{
    static const struct {
        const char *encoding;
        int window_bits;
    } rows[] = {{"gzip", 15 + 16}, {"deflate", 15}, {"deflate", -15}};
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct net *n = new_net();

    (void)state;
    /* Several times the pause limit, and a hundred times its zipped size. */
    while (text.len < 5 * NET_PAUSE_BYTES)
        buf_addf(&text, "line %zu\n", text.len);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct zipped z = {rows[i].encoding, BUF_INIT(BUF_NO_LIMIT)};
        struct server server;
        struct answer a;

        zip(buf_str(&text), rows[i].window_bits, &z.bytes);
        server_start(&server, serve_zipped, &z);
        fetch(n, "http", "127.0.0.1", server.port, &a);
        if (a.end.code != ERR_NONE || !str_eq(buf_str(&a.body), buf_str(&text)))
            fail_msg("row %zu: %s, %zu of %zu bytes", i, a.end.text, a.body.len, text.len);
        assert_int_equal(a.stats.received_bytes, z.bytes.len);
        answer_release(&a);
        server_stop(&server);
        buf_release(&z.bytes);
    }
    net_free(n);
}

/* A few kilobytes on the wire become megabytes while the receiver does not read: curl holds them
 * back and delivers them when the stream is resumed, where the size limit may be met, too. */
static void zipped_bodies_are_paused_and_limited(void **state)
{
    static const struct {
        size_t max_bytes;
        int code;
    } rows[] = {{0, ERR_NONE}, {3 * NET_PAUSE_BYTES, ERR_TOO_BIG}};
    struct zipped z = {"gzip", BUF_INIT(BUF_NO_LIMIT)};
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct net *n = new_net();
    struct server server;

    (void)state;
    while (text.len < 8 * NET_PAUSE_BYTES)
        buf_addf(&text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa %zu\n", text.len >> 12);
    zip(buf_str(&text), 15 + 16, &z.bytes);
    server_start(&server, serve_zipped, &z);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct mailbox *mb = mailbox_new();
        char url[100];
        struct net_request r = {.method = "GET",
                                .url = url_of(url, sizeof(url), "http", "127.0.0.1", server.port),
                                .max_bytes = rows[i].max_bytes};
        struct net_stream *s = net_start(n, &r, mb, NULL);
        struct answer a = {0};

        while (!atomic_load(&s->paused))
            sched_yield();
        answer_wait(&a, mb);
        if (a.end.code != rows[i].code || !str_starts(buf_str(&text), buf_str(&a.body)))
            fail_msg("row %zu: %s, %zu bytes", i, a.end.text, a.body.len);
        if (rows[i].code == ERR_NONE)
            assert_int_equal(a.body.len, text.len);
        else
            assert_in_range(a.body.len, NET_PAUSE_BYTES, rows[i].max_bytes);
        answer_release(&a);
        net_stream_unref(s);
        mailbox_unref(mb);
    }
    net_free(n);
    server_stop(&server);
    buf_release(&z.bytes);
}

/* Requests. */

struct seen {
    struct buf head;
    struct buf body;
};

static void serve_seen(struct conn *c)
{
    struct seen *seen = c->server->arg;
    CLEANUP(buf_release) struct buf head = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);

    while (conn_request(c, &head, &body)) {
        buf_move(&seen->head, &head); /* the test looks at it once it has the answer */
        buf_move(&seen->body, &body);
        conn_puts(c, OK_HEAD "Content-Length: 2\r\n\r\nok");
    }
}

static void requests_go_out_as_given(void **state)
{
    static const struct {
        const char *method;
        const char *header;
        struct str body;
        const char *starts;
        const char *has;
        const char *has_not;
    } rows[] = {
        {"GET", "X-Key: v", STR_INIT(""), "GET /path?q=1 HTTP/1.1\r\n", "\r\nX-Key: v\r\n",
         "\r\nContent-"},
        {"GET", "X: 1", STR_INIT(""), "GET ", "\r\nAccept-Encoding: gzip, deflate\r\n",
         "\r\nUser-"},
        {"POST", "Content-Type: application/json", STR_INIT("{}"), "POST ",
         "\r\nContent-Type: application/json\r\n", "urlencoded"},
        {"POST", "x: y", STR_INIT("a\0b"), "POST ", "\r\nContent-Length: 3\r\n", "Content-Type"},
        {"POST", "x: y", STR_INIT(""), "POST ", "\r\nContent-Length: 0\r\n", "Content-Type"},
        {"PUT", "x: y", STR_INIT("put"), "PUT ", "\r\nContent-Length: 3\r\n", "Expect"},
        {"DELETE", "Accept: text/event-stream", STR_INIT(""), "DELETE ",
         "\r\nAccept: text/event-stream\r\n", "*/*"},
        {"POST", "x-empty:", STR_INIT("1"), "POST ", "\r\nx-empty:\r\n", "Expect"},
        {"POST", "x-empty:  ", STR_INIT("1"), "POST ", "\r\nx-empty:\r\n", "Expect"},
    };
    struct seen seen = {BUF_INIT(BUF_NO_LIMIT), BUF_INIT(BUF_NO_LIMIT)};
    struct net *n = new_net();
    struct server server;

    (void)state;
    server_start(&server, serve_seen, &seen);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char url[100];
        struct net_request r = {.method = rows[i].method,
                                .url = url_of(url, sizeof(url), "http", "127.0.0.1", server.port),
                                .body = BUF_INIT(BUF_NO_LIMIT)};
        struct answer a;
        struct str head;

        strv_adds(&r.headers, rows[i].header);
        buf_add(&r.body, rows[i].body);
        fetch_with(n, &r, &a);
        head = buf_str(&seen.head);
        if (a.end.code != ERR_NONE || !str_starts(head, str_of(rows[i].starts)) ||
            !str_has(head, str_of(rows[i].has)) || str_has(head, str_of(rows[i].has_not)) ||
            !str_eq(buf_str(&seen.body), rows[i].body))
            fail_msg("row %zu: %s, head '%s', body '%s'", i, a.end.text, buf_cstr(&seen.head),
                     buf_cstr(&seen.body));
        assert_int_equal(a.stats.reused, i > 0);
        assert_null(r.url);
        assert_int_equal(r.headers.len, 0);
        answer_release(&a);
    }
    assert_int_equal(atomic_load(&server.accepted), 1);
    net_free(n);
    server_stop(&server);
    buf_release(&seen.head);
    buf_release(&seen.body);
}

static void large_bodies_are_sent_from_where_they_are(void **state)
{
    struct seen seen = {BUF_INIT(BUF_NO_LIMIT), BUF_INIT(BUF_NO_LIMIT)};
    CLEANUP(buf_release) struct buf expected = BUF_INIT(BUF_NO_LIMIT);
    struct net *n = new_net();
    struct server server;
    struct answer a;
    char url[100];
    struct net_request r = {.method = "POST", .body = BUF_INIT(BUF_NO_LIMIT)};

    (void)state;
    while (expected.len < (size_t)50 << 20)
        buf_addf(&expected, "line %zu of a long conversation\n", expected.len);
    buf_add(&r.body, buf_str(&expected));
    server_start(&server, serve_seen, &seen);
    r.url = url_of(url, sizeof(url), "http", "127.0.0.1", server.port);
    fetch_with(n, &r, &a);
    assert_int_equal(a.end.code, ERR_NONE);
    assert_true(str_eq(buf_str(&seen.body), buf_str(&expected)));
    assert_int_equal(a.stats.sent_bytes, expected.len);
    answer_release(&a);
    net_free(n);
    server_stop(&server);
    buf_release(&seen.head);
    buf_release(&seen.body);
}

static void bad_requests_do_not_start(void **state)
{
    static const struct {
        const char *method;
        const char *url;
        const char *header;
        const char *says;
    } rows[] = {
        {"GET", "", "a: b", "empty"},
        {"GET", "gopher://x", "a: b", "is not an http"},
        {"GET", "http://u:secret1@x/", "a: b", "password"},
        {"GE T", "http://127.0.0.1/", "a: b", "method"},
        {"", "http://127.0.0.1/", "a: b", "method"},
        {"GET", "http://127.0.0.1/", "a b", "name: value"},
        {"GET", "http://127.0.0.1/", ": b", "name: value"},
        {"GET", "http://127.0.0.1/", "a : b", "name: value"},
        {"GET", "http://127.0.0.1/", "a: secret1\r\nb: c", "header 'a' of the request has a line"},
        {"GET", "http://127.0.0.1/", "a: b\nc", "line break"},
    };
    struct net *n = new_net();
    struct mailbox *mb = mailbox_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct net_request r = {.method = rows[i].method, .url = rows[i].url};
        struct err err = {0};

        strv_adds(&r.headers, rows[i].header);
        assert_null(net_start(n, &r, mb, &err));
        if (err.code != ERR_BAD_INPUT || !strstr(err.text, rows[i].says) ||
            strstr(err.text, "secret1"))
            fail_msg("row %zu: %s", i, err.text);
        assert_string_equal(r.headers.ptr[0], rows[i].header); /* still the caller's */
        net_request_release(&r);
    }
    mailbox_unref(mb);
    net_free(n);
}

static void ipv6(void **state)
{
    struct seen seen = {BUF_INIT(BUF_NO_LIMIT), BUF_INIT(BUF_NO_LIMIT)};
    struct server server = {.serve = serve_seen, .arg = &seen};
    struct net *n;
    struct answer a;

    (void)state;
    if (server_start_at(&server, "::1") < 0) {
        print_message("no IPv6 here\n");
        return;
    }
    n = new_net();
    fetch(n, "http", "[::1]", server.port, &a);
    assert_int_equal(a.end.code, ERR_NONE);
    assert_string_equal(buf_cstr(&a.body), "ok");
    answer_release(&a);
    net_free(n);
    server_stop(&server);

    n = new_net();
    fetch(n, "http", "[::1]", server.port, &a);
    assert_non_null(strstr(a.end.text, "cannot connect to [::1]:"));
    answer_release(&a);
    net_free(n);
    buf_release(&seen.head);
    buf_release(&seen.body);
}

/* Back-pressure and limits. */

#define FLOOD_BYTES ((size_t)20 << 20)

struct flood {
    atomic_size_t sent;
    sem_t stuck; /* posted when the socket takes no more */
};

static char flood_byte(size_t i)
{
    return (char)('a' + i / 1000 % 26);
}

/* Sends FLOOD_BYTES, noticing when the client has stopped to read. */
static void serve_flood(struct conn *c)
{
    struct flood *f = c->server->arg;
    char piece[8192];
    char head[100];
    bool told = false;

    snprintf(head, sizeof(head), OK_HEAD "Content-Length: %zu\r\n\r\n", FLOOD_BYTES);
    if (!conn_skip_request(c) || !conn_puts(c, head))
        return;
    for (size_t at = 0; at < FLOOD_BYTES; at += sizeof(piece)) {
        struct str rest = str_make(piece, sizeof(piece));

        for (size_t i = 0; i < sizeof(piece); i++)
            piece[i] = flood_byte(at + i);
        while (rest.len) {
            ssize_t sent =
                send(c->fd, rest.ptr, rest.len, MSG_NOSIGNAL | (told ? 0 : MSG_DONTWAIT));

            if (sent < 0 && errno == EAGAIN) {
                struct timeval second = {.tv_sec = 1};
                fd_set set;

                FD_ZERO(&set);
                FD_SET(c->fd, &set);
                /* Full for a second: the client is not just slow. */
                if (select(c->fd + 1, NULL, &set, NULL, &second) == 0) {
                    told = true;
                    sem_post(&f->stuck);
                }
                continue;
            }
            if (sent < 0)
                return;
            rest = str_from(rest, (size_t)sent);
            atomic_fetch_add(&f->sent, (size_t)sent);
        }
    }
}

static void a_slow_receiver_pauses_the_sender(void **state)
{
    struct flood flood = {0};
    struct server server;
    struct net *n = new_net();
    struct mailbox *mb = mailbox_new();
    struct answer a = {0};
    char url[100];
    struct net_request r = {.method = "GET"};
    struct net_stream *s;
    size_t held;

    (void)state;
    sem_init(&flood.stuck, 0, 0);
    server_start(&server, serve_flood, &flood);
    r.url = url_of(url, sizeof(url), "http", "127.0.0.1", server.port);
    s = net_start(n, &r, mb, NULL);
    sem_wait_long(&flood.stuck);
    held = mailbox_bytes(mb);
    print_message("          unread %zu KB, server stuck after %zu KB\n", held >> 10,
                  atomic_load(&flood.sent) >> 10);
    assert_true(atomic_load(&s->paused));
    assert_in_range(held, NET_PAUSE_BYTES, NET_PAUSE_BYTES + NET_PAUSE_BYTES / 4);
    assert_true(atomic_load(&flood.sent) < FLOOD_BYTES);

    answer_wait(&a, mb);
    assert_string_equal(a.end.text, "");
    assert_int_equal(a.body.len, FLOOD_BYTES);
    for (size_t i = 0; i < a.body.len; i++) {
        if (a.body.ptr[i] != flood_byte(i))
            fail_msg("byte %zu is wrong", i);
    }
    answer_release(&a);
    net_stream_unref(s);
    mailbox_unref(mb);
    net_free(n);
    server_stop(&server);
    sem_destroy(&flood.stuck);
}

static void long_answers_are_cut(void **state)
{
    struct flood flood = {0};
    struct server server;
    struct net *n = new_net();
    struct answer a;
    char url[100];
    struct net_request r = {.method = "GET", .max_bytes = 100000};

    (void)state;
    sem_init(&flood.stuck, 0, 0);
    server_start(&server, serve_flood, &flood);
    r.url = url_of(url, sizeof(url), "http", "127.0.0.1", server.port);
    fetch_with(n, &r, &a);
    assert_int_equal(a.end.code, ERR_TOO_BIG);
    assert_string_equal(a.end.text, "the answer is longer than 100000 bytes");
    assert_true(a.body.len <= 100000);
    answer_release(&a);
    net_free(n);
    server_stop(&server);
    sem_destroy(&flood.stuck);
}

/* Life and death. */

static void serve_until_gone(struct conn *c)
{
    if (conn_skip_request(c) && conn_puts(c, OK_HEAD "\r\nsome"))
        conn_wait_close(c);
}

static void streams_may_outlive_their_net(void **state)
{
    struct net *n = new_net();
    struct server server;
    struct mailbox *mb = mailbox_new();
    char url[100];
    struct net_stream *streams[3];
    struct mail *m;

    (void)state;
    server_start(&server, serve_until_gone, NULL);
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        struct net_request r = {.method = "GET",
                                .url = url_of(url, sizeof(url), "http", "127.0.0.1", server.port)};

        streams[i] = net_start(n, &r, mb, NULL);
    }
    m = next_mail(mb); /* the head of one of them */
    mail_free(m);
    net_stream_unref(streams[0]); /* while it runs */
    net_free(n);
    net_cancel(streams[1]);
    net_stream_unref(streams[1]);
    mailbox_close(mb);
    mailbox_unref(mb);
    net_stream_unref(streams[2]);
    server_stop(&server);
}

static void a_closed_mailbox_swallows_the_answer(void **state)
{
    struct seen seen = {BUF_INIT(BUF_NO_LIMIT), BUF_INIT(BUF_NO_LIMIT)};
    struct net *n = new_net();
    struct server server;
    struct mailbox *mb = mailbox_new();
    char url[100];
    struct net_request r = {.method = "GET"};
    struct net_stream *s;
    struct answer a;

    (void)state;
    server_start(&server, serve_seen, &seen);
    r.url = url_of(url, sizeof(url), "http", "127.0.0.1", server.port);
    s = net_start(n, &r, mb, NULL);
    mailbox_close(mb);
    mailbox_unref(mb);
    fetch(n, "http", "127.0.0.1", server.port, &a);
    assert_int_equal(a.end.code, ERR_NONE);
    answer_release(&a);
    net_stream_unref(s);
    net_free(n);
    server_stop(&server);
    buf_release(&seen.head);
    buf_release(&seen.body);
}

static void serve_ok(struct conn *c)
{
    while (conn_skip_request(c))
        conn_puts(c, OK_HEAD "Content-Length: 2\r\n\r\nok");
}

static void many_at_once(void **state)
{
    enum {
        MANY = 100
    };
    struct net *n = new_net();
    struct server server;
    struct mailbox *mb = mailbox_new();
    struct net_stream *streams[MANY];
    int ends = 0;
    char url[100];

    (void)state;
    server_start(&server, serve_ok, NULL);
    url_of(url, sizeof(url), "http", "127.0.0.1", server.port);
    for (int i = 0; i < MANY; i++) {
        struct net_request r = {.method = "GET", .url = url};

        streams[i] = net_start(n, &r, mb, NULL);
    }
    while (ends < MANY) {
        struct net_mail *m = (struct net_mail *)next_mail(mb);

        if (m->what == NET_END) {
            assert_int_equal(m->end.code, ERR_NONE);
            assert_int_equal(m->status, 200);
            ends++;
        }
        mail_free(&m->mail);
    }
    for (int i = 0; i < MANY; i++)
        net_stream_unref(streams[i]);
    assert_null(mailbox_try(mb));
    mailbox_unref(mb);
    net_free(n);
    server_stop(&server);
}

static void the_library_has_a_name(void **state)
{
    struct net *n = new_net();

    (void)state;
    assert_int_equal(net_loaded(n, NULL), 0);
    assert_int_equal(net_ready(n, NULL), 0);
    assert_non_null(strstr(net_library(n), "libcurl/"));
    net_free(n);
    net_free(NULL);
    net_stream_unref(NULL);
}

/* It looks for this name in the program before it sets itself up. */
static void gnutls_is_told_to_wait(void **state)
{
    int (*told)(void);

    (void)state;
    *(void **)&told = dlsym(RTLD_DEFAULT, "_gnutls_global_init_skip");
    assert_non_null(told);
    assert_int_equal(told(), 1);
}

UNIT_TEST(net)
{
    struct net *first;

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(an_endless_head_is_cut),
        cmocka_unit_test(a_long_header_line_is_named),
        cmocka_unit_test(a_reset_is_an_error),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(zipped_bodies_arrive_unzipped),
        cmocka_unit_test(zipped_bodies_are_paused_and_limited),
        cmocka_unit_test(requests_go_out_as_given),
        cmocka_unit_test(large_bodies_are_sent_from_where_they_are),
        cmocka_unit_test(bad_requests_do_not_start),
        cmocka_unit_test(ipv6),
        cmocka_unit_test(a_slow_receiver_pauses_the_sender),
        cmocka_unit_test(long_answers_are_cut),
        cmocka_unit_test(streams_may_outlive_their_net),
        cmocka_unit_test(a_closed_mailbox_swallows_the_answer),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(the_library_has_a_name),
        cmocka_unit_test(gnutls_is_told_to_wait),
    };

    first = net_new(NULL, NULL);
    net_free(first); /* waits for libcurl; the tests load no more */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
