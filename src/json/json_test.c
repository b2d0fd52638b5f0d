/* json: accepted input, refused input and its position, and every reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"
#include "unit.h"

static struct arena arena;

static int reset(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

/* Parses what a test knows to be good. */
static const struct json *parsed(const char *text)
{
    const struct json *v = NULL;
    struct err err = {0};

    if (json_parse(&arena, str_of(text), &v, NULL, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return v;
}

#define assert_str(got, expected)                                                                  \
    do {                                                                                           \
        struct str got_ = (got);                                                                   \
                                                                                                   \
        if (!str_eq(got_, STR(expected)))                                                          \
            fail_msg("got '%.*s', expected '%s'", STR_ARG(got_), expected);                        \
    } while (0)

struct text_case {
    struct str text;
    const char *error; /* NULL when it is accepted */
};

#define OK(text)                                                                                   \
    {                                                                                              \
        STR_INIT(text), NULL                                                                       \
    }
#define NO(text, error)                                                                            \
    {                                                                                              \
        STR_INIT(text), error                                                                      \
    }

static const struct text_case text_cases[] = {
    /* values */
    OK("null"),
    OK("true"),
    OK("false"),
    OK("0"),
    OK("\"\""),
    OK("[]"),
    OK("{}"),
    OK(" \t\r\n[ \t\r\n] \t\r\n"),
    OK(" { } "),
    OK("[null,true,false,0,\"\",[],{}]"),
    OK("{\"a\":1,\"b\":{\"c\":[1,2,{\"d\":null}]}}"),
    OK("[[],[[]],[[[]]]]"),
    OK("{\"\":0}"),
    OK("{ \"a\" : 1 , \"b\" : 2 }"),
    OK("\xef\xbb\xbf[1]"), /* byte order mark */
    NO("", "line 1, column 1: expected a value, but the text ends here"),
    NO("   ", "line 1, column 4: expected a value, but the text ends here"),
    NO("\xef\xbb\xbf", "line 1, column 4: expected a value, but the text ends here"),
    NO("[1]\xef\xbb\xbf",
       "line 1, column 4: expected nothing more after the value, not '\xef\xbb\xbf'"),
    NO("nul", "line 1, column 1: expected a value, not 'n'"),
    NO("nulll", "line 1, column 5: expected nothing more after the value, not 'l'"),
    NO("True", "line 1, column 1: expected a value, not 'T'"),
    NO("tru\xe9", "line 1, column 1: expected a value, not 't'"),
    NO("NaN", "line 1, column 1: expected a value, not 'N'"),
    NO("Infinity", "line 1, column 1: expected a value, not 'I'"),
    NO("undefined", "line 1, column 1: expected a value, not 'u'"),
    NO("'a'", "line 1, column 1: expected a value, not '''"),
    NO("\xc3\xa9", "line 1, column 1: expected a value, not '\xc3\xa9'"),
    NO("\xff", "line 1, column 1: expected a value, not byte 0xff"),
    NO("\x00", "line 1, column 1: expected a value, not byte 0x00"),
    NO("1\x00", "line 1, column 2: expected nothing more after the value, not byte 0x00"),
    NO("1 2", "line 1, column 3: expected nothing more after the value, not '2'"),
    NO("{}}", "line 1, column 3: expected nothing more after the value, not '}'"),
    NO("// no\n1", "line 1, column 1: expected a value, not '/'"),
    NO("[1/**/]", "line 1, column 3: expected ',' or ']', not '/'"),
    NO("\v1", "line 1, column 1: expected a value, not byte 0x0b"),
    NO("\f1", "line 1, column 1: expected a value, not byte 0x0c"),
    NO("\xc2\xa0"
       "1",
       "line 1, column 1: expected a value, not '\xc2\xa0'"),

    /* arrays */
    NO("[", "line 1, column 2: expected a value, but the text ends here"),
    NO("[1", "line 1, column 3: expected ',' or ']', but the text ends here"),
    NO("[1,", "line 1, column 4: expected a value, but the text ends here"),
    NO("[1,]", "line 1, column 4: expected a value, not ']'"),
    NO("[,1]", "line 1, column 2: expected a value, not ','"),
    NO("[1,,2]", "line 1, column 4: expected a value, not ','"),
    NO("[1 2]", "line 1, column 4: expected ',' or ']', not '2'"),
    NO("[1}", "line 1, column 3: expected ',' or ']', not '}'"),
    NO("[\"a\":1]", "line 1, column 5: expected ',' or ']', not ':'"),
    NO("]", "line 1, column 1: expected a value, not ']'"),
    NO("[[1]", "line 1, column 5: expected ',' or ']', but the text ends here"),

    /* objects */
    NO("{", "line 1, column 2: expected a key in double quotes, but the text ends here"),
    NO("{a:1}", "line 1, column 2: expected a key in double quotes, not 'a'"),
    NO("{1:1}", "line 1, column 2: expected a key in double quotes, not '1'"),
    NO("{,}", "line 1, column 2: expected a key in double quotes, not ','"),
    NO("{\"a\"}", "line 1, column 5: expected ':' after a key, not '}'"),
    NO("{\"a\" 1}", "line 1, column 6: expected ':' after a key, not '1'"),
    NO("{\"a\":}", "line 1, column 6: expected a value, not '}'"),
    NO("{\"a\":1,}", "line 1, column 8: expected a key in double quotes, not '}'"),
    NO("{\"a\":1", "line 1, column 7: expected ',' or '}', but the text ends here"),
    NO("{\"a\":1]", "line 1, column 7: expected ',' or '}', not ']'"),
    NO("{\"a\"::1}", "line 1, column 6: expected a value, not ':'"),
    NO("{\"a\":1 \"b\":2}", "line 1, column 8: expected ',' or '}', not '\"'"),
    NO("{\n  \"a\": 1,\n  \"b\" 2\n}", "line 3, column 7: expected ':' after a key, not '2'"),
    NO("[1,\r\n2,\r\nx]", "line 3, column 1: expected a value, not 'x'"),

    /* numbers */
    OK("-0"),
    OK("-1"),
    OK("10"),
    OK("0.5"),
    OK("-0.0"),
    OK("1e5"),
    OK("1E5"),
    OK("1e+5"),
    OK("1e-5"),
    OK("0e0"),
    OK("0.0e-0"),
    OK("123456789012345678901234567890.123456789e-4242424242"),
    OK("[1e999]"),
    NO("-", "line 1, column 2: expected a digit after '-', but the text ends here"),
    NO("-a", "line 1, column 2: expected a digit after '-', not 'a'"),
    NO("--1", "line 1, column 2: expected a digit after '-', not '-'"),
    NO("+1", "line 1, column 1: expected a value, not '+'"),
    NO(".5", "line 1, column 1: expected a value, not '.'"),
    NO("1.", "line 1, column 3: expected a digit after '.', but the text ends here"),
    NO("1.e5", "line 1, column 3: expected a digit after '.', not 'e'"),
    NO("1e", "line 1, column 3: expected a digit in the exponent, but the text ends here"),
    NO("1e+", "line 1, column 4: expected a digit in the exponent, but the text ends here"),
    NO("1e+-1", "line 1, column 4: expected a digit in the exponent, not '-'"),
    NO("01", "line 1, column 1: a number has no leading zeros"),
    NO("-01", "line 1, column 2: a number has no leading zeros"),
    NO("[00]", "line 1, column 2: a number has no leading zeros"),
    NO("0x1", "line 1, column 2: expected nothing more after the value, not 'x'"),
    NO("1_000", "line 1, column 2: expected nothing more after the value, not '_'"),
    NO("1.2.3", "line 1, column 4: expected nothing more after the value, not '.'"),
    NO("1e5.5", "line 1, column 4: expected nothing more after the value, not '.'"),
    NO("-Infinity", "line 1, column 2: expected a digit after '-', not 'I'"),
    NO("\xef\xbc\x91", "line 1, column 1: expected a value, not '\xef\xbc\x91'"), /* full-width 1 */

    /* strings */
    OK("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uABcd\""),
    OK("\"\x7f\""),
    OK("\"\xe2\x80\xa8\""), /* U+2028 */
    OK("\"'\""),
    OK("\"\xf4\x8f\xbf\xbf\""),
    OK("\"\\ud83d\""),
    OK("\"\\ud83d\\u0041\""),
    OK("\"\xff\""),
    NO("\"", "line 1, column 1: this string is not closed"),
    NO("\"abc", "line 1, column 1: this string is not closed"),
    NO("[\n \"abc\\\"]", "line 2, column 2: this string is not closed"),
    NO("\"\\", "line 1, column 2: the text ends inside an escape"),
    NO("\"\\a\"", "line 1, column 2: unknown escape; only \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u"),
    NO("\"\\'\"", "line 1, column 2: unknown escape; only \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u"),
    NO("\"\\x41\"", "line 1, column 2: unknown escape; only \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u"),
    NO("\"ab\\\n\"",
       "line 1, column 4: unknown escape; only \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u"),
    NO("\"\\u", "line 1, column 4: expected four hex digits after \\u, but the text ends here"),
    NO("\"\\u12\"", "line 1, column 6: expected four hex digits after \\u, not '\"'"),
    NO("\"\\u12g4\"", "line 1, column 6: expected four hex digits after \\u, not 'g'"),
    NO("\"\\u 123\"", "line 1, column 4: expected four hex digits after \\u, not ' '"),
    NO("\"\\U0041\"",
       "line 1, column 2: unknown escape; only \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u"),
    NO("\"\\ud83d\\u\"", "line 1, column 10: expected four hex digits after \\u, not '\"'"),
    NO("\"\\ud83d\\", "line 1, column 8: the text ends inside an escape"),
    NO("\"a\tb\"", "line 1, column 3: a raw control character inside a string"),
    NO("\"a\x00"
       "b\"",
       "line 1, column 3: a raw control character inside a string"),
    NO("\"a\x1f\"", "line 1, column 3: a raw control character inside a string"),
    NO("\"a\nb\"", "line 1, column 3: a line break inside a string; write it as \\n"),
    NO("[\"0123456789abcdef\n\"]",
       "line 1, column 19: a line break inside a string; write it as \\n"),
    NO("\"a\"b\"", "line 1, column 4: expected nothing more after the value, not 'b'"),
    NO("{\"a\n\":1}", "line 1, column 4: a line break inside a string; write it as \\n"),
};

static void accepts_and_refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(text_cases); i++) {
        const struct text_case *c = &text_cases[i];
        const struct json *untouched = (const struct json *)&arena;
        const struct json *v = untouched;
        struct err err = {0};
        int r = json_parse(&arena, c->text, &v, NULL, &err);

        if ((r == 0) != !c->error || strcmp(err.text, c->error ? c->error : "") != 0)
            fail_msg("%.*s: %d, '%s'", STR_ARG(c->text), r, err.text);
        assert_int_equal(err.code, c->error ? ERR_BAD_INPUT : ERR_NONE);
        if (r < 0)
            assert_ptr_equal(v, untouched);
    }
}

