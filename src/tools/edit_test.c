/*
 * Edits and several at once: matching, unchanged parts, and errors when nothing matches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/edit_match.h"
#include "tools/entries.h"
#include "tools/tool_check.h"
#include "unit.h"

static const struct {
    const char *text;
    const char *old;
    const char *new;
    bool all;
    const char *want; /* NULL: it fails */
    const char *says;
} match_cases[] = {
    {"a b c", "b", "x", false, "a x c", NULL},
    {"a b b", "b", "x", true, "a x x", NULL},
    {"abc", "b", "", false, "ac", NULL},
    {"aaa", "a", "aa", true, "aaaaaa", NULL},
    {"x\ny\n", "x\ny\n", "z", false, "z", NULL},
    {"caf\xe9 x", "x", "y", false, "caf\xe9 y", NULL}, /* Latin-1 beside it stays */

    /* \r\n: matched and put in with the endings found there. */
    {"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n", NULL},
    {"a\r\nb\r\n", "a\r\nb", "x\r\ny", false, "x\r\ny\r\n", NULL},
    {"a\nb\r\nc\n", "a\nb\nc\n", "1\n2\n3\n", false, "1\n2\r\n3\n", NULL},
    {"a\nb\r\nc\n", "b", "b\nbb", false, "a\nb\r\nbb\r\nc\n", NULL},
    {"a\r\nb", "b", "b\nc", false, "a\r\nb\r\nc", NULL},
    {"a\r\n\r\nb", "\n\n", "\n", false, "a\r\nb", NULL},
    {"a\r\nb\r\na\r\n", "a\n", "x\n", true, "x\r\nb\r\nx\r\n", NULL},
    {"a\r\nb", "a", "", false, "\r\nb", NULL},
    {"a\nb", "b", "c\r\nd", false, "a\nc\r\nd", NULL}, /* no \r\n there: as it is given */
    {"a\r\nb", "a\nb", "a\r\nb", false, NULL, "line endings"},

    {"b a b", "b", "x", false, NULL, "2 times (lines 1, 1)"},
    {"b\nx\nb\nb\n", "b", "x", false, NULL, "3 times (lines 1, 3, 4)"},
    {"aaa", "aa", "x", false, NULL, "2 times"},
    {"int main(void)\n{\n\treturn 0;\n}\n", "{\n    return 0;\n}", "", false, NULL,
     "only in white space"},
    {"a  =  b\n", "a = b", "x", false, NULL, "     1\ta  =  b"},
    {"f(a, b)\n", "f(a,b)", "x", false, NULL, "only in white space"},
    {"x\nsay \xe2\x80\x9chi\xe2\x80\x9d\n", "say \"hi\"", "x", false, NULL,
     "quotation marks or dashes"},
    {"x\nIt's\n", "It\xe2\x80\x99s", "x", false, NULL, "     2\tIt's"},
    {"Hello World\n", "hello world", "x", false, NULL, "upper and lower case"},
    {"int a;\nint b;\n", "     1\tint a;\n     2\tint b;", "x", false, NULL, "line numbers"},
    {"int a;\nint b;\n", "2\xe2\x86\x92int b;", "x", false, NULL, "line numbers"},
    {"say(\"hi\");\nx\n", "say(\\\"hi\\\");\\nx", "x", false, NULL, "escaped once too often"},
    {"a\nlast", "last\n", "x", false, NULL, "the last line of the file has none"},
    {"a\nb\n", "a\r\nb", "x", false, NULL, "it has \\r\\n"},
    {"void one(int a)\n{\n    two();\n}\n", "void one(int a, int b)\n{\n    two();\n}", "x", false,
     NULL, "     3\t    two();"},
    {"alpha beta gamma delta\n", "alpha beta gamma epsilon", "x", false, NULL,
     "nearest lines are:\n     1\talpha beta"},
    {"alpha\n", "completely different text", "x", false, NULL, "Nothing in it is similar"},
    {"", "x", "y", false, NULL, "not in the file"},
};

static void matches(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(match_cases); i++) {
        struct buf text = BUF_INIT(BUF_NO_LIMIT);
        struct buf why = BUF_INIT(BUF_NO_LIMIT);
        struct edit e = {str_of(match_cases[i].old), str_of(match_cases[i].new),
                         match_cases[i].all};
        size_t places = 0;
        int rc = edit_match_apply(str_of(match_cases[i].text), &e, &text, &places, &why);

        if (match_cases[i].want) {
            if (rc < 0 || strcmp(buf_cstr(&text), match_cases[i].want) != 0)
                fail_msg("row %zu: got '%s' %s", i, buf_cstr(&text), buf_cstr(&why));
        } else if (rc == 0 || !str_has(buf_str(&why), str_of(match_cases[i].says))) {
            fail_msg("row %zu: rc %d, expected '%s', got '%s'", i, rc, match_cases[i].says,
                     buf_cstr(&why));
        }
        buf_release(&text);
        buf_release(&why);
    }
}

