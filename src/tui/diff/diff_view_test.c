/*
 * diff_view: hunks with numbers, words that differ, long lines, narrow windows, more than fits;
 * what a call would change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/jw.h"
#include "tui/diff/diff_view.h"
#include "tui/diff/diff_words.h"
#include "tui/screen/line.h"
#include "unit.h"

struct view_case {
    int cols;
    size_t max_rows;
    bool ascii;
    const char *patch;
    const char *shown;
};

#define SMALL                                                                                      \
    "[{\"oldStart\":9,\"oldLines\":3,\"newStart\":9,\"newLines\":3,\"lines\":[\" "                 \
    "a\",\"-b\",\"+B\""                                                                            \
    ",\" c\"]}]"
#define TWO                                                                                        \
    "[{\"oldStart\":1,\"oldLines\":1,\"newStart\":1,\"newLines\":0,\"lines\":[\"-a\"]},"           \
    "{\"oldStart\":120,\"oldLines\":1,\"newStart\":119,\"newLines\":2,\"lines\":[\" "              \
    "x\",\"+y\"]}]"
#define LONG                                                                                       \
    "[{\"oldStart\":1,\"oldLines\":0,\"newStart\":1,\"newLines\":1,\"lines\":[\"+"                 \
    "0123456789012345678901234567890123456789\"]}]"

static const struct view_case view_cases[] = {
    {80, 0, false, "[]", ""},
    {80, 0, false, "null", ""},
    {80, 0, false, "[{}]", ""},
    {80, 0, false, "[{\"oldStart\":-5,\"lines\":[\"\",3,\"-x\"]}]", "0\n1\n2 - x\n"},
    {80, 0, false, SMALL, " 9   a\n10 - b\n10 + B\n11   c\n"},
    {20, 0, false, SMALL, "  a\n- b\n+ B\n  c\n"},
    {80, 0, false, TWO, "  1 - a\n  ⋯\n119   x\n120 + y\n"},
    {80, 0, true, TWO, "  1 - a\n  ...\n119   x\n120 + y\n"},
    {200, 0, false, TWO, "  1 - a\n  ⋯\n119   x\n120 + y\n"},
    {40, 0, false, LONG, "1 + 012345678901234567890123456789012345\n    6789\n"},
    {20, 0, false, LONG, "+ 012345678901234567\n  890123456789012345\n  6789\n"},
    {80, 4, false, SMALL, " 9   a\n10 - b\n10 + B\n11   c\n"},
    {80, 3, false, SMALL, " 9   a\n10 - b\n… 2 more lines (Ctrl-O)\n"},
    {80, 1, true, SMALL, "... 4 more lines (Ctrl-O)\n"},
    {20, 2, false, LONG, "+ 012345678901234567\n… 1 more line\n"},
    {80, 3, false, TWO, "  1 - a\n  ⋯\n… 2 more lines (Ctrl-O)\n"},
    {80, 0, false, "[{\"oldStart\":1,\"newStart\":1,\"lines\":[\"-\\tx\",\"\\\\ No newline\"]}]",
     "1 -         x\n     No newline\n"},
};

static void hunks(void **state)
{
    bool failed = false;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(view_cases); i++) {
        const struct view_case *c = &view_cases[i];
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(lines_release) struct lines out = LINES_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        struct diff_view v = {.cols = c->cols, .max_rows = c->max_rows, .ascii = c->ascii};
        struct err err;

        assert_int_equal(json_parse(&arena, str_of(c->patch), &v.patch, NULL, &err), 0);
        diff_view_draw(&v, &out);
        lines_text(&out, &text);
        if (strcmp(buf_cstr(&text), c->shown) != 0) {
            print_error("row %zu:\n%s--- not\n%s---\n", i, buf_cstr(&text), c->shown);
            failed = true;
        }
    }
    assert_false(failed);
}

struct words_case {
    const char *old, *new;
    const char *old_marks, *new_marks;
};

static const struct words_case words_cases[] = {
    {"int a = 1;", "int b = 1;", "    ^     ", "    ^     "},
    {"return x;", "return x + 1;", "         ", "        ^^^^ "},
    {"foo(a, b)", "foo(b)", "    ^^^  ", "      "},
    {"one two three", "one 2 3 three", "    ^^^      ", "    ^^^      "},
    {"completely", "different", "          ", "         "},
    {"same", "same", "    ", "    "},
    {"", "x", "", " "},
    {"été x y z", "hiver x y z", "^^^^^      ", "^^^^^      "},
};

static void words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(words_cases); i++) {
        const struct words_case *c = &words_cases[i];
        char old[64] = {0};
        char new[64] = {0};
        size_t budget = 1000;

        diff_words(str_of(c->old), str_of(c->new), old, new, &budget);
        for (size_t n = 0; n < sizeof(old); n++) {
            old[n] = n >= strlen(c->old) ? 0 : old[n] ? '^' : ' ';
            new[n] = n >= strlen(c->new) ? 0 : new[n] ? '^' : ' ';
        }
        if (strcmp(old, c->old_marks) != 0 || strcmp(new, c->new_marks) != 0)
            fail_msg("row %zu:\n%s\n%s\n%s\n%s", i, c->old, old, c->new, new);
    }
}

static struct style style_at(struct line l, const char *part)
{
    size_t at = str_find(l.text, str_of(part));
    struct style style = STYLE(ROLE_TEXT);

    assert_true(at < l.text.len);
    for (size_t i = 0; i < l.span_count && l.spans[i].from <= at; i++)
        style = l.spans[i].style;
    return style;
}

/* Colors of the language, on the background of the line, or of the word that differs. */
static void styles(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(lines_release) struct lines out = LINES_INIT;
    struct diff_view v = {.path = STR("a.c"), .cols = 80};
    struct err err;

    (void)state;
    assert_int_equal(json_parse(&arena,
                                STR("[{\"oldStart\":1,\"newStart\":1,\"lines\":[\" int x; // "
                                    "c\",\"-return alpha(1);\",\"+return beta(1);\"]}]"),
                                &v.patch, NULL, &err),
                     0);
    diff_view_draw(&v, &out);
    assert_int_equal(lines_count(&out), 3);
    assert_int_equal(style_at(lines_at(&out, 0), "int").role, ROLE_KEYWORD);
    assert_int_equal(style_at(lines_at(&out, 0), "int").bg, 0);
    assert_int_equal(style_at(lines_at(&out, 0), "1").role, ROLE_FAINT);
    assert_int_equal(style_at(lines_at(&out, 1), "-").role, ROLE_REMOVED);
    assert_int_equal(style_at(lines_at(&out, 1), "return").role, ROLE_KEYWORD);
    assert_int_equal(style_at(lines_at(&out, 1), "return").bg, COLOR_ROLE | ROLE_REMOVED);
    assert_int_equal(style_at(lines_at(&out, 1), "alpha").bg, COLOR_ROLE | ROLE_REMOVED_WORD);
    assert_int_equal(style_at(lines_at(&out, 1), "(1").bg, COLOR_ROLE | ROLE_REMOVED);
    assert_int_equal(style_at(lines_at(&out, 2), "+").role, ROLE_ADDED);
    assert_int_equal(style_at(lines_at(&out, 2), "beta").bg, COLOR_ROLE | ROLE_ADDED_WORD);
    assert_int_equal(style_at(lines_at(&out, 2), "beta").role, ROLE_NAME);
}