/* Every prefix of a text that needs its last byte is an error, and none reads past its end: each is
 * parsed from an allocation of exactly its size. */
static void every_prefix_fails(void **state)
{
    static const char text[] =
        "{\"key\": [1.5e-3, \"a\\n\\ud83d\\ude00\xc3\xa9\xf0\x9f\x98\x80 and more text\","
        " true, false, null, {\"\": {}}], \"k\\u0032\": -0}";

    (void)state;
    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        char *copy = mem_alloc(n ? n : 1);
        const struct json *v;
        struct err err = {0};

        memcpy(copy, text, n);
        if (json_parse(&arena, str_make(copy, n), &v, NULL, &err) == 0)
            fail_msg("accepted '%.*s'", (int)n, text);
        assert_int_equal(err.code, ERR_BAD_INPUT);
        mem_freep(&copy);
    }
    parsed(text);
}

static void errors_may_be_ignored(void **state)
{
    const struct json *v;

    (void)state;
    assert_int_equal(json_parse(&arena, STR("["), &v, NULL, NULL), -1);
    assert_int_equal(json_parse(&arena, (struct str){NULL, 0}, &v, NULL, NULL), -1);
}

struct string_case {
    struct str text;
    struct str value;
    size_t bad_utf8;
    size_t lone_surrogates;
};

