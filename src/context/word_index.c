/*
 * Words are numbered as they come; an item's use of a word is a posting. Postings of one word are a
 * chain, so that a search touches only those of its own words. Any thread.
 */
#include "context/word_index.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/vec.h"

#define WORD_MAX 64         /* bytes of one; the rest of a longer one is not looked at */
#define WORDS_MAX_QUERY 512 /* different words of a query */
#define WORDS_SUGGEST 12

enum field {
    FIELD_NAME,
    FIELD_HINT,
    FIELD_TEXT,
    FIELD_COUNT,
};

static const double field_weight[FIELD_COUNT] = {3.0, /*hint: as the index has it*/ 0, 1.0};
static const double field_match[FIELD_COUNT] = {1.0, 0, 0.3};
#define MATCH_PREFIX 0.5

struct posting {
    uint32_t item, next; /* of the same word, plus one; 0: the last */
    uint16_t n[FIELD_COUNT];
};

struct word {
    struct str text;
    uint64_t hash;
    uint32_t first, last; /* postings, plus one */
    uint32_t items;       /* that have it */
    uint32_t named;       /* in whose name it is */
    bool is_hint, is_group;
};

struct word_index {
    struct arena arena;
    double hint_match, hint_weight;
    struct str *names; /* of the items */
    double *norms;
    size_t count;
    VEC(struct word) words;
    VEC(struct posting) postings;
    uint32_t *slots; /* of words, plus one */
    size_t slot_count;
    uint32_t *sorted; /* words that are name parts, by their text */
    size_t sorted_count;
};

/* ---- Words ---- */

typedef void (*word_fn)(void *arg, struct str word);

static bool is_stop_word(struct str w)
{
    return w.len <= 4 && str_is_word_of(w, "a an and are as at be by for from in is it of on or "
                                           "that the this to with");
}

/* "messages" and "messaging" are one word. Returns the new length. */
static size_t stem(char *w, size_t len)
{
    bool cut = false;

    if (len > 4 && memcmp(w + len - 3, "ies", 3) == 0) {
        len -= 2;
        w[len - 1] = 'y';
    } else if (memcmp(w + len - 4, "sses", 4) == 0) {
        len -= 2;
    } else if (w[len - 1] == 's' && !strchr("sui", w[len - 2])) {
        len--;
    }
    if (len >= 6 && memcmp(w + len - 3, "ing", 3) == 0) {
        len -= 3;
        cut = true;
    } else if (len >= 5 && memcmp(w + len - 2, "ed", 2) == 0) {
        len -= 2;
        cut = true;
    }
    if (cut && w[len - 1] == w[len - 2] && !strchr("aeiou0123456789lsz", w[len - 1]))
        len--;
    if (len >= 4 && w[len - 1] == 'e')
        len--;
    return len;
}

static bool is_letters(const char *w, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (w[i] < 'a' || w[i] > 'z')
            return false;
    }
    return true;
}

static void say_word(char *w, size_t len, word_fn fn, void *arg)
{
    if (len < 2 || is_stop_word(str_make(w, len)))
        return;
    if (len >= 4 && is_letters(w, len))
        len = stem(w, len);
    fn(arg, str_make(w, len));
}

static bool is_letter(uint32_t code)
{
    utf8proc_category_t kind;

    if (code < 0x80)
        return str_is_alnum((char)code);
    kind = utf8proc_category((utf8proc_int32_t)code);
    return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NO) || code == 0x30fc;
}

/* Written without blanks between words. */
static bool is_dense(uint32_t code)
{
    return (code >= 0x2e80 && code <= 0x2fdf) || (code >= 0x3005 && code <= 0x3007) ||
           (code >= 0x3041 && code <= 0x318f) || (code >= 0x31a0 && code <= 0x31ff) ||
           (code >= 0x3400 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7ff) ||
           (code >= 0x1100 && code <= 0x11ff) || (code >= 0xf900 && code <= 0xfaff) ||
           (code >= 0xff66 && code <= 0xffdc) || (code >= 0x20000 && code <= 0x3ffff);
}

static bool is_upper(uint32_t code)
{
    return code < 0x80 ? code >= 'A' && code <= 'Z'
                       : utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_LU;
}