/* Every change of random lines fits into every window, and is shown completely. */
static void any_patch_fits(void **state)
{
    uint32_t seed = 7;

    (void)state;
    for (int round = 0; round < 300; round++) {
        static const char *const pieces[] = {"int ", "日本", "\t", "x", " ", "/*", "\"", "é", "="};
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(lines_release) struct lines out = LINES_INIT;
        struct diff_view v = {.path = STR("a.c"), .cols = 1 + round % 90, .max_rows = 12};
        struct jw w;
        struct err err;

        jw_init(&w, &text, 0);
        jw_array(&w);
        jw_object(&w);
        jw_ki64(&w, "oldStart", 95);
        jw_ki64(&w, "newStart", 95);
        jw_key(&w, "lines");
        jw_array(&w);
        for (int i = 0; i < round % 20; i++) {
            jw_str_begin(&w);
            jw_str_part(&w, str_make(&" -+-+"[(seed >> 9) % 5], 1));
            for (int n = 0; n < (int)((seed >> 12) % 40); n++) {
                seed = seed * 1664525u + 1013904223u;
                jw_str_part(&w, str_of(pieces[(seed >> 10) % ARRAY_LEN(pieces)]));
            }
            seed = seed * 1664525u + 1013904223u;
            jw_str_end(&w);
        }
        jw_array_end(&w);
        jw_object_end(&w);
        jw_array_end(&w);
        assert_int_equal(json_parse(&arena, buf_str(&text), &v.patch, NULL, &err), 0);
        diff_view_draw(&v, &out);
        assert_true(lines_count(&out) <= 12);
        for (size_t i = 0; i < lines_count(&out); i++) {
            if (v.cols > 1 && line_width(lines_at(&out, i)) > v.cols)
                fail_msg("round %d: '%.*s' is wider than %d", round,
                         STR_ARG(lines_at(&out, i).text), v.cols);
        }
    }
}