#define ROW(text, value, bad, lone)                                                                \
    {                                                                                              \
        STR_INIT("\"" text "\""), STR_INIT(value), bad, lone                                       \
    }

static const struct string_case string_cases[] = {
    ROW("", "", 0, 0),
    ROW("plain", "plain", 0, 0),
    ROW("sixteen bytes ok and more than thirty-two of them",
        "sixteen bytes ok and more than thirty-two of them", 0, 0),
    ROW("\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t", 0, 0),
    ROW("a\\nb", "a\nb", 0, 0),
    ROW("\\u0041\\u00e9\\u20AC", "A\xc3\xa9\xe2\x82\xac", 0, 0),
    ROW("a\\u0000b", "a\0b", 0, 0),
    ROW("\\uD83D\\uDE00", "\xf0\x9f\x98\x80", 0, 0),
    ROW("\\udbff\\udfff", "\xf4\x8f\xbf\xbf", 0, 0),
    ROW("\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", 0, 0),
    ROW("\\uffff\\ufffe", "\xef\xbf\xbf\xef\xbf\xbe", 0, 0),
    /* lone surrogates */
    ROW("\\ud83d", "\xed\xa0\xbd", 0, 1),
    ROW("\\ude00", "\xed\xb8\x80", 0, 1),
    ROW("\\ude00\\ud83d", "\xed\xb8\x80\xed\xa0\xbd", 0, 2),
    ROW("\\ud83dx", "\xed\xa0\xbdx", 0, 1),
    ROW("\\ud83d\\n", "\xed\xa0\xbd\n", 0, 1),
    ROW("\\ud83d\\u0041",
        "\xed\xa0\xbd"
        "A",
        0, 1),
    ROW("\\ud83d\\ud83d\\ude00", "\xed\xa0\xbd\xf0\x9f\x98\x80", 0, 1),
    ROW("\\ud800\\udbff", "\xed\xa0\x80\xed\xaf\xbf", 0, 2),
    ROW("\\udfff", "\xed\xbf\xbf", 0, 1),
    /* bytes that are no UTF-8: each becomes U+FFFD */
    ROW("\xff", "\xef\xbf\xbd", 1, 0),
    ROW("a\x80z", "a\xef\xbf\xbdz", 1, 0),
    ROW("\xc3", "\xef\xbf\xbd", 1, 0),
    ROW("\xc3(", "\xef\xbf\xbd(", 1, 0),
    ROW("\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd", 2, 0),
    ROW("\xe2\x82\xe2\x82\xac", "\xef\xbf\xbd\xef\xbf\xbd\xe2\x82\xac", 2, 0),
    ROW("\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd", 2, 0),                 /* overlong NUL */
    ROW("\xc0\xa2", "\xef\xbf\xbd\xef\xbf\xbd", 2, 0),                 /* overlong quote */
    ROW("\xe0\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 3, 0), /* overlong slash */
    ROW("\xed\xa0\xbd", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 3, 0), /* raw surrogate bytes */
    ROW("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 4, 0),
    ROW("\xef\xbf\xbd", "\xef\xbf\xbd", 0, 0), /* U+FFFD itself is fine */
    ROW("\xff\\ud83d\xfe", "\xef\xbf\xbd\xed\xa0\xbd\xef\xbf\xbd", 2, 1),
};

static void strings_are_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(string_cases); i++) {
        const struct string_case *c = &string_cases[i];
        const struct json *v;
        struct json_info info = {99, 99};
        struct err err = {0};

        if (json_parse(&arena, c->text, &v, &info, &err) < 0)
            fail_msg("%.*s: %s", STR_ARG(c->text), err.text);
        assert_int_equal(json_type(v), JSON_STRING);
        if (!str_eq(json_str(v), c->value) || info.bad_utf8 != c->bad_utf8 ||
            info.lone_surrogates != c->lone_surrogates)
            fail_msg("%.*s: '%.*s', %zu bad, %zu lone", STR_ARG(c->text), STR_ARG(json_str(v)),
                     info.bad_utf8, info.lone_surrogates);
        assert_true(str_eq(json_raw(v), c->text));
    }
}

