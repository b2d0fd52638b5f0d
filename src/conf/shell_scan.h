/*
 * The scanner's two halves: shell.c reads commands, shell_word.c words. Each needs the other,
 * because a word may hold commands. For these two files only.
 */
#pragma once

#include "conf/shell.h"

/* A here-document that was announced on the current line. */
struct shell_heredoc {
    struct str delimiter;
    bool strip_tabs;
};

struct shell_scan {
    struct shell *s;
    struct str in;
    size_t at;
    unsigned depth;
    struct shell_part part; /* the one being read */
    VEC(struct shell_heredoc) heredocs;
};

static inline char shell_scan_peek(const struct shell_scan *c, size_t ahead)
{
    return c->at + ahead < c->in.len ? c->in.ptr[c->at + ahead] : '\0';
}

static inline bool shell_scan_is_end(const struct shell_scan *c)
{
    return c->at >= c->in.len;
}

/* The text is no longer certain; the first reason counts. */
void shell_doubt(struct shell *s, const char *why);

/* Adds the parts of a text of its own, depth levels down. */
void shell_scan_commands(struct shell *s, struct str in, unsigned depth);

/* One word from c->at on; it may turn out empty (""). */
void shell_scan_word(struct shell_scan *c, struct shell_word *ret);

/* The text between an opening bracket, at c->at - 1, and its partner, quotes respected; c->at is
 * behind that then. */
struct str shell_scan_body(struct shell_scan *c, char open, char close);