static bool is_lower(uint32_t code)
{
    return code < 0x80 ? code >= 'a' && code <= 'z'
                       : utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_LL;
}

static uint32_t fold(uint32_t code)
{
    if (code < 0x80)
        return code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code;
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)code);
}

/* One character, and the rest of the text; 0: the end. An invalid UTF-8 byte counts as a blank. */
static uint32_t next_char(struct str *text)
{
    uint32_t code = ' ';
    size_t n;

    if (!text->len)
        return 0;
    if ((unsigned char)text->ptr[0] < 0x80) {
        code = (unsigned char)text->ptr[0];
        n = 1;
    } else {
        n = utf8_decode(*text, &code);
        n = n ? n : 1;
    }
    *text = str_from(*text, n);
    return code ? code : ' ';
}

/* Pairs of characters; a single one is a word, too. */
static void dense_words(struct str *text, uint32_t code, word_fn fn, void *arg)
{
    char pair[8];
    size_t before = 0; /* bytes of the character in pair */
    bool any = false;

    do {
        struct str rest = *text;
        uint32_t next;

        if (before) {
            size_t n = utf8_encode(fold(code), pair + before);

            fn(arg, str_make(pair, before + n));
            any = true;
            memmove(pair, pair + before, n);
            before = n;
        } else {
            before = utf8_encode(fold(code), pair);
        }
        next = next_char(&rest);
        if (!next || !is_dense(next) || !is_letter(next))
            break;
        *text = rest;
        code = next;
    } while (true);
    if (!any)
        fn(arg, str_make(pair, before));
}

/* by_case: "HTTPFetch" is two words. */
static void each_word(struct str text, bool by_case, word_fn fn, void *arg)
{
    char word[WORD_MAX + 4];
    size_t len = 0;
    uint32_t before = 0;

    for (uint32_t code = next_char(&text); code; code = next_char(&text)) {
        if (!is_letter(code) || is_dense(code)) {
            say_word(word, len, fn, arg);
            len = 0;
            before = 0;
            if (is_dense(code) && is_letter(code))
                dense_words(&text, code, fn, arg);
            continue;
        }
        if (by_case && before && is_upper(code)) {
            struct str rest = text;

            if (!is_upper(before) || is_lower(next_char(&rest))) {
                say_word(word, len, fn, arg);
                len = 0;
            }
        }
        before = code;
        if (len < WORD_MAX)
            len += utf8_encode(fold(code), word + len);
    }
    say_word(word, len, fn, arg);
}

static struct str plain_name(struct str name)
{
    if (str_starts(name, STR("mcp__")))
        name = str_from(name, 5);
    if (str_starts(name, STR("plugin_")))
        name = str_from(name, 7);
    return name;
}

/* ---- The index ---- */

static struct word *index_look(const struct word_index *x, struct str text, uint64_t hash,
                               size_t *ret_slot)
{
    size_t slot = hash & (x->slot_count - 1);

    for (; x->slots[slot]; slot = (slot + 1) & (x->slot_count - 1)) {
        struct word *w = &x->words.ptr[x->slots[slot] - 1];

        if (w->hash == hash && str_eq(w->text, text))
            return w;
    }
    *ret_slot = slot;
    return NULL;
}

static void index_grow(struct word_index *x)
{
    free(x->slots);
    x->slot_count = x->slot_count ? x->slot_count * 2 : 1024;
    x->slots = mem_zalloc(x->slot_count * sizeof(*x->slots));
    for (size_t i = 0; i < x->words.len; i++) {
        size_t slot = x->words.ptr[i].hash & (x->slot_count - 1);

        while (x->slots[slot])
            slot = (slot + 1) & (x->slot_count - 1);
        x->slots[slot] = (uint32_t)i + 1;
    }
}

static struct word *index_word(struct word_index *x, struct str text)
{
    uint64_t hash = str_table_hash(text);
    size_t slot = 0;
    struct word *w = index_look(x, text, hash, &slot);

    if (w)
        return w;
    if (x->words.len * 2 >= x->slot_count) {
        index_grow(x);
        (void)index_look(x, text, hash, &slot);
    }
    w = vec_add(&x->words);
    *w = (struct word){.text = arena_str(&x->arena, text), .hash = hash};
    x->slots[slot] = (uint32_t)x->words.len;
    return w;
}

