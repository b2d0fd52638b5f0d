/*
 * The tables of names: which files are tests, configuration or build output, and which programs
 * interpret or build.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "goal/origin/names.h"
#include "unit.h"

static const char *const kind_names[] = {"plain", "test", "runner", "build", "orders", "settings"};

static const struct {
    enum name_kind kind;
    const char *paths; /* words */
} kinds[] = {
    {NAME_TEST,
     "test_app.py app_test.py tests/helper.py test/a.c src/__tests__/x.js a.test.ts "
     "a.spec.ts b.spec.js x_test.go sum_spec.rb FooTest.java FooTests.cs BarIT.java "
     "BarSpec.scala WidgetTestCase.php t/basic.t basic.t suite.bats login.feature "
     "web.robot a.snap __snapshots__/a.snap fixtures/in.json tests/data/x.bin "
     "spec/models/user.rb testdata/golden.txt expected/out.txt golden/page.html "
     "out.expected out.golden expected.txt expected-output.json run-tests.sh runtests.py "
     "run_tests check.sh check verify.py verify verify-all.sh validate.js smoke.sh "
     "ci.sh lint.sh acceptance.sh integration_tests/a.rs e2e/login.ts cypress/a.cy.js "
     "server_SUITE.erl foo-test.js test-foo.js unittests/a.cpp app/androidTest/A.kt "
     "deep/er/tests/x/y/z.txt build/tests/case.txt test.py tests.py spec.rb "
     "my_check.sh db-check.py testsuite/run.exp TestFoo.java"},
    {NAME_RUNNER,
     "conftest.py tests/conftest.py pytest.ini tox.ini setup.cfg noxfile.py "
     ".coveragerc sitecustomize.py usercustomize.py pytest.py unittest.py "
     "jest.config.js jest.config.mjs jest.setup.ts vitest.config.ts .mocharc.yml "
     ".mocharc.json ava.config.js karma.conf.js playwright.config.ts .nycrc .nycrc.json "
     "babel.config.js .babelrc .npmrc .proverc .rspec phpunit.xml phpunit.xml.dist "
     ".golangci.yml .eslintrc.json eslint.config.mjs .clang-tidy mypy.ini ruff.toml "
     "lib/Test/More.pm Test/More.pm pytest/__init__.py src/unittest/__init__.py "
     "minitest/autorun.rb gradle.properties .mvn/jvm.config .pre-commit-config.yaml "
     "phpstan.neon phpstan.neon.dist .luacheckrc tests/setup_suite.bash .rgignore "
     "src/test/resources/junit-platform.properties test/lit.local.cfg stylelint.config.mjs "
     "features/environment.py features/support/env.rb cypress/support/e2e.ts foundry.toml "
     ".markdownlint.json"},
    {NAME_BUILD,
     "Makefile makefile GNUmakefile sub/Makefile Makefile.am Makefile.in configure "
     "CMakeLists.txt src/CMakeLists.txt meson.build meson_options.txt build.ninja "
     "SConstruct wscript build.xml build.gradle build.gradle.kts settings.gradle gradlew "
     "pom.xml build.sbt Rakefile justfile Taskfile.yml Dockerfile compose.yaml "
     "WORKSPACE BUILD.bazel turbo.json dune-project dune mix.exs project.clj build.zig "
     "deno.json Makefile.PL rebar.config gulpfile.js Gruntfile.coffee dodo.py Snakefile "
     "Makefile.toml src/SConscript"},
    {NAME_ORDERS, "package.json packages/a/package.json Cargo.toml crates/x/Cargo.toml "
                  "pyproject.toml composer.json"},
    {NAME_SETTINGS, "rules.mk common.make build.mak Makefile.common Makefile.inc deps.cmake "
                    "cmake/Find.cmake tsconfig.json tsconfig.base.json .env .env.test prod.env "
                    "defs.bzl common.gradle Directory.props Build.targets rust-toolchain go.work "
                    "app.csproj jest-preset.js rules.ninja lib/tasks/db.rake"},
    {NAME_PLAIN, "main.c app.py README.md src/lib.rs index.js contest.py latest.txt attest.go "
                 "protest.md checker.c checklist.md checkout.go verified.txt testing.md "
                 "tests.md greatest.py spec.md inspect.py expectation.txt makefile.txt "
                 "Makefiles.txt package-lock.json Cargo.lock node_modules/a/package.json "
                 "environment.yml .environment go.mod requirements.txt test_app.pyc tests/a.o "
                 "tests/__pycache__/test_a.cpython-311.pyc tests/.coverage Test.md IT.java "
                 "a.c~ tests/a.swp conftest.py.bak config.json jest.md .gitignore "
                 "src/main/App.java Latest.java check.c ci.md lint.c environment.py support/env.rb "
                 "setup_suite.sh"},
};

