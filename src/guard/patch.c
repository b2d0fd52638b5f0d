/*
 * patch: lines are numbered (equal lines, equal numbers), and the part between the common beginning
 * and end is compared by Myers' greedy algorithm with a limited number of steps. Beyond the limit,
 * lines that are unique on both sides and in the same order (the longest such sequence) split the
 * rest into pieces. Runs on tool threads.
 */
#include "guard/patch.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "json/jw.h"

#define PATCH_MAX_STEPS 400 /* maximum number of added and deleted lines per piece */

/* Half-open ranges of lines on both sides. */
struct piece {
    size_t old_at, old_end;
    size_t new_at, new_end;
};

struct differ {
    struct patch *patch;
    const uint32_t *olds, *news; /* the line numbers */
    size_t numbers;              /* how many there are */
    int32_t *trace;              /* the furthest points of every round, consecutively */
    int rounds;                  /* rounds that fit into it */
};

static void patch_split(struct str text, struct patch *p, bool is_new)
{
    while (text.len) {
        size_t n = str_chr(text, '\n');
        struct str line = str_first(text, n);

        if (is_new)
            vec_push(&p->news, line);
        else
            vec_push(&p->olds, line);
        text = str_from(text, n + 1);
    }
}

/* Gives every distinct line a number, with one hash table for both sides. */
static uint32_t *patch_number(const struct patch *p, size_t *ret_numbers)
{
    size_t total = p->olds.len + p->news.len;
    uint32_t *numbers = mem_alloc((total + 1) * sizeof(*numbers));
    size_t slots = 16;
    uint32_t *table; /* index of a line with this content + 1 */
    size_t count = 0;

    while (slots < total * 2)
        slots *= 2;
    table = mem_zalloc(slots * sizeof(*table));
    for (size_t i = 0; i < total; i++) {
        struct str line = i < p->olds.len ? p->olds.ptr[i] : p->news.ptr[i - p->olds.len];
        size_t slot = (size_t)str_table_hash(line) & (slots - 1);

        while (table[slot]) {
            size_t j = table[slot] - 1;

            if (str_eq(line, j < p->olds.len ? p->olds.ptr[j] : p->news.ptr[j - p->olds.len]))
                break;
            slot = (slot + 1) & (slots - 1);
        }
        if (table[slot]) {
            numbers[i] = numbers[table[slot] - 1];
        } else {
            table[slot] = (uint32_t)i + 1;
            numbers[i] = (uint32_t)count++;
        }
    }
    mem_freep(&table);
    *ret_numbers = count;
    return numbers;
}

static void differ_mark_all(struct differ *d, struct piece x)
{
    memset(d->patch->is_deleted + x.old_at, 1, x.old_end - x.old_at);
    memset(d->patch->is_added + x.new_at, 1, x.new_end - x.new_at);
}

static struct piece differ_trim(const struct differ *d, struct piece x)
{
    while (x.old_at < x.old_end && x.new_at < x.new_end && d->olds[x.old_at] == d->news[x.new_at]) {
        x.old_at++;
        x.new_at++;
    }
    while (x.old_at < x.old_end && x.new_at < x.new_end &&
           d->olds[x.old_end - 1] == d->news[x.new_end - 1]) {
        x.old_end--;
        x.new_end--;
    }
    return x;
}

/* Round s of the trace has s + 1 points, for the diagonals -s, -s + 2, … s. */
static int32_t *differ_round(struct differ *d, int s)
{
    return d->trace + (size_t)s * ((size_t)s + 1) / 2;
}

/* The furthest old line reached on diagonal k in round s, before the following equal lines; and
 * whether the last step added a line. */
static int32_t differ_reach(struct differ *d, int s, int k, bool *ret_added)
{
    const int32_t *last = differ_round(d, s - 1);
    int at = (k + s) / 2; /* in the previous round diagonal k - 1 has index at - 1, k + 1 has at */

    *ret_added = k == -s || (k != s && last[at - 1] < last[at]);
    return *ret_added ? last[at] : last[at - 1] + 1;
}