/* The scan works in steps of 16, 8 and 1 bytes: the same text at every offset and length must give
 * the same answer, with the odd byte at every place. */
static void strings_at_every_alignment(void **state)
{
    static const struct {
        const char *text;
        const char *value;
    } odd[] = {{"\\n", "\n"},
               {"\xc3\xa9", "\xc3\xa9"},
               {"\xff", "\xef\xbf\xbd"},
               {"!", "!"},
               {"\x7f", "\x7f"}};

    (void)state;
    for (size_t kind = 0; kind < ARRAY_LEN(odd); kind++) {
        for (size_t before = 0; before < 40; before++) {
            for (size_t after = 0; after < 40; after += 3) {
                CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
                CLEANUP(buf_release) struct buf value = BUF_INIT(1000);
                const struct json *v;

                buf_addf(&value, "%.*s%s%.*s", (int)before,
                         "0123456789012345678901234567890123456789", odd[kind].value, (int)after,
                         "abcdefghijklmnopqrstuvwxyzabcdefghijklmnop");
                buf_addf(&text, "[\"%.*s%s%.*s\",1]", (int)before,
                         "0123456789012345678901234567890123456789", odd[kind].text, (int)after,
                         "abcdefghijklmnopqrstuvwxyzabcdefghijklmnop");
                v = parsed(buf_cstr(&text));
                if (!str_eq(json_str(json_at(v, 0)), buf_str(&value)) || json_len(v) != 2)
                    fail_msg("%s", buf_cstr(&text));
            }
        }
    }
}

struct number_case {
    const char *text;
    bool fits;
    int64_t value;
};

static const struct number_case number_cases[] = {
    {"0", true, 0},
    {"-0", true, 0},
    {"7", true, 7},
    {"-7", true, -7},
    {"9007199254740993", true, 9007199254740993}, /* a double would lose the last bit */
    {"9223372036854775807", true, INT64_MAX},
    {"9223372036854775808", false, 0},
    {"-9223372036854775808", true, INT64_MIN},
    {"-9223372036854775809", false, 0},
    {"18446744073709551615", false, 0},
    {"18446744073709551616", false, 0},
    {"99999999999999999999999999", false, 0},
    {"1.0", true, 1},
    {"-1.000", true, -1},
    {"1e3", true, 1000},
    {"1E+3", true, 1000},
    {"1.5e1", true, 15},
    {"15e-1", false, 0},
    {"150e-1", true, 15},
    {"0.001e3", true, 1},
    {"0.001e2", false, 0},
    {"1.5", false, 0},
    {"1e-1", false, 0},
    {"0e99999999999999999999", true, 0},
    {"0e-99999999999999999999", true, 0},
    {"0.0", true, 0},
    {"1e99999999999999999999", false, 0},
    {"1e-99999999999999999999", false, 0},
    {"9.223372036854775807e18", true, INT64_MAX},
    {"9.223372036854775808e18", false, 0},
    {"-9.223372036854775808e18", true, INT64_MIN},
    {"92233720368547758070e-1", true, INT64_MAX},
    {"1e18", true, 1000000000000000000},
    {"1e19", false, 0},
    {"0.00000000000000000000000000000000000000001e41", true, 1},
};

