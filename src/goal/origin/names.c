/*
 * names: tables of words, and the few loops that look into them. Pure; any thread.
 */
#include "goal/origin/names.h"

#include "base/buf.h"
#include "base/mem.h"

/* Read by a test runner, or loaded before it, without being named anywhere. */
static const char runner_names[] =
    "conftest.py pytest.ini .pytest.ini tox.ini setup.cfg noxfile.py hatch.toml .coveragerc "
    "sitecustomize.py usercustomize.py unittest.py pytest.py nose2.py doctest.py "
    "jest.config.* jest.setup.* vitest.config.* vitest.workspace.* vitest.setup.* .mocharc* "
    "mocha.opts ava.config.* .taprc karma.conf.* cypress.config.* playwright.config.* .nycrc* "
    ".c8rc* babel.config.* .babelrc* .swcrc .npmrc .yarnrc .yarnrc.yml bunfig.toml .proverc .rspec "
    "cucumber.yml phpunit.xml* phpunit.dist.xml .busted .shellspec .shellcheckrc dart_test.yaml "
    "*.runsettings .golangci.* .rubocop.yml .eslintrc* eslint.config.* .eslintignore .prettierrc* "
    "prettier.config.* .prettierignore biome.json* .stylelintrc* .flake8 .pylintrc pylintrc "
    "mypy.ini .mypy.ini ruff.toml .ruff.toml pyrightconfig.json .clang-tidy .clang-format "
    ".pre-commit-config.yaml CTestCustom.cmake CTestConfig.cmake CTestTestfile.cmake .Rprofile "
    ".perltidyrc .perlcriticrc .luacheckrc phpstan.neon* psalm.xml .formatter.exs .credo.exs "
    "gradle.properties maven.config jvm.config pytest.toml vite.config.* wdio.conf.* "
    "protractor.conf.* nightwatch.conf.* testem.* behave.ini nose.cfg unittest.cfg stestr.conf "
    "jasmine.json codeception.yml infection.json* clippy.toml "
    "rustfmt.toml nextest.toml mise.toml pnpm-workspace.yaml tslint.json checkstyle.xml "
    "detekt.yml pmd.xml staticcheck.conf extensions.xml assert.h cassert cmocka.h gtest.h "
    "setup_suite.bash junit-platform.properties testng.xml xunit.runner.json tests.edn .midje.clj "
    "SpecHook.hs lit.cfg lit.cfg.py lit.local.cfg lit.local.cfg.py lit.site.cfg* atlocal "
    "atlocal.in "
    ".testcaferc* .labrc* web-test-runner.config.* intern.json tox.toml nose2.cfg .stestr.conf "
    "codecept.conf.* stryker.conf* foundry.toml hardhat.config.* truffle-config.js "
    "stylelint.config.* .markdownlint* .yamllint* .hadolint.y* .codespellrc typos.toml _typos.toml "
    ".typos.toml cspell.* .cspell* .textlintrc* .remarkrc* commitlint.config.* .commitlintrc* "
    ".solhint.json .swiftlint.yml .scalafmt.conf .scalafix.conf .ocamlformat .hlint.yaml "
    "phpcs.xml* "
    ".phpcs.xml* .php-cs-fixer* phpspec.yml .bandit .importlinter .reek.yml .erb-lint.yml .lintr "
    ".ackrc .ignore .rgignore .agignore .fdignore .mise.toml";

static const char build_names[] =
    "GNUmakefile makefile Makefile BSDmakefile Makefile.am Makefile.in configure configure.ac "
    "CMakeLists.txt CMakePresets.json CMakeUserPresets.json meson.build meson_options.txt "
    "meson.options build.ninja SConstruct Sconstruct sconstruct wscript build.zig build.xml "
    "build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradlew pom.xml mvnw "
    "build.sbt Rakefile rakefile Rakefile.rb justfile Justfile .justfile Taskfile.yml "
    "Taskfile.yaml taskfile.yml taskfile.yaml Dockerfile docker-compose.yml docker-compose.yaml "
    "compose.yml compose.yaml WORKSPACE WORKSPACE.bazel MODULE.bazel BUILD BUILD.bazel .bazelrc "
    "BUCK .buckconfig turbo.json nx.json lerna.json dune-project dune dune-workspace rebar.config "
    "mix.exs project.clj deps.edn bb.edn Makefile.PL Build.PL deno.json deno.jsonc gulpfile.* "
    "Gruntfile.* Jakefile Jakefile.js Cakefile dodo.py fabfile.py Makefile.toml xmake.lua "
    "premake5.lua SConscript Snakefile Earthfile Tiltfile magefile.go dub.json dub.sdl build.sc "
    "pants.toml Taskfile.dist.yml Taskfile.dist.yaml";

/* Only those that a check is seen to read (origin.h). */
static const char settings_names[] =
    "*.mk *.make *.mak Makefile.* *.cmake tsconfig*.json *.env .env .env.* *.bzl *.gradle *.props "
    "*.targets *.rake rust-toolchain rust-toolchain.toml go.work *.sln *.csproj *preset* *.ninja "
    ".gitmodules .gitattributes";

