/*
 * Any bytes into the parser. What comes out must be a consistent tree within the promised memory,
 * or an error with a place inside the text.
 */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "json/json.h"

static void check_where(const struct json *v, struct str text)
{
    size_t line;
    size_t column;

    json_where(v, text, &line, &column);
    FUZZ_CHECK(line >= 1 && line <= text.len);
    FUZZ_CHECK(column >= 1 && column <= text.len);
}

/* Valid UTF-8, except lone surrogates. */
static void check_text(struct str s)
{
    while (s.len) {
        size_t valid = utf8_valid_len(s);

        s = str_from(s, valid);
        if (!s.len)
            break;
        FUZZ_CHECK(s.len >= 3 && s.ptr[0] == '\xed' && (s.ptr[1] & 0xe0) == 0xa0);
        s = str_from(s, 3);
    }
}

static void check_tree(const struct json *v, struct str text, unsigned depth)
{
    struct str raw = json_raw(v);
    size_t children = 0;
    int64_t n;
    double d;

    FUZZ_CHECK(depth <= JSON_MAX_DEPTH);
    FUZZ_CHECK(raw.len > 0 && raw.ptr >= text.ptr && raw.ptr + raw.len <= text.ptr + text.len);
    if (text.len <= 200) /* it counts lines from the start each time */
        check_where(v, text);
    check_text(json_str(v));
    if (json_i64(v, &n) && json_double(v, &d))
        FUZZ_CHECK((double)n == d);
    FUZZ_CHECK(json_number(v).len == (json_is(v, JSON_NUMBER) ? raw.len : 0));

    JSON_EACH(v, child) {
        if (json_is(v, JSON_OBJECT)) {
            check_text(json_key(child));
            FUZZ_CHECK(json_get_key(v, json_key(child)) == child);
        } else if (children < 20) {
            FUZZ_CHECK(json_at(v, children) == child);
        }
        FUZZ_CHECK(json_raw(child).ptr > raw.ptr);
        check_tree(child, text, depth + json_is(child, JSON_ARRAY) + json_is(child, JSON_OBJECT));
        children++;
    }
    FUZZ_CHECK(children == json_len(v));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str text = {(const char *)data, size};
    const struct json *v = NULL;
    struct json_info info = {0};
    struct err err = {0};

    if (json_parse(&arena, text, &v, &info, &err) < 0) {
        FUZZ_CHECK(err.code == ERR_BAD_INPUT || err.code == ERR_TOO_BIG);
        FUZZ_CHECK(str_starts(str_of(err.text), STR("line ")));
        FUZZ_CHECK(!v);
        return 0;
    }
    FUZZ_CHECK(arena.total <= 24 * size + 1024);
    FUZZ_CHECK(str_eq(json_text(v), text));
    FUZZ_CHECK(info.bad_utf8 + info.lone_surrogates <= size);
    FUZZ_CHECK(!utf8_is_valid(text) == (info.bad_utf8 > 0));
    FUZZ_CHECK(json_equal(v, v));
    check_tree(v, text, json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT));
    return 0;
}
