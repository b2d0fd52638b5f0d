/*
 * Time limits, by a clock that only moves when told, so that a busy machine cannot fail them. The
 * network thread does not notice by itself that time has passed; the next request makes it look.
 */
#include "net/net.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "net/net_stream.h"
#include "net/test_server.h"
#include "unit.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

static void serve_ok(struct conn *c)
{
    while (conn_skip_request(c))
        conn_puts(c, OK_HEAD "Content-Length: 2\r\n\r\nok");
}

struct timing {
    struct net *net;
    struct server ok;
    struct server server;
    struct mailbox *mailbox;
    struct net_stream *stream;
    struct answer answer;
    sem_t go;      /* the server may do the next thing */
    sem_t reached; /* it has done it */
};

static void timing_start(struct timing *t, serve_fn serve, struct net_request *r)
{
    static const struct net_options direct = {.proxy = ""};
    char url[100];

    *t = (struct timing){.net = net_new(&direct, NULL), .mailbox = mailbox_new()};
    sem_init(&t->go, 0, 0);
    sem_init(&t->reached, 0, 0);
    server_start(&t->ok, serve_ok, NULL);
    server_start(&t->server, serve, t);
    r->url = url_of(url, sizeof(url), "http", "127.0.0.1", t->server.port);
    t->stream = net_start(t->net, r, t->mailbox, NULL);
}

static void timing_stop(struct timing *t)
{
    answer_release(&t->answer);
    net_stream_unref(t->stream);
    mailbox_close(t->mailbox);
    mailbox_unref(t->mailbox);
    net_free(t->net);
    server_stop(&t->ok);
    server_stop(&t->server);
    sem_destroy(&t->go);
    sem_destroy(&t->reached);
}

static void pass_time(struct timing *t, int64_t ms)
{
    struct answer a;

    clock_advance_ms(ms);
    fetch(t->net, "http", "127.0.0.1", t->ok.port, &a);
    assert_int_equal(a.end.code, ERR_NONE);
    answer_release(&a);
}

static void wait_piece(struct timing *t)
{
    int pieces = t->answer.pieces;

    while (t->answer.pieces == pieces) {
        if (answer_add(&t->answer, next_mail(t->mailbox)))
            fail_msg("ended too early: %s", t->answer.end.text);
    }
}

static void expect_timeout(struct timing *t, const char *text)
{
    answer_wait(&t->answer, t->mailbox);
    assert_string_equal(t->answer.end.text, text);
    assert_int_equal(t->answer.end.code, ERR_TIMEOUT);
}

static void serve_no_answer(struct conn *c)
{
    struct timing *t = c->server->arg;

    conn_skip_request(c);
    sem_post(&t->reached);
    conn_wait_close(c);
}

static void silence_before_the_head(void **state)
{
    struct net_request r = {.method = "GET", .idle_ms = 10000};
    struct timing t;

    (void)state;
    timing_start(&t, serve_no_answer, &r);
    sem_wait_long(&t.reached);
    pass_time(&t, 9000);
    assert_null(mailbox_try(t.mailbox));
    pass_time(&t, 2000);
    expect_timeout(&t, "127.0.0.1 sent nothing for 10.0 s");
    assert_true(t.answer.end.before_head);
    timing_stop(&t);
}

static void no_complete_answer(void **state)
{
    struct net_request r = {.method = "GET", .total_ms = 10000};
    struct timing t;

    (void)state;
    timing_start(&t, serve_no_answer, &r);
    sem_wait_long(&t.reached);
    pass_time(&t, 11000);
    expect_timeout(&t, "no complete answer from 127.0.0.1 within 10.0 s");
    timing_stop(&t);
}

/* One byte each time it may go. */
static void serve_bytes(struct conn *c)
{
    struct timing *t = c->server->arg;

    conn_skip_request(c);
    conn_puts(c, OK_HEAD "Content-Length: 1000\r\n\r\n");
    for (int i = 0; i < 3; i++) {
        sem_wait_long(&t->go);
        conn_puts(c, "x");
    }
    conn_wait_close(c);
}

