/*
 * diff_words: the longest common run of words, by the plain table of it: lines are short once
 * their common ends are off. UI thread.
 */
#include "tui/diff/diff_words.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

#define MAX_WORDS 400 /* on each side, between the common ends */

struct word {
    uint32_t at, len;
    uint32_t hash;
    bool is_common;
};

struct side {
    struct str text;
    VEC(struct word) words;
};

static bool is_word_char(char c)
{
    return str_is_alnum(c) || c == '_' || (unsigned char)c >= 0x80;
}

static uint32_t word_hash(const char *ptr, size_t len)
{
    uint32_t hash = (uint32_t)len;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)ptr[i]) * 0x01000193u;
    return hash;
}

static void side_split(struct side *s)
{
    size_t at = 0;

    while (at < s->text.len) {
        size_t end = at + 1;

        if (is_word_char(s->text.ptr[at])) {
            while (end < s->text.len && is_word_char(s->text.ptr[end]))
                end++;
        } else if (s->text.ptr[at] == ' ') {
            while (end < s->text.len && s->text.ptr[end] == ' ')
                end++;
        }
        vec_push(&s->words, ((struct word){(uint32_t)at, (uint32_t)(end - at),
                                           word_hash(s->text.ptr + at, end - at), false}));
        at = end;
    }
}

static struct str side_word(const struct side *s, size_t i)
{
    return str_first(str_from(s->text, s->words.ptr[i].at), s->words.ptr[i].len);
}

static bool same_word(const struct side *a, size_t i, const struct side *b, size_t j)
{
    return a->words.ptr[i].hash == b->words.ptr[j].hash && str_eq(side_word(a, i), side_word(b, j));
}

/* Words from..end of both sides, between the common beginning and end. */
struct middle {
    size_t from, old_end, new_end;
};

static void words_compare(struct side *old, struct side *new, struct middle m)
{
    size_t rows = m.old_end - m.from;
    size_t cols = m.new_end - m.from;
    uint16_t *table = mem_zalloc((rows + 1) * (cols + 1) * sizeof(*table));
    size_t i = 0;
    size_t j = 0;

    /* table[i][j]: how many words are common from i and j on. */
    for (i = rows; i-- > 0;) {
        uint16_t *row = table + i * (cols + 1);
        const uint16_t *next = row + cols + 1;

        for (j = cols; j-- > 0;) {
            if (same_word(old, m.from + i, new, m.from + j))
                row[j] = next[j + 1] + 1;
            else
                row[j] = next[j] > row[j + 1] ? next[j] : row[j + 1];
        }
    }
    i = j = 0;
    while (i < rows && j < cols) {
        const uint16_t *row = table + i * (cols + 1);

        if (same_word(old, m.from + i, new, m.from + j)) {
            old->words.ptr[m.from + i++].is_common = true;
            new->words.ptr[m.from + j++].is_common = true;
        } else if (row[cols + 1 + j] >= row[j + 1]) {
            i++;
        } else {
            j++;
        }
    }
    mem_freep(&table);
}

static void words_match(struct side *old, struct side *new, size_t *budget)
{
    struct middle m = {0, old->words.len, new->words.len};
    size_t steps;

    while (m.from < m.old_end && m.from < m.new_end && same_word(old, m.from, new, m.from)) {
        old->words.ptr[m.from].is_common = true;
        new->words.ptr[m.from].is_common = true;
        m.from++;
    }
    while (m.old_end > m.from && m.new_end > m.from &&
           same_word(old, m.old_end - 1, new, m.new_end - 1)) {
        old->words.ptr[--m.old_end].is_common = true;
        new->words.ptr[--m.new_end].is_common = true;
    }
    steps = (m.old_end - m.from) * (m.new_end - m.from);
    if (!steps || m.old_end - m.from > MAX_WORDS || m.new_end - m.from > MAX_WORDS ||
        steps > *budget)
        return;
    *budget -= steps;
    words_compare(old, new, m);
}

/* Bytes of words that are common, spaces not counted; all such bytes. */
static void side_count(const struct side *s, size_t *ret_common, size_t *ret_all)
{
    *ret_common = *ret_all = 0;
    for (size_t i = 0; i < s->words.len; i++) {
        const struct word *w = &s->words.ptr[i];

        if (s->text.ptr[w->at] == ' ')
            continue;
        *ret_all += w->len;
        if (w->is_common)
            *ret_common += w->len;
    }
}

static void side_mark(const struct side *s, char *ret)
{
    for (size_t i = 0; i < s->words.len; i++) {
        const struct word *w = &s->words.ptr[i];
        bool is_between = i && i + 1 < s->words.len && s->text.ptr[w->at] == ' ' &&
                          !s->words.ptr[i - 1].is_common && !s->words.ptr[i + 1].is_common;

        /* The space between two marked words is marked, too: one change is seen, not two. */
        if (!w->is_common || is_between)
            memset(ret + w->at, 1, w->len);
    }
}

void diff_words(struct str old_text, struct str new_text, char *ret_old, char *ret_new,
                size_t *budget)
{
    struct side old = {.text = old_text};
    struct side new = {.text = new_text};
    size_t common;
    size_t old_all;
    size_t new_all;

    side_split(&old);
    side_split(&new);
    words_match(&old, &new, budget);
    side_count(&old, &common, &old_all);
    side_count(&new, &common, &new_all);
    if (common && common * 3 >= (old_all > new_all ? old_all : new_all)) {
        side_mark(&old, ret_old);
        side_mark(&new, ret_new);
    }
    vec_release(&old.words);
    vec_release(&new.words);
}
