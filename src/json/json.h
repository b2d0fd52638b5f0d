/*
 * JSON documents, read.
 *
 * json_parse() takes the whole of RFC 8259 and builds a tree in an arena. It is iterative: nesting
 * deeper than 512 is an error, never a deep stack. Strings without escapes and all numbers are
 * slices of the input, so the input must live as long as the tree (json_parse_copy() copies it into
 * the arena first). Numbers keep their text: 64-bit integers are exact, everything else is as
 * written. A key given twice: the last one wins, in the last one's place. Objects above 16 keys are
 * looked up by hash, seeded at random, so that hostile keys cost no more than others. A byte order
 * mark at the start is passed over.
 *
 * A tree takes about as much memory as its text (1.3 times for a transcript), and at worst 24 times
 * ("[0,0,0,..."): limiting the input limits the tree. Text above JSON_MAX_TEXT and nesting above
 * JSON_MAX_DEPTH fail with ERR_TOO_BIG, all other errors are ERR_BAD_INPUT.
 *
 * Text from outside is not always clean. A lone surrogate escape ("\ud83d") is kept as its three
 * bytes (ED xx xx) and written back as the escape by jw.h; every other invalid UTF-8 byte becomes
 * U+FFFD and is counted in json_info. Raw control characters inside strings are an error.
 *
 * All readers accept NULL and the wrong type, and then give the empty answer: code that walks a
 * message from outside checks once, at the end, whether it found what it needs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct arena;
struct err;

#define JSON_MAX_DEPTH 512
#define JSON_MAX_TEXT ((size_t)1 << 30) /* bytes */

enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

struct json; /* one value; immutable once parsed, so free to share between threads */

struct json_info {
    size_t bad_utf8;        /* bytes that became U+FFFD */
    size_t lone_surrogates; /* kept */
    size_t overridden;      /* members left out because their key comes again later */
};

/* One value with only white space around it. Errors: "line 3, column 7: expected ':' after a key".
 * ret_info may be NULL. */
int json_parse(struct arena *arena, struct str text, const struct json **ret,
               struct json_info *ret_info, struct err *err);
int json_parse_copy(struct arena *arena, struct str text, const struct json **ret,
                    struct json_info *ret_info, struct err *err);

/* A model's answer without the one fence ("```json") that may stand around all of it; trimmed. */
struct str json_unfenced(struct str text);

/* The text a root was parsed from; after json_parse_copy() that is the copy. */
struct str json_text(const struct json *root);

/* Line and column (both from 1, column in bytes) of a value in the text it was parsed from; both 0
 * when it was not parsed from this text. */
void json_where(const struct json *v, struct str text, size_t *ret_line, size_t *ret_column);

enum json_type json_type(const struct json *v);          /* JSON_NULL for NULL */
const char *json_type_name(enum json_type type);         /* "object" */
bool json_is(const struct json *v, enum json_type type); /* false for NULL pointers */

/* The value itself. */
bool json_bool(const struct json *v, bool otherwise);
struct str json_str(const struct json *v);    /* decoded; empty unless a string */
struct str json_number(const struct json *v); /* its text; empty unless a number */
struct str json_raw(const struct json *v);    /* exactly the bytes it was parsed from */

/* False, and *ret untouched, unless it is an integer that fits; 1e3 and 1.0 count. */
bool json_i64(const struct json *v, int64_t *ret);

/* False, and *ret untouched, unless it is a number that fits; 1e999 does not, 1e-999 is 0. */
bool json_double(const struct json *v, double *ret);

/* Members and elements. */
size_t json_len(const struct json *v); /* of an array or object (distinct keys), else 0 */
const struct json *json_at(const struct json *array, size_t i); /* walks: use JSON_EACH for loops */
const struct json *json_get(const struct json *object, const char *key);
const struct json *json_get_key(const struct json *object, struct str key);
struct str json_get_str(const struct json *object, const char *key);
bool json_get_bool(const struct json *object, const char *key, bool otherwise);
int64_t json_get_i64(const struct json *object, const char *key, int64_t otherwise);

/* From member to member, and into arrays by number: "usage.input_tokens", "choices.0.delta". */
const struct json *json_path(const struct json *v, const char *dotted);

/* JSON_EACH(v, it): children in order; json_key(it) names the member. Overridden duplicates are
 * left out. */
const struct json *json_first(const struct json *v);
const struct json *json_next(const struct json *child);
struct str json_key(const struct json *child); /* empty for elements and roots */
#define JSON_EACH(v, it) for (const struct json *it = json_first(v); it; it = json_next(it))

/* Members in any order. Numbers by value where both are integers that json_i64() can read, else by
 * their text. NULL equals only NULL. */
bool json_equal(const struct json *a, const struct json *b);