static void must_edit(struct tool_check *t, const char *file, const char *old, const char *new)
{
    if (!tool_check_runf(t, &tool_edit_entry,
                         "{\"file_path\":\"%s\",\"old_string\":\"%s\",\"new_string\":\"%s\"}", file,
                         old, new))
        fail_msg("%s", buf_cstr(&t->result.text));
}

static void cannot_edit(struct tool_check *t, const char *file, const char *old, const char *new,
                        const char *says)
{
    if (tool_check_runf(t, &tool_edit_entry,
                        "{\"file_path\":\"%s\",\"old_string\":\"%s\",\"new_string\":\"%s\"}", file,
                        old, new))
        fail_msg("'%s' could be edited", file);
    ASSERT_SAYS(t, says);
}

static void must_read(struct tool_check *t, const char *file)
{
    if (!tool_check_runf(t, &tool_read_entry, "{\"file_path\":\"%s\"}", file))
        fail_msg("%s", buf_cstr(&t->result.text));
}

static void an_edit_shows_and_tells(void **state)
{
    struct tool_check t;
    const struct json *data;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "a.c", STR("one\ntwo\nthree\nfour\nfive\nsix\n"));
    chmod(tool_check_path(&t, "a.c"), 0754);
    cannot_edit(&t, "a.c", "two", "2", "has not been read yet");
    must_read(&t, "a.c");
    must_edit(&t, "a.c", "two", "2\\nand more");
    ASSERT_SAYS(&t, "in 1 place");
    ASSERT_SAYS(&t, "     1\tone\n     2\t2\n     3\tand more\n     4\tthree");
    data = tool_check_data(&t);
    assert_true(str_is(json_get_str(data, "filePath"), tool_check_path(&t, "a.c")));
    assert_true(str_is(json_get_str(data, "oldString"), "two"));
    assert_true(str_is(json_get_str(data, "newString"), "2\nand more"));
    assert_true(str_is(json_get_str(data, "originalFile"), "one\ntwo\nthree\nfour\nfive\nsix\n"));
    assert_true(str_is(json_str(json_path(data, "structuredPatch.0.lines.1")), "-two"));
    assert_true(str_is(tool_check_get(&t, "a.c"), "one\n2\nand more\nthree\nfour\nfive\nsix\n"));
    {
        struct stat st;

        assert_int_equal(stat(tool_check_path(&t, "a.c"), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0754);
    }
    /* What it wrote itself it has seen. */
    must_edit(&t, "a.c", "three", "3");
    assert_true(tool_check_run(&t, &tool_edit_entry,
                               "{\"file_path\":\"a.c\",\"old_string\":\"o\",\"new_string\":\"0\","
                               "\"replace_all\":true}"));
    ASSERT_SAYS(&t, "in 3 places");
    tool_check_end(&t);
}

static void bad_edits_change_nothing(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "a.c", STR("one\ntwo\n"));
    tool_check_put(&t, "dir/b.c", STR("x\n"));
    must_read(&t, "a.c");
    cannot_edit(&t, "a.c", "two", "two", "are the same");
    cannot_edit(&t, "a.c", "", "x", "old_string is empty, and the file is not");
    cannot_edit(&t, "a.c", "zwei", "x", "not in the file");
    cannot_edit(&t, "b.c", "x", "y", "Did you mean");
    cannot_edit(&t, "dir", "x", "y", "is a directory");
    cannot_edit(&t, "/dev/null", "x", "y", "not a file");
    cannot_edit(&t, "a.c\\u0000b", "x", "y", "NUL");
    assert_false(tool_check_run(&t, &tool_edit_entry,
                                "{\"path\":\"a.c\",\"old_string\":\"one\",\"new_string\":\"1\"}"));
    ASSERT_SAYS(&t, "'file_path' is required");
    assert_true(str_is(tool_check_get(&t, "a.c"), "one\ntwo\n"));

    /* Changed in between; touched, but the same; gone. */
    tool_check_put(&t, "a.c", STR("one\ntwo!\n"));
    cannot_edit(&t, "a.c", "two", "2", "has changed since it was read");
    must_read(&t, "a.c");
    tool_check_put(&t, "a.c", STR("one\ntwo!\n"));
    must_edit(&t, "a.c", "two", "2");
    unlink(tool_check_path(&t, "a.c"));
    cannot_edit(&t, "a.c", "one", "1", "is gone");
    assert_false(file_exists(tool_check_path(&t, "a.c")));
    tool_check_end(&t);
}