static const struct word *index_known(const struct word_index *x, struct str text)
{
    size_t slot;

    return index_look(x, text, str_table_hash(text), &slot);
}

struct filling {
    struct word_index *index;
    uint32_t item;
    enum field field;
};

static void take_word(void *arg, struct str text)
{
    struct filling *f = arg;
    struct word_index *x = f->index;
    struct word *w = index_word(x, text);
    struct posting *p = w->last ? &x->postings.ptr[w->last - 1] : NULL;

    if (!p || p->item != f->item) {
        p = vec_add(&x->postings);
        *p = (struct posting){.item = f->item};
        if (w->last)
            x->postings.ptr[w->last - 1].next = (uint32_t)x->postings.len;
        else
            w->first = (uint32_t)x->postings.len;
        w->last = (uint32_t)x->postings.len;
        w->items++;
    }
    w->named += f->field == FIELD_NAME && !p->n[FIELD_NAME];
    w->is_hint = w->is_hint || f->field == FIELD_HINT;
    if (p->n[f->field] < UINT16_MAX)
        p->n[f->field]++;
}

struct group_name {
    struct word_index *index;
    struct word *word;
    size_t words;
};

static void take_group(void *arg, struct str text)
{
    struct group_name *g = arg;

    g->words++;
    g->word = index_word(g->index, text);
}

/* libm is not linked, because loading it would cost every start more than this. x > 0. */
static double ln(double x)
{
    int exponent;
    double m = frexp(x, &exponent);
    double t = (m - 1) / (m + 1); /* |t| <= 1/3 */
    double power = t;
    double sum = 0;

    for (int k = 1; k < 36; k += 2) {
        sum += power / k;
        power *= t * t;
    }
    return exponent * 0.69314718055994530942 + 2 * sum;
}

static double root(double x)
{
    int exponent;
    double y;

    if (x <= 0)
        return 0;
    (void)frexp(x, &exponent);
    y = ldexp(1, exponent / 2); /* within a factor of two */
    for (int i = 0; i < 7; i++)
        y = (y + x / y) / 2;
    return y;
}

static double word_idf(const struct word_index *x, const struct word *w)
{
    return ln(1.0 + (double)x->count / (double)w->items);
}

static double posting_tf(const struct word_index *x, const struct posting *p)
{
    double tf = 0;

    for (enum field f = 0; f < FIELD_COUNT; f++) {
        if (p->n[f])
            tf += (f == FIELD_HINT ? x->hint_weight : field_weight[f]) *
                  (p->n[f] == 1 ? 1.0 : 1.0 + ln(p->n[f]));
    }
    return tf;
}

static int by_text(const void *a, const void *b, void *arg)
{
    const struct word_index *x = arg;

    return str_cmp(x->words.ptr[*(const uint32_t *)a].text,
                   x->words.ptr[*(const uint32_t *)b].text);
}

struct word_index *word_index_new(const struct word_item *items, size_t count)
{
    return word_index_new_with(items, count, /*hint_match=*/0.8, /*hint_weight=*/2.5);
}

struct word_index *word_index_new_with(const struct word_item *items, size_t count,
                                       double hint_match, double hint_weight)
{
    struct word_index *x = mem_zalloc(sizeof(*x));

    x->hint_match = hint_match;
    x->hint_weight = hint_weight;
    x->count = count;
    x->names = arena_alloc(&x->arena, (count + 1) * sizeof(*x->names));
    x->norms = arena_zalloc(&x->arena, (count + 1) * sizeof(*x->norms));
    index_grow(x);
    for (size_t i = 0; i < count; i++) {
        const struct word_item *item = &items[i];
        struct filling f = {.index = x, .item = (uint32_t)i};
        struct group_name g = {.index = x};

        x->names[i] = arena_str(&x->arena, item->name);
        each_word(plain_name(item->name), /*by_case=*/true, take_word, &f);
        f.field = FIELD_HINT;
        each_word(item->hint, /*by_case=*/false, take_word, &f);
        f.field = FIELD_TEXT;
        each_word(item->text, /*by_case=*/false, take_word, &f);
        if (i && str_eq(item->group, items[i - 1].group))
            continue;
        each_word(item->group, /*by_case=*/true, take_group, &g);
        if (g.words == 1)
            g.word->is_group = true;
    }
    VEC_EACH(&x->words, w) {
        double idf = w->items ? word_idf(x, w) : 0;

        for (uint32_t at = w->first; at; at = x->postings.ptr[at - 1].next) {
            double weight = posting_tf(x, &x->postings.ptr[at - 1]) * idf;

            x->norms[x->postings.ptr[at - 1].item] += weight * weight;
        }
        x->sorted_count += w->named > 0;
    }
    for (size_t i = 0; i < count; i++)
        x->norms[i] = root(x->norms[i]);
    x->sorted = arena_alloc(&x->arena, (x->sorted_count + 1) * sizeof(*x->sorted));
    x->sorted_count = 0;
    for (size_t i = 0; i < x->words.len; i++) {
        if (x->words.ptr[i].named)
            x->sorted[x->sorted_count++] = (uint32_t)i;
    }
    qsort_r(x->sorted, x->sorted_count, sizeof(*x->sorted), by_text, x);
    return x;
}

