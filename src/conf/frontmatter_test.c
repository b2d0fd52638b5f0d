/*
 * Frontmatter: how it is read, and refused input.
 */
#include "conf/frontmatter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"
#include "json/jw.h"
#include "unit.h"

static const struct {
    const char *text;
    const char *json; /* NULL: refused, and `body` is in the error */
    const char *body;
} cases[] = {
    {"plain text\n", "{}", "plain text\n"},
    {"", "{}", ""},
    {"---\n---\nbody", "{}", "body"},
    {"---\n# only a comment\n---\nbody", "{}", "body"},
    {"---\ndescription: Fix it\n---\nbody\n", "{\"description\":\"Fix it\"}", "body\n"},
    {"---\r\na: b\r\n---\r\nbody", "{\"a\":\"b\"}", "body"},
    {"\xef\xbb\xbf---\na: b\n---\nx", "{\"a\":\"b\"}", "x"},
    {"---\na: true\nb: false\nc: 12\nd: -3\ne: 1.5\nf: ~\ng: 007\n---\n",
     "{\"a\":true,\"b\":false,\"c\":12,\"d\":-3,\"e\":\"1.5\",\"f\":null,\"g\":\"007\"}", ""},
    {"---\na: \"true\"\nb: '12'\n---\n", "{\"a\":\"true\",\"b\":\"12\"}", ""},
    {"---\nlist:\n  - Bash(git add *)\n  - Read\n---\n",
     "{\"list\":[\"Bash(git add *)\",\"Read\"]}", ""},
    {"---\nlist: [a, b]\nmap: {x: 1}\n---\n", "{\"list\":[\"a\",\"b\"],\"map\":{\"x\":1}}", ""},
    {"---\ntext: >\n  two\n  lines\n---\n", "{\"text\":\"two lines\\n\"}", ""},
    {"---\nargument-hint: [file] [line]\ndescription: fix: it's all\n---\n",
     "{\"argument-hint\":\"[file] [line]\",\"description\":\"fix: it's all\"}", ""},
    {"---\nnever closed\n", "{}", "---\nnever closed\n"},
    {"text\n---\na: b\n---\n", "{}", "text\n---\na: b\n---\n"},
    {"---\n- a\n---\n", NULL, "must have keys"},
    {"---\nword\n---\n", NULL, "must have keys"},
    {"---\na:\n  - [b\n---\n", NULL, "line"},
    {"---\na:\n  - &x 1\n  - *x\n---\n", NULL, "aliases"},
    {"---\n? [a]\n: b\n---\n", NULL, "a key must be a word"},
    {"---\na:\n  [[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]\n---\n", NULL, "nested too deep"},
};

static void test_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
        const struct json *json = NULL;
        struct str body = STR("");
        struct err err = {0};
        struct jw w;
        int rc = frontmatter_read(str_of(cases[i].text), &arena, &json, &body, &err);

        if (rc < 0) {
            if (cases[i].json || !strstr(err.text, cases[i].body))
                fail_msg("row %zu: %s", i, err.text);
            continue;
        }
        jw_init(&w, &text, 0);
        jw_json(&w, json);
        if (!cases[i].json || strcmp(buf_cstr(&text), cases[i].json) != 0 ||
            !str_is(body, cases[i].body))
            fail_msg("row %zu: %s, body '%.*s'", i, buf_cstr(&text), STR_ARG(body));
    }
}

static void test_too_long(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct json *json = NULL;
    struct str body;
    struct err err = {0};

    (void)state;
    buf_adds(&text, "---\na: ");
    for (size_t i = 0; i < FRONTMATTER_MAX; i++)
        buf_addc(&text, 'x');
    buf_adds(&text, "\n---\n");
    assert_int_equal(frontmatter_read(buf_str(&text), &arena, &json, &body, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
}

UNIT_TEST(frontmatter)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
