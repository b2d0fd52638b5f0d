/*
 * Cancelling at every point of a request. For each point a stream is brought there and cancelled;
 * the test measures the time until the other side, or the C library, sees that it is gone, while
 * another stream of the same net continues. The figures are printed; what is asserted leaves room
 * for sanitizers on a busy machine.
 */
#include "net/net.h"

#include <dlfcn.h>
#include <netdb.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "net/net_stream.h"
#include "net/test_server.h"
#include "unit.h"

#define TOO_LATE_US (5 * 1000 * 1000) /* far less than the wait itself; the machine may be busy */
#define OK_HEAD "HTTP/1.1 200 OK\r\n"

extern char **environ;

/* Names are resolved here. The resolver of "stall.test" says that it is at it, and then does not
 * answer until the process ends. */
static sem_t resolving;

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **res)
{
    (void)service;
    (void)hints;
    (void)res;
    if (!node || strcmp(node, "stall.test") != 0)
        return EAI_NONAME;
    sem_post(&resolving);
    for (;;)
        pause();
}

/* What the server does with a request, and when it saw the client go. */
struct point {
    const char *name;
    const char *scheme;
    serve_fn serve;
    const char *host;
    void (*wait_there)(struct point *p);
    int64_t (*gone_us)(struct point *p); /* when the end of the stream was seen */

    struct server server;
    struct mailbox *mailbox;
    struct net_stream *stream;
    sem_t reached;
    sem_t gone;
    int64_t seen_us;
};

static void point_gone(struct conn *c)
{
    struct point *p = c->server->arg;

    p->seen_us = clock_mono_us();
    sem_post(&p->gone);
}

static int64_t gone_by_server(struct point *p)
{
    sem_wait_long(&p->gone);
    return p->seen_us;
}

static void wait_reached(struct point *p)
{
    sem_wait_long(&p->reached);
}

/* Resolving. */

static void wait_resolving(struct point *p)
{
    (void)p;
    sem_wait_long(&resolving);
}

/* Nothing outside shows it; that the other stream still ticks does (see cancel_at()). */
static int64_t gone_at_once(struct point *p)
{
    (void)p;
    return clock_mono_us();
}

/* TCP connect: no server sees it, so the socket calls are watched on their way to the C library. */

static atomic_int watched_port;
static sem_t connect_pending;
static sem_t connect_closed;
static int64_t connect_closed_us;

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
    static int (*next)(int, const struct sockaddr *, socklen_t);
    const struct sockaddr_in *to = (const struct sockaddr_in *)address;
    int r;
    int error;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "connect");
    r = next(fd, address, size);
    error = errno;
    if (r < 0 && error == EINPROGRESS && ntohs(to->sin_port) == atomic_load(&watched_port))
        sem_post(&connect_pending);
    errno = error;
    return r;
}

int close(int fd)
{
    static int (*next)(int);
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    bool pending = atomic_load(&watched_port) != 0 &&
                   getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
                   info.tcpi_state == TCP_SYN_SENT;
    int r;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "close");
    r = next(fd);
    if (pending) {
        connect_closed_us = clock_mono_us();
        sem_post(&connect_closed);
    }
    return r;
}

static void wait_connecting(struct point *p)
{
    (void)p;
    sem_wait_long(&connect_pending);
}

static int64_t gone_by_close(struct point *p)
{
    (void)p;
    sem_wait_long(&connect_closed);
    atomic_store(&watched_port, 0);
    return connect_closed_us;
}

/* TLS handshake: the server reads and never says anything. */

static void serve_mute(struct conn *c)
{
    struct point *p = c->server->arg;
    char byte;

    if (conn_read(c, &byte, 1) == 1)
        sem_post(&p->reached);
    conn_wait_close(c);
    point_gone(c);
}

static void serve_no_answer(struct conn *c)
{
    struct point *p = c->server->arg;

    conn_skip_request(c);
    sem_post(&p->reached);
    conn_wait_close(c);
    point_gone(c);
}

static void serve_half_body(struct conn *c)
{
    conn_skip_request(c);
    conn_puts(c, OK_HEAD "Content-Length: 100\r\n\r\nhalf");
    conn_wait_close(c);
    point_gone(c);
}

static void wait_bytes(struct point *p)
{
    enum net_mail_what what;

    do {
        struct net_mail *m = (struct net_mail *)next_mail(p->mailbox);

        what = m->what;
        mail_free(&m->mail);
    } while (what != NET_BYTES);
}

static void serve_flood(struct conn *c)
{
    CLEANUP(buf_release) struct buf piece = BUF_INIT(1 << 16);

    conn_skip_request(c);
    conn_puts(c, OK_HEAD "\r\n");
    memset(buf_room(&piece, 50000), 'x', 50000);
    buf_grown(&piece, 50000);
    while (conn_write(c, buf_str(&piece)))
        continue;
    point_gone(c);
}

static void wait_paused(struct point *p)
{
    int64_t until_ms = clock_mono_ms() + TEST_WAIT_MS;

    while (!atomic_load(&p->stream->paused)) {
        if (clock_mono_ms() > until_ms)
            BUG("it never paused");
        sched_yield();
    }
}

