/* jw: the output, byte by byte, and that it reads back the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"
#include "json/jw.h"
#include "unit.h"

struct string_case {
    struct str value;
    const char *text;
    const char *clean; /* NULL when the same */
};

static const struct string_case string_cases[] = {
    {STR_INIT(""), "\"\"", NULL},
    {STR_INIT("plain"), "\"plain\"", NULL},
    {STR_INIT("\"\\/\b\f\n\r\t"), "\"\\\"\\\\/\\b\\f\\n\\r\\t\"", NULL},
    {STR_INIT("a\0b"), "\"a\\u0000b\"", NULL},
    {STR_INIT("\x01\x1f\x7f"), "\"\\u0001\\u001f\x7f\"", NULL},
    {STR_INIT("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
     NULL},
    /* lone surrogates */
    {STR_INIT("\xed\xa0\xbd"), "\"\\ud83d\"", "\"\xef\xbf\xbd\""},
    {STR_INIT("\xed\xb8\x80"), "\"\\ude00\"", "\"\xef\xbf\xbd\""},
    {STR_INIT("a\xed\xa0\xbdz"), "\"a\\ud83dz\"", "\"a\xef\xbf\xbdz\""},
    {STR_INIT("\xed\xbf\xbf"), "\"\\udfff\"", "\"\xef\xbf\xbd\""},
    /* halves that meet, as when a stream was cut between them */
    {STR_INIT("\xed\xa0\xbd\xed\xb8\x80"), "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
    {STR_INIT("\xed\xa0\xbd\xed\xa0\xbd\xed\xb8\x80"), "\"\\ud83d\\ud83d\\ude00\"",
     "\"\xef\xbf\xbd\xf0\x9f\x98\x80\""},
    {STR_INIT("\xed\xb8\x80\xed\xa0\xbd"), "\"\\ude00\\ud83d\"", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    /* no UTF-8 */
    {STR_INIT("\xff"), "\"\xef\xbf\xbd\"", NULL},
    {STR_INIT("a\xc3"), "\"a\xef\xbf\xbd\"", NULL},
    {STR_INIT("\xed\xa0"), "\"\xef\xbf\xbd\xef\xbf\xbd\"", NULL},
    {STR_INIT("\xed\xa0z"), "\"\xef\xbf\xbd\xef\xbf\xbdz\"", NULL},
    {STR_INIT("\xc0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\"", NULL},
};

static void strings_are_escaped(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(string_cases); i++) {
        const struct string_case *c = &string_cases[i];
        CLEANUP(buf_release) struct buf out = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf clean = BUF_INIT(1000);
        struct jw w;

        jw_init(&w, &out, 0);
        jw_str(&w, c->value);
        jw_init(&w, &clean, JW_CLEAN);
        jw_str(&w, c->value);
        if (strcmp(buf_cstr(&out), c->text) != 0 ||
            strcmp(buf_cstr(&clean), c->clean ? c->clean : c->text) != 0)
            fail_msg("row %zu: %s, clean %s", i, buf_cstr(&out), buf_cstr(&clean));
    }
}

/* Keys and values of every length that is looked at in another way, with something to escape at
 * every place. */
static void escaped_wherever(void **state)
{
    (void)state;
    for (size_t len = 0; len < 70; len++) {
        for (size_t at = 0; at <= len; at++) { /* at the end: nothing */
            char text[80];
            char expected[200];
            CLEANUP(buf_release) struct buf out = BUF_INIT(1000);
            struct str s = str_make(text, len);
            struct jw w;

            memset(text, 'x', len);
            text[len] = '\0';
            if (at < len)
                text[at] = '"';
            snprintf(expected, sizeof(expected), "{\"a\":1,\"%.*s%s%s\":\"%.*s%s%s\"}", (int)at,
                     text, at < len ? "\\\"" : "", at < len ? text + at + 1 : "", (int)at, text,
                     at < len ? "\\\"" : "", at < len ? text + at + 1 : "");
            jw_init(&w, &out, 0);
            jw_object(&w);
            jw_ki64(&w, "a", 1);
            jw_key_str(&w, s);
            jw_str(&w, s);
            jw_object_end(&w);
            assert_string_equal(buf_cstr(&out), expected);
        }
    }
}

static void compact_and_pretty(void **state)
{
    static const char *const expected[] = {
        "{\"a\":1,\"b\":[true,null,\"x\",[],{}],\"c\":{\"d\":-2,\"e\":\"\",\"f\":null},\"g\":[ 1 ],"
        "\"h\":false,\"k\\n\":3}",
        "{\n"
        "  \"a\": 1,\n"
        "  \"b\": [\n"
        "    true,\n"
        "    null,\n"
        "    \"x\",\n"
        "    [],\n"
        "    {}\n"
        "  ],\n"
        "  \"c\": {\n"
        "    \"d\": -2,\n"
        "    \"e\": \"\",\n"
        "    \"f\": null\n"
        "  },\n"
        "  \"g\": [ 1 ],\n"
        "  \"h\": false,\n"
        "  \"k\\n\": 3\n"
        "}",
    };

    (void)state;
    for (unsigned flags = 0; flags <= JW_PRETTY; flags++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(1000);
        struct jw w;

        jw_init(&w, &out, flags);
        jw_object(&w);
        jw_ki64(&w, "a", 1);
        jw_key(&w, "b");
        jw_array(&w);
        jw_bool(&w, true);
        jw_null(&w);
        jw_cstr(&w, "x");
        jw_array(&w);
        jw_array_end(&w);
        jw_object(&w);
        jw_object_end(&w);
        jw_array_end(&w);
        jw_key(&w, "c");
        jw_object(&w);
        jw_ki64(&w, "d", -2);
        jw_kstr(&w, "e", STR(""));
        jw_kcstr(&w, "f", NULL);
        jw_object_end(&w);
        jw_kraw(&w, "g", STR("[ 1 ]"));
        jw_kbool(&w, "h", false);
        jw_key_str(&w, STR("k\n"));
        jw_i64(&w, 3);
        jw_object_end(&w);
        assert_string_equal(buf_cstr(&out), expected[flags]);
        assert_int_equal(w.depth, 0);
    }
}

static void values_in_a_row(void **state)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(1000);
    struct jw w;

    (void)state;
    jw_init(&w, &out, 0);
    for (int i = 0; i < 2; i++) {
        jw_array(&w);
        jw_i64(&w, i);
        jw_array_end(&w);
        buf_addc(&out, '\n');
    }
    assert_string_equal(buf_cstr(&out), "[0]\n[1]\n");
}

static void strings_in_parts(void **state)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(1000);
    struct jw w;

    (void)state;
    jw_init(&w, &out, 0);
    jw_array(&w);
    jw_str_begin(&w);
    jw_str_part(&w, STR("data:image/png;base64,"));
    jw_str_base64(&w, STR("\x00\x01\x02"));
    jw_str_base64(&w, STR("\xff\xfe"));
    jw_str_end(&w);
    jw_str_begin(&w);
    jw_str_end(&w);
    jw_str_begin(&w);
    jw_str_part(&w, STR("a\n"));
    jw_str_part(&w, (struct str){NULL, 0});
    jw_str_part(&w, STR("\"b\""));
    jw_str_end(&w);
    jw_array_end(&w);
    assert_string_equal(buf_cstr(&out),
                        "[\"data:image/png;base64,AAEC//4=\",\"\",\"a\\n\\\"b\\\"\"]");
}

static void numbers(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {100, "100"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {1e21, "1e+21"},
        {1e-7, "1e-07"},
        {123456789012345680.0, "1.2345678901234568e+17"},
        {NAN, "null"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
    };
    static const double extremes[] = {DBL_MAX, DBL_MIN, 5e-324, 9007199254740993.0,
                                      2.2250738585072011e-308};
    struct jw w;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(1000);

        jw_init(&w, &out, 0);
        jw_double(&w, cases[i].value);
        assert_string_equal(buf_cstr(&out), cases[i].text);
    }
    for (size_t i = 0; i < ARRAY_LEN(extremes); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(1000);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *v;
        double back;

        jw_init(&w, &out, 0);
        jw_double(&w, extremes[i]);
        assert_int_equal(json_parse(&arena, buf_str(&out), &v, NULL, NULL), 0);
        assert_true(json_double(v, &back) && back == extremes[i]);
    }

    CLEANUP(buf_release) struct buf out = BUF_INIT(1000);

    jw_init(&w, &out, 0);
    jw_array(&w);
    jw_i64(&w, INT64_MIN);
    jw_i64(&w, INT64_MAX);
    jw_array_end(&w);
    assert_string_equal(buf_cstr(&out), "[-9223372036854775808,9223372036854775807]");
}

/* Texts that come back as they are. */
static const char *const same[] = {
    "null",
    "[]",
    "{}",
    "[1,-0,1.50,1e999,9223372036854775808,123456789012345678901234567890]",
    "{\"a\":[{\"b\":{}},[[]]],\"c\":\"\\ud83d \\udc00 \\n\\u0001\"}",
    "\"\xc3\xa9\xf0\x9f\x98\x80\"",
    "{\"\":{\"\":{\"\":null}}}",
    "{\"\\ud83d\":1}",
};

static void trees_are_written_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf pretty = BUF_INIT(1000);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *v;
        const struct json *back;
        struct err err = {0};
        struct jw w;

        if (json_parse(&arena, str_of(same[i]), &v, NULL, &err) < 0)
            fail_msg("%s: %s", same[i], err.text);
        jw_init(&w, &out, 0);
        jw_json(&w, v);
        assert_string_equal(buf_cstr(&out), same[i]);
        jw_init(&w, &pretty, JW_PRETTY);
        jw_json(&w, v);
        if (json_parse(&arena, buf_str(&pretty), &back, NULL, &err) < 0)
            fail_msg("%s: %s", buf_cstr(&pretty), err.text);
        assert_true(json_equal(v, back));
    }
}