static void an_empty_old_string_creates(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    must_edit(&t, "new/deep/a.txt", "", "hello\\n");
    ASSERT_SAYS(&t, "Created");
    assert_true(str_is(tool_check_get(&t, "new/deep/a.txt"), "hello\n"));
    assert_true(json_is(json_get(tool_check_data(&t), "originalFile"), JSON_NULL));
    tool_check_put(&t, "empty", STR(""));
    must_edit(&t, "empty", "", "x");
    ASSERT_SAYS(&t, "Filled");
    must_edit(&t, "empty", "x", "");
    assert_int_equal(tool_check_get(&t, "empty").len, 0);
    tool_check_end(&t);
}

/* A file's outside is kept: the edit is "two" → "2\nb". */
static const struct {
    const char *name;
    struct str before;
    struct str after;
} outside_cases[] = {
    {"crlf", STR_INIT("one\r\ntwo\r\n"), STR_INIT("one\r\n2\r\nb\r\n")},
    {"bom", STR_INIT("\xef\xbb\xbftwo\n"),
     STR_INIT("\xef\xbb\xbf"
              "2\nb\n")},
    {"utf16le", STR_INIT("\xff\xfet\0w\0o\0\r\0\n\0"),
     STR_INIT("\xff\xfe"
              "2\0\r\0\n\0b\0\r\0\n\0")},
    {"utf16be", STR_INIT("\xfe\xff\xd8\x3d\xde\x00\0t\0w\0o"),
     STR_INIT("\xfe\xff\xd8\x3d\xde\x00\0"
              "2\0\n\0b")},
    {"latin1", STR_INIT("\xe9t\xe9 two"), STR_INIT("\xe9t\xe9 2\nb")},
    {"shift_jis", STR_INIT("\x82\xb1\x82\xea two\r\n"), STR_INIT("\x82\xb1\x82\xea 2\r\nb\r\n")},
    {"gbk", STR_INIT("\xb2\xe2\xca\xd4\xce\xc4 two"), STR_INIT("\xb2\xe2\xca\xd4\xce\xc4 2\nb")},
    {"euc-kr", STR_INIT("\xc7\xd1\xb1\xb9\xbe\xee two"), STR_INIT("\xc7\xd1\xb1\xb9\xbe\xee 2\nb")},
    {"no newline", STR_INIT("two"), STR_INIT("2\nb")},
};

static void the_outside_is_kept(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    for (size_t i = 0; i < ARRAY_LEN(outside_cases); i++) {
        tool_check_put(&t, outside_cases[i].name, outside_cases[i].before);
        must_read(&t, outside_cases[i].name);
        must_edit(&t, outside_cases[i].name, "two", "2\\nb");
        if (!str_eq(tool_check_get(&t, outside_cases[i].name), outside_cases[i].after))
            fail_msg("%s: not kept", outside_cases[i].name);
    }
    tool_check_put(&t, "half", STR("\xff\xfet\0w\0o\0x"));
    must_read(&t, "half");
    cannot_edit(&t, "half", "two", "2", "damaged UTF-16");
    tool_check_put(&t, "korean", STR("\xc7\xd1\xb1\xb9\xbe\xee two"));
    must_read(&t, "korean");
    cannot_edit(&t, "korean", "two", "\xf0\x9f\x98\x80", "EUC-KR has no character");
    assert_true(str_is(tool_check_get(&t, "korean"), "\xc7\xd1\xb1\xb9\xbe\xee two"));
    tool_check_end(&t);
}