/* The other stream: writes a line on request. */

struct ticker {
    struct server server;
    struct mailbox *mailbox;
    struct net_stream *stream;
    sem_t tick; /* once more than ticks: the end */
    atomic_bool over;
    struct answer answer;
};

static void serve_ticks(struct conn *c)
{
    struct ticker *t = c->server->arg;

    conn_skip_request(c);
    conn_puts(c, OK_HEAD "\r\n");
    for (;;) {
        sem_wait_long(&t->tick);
        if (atomic_load(&t->over))
            return;
        conn_puts(c, "tick\n");
    }
}

static void ticker_start(struct ticker *t, struct net *n)
{
    char url[100];
    struct net_request r = {.method = "GET"};

    *t = (struct ticker){.mailbox = mailbox_new()};
    sem_init(&t->tick, 0, 0);
    server_start(&t->server, serve_ticks, t);
    r.url = url_of(url, sizeof(url), "http", "127.0.0.1", t->server.port);
    t->stream = net_start(n, &r, t->mailbox, NULL);
}

static void ticker_tick(struct ticker *t)
{
    int pieces = t->answer.pieces;

    sem_post(&t->tick);
    while (t->answer.pieces == pieces) {
        if (answer_add(&t->answer, next_mail(t->mailbox)))
            fail_msg("the other stream ended: %s", t->answer.end.text);
    }
}

static void ticker_stop(struct ticker *t, int ticks)
{
    atomic_store(&t->over, true);
    sem_post(&t->tick);
    answer_wait(&t->answer, t->mailbox);
    assert_int_equal(t->answer.end.code, ERR_NONE);
    assert_int_equal(t->answer.body.len, ticks * 5);
    answer_release(&t->answer);
    net_stream_unref(t->stream);
    mailbox_unref(t->mailbox);
    server_stop(&t->server);
    sem_destroy(&t->tick);
}

static void point_start(struct point *p, struct net *n)
{
    char url[100];
    struct net_request r = {.method = "GET"};

    sem_init(&p->reached, 0, 0);
    sem_init(&p->gone, 0, 0);
    p->mailbox = mailbox_new();
    r.url = url_of(url, sizeof(url), p->scheme, p->host, p->server.port);
    p->stream = net_start(n, &r, p->mailbox, NULL);
}

static void point_stop(struct point *p)
{
    net_stream_unref(p->stream);
    mailbox_close(p->mailbox);
    mailbox_unref(p->mailbox);
    if (p->serve)
        server_stop(&p->server);
    sem_destroy(&p->reached);
    sem_destroy(&p->gone);
}

static void cancel_at(struct point *p, struct net *n)
{
    struct ticker ticker;
    struct mail *m;
    int64_t start_us;
    int64_t gone_us;
    int64_t ticked_us;

    ticker_start(&ticker, n);
    ticker_tick(&ticker);
    point_start(p, n);
    p->wait_there(p);
    ticker_tick(&ticker);

    start_us = clock_mono_us();
    net_cancel(p->stream);
    gone_us = p->gone_us(p) - start_us;
    ticker_tick(&ticker);
    ticked_us = clock_mono_us() - start_us;
    ticker_tick(&ticker);

    print_message("          %-20s gone after %6.3f ms, next tick of the other after %6.3f ms\n",
                  p->name, (double)gone_us / 1000, (double)ticked_us / 1000);
    assert_in_range(gone_us, 0, TOO_LATE_US);
    assert_in_range(ticked_us, 0, 2 * TOO_LATE_US);
    for (m = mailbox_try(p->mailbox); m; m = mailbox_try(p->mailbox)) {
        assert_int_not_equal(((struct net_mail *)m)->what, NET_END);
        mail_free(m);
    }
    ticker_stop(&ticker, 4);
}

static void cancel_takes_effect_everywhere(void **state)
{
    struct point points[] = {
        {"resolving", "http", NULL, "stall.test", wait_resolving, gone_at_once},
        {"connecting", "http", NULL, "127.0.0.1", wait_connecting, gone_by_close},
        {"TLS handshake", "https", serve_mute, "127.0.0.1", wait_reached, gone_by_server},
        {"waiting for the head", "http", serve_no_answer, "127.0.0.1", wait_reached,
         gone_by_server},
        {"mid-body", "http", serve_half_body, "127.0.0.1", wait_bytes, gone_by_server},
        {"paused", "http", serve_flood, "127.0.0.1", wait_paused, gone_by_server},
    };
    static const struct net_options direct = {.proxy = ""};
    struct net *n = net_new(&direct, NULL);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        struct point *p = &points[i];
        CLEANUP(fd_closep) int full_fd = -1;
        CLEANUP(fd_closep) int filler_fd = -1;

        if (p->serve)
            server_start(&p->server, p->serve, p);
        else
            p->server.port = 1;
        if (p->wait_there == wait_connecting) {
            p->server.port = listen_full(&full_fd, &filler_fd);
            atomic_store(&watched_port, p->server.port);
        }
        cancel_at(p, n);
        point_stop(p);
    }
    net_free(n);
}

