/*
 * What Read shows of every kind of file, and how it refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>

#include "proc/proc.h"
#include "tools/entries.h"
#include "tools/tool_check.h"
#include "unit.h"

/* A file, arguments after file_path, and a piece of the answer. */
static const struct {
    const char *name;
    struct str content;
    const char *more;
    bool ok;
    const char *says;
} read_cases[] = {
    {"a", STR_INIT("one\ntwo\n"), "", true, "     1\tone\n     2\ttwo"},
    {"a", STR_INIT("one\ntwo"), "", true, "     1\tone\n     2\ttwo"},
    {"a", STR_INIT("one\r\ntwo\r\n"), "", true, "     1\tone\n     2\ttwo"},
    {"a", STR_INIT(""), "", true, "empty"},
    {"a", STR_INIT("\n"), "", true, "     1\t"},
    {"a", STR_INIT("1\n2\n3\n4\n"), ",\"offset\":2,\"limit\":2", true,
     "     2\t2\n     3\t3\n\n[Lines 2-3 of 4 are shown. Continue with offset 4.]"},
    {"a", STR_INIT("1\n2\n"), ",\"offset\":0", true, "     1\t1\n     2\t2"},
    {"a", STR_INIT("1\n2\n"), ",\"offset\":3", true,
     "offset 3 is past the end, the file has 2 lines"},
    {"a", STR_INIT("1\n2\n"), ",\"offset\":-1", false, "offset"},
    {"a", STR_INIT("1\n2\n"), ",\"limit\":0", false, "limit"},
    {"a", STR_INIT("1\n2\n"), ",\"limit\":\"2\"", false, "must be an integer"},
    {"a", STR_INIT("1\n2\n"), ",\"pages\":\"1\"", false, "pages is for PDFs"},
    {"a",
     STR_INIT("\xff\xfe"
              "h\0i\0\n\0\x3d\xd8\x00\xde"),
     "", true, "     1\thi\n     2\t\xf0\x9f\x98\x80"},
    {"a", STR_INIT("\xfe\xff\0h\0i"), "", true, "UTF-16 BE"},
    {"a", STR_INIT("\xef\xbb\xbfhi"), "", true, "     1\thi\n\n[The file is UTF-8 with"},
    {"a", STR_INIT("\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x83\x65\x83\x58\x83\x67\n"), "", true,
     "     "
     "1\t\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe3\x81\xae\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88\n\n"
     "[The file is Shift_JIS; edits keep that.]"},
    {"a", STR_INIT("\xc6\xfc\xcb\xdc\xb8\xec\xa4\xce\xa5\xc6\xa5\xb9\xa5\xc8"), "", true,
     "     "
     "1\t\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe3\x81\xae\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88\n\n"
     "[The file is EUC-JP; edits keep that.]"},
    {"a", STR_INIT("# \xd5\xe2\xca\xc7\xd2\xbb\xb8\xf6\xb2\xe2\xca\xd4\n"), "", true,
     "     1\t# \xe8\xbf\x99\xe6\x98\xaf\xe4\xb8\x80\xe4\xb8\xaa\xe6\xb5\x8b\xe8\xaf\x95\n\n"
     "[The file is GBK; edits keep that.]"},
    {"a", STR_INIT("\xc7\xd1\xb1\xb9\xbe\xee \xbd\xc3\xc7\xe8"), "", true,
     "     1\t\xed\x95\x9c\xea\xb5\xad\xec\x96\xb4 \xec\x8b\x9c\xed\x97\x98\n\n"
     "[The file is EUC-KR; edits keep that.]"},
    {"a", STR_INIT("na\xefve caf\xe9s \xe0 c\xf4t\xe9"), "", true, "(the file may be Latin-1)"},
    {"a", STR_INIT("\xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0"), "", true, "9 bytes are no UTF-8"},
    {"a", STR_INIT("caf\xe9\n"), "", true, "     1\tcaf\xef\xbf\xbd\n\n[1 byte is no UTF-8"},
    {"a",
     STR_INIT("\x7f"
              "ELF\2\1\1\0\0\0"),
     "", false, "binary file (10 bytes)"},
    {"a", STR_INIT("one two three four five six seven eight nine ten \1"), "", true, "ten \1"},
    {"a.png", STR_INIT("<html>\n"), "", true, "<html>"}, /* by content, not by name */
    {"a.txt", STR_INIT("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\2\0\0\0\3\10\2"), "", true,
     "image/png, 2 x 3 pixels"},
    {"a.png", STR_INIT("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x7f\2\0\0\0\3\10\2"), "", false,
     "32514 x 3 pixels"},
    {"a.png", STR_INIT("\x89PNG\r\n\x1a\nrubbish"), "", false, "damaged"},
    {"a.gif", STR_INIT("GIF89a\1\0\2\0\0\0"), "", true, "image/gif, 1 x 2 pixels"},
    {"a.jpg", STR_INIT("\xff\xd8\xff\xe0\0\4JF\xff\xc0\0\x11\10\0\5\0\6\3\1"), "", true,
     "image/jpeg, 6 x 5 pixels"},
    {"a.webp", STR_INIT("RIFF\x20\0\0\0WEBPVP8X\12\0\0\0\0\0\0\0\7\0\0\10\0\0"), "", true,
     "image/webp, 8 x 9 pixels"},
};