static void what_changes_on_the_way(void **state)
{
    static const struct {
        const char *text;
        const char *written;
    } cases[] = {
        {" [ 1 , 2 ] ", "[1,2]"},
        {"{\"a\":1,\"a\":2}", "{\"a\":2}"},
        {"\"\\u0041\\/\\u00e9\\ud83d\\ude00\"", "\"A/\xc3\xa9\xf0\x9f\x98\x80\""},
        {"\"\xff\"", "\"\xef\xbf\xbd\""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(1000);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *v;
        struct jw w;

        assert_int_equal(json_parse(&arena, str_of(cases[i].text), &v, NULL, NULL), 0);
        jw_init(&w, &out, 0);
        jw_json(&w, v);
        assert_string_equal(buf_cstr(&out), cases[i].written);
    }
}

static void nested(struct buf *text, int depth)
{
    buf_clear(text);
    for (int i = 0; i < depth; i++)
        buf_addc(text, '[');
    for (int i = 0; i < depth; i++)
        buf_addc(text, ']');
}

/* A tree of full depth inside something else: the innermost containers give way. */
static void depth_limit(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(10000);
    CLEANUP(buf_release) struct buf out = BUF_INIT(10000);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v;
    const struct json *back;
    struct jw w;

    (void)state;
    nested(&text, 512);
    assert_int_equal(json_parse(&arena, buf_str(&text), &v, NULL, NULL), 0);
    jw_init(&w, &out, 0);
    jw_json(&w, v);
    assert_string_equal(buf_cstr(&out), buf_cstr(&text));

    buf_clear(&out);
    jw_object(&w);
    jw_kjson(&w, "k", v);
    jw_object_end(&w);
    assert_int_equal(json_parse(&arena, buf_str(&out), &back, NULL, NULL), 0);
    assert_true(str_has(buf_str(&out), STR("[null]")));
}

/* A full buffer loses the text, not its head. */
static void full_buffer(void **state)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(10);
    struct err err = {0};
    struct jw w;

    (void)state;
    jw_init(&w, &out, 0);
    jw_object(&w);
    jw_kstr(&w, "key", STR("a value that does not fit"));
    jw_ki64(&w, "n", 1);
    jw_object_end(&w);
    assert_int_equal(buf_check(&out, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_true(out.len <= 10);
}

UNIT_TEST(jw)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(escaped_wherever),
        cmocka_unit_test(compact_and_pretty),
        cmocka_unit_test(values_in_a_row),
        cmocka_unit_test(strings_in_parts),
        cmocka_unit_test(numbers),
        cmocka_unit_test(trees_are_written_back),
        cmocka_unit_test(what_changes_on_the_way),
        cmocka_unit_test(depth_limit),
        cmocka_unit_test(full_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
