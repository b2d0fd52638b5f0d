/*
 * The parser against another one, and against our own writer.
 *
 * Text accepted by jansson must be accepted here, with the same meaning, and the other way round,
 * except known differences. Every tree, written and parsed again, is the same tree, and writing
 * that one gives the same bytes.
 */
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "jansson_oracle.h"
#include "json/json.h"
#include "json/jw.h"

static bool has_fraction(struct str number)
{
    return str_chr(number, '.') < number.len || str_chr(number, 'e') < number.len ||
           str_chr(number, 'E') < number.len;
}

/* Both trees are at most 512 deep. */
static void compare(const struct json *ours, const struct oracle *theirs)
{
    int64_t n;
    double d;
    size_t i = 0;

    FUZZ_CHECK(ours && theirs);
    switch (oracle_kind(theirs)) {
    case ORACLE_NULL:
        FUZZ_CHECK(json_is(ours, JSON_NULL));
        break;
    case ORACLE_TRUE:
        FUZZ_CHECK(json_bool(ours, false));
        break;
    case ORACLE_FALSE:
        FUZZ_CHECK(!json_bool(ours, true));
        break;
    case ORACLE_INTEGER:
        FUZZ_CHECK(!has_fraction(json_number(ours)));
        FUZZ_CHECK(json_i64(ours, &n) && n == oracle_integer(theirs));
        break;
    case ORACLE_REAL:
        FUZZ_CHECK(has_fraction(json_number(ours)));
        FUZZ_CHECK(json_double(ours, &d) && d == oracle_real(theirs));
        break;
    case ORACLE_STRING:
        FUZZ_CHECK(json_is(ours, JSON_STRING) && str_eq(json_str(ours), oracle_str(theirs)));
        break;
    case ORACLE_ARRAY:
        FUZZ_CHECK(json_is(ours, JSON_ARRAY) && json_len(ours) == oracle_len(theirs));
        JSON_EACH(ours, item)
            compare(item, oracle_at(theirs, i++));
        break;
    case ORACLE_OBJECT:
        FUZZ_CHECK(json_is(ours, JSON_OBJECT) && json_len(ours) == oracle_len(theirs));
        JSON_EACH(ours, member)
            compare(member, oracle_get(theirs, json_key(member)));
        break;
    }
}

static void write_tree(struct buf *out, const struct json *v, unsigned flags)
{
    struct jw w;

    jw_init(&w, out, flags);
    jw_json(&w, v);
    FUZZ_CHECK(w.depth == 0 && !out->over);
}

static void check_round_trip(struct arena *arena, const struct json *v, unsigned flags,
                             size_t lone_surrogates)
{
    CLEANUP(buf_release) struct buf first = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf second = BUF_INIT(BUF_NO_LIMIT);
    const struct json *back = NULL;
    struct json_info info = {0};

    write_tree(&first, v, flags);
    FUZZ_CHECK(utf8_is_valid(buf_str(&first)));
    FUZZ_CHECK(json_parse(arena, buf_str(&first), &back, &info, NULL) == 0);
    FUZZ_CHECK(info.bad_utf8 == 0);
    if (flags & JW_CLEAN)
        FUZZ_CHECK(info.lone_surrogates == 0);
    if (flags & JW_CLEAN && lone_surrogates)
        return; /* keys that were different may have become the same */
    FUZZ_CHECK(json_equal(v, back) && json_equal(back, v));
    write_tree(&second, back, flags);
    FUZZ_CHECK(str_eq(buf_str(&first), buf_str(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str text = {(const char *)data, size};
    const struct json *v = NULL;
    struct json_info info = {0};
    struct err err = {0};
    bool known = false;
    /* jansson skips a raw NUL after a number, so it is not asked about these. */
    bool asked = size && !memchr(data, 0, size);
    struct oracle *theirs = asked ? oracle_parse(text, &known) : NULL;

    if (json_parse(&arena, text, &v, &info, &err) < 0) {
        FUZZ_CHECK(!theirs || err.code == ERR_TOO_BIG); /* they nest deeper */
    } else {
        bool clean = !info.bad_utf8 && !info.lone_surrogates;

        if (theirs)
            compare(v, theirs);
        else
            FUZZ_CHECK(!asked || known || !clean || str_starts(text, STR("\xef\xbb\xbf")));
        check_round_trip(&arena, v, 0, info.lone_surrogates);
        check_round_trip(&arena, v, JW_CLEAN, info.lone_surrogates);
        if (size <= 500) /* indenting a deep tree takes the square of its depth */
            check_round_trip(&arena, v, JW_PRETTY, info.lone_surrogates);
    }
    oracle_free(theirs);
    return 0;
}
