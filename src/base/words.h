/*
 * Lists of words that are asked for again and again: "sh bash zsh".
 *
 * What such a list looks like from afar is worked out at its first question, and most later ones
 * are answered by that, without a look at the list itself. The answers are those of
 * str_is_word_of(). Any thread, several at once.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct words {
    const char *list; /* spaces between them; lives as long as the program */
    atomic_bool is_known;
    _Atomic uint64_t kinds[4]; /* a bit for each kind of word that is in it */
};

#define WORDS_INIT(literal)                                                                        \
    {                                                                                              \
        .list = "" literal                                                                         \
    } /* for static tables, which are not const then */

void words_learn(struct words *w);

/* 0 to 255; words of different kinds are different words. */
static inline unsigned words_kind(struct str s)
{
    return ((unsigned char)s.ptr[0] * 7u + (unsigned char)s.ptr[s.len - 1] * 61u +
            (unsigned)s.len * 29u) &
           255u;
}

static inline bool words_ask(struct words *w, struct str s)
{
    unsigned kind;

    if (!s.len)
        return false;
    if (!atomic_load_explicit(&w->is_known, memory_order_acquire))
        words_learn(w);
    kind = words_kind(s);
    if (!(atomic_load_explicit(&w->kinds[kind / 64], memory_order_relaxed) >> (kind % 64) & 1))
        return false;
    return str_is_word_of(s, w->list);
}

/* Whether it is one of the words of a literal. */
#define words_have(s, literal)                                                                     \
    ({                                                                                             \
        static struct words words_ = WORDS_INIT(literal);                                          \
        words_ask(&words_, (s));                                                                   \
    })
