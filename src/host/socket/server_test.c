/*
 * A speaker that has stopped because much was unsent is called when the reader has caught up. All
 * on one thread: what the other end does, the callbacks do.
 */
#include "host/socket/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "unit.h"

#define PIECE 16384
#define SEND_BUFFER 65536
#define LINES 200 /* enough of them to read everything */

struct end {
    struct server *server;
    struct server_conn *conn;
    struct cancel *stop;
    int other;
    int lines, ready;
    bool was_busy;
};

static void post_free(struct mail *m)
{
    mem_freep(&m);
}

static const struct mail_kind post_kind = {"post", post_free};

static void send_until(struct end *e, size_t unsent)
{
    char piece[PIECE];

    memset(piece, 'x', PIECE);
    while (server_conn_unsent(e->conn) < unsent)
        server_conn_send(e->conn, str_make(piece, PIECE));
}

static void *on_open(struct server_conn *c, void *arg)
{
    ((struct end *)arg)->conn = c;
    return arg;
}

/* The first line leaves something unsent, so that the socket is polled for writing. After the
 * second, the socket can be written and mail waits, in the same round. */
static void on_line(void *peer, struct str line)
{
    struct end *e = peer;
    char piece[PIECE];
    struct mail *m;

    (void)line;
    if (++e->lines == 1)
        send_until(e, SERVER_BUSY / 2);
    while (e->lines > 1 && recv(e->other, piece, PIECE, MSG_DONTWAIT) > 0) {
    }
    if (e->lines == 2) {
        m = mem_zalloc(sizeof(*m));
        m->kind = &post_kind;
        mailbox_send(server_mailbox(e->server), m);
    }
    if (e->ready || e->lines == LINES)
        cancel_set(e->stop);
    else
        assert_int_equal(send(e->other, "x\n", 2, MSG_NOSIGNAL), 2);
}

static void on_post(void *arg, struct mail *m)
{
    struct end *e = arg;

    mail_free(m);
    send_until(e, SERVER_BUSY);
    e->was_busy = true;
}

static void on_ready(void *peer)
{
    struct end *e = peer;

    assert_true(e->was_busy);
    assert_true(server_conn_unsent(e->conn) < SERVER_BUSY);
    e->ready++;
}

static void on_mail(void *peer, struct mail *m)
{
    (void)peer;
    mail_free(m);
}

static void on_close(void *peer)
{
    (void)peer;
}

static void test_ready(void **state)
{
    static const struct speaker speaker = {
        .open = on_open,
        .line = on_line,
        .mail = on_mail,
        .ready = on_ready,
        .close = on_close,
        .post = on_post,
    };
    struct end e = {.stop = cancel_new(NULL)};
    struct server_spec spec = {.speaker = &speaker,
                               .arg = &e,
                               .max_line = PIECE,
                               .max_queue = BUF_NO_LIMIT,
                               .stop = e.stop};
    int size = SEND_BUFFER;
    int fds[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
    e.other = fds[1];
    e.server = server_new(&spec);
    server_attach(e.server, fds[0], fds[0]);
    assert_int_equal(send(e.other, "x\n", 2, MSG_NOSIGNAL), 2);
    server_run(e.server);
    assert_true(e.was_busy);
    assert_int_equal(e.ready, 1);
    server_free(e.server);
    cancel_unref(e.stop);
    close(fds[0]);
    close(fds[1]);
}

UNIT_TEST(server)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
