/*
 * str: work on slices. Pure functions, any thread.
 */
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

struct str str_of(const char *text)
{
    return (struct str){text ? text : "", text ? strlen(text) : 0};
}

struct str str_make(const char *ptr, size_t len)
{
    return (struct str){len ? ptr : "", len};
}

struct str str_from(struct str s, size_t start)
{
    if (start >= s.len)
        return STR("");
    return (struct str){s.ptr + start, s.len - start};
}

struct str str_first(struct str s, size_t len)
{
    return (struct str){s.ptr, len < s.len ? len : s.len};
}

static char str_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (str_lower(a.ptr[i]) != str_lower(b.ptr[i]))
            return false;
    }
    return true;
}

int str_cmp(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;

    if (order)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}

bool str_ends(struct str s, struct str suffix)
{
    return s.len >= suffix.len && str_eq(str_from(s, s.len - suffix.len), suffix);
}

size_t str_chr(struct str s, char c)
{
    const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;

    return at ? (size_t)(at - s.ptr) : s.len;
}

size_t str_find(struct str s, struct str needle)
{
    const char *at;

    if (!needle.len)
        return 0;
    at = s.len >= needle.len ? memmem(s.ptr, s.len, needle.ptr, needle.len) : NULL;
    return at ? (size_t)(at - s.ptr) : s.len;
}

size_t str_find_nocase(struct str s, struct str needle)
{
    for (size_t i = 0; i + needle.len <= s.len; i++) {
        if (str_eq_nocase(str_make(s.ptr + i, needle.len), needle))
            return i;
    }
    return s.len;
}

bool str_has(struct str s, struct str needle)
{
    return !needle.len || str_find(s, needle) < s.len;
}

bool str_is_word_of(struct str s, const char *words)
{
    const char *end = words + strlen(words);

    if (!s.len || memchr(s.ptr, ' ', s.len))
        return false;
    /* By the first letter: memmem() takes three times as long. */
    for (const char *at = words; (size_t)(end - at) >= s.len; at++) {
        const char *behind;

        at = memchr(at, s.ptr[0], (size_t)(end - at) - s.len + 1);
        if (!at)
            break;
        behind = at + s.len;
        if ((at == words || at[-1] == ' ') && (behind == end || *behind == ' ') &&
            memcmp(at, s.ptr, s.len) == 0)
            return true;
    }
    return false;
}

struct str str_trim(struct str s)
{
    while (s.len && strchr(" \t\r\n\v\f", s.ptr[0]) && s.ptr[0])
        s = str_from(s, 1);
    while (s.len && strchr(" \t\r\n\v\f", s.ptr[s.len - 1]) && s.ptr[s.len - 1])
        s.len--;
    return s;
}

struct str str_chomp(struct str s)
{
    while (s.len && (s.ptr[s.len - 1] == '\n' || s.ptr[s.len - 1] == '\r'))
        s.len--;
    return s;
}

bool str_cut(struct str *rest, char sep, struct str *ret)
{
    size_t at;

    if (!rest->ptr)
        return false;
    at = str_chr(*rest, sep);
    *ret = str_first(*rest, at);
    if (at < rest->len)
        *rest = (struct str){rest->ptr + at + 1, rest->len - at - 1};
    else
        *rest = (struct str){NULL, 0}; /* used up; an empty last part has been given */
    return true;
}

int str_to_i64(struct str s, int64_t *ret, struct err *err)
{
    bool minus = s.len && s.ptr[0] == '-';
    uint64_t limit = minus ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    uint64_t value = 0;
    size_t i = minus || (s.len && s.ptr[0] == '+') ? 1 : 0;

    if (i == s.len)
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is not a whole number",
                       STR_ARG(str_clip(s, 80)));
    for (; i < s.len; i++) {
        unsigned digit = (unsigned)(s.ptr[i] - '0');

        if (digit > 9)
            return err_set(err, ERR_BAD_INPUT, "'%.*s' is not a whole number",
                           STR_ARG(str_clip(s, 80)));
        if (value > (limit - digit) / 10)
            return err_set(err, ERR_BAD_INPUT, "'%.*s' is out of range", STR_ARG(str_clip(s, 80)));
        value = value * 10 + digit;
    }
    *ret = minus ? (int64_t)(0 - value) : (int64_t)value;
    return 0;
}

int str_to_double(struct str s, double *ret, struct err *err)
{
    char text[64];
    char *end;
    double value;

    if (!s.len || s.len >= sizeof(text) || !strchr("+-.0123456789", s.ptr[0]) ||
        memchr(s.ptr, 'x', s.len) || memchr(s.ptr, 'X', s.len))
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is not a number", STR_ARG(str_clip(s, 80)));
    memcpy(text, s.ptr, s.len);
    text[s.len] = '\0';
    /* The process never leaves the C locale, so the decimal point is a point. */
    value = strtod(text, &end);
    if (*end || end != text + s.len)
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is not a number", STR_ARG(str_clip(s, 80)));
    *ret = value;
    return 0;
}

struct str str_clip(struct str s, size_t max)
{
    size_t len = max;

    if (s.len <= max)
        return s;
    /* Step back over continuation bytes; more than three of them are no character anyway. */
    while (len > 0 && max - len < 3 && ((unsigned char)s.ptr[len] & 0xC0) == 0x80)
        len--;
    return str_first(s, ((unsigned char)s.ptr[len] & 0xC0) == 0x80 ? max : len);
}

size_t str_distance(struct str a, struct str b, size_t limit)
{
    size_t rows[3][65];
    size_t *before = rows[0];
    size_t *last = rows[1];
    size_t *now = rows[2];

    if (a.len > 64 || b.len > 64)
        return str_eq(a, b) ? 0 : limit + 1;
    for (size_t j = 0; j <= b.len; j++)
        last[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *spare = before;

        now[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t best = last[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]);

            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        before = last;
        last = now;
        now = spare;
    }
    return last[b.len] > limit ? limit + 1 : last[b.len];
}

static uint64_t hash_from(uint64_t basis, struct str s)
{
    uint64_t h = basis;

    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.ptr[i]) * 1099511628211u;
    return h;
}

uint64_t str_hash(struct str s)
{
    uint64_t h = hash_from(1469598103934665603u, s);

    return h ^ (h >> 32);
}

/* Threads that come first together may both draw; the one that stores it decides for all. */
static uint64_t hash_seed(void)
{
    static _Atomic uint64_t seed;
    uint64_t now = atomic_load_explicit(&seed, memory_order_relaxed);
    uint64_t drawn;

    if (now)
        return now;
    if (getentropy(&drawn, sizeof(drawn)) < 0)
        BUG("the system has no random numbers");
    drawn |= 1; /* 0 means not drawn yet */
    return atomic_compare_exchange_strong(&seed, &now, drawn) ? drawn : now;
}

/* Tables look at the low bits: these are what the whole of the hash has become. */
uint64_t str_table_hash(struct str s)
{
    uint64_t seed = hash_seed();
    uint64_t h = hash_from(seed, s) * (seed * 0x9e3779b97f4a7c15u | 1);

    return h >> 32 | h << 32;
}