/* Walks back from the end and marks the line changed in each round. */
static void differ_walk_back(struct differ *d, struct piece x, int s)
{
    int32_t i = (int32_t)(x.old_end - x.old_at);
    int k = i - (int32_t)(x.new_end - x.new_at);

    for (; s > 0; s--) {
        bool added;
        int32_t reached = differ_reach(d, s, k, &added);

        if (added) {
            d->patch->is_added[x.new_at + (size_t)(reached - k) - 1] = 1;
            k++;
        } else {
            d->patch->is_deleted[x.old_at + (size_t)reached - 1] = 1;
            k--;
        }
    }
}

/* False if more than PATCH_MAX_STEPS lines differ; then nothing is marked. */
static bool differ_myers(struct differ *d, struct piece x)
{
    const uint32_t *a = d->olds + x.old_at;
    const uint32_t *b = d->news + x.new_at;
    int32_t n = (int32_t)(x.old_end - x.old_at);
    int32_t m = (int32_t)(x.new_end - x.new_at);
    int most = n + m < PATCH_MAX_STEPS ? n + m : PATCH_MAX_STEPS;

    if (most >= d->rounds) {
        d->rounds = most + 1;
        d->trace = mem_realloc(d->trace,
                               (size_t)d->rounds * ((size_t)d->rounds + 1) / 2 * sizeof(*d->trace));
    }
    for (int s = 0; s <= most; s++) {
        int32_t *round = differ_round(d, s);

        for (int k = -s; k <= s; k += 2) {
            bool added;
            int32_t i = s ? differ_reach(d, s, k, &added) : 0;
            int32_t j = i - k;

            while (i < n && j >= 0 && j < m && a[i] == b[j]) {
                i++;
                j++;
            }
            round[(k + s) / 2] = i;
            if (i >= n && j >= m && i - j == n - m) {
                differ_walk_back(d, x, s);
                return true;
            }
        }
    }
    return false;
}

struct anchor {
    size_t old_at, new_at;
    size_t before; /* index of the anchor before it in the longest run, or SIZE_MAX */
};

/* The lines that occur once on each side, in the new order. */
static size_t differ_anchors(const struct differ *d, struct piece x, struct anchor *out)
{
    struct once {
        uint32_t olds, news;
        size_t at;
    } *seen = mem_zalloc((d->numbers + 1) * sizeof(*seen));
    size_t count = 0;

    for (size_t i = x.old_at; i < x.old_end; i++) {
        seen[d->olds[i]].olds++;
        seen[d->olds[i]].at = i;
    }
    for (size_t i = x.new_at; i < x.new_end; i++)
        seen[d->news[i]].news++;
    for (size_t i = x.new_at; i < x.new_end; i++) {
        const struct once *s = &seen[d->news[i]];

        if (s->olds == 1 && s->news == 1)
            out[count++] = (struct anchor){s->at, i, SIZE_MAX};
    }
    mem_freep(&seen);
    return count;
}

/* The longest sequence that is also ascending in the old text, linked through `before`: returns the
 * index of its last one. Patience sorting. */
static size_t differ_longest_run(struct anchor *anchors, size_t count)
{
    size_t *tops = mem_alloc((count + 1) * sizeof(*tops));
    size_t piles = 0;
    size_t last;

    for (size_t i = 0; i < count; i++) {
        size_t low = 0;
        size_t high = piles;

        while (low < high) {
            size_t mid = (low + high) / 2;

            if (anchors[tops[mid]].old_at < anchors[i].old_at)
                low = mid + 1;
            else
                high = mid;
        }
        anchors[i].before = low ? tops[low - 1] : SIZE_MAX;
        tops[low] = i;
        if (low == piles)
            piles++;
    }
    last = piles ? tops[piles - 1] : SIZE_MAX;
    mem_freep(&tops);
    return last;
}

static void differ_small(struct differ *d, struct piece x)
{
    x = differ_trim(d, x);
    if (x.old_at == x.old_end || x.new_at == x.new_end || !differ_myers(d, x))
        differ_mark_all(d, x);
}

