/*
 * words: a list seen from afar. The first caller computes it; two at once find the same. Any
 * thread.
 */
#include "base/words.h"

#include "base/mem.h"

static void mark(uint64_t *marks, uint32_t n)
{
    marks[n / 64] |= (uint64_t)1 << (n % 64);
}

void words_learn(struct words *w)
{
    struct str rest = str_of(w->list);
    uint64_t marks[ARRAY_LEN(w->marks)] = {0};
    struct str word;

    while (str_cut(&rest, ' ', &word)) {
        if (!word.len)
            continue;
        mark(marks, WORDS_MARK_1(words_hash(word)));
        mark(marks, WORDS_MARK_2(words_hash(word)));
    }
    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        atomic_store_explicit(&w->marks[i], marks[i], memory_order_relaxed);
    atomic_store_explicit(&w->is_known, true, memory_order_release);
}