void word_index_free(struct word_index *x)
{
    if (!x)
        return;
    arena_release(&x->arena);
    vec_release(&x->words);
    vec_release(&x->postings);
    free(x->slots);
    free(x);
}

/* ---- A search ---- */

struct query_word {
    struct str text;
    const struct word *word; /* NULL: no item has it */
    bool is_required;
};

struct word_query {
    const struct word_index *index;
    struct arena arena;
    struct query_word words[WORDS_MAX_QUERY];
    size_t count;
    bool requires; /* the words that come are required */
};

static void query_take(void *arg, struct str text)
{
    struct word_query *q = arg;

    for (size_t i = 0; i < q->count; i++) {
        if (str_eq(q->words[i].text, text)) {
            q->words[i].is_required = q->words[i].is_required || q->requires;
            return;
        }
    }
    if (q->count < WORDS_MAX_QUERY)
        q->words[q->count++] = (struct query_word){.text = arena_str(&q->arena, text),
                                                   .word = index_known(q->index, text),
                                                   .is_required = q->requires};
}

/* What a search adds up for each item. */
struct word_tally {
    double keyword, dot;
    double best; /* match of the word that is looked at */
    uint32_t required;
    bool is_touched, is_apt;
};

static void tally_match(struct word_tally *tally, uint32_t *touched, size_t *touched_count,
                        uint32_t item, double match)
{
    struct word_tally *t = &tally[item];

    if (!t->is_touched) {
        t->is_touched = true;
        touched[(*touched_count)++] = item;
    }
    if (match > t->best)
        t->best = match;
}

static double posting_match(const struct word_index *x, const struct posting *p)
{
    for (enum field f = 0; f < FIELD_COUNT; f++) {
        if (p->n[f])
            return f == FIELD_HINT ? x->hint_match : field_match[f];
    }
    return 0;
}