static void integers_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(number_cases); i++) {
        const struct number_case *c = &number_cases[i];
        const struct json *v = parsed(c->text);
        int64_t n = 4242;
        bool fits = json_i64(v, &n);

        if (fits != c->fits || n != (c->fits ? c->value : 4242))
            fail_msg("%s: %d %lld", c->text, fits, (long long)n);
        assert_true(str_is(json_number(v), c->text));
    }
}

static void doubles(void **state)
{
    double n = 42;

    (void)state;
    assert_true(json_double(parsed("0.1"), &n) && n == 0.1);
    assert_true(json_double(parsed("-1.5e3"), &n) && n == -1500);
    assert_true(json_double(parsed("1e308"), &n) && n == 1e308);
    assert_true(json_double(parsed("1e-999"), &n) && n == 0);
    assert_true(json_double(parsed("0.1000000000000000000000000000000000000000000000000000000000000"
                                   "00000000000000000000000000000000000001"),
                            &n) &&
                n == 0.1);
    n = 42;
    assert_false(json_double(parsed("1e999"), &n));
    assert_false(json_double(parsed("-1e999"), &n));
    assert_false(json_double(parsed("\"1\""), &n));
    assert_false(json_double(NULL, &n));
    assert_true(n == 42);
}

/* [[[...]]] or {"":{"":...}} */
static void nest(struct buf *text, size_t depth, const char *open, const char *close)
{
    buf_clear(text);
    for (size_t i = 0; i < depth; i++)
        buf_adds(text, open);
    buf_adds(text, "0");
    for (size_t i = 0; i < depth; i++)
        buf_adds(text, close);
}

static void nesting_is_limited(void **state)
{
    static const struct {
        size_t depth;
        const char *open;
        const char *close;
        const char *error;
    } cases[] = {
        {511, "[", "]", NULL},
        {512, "[", "]", NULL},
        {513, "[", "]", "line 1, column 513: nested deeper than 512"},
        {511, "{\"\":", "}", NULL},
        {512, "{\"\":", "}", NULL},
        {513, "{\"\":", "}", "line 1, column 2049: nested deeper than 512"},
        {256, "[{\"a\":", "}]", NULL},
        {257, "[{\"a\":", "}]", "line 1, column 1537: nested deeper than 512"},
        {1000000, "[", "", "line 1, column 513: nested deeper than 512"},
    };
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct json *v;
        struct err err = {0};
        size_t depth = 0;

        nest(&text, cases[i].depth, cases[i].open, cases[i].close);
        if ((json_parse(&arena, buf_str(&text), &v, NULL, &err) == 0) != !cases[i].error ||
            strcmp(err.text, cases[i].error ? cases[i].error : "") != 0)
            fail_msg("%zu times '%s': %s", cases[i].depth, cases[i].open, err.text);
        if (cases[i].error) {
            assert_int_equal(err.code, ERR_TOO_BIG);
            continue;
        }
        assert_true(json_equal(v, v));
        for (; json_first(v); v = json_first(v))
            depth++;
        assert_int_equal(depth, cases[i].depth * strlen(cases[i].close));
    }
}

/* Depth counts open containers, not all of them. */
static void many_shallow_containers(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    buf_adds(&text, "[");
    for (int i = 0; i < 5000; i++)
        buf_adds(&text, "[[]],{},");
    buf_adds(&text, "0]");
    assert_int_equal(json_len(parsed(buf_cstr(&text))), 10001);
}

static void last_duplicate_wins(void **state)
{
    const struct json *v = parsed("{\"a\":1,\"b\":2,\"a\":3,\"\":4,\"\\u0061\":5,\"\":6}");
    const struct json *m;

    (void)state;
    assert_int_equal(json_len(v), 3);
    assert_int_equal(json_get_i64(v, "a", 0), 5);
    assert_int_equal(json_get_i64(v, "b", 0), 2);
    assert_int_equal(json_get_i64(v, "", 0), 6);
    m = json_first(v);
    assert_str(json_key(m), "b");
    m = json_next(m);
    assert_str(json_key(m), "a");
    m = json_next(m);
    assert_str(json_key(m), "");
    assert_null(json_next(m));

    /* Same first and last letter and length, and yet two keys. */
    assert_int_equal(json_len(parsed("{\"abc\":1,\"axc\":2}")), 2);
}

