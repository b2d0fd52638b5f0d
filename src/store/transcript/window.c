/*
 * The window. Its buffer is filled with one read at a time; an incomplete line is moved to the
 * front before more is read, so that all but very long lines are in one piece. Any thread; one
 * thread per window.
 */
#include "store/transcript/window.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define OVERRUN ((uint64_t)32 << 10) /* read at once for a line that continues after soft */

void window_init(struct window *w, int fd, uint64_t end, size_t max_bytes)
{
    size_t cap = end < max_bytes ? (size_t)end + 1 : max_bytes; /* most files are short */

    *w = (struct window){.fd = fd, .end = end, .cap = cap};
    w->buf = mem_zalloc(cap + WINDOW_SLACK);
}

void window_release(struct window *w)
{
    mem_freep(&w->buf);
}

/* Reads as much as fits after the buffered bytes; false when the file has become shorter. */
static bool window_fill(struct window *w)
{
    uint64_t from = w->base + w->len;
    uint64_t to = from < w->soft ? w->soft : from + OVERRUN;
    size_t want;
    ssize_t got;

    if (to > w->end)
        to = w->end;
    want = to - from < w->cap - w->len ? (size_t)(to - from) : w->cap - w->len;
    do {
        got = pread(w->fd, w->buf + w->len, want, (off_t)from);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
        w->has_failed = true;
        w->has_more = false;
        w->at = w->stop;
        if (got < 0)
            err_sys(w->err, ERR_IO, "cannot read");
        else
            err_set(w->err, ERR_IO, "the file was cut short while it was read");
        return false;
    }
    w->len += (size_t)got;
    return true;
}

/* The piece that begins at `next`, which is in the buffer, up to the newline or the end of what
 * fits. */
static bool window_piece(struct window *w)
{
    size_t at = (size_t)(w->next - w->base);
    size_t from = at;

    for (;;) {
        char *newline = memchr(w->buf + from, '\n', w->len - from);

        if (newline || w->base + w->len == w->end) {
            w->has_more = false;
            w->has_break = newline;
            w->stop = newline ? newline : w->buf + w->len;
            w->next = window_offset(w, w->stop) + w->has_break;
            break;
        }
        if (w->len == w->cap && at == 0) {
            w->has_more = true;
            w->stop = w->buf + w->len;
            w->next = w->base + w->len;
            break;
        }
        if (w->len == w->cap) {
            memmove(w->buf, w->buf + at, w->len - at);
            w->len -= at;
            w->base += at;
            at = 0;
        }
        from = w->len;
        if (!window_fill(w))
            return false;
    }
    w->at = w->buf + at;
    return true;
}

int window_seek(struct window *w, uint64_t begin, uint64_t soft, bool is_inside, struct err *err)
{
    w->err = err;
    w->soft = soft;
    w->base = begin;
    w->len = 0;
    w->next = begin;
    w->has_more = false;
    w->has_failed = false;
    w->at = w->stop = w->buf;
    if (!is_inside || begin == 0 || begin >= w->end)
        return 0;
    /* The line that has the byte before ends there; if it extends to soft, no line begins here, and
     * the window that it began in reads to its end. */
    w->base = w->next = begin - 1;
    do {
        if (!window_piece(w))
            return -1;
        w->base = w->has_more ? w->next : w->base;
        w->len = w->has_more ? 0 : w->len;
    } while (w->has_more && w->next < soft);
    w->has_more = false;
    return 0;
}

int window_line(struct window *w, struct err *err)
{
    uint64_t len;

    w->err = err;
    if (w->has_more && window_finish(w, &len, err) < 0)
        return -1;
    if (w->has_failed)
        return -1;
    if (w->next >= w->end || w->next >= w->soft)
        return 0;
    w->line = w->next;
    return window_piece(w) ? 1 : -1;
}

bool window_more(struct window *w)
{
    if (!w->has_more)
        return false;
    w->base = w->next;
    w->len = 0;
    return window_piece(w);
}

int window_finish(struct window *w, uint64_t *ret_len, struct err *err)
{
    w->err = err;
    while (window_more(w)) {
    }
    if (w->has_failed)
        return -1;
    w->at = w->stop;
    *ret_len = w->next - w->has_break - w->line;
    return 0;
}