static void differ_run(struct differ *d, struct piece x)
{
    struct anchor *anchors;
    size_t at;

    x = differ_trim(d, x);
    if (x.old_at == x.old_end || x.new_at == x.new_end) {
        differ_mark_all(d, x);
        return;
    }
    if (differ_myers(d, x))
        return;
    anchors = mem_alloc((x.new_end - x.new_at) * sizeof(*anchors));
    at = differ_longest_run(anchors, differ_anchors(d, x, anchors));
    /* From the last anchor to the first: the lines after each one are a separate piece. */
    for (; at != SIZE_MAX; at = anchors[at].before) {
        const struct anchor *anchor = &anchors[at];

        differ_small(d,
                     (struct piece){anchor->old_at + 1, x.old_end, anchor->new_at + 1, x.new_end});
        x.old_end = anchor->old_at;
        x.new_end = anchor->new_at;
    }
    differ_small(d, x);
    mem_freep(&anchors);
}

/* Combines nearby changes into one hunk with the lines around them. */
static void patch_gather(struct patch *p, size_t context)
{
    size_t i = 0;
    size_t j = 0;

    while (i < p->olds.len || j < p->news.len) {
        struct patch_hunk *last = p->hunks.len ? &p->hunks.ptr[p->hunks.len - 1] : NULL;
        size_t from = i;
        size_t from_new = j;
        size_t before;

        while (i < p->olds.len && p->is_deleted[i])
            i++;
        while (j < p->news.len && p->is_added[j])
            j++;
        if (i == from && j == from_new) {
            i++;
            j++;
            continue;
        }
        if (last && from <= last->old_at + last->old_len + context) {
            /* its context overlaps this change */
            last->old_len = i - last->old_at;
            last->new_len = j - last->new_at;
        } else {
            before = from < context ? from : context;
            last = vec_add(&p->hunks);
            *last = (struct patch_hunk){from - before, before + i - from, from_new - before,
                                        before + j - from_new};
        }
        for (size_t n = 0; n < context && i + n < p->olds.len && !p->is_deleted[i + n]; n++) {
            if (p->is_added[j + n])
                break;
            last->old_len++;
            last->new_len++;
        }
    }
}

void patch_make(struct patch *p, struct str old, struct str new, size_t context)
{
    struct differ d = {.patch = p};
    uint32_t *numbers;

    *p = (struct patch){0};
    patch_split(old, p, false);
    patch_split(new, p, true);
    p->is_deleted = mem_zalloc(p->olds.len + 1);
    p->is_added = mem_zalloc(p->news.len + 1);
    numbers = patch_number(p, &d.numbers);
    d.olds = numbers;
    d.news = numbers + p->olds.len;
    differ_run(&d, (struct piece){0, p->olds.len, 0, p->news.len});
    patch_gather(p, context);
    mem_freep(&d.trace);
    mem_freep(&numbers);
}

void patch_release(struct patch *p)
{
    vec_release(&p->olds);
    vec_release(&p->news);
    vec_release(&p->hunks);
    mem_freep(&p->is_deleted);
    mem_freep(&p->is_added);
}

static void patch_line(struct jw *out, char kind, struct str line)
{
    if (str_ends(line, STR("\r")))
        line.len--; /* not useful to readers of a patch */
    jw_str_begin(out);
    jw_str_part(out, str_make(&kind, 1));
    jw_str_part(out, line);
    jw_str_end(out);
}

void patch_write(const struct patch *p, struct jw *out)
{
    jw_array(out);
    VEC_EACH(&p->hunks, hunk) {
        size_t i = hunk->old_at;
        size_t j = hunk->new_at;

        jw_object(out);
        /* As in a unified diff: an empty side has the number of the line before it. */
        jw_ki64(out, "oldStart", (int64_t)(hunk->old_at + (hunk->old_len > 0)));
        jw_ki64(out, "oldLines", (int64_t)hunk->old_len);
        jw_ki64(out, "newStart", (int64_t)(hunk->new_at + (hunk->new_len > 0)));
        jw_ki64(out, "newLines", (int64_t)hunk->new_len);
        jw_key(out, "lines");
        jw_array(out);
        while (i < hunk->old_at + hunk->old_len || j < hunk->new_at + hunk->new_len) {
            if (i < hunk->old_at + hunk->old_len && p->is_deleted[i]) {
                patch_line(out, '-', p->olds.ptr[i++]);
            } else if (j < hunk->new_at + hunk->new_len && p->is_added[j]) {
                patch_line(out, '+', p->news.ptr[j++]);
            } else {
                patch_line(out, ' ', p->olds.ptr[i++]);
                j++;
            }
        }
        jw_array_end(out);
        jw_object_end(out);
    }
    jw_array_end(out);
}