/* Objects of every size around the change from walking to hashing, with and without duplicates. */
static void objects_of_every_size(void **state)
{
    (void)state;
    for (size_t n = 0; n < 80; n++) {
        for (size_t twice = 0; twice <= n; twice += 1 + n / 7) {
            CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
            const struct json *v;
            size_t seen = 0;

            buf_adds(&text, "{");
            for (size_t i = 0; i < twice; i++)
                buf_addf(&text, "\"key%zu\":\"old\",", i);
            for (size_t i = 0; i < n; i++)
                buf_addf(&text, "%s\"key%zu\":%zu", i ? "," : "", i, i);
            buf_adds(&text, "}");
            v = parsed(buf_cstr(&text));
            assert_int_equal(json_len(v), n);
            JSON_EACH(v, m) {
                char key[32];

                snprintf(key, sizeof(key), "key%zu", seen);
                assert_true(str_is(json_key(m), key));
                assert_int_equal(json_get_i64(v, key, -1), (int64_t)seen);
                seen++;
            }
            assert_int_equal(seen, n);
            assert_null(json_get(v, "key"));
            assert_null(json_get(v, "absent"));
            assert_null(json_get(v, ""));
        }
    }
}

/* A hundred thousand members, each given twice. Walking would compare ten thousand million keys. */
static void large_objects(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct json *v;
    const int n = 100000;

    (void)state;
    buf_adds(&text, "{");
    for (int i = 0; i < 2 * n; i++)
        buf_addf(&text, "%s\"%d\":%d", i ? "," : "", i % n, i);
    buf_adds(&text, "}");
    v = parsed(buf_cstr(&text));
    assert_int_equal(json_len(v), n);
    for (int i = 0; i < n; i++) {
        char key[16];

        snprintf(key, sizeof(key), "%d", i);
        assert_int_equal(json_get_i64(v, key, -1), i + n);
    }
    assert_true(json_equal(v, v));
}

/* json.h promises 24 times the text. Small ones are left out: an arena starts with a block. */
static void memory_is_bounded(void **state)
{
    static const char *const parts[] = {"0,",           "\"\",",        "[],",       "[0],",
                                        "[[]],",        "{},",          "{\"\":0},", "\"\\n\",",
                                        "\"\\u0001\",", "[[[[[0]]]]],", "\"\xff\","};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

        buf_adds(&text, "[");
        for (int n = 0; n < 20000; n++)
            buf_adds(&text, parts[i]);
        buf_adds(&text, "0]");
        arena_release(&arena);
        parsed(buf_cstr(&text));
        if (arena.total > 24 * text.len + 64)
            fail_msg("%s: %zu bytes for %zu", parts[i], arena.total, text.len);
    }
    for (int distinct = 0; distinct < 2; distinct++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

        buf_adds(&text, "{");
        for (int n = 0; n < 25000; n++) /* just past three quarters of 2^15: the sparsest table */
            buf_addf(&text, "\"%.*x\":0,", distinct ? 5 : 0, distinct ? n : 0);
        buf_adds(&text, "\"\":0}");
        arena_release(&arena);
        parsed(buf_cstr(&text));
        if (arena.total > 24 * text.len)
            fail_msg("%zu bytes for %zu of keys", arena.total, text.len);
    }
}

static void readers_take_anything(void **state)
{
    const struct json *v = parsed("[null,true,12,\"s\",[1],{\"k\":1}]");
    int64_t n = 5;

    (void)state;
    JSON_EACH(v, it) {
        if (json_type(it) != JSON_BOOL)
            assert_true(json_bool(it, true) && !json_bool(it, false));
        if (json_type(it) != JSON_STRING)
            assert_int_equal(json_str(it).len, 0);
        if (json_type(it) != JSON_NUMBER)
            assert_true(!json_i64(it, &n) && json_number(it).len == 0);
        if (json_type(it) != JSON_ARRAY)
            assert_null(json_at(it, 0));
        if (json_type(it) != JSON_OBJECT)
            assert_null(json_get(it, "k"));
        assert_int_equal(json_key(it).len, 0);
    }
    assert_int_equal(n, 5);
    assert_null(json_at(v, 6));
    assert_null(json_at(v, SIZE_MAX));

    assert_int_equal(json_type(NULL), JSON_NULL);
    assert_false(json_is(NULL, JSON_NULL));
    assert_true(json_bool(NULL, true));
    assert_int_equal(json_str(NULL).len, 0);
    assert_int_equal(json_number(NULL).len, 0);
    assert_false(json_i64(NULL, &n));
    assert_int_equal(json_raw(NULL).len, 0);
    assert_int_equal(json_len(NULL), 0);
    assert_null(json_at(NULL, 0));
    assert_null(json_get(NULL, "a"));
    assert_null(json_path(NULL, "a.b"));
    assert_int_equal(json_get_str(NULL, "a").len, 0);
    assert_true(json_get_bool(NULL, "a", true));
    assert_int_equal(json_get_i64(NULL, "a", 9), 9);
    assert_null(json_first(NULL));
    assert_null(json_next(NULL));
    assert_int_equal(json_key(NULL).len, 0);
    assert_int_equal(json_text(NULL).len, 0);
    assert_string_equal(json_type_name(JSON_NULL), "null");
    assert_string_equal(json_type_name(JSON_OBJECT), "object");
}