static void kinds_of_names(void **state)
{
    size_t count = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct str rest = str_of(kinds[i].paths);
        struct str path;

        while (str_cut(&rest, ' ', &path)) {
            enum name_kind is = name_kind(path);

            if (is != kinds[i].kind)
                fail_msg("%.*s: %s, not %s", STR_ARG(path), kind_names[is],
                         kind_names[kinds[i].kind]);
            count++;
        }
    }
    assert_true(count >= 200);
}

static void each(const char *words, bool (*is)(struct str), bool expected)
{
    struct str rest = str_of(words);
    struct str word;

    while (str_cut(&rest, ' ', &word)) {
        if (is(word) != expected)
            fail_msg("%.*s: %s", STR_ARG(word), expected ? "no" : "yes");
    }
}

static void derived(void **state)
{
    (void)state;
    each(
        "__pycache__/a.pyc a/__pycache__/b.cpython-311.pyc a.pyc a.o lib/x.a libx.so A.class "
        "a.gcda "
        "node_modules/x/index.js web/node_modules/.bin/jest .venv/bin/python venv/lib/x.py "
        ".pytest_cache/v/x .mypy_cache/3.11/a.json .gradle/x .coverage .coverage.host.1 a.swp a.c~ "
        "x/site-packages/y.py .tox/py/bin/x tests/a.trs",
        name_is_derived, true);
    each("a.c a.py build/a.c dist/index.js target/debug/app node_modules pycache/a.py venv.py "
         "a.object a.od src/o libx.so.c coverage.txt",
         name_is_derived, false);
    each("node_modules/x/y a/node_modules/b .venv/x venv/x .tox/a/b site-packages/a .bundle/x",
         name_is_installed, true);
    each("node_modules a/node_modules __pycache__/x my_node_modules/x venvs/x", name_is_installed,
         false);
}

static void programs(void **state)
{
    (void)state;
    each("sh bash dash zsh python python3 python3.11 pypy3 ruby ruby3.1 perl perl5.36.0 node deno "
         "bun "
         "php php8.2 lua lua5.4 Rscript bats prove awk make",
         name_is_interpreter, true);
    each("cat git grep gcc ls cargo go busybox shfmt nodes makeinfo", name_is_interpreter, false);
}

static void builders(void **state)
{
    (void)state;
    each(
        "make gmake ninja cmake meson cargo rustc go gcc g++ cc c++ clang tsc javac mvn gradle cc1 "
        "dotnet bazel rake just",
        name_is_builder, true);
    each("python3 sh node git cat makeinfo ccache gopls", name_is_builder, false);
    each("make gmake bmake ninja", name_is_make, true);
    each("cmake makeinfo gcc sh", name_is_make, false);
}

static void sources(void **state)
{
    static const struct {
        const char *path, *source; /* NULL: none */
    } rows[] = {
        {"__pycache__/a.cpython-311.pyc", "a.py"},
        {"x/y/__pycache__/b.cpython-312-pytest-8.0.0.pyc", "x/y/b.py"},
        {"__pycache__/a.pyc", "a.py"},
        {"a.pyc", NULL},
        {"__pycache__/a.txt", NULL},
        {"a.py", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 10);
        bool is = name_of_source(str_of(rows[i].path), &out);

        if (is != (rows[i].source != NULL) || (is && !str_is(buf_str(&out), rows[i].source)))
            fail_msg("%s: '%s'", rows[i].path, buf_cstr(&out));
    }
}

static void patterns(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool fits;
    } rows[] = {
        {"a", "a", true},       {"a", "ab", false},     {"a*", "a", true},
        {"a*", "abc", true},    {"*a", "ba", true},     {"*a", "ab", false},
        {"a*c", "abc", true},   {"a*c", "ac", true},    {"a*a", "a", false},
        {"*a*", "xay", true},   {"*a*", "xyz", false},  {"a*b*", "axxbyy", true},
        {"a*b*c", "abc", true}, {"a*b*c", "ab", false}, {"*", "", true},
        {"", "", true},         {"", "a", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (name_fits(str_of(rows[i].pattern), str_of(rows[i].name)) != rows[i].fits)
            fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].name);
    }
}

UNIT_TEST(names)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_names), cmocka_unit_test(derived), cmocka_unit_test(programs),
        cmocka_unit_test(builders),       cmocka_unit_test(sources), cmocka_unit_test(patterns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
