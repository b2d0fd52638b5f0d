/*
 * The pretend model over real sockets: framing, keep-alive, TLS, and every fault as a client sees
 * it. The server runs on a separate thread, the test is a plain blocking client.
 */
#include "server.h"

#include <errno.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "host.h"
#include "sync/thread.h"
#include "tls.h"

static struct host host;
static struct server *server;
static struct tls *tls;
static struct thread *thread;
static SSL_CTX *client; /* trusts our authority */
static int port, tls_port;

static void serve(void *arg)
{
    struct err err = {0};

    (void)arg;
    if (server_run(server, &err) < 0)
        BUG("%s", err.text);
}

static int setup(void **state)
{
    struct err err = {0};
    char ca[] = "/tmp/fake-test-XXXXXX";
    int fd = mkstemp(ca);
    sigset_t ends;

    (void)state;
    close(fd);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    host_init(&host);
    tls = tls_new(&err);
    server = tls ? server_new(&host, tls, &err) : NULL;
    if (!server || server_listen(server, "127.0.0.1", 0, false, &port, &err) < 0 ||
        server_listen(server, "127.0.0.1", 0, true, &tls_port, &err) < 0 ||
        tls_write_ca(tls, ca, &err) < 0)
        fail_msg("%s", err.text);
    client = SSL_CTX_new(TLS_client_method());
    SSL_CTX_load_verify_locations(client, ca, NULL);
    SSL_CTX_set_verify(client, SSL_VERIFY_PEER, NULL);
    unlink(ca);
    thread = thread_start("fake", serve, NULL, &err);
    return thread ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    kill(getpid(), SIGTERM); /* blocked everywhere, read by the server */
    thread_join(thread);
    server_free(server);
    tls_free(tls);
    host_release(&host);
    SSL_CTX_free(client);
    return 0;
}

/* ---- a client ---- */

struct link {
    int fd;
    SSL *ssl;
};

static void link_plain(struct link *l, int to)
{
    struct sockaddr_in where = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)to),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 20};

    *l = (struct link){.fd = socket(AF_INET, SOCK_STREAM, 0)};
    setsockopt(l->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    assert_int_equal(connect(l->fd, (struct sockaddr *)&where, sizeof(where)), 0);
}

/* X509_V_OK, or why the certificate is refused; -1 when there was no handshake at all. */
static long link_tls(struct link *l)
{
    link_plain(l, tls_port);
    l->ssl = SSL_new(client);
    SSL_set_fd(l->ssl, l->fd);
    SSL_set1_host(l->ssl, "localhost");
    if (SSL_connect(l->ssl) == 1)
        return X509_V_OK;
    return SSL_get_verify_result(l->ssl) != X509_V_OK ? SSL_get_verify_result(l->ssl) : -1;
}

static void link_close(struct link *l)
{
    SSL_free(l->ssl);
    close(l->fd);
}

static void link_send(struct link *l, struct str bytes)
{
    ssize_t n = l->ssl ? SSL_write(l->ssl, bytes.ptr, (int)bytes.len)
                       : send(l->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

    assert_int_equal(n, bytes.len);
}

/* As read(2). */
static ssize_t link_read(struct link *l, struct buf *out)
{
    char *room = buf_room(out, 4096);
    ssize_t n = l->ssl ? SSL_read(l->ssl, room, 4096) : read(l->fd, room, 4096);

    if (n > 0)
        buf_grown(out, (size_t)n);
    return n;
}

static bool link_is_silent(struct link *l)
{
    struct pollfd p = {.fd = l->fd, .events = POLLIN};

    return poll(&p, 1, 30) == 0;
}

static void post(struct link *l, const char *path, const char *body)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&out,
             "POST %s HTTP/1.1\r\nHost: x\r\nanthropic-version: 2023-06-01\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             path, strlen(body), body);
    link_send(l, buf_str(&out));
}

#define ASK                                                                                        \
    "{\"model\":\"m\",\"max_tokens\":9,\"stream\":true,"                                           \
    "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"