struct call_case {
    const char *tool, *input;
    bool is_drawn;
    const char *shown;
};

static const struct call_case call_cases[] = {
    {"Edit", "{\"file_path\":\"a.c\",\"old_string\":\"two\",\"new_string\":\"2\"}", true,
     "1   one\n2 - two\n2 + 2\n3   three\n"},
    {"Edit",
     "{\"file_path\":\"a.c\",\"old_string\":\"e\",\"new_string\":\"E\",\"replace_all\":true}", true,
     "1 - one\n1 + onE\n2   two\n3 - three\n3 + thrEE\n"},
    {"Edit", "{\"file_path\":\"a.c\",\"old_string\":\"none\",\"new_string\":\"2\"}", true,
     "1 - none\n1 + 2\n"},
    {"Edit", "{\"file_path\":\"new.c\",\"old_string\":\"\",\"new_string\":\"x\\ny\\n\"}", true,
     "1 + x\n2 + y\n"},
    {"MultiEdit",
     "{\"file_path\":\"a.c\",\"edits\":[{\"old_string\":\"one\",\"new_string\":\"1\"},{\"old_"
     "string\":\"1\",\"new_string\":\"I\"}]}",
     true, "1 - one\n1 + I\n2   two\n3   three\n"},
    {"MultiEdit", "{\"file_path\":\"a.c\",\"edits\":[]}", false, ""},
    {"Write", "{\"file_path\":\"a.c\",\"content\":\"one\\n\"}", true,
     "1   one\n2 - two\n3 - three\n"},
    {"Write", "{\"file_path\":\"b/new\",\"content\":\"x\\n\"}", true, "1 + x\n"},
    {"Write", "{\"file_path\":\"bin\",\"content\":\"x\\n\"}", false, ""},
    {"Write", "{\"file_path\":\".\",\"content\":\"x\\n\"}", false, ""},
    {"Write", "{\"file_path\":\"\",\"content\":\"x\\n\"}", false, ""},
    {"NotebookEdit",
     "{\"notebook_path\":\"n.ipynb\",\"cell_id\":\"cell-0\",\"new_source\":\"x = 2\\n\"}", true,
     "1 - x = 1\n1 + x = 2\n"},
    {"NotebookEdit",
     "{\"notebook_path\":\"n.ipynb\",\"cell_id\":\"cell-0\",\"edit_mode\":\"delete\"}", true,
     "1 - x = 1\n"},
    {"NotebookEdit", "{\"notebook_path\":\"a.c\",\"cell_id\":\"c\",\"new_source\":\"x\"}", false,
     ""},
    {"Bash", "{\"command\":\"ls\"}", false, ""},
    {"Edit", "{}", true, ""},
};

static void put_file(const char *dir, const char *name, struct str text)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);
    struct err err;

    assert_int_equal(file_replace(path, text, 0600, &err), 0);
}

/* Row by row, as when scrolling: the result does not depend on the steps. */
static bool preview(struct str tool, const struct json *input, const char *dir,
                    const struct diff_view *how, struct lines *ret)
{
    struct diff_preview *p = diff_preview_new(tool, input, dir, how);
    size_t rows = p ? diff_preview_rows(p) : 0;

    for (size_t i = 1; i <= rows + 1 && p; i++) {
        diff_preview_draw(p, i, ret);
        assert_int_equal(lines_count(ret), i < rows ? i : rows);
        assert_int_equal(diff_preview_rows(p), rows);
    }
    diff_preview_free(p);
    return p;
}