/* The first name part that does not come before the text. */
static size_t sorted_find(const struct word_index *x, struct str text)
{
    size_t from = 0;
    size_t to = x->sorted_count;

    while (from < to) {
        size_t mid = from + (to - from) / 2;

        if (str_cmp(x->words.ptr[x->sorted[mid]].text, text) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static int by_score(const void *a, const void *b, void *arg)
{
    const struct word_index *x = arg;
    const struct word_hit *one = a;
    const struct word_hit *two = b;

    if (one->score != two->score)
        return one->score < two->score ? 1 : -1;
    return str_cmp(x->names[one->item], x->names[two->item]);
}

/* apt: a hit needs a word that says what it is for. */
static size_t query_run(const struct word_query *q, const struct word_weights *weights, bool apt,
                        struct word_hit *ret, size_t max, size_t *ret_total)
{
    const struct word_index *x = q->index;
    struct word_tally *tally = mem_zalloc((x->count + 1) * sizeof(*tally));
    uint32_t *touched = mem_zalloc((x->count + 1) * sizeof(*touched));
    size_t touched_count = 0;
    size_t few = x->count / 10 > 3 ? x->count / 10 : 3;
    uint32_t required = 0;
    double norm = 0;
    VEC(struct word_hit) hits = VEC_INIT;
    size_t n;

    for (size_t i = 0; i < q->count; i++) {
        const struct query_word *word = &q->words[i];
        double idf = word->word && word->word->items ? word_idf(x, word->word) : 0;

        norm += idf * idf;
        required += word->is_required;
        for (uint32_t at = word->word ? word->word->first : 0; at;
             at = x->postings.ptr[at - 1].next) {
            const struct posting *p = &x->postings.ptr[at - 1];
            struct word_tally *t = &tally[p->item];

            tally_match(tally, touched, &touched_count, p->item, posting_match(x, p));
            t->dot += posting_tf(x, p) * idf * idf;
            t->is_apt = t->is_apt || p->n[FIELD_HINT] ||
                        (p->n[FIELD_NAME] && (word->word->is_group || word->word->named <= few));
        }
        for (size_t at = word->text.len >= 3 ? sorted_find(x, word->text) : x->sorted_count;
             at < x->sorted_count; at++) {
            const struct word *w = &x->words.ptr[x->sorted[at]];

            if (!str_starts(w->text, word->text))
                break;
            for (uint32_t p = w->first; p; p = x->postings.ptr[p - 1].next) {
                if (x->postings.ptr[p - 1].n[FIELD_NAME])
                    tally_match(tally, touched, &touched_count, x->postings.ptr[p - 1].item,
                                MATCH_PREFIX);
            }
        }
        for (size_t k = 0; k < touched_count; k++) {
            struct word_tally *t = &tally[touched[k]];

            t->keyword += t->best;
            t->required += word->is_required && t->best > 0;
            t->best = 0;
        }
    }
    norm = root(norm);
    for (size_t k = 0; k < touched_count; k++) {
        const struct word_tally *t = &tally[touched[k]];
        struct word_hit hit = {.item = touched[k], .keyword = t->keyword / (double)q->count};

        if (norm > 0 && x->norms[hit.item] > 0)
            hit.tfidf = t->dot / (norm * x->norms[hit.item]);
        hit.score = weights->keyword * hit.keyword + weights->tfidf * hit.tfidf;
        if ((apt && !t->is_apt) || t->required < required ||
            (!required && hit.score < weights->min_score))
            continue;
        vec_push(&hits, hit);
    }
    if (hits.len)
        qsort_r(hits.ptr, hits.len, sizeof(*hits.ptr), by_score, (void *)x);
    n = hits.len < max ? hits.len : max;
    if (n)
        memcpy(ret, hits.ptr, n * sizeof(*ret));
    if (ret_total)
        *ret_total = hits.len;
    vec_release(&hits);
    free(tally);
    free(touched);
    return n;
}

size_t word_index_find(const struct word_index *x, struct str query, struct str required,
                       const struct word_weights *weights, struct word_hit *ret, size_t max,
                       size_t *ret_total)
{
    struct word_query *q = mem_zalloc(sizeof(*q));
    size_t n;

    q->index = x;
    q->requires = true;
    each_word(required, /*by_case=*/true, query_take, q);
    q->requires = false;
    each_word(query, /*by_case=*/true, query_take, q);
    n = query_run(q, weights, /*apt=*/false, ret, max, ret_total);
    arena_release(&q->arena);
    free(q);
    return n;
}

/* Rarest first. */
static int by_rarity(const void *a, const void *b)
{
    const struct query_word *one = a;
    const struct query_word *two = b;

    if (one->word->items != two->word->items)
        return one->word->items < two->word->items ? -1 : 1;
    return str_cmp(one->text, two->text);
}

static void suggest_take(void *arg, struct str text)
{
    struct word_query *q = arg;
    const struct word *w = index_known(q->index, text);

    if (w && w->items)
        query_take(q, text);
}

size_t word_index_suggest(const struct word_index *x, struct str text,
                          const struct word_weights *weights, struct word_hit *ret, size_t max)
{
    struct word_query *q = mem_zalloc(sizeof(*q));
    size_t n = 0;

    q->index = x;
    each_word(text, /*by_case=*/true, suggest_take, q);
    if (q->count) {
        qsort(q->words, q->count, sizeof(*q->words), by_rarity);
        q->count = q->count < WORDS_SUGGEST ? q->count : WORDS_SUGGEST;
        n = query_run(q, weights, /*apt=*/true, ret, max, NULL);
    }
    arena_release(&q->arena);
    free(q);
    return n;
}