static void every_byte_starts_idle_time_anew(void **state)
{
    struct net_request r = {.method = "GET", .idle_ms = 10000};
    struct timing t;

    (void)state;
    timing_start(&t, serve_bytes, &r);
    for (int i = 0; i < 3; i++) {
        sem_post(&t.go);
        wait_piece(&t);
        pass_time(&t, 8000);
    }
    assert_null(mailbox_try(t.mailbox));
    pass_time(&t, 3000);
    expect_timeout(&t, "127.0.0.1 sent nothing for 10.0 s");
    assert_false(t.answer.end.before_head);
    timing_stop(&t);
}

static void bytes_do_not_move_the_total_limit(void **state)
{
    struct net_request r = {.method = "GET", .idle_ms = 10000, .total_ms = 20000};
    struct timing t;

    (void)state;
    timing_start(&t, serve_bytes, &r);
    for (int i = 0; i < 3; i++) {
        sem_post(&t.go);
        wait_piece(&t);
        pass_time(&t, i < 2 ? 8000 : 5000);
    }
    expect_timeout(&t, "no complete answer from 127.0.0.1 within 20.0 s");
    timing_stop(&t);
}

static void serve_long_body(struct conn *c)
{
    char piece[8192];

    conn_skip_request(c);
    conn_puts(c, OK_HEAD "Content-Length: 8388608\r\n\r\n");
    memset(piece, 'x', sizeof(piece));
    for (int i = 0; i < 1024; i++)
        conn_write(c, str_make(piece, sizeof(piece)));
    conn_wait_close(c);
}

static void paused_time_counts_for_nothing(void **state)
{
    struct net_request r = {.method = "GET", .idle_ms = 10000, .total_ms = 20000};
    struct timing t;

    (void)state;
    timing_start(&t, serve_long_body, &r);
    while (!atomic_load(&t.stream->paused))
        sched_yield();
    pass_time(&t, 3600 * 1000);
    answer_wait(&t.answer, t.mailbox);
    assert_string_equal(t.answer.end.text, "");
    assert_int_equal(t.answer.body.len, 8388608);
    timing_stop(&t);
}

/* Takes some megabytes of a body each time it may go, then answers. */
static void serve_slow_reader(struct conn *c)
{
    struct timing *t = c->server->arg;
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 20);
    size_t got = 0;

    for (int i = 1; i <= 4; i++) {
        sem_wait_long(&t->go);
        while (got < (size_t)i * (8 << 20)) {
            ssize_t n = conn_read(c, buf_room(&bytes, 1 << 16), 1 << 16);

            if (n <= 0)
                return;
            got += (size_t)n;
        }
        sem_post(&t->reached);
    }
    conn_puts(c, OK_HEAD "Content-Length: 2\r\n\r\nok");
    conn_wait_close(c);
}

static void sending_is_not_idling(void **state)
{
    struct net_request r = {.method = "POST", .body = BUF_INIT(BUF_NO_LIMIT), .idle_ms = 10000};
    struct timing t;

    (void)state;
    while (r.body.len < (size_t)32 << 20)
        buf_adds(&r.body, "a body that takes longer to send than the idle limit allows\n");
    timing_start(&t, serve_slow_reader, &r);
    for (int i = 0; i < 4; i++) {
        sem_post(&t.go);
        sem_wait_long(&t.reached);
        pass_time(&t, 8000);
    }
    answer_wait(&t.answer, t.mailbox);
    assert_string_equal(t.answer.end.text, "");
    assert_int_equal(t.answer.status, 200);
    timing_stop(&t);
}

static int stop_the_clock(void **state)
{
    (void)state;
    clock_make_virtual(1000000);
    return 0;
}

UNIT_TEST(net_time)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_before_the_head),
        cmocka_unit_test(no_complete_answer),
        cmocka_unit_test(every_byte_starts_idle_time_anew),
        cmocka_unit_test(bytes_do_not_move_the_total_limit),
        cmocka_unit_test(paused_time_counts_for_nothing),
        cmocka_unit_test(sending_is_not_idling),
    };

    return cmocka_run_group_tests(tests, stop_the_clock, NULL);
}