static void calls(void **state)
{
    char dir[] = "/tmp/tenax-diff-XXXXXX";
    bool failed = false;
    static const char *const names[] = {"a.c", "bin", "n.ipynb"};

    (void)state;
    assert_non_null(mkdtemp(dir));
    put_file(dir, "a.c", STR("one\ntwo\nthree\n"));
    put_file(dir, "bin", STR("\0\1\2\3"));
    put_file(dir, "n.ipynb",
             STR("{\"nbformat\":4,\"nbformat_minor\":5,\"metadata\":{},\"cells\":[{\"cell_type\":"
                 "\"code\",\"id\":\"c\",\"metadata\":{},\"outputs\":[],\"source\":[\"x = 1\"]}]}"));
    for (size_t i = 0; i < ARRAY_LEN(call_cases); i++) {
        const struct call_case *c = &call_cases[i];
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(lines_release) struct lines out = LINES_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        struct diff_view how = {.cols = 80};
        const struct json *input;
        struct err err;
        bool is_drawn;

        assert_int_equal(json_parse(&arena, str_of(c->input), &input, NULL, &err), 0);
        is_drawn = preview(str_of(c->tool), input, dir, &how, &out);
        lines_text(&out, &text);
        if (is_drawn != c->is_drawn || strcmp(buf_cstr(&text), c->shown) != 0) {
            print_error("row %zu: %d\n%s--- not\n%s---\n", i, is_drawn, buf_cstr(&text), c->shown);
            failed = true;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP(mem_freep) char *path = path_join(dir, names[i]);

        unlink(path);
    }
    rmdir(dir);
    assert_false(failed);
}

static void counts(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *patch;
    size_t added;
    size_t removed;
    struct err err;

    (void)state;
    assert_int_equal(json_parse(&arena, STR(TWO), &patch, NULL, &err), 0);
    diff_view_count(patch, &added, &removed);
    assert_int_equal(added, 1);
    assert_int_equal(removed, 1);
    diff_view_count(NULL, &added, &removed);
    assert_int_equal(added + removed, 0);
}

/* The rows are counted before they are drawn, whatever is in them, and in any window. */
static void previews(void **state)
{
    static const char *const ends[] = {
        "x",
        "\\tindented\\t\\tby tabs, and so long that it needs a second row",
        "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3001\u9577\u3044\u884c",
        "",
        "a\\u001b[31mred\\u200bhidden",
        "/* up",
        "to here */ e\u0301\u0301 done",
    };
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    char dir[] = "/tmp/tenax-diff-XXXXXX";
    CLEANUP(buf_release) struct buf old = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *path = NULL;
    const struct json *input;
    struct err err;

    (void)state;
    assert_non_null(mkdtemp(dir));
    path = path_join(dir, "a.c");
    for (size_t i = 0; i < 60; i++)
        buf_addf(&old, "line %zu of the old file, x\n", i / 20 * 1000 + i);
    put_file(dir, "a.c", buf_str(&old));
    buf_adds(&text, "{\"file_path\":\"a.c\",\"content\":\"");
    for (size_t i = 0; i < 50; i++)
        buf_addf(&text, "line %zu of the %s file, %s\\n", i / 20 * 1000 + i,
                 i % 20 < 12 ? "new" : "old", i % 20 < 12 ? ends[i % ARRAY_LEN(ends)] : "x");
    buf_adds(&text, "\"}");
    assert_int_equal(json_parse(&arena, buf_str(&text), &input, NULL, &err), 0);
    for (int cols = 1; cols < 90; cols += 4) {
        CLEANUP(lines_release) struct lines out = LINES_INIT;
        CLEANUP(buf_release) struct buf shown = BUF_INIT(BUF_NO_LIMIT);

        assert_true(preview(STR("Write"), input, dir, &(struct diff_view){.cols = cols}, &out));
        lines_text(&out, &shown);
        /* For approval: nothing is left out of sight. */
        assert_true(cols < 70 || str_has(buf_str(&shown), STR("^[[31m")));
        assert_true(cols < 70 || str_has(buf_str(&shown), STR("<U+200B>")));
    }
    unlink(path);
    rmdir(dir);
}

UNIT_TEST(diff_view)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hunks),    cmocka_unit_test(words),          cmocka_unit_test(styles),
        cmocka_unit_test(counts),   cmocka_unit_test(any_patch_fits), cmocka_unit_test(calls),
        cmocka_unit_test(previews),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
