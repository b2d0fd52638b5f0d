/*
 * What a program writes for a terminal, made plain text, as the bytes arrive.
 *
 * Escape sequences and control characters (NUL among them) are taken out, a line that was rewritten
 * after a carriage return is kept as it was last, a backspace takes back a character, invalid UTF-8
 * becomes U+FFFD. Whole lines are handed on before plain_feed() returns; the line that has begun is
 * kept until it ends, or is longer than 64 KB. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

typedef void (*plain_fn)(void *arg, struct str text);

enum plain_state {
    PLAIN_TEXT,
    PLAIN_ESCAPE, /* after ESC */
    PLAIN_CSI,    /* after ESC [ */
    PLAIN_STRING, /* after ESC ] and its like, until BEL or ESC \ */
    PLAIN_ONE,    /* one more byte belongs to the sequence */
};

struct plain {
    plain_fn fn;
    void *arg;
    struct buf text;
    size_t line_at; /* where in text the line begins that has not ended */
    bool cut;       /* ...or goes on: its beginning has been handed on already */
    bool returned;  /* a carriage return came last */
    enum plain_state state;
    size_t state_len;
    char part[4]; /* of a character */
    size_t part_len;
};

void plain_init(struct plain *p, plain_fn fn, void *arg);
void plain_feed(struct plain *p, struct str bytes);
struct str plain_line(const struct plain *p); /* that has begun; lent */
void plain_end(struct plain *p);              /* hands on that one, too */
void plain_release(struct plain *p);
