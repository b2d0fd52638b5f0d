/*
 * A search index over short descriptions: tools, skills.
 *
 * An item has a name (split at punctuation and case changes), a hint and a text. Words are folded
 * to lower case and stemmed (English); runs of Han, Kana and Hangul become pairs of characters. The
 * score of an item is a weighted sum of two figures, each from 0 to 1: how well the query's words
 * match its fields (name part 1.0, hint 0.8, start of a name part 0.5, text 0.3), and the cosine of
 * their tf-idf vectors (fields count 3.0, 2.5 and 1.0).
 *
 * An index never changes; any number of threads may search it.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct word_index;

/* Lent until word_index_new() returns. */
struct word_item {
    struct str name, hint, text;
    struct str group; /* the server that it belongs to; may be empty */
};

struct word_weights {
    double keyword, tfidf; /* their sum is 1 */
    double min_score;
};

struct word_hit {
    size_t item;
    double score, keyword, tfidf;
};

struct word_index *word_index_new(const struct word_item *items, size_t count);
/* The same with another weight of hints: in a match, and in the vectors. */
struct word_index *word_index_new_with(const struct word_item *items, size_t count,
                                       double hint_match, double hint_weight);
void word_index_free(struct word_index *x); /* NULL is fine */

/* The best hits first, at most max; equal ones by name. Each word of `required` (blanks between)
 * must match a hit's name, the start of a name part, hint or text; hits have at least min_score,
 * or match all of `required`. ret_total (NULL: not wanted): how many there are. Returns how many
 * were written. */
size_t word_index_find(const struct word_index *x, struct str query, struct str required,
                       const struct word_weights *weights, struct word_hit *ret, size_t max,
                       size_t *ret_total);

/* What a conversation may want without having asked: of the text, the 12 known words that say most
 * are the query, and a hit needs one of them that says what it is for: its group's name, a word of
 * its hint, or a name part that few items share. */
size_t word_index_suggest(const struct word_index *x, struct str text,
                          const struct word_weights *weights, struct word_hit *ret, size_t max);
