/*
 * Literal search: two rare bytes of the string are compared at sixteen places at once; where both
 * fit, the whole string is. Letters that may be in either case are compared with bit 5 set. Any
 * thread.
 */
#include "tools/search/literal.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static bool is_letter(unsigned char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* How common a byte is in source code, roughly: 0 (rare) to 9. */
static unsigned commonness(unsigned char c)
{
    static const char by_rank[] = "e tasnirocl\n_dupm(),.;fhgb=*-/\"xvywk:<>{}[]01'#&2TSCEA";
    const char *at = c ? memchr(by_rank, c, sizeof(by_rank) - 1) : NULL;

    return at ? 9 - (unsigned)((at - by_rank) / 6) : 0;
}

size_t literal_worth(struct str s)
{
    size_t worth = 0;

    for (size_t i = 0; i < s.len && i < LITERAL_MAX_BYTES; i++)
        worth += 12 - commonness((unsigned char)s.ptr[i]);
    return worth < 8 ? 0 : worth;
}

static void literal_pick_rare(struct literal *l)
{
    for (size_t i = 1; i < l->len; i++) {
        if (commonness(l->bytes[i]) < commonness(l->bytes[l->rarer]))
            l->rarer = i;
    }
    l->rare = l->rarer ? 0 : l->len - 1;
    for (size_t i = 0; i < l->len; i++) {
        if (i != l->rarer && commonness(l->bytes[i]) < commonness(l->bytes[l->rare]))
            l->rare = i;
    }
}

bool literals_add(struct literals *set, struct str s)
{
    struct literal *l = &set->items[set->count];

    if (set->count == LITERALS_MAX)
        return false;
    set->count++;
    *l = (struct literal){.len = s.len < LITERAL_MAX_BYTES ? s.len : LITERAL_MAX_BYTES};
    for (size_t i = 0; i < l->len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        l->bytes[i] = set->caseless && is_letter(c) ? c | 0x20 : c;
    }
    literal_pick_rare(l);
    return true;
}

static bool literal_is_at(const struct literal *l, const unsigned char *at, bool caseless)
{
    if (!caseless)
        return memcmp(at, l->bytes, l->len) == 0;
    for (size_t i = 0; i < l->len; i++) {
        unsigned char c = is_letter(l->bytes[i]) ? at[i] | 0x20 : at[i];

        if (c != l->bytes[i])
            return false;
    }
    return true;
}

static size_t literal_find(const struct literal *l, struct str text, size_t from, bool caseless)
{
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    size_t last; /* place where it can stand */

    if (text.len < l->len || from > text.len - l->len)
        return text.len;
    last = text.len - l->len;
    if (l->len == 1 && !caseless) {
        const char *at = memchr(text.ptr + from, l->bytes[0], text.len - from);

        return at ? (size_t)(at - text.ptr) : text.len;
    }
#ifdef __SSE2__
    unsigned char a = l->bytes[l->rarer], b = l->bytes[l->rare];
    __m128i a_byte = _mm_set1_epi8((char)a), b_byte = _mm_set1_epi8((char)b);
    __m128i a_case = _mm_set1_epi8(caseless && is_letter(a) ? 0x20 : 0);
    __m128i b_case = _mm_set1_epi8(caseless && is_letter(b) ? 0x20 : 0);

    for (; from + 15 <= last; from += 16) {
        __m128i a_here = _mm_loadu_si128((const void *)(bytes + from + l->rarer));
        __m128i b_here = _mm_loadu_si128((const void *)(bytes + from + l->rare));
        __m128i both = _mm_and_si128(_mm_cmpeq_epi8(_mm_or_si128(a_here, a_case), a_byte),
                                     _mm_cmpeq_epi8(_mm_or_si128(b_here, b_case), b_byte));

        for (unsigned found = (unsigned)_mm_movemask_epi8(both); found; found &= found - 1) {
            size_t at = from + (size_t)__builtin_ctz(found);

            if (literal_is_at(l, bytes + at, caseless))
                return at;
        }
    }
#else
    if (!caseless) {
        const char *at = memmem(text.ptr + from, text.len - from, l->bytes, l->len);

        return at ? (size_t)(at - text.ptr) : text.len;
    }
#endif
    for (; from <= last; from++) {
        if (literal_is_at(l, bytes + from, caseless))
            return from;
    }
    return text.len;
}

size_t literals_find(const struct literals *set, struct literal_scan *scan, struct str text,
                     size_t from)
{
    size_t best = text.len;
    bool fresh = scan->text != text.ptr;

    for (size_t i = 0; i < set->count; i++) {
        if (fresh || scan->next[i] < from)
            scan->next[i] = literal_find(&set->items[i], text, from, set->caseless);
        if (scan->next[i] < best)
            best = scan->next[i];
    }
    scan->text = text.ptr;
    return set->count ? best : from;
}