static void every_kind(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    for (size_t i = 0; i < ARRAY_LEN(read_cases); i++) {
        bool ok;

        tool_check_put(&t, read_cases[i].name, read_cases[i].content);
        ok = tool_check_runf(&t, &tool_read_entry, "{\"file_path\":\"%s\"%s}", read_cases[i].name,
                             read_cases[i].more);
        if (ok != read_cases[i].ok || !str_has(tool_check_text(&t), str_of(read_cases[i].says)))
            fail_msg("row %zu: %s '%s'", i, ok ? "got" : "failed", buf_cstr(&t.result.text));
        if (str_has(tool_check_text(&t), STR("image/")) && ok) {
            assert_int_equal(t.result.images.len, 1);
            assert_true(str_eq(buf_str(&t.result.images.ptr[0].bytes), read_cases[i].content));
        }
    }
    tool_check_end(&t);
}

static void the_structured_result(void **state)
{
    struct tool_check t;
    const struct json *file;
    struct seen_file seen;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "a", STR("1\n2\n3\n"));
    assert_true(
        tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"a\",\"offset\":2,\"limit\":1}"));
    assert_true(str_is(json_get_str(tool_check_data(&t), "type"), "text"));
    file = json_get(tool_check_data(&t), "file");
    assert_true(str_is(json_get_str(file, "filePath"), tool_check_path(&t, "a")));
    assert_true(str_is(json_get_str(file, "content"), "2"));
    assert_int_equal(json_get_i64(file, "numLines", -1), 1);
    assert_int_equal(json_get_i64(file, "startLine", -1), 2);
    assert_int_equal(json_get_i64(file, "totalLines", -1), 3);
    assert_true(workspace_seen(t.workspace, tool_check_path(&t, "a"), &seen));
    assert_true(seen.partial);
    assert_true(seen.hash == seen_hash(STR("1\n2\n3\n")));
    assert_true(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"a\"}"));
    assert_true(workspace_seen(t.workspace, tool_check_path(&t, "a"), &seen));
    assert_false(seen.partial);
    tool_check_end(&t);
}

