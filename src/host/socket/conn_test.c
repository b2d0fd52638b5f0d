/*
 * Lines in and out: cut at every byte, too long, without an end; a reader that is slow.
 */
#include "host/socket/conn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "unit.h"

#define MAX_LINE 8

static const struct line_case {
    const char *in;
    const char *want; /* lines joined by "|"; "!" for one that was too long */
} line_cases[] = {
    {"", ""},
    {"a\n", "a|"},
    {"a\nb", "a|b|"},
    {"a\r\n\nb\n", "a||b|"},
    {"12345678\n", "12345678|"},
    {"123456789\nx\n", "!|x|"},
    {"123456789012345678901234567890\nx\n", "!|x|"},
    {"x\n123456789", "x|!|"},
};

static void on_line(struct str line, void *arg)
{
    struct buf *out = arg;

    if (line.ptr)
        buf_add(out, line);
    else
        buf_adds(out, "!");
    buf_addc(out, '|');
}

static void feed_in_pieces(const struct line_case *c, size_t piece)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(1024);
    struct err err = {0};
    struct conn conn;
    int fds[2];
    int r = 1;

    assert_int_equal(pipe(fds), 0);
    conn_init(&conn, fds[0], -1, MAX_LINE, 0);
    for (size_t at = 0; at < strlen(c->in); at += piece) {
        struct str part = str_first(str_from(str_of(c->in), at), piece);

        assert_int_equal(write(fds[1], part.ptr, part.len), (ssize_t)part.len);
        assert_int_equal(conn_read(&conn, on_line, &got, &err), 1);
    }
    close(fds[1]);
    while (r > 0)
        r = conn_read(&conn, on_line, &got, &err);
    assert_int_equal(r, 0);
    if (!str_is(buf_str(&got), c->want))
        fail_msg("'%s' by %zu: '%s' instead of '%s'", c->in, piece, buf_cstr(&got), c->want);
    close(fds[0]);
    conn_release(&conn);
}

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(line_cases); i++) {
        for (size_t piece = 1; piece < 40; piece++)
            feed_in_pieces(&line_cases[i], piece);
    }
}

static void test_slow_reader(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};
    struct conn conn;
    int fds[2];

    (void)state;
    for (int i = 0; i < 40000; i++)
        buf_addf(&text, "%d\n", i);
    assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
    conn_init(&conn, -1, fds[1], MAX_LINE, text.len + 10);
    assert_int_equal(conn_send(&conn, buf_str(&text), &err), 0);
    assert_int_equal(conn_send(&conn, STR("0123456789x"), &err), -1); /* whole or not at all */
    assert_int_equal(err.code, ERR_TOO_BIG);
    while (conn_unsent(&conn)) {
        char piece[5000];
        ssize_t n;

        assert_int_equal(conn_flush(&conn, &err), 0);
        n = read(fds[0], piece, sizeof(piece));
        if (n > 0)
            buf_add(&got, str_make(piece, (size_t)n));
    }
    assert_int_equal(conn_send(&conn, STR("0123456789x"), &err), 0); /* there is room again */
    close(fds[1]);
    assert_int_equal(buf_add_fd(&got, fds[0], &err), 0);
    assert_true(str_eq(buf_str(&got), buf_str(&text)));
    close(fds[0]);
    conn_release(&conn);
}

UNIT_TEST(conn)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_slow_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
