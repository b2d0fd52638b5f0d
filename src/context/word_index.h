/*
 * A search index for short descriptions of tools and skills.
 *
 * An item has a name (split at punctuation and case changes), a hint and a text. Words are
 * lower-cased and stemmed (English); runs of Han, Kana and Hangul are split into pairs of
 * characters. The score of an item is a weighted sum of two values from 0 to 1: how well the
 * query's words match its fields (name part 1.0, hint 0.8, start of a name part 0.5, text 0.3), and
 * the cosine of the tf-idf vectors (fields count 3.0, 2.5 and 1.0).
 *
 * Immutable; any number of threads may search.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct word_index;

/* Valid during word_index_new(). */
struct word_item {
    struct str name, hint, text;
    struct str group; /* the server that it belongs to; may be empty */
};

struct word_weights {
    double keyword, tfidf; /* weights; their sum is 1 */
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

/* Gets at most max hits, best first, equal ones sorted by name. Each word of `required` (separated
 * by blanks) must match the name, the start of a name part, the hint or the text; other hits need
 * at least min_score. ret_total (may be NULL): number of all hits. Returns how many were written.
 */
size_t word_index_find(const struct word_index *x, struct str query, struct str required,
                       const struct word_weights *weights, struct word_hit *ret, size_t max,
                       size_t *ret_total);

/* Suggests items for a conversation: the 12 most significant known words of the text are the query,
 * and a hit must match a specific one: its group's name, a word of its hint, or a name part that
 * few items share. */
size_t word_index_suggest(const struct word_index *x, struct str text,
                          const struct word_weights *weights, struct word_hit *ret, size_t max);
