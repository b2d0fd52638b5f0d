/*
 * nearest: one candidate at a time, the best so far is kept. Both sides are folded into small
 * buffers first, which is what makes letter case and separators free. Any thread.
 */
#include "conf/nearest.h"

/* Lower case, without separators; 0 when it does not fit. */
static size_t nearest_fold(struct str s, char out[static NEAREST_MAX])
{
    size_t len = 0;

    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (c == '-' || c == '_')
            continue;
        if (len == NEAREST_MAX)
            return 0;
        out[len++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return len;
}

void nearest_init(struct nearest *n, struct str word)
{
    *n = (struct nearest){0};
    n->len = nearest_fold(word, n->word);
    n->limit = n->len / 3;
    if (n->limit < 1)
        n->limit = 1;
    if (n->limit > 3)
        n->limit = 3;
    n->score = SIZE_MAX;
}

void nearest_offer(struct nearest *n, struct str candidate)
{
    char folded[NEAREST_MAX];
    struct str word = {n->word, n->len};
    struct str other = {folded, nearest_fold(candidate, folded)};
    size_t distance;
    size_t score;

    /* A word of one or two letters is one mistake away from half of the dictionary. */
    if (word.len < 3 || !other.len)
        return;
    distance = str_distance(word, other, n->limit);
    if (distance > n->limit) {
        if (!str_starts(other, word))
            return;
        distance = n->limit + 1; /* a beginning: better than nothing */
    }
    /* Letters are swapped more often than lost: of two that are as far, the one as long wins. */
    score = 2 * distance + (other.len != word.len);
    if (score < n->score) {
        n->score = score;
        n->best = candidate;
    }
}

void nearest_offer_words(struct nearest *n, const char *words)
{
    struct str rest = str_of(words);
    struct str word;

    while (str_cut(&rest, ' ', &word))
        nearest_offer(n, word);
}