/* Reads until `until` has come; fails when it never does. */
static void read_until(struct link *l, struct buf *got, const char *until)
{
    while (!str_has(buf_str(got), str_of(until))) {
        if (link_read(l, got) <= 0)
            fail_msg("no '%s' in:\n%s", until, buf_cstr(got));
    }
}

static void read_all(struct link *l, struct buf *got)
{
    while (link_read(l, got) > 0)
        continue;
}

static void set_scenario(const char *text)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
    struct link l;

    link_plain(&l, port);
    post(&l, "/__scenario", text);
    read_until(&l, &got, "{}");
    link_close(&l);
}

/* ---- tests ---- */

enum ending {
    KEPT, /* the connection serves the next request */
    CLOSED,
    RESET,
    SILENT,
};

static const struct fault_row {
    const char *fault;
    const char *until; /* the last that comes */
    const char *also;  /* somewhere before */
    enum ending ending;
} fault_rows[] = {
    {"status 429 \"slow down\" retry-after=7", "\"slow down\"", "429 Too Many Requests", KEPT},
    {"status 529 \"x\" retry-after-ms=5", "overloaded_error", "retry-after-ms: 5\r\n", KEPT},
    {"status 500 \"x\" header=\"X-A: b\"", "api_error", "X-A: b\r\n", KEPT},
    {"status 502 body=\"<html>bad</html>\"", "<html>bad</html>", "text/html", KEPT},
    {"cut 0", "\r\n\r\n", "200 OK", CLOSED},
    {"cut 20", "\r\n14\r\nevent: message_start\r\n", "chunked", CLOSED},
    {"reset 20", "event: message_start\r\n", "chunked", RESET},
    {"stall 20", "event: message_start\r\n", "chunked", SILENT},
    {"garbage 7 \"!?\"", "event: !?message_start", "200 OK", KEPT},
    {"error \"boom\"", "\"boom\"}}\n\n\r\n0\r\n\r\n", "event: error\n", KEPT},
    {"html", "Sign in", "text/html", KEPT},
    {"type text/plain", "0\r\n\r\n", "content-type: text/plain\r\n", KEPT},
    {"redirect 307 http://elsewhere/", "moved", "location: http://elsewhere/\r\n", KEPT},
    {"huge 100000", "xxxx", "content-length: 100006\r\n", CLOSED},
    {"empty", "\r\n\r\n", "content-length: 0\r\n", KEPT},
    {"slow 100 1ms", "0\r\n\r\n", "message_stop", KEPT},
    {"hang", "", "", SILENT},
};

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(fault_rows); i++) {
        const struct fault_row *row = &fault_rows[i / 2];
        CLEANUP(buf_release) struct buf scenario = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
        struct link l;
        ssize_t n = 0;

        buf_addf(&scenario, "step\n fault %s\n text Hello.\n", row->fault);
        set_scenario(buf_cstr(&scenario));
        if (i % 2)
            assert_int_equal(link_tls(&l), X509_V_OK);
        else
            link_plain(&l, port);
        post(&l, "/v1/messages", ASK);
        read_until(&l, &got, row->until);
        if (!str_has(buf_str(&got), str_of(row->also)))
            fail_msg("%s: no '%s' in:\n%s", row->fault, row->also, buf_cstr(&got));
        switch (row->ending) {
        case KEPT:
            buf_clear(&got);
            post(&l, "/__stats", "");
            read_until(&l, &got, "\"requests\":1");
            break;
        case SILENT:
            if (!link_is_silent(&l))
                fail_msg("%s: is not silent", row->fault);
            break;
        default:
            if (strstr(row->fault, "huge"))
                break; /* leave in the middle of it */
            n = link_read(&l, &got);
            if (n > 0 || (!l.ssl && (n < 0) != (row->ending == RESET)))
                fail_msg("%s: ended with %zd, errno %d", row->fault, n, errno);
        }
        link_close(&l);
    }
}