static void links_are_followed(void **state)
{
    struct tool_check t;
    char target[PATH_MAX];
    struct stat st;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "real/a", STR("two\n"));
    snprintf(target, sizeof(target), "%s", tool_check_path(&t, "real/a"));
    assert_int_equal(symlink("real/a", tool_check_path(&t, "link")), 0);
    must_read(&t, "link");
    must_edit(&t, "link", "two", "2");
    assert_int_equal(lstat(tool_check_path(&t, "link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_true(str_is(tool_check_get(&t, "real/a"), "2\n"));
    must_edit(&t, target, "2", "3"); /* read by one name, edited by the other */
    /* A file made through a linked folder is known by its real name from the start. */
    assert_int_equal(symlink("real", tool_check_path(&t, "folder")), 0);
    must_edit(&t, "folder/new/b", "", "two");
    must_edit(&t, "folder/new/b", "two", "2");
    must_edit(&t, "real/new/b", "2", "3");
    assert_int_equal(symlink("round", tool_check_path(&t, "round")), 0);
    cannot_edit(&t, "round", "2", "3", "in a circle");
    tool_check_end(&t);
}

static void a_notebook_has_its_own_tool(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "n.ipynb",
                   STR("{\"cells\": [{\"cell_type\": \"code\", \"source\": [\"a\"]}]}"));
    must_read(&t, "n.ipynb");
    cannot_edit(&t, "n.ipynb", "print(a)", "b", "NotebookEdit");
    tool_check_end(&t);
}

static void all_edits_or_none(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "a.c", STR("one\ntwo\nthree\n"));
    must_read(&t, "a.c");
    assert_false(tool_check_run(
        &t, &tool_multi_edit_entry,
        "{\"file_path\":\"a.c\",\"edits\":[{\"old_string\":\"one\",\"new_string\":\"1\"},"
        "{\"old_string\":\"one\",\"new_string\":\"2\"}]}"));
    ASSERT_SAYS(&t, "Nothing was changed: edit 2 of 2 failed");
    assert_true(str_is(tool_check_get(&t, "a.c"), "one\ntwo\nthree\n"));
    assert_true(tool_check_run(
        &t, &tool_multi_edit_entry,
        "{\"file_path\":\"a.c\",\"edits\":[{\"old_string\":\"one\",\"new_string\":\"two\"},"
        "{\"old_string\":\"two\",\"new_string\":\"x\",\"replace_all\":true}]}"));
    assert_true(str_is(tool_check_get(&t, "a.c"), "x\nx\nthree\n"));
    assert_int_equal(json_len(json_get(tool_check_data(&t), "edits")), 2);
    assert_true(tool_check_run(
        &t, &tool_multi_edit_entry,
        "{\"file_path\":\"n\",\"edits\":[{\"old_string\":\"\",\"new_string\":\"ab\"},"
        "{\"old_string\":\"b\",\"new_string\":\"c\"}]}"));
    assert_true(str_is(tool_check_get(&t, "n"), "ac"));
    assert_false(tool_check_run(
        &t, &tool_multi_edit_entry,
        "{\"file_path\":\"n\",\"edits\":[{\"old_string\":\"a\",\"new_string\":\"ab\"},"
        "{\"old_string\":\"\",\"new_string\":\"c\"}]}"));
    ASSERT_SAYS(&t, "only the first edit may create a file");
    assert_false(tool_check_run(&t, &tool_multi_edit_entry, "{\"file_path\":\"n\",\"edits\":[]}"));
    tool_check_end(&t);
}

static void a_cancelled_edit_changes_nothing(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "a", STR("two\n"));
    must_read(&t, "a");
    cancel_set(t.cancel);
    assert_false(tool_check_run(
        &t, &tool_edit_entry, "{\"file_path\":\"a\",\"old_string\":\"two\",\"new_string\":\"2\"}"));
    assert_int_equal(t.failed, ERR_CANCELLED);
    assert_true(str_is(tool_check_get(&t, "a"), "two\n"));
    tool_check_end(&t);
}

static void rules_and_hooks_see_the_whole_path(void **state)
{
    const struct tool_entry *const tools[] = {&tool_read_entry, &tool_write_entry, &tool_edit_entry,
                                              &tool_multi_edit_entry};
    struct tool_check t;
    const struct json *args;

    (void)state;
    tool_check_begin(&t);
    assert_int_equal(json_parse(&t.arena, STR("{\"file_path\":\"x/../a.c\"}"), &args, NULL, NULL),
                     0);
    for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
        struct rule_subject subject = {0};
        struct buf text = BUF_INIT(BUF_NO_LIMIT);

        tools[i]->about(tools[i], t.workspace, args, &t.arena, &subject);
        assert_int_equal(subject.about, ABOUT_PATH);
        assert_int_equal(subject.writes, i > 0);
        assert_true(str_is(subject.text, tool_check_path(&t, "a.c")));
        tools[i]->expand(tools[i], t.workspace, args, &text);
        assert_true(str_has(buf_str(&text), str_of(tool_check_path(&t, "a.c"))));
        buf_release(&text);
    }
    tool_check_end(&t);
}

UNIT_TEST(edit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches),
        cmocka_unit_test(an_edit_shows_and_tells),
        cmocka_unit_test(bad_edits_change_nothing),
        cmocka_unit_test(an_empty_old_string_creates),
        cmocka_unit_test(the_outside_is_kept),
        cmocka_unit_test(links_are_followed),
        cmocka_unit_test(a_notebook_has_its_own_tool),
        cmocka_unit_test(all_edits_or_none),
        cmocka_unit_test(a_cancelled_edit_changes_nothing),
        cmocka_unit_test(rules_and_hooks_see_the_whole_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