/* Modules of runners, which a file of the same name would take the place of. */
static const char *const runner_modules[] = {
    "Test/More.pm",
    "Test/Simple.pm",
    "Test/Builder.pm",
    "Test/Harness.pm",
    "App/Prove.pm",
    "TAP/Parser.pm",
    "TAP/Harness.pm",
    "Test2/API.pm",
    "unittest/__init__.py",
    "pytest/__init__.py",
    "_pytest/__init__.py",
    "pluggy/__init__.py",
    "minitest/autorun.rb",
    "rspec/core.rb",
    "test/unit.rb",
    "features/environment.py",
    "features/support/env.rb",
    "cypress/support/e2e.js",
    "cypress/support/e2e.ts",
};

static const char test_folders[] =
    "test tests Test Tests __tests__ spec specs testdata test_data test-data testsuite testsuites "
    "__snapshots__ __mocks__ __fixtures__ fixtures expected expectations golden goldens e2e "
    "integration_test integration_tests integration-tests androidTest unittests testing_data t";

static const char installed_folders[] =
    "node_modules bower_components .venv venv .tox .nox .eggs site-packages .bundle .stack-work";

static const char derived_folders[] =
    "__pycache__ .pytest_cache .mypy_cache .ruff_cache .nyc_output .turbo .parcel-cache .gradle "
    ".dart_tool .zig-cache zig-cache .ipynb_checkpoints .hypothesis .eslintcache";

bool name_fits(struct str pattern, struct str name)
{
    size_t star = str_chr(pattern, '*');
    struct str behind;

    if (star == pattern.len)
        return str_eq(pattern, name);
    if (!str_starts(name, str_first(pattern, star)))
        return false;
    name = str_from(name, star);
    behind = str_from(pattern, star + 1);
    if (str_chr(behind, '*') == behind.len)
        return str_ends(name, behind);
    for (size_t i = 0; i <= name.len; i++) { /* patterns are ours and have two stars at most */
        if (name_fits(behind, str_from(name, i)))
            return true;
    }
    return false;
}

static bool fits_any(const char *patterns, struct str name)
{
    struct str rest = str_of(patterns);
    struct str pattern;

    while (str_cut(&rest, ' ', &pattern)) {
        if (pattern.len && name_fits(pattern, name))
            return true;
    }
    return false;
}

/* ---- tests ---- */

#define SOURCE_ENDS                                                                                \
    "c cc cpp cxx c++ m mm h hpp go py rb rs js jsx ts tsx mjs cjs mts cts java kt kts scala "     \
    "groovy cs fs vb php swift dart ex exs erl hs ml lua pl pm t r R jl nim zig cr d f90 sh bash " \
    "bats zsh fish ps1 clj cljs cljc el lisp rkt vue svelte sql"

/* Of the name without its ending: "foo_test" of foo_test.c, "foo.test" of foo.test.ts. Scripts
 * called check, verify and so on are tests, too. */
static const char test_stems[] =
    "test_* *_test *_tests *-test *-tests *.test *.tests *.spec *_spec *-spec *.e2e *.cy *_SUITE "
    "test-* tests-* run_test run_tests run-tests runtests runtest conftest test tests spec "
    "*.expected *.golden assert asserts assertion assertions expect harness testing testlib* "
    "testutil* testhelper* testkit* spec_helper rails_helper";
static const char check_stems[] =
    "check check-* check_* *-check *_check verify verify-* verify_* validate validate-* validate_* "
    "accept acceptance smoke smoke-* smoke_* ci lint";
static const char camel_stems[] = "*Test *Tests *TestCase *Spec *IT Test*";
static const char script_ends[] = "sh bash zsh fish py rb pl js mjs cjs ts ps1 awk";

static bool name_is_test(struct str name)
{
    size_t dot = name.len;
    struct str end = STR("");
    struct str stem = name;

    while (dot > 0 && name.ptr[dot - 1] != '.')
        dot--;
    if (dot > 1) {
        end = str_from(name, dot);
        stem = str_first(name, dot - 1);
    }
    if (str_is_word_of(end, "snap bats feature robot t golden expected"))
        return true;
    if ((!end.len || str_is_word_of(end, script_ends)) &&
        (fits_any(check_stems, stem) || str_is_word_of(stem, "run-tests run_tests runtests")))
        return true;
    if (fits_any("expected expected-* expected_* *-expected *_expected golden golden-* golden_* "
                 "testcases testcases.* *-testcases *_testcases test-cases test_cases",
                 stem))
        return true;
    if (!end.len || !str_is_word_of(end, SOURCE_ENDS))
        return false;
    if (fits_any(test_stems, stem))
        return true;
    return str_is_word_of(end, "java kt kts scala groovy cs fs vb php swift m mm hs") &&
           !str_is(stem, "IT") && fits_any(camel_stems, stem);
}

