/*
 * words: a list seen from afar. Whoever comes first works it out; two who come at once find the
 * same. Any thread.
 */
#include "base/words.h"

void words_learn(struct words *w)
{
    struct str rest = str_of(w->list);
    uint64_t kinds[4] = {0};
    struct str word;

    while (str_cut(&rest, ' ', &word)) {
        if (word.len)
            kinds[words_kind(word) / 64] |= (uint64_t)1 << (words_kind(word) % 64);
    }
    for (size_t i = 0; i < 4; i++)
        atomic_store_explicit(&w->kinds[i], kinds[i], memory_order_relaxed);
    atomic_store_explicit(&w->is_known, true, memory_order_release);
}