/* A connect that gets no answer ends at its own limit; the text names the attempt. */
static void connecting_has_a_limit(void **state)
{
    static const struct net_options direct = {.proxy = ""};
    CLEANUP(fd_closep) int full_fd = -1;
    CLEANUP(fd_closep) int filler_fd = -1;
    struct net *n = net_new(&direct, NULL);
    int port = listen_full(&full_fd, &filler_fd);
    struct point mute = {.serve = serve_mute};
    const struct {
        const char *scheme;
        const char *host;
        int port;
        const char *says;
    } rows[] = {
        {"http", "stall.test", 80, "cannot resolve host 'stall.test' within 2.0 s"},
        {"http", "127.0.0.1", port, " within 2.0 s"},
        {"https", "127.0.0.1", 0, " within 2.0 s (the handshake got no answer)"},
    };

    (void)state;
    sem_init(&mute.reached, 0, 0);
    sem_init(&mute.gone, 0, 0);
    server_start(&mute.server, serve_mute, &mute);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char url[100];
        struct net_request r = {.method = "GET", .connect_ms = 2000, .idle_ms = 1};
        struct answer a;

        r.url = url_of(url, sizeof(url), rows[i].scheme, rows[i].host,
                       rows[i].port ? rows[i].port : mute.server.port);
        fetch_with(n, &r, &a);
        if (a.end.code != ERR_TIMEOUT || !str_ends(str_of(a.end.text), str_of(rows[i].says)))
            fail_msg("row %zu: %s", i, a.end.text);
        answer_release(&a);
    }
    net_free(n);
    server_stop(&mute.server);
    sem_destroy(&mute.reached);
    sem_destroy(&mute.gone);
}

/* Streams that start and are cancelled at once, from several threads. */

struct churn {
    struct net *net;
    const char *url;
};

static void churn_main(void *arg)
{
    struct churn *churn = arg;
    struct mailbox *mb = mailbox_new();

    for (int i = 0; i < 100; i++) {
        struct net_request r = {.method = "GET", .url = churn->url};
        struct net_stream *s = net_start(churn->net, &r, mb, NULL);

        if (i % 3 == 0)
            mail_free(next_mail(mb));
        if (i % 2 == 0)
            net_cancel(s);
        net_stream_unref(s);
        for (struct mail *m = mailbox_try(mb); m; m = mailbox_try(mb))
            mail_free(m);
    }
    mailbox_close(mb);
    mailbox_unref(mb);
}

static void serve_ok(struct conn *c)
{
    while (conn_skip_request(c))
        conn_puts(c, OK_HEAD "Content-Length: 2\r\n\r\nok");
}

static void cancelling_at_any_moment_is_safe(void **state)
{
    static const struct net_options direct = {.proxy = ""};
    struct churn churn = {.net = net_new(&direct, NULL)};
    struct thread *threads[4];
    struct server server;
    char url[100];

    (void)state;
    server_start(&server, serve_ok, NULL);
    churn.url = url_of(url, sizeof(url), "http", "127.0.0.1", server.port);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        threads[i] = thread_start("churn", churn_main, &churn, NULL);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        thread_join(threads[i]);
    net_free(churn.net);
    server_stop(&server);
}

/* A name server that does not answer must hold up neither net_free() nor the end of the process. */

static int run_stalled(void)
{
    struct net *n = net_new(NULL, NULL);
    struct mailbox *mb = mailbox_new();
    struct net_request r = {.method = "GET", .url = "http://stall.test/"};
    struct net_stream *s = net_start(n, &r, mb, NULL);
    int64_t start_us;

    sem_wait_long(&resolving);
    start_us = clock_mono_us();
    net_free(n);
    print_message("          net_free() while resolving: %.3f ms\n",
                  (double)(clock_mono_us() - start_us) / 1000);
    fflush(stdout);
    net_stream_unref(s);
    mailbox_unref(mb);
    return clock_mono_us() - start_us < TOO_LATE_US ? 0 : 1;
}

static void exit_does_not_wait_for_a_resolver(void **state)
{
    char *argv[] = {(char *)"unit", (char *)"net_cancel", (char *)"stalled", NULL};
    int64_t until_ms = clock_mono_ms() + TEST_WAIT_MS;
    int status = -1;
    pid_t pid;

    (void)state;
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (clock_mono_ms() > until_ms) {
            kill(pid, SIGKILL);
            fail_msg("the process did not end");
        }
        sched_yield();
    }
    assert_int_equal(status, 0);
}

UNIT_TEST(net_cancel)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancel_takes_effect_everywhere),
        cmocka_unit_test(connecting_has_a_limit),
        cmocka_unit_test(cancelling_at_any_moment_is_safe),
        cmocka_unit_test(exit_does_not_wait_for_a_resolver),
    };

    sem_init(&resolving, 0, 0);
    sem_init(&connect_pending, 0, 0);
    sem_init(&connect_closed, 0, 0);
    if (argc > 1)
        return run_stalled();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
