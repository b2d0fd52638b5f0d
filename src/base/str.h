/*
 * Slices: a pointer and a length, owning nothing.
 *
 * A struct str may hold any bytes, NUL included, and is not terminated. Functions that take one
 * never keep it. STR("...") makes one from a literal, str_of() from a C string (NULL gives the
 * empty slice). Print with "%.*s" and STR_ARG(s).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct err;

struct str {
    const char *ptr;
    size_t len;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_INIT(literal)                                                                          \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    } /* for static tables */
#define STR_ARG(s) (int)(s).len, (s).ptr

struct str str_of(const char *text);
struct str str_make(const char *ptr, size_t len);
struct str str_from(struct str s, size_t start); /* empty when start is past the end */
struct str str_first(struct str s, size_t len);  /* at most len bytes */

/* Inline because parsers call little else: for a literal it is a comparison of lengths, which
 * usually decides. */
static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
static inline bool str_is(struct str a, const char *b)
{
    return str_eq(a, (struct str){b, b ? strlen(b) : 0});
}
bool str_eq_nocase(struct str a, struct str b); /* ASCII */
int str_cmp(struct str a, struct str b);        /* by bytes, shorter first */
static inline bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}
bool str_ends(struct str s, struct str suffix);

/* Position of the first match, or s.len. */
size_t str_chr(struct str s, char c);
size_t str_find(struct str s, struct str needle);
size_t str_find_nocase(struct str s, struct str needle); /* ASCII */
bool str_has(struct str s, struct str needle);

/* ASCII letters and digits. */
static inline bool str_is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Whether it is one of these words, which spaces separate: "sh bash zsh". */
bool str_is_word_of(struct str s, const char *words);

struct str str_chomp(struct str s); /* without line breaks at its end */
struct str str_trim(struct str s);  /* without ASCII white space at both ends */

/* Cuts the part before sep off *rest into *ret; false when *rest was used up. "a,,b"
 * gives three. */
bool str_cut(struct str *rest, char sep, struct str *ret);

/* Whole-string conversions: 0, or -1 with ERR_BAD_INPUT; *ret untouched on failure. */
int str_to_i64(struct str s, int64_t *ret, struct err *err);
int str_to_double(struct str s, double *ret, struct err *err); /* plain decimal, any locale */

/* The longest prefix of at most max bytes that does not end inside a UTF-8 character. */
struct str str_clip(struct str s, size_t max);

/* Edit distance (insert, delete, replace, swap), never more than limit + 1. */
size_t str_distance(struct str a, struct str b, size_t limit);

/* The same in every process, for stored or sent data. */
uint64_t str_hash(struct str s);
/* Different in every process, for tables: outsiders cannot choose keys that collide. */
uint64_t str_table_hash(struct str s);