static void long_texts_are_cut(void **state)
{
    struct tool_check t;
    struct buf text = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    tool_check_begin(&t);
    for (int i = 1; i <= 2500; i++)
        buf_addf(&text, "l%d\n", i);
    tool_check_put(&t, "lines", buf_str(&text));
    assert_true(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"lines\"}"));
    ASSERT_SAYS(&t,
                "  2000\tl2000\n\n[Lines 1-2000 of 2500 are shown. Continue with offset 2001.]");

    /* 2,000 characters of two bytes each, then the rest. */
    buf_clear(&text);
    for (int i = 0; i < 2001; i++)
        buf_adds(&text, "\xc3\xa9");
    buf_adds(&text, "\nshort\n");
    tool_check_put(&t, "wide", buf_str(&text));
    assert_true(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"wide\"}"));
    ASSERT_SAYS(&t, "\xc3\xa9… [cut: the line has 4002 bytes]\n     2\tshort");
    assert_true(str_starts(str_from(tool_check_text(&t), 7 + 4000), STR("… [cut")));

    buf_clear(&text);
    for (int i = 0; i < 3000; i++)
        buf_addf(&text, "%0199d\n", i);
    tool_check_put(&t, "bytes", buf_str(&text));
    assert_true(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"bytes\"}"));
    ASSERT_SAYS(&t, "are shown, 100 KB of them. Continue with offset ");
    assert_true(t.result.text.len < tool_read_entry.max_result);
    buf_release(&text);
    tool_check_end(&t);
}

static void huge_files_are_streamed(void **state)
{
    struct tool_check t;
    struct buf text = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    tool_check_begin(&t);
    for (int i = 1; i <= 400000; i++)
        buf_addf(&text, "line %d %030d\n", i, i);
    tool_check_put(&t, "huge", buf_str(&text));
    assert_false(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"huge\"}"));
    ASSERT_SAYS(&t, "with offset and limit");
    assert_true(tool_check_run(&t, &tool_read_entry,
                               "{\"file_path\":\"huge\",\"offset\":399999,\"limit\":1}"));
    ASSERT_SAYS(&t, "399999\tline 399999 000000000000000000000000399999\n\n[Lines 399999-399999 of "
                    "400000 are shown");
    cancel_set(t.cancel);
    assert_false(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"huge\",\"limit\":1}"));
    assert_int_equal(t.failed, ERR_CANCELLED);
    buf_release(&text);
    tool_check_end(&t);
}

static void what_is_no_file(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "dir/x", STR(""));
    assert_int_equal(mkfifo(tool_check_path(&t, "fifo"), 0600), 0);
    assert_false(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"fifo\"}"));
    ASSERT_SAYS(&t, "not a file");
    assert_false(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"/dev/zero\"}"));
    ASSERT_SAYS(&t, "not a file");
    assert_false(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"dir\"}"));
    ASSERT_SAYS(&t, "Glob");
    assert_false(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"\"}"));
    assert_false(tool_check_run(&t, &tool_read_entry, "{\"path\":\"dir/x\"}"));
    ASSERT_SAYS(&t, "'file_path' is required");
    assert_true(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"/proc/self/status\"}"));
    ASSERT_SAYS(&t, "Name:");
    tool_check_end(&t);
}

static const struct {
    const char *cwd; /* below the workspace */
    const char *path;
    const char *says; /* '@' stands for the workspace */
} miss_cases[] = {
    {"", "src/mian.c", "Did you mean '@/src/main.c'?"},
    {"", "src/Main.C", "Did you mean '@/src/main.c'?"},
    {"", "src/main.cpp", "Did you mean '@/src/main.c'?"},
    {"", "lib/util.js", "Did you mean '@/lib/util.ts'?"},
    {"", "main.c", "Did you mean '@/src/main.c'?"},
    {"", "/src/main.c", "Did you mean '@/src/main.c'?"},
    {"", "/home/other/project/lib/util.ts", "Did you mean '@/lib/util.ts'?"},
    {"src", "src/main.c", "Did you mean '@/src/main.c'?"},
    {"src", "lib/util.ts", "Did you mean '@/lib/util.ts'?"},
    {"", "src/main.c/x", "does not exist"},
    {"", "nothing/like/zzzzzz.qq",
     "Its folder does not exist either. The working directory is '@'."},
    {"", "dangling", "does not exist. It is a link to '@/lib/gone.ts', which is not there."},
};

