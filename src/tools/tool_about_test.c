/*
 * The argument that says most, of whole inputs and of such that stop anywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/tool_about.h"
#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "unit.h"

static const struct about_case {
    const char *input;
    const char *about;
} cases[] = {
    {"{\"command\":\"make test\",\"description\":\"Runs tests\"}", "make test"},
    {"{\"description\":\"Runs tests\",\"command\":\"make\\ntest\"}", "make"},
    {"{\"file_path\":\"/home/me/p/src/a.c\",\"content\":\"\"}", "src/a.c"},
    {"{\"file_path\":\"/home/me/park/a.c\"}", "/home/me/park/a.c"},
    {"{\"command\":\"/home/me/p/run\"}", "/home/me/p/run"},
    {"{\"edits\":[{\"command\":\"no\"}],\"file_path\":\"b.c\"}", "b.c"},
    {"{\"n\":1,\"o\":{\"a\":\"}\"},\"pattern\":\"a\\\"b\"}", "a\"b"},
    {"{\"todos\":[]}", ""},
    {"{}", ""},
    {"[]", ""},
};

static void whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf partial = BUF_INIT(1000);
        const struct json *v = NULL;

        assert_int_equal(json_parse(&arena, str_of(cases[i].input), &v, NULL, NULL), 0);
        if (!str_is(tool_about(v, "/home/me/p"), cases[i].about))
            fail_msg("row %zu: %.*s", i, STR_ARG(tool_about(v, "/home/me/p")));
        tool_about_partial(str_of(cases[i].input), "/home/me/p", &partial);
        if (!str_is(buf_str(&partial), cases[i].about))
            fail_msg("row %zu, as parts: %s", i, buf_cstr(&partial));
        assert_int_equal(tool_about_goes_on(v), strstr(cases[i].input, "make\\ntest") != NULL);
    }
}

static const struct about_case parts[] = {
    {"", ""},
    {"{\"comm", ""},
    {"{\"command\"", ""},
    {"{\"command\":\"", ""},
    {"{\"command\":\"mak", "mak"},
    {"{\"command\":\"a\\", "a"},
    {"{\"command\":\"a\\u00", "a"},
    {"{\"command\":\"a\\u00e9", "a\xc3\xa9"},
    {"{\"content\":\"int x;\",\"file_path\":\"/home/me/p/a", "a"},
    {"{\"edits\":[{\"x\":\"", ""},
    {"{\"description\":\"later\",\"command\":\"now", "now"},
    {"{\"a\":}}}]\"", ""},
};

static void partial(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        CLEANUP(buf_release) struct buf about = BUF_INIT(1000);

        tool_about_partial(str_of(parts[i].input), "/home/me/p", &about);
        if (!str_is(buf_str(&about), parts[i].about))
            fail_msg("row %zu: %s", i, buf_cstr(&about));
    }
}

UNIT_TEST(tool_about)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole),
        cmocka_unit_test(partial),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
