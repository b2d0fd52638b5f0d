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
    _Atomic uint64_t marks[8]; /* two bits for each word that is in it */
};

#define WORDS_INIT(literal)                                                                        \
    {                                                                                              \
        .list = "" literal                                                                         \
    } /* for static tables, which are not const then */

void words_learn(struct words *w);

/* Of a word that is not empty; some other words have the same. */
static inline uint32_t words_hash(struct str s)
{
    uint32_t first = (unsigned char)s.ptr[0];
    uint32_t middle = (unsigned char)s.ptr[s.len / 2];
    uint32_t last = (unsigned char)s.ptr[s.len - 1];

    return (first | middle << 8 | last << 16 | (uint32_t)s.len << 24) * 2654435761u;
}

/* Its bits, 0 to 511. */
#define WORDS_MARK_1(hash) ((hash) >> 23)
#define WORDS_MARK_2(hash) ((hash) >> 14 & 511u)

static inline bool words_has_mark(struct words *w, uint32_t mark)
{
    return atomic_load_explicit(&w->marks[mark / 64], memory_order_relaxed) >> (mark % 64) & 1;
}

static inline bool words_ask(struct words *w, struct str s)
{
    uint32_t hash;

    if (!s.len)
        return false;
    if (!atomic_load_explicit(&w->is_known, memory_order_acquire))
        words_learn(w);
    hash = words_hash(s);
    return words_has_mark(w, WORDS_MARK_1(hash)) && words_has_mark(w, WORDS_MARK_2(hash)) &&
           str_is_word_of(s, w->list);
}

/* Whether it is one of the words of a literal. */
#define words_have(s, literal)                                                                     \
    ({                                                                                             \
        static struct words words_ = WORDS_INIT(literal);                                          \
        words_ask(&words_, (s));                                                                   \
    })