static void members(void **state)
{
    const struct json *v = parsed("{\"s\":\"text\",\"t\":true,\"f\":false,\"n\":-3,\"nul\":null,"
                                  "\"a\":[10,[20,{\"b\":30}]],\"o\":{\"\":{\"x.y\":1,\"0\":2}}}");
    const struct {
        const char *path;
        const char *raw;
    } paths[] = {
        {"s", "\"text\""}, {"a.0", "10"},   {"a.1.0", "20"},
        {"a.1.1.b", "30"}, {"a.2", ""},     {"a.-1", ""},
        {"a.x", ""},       {"s.0", ""},     {"o..0", "2"},
        {"o.x", ""},       {"nul", "null"}, {"nul.x", ""},
        {"a.", ""},        {"", ""},        {"a.99999999999999999999", ""},
    };

    (void)state;
    assert_str(json_get_str(v, "s"), "text");
    assert_str(json_get_str(v, "n"), "");
    assert_true(json_get_bool(v, "t", false));
    assert_false(json_get_bool(v, "f", true));
    assert_int_equal(json_get_i64(v, "n", 0), -3);
    assert_int_equal(json_get_i64(v, "s", 8), 8);
    assert_true(json_is(json_get(v, "nul"), JSON_NULL));
    assert_int_equal(json_get_i64(json_path(v, "o."), "x.y", 0), 1);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (!str_is(json_raw(json_path(v, paths[i].path)), paths[i].raw))
            fail_msg("%s: '%.*s'", paths[i].path, STR_ARG(json_raw(json_path(v, paths[i].path))));
    }
}

static void raw_and_where(void **state)
{
    struct str text = STR(" {\"a\" : [ 1 , \"x\\ny\" ],\n  \"b\":{ } ,\n\"c\":-1.50} \n");
    const struct {
        const char *path;
        const char *raw;
        size_t line;
        size_t column;
    } cases[] = {
        {"a", "[ 1 , \"x\\ny\" ]", 1, 9},
        {"a.0", "1", 1, 11},
        {"a.1", "\"x\\ny\"", 1, 15},
        {"b", "{ }", 2, 7},
        {"c", "-1.50", 3, 5},
    };
    const struct json *v;
    size_t line;
    size_t column;

    (void)state;
    for (int copied = 0; copied < 2; copied++) {
        struct str own;

        if (copied)
            assert_int_equal(json_parse_copy(&arena, text, &v, NULL, NULL), 0);
        else
            assert_int_equal(json_parse(&arena, text, &v, NULL, NULL), 0);
        own = json_text(v);
        assert_true(str_eq(own, text));
        assert_int_equal(own.ptr == text.ptr, !copied);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            const struct json *it = json_path(v, cases[i].path);

            json_where(it, own, &line, &column);
            if (!str_is(json_raw(it), cases[i].raw) || line != cases[i].line ||
                column != cases[i].column)
                fail_msg("%s: '%.*s' at %zu:%zu", cases[i].path, STR_ARG(json_raw(it)), line,
                         column);
        }
        json_where(v, own, &line, &column);
        assert_int_equal(line, 1);
        assert_int_equal(column, 2);
        assert_int_equal(json_raw(v).len, text.len - 3);
    }
    json_where(v, text, &line, &column); /* not where the copy was parsed from */
    assert_int_equal(line + column, 0);
    json_where(NULL, text, &line, &column);
    assert_int_equal(line + column, 0);
    assert_int_equal(json_text(json_first(v)).len, 0);
    assert_int_equal(json_key(v).len, 0);
}

/* A copied tree outlives the text it came from. */
static void copy_is_independent(void **state)
{
    char text[] = "{\"key\":[\"value\",12.5]}";
    const struct json *v;

    (void)state;
    assert_int_equal(json_parse_copy(&arena, str_of(text), &v, NULL, NULL), 0);
    memset(text, 'x', sizeof(text));
    assert_str(json_raw(v), "{\"key\":[\"value\",12.5]}");
    assert_str(json_key(json_first(v)), "key");
    assert_str(json_str(json_path(v, "key.0")), "value");
    assert_str(json_number(json_path(v, "key.1")), "12.5");
}

