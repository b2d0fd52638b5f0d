/*
 * Reads a file's lines through a moving buffer.
 *
 * The file is read, not mapped: if a mapped file is truncated, access ends in SIGBUS, while a short
 * read is an ordinary error. Both are equally fast from the page cache as long as the buffer fits
 * the processor's cache. A line that fits the buffer is one piece; a longer one comes in several
 * pieces, so memory use is constant.
 *
 * A window belongs to one thread. Errors are remembered and reported by window_line().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define WINDOW_BYTES ((size_t)256 << 10)
#define WINDOW_SLACK 64 /* readable bytes after the buffer, for blocks */
#define WINDOW_TEXT 512 /* longest string that is decoded from a line */

struct window {
    /* The current piece; readers advance `at`. */
    const char *at, *stop;

    int fd;
    uint64_t end;   /* size of the file when it was opened */
    uint64_t soft;  /* beyond this only an unfinished line is read */
    char *buf;      /* WINDOW_BYTES and slack */
    size_t cap;     /* WINDOW_BYTES; less in tests */
    uint64_t base;  /* file offset of buf */
    size_t len;     /* bytes in buf */
    uint64_t line;  /* file offset of the current line */
    uint64_t next;  /* file offset of the next line, or (while has_more) of the rest of this one */
    bool has_more;  /* the line continues after this piece */
    bool has_break; /* the line ends with a newline, not with the file; valid once !has_more */
    bool has_failed;
    struct err *err;
    char text[WINDOW_TEXT + 8]; /* used by cursor.h for decoding */
};

/* max_bytes: size of the buffer; WINDOW_BYTES except in tests. */
void window_init(struct window *w, int fd, uint64_t end, size_t max_bytes);
void window_release(struct window *w);

/* Moves to the lines from `begin` to `soft`. With is_inside, begin may be inside a line, which then
 * belongs to another window. */
int window_seek(struct window *w, uint64_t begin, uint64_t soft, bool is_inside, struct err *err);

/* Reads the next line: 1, 0 at the end, or -1. */
int window_line(struct window *w, struct err *err);
/* Reads the next piece of the line; false if there is none or it could not be read. */
bool window_more(struct window *w);
/* Skips to the end of the line and gets its length without the newline. ERR_IO. */
int window_finish(struct window *w, uint64_t *ret_len, struct err *err);

/* The file offset of a byte of the current piece. */
static inline uint64_t window_offset(const struct window *w, const char *at)
{
    return w->base + (uint64_t)(at - w->buf);
}