static void did_you_mean(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "src/main.c", STR("x\n"));
    tool_check_put(&t, "lib/util.ts", STR("x\n"));
    tool_check_put(&t, "node_modules/p/main.c", STR("x\n"));
    assert_int_equal(symlink("lib/gone.ts", tool_check_path(&t, "dangling")), 0);
    for (size_t i = 0; i < ARRAY_LEN(miss_cases); i++) {
        struct buf want = BUF_INIT(BUF_NO_LIMIT);

        for (const char *at = miss_cases[i].says; *at; at++) {
            if (*at == '@')
                buf_adds(&want, t.dir);
            else
                buf_addc(&want, *at);
        }
        workspace_set_cwd(t.workspace,
                          miss_cases[i].cwd[0] ? tool_check_path(&t, miss_cases[i].cwd) : t.dir);
        assert_false(
            tool_check_runf(&t, &tool_read_entry, "{\"file_path\":\"%s\"}", miss_cases[i].path));
        if (!str_has(tool_check_text(&t), buf_str(&want)))
            fail_msg("row %zu: '%s'", i, buf_cstr(&t.result.text));
        buf_release(&want);
    }
    tool_check_end(&t);
}

static const char notebook[] =
    "{\n \"cells\": [\n"
    "  {\"cell_type\": \"markdown\", \"id\": \"m1\", \"metadata\": {}, \"source\": [\"# Hi\\n\", "
    "\"there\"]},\n"
    "  {\"cell_type\": \"code\", \"execution_count\": 3, \"metadata\": {}, \"outputs\": [\n"
    "   {\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": [\"out\\n\"]},\n"
    "   {\"output_type\": \"error\", \"ename\": \"E\", \"evalue\": \"v\", \"traceback\": "
    "[\"\\u001b[0;31mred\\u001b[0m\"]},\n"
    "   {\"output_type\": \"display_data\", \"data\": {\"image/png\": "
    "\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAA=\\n\", \"text/plain\": \"<fig>\"}},\n"
    "   {\"output_type\": \"display_data\", \"data\": {\"image/png\": \"!!\"}},\n"
    "   {\"output_type\": \"execute_result\", \"data\": {\"text/plain\": [\"42\"]}}],\n"
    "   \"source\": \"print(1)\"}\n ],\n \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": "
    "5}\n";

static void notebooks(void **state)
{
    struct tool_check t;

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "n.ipynb", str_of(notebook));
    assert_true(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"n.ipynb\"}"));
    ASSERT_SAYS(&t, "<cell id=\"m1\" type=\"markdown\">\n# Hi\nthere\n</cell>\n");
    ASSERT_SAYS(&t, "<cell id=\"cell-1\" type=\"code\" run=\"3\">\nprint(1)\n<output>\nout\nE: v\n"
                    "red\n[picture 1]\n[a picture that is damaged or too large]\n42\n</output>\n");
    assert_int_equal(t.result.images.len, 1);
    assert_string_equal(t.result.images.ptr[0].media_type, "image/png");
    tool_check_put(&t, "bad.ipynb", STR("{\"cells\": 1}"));
    assert_false(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"bad.ipynb\"}"));
    ASSERT_SAYS(&t, "no list of cells");
    tool_check_put(&t, "bad.ipynb", STR("{\"cells\": ["));
    assert_false(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"bad.ipynb\"}"));
    ASSERT_SAYS(&t, "not valid JSON");
    /* Still to be had as text. */
    assert_true(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"bad.ipynb\",\"limit\":5}"));
    tool_check_end(&t);
}

/* A pdftotext of our own: as many pages as the file says, at most those asked for. Before it looks,
 * it lets another file take the place of the one that was asked for, if there is one. */
static const char pdftotext[] =
    "#!/bin/sh\n"
    "dir=${0%/bin/pdftotext}\n"
    "[ ! -e \"$dir/other.pdf\" ] || mv -f \"$dir/other.pdf\" \"$dir/a.pdf\"\n"
    "while [ $# -gt 2 ]; do\n"
    "  case $1 in -f) from=$2; shift ;; -l) to=$2; shift ;; esac\n"
    "  shift\n"
    "done\n"
    "pages=$(sed -n 's/^%PDF-//p' \"$1\")\n"
    "[ \"$pages\" -gt 0 ] || { echo 'Syntax Error' >&2; exit 1; }\n"
    "while [ \"$from\" -le \"$to\" ] && [ \"$from\" -le \"$pages\" ]; do\n"
    "  printf 'text %s\\n\\f' \"$from\"\n"
    "  from=$((from + 1))\n"
    "done\n";