/* Several threads read one tree and parse another text. Its object is large, and the first large
 * one of all draws the seed of the hash. */
struct job {
    const struct json *shared;
    struct str large;
};

static void *read_and_parse(void *arg)
{
    const struct job *job = arg;
    struct arena own = ARENA_INIT;
    intptr_t bad = 0;

    for (int64_t i = 0; i < 200; i++) {
        const struct json *v = NULL;
        char key[16];

        snprintf(key, sizeof(key), "key %d", (int)i % 40);
        arena_reset(&own);
        bad += json_parse(&own, job->large, &v, NULL, NULL) != 0;
        bad += json_get_i64(v, key, -1) != i % 40;
        bad += !json_equal(json_get(job->shared, "a"), json_get(job->shared, "b"));
    }
    arena_release(&own);
    return (void *)bad;
}

static void threads_share_a_tree(void **state)
{
    CLEANUP(buf_release) struct buf large = BUF_INIT(BUF_NO_LIMIT);
    struct job job = {.shared =
                          parsed("{\"a\":[1,{\"x\":\"\\n\"}],\"b\":[1.0,{\"x\":\"\\u000a\"}]}")};
    pthread_t threads[4];

    (void)state;
    buf_adds(&large, "{\"\":0");
    for (int i = 0; i < 40; i++)
        buf_addf(&large, ",\"key %d\":%d", i, i);
    buf_adds(&large, "}");
    job.large = buf_str(&large);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_and_parse, &job), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        void *bad;

        assert_int_equal(pthread_join(threads[i], &bad), 0);
        assert_null(bad);
    }
}

static void equality(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        bool equal;
    } cases[] = {
        {"null", "null", true},
        {"null", "false", false},
        {"true", "true", true},
        {"true", "false", false},
        {"1", "1", true},
        {"1", "1.0", true},
        {"1000", "1e3", true},
        {"0", "-0", true},
        {"1", "2", false},
        {"1.5", "1.5", true},
        {"1.5", "1.50", false}, /* by text */
        {"99999999999999999999", "99999999999999999999", true},
        {"99999999999999999999", "1e99", false},
        {"1", "\"1\"", false},
        {"\"a\"", "\"\\u0061\"", true},
        {"\"a\"", "\"b\"", false},
        {"\"\"", "\"\\u0000\"", false},
        {"[]", "{}", false},
        {"[1,2]", "[1,2]", true},
        {"[1,2]", "[2,1]", false},
        {"[1,2]", "[1,2,3]", false},
        {"{\"a\":1,\"b\":[2]}", "{\"b\":[2.0],\"a\":1}", true},
        {"{\"a\":1}", "{\"b\":1}", false},
        {"{\"a\":1}", "{\"a\":2}", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":1}", false},
        {"{\"a\":0,\"a\":1}", "{\"a\":1}", true},
        {"{\"a\":null,\"b\":1}", "{\"c\":null,\"b\":1}", false},
        {"[[[1]]]", "[[[2]]]", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (json_equal(parsed(cases[i].a), parsed(cases[i].b)) != cases[i].equal ||
            json_equal(parsed(cases[i].b), parsed(cases[i].a)) != cases[i].equal)
            fail_msg("%s and %s", cases[i].a, cases[i].b);
    }
    assert_true(json_equal(NULL, NULL));
    assert_false(json_equal(NULL, parsed("null")));
    assert_false(json_equal(parsed("null"), NULL));
}

UNIT_TEST(json)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(threads_share_a_tree, reset), /* first: nothing is drawn yet */
        cmocka_unit_test_teardown(accepts_and_refuses, reset),
        cmocka_unit_test_teardown(every_prefix_fails, reset),
        cmocka_unit_test_teardown(errors_may_be_ignored, reset),
        cmocka_unit_test_teardown(strings_are_decoded, reset),
        cmocka_unit_test_teardown(strings_at_every_alignment, reset),
        cmocka_unit_test_teardown(integers_are_exact, reset),
        cmocka_unit_test_teardown(doubles, reset),
        cmocka_unit_test_teardown(nesting_is_limited, reset),
        cmocka_unit_test_teardown(many_shallow_containers, reset),
        cmocka_unit_test_teardown(last_duplicate_wins, reset),
        cmocka_unit_test_teardown(objects_of_every_size, reset),
        cmocka_unit_test_teardown(large_objects, reset),
        cmocka_unit_test_teardown(memory_is_bounded, reset),
        cmocka_unit_test_teardown(readers_take_anything, reset),
        cmocka_unit_test_teardown(members, reset),
        cmocka_unit_test_teardown(raw_and_where, reset),
        cmocka_unit_test_teardown(copy_is_independent, reset),
        cmocka_unit_test_teardown(equality, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
