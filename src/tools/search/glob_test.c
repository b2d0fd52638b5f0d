/*
 * Glob as a model calls it: which files, in which order, and what it says when there is nothing.
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

/* Sets when a file was last changed, in seconds. */
static void put_aged(struct tool_check *t, const char *name, long seconds)
{
    struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

    tool_check_put(t, name, STR("x\n"));
    assert_int_equal(utimensat(AT_FDCWD, tool_check_path(t, name), times, 0), 0);
}

static void tree(struct tool_check *t)
{
    tool_check_begin(t);
    put_aged(t, "old.c", 1000);
    put_aged(t, "new.c", 3000);
    put_aged(t, "src/mid.c", 2000);
    put_aged(t, "src/deep/er/low.c", 1500);
    put_aged(t, "src/a.ts", 1400);
    put_aged(t, "src/b.tsx", 1300);
    put_aged(t, "build/out.o", 1200);
    put_aged(t, ".github/ci.yml", 1100);
    put_aged(t, ".hidden.c", 5000);
    put_aged(t, ".git/config", 1);
    tool_check_put(t, ".gitignore", STR("build/\n"));
}

static void files_are_found_newest_first(void **state)
{
    static const struct {
        const char *args;
        const char *expected;
    } cases[] = {
        {"{\"pattern\":\"*.c\"}", "new.c\nsrc/mid.c\nsrc/deep/er/low.c\nold.c\n"},
        {"{\"pattern\":\"**/*.c\"}", "new.c\nsrc/mid.c\nsrc/deep/er/low.c\nold.c\n"},
        {"{\"pattern\":\"./*.c\"}", "new.c\nold.c\n"},
        {"{\"pattern\":\"src/*.c\"}", "src/mid.c\n"},
        {"{\"pattern\":\"src/**/*.c\"}", "src/mid.c\nsrc/deep/er/low.c\n"},
        {"{\"pattern\":\"src/**/*.{ts,tsx}\"}", "src/a.ts\nsrc/b.tsx\n"},
        {"{\"pattern\":\"*.c\",\"path\":\"src/deep\"}", "src/deep/er/low.c\n"},
        {"{\"pattern\":\"[mn]*.c\"}", "new.c\nsrc/mid.c\n"},
        {"{\"pattern\":\"?ew.c\"}", "new.c\n"},
        {"{\"pattern\":\"mid.c\"}", "src/mid.c\n"},
        {"{\"pattern\":\"src/\"}", "src/mid.c\nsrc/deep/er/low.c\nsrc/a.ts\nsrc/b.tsx\n"},
        {"{\"pattern\":\"*.o\"}", "No file matches *.o in "},
        {"{\"pattern\":\"build/*.o\"}", "build/out.o\n"}, /* it was asked for by name */
        {"{\"pattern\":\".github/**\"}", ".github/ci.yml\n"},
        {"{\"pattern\":\"**/.hidden.c\"}", ".hidden.c\n"},
        {"{\"pattern\":\"**/*.yml\"}", "No file matches"},
        {"{\"pattern\":\"../*/src/mid.c\"}", "src/mid.c\n"},
    };
    struct tool_check t;

    (void)state;
    tree(&t);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (!tool_check_run(&t, &tool_glob_entry, cases[i].args))
            fail_msg("%s: %s", cases[i].args, buf_cstr(&t.result.text));
        if (!str_has(tool_check_text(&t), str_of(cases[i].expected)))
            fail_msg("%s: expected\n%sbut found\n%s", cases[i].args, cases[i].expected,
                     buf_cstr(&t.result.text));
    }
    assert_true(tool_check_runf(&t, &tool_glob_entry, "{\"pattern\":\"%s/src/m*.c\"}", t.dir));
    assert_string_equal(buf_cstr(&t.result.text), "src/mid.c\n");
    assert_int_equal(json_get_i64(tool_check_data(&t), "numFiles", -1), 1);
    tool_check_end(&t);
}

static void a_long_list_is_cut(void **state)
{
    struct tool_check t;
    char name[40];

    (void)state;
    tool_check_begin(&t);
    for (int i = 0; i < 130; i++) {
        snprintf(name, sizeof(name), "f%03d.txt", i);
        put_aged(&t, name, 1000 + i);
    }
    assert_true(tool_check_run(&t, &tool_glob_entry, "{\"pattern\":\"*.txt\"}"));
    ASSERT_SAYS(&t, "f129.txt\nf128.txt\n");
    ASSERT_SAYS(&t, "f030.txt\n(30 more, older; narrow the pattern.)\n");
    assert_true(json_get_bool(tool_check_data(&t), "truncated", false));
    tool_check_end(&t);
}

static void bad_calls_say_why(void **state)
{
    static const struct {
        const char *args;
        const char *says;
    } cases[] = {
        {"{\"pattern\":\"*\",\"path\":\"sorce\"}", "there is no '"},
        {"{\"pattern\":\"*\",\"path\":\"new.c\"}", "is not a folder"},
        {"{\"pattern\":\"a[b\"}", "a '[' is not closed"},
        {"{\"pattern\":\"a{b\"}", "a '{' is not closed"},
        {"{\"pattern\":\"\"}", "pattern"},
        {"{\"path\":\"src\"}", "'pattern' is required"},
    };
    struct tool_check t;

    (void)state;
    tree(&t);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (tool_check_run(&t, &tool_glob_entry, cases[i].args))
            fail_msg("%s was taken: %s", cases[i].args, buf_cstr(&t.result.text));
        ASSERT_SAYS(&t, cases[i].says);
    }
    cancel_set(t.cancel);
    assert_false(tool_check_run(&t, &tool_glob_entry, "{\"pattern\":\"*\"}"));
    assert_int_equal(t.failed, ERR_CANCELLED);
    tool_check_end(&t);
}

UNIT_TEST(glob)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_found_newest_first),
        cmocka_unit_test(a_long_list_is_cut),
        cmocka_unit_test(bad_calls_say_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