/* What compilers and runs leave beside the sources. */
static bool is_left_over(struct str name)
{
    static const char ends[] = "*.pyc *.pyo *.o *.lo *.obj *.a *.so *.class *.gcno *.gcda *.gcov "
                               "*.trs *.tmp *.swp *~ .coverage .coverage.*";

    return fits_any(ends, name);
}

/* The last part of a path, and whether a folder on the way is in `folders`. */
static struct str look_at(struct str path, const char *folders, bool *ret_inside)
{
    struct str folder;

    *ret_inside = false;
    while (str_chr(path, '/') < path.len) {
        str_cut(&path, '/', &folder);
        *ret_inside = *ret_inside || str_is_word_of(folder, folders);
    }
    return path;
}

bool name_is_installed(struct str path)
{
    bool inside;

    look_at(path, installed_folders, &inside);
    return inside;
}

bool name_is_derived(struct str path)
{
    bool inside;
    struct str name = look_at(path, derived_folders, &inside);

    return inside || is_left_over(name) || name_is_installed(path);
}

static bool is_runner_module(struct str path)
{
    for (size_t i = 0; i < ARRAY_LEN(runner_modules); i++) {
        struct str module = str_of(runner_modules[i]);

        if (str_eq(path, module) || (str_ends(path, module) && path.len > module.len &&
                                     path.ptr[path.len - module.len - 1] == '/'))
            return true;
    }
    return false;
}

enum name_kind name_kind(struct str path)
{
    bool in_tests;
    struct str name = look_at(path, test_folders, &in_tests);

    if (str_is_word_of(name, "package.json Cargo.toml pyproject.toml composer.json") &&
        !name_is_installed(path))
        return NAME_ORDERS;
    if (fits_any(runner_names, name) || is_runner_module(path))
        return NAME_RUNNER;
    if (is_left_over(name))
        return NAME_PLAIN;
    if (in_tests || name_is_test(name))
        return NAME_TEST;
    if (fits_any(build_names, name))
        return NAME_BUILD;
    return fits_any(settings_names, name) ? NAME_SETTINGS : NAME_PLAIN;
}

struct str name_base(struct str path)
{
    size_t at = path.len;

    while (at > 0 && path.ptr[at - 1] != '/')
        at--;
    return str_from(path, at);
}

bool name_is_hidden(struct str path)
{
    struct str part;

    while (path.len && str_cut(&path, '/', &part)) {
        if (str_starts(part, STR(".")))
            return true;
    }
    return false;
}

bool name_is_hidden_settings(struct str path)
{
    struct str name = name_base(path);
    size_t dot = name.len;

    while (dot && name.ptr[dot - 1] != '.')
        dot--;
    return name_is_hidden(path) &&
           (dot < 2 || str_is_word_of(str_from(name, dot),
                                      "toml json json5 yml yaml ini cfg conf properties xml rc"));
}

/* ---- programs ---- */

bool name_is_interpreter(struct str program)
{
    return fits_any("python* pypy* ruby* perl* php* lua*", program) ||
           str_is_word_of(program,
                          "sh bash zsh dash ksh ash fish node nodejs deno bun tsx ts-node Rscript "
                          "julia tclsh wish expect pwsh groovy scala elixir escript ocaml guile "
                          "racket sbcl bats prove awk gawk mawk sed make");
}

bool name_is_reader(struct str program)
{
    return str_is_word_of(
        program, "grep egrep fgrep cat tac head tail wc nl diff cmp comm sort uniq cut tr od xxd "
                 "hexdump strings file sha1sum sha256sum sha512sum md5sum b2sum cksum tar cp "
                 "mv cpio gzip gunzip zcat xz zip unzip find xargs sed awk gawk mawk jq tee rev "
                 "fold fmt paste join column du ls stat touch rm");
}

bool name_is_make(struct str program)
{
    return str_is_word_of(program, "make gmake bmake mingw32-make ninja samu");
}

bool name_is_builder(struct str program)
{
    return name_is_make(program) ||
           str_is_word_of(
               program,
               "cmake meson cargo rustc go gcc g++ cc c++ clang clang++ tcc cc1 cc1plus ld javac "
               "kotlinc scalac ghc ocamlopt dune gradle gradlew mvn mvnw ant sbt dotnet msbuild "
               "swiftc swift zig nim fpc gfortran tsc bazel buck2 scons waf stack cabal mix rebar3 "
               "just task rake");
}

bool name_of_source(struct str path, struct buf *ret)
{
    static const struct str folder = STR_INIT("__pycache__/");
    size_t at = str_find(path, folder);
    struct str name;

    if (!str_ends(path, STR(".pyc")) || at == path.len)
        return false;
    name = str_from(path, at + folder.len);
    buf_add(ret, str_first(path, at));
    buf_add(ret, str_first(name, str_chr(name, '.')));
    buf_adds(ret, ".py");
    return true;
}