static void test_gzip(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
    unsigned char out[20000];
    z_stream z = {.next_out = out, .avail_out = sizeof(out)};
    struct str rest;
    struct link l;

    (void)state;
    set_scenario("step\n fault gzip\n text Hello, packed.\n pause 5ms\n text \" Again.\"\n");
    link_plain(&l, port);
    post(&l, "/v1/messages", ASK);
    read_until(&l, &got, "0\r\n\r\n");
    assert_true(str_has(buf_str(&got), STR("content-encoding: gzip\r\n")));
    rest = str_from(buf_str(&got), str_find(buf_str(&got), STR("\r\n\r\n")) + 4);
    inflateInit2(&z, 15 + 16);
    for (size_t n = 1; n > 0;) {
        size_t line = str_find(rest, STR("\r\n"));

        n = strtoul(rest.ptr, NULL, 16);
        z.next_in = (unsigned char *)rest.ptr + line + 2;
        z.avail_in = (unsigned)n;
        inflate(&z, Z_SYNC_FLUSH);
        rest = str_from(rest, line + 2 + n + 2);
    }
    inflateEnd(&z);
    rest = str_make((char *)out, sizeof(out) - z.avail_out);
    assert_true(str_has(rest, STR("packed.")));
    assert_true(str_ends(rest, STR("data: {\"type\":\"message_stop\"}\n\n")));
    link_close(&l);
}

static const struct tls_row {
    const char *kind;
    long verify; /* what the client thinks of it; -1: no handshake */
} tls_rows[] = {
    {"close", -1},
    {"garbage", -1},
    {"expired", X509_V_ERR_CERT_HAS_EXPIRED},
    {"self-signed", X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT},
    {"wrong-host", X509_V_ERR_HOSTNAME_MISMATCH},
};

static void test_tls_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tls_rows); i++) {
        CLEANUP(buf_release) struct buf scenario = BUF_INIT(1000);
        struct link l;
        long verify;

        buf_addf(&scenario, "step\n fault tls %s\n text Hello.\n", tls_rows[i].kind);
        set_scenario(buf_cstr(&scenario));
        verify = link_tls(&l);
        if (verify != tls_rows[i].verify)
            fail_msg("%s: %ld, expected %ld", tls_rows[i].kind, verify, tls_rows[i].verify);
        link_close(&l);
        assert_int_equal(link_tls(&l), X509_V_OK); /* the next one is well again */
        link_close(&l);
    }
}

static void test_tls_hang_and_refuse(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
    struct link l;

    (void)state;
    set_scenario("step\n fault tls hang\n fault refuse\n text Hello.\n");
    link_plain(&l, tls_port);
    link_send(&l, STR("\x16\x03\x01 a hello of sorts"));
    assert_true(link_is_silent(&l));
    link_close(&l);
    link_plain(&l, port);
    assert_int_equal(link_read(&l, &got), -1);
    assert_int_equal(errno, ECONNRESET);
    link_close(&l);
    link_plain(&l, port);
    post(&l, "/v1/messages", ASK);
    read_until(&l, &got, "message_stop");
    link_close(&l);
}

/* A fault of the next connection closes this one, or there would be no next. */
static void test_connection_fault_after_keep_alive(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
    struct link l;

    (void)state;
    set_scenario("step\n text One.\nstep\n fault refuse\n text Two.\n");
    link_plain(&l, port);
    post(&l, "/v1/messages", ASK);
    read_all(&l, &got);
    assert_true(str_has(buf_str(&got), STR("connection: close\r\n")));
    assert_true(str_has(buf_str(&got), STR("message_stop")));
    link_close(&l);
    link_plain(&l, port);
    assert_int_equal(link_read(&l, &got), -1);
    link_close(&l);
    link_plain(&l, port);
    post(&l, "/v1/messages", ASK);
    read_until(&l, &got, "Two.");
    link_close(&l);
}