static const struct {
    const char *pages_of_file;
    const char *more;
    bool ok;
    const char *says;
} pdf_cases[] = {
    {"%PDF-2\n", "", true, "--- page 1 ---\ntext 1\n\n--- page 2 ---\ntext 2"},
    {"%PDF-10\n", "", true, "--- page 10 ---\ntext 10"},
    {"%PDF-11\n", "", false, "has more than 10 pages"},
    {"%PDF-30\n", ",\"pages\":\"12-13\"", true, "--- page 12 ---\ntext 12\n\n--- page 13 ---"},
    {"%PDF-30\n", ",\"pages\":\"7\"", true, "--- page 7 ---\ntext 7"},
    {"%PDF-30\n", ",\"pages\":\"25-\"", true, "--- page 30 ---"},
    {"%PDF-30\n", ",\"pages\":\"1-30\"", false, "at most 20"},
    {"%PDF-30\n", ",\"pages\":\"x\"", false, "pages must be like"},
    {"%PDF-30\n", ",\"pages\":\"5-2\"", false, "pages must be like"},
    {"%PDF-3\n", ",\"pages\":\"5\"", true, "no text"},
    {"%PDF-0\n", "", false, "pdftotext cannot read pages 1-10"},
};

static void pdfs(void **state)
{
    struct tool_check t;
    char path[PATH_MAX + 40];
    char *env[] = {path, NULL};
    char *none[] = {(char *)(uintptr_t) "PATH=/nowhere", NULL};

    (void)state;
    tool_check_begin(&t);
    tool_check_put(&t, "bin/pdftotext", str_of(pdftotext));
    chmod(tool_check_path(&t, "bin/pdftotext"), 0755);
    snprintf(path, sizeof(path), "PATH=%s/bin:/usr/bin:/bin", t.dir);
    workspace_unref(t.workspace);
    t.workspace = workspace_new(t.dir, "/nowhere", env);
    for (size_t i = 0; i < ARRAY_LEN(pdf_cases); i++) {
        bool ok;

        tool_check_put(&t, "a.pdf", str_of(pdf_cases[i].pages_of_file));
        ok =
            tool_check_runf(&t, &tool_read_entry, "{\"file_path\":\"a.pdf\"%s}", pdf_cases[i].more);
        if (ok != pdf_cases[i].ok || !str_has(tool_check_text(&t), str_of(pdf_cases[i].says)))
            fail_msg("row %zu: %s '%s'", i, ok ? "got" : "failed", buf_cstr(&t.result.text));
    }
    /* The permitted file is read, not a later one at its path. */
    tool_check_put(&t, "a.pdf", STR("%PDF-2\n"));
    tool_check_put(&t, "other.pdf", STR("%PDF-7\n"));
    assert_true(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"a.pdf\"}"));
    ASSERT_SAYS(&t, "text 2");
    assert_false(str_has(tool_check_text(&t), STR("text 3")));
    workspace_unref(t.workspace);
    t.workspace = workspace_new(t.dir, "/nowhere", none);
    assert_false(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"a.pdf\"}"));
    ASSERT_SAYS(&t, "poppler-utils");
    tool_check_end(&t);
    proc_shutdown();
}

UNIT_TEST(read)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind),         cmocka_unit_test(the_structured_result),
        cmocka_unit_test(long_texts_are_cut), cmocka_unit_test(huge_files_are_streamed),
        cmocka_unit_test(what_is_no_file),    cmocka_unit_test(did_you_mean),
        cmocka_unit_test(notebooks),          cmocka_unit_test(pdfs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
