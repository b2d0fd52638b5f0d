/*
 * Names of test files, patterns, and makefiles read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "goal/makefile.h"
#include "goal/recipe.h"

static void tests_by_name(void **state)
{
    static const struct {
        const char *path;
        bool is_test;
    } rows[] = {
        {"tests/a.c", true},
        {"test/data/x.json", true},
        {"src/__tests__/x.js", true},
        {"pkg/testdata/golden.txt", true},
        {"spec/models/user_spec.rb", true},
        {"src/test/java/FooTest.java", true},
        {"test_a.py", true},
        {"a/b/test_a.py", true},
        {"a_test.py", true},
        {"conftest.py", true},
        {"a_test.go", true},
        {"a_test.c", true},
        {"a_test.cc", true},
        {"a_test.cpp", true},
        {"a_test.rs", true},
        {"a_test.exs", true},
        {"a_test.dart", true},
        {"user_spec.rb", true},
        {"a.test.js", true},
        {"a.test.tsx", true},
        {"a.spec.ts", true},
        {"a.test.mjs", true},
        {"FooTest.java", true},
        {"FooTests.cs", true},
        {"FooTest.php", true},
        {"FooSpec.scala", true},
        {"FooTest.kt", true},
        {"run_tests.sh", true},
        {"x.bats", true},
        {"__snapshots__/x.snap", true},
        {"t/basic.t", true},
        {"test.py", true},
        {"src/main.c", false},
        {"latest.c", false},
        {"contest.py", false},
        {"attest/x.c", false},
        {"Latest.java", false},
        {"protest_a.py", false},
        {"node_modules/x/test/a.js", false},
        {"build/tests/a.c", false},
        {"target/debug/test_a.rs", false},
        {".venv/lib/test_x.py", false},
        {"vendor/x/a_test.go", false},
        {"tests/__pycache__/a.pyc", false},
        {"tests/a.pyc", false},
        {"test", false}, /* no folder: most likely built */
        {"testing.md", false},
        {"README.md", false},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (recipe_is_test(str_of(rows[i].path)) != rows[i].is_test)
            fail_msg("'%s' is %s", rows[i].path, rows[i].is_test ? "a test" : "no test");
    }
}

static void patterns(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool fits;
    } rows[] = {
        {"a", "a", true},
        {"a", "b", false},
        {"*.c", "x.c", true},
        {"*.c", ".c", true},
        {"*.c", "x.h", false},
        {"a*", "a", true},
        {"a*c", "abc", true},
        {"a*c", "ab", false},
        {"ab*b", "ab", false},
        {"x*y*z", "x1y2z", true},
        {"x*y*z", "x1z", false},
        {"*", "", true},
        {"jest.config.*", "jest.config.ts", true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (recipe_name_fits(str_of(rows[i].pattern), str_of(rows[i].name)) != rows[i].fits)
            fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].name);
    }
}

static void programs(void **state)
{
    static const struct {
        const char *program, *file;
    } rows[] = {
        {"make", "GNUmakefile"},
        {"npm", "package.json"},
        {"cargo", "Cargo.toml"},
        {"go", "go.mod"},
        {"pytest", "pytest.ini"},
        {"ctest", "CMakeLists.txt"},
        {"ninja", "meson.build"},
        {"gradle", "build.gradle"},
        {"mvn", "pom.xml"},
        {"rake", "Rakefile"},
        {"bundle", "Gemfile"},
        {"just", "justfile"},
        {"bazel", "WORKSPACE"},
        {"dotnet", "*.csproj"},
        {"mix", "mix.exs"},
        {"composer", "composer.json"},
        {"phpunit", "phpunit.xml"},
        {"jest", "jest.config.*"},
        {"vitest", "vitest.config.*"},
        {"mocha", ".mocharc.*"},
        {"tsc", "tsconfig*.json"},
        {"eslint", "eslint.config.*"},
        {"shellcheck", ".shellcheckrc"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct recipe *r = recipe_of(str_of(rows[i].program));

        if (!r || !str_is_word_of(str_of(rows[i].file), r->files))
            fail_msg("%s does not read %s", rows[i].program, rows[i].file);
    }
    assert_null(recipe_of(STR("surely-not")));
    assert_true(recipe_is_interpreter(STR("python3.11")));
    assert_false(recipe_is_interpreter(STR("phpunit")));
    assert_true(recipe_inspects(STR("grep")));
    assert_false(recipe_inspects(STR("diff")));
}

static void join(const struct strv *list, struct buf *ret)
{
    for (size_t i = 0; i < list->len; i++)
        buf_addf(ret, "%s%s", i ? "|" : "", list->ptr[i]);
}

static void makefiles(void **state)
{
    static const struct {
        const char *text, *targets, *commands;
    } rows[] = {
        {"test:\n\t./run.sh\n", "test", "./run.sh"},
        {"all: x\nx:\n\t@cc x\ntest: all\n\t-./t\n", "test", "cc x|./t"},
        {"test:\n\ta \\\n\t  b\nother:\n\tc\n", "test", "a  \t  b"},
        {"test: ; ./one\n", "test", "./one"},
        {"X := y\nA = b:c\ntest: $(X)\n\t./t\n", "test", "./t"},
        {"a:\n\tone\nb:\n\ttwo\n", "", "one|two"},
        {"a: b\nb: a\n\tloop\n", "a", "loop"},
        {"x y z:\n\tall\n", "y", "all"},
        {".PHONY: test\ntest:\n# word\n\n\t./t\n", "test", "./t"},
        {"", "test", ""},
        {"test:\\\n", "test", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strv targets = STRV_INIT;
        struct strv commands = STRV_INIT;
        struct buf got = BUF_INIT(BUF_NO_LIMIT);

        if (*rows[i].targets)
            strv_adds(&targets, rows[i].targets);
        makefile_commands(str_of(rows[i].text), &targets, &commands);
        join(&commands, &got);
        if (!str_is(buf_str(&got), rows[i].commands))
            fail_msg("row %zu: got '%s', want '%s'", i, buf_cstr(&got), rows[i].commands);
        strv_release(&targets);
        strv_release(&commands);
        buf_release(&got);
    }
}

static void makefiles_include(void **state)
{
    struct strv names = STRV_INIT;
    struct buf got = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    makefile_includes(STR("include a.mk b.mk # c\n-include $(X).mk d.mk\nsinclude e.mk\n"
                          "includes f\n\tinclude g.mk\n"),
                      &names);
    join(&names, &got);
    assert_string_equal(buf_cstr(&got), "a.mk|b.mk|d.mk|e.mk");
    strv_release(&names);
    buf_release(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tests_by_name),     cmocka_unit_test(patterns),
        cmocka_unit_test(programs),          cmocka_unit_test(makefiles),
        cmocka_unit_test(makefiles_include),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
