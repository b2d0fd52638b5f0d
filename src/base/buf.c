/*
 * buf: the growing buffer. One owner, one thread.
 */
#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

void buf_init(struct buf *b, size_t max_bytes)
{
    *b = (struct buf)BUF_INIT(max_bytes);
}

void buf_release(struct buf *b)
{
    size_t max = b->max;

    free(b->ptr);
    buf_init(b, max);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->over = false;
    if (b->ptr)
        b->ptr[0] = '\0';
}

char *buf_room(struct buf *b, size_t n)
{
    size_t need;
    size_t cap;

    if (b->over || n > b->max || b->len > b->max - n) {
        b->over = true;
        return NULL;
    }
    need = b->len + n + 1;
    if (need <= b->cap)
        return b->ptr + b->len;
    cap = b->cap ? b->cap + b->cap / 2 : 64;
    if (cap < need)
        cap = need;
    b->ptr = mem_realloc(b->ptr, cap);
    b->cap = cap;
    b->ptr[b->len] = '\0';
    return b->ptr + b->len;
}

void buf_grown(struct buf *b, size_t n)
{
    if (b->len + n >= b->cap)
        BUG("buf grew past its room");
    b->len += n;
    b->ptr[b->len] = '\0';
}

void buf_add(struct buf *b, struct str s)
{
    char *room;

    if (!s.len)
        return;
    /* Mostly there is room. */
    if (!b->over && s.len < b->cap - b->len && s.len <= b->max - b->len) {
        memcpy(b->ptr + b->len, s.ptr, s.len);
        b->len += s.len;
        b->ptr[b->len] = '\0';
        return;
    }
    room = buf_room(b, s.len);
    if (!room)
        return;
    memcpy(room, s.ptr, s.len);
    buf_grown(b, s.len);
}

void buf_adds(struct buf *b, const char *s)
{
    buf_add(b, str_of(s));
}

void buf_addc(struct buf *b, char c)
{
    if (!b->over && b->cap > 1 && b->len < b->cap - 1 && b->len < b->max) {
        b->ptr[b->len++] = c;
        b->ptr[b->len] = '\0';
        return;
    }
    buf_add(b, str_make(&c, 1));
}

void buf_addi(struct buf *b, int64_t n)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;

    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (n < 0)
        digits[--at] = '-';
    buf_add(b, str_make(digits + at, sizeof(digits) - at));
}

void buf_addv(struct buf *b, const char *fmt, va_list args)
{
    va_list again;
    char small[256];
    char *room;
    int n;

    va_copy(again, args);
    n = vsnprintf(small, sizeof(small), fmt, args);
    if (n < 0)
        BUG("bad format '%s'", fmt);
    if ((size_t)n < sizeof(small)) {
        buf_add(b, str_make(small, (size_t)n));
    } else {
        room = buf_room(b, (size_t)n);
        if (room) {
            vsnprintf(room, (size_t)n + 1, fmt, again);
            buf_grown(b, (size_t)n);
        }
    }
    va_end(again);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    buf_addv(b, fmt, args);
    va_end(args);
}

void buf_add_base64(struct buf *b, struct str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    size_t out = (bytes.len + 2) / 3 * 4;
    char *to = buf_room(b, out);

    if (!to)
        return;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        unsigned n = (unsigned)p[i] << 16;

        if (left > 1)
            n |= (unsigned)p[i + 1] << 8;
        if (left > 2)
            n |= p[i + 2];
        *to++ = digits[n >> 18 & 63];
        *to++ = digits[n >> 12 & 63];
        *to++ = left > 1 ? digits[n >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[n & 63] : '=';
    }
    buf_grown(b, out);
}

void buf_insert(struct buf *b, size_t at, struct str s)
{
    char *room;

    if (!s.len)
        return;
    room = buf_room(b, s.len);
    if (!room)
        return;
    if (at > b->len)
        at = b->len;
    memmove(b->ptr + at + s.len, b->ptr + at, b->len - at);
    memcpy(b->ptr + at, s.ptr, s.len);
    buf_grown(b, s.len);
}

void buf_cut(struct buf *b, size_t at, size_t n)
{
    if (at >= b->len)
        return;
    if (n > b->len - at)
        n = b->len - at;
    memmove(b->ptr + at, b->ptr + at + n, b->len - at - n);
    b->len -= n;
    b->ptr[b->len] = '\0';
}

int buf_add_fd(struct buf *b, int fd, struct err *err)
{
    for (;;) {
        size_t left = b->max > b->len ? b->max - b->len : 0;
        size_t want = left < 65536 ? left : 65536;
        char *room = want ? buf_room(b, want) : NULL;
        char one;
        ssize_t n;

        /* At the limit, one more byte decides between "just fits" and "too big". */
        n = room ? read(fd, room, want) : read(fd, &one, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, ERR_IO, "cannot read");
        if (n == 0)
            return 0;
        if (!room) {
            b->over = true;
            return buf_check(b, err);
        }
        buf_grown(b, (size_t)n);
    }
}

int buf_check(const struct buf *b, struct err *err)
{
    if (b->over)
        return err_set(err, ERR_TOO_BIG, "more than %zu bytes", b->max);
    return 0;
}

struct str buf_str(const struct buf *b)
{
    return str_make(b->ptr, b->len);
}

const char *buf_cstr(const struct buf *b)
{
    return b->ptr ? b->ptr : "";
}

void buf_move(struct buf *dst, struct buf *src)
{
    free(dst->ptr);
    *dst = *src;
    buf_init(src, dst->max);
}

char *buf_take(struct buf *b)
{
    char *text = b->ptr ? b->ptr : mem_dup("", 0);
    size_t max = b->max;

    buf_init(b, max);
    return text;
}

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Line breaks are passed over; false for anything else that does not belong there. */
bool buf_add_decoded(struct buf *ret, struct str text)
{
    unsigned bits = 0;
    unsigned count = 0;

    for (size_t i = 0; i < text.len && text.ptr[i] != '='; i++) {
        int digit = base64_digit(text.ptr[i]);

        if (text.ptr[i] == '\n' || text.ptr[i] == '\r')
            continue;
        if (digit < 0)
            return false;
        bits = bits << 6 | (unsigned)digit;
        count += 6;
        if (count >= 8) {
            count -= 8;
            buf_addc(ret, (char)(bits >> count & 0xff));
        }
    }
    return !ret->over;
}