/* Bytes one by one, a chunked body, a request to be continued, two requests in one packet. */
static void test_odd_requests(void **state)
{
    static const char head[] = "POST /v1/messages HTTP/1.1\r\nanthropic-version: x\r\n";
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct link l;

    (void)state;
    set_scenario("step\n sticky\n text Hello.\n");
    link_plain(&l, port);
    buf_addf(&out, "%stransfer-encoding: chunked\r\n\r\n10\r\n%.16s\r\n%zx\r\n%s\r\n0\r\n\r\n",
             head, ASK, strlen(ASK) - 16, &(ASK)[16]);
    for (size_t i = 0; i < out.len; i++)
        link_send(&l, str_make(out.ptr + i, 1));
    read_until(&l, &got, "0\r\n\r\n");

    buf_clear(&got);
    buf_clear(&out);
    buf_addf(&out, "%sexpect: 100-continue\r\ncontent-length: %zu\r\n\r\n", head, strlen(ASK));
    link_send(&l, buf_str(&out));
    read_until(&l, &got, "100 Continue\r\n\r\n");
    link_send(&l, STR(ASK));
    read_until(&l, &got, "0\r\n\r\n");

    buf_clear(&got);
    buf_clear(&out);
    buf_addf(&out, "%scontent-length: %zu\r\n\r\n%sGET /__stats HTTP/1.1\r\n\r\n", head,
             strlen(ASK), ASK);
    link_send(&l, buf_str(&out));
    read_until(&l, &got, "\"requests\":3");

    set_scenario("step\n text Slow\n pause 20ms\n text ly.\n");
    buf_clear(&got);
    link_send(&l, buf_str(&out)); /* the second one waits in the buffer during the pause */
    read_until(&l, &got, "\"requests\":1");

    buf_clear(&got);
    link_send(&l, STR("nonsense\r\n\r\n"));
    assert_true(link_read(&l, &got) <= 0);
    link_close(&l);
}

static void test_sessions_and_log(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
    struct link l;

    (void)state;
    set_scenario("step\n text One.\nstep\n text Two.\n");
    link_plain(&l, port);
    post(&l, "/s/a/v1/messages", ASK);
    read_until(&l, &got, "0\r\n\r\n");
    assert_true(str_has(buf_str(&got), STR("One.")));
    buf_clear(&got);
    post(&l, "/s/b/v1/messages", ASK);
    read_until(&l, &got, "0\r\n\r\n");
    assert_true(str_has(buf_str(&got), STR("One.")));
    buf_clear(&got);
    post(&l, "/s/a/messages", ASK);
    read_until(&l, &got, "0\r\n\r\n");
    assert_true(str_has(buf_str(&got), STR("Two.")));
    buf_clear(&got);
    post(&l, "/s/a/v1/messages", ASK);
    read_until(&l, &got, "no step of POST answers this call");
    buf_clear(&got);
    link_send(&l, STR("GET /__log HTTP/1.1\r\n\r\n"));
    read_until(&l, &got, "]\n");
    assert_true(str_has(buf_str(&got), STR("\"session\":\"b\",\"method\":\"POST\"")));
    assert_true(str_has(buf_str(&got), STR("\"body\":{\"model\":\"m\"")));
    assert_true(str_has(buf_str(&got), STR("\"end\":\"sent\"}")));
    link_close(&l);
}

/* A client that leaves in the middle is noticed, and others are not disturbed. */
static void test_leaving(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
    struct link a, b;

    (void)state;
    set_scenario("step\n text One.\n pause 1000s\n text Two.\nstep\n sticky\n text Three.\n");
    link_plain(&a, port);
    post(&a, "/v1/messages", ASK);
    read_until(&a, &got, "One.");
    link_plain(&b, port);
    link_close(&a);
    do {
        buf_clear(&got);
        post(&b, "/__log", "");
        read_until(&b, &got, "]\n");
    } while (!str_has(buf_str(&got), STR("\"end\":\"closed\"}")));
    post(&b, "/v1/messages", ASK);
    read_until(&b, &got, "Three.");
    link_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_tls_faults),
        cmocka_unit_test(test_tls_hang_and_refuse),
        cmocka_unit_test(test_connection_fault_after_keep_alive),
        cmocka_unit_test(test_odd_requests),
        cmocka_unit_test(test_sessions_and_log),
        cmocka_unit_test(test_leaving),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
