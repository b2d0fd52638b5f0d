/*
 * A file's lines, seen through a buffer that moves over it.
 *
 * The file is read, not mapped: a mapping of a file that is truncated ends in SIGBUS, while a read
 * that comes out short is an error like any other; and from the page cache both take the same time,
 * as long as the buffer stays in the processor's. A line that fits the buffer is one piece; a
 * longer one comes piece by piece, so that no line can make us grow.
 *
 * A window belongs to one thread. Failures are remembered: window_line() reports them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define WINDOW_BYTES ((size_t)256 << 10)
#define WINDOW_SLACK 64 /* readable after the buffer, for blocks that reach over its end */
#define WINDOW_TEXT 512 /* longest string that is taken out of a line, decoded */

struct window {
    /* The current piece; readers move `at` on. */
    const char *at, *stop;

    int fd;
    uint64_t end;   /* of the file, as it was when it was opened */
    uint64_t soft;  /* only an unfinished line is read beyond this */
    char *buf;      /* WINDOW_BYTES and slack */
    size_t cap;     /* WINDOW_BYTES, less in tests */
    uint64_t base;  /* where buf stands in the file */
    size_t len;     /* bytes in it */
    uint64_t line;  /* where the current line begins */
    uint64_t next;  /* where the next one does, or (while has_more) the rest of this one */
    bool has_more;  /* the line continues after this piece */
    bool has_break; /* it ends in a newline, not with the file; once !has_more */
    bool has_failed;
    struct err *err;
    char text[WINDOW_TEXT + 8]; /* cursor.h decodes into it */
};

/* max_bytes: of the buffer; WINDOW_BYTES but in tests. */
void window_init(struct window *w, int fd, uint64_t end, size_t max_bytes);
void window_release(struct window *w);

/* Lines from here on; those that begin before soft. With is_inside, begin may lie within a line,
 * which is another window's then. */
int window_seek(struct window *w, uint64_t begin, uint64_t soft, bool is_inside, struct err *err);

/* The next line: 1, 0: there is no more, -1. */
int window_line(struct window *w, struct err *err);
/* The next piece of it; false: there is none (or it could not be read). */
bool window_more(struct window *w);
/* Its length, without its newline, after going to its end. ERR_IO. */
int window_finish(struct window *w, uint64_t *ret_len, struct err *err);

/* Where a byte of the current piece stands in the file. */
static inline uint64_t window_offset(const struct window *w, const char *at)
{
    return w->base + (uint64_t)(at - w->buf);
}
