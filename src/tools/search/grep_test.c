/*
 * Grep as a model calls it: every parameter, every output, and what it says when something is off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>

#include "tools/entries.h"
#include "tools/tool_check.h"
#include "unit.h"

static void put_aged(struct tool_check *t, const char *name, struct str text, long seconds)
{
    struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

    tool_check_put(t, name, text);
    assert_int_equal(utimensat(AT_FDCWD, tool_check_path(t, name), times, 0), 0);
}

static void tree(struct tool_check *t)
{
    tool_check_begin(t);
    put_aged(t, "a.c", STR("one\ntwo foo\nthree\nfour\nfive foo\nsix\n"), 1000);
    put_aged(t, "sub/b.c", STR("foo\nFOO\nbar\n"), 3000);
    put_aged(t, "sub.c", STR("x foo y foo\n"), 2000);
    put_aged(t, "t.py", STR("def foo():\n    pass\n\ndef bar():\n    pass"), 500);
    put_aged(t, "bin.dat", STR("foo\0foo\n"), 9000);
    put_aged(t, "u16.txt",
             STR("\xff\xfe"
                 "f\0o\0o\0 \0\xe9\0\n\0"),
             100);
    put_aged(t, "bad.txt", STR("foo \xff\xfe foo\n"), 50);
    put_aged(t, ".hid", STR("foo\n"), 10);
    put_aged(t, "crlf.txt", STR("foo\r\nbar\r\n"), 20);
}

static void everything_can_be_asked_for(void **state)
{
    static const struct {
        const char *args;
        const char *expected;
    } cases[] = {
        {"\"pattern\":\"foo\"", "sub/b.c\nsub.c\na.c\nt.py\nu16.txt\nbad.txt\ncrlf.txt\n"},
        {"\"pattern\":\"foo\",\"head_limit\":2,\"offset\":1",
         "sub.c\na.c\n(4 more files: offset 3 goes on.)\n"},
        {"\"pattern\":\"foo\",\"glob\":\"*.c\",\"output_mode\":\"count\"",
         "a.c:2\nsub/b.c:1\nsub.c:1\n(4 matches in 3 files.)\n"},
        {"\"pattern\":\"foo\",\"type\":\"c\",\"output_mode\":\"content\"",
         "a.c:2:two foo\na.c:5:five foo\nsub/b.c:1:foo\nsub.c:1:x foo y foo\n"},
        {"\"pattern\":\"foo\",\"type\":\"python\",\"output_mode\":\"content\",\"-n\":false",
         "t.py:def foo():\n"},
        {"\"pattern\":\"foo\",\"path\":\"a.c\",\"output_mode\":\"content\",\"-A\":1",
         "a.c:2:two foo\na.c-3-three\n--\na.c:5:five foo\na.c-6-six\n"},
        {"\"pattern\":\"foo\",\"path\":\"a.c\",\"output_mode\":\"content\",\"-C\":1",
         "a.c-1-one\na.c:2:two foo\na.c-3-three\na.c-4-four\na.c:5:five foo\na.c-6-six\n"},
        {"\"pattern\":\"foo\",\"path\":\"a.c\",\"output_mode\":\"content\",\"-B\":1,\"-n\":false",
         "a.c-one\na.c:two foo\n--\na.c-four\na.c:five foo\n"},
        {"\"pattern\":\"foo\",\"glob\":\"sub*.c,a.c\",\"-C\":1,\"output_mode\":\"content\","
         "\"head_limit\":3",
         "a.c-1-one\na.c:2:two foo\na.c-3-three\n(at least 2 more lines: offset 3 goes on.)\n"},
        {"\"pattern\":\"^foo$\",\"path\":\"sub\",\"output_mode\":\"content\",\"-i\":true",
         "sub/b.c:1:foo\nsub/b.c:2:FOO\n"},
        {"\"pattern\":\"foo . fo\\\\b.x\",\"output_mode\":\"content\"", "No matches.\n"},
        {"\"pattern\":\"foo .. f\",\"output_mode\":\"content\"",
         "bad.txt:1:foo \xef\xbf\xbd\xef\xbf\xbd foo\n"},
        {"\"pattern\":\"foo \\\\w\",\"output_mode\":\"content\",\"glob\":\"u*\"",
         "u16.txt:1:foo \xc3\xa9\n"},
        {"\"pattern\":\"(?<=def )\\\\w+(?=\\\\()\",\"output_mode\":\"content\"",
         "t.py:1:def foo():\nt.py:4:def bar():\n"},
        {"\"pattern\":\"foo\\\\(\\\\):.*?pass\",\"multiline\":true,\"output_mode\":\"content\"",
         "t.py:1:def foo():\nt.py:2:    pass\n"},
        {"\"pattern\":\"pass$\",\"output_mode\":\"content\"", "t.py:2:    pass\nt.py:5:    pass\n"},
        {"\"pattern\":\"foo$\",\"path\":\"crlf.txt\"", "No matches.\n"},
        {"\"pattern\":\"():\\n\"", "No matches.\n(The pattern asks for \\n"},
        {"\"pattern\":\"foo\",\"glob\":\".hid\"", ".hid\n"},
        {"\"pattern\":\"foo\",\"glob\":\"!*.c\",\"type\":\"txt\"", "u16.txt\nbad.txt\ncrlf.txt\n"},
        {"\"pattern\":\"foo\",\"offset\":99", "(Nothing after offset 99.)\n"},
        {"\"pattern\":\"nowhere to be found\"", "No matches.\n"},
    };
    struct tool_check t;

    (void)state;
    tree(&t);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (!tool_check_runf(&t, &tool_grep_entry, "{%s}", cases[i].args))
            fail_msg("%s: %s", cases[i].args, buf_cstr(&t.result.text));
        if (!str_starts(tool_check_text(&t), str_of(cases[i].expected)))
            fail_msg("%s: expected\n%sbut found\n%s", cases[i].args, cases[i].expected,
                     buf_cstr(&t.result.text));
    }
    tool_check_end(&t);
}

static void bad_calls_say_why(void **state)
{
    static const struct {
        const char *args;
        const char *says;
    } cases[] = {
        {"{\"pattern\":\"foo(\"}", "missing closing parenthesis at offset 4, after \"foo(\""},
        {"{\"pattern\":\"foo\",\"path\":\"nope.c\"}", "there is no '"},
        {"{\"pattern\":\"foo\",\"type\":\"pyton\"}", "did you mean 'python'?"},
        {"{\"pattern\":\"foo\",\"glob\":\"*.{c\"}", "the glob '*.{c' is invalid: a '{'"},
        {"{\"pattern\":\"foo\",\"output_mode\":\"lines\"}", "output_mode"},
        {"{\"pattern\":\"foo\",\"-A\":-1}", "-A"},
        {"{\"pattern\":\"(x+x+)+$\",\"path\":\"slow.txt\"}", "takes too many steps"},
    };
    struct tool_check t;

    (void)state;
    tree(&t);
    tool_check_put(&t, "slow.txt", STR("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxz\n"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (tool_check_run(&t, &tool_grep_entry, cases[i].args))
            fail_msg("%s was taken: %s", cases[i].args, buf_cstr(&t.result.text));
        ASSERT_SAYS(&t, cases[i].says);
    }
    cancel_set(t.cancel);
    assert_false(tool_check_run(&t, &tool_grep_entry, "{\"pattern\":\"x\"}"));
    assert_int_equal(t.failed, ERR_CANCELLED);
    tool_check_end(&t);
}

static void long_lines_are_cut_around_the_match(void **state)
{
    struct tool_check t;
    struct buf text = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    tool_check_begin(&t);
    for (int i = 0; i < 3000; i++)
        buf_addc(&text, 'x');
    buf_adds(&text, "needle");
    for (int i = 0; i < 3000; i++)
        buf_addc(&text, 'y');
    tool_check_put(&t, "long.txt", buf_str(&text));
    assert_true(tool_check_run(&t, &tool_grep_entry,
                               "{\"pattern\":\"needle\",\"output_mode\":\"content\"}"));
    ASSERT_SAYS(&t, "long.txt:1:[2875 bytes] xxx");
    ASSERT_SAYS(&t, "xneedley");
    ASSERT_SAYS(&t, "y [2631 bytes]\n");
    buf_release(&text);
    tool_check_end(&t);
}

UNIT_TEST(grep)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_can_be_asked_for),
        cmocka_unit_test(bad_calls_say_why),
        cmocka_unit_test(long_lines_are_cut_around_the_match),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
