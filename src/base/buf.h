/*
 * A growing byte buffer with a maximum.
 *
 * Adding never fails at the call: text that would exceed max is dropped completely and `over` is
 * set for good; the owner checks once, at the end, with buf_check(). The text is always followed by
 * a NUL. BUF_INIT(max) starts empty without allocating; buf_release() accepts a zeroed struct.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"

struct err;

struct buf {
    char *ptr;
    size_t len;
    size_t cap;
    size_t max;
    bool over;
};

/* A zeroed struct has max 0 and takes nothing; BUF_NO_LIMIT is for text whose size others bound. */
#define BUF_NO_LIMIT ((size_t)1 << 40)
#define BUF_INIT(max_bytes)                                                                        \
    {                                                                                              \
        .max = (max_bytes)                                                                         \
    }

void buf_init(struct buf *b, size_t max_bytes);
void buf_release(struct buf *b);
void buf_clear(struct buf *b); /* len 0, over false, memory kept */

void buf_add(struct buf *b, struct str s);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addi(struct buf *b, int64_t n); /* "-34": as buf_addf() would, at a tenth of the price */
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_addv(struct buf *b, const char *fmt, va_list args) PRINTF_LIKE(2, 0);
void buf_add_base64(struct buf *b, struct str bytes);
/* The bytes that base64 stands for; false: it is not base64. */
bool buf_add_decoded(struct buf *b, struct str base64);

/* Room for at least n more bytes after len (NULL and over when max forbids); see buf_grown(). */
char *buf_room(struct buf *b, size_t n);
void buf_grown(struct buf *b, size_t n);

void buf_insert(struct buf *b, size_t at, struct str s);
void buf_cut(struct buf *b, size_t at, size_t n); /* removes n bytes at `at` */

/* Reads a descriptor to its end. ERR_IO, or ERR_TOO_BIG when max is reached. */
int buf_add_fd(struct buf *b, int fd, struct err *err);

int buf_check(const struct buf *b, struct err *err); /* ERR_TOO_BIG when something was left out */

struct str buf_str(const struct buf *b);         /* lent until the next change */
const char *buf_cstr(const struct buf *b);       /* never NULL */
void buf_move(struct buf *dst, struct buf *src); /* releases dst's old text; src becomes empty */
char *buf_take(struct buf *b);                   /* yours to free; b becomes empty */
