/*
 * conn: line buffering both ways. Whichever thread polls.
 */
#include "host/socket/conn.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"

#define CONN_READ ((size_t)64 << 10)
/* A writable pipe accepts this much without blocking. */
#define CONN_PIECE ((size_t)4096)
#define CONN_COMPACT ((size_t)64 << 10)

void conn_init(struct conn *c, int in, int out, size_t max_line, size_t max_queue)
{
    *c = (struct conn){.in = in, .out = out, .max_line = max_line};
    buf_init(&c->unread, max_line + CONN_READ);
    buf_init(&c->queue, max_queue);
}

void conn_release(struct conn *c)
{
    buf_release(&c->unread);
    buf_release(&c->queue);
}

static void conn_hand_out(struct conn *c, struct str line, conn_line_fn fn, void *arg)
{
    bool skip = c->skipping;

    c->skipping = false;
    if (skip)
        return; /* the rest of a line that was already reported */
    if (line.len > c->max_line)
        line = (struct str){0};
    else if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    fn(line, arg);
}

/* Delivers all complete lines. */
static void conn_split(struct conn *c, conn_line_fn fn, void *arg)
{
    size_t start = 0;

    for (;;) {
        struct str rest = str_from(buf_str(&c->unread), start);
        size_t from = c->searched > start ? c->searched - start : 0;
        size_t at = from + str_chr(str_from(rest, from), '\n');

        if (at >= rest.len)
            break;
        conn_hand_out(c, str_first(rest, at), fn, arg);
        start += at + 1;
    }
    buf_cut(&c->unread, 0, start);
    c->searched = c->unread.len;
    if (c->unread.len <= c->max_line)
        return;
    if (!c->skipping)
        fn((struct str){0}, arg);
    c->skipping = true;
    buf_clear(&c->unread);
    c->searched = 0;
}

int conn_read(struct conn *c, conn_line_fn fn, void *arg, struct err *err)
{
    char *room = buf_room(&c->unread, CONN_READ);
    ssize_t n;

    if (!room)
        return buf_check(&c->unread, err);
    n = read(c->in, room, CONN_READ);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 1;
    if (n < 0)
        return err_sys(err, ERR_IO, "cannot read");
    if (n == 0) {
        if (c->unread.len)
            conn_hand_out(c, buf_str(&c->unread), fn, arg);
        buf_clear(&c->unread);
        c->searched = 0;
        return 0;
    }
    buf_grown(&c->unread, (size_t)n);
    conn_split(c, fn, arg);
    return 1;
}

int conn_send(struct conn *c, struct str text, struct err *err)
{
    if (c->sent >= CONN_COMPACT || c->sent == c->queue.len) {
        buf_cut(&c->queue, 0, c->sent);
        c->sent = 0;
    }
    if (text.len > c->queue.max - c->queue.len)
        return err_set(err, ERR_TOO_BIG, "the other side does not read what it is sent");
    buf_add(&c->queue, text);
    return 0;
}

size_t conn_unsent(const struct conn *c)
{
    return c->queue.len - c->sent;
}

int conn_flush(struct conn *c, struct err *err)
{
    struct str rest = str_from(buf_str(&c->queue), c->sent);
    ssize_t n;

    if (!rest.len)
        return 0;
    do {
        n = c->is_socket ? send(c->out, rest.ptr, rest.len, MSG_DONTWAIT | MSG_NOSIGNAL)
                         : write(c->out, rest.ptr, str_first(rest, CONN_PIECE).len);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n < 0)
        return err_sys(err, ERR_IO, "cannot write");
    c->sent += (size_t)n;
    if (c->sent == c->queue.len) {
        buf_clear(&c->queue);
        c->sent = 0;
    }
    return 0;
}
