/*
 * recipe: tables of words and the few loops that look into them. Pure; any thread.
 */
#include "goal/recipe.h"

#include "base/mem.h"

static const struct recipe recipes[] = {
    {"make gmake mingw32-make bmake", "GNUmakefile makefile Makefile BSDmakefile",
     "-f --file --makefile", "-C --directory"},
    {"npm yarn pnpm bun npx yarnpkg pnpx bunx",
     "package.json .npmrc .yarnrc .yarnrc.yml bunfig.toml", "", "--prefix -C --cwd --dir"},
    {"node", "package.json", "-r --require --import", ""},
    {"deno", "deno.json deno.jsonc", "-c --config", ""},
    {"jest", "package.json jest.config.*", "-c --config", "--rootDir"},
    {"vitest vite", "package.json vitest.config.* vitest.workspace.* vite.config.*", "-c --config",
     "--root"},
    {"mocha", "package.json .mocharc.* test/mocha.opts", "--config --opts -r --require", ""},
    {"ava tap karma cypress playwright nyc c8",
     "package.json ava.config.* .taprc karma.conf.* cypress.config.* playwright.config.* .nycrc* "
     ".c8rc*",
     "--config -c", ""},
    {"tsc tsx ts-node", "tsconfig*.json", "-p --project --build -b", ""},
    {"eslint", "package.json eslint.config.* .eslintrc .eslintrc.* .eslintignore", "-c --config",
     ""},
    {"prettier biome stylelint",
     ".prettierrc .prettierrc.* prettier.config.* .prettierignore biome.json* .stylelintrc*",
     "--config --config-path", ""},
    {"cargo cross",
     "Cargo.toml .cargo/config.toml .cargo/config rust-toolchain rust-toolchain.toml",
     "--manifest-path --config", "-C"},
    {"go gotestsum ginkgo golangci-lint", "go.mod go.work .golangci.*", "-modfile", "-C"},
    {"pytest py.test tox nox hatch unittest nose2 coverage poetry uv pdm pipenv pre-commit",
     "pyproject.toml setup.cfg tox.ini pytest.ini .pytest.ini conftest.py noxfile.py hatch.toml "
     ".coveragerc .pre-commit-config.yaml",
     "-c --config-file --rcfile -f --noxfile", "--rootdir --directory --project"},
    {"mypy ruff flake8 pylint black isort pyright",
     "pyproject.toml setup.cfg tox.ini mypy.ini .mypy.ini ruff.toml .ruff.toml .flake8 .pylintrc "
     "pylintrc pyrightconfig.json",
     "--config-file --config --rcfile -p --project", ""},
    {"cmake ctest cpack",
     "CMakeLists.txt CMakePresets.json CMakeUserPresets.json CTestCustom.cmake "
     "CTestConfig.cmake",
     "-P", "--test-dir --build -B -S"},
    {"meson ninja samu", "meson.build meson_options.txt meson.options", "-f", "-C"},
    {"gradle gradlew",
     "build.gradle build.gradle.kts settings.gradle settings.gradle.kts "
     "gradle.properties gradlew",
     "-b --build-file -c -I --init-script", "-p --project-dir"},
    {"mvn mvnw mvnd", "pom.xml mvnw .mvn/maven.config .mvn/jvm.config .mvn/extensions.xml",
     "-f --file -s --settings", ""},
    {"ant", "build.xml", "-f -file -buildfile", ""},
    {"sbt", "build.sbt", "", ""},
    {"rake bundle rspec ruby-test minitest cucumber rubocop",
     "Rakefile rakefile Rakefile.rb Gemfile .rspec .rubocop.yml cucumber.yml",
     "-f --rakefile -O --options -c --config", ""},
    {"just", "justfile Justfile .justfile", "-f --justfile", "-d --working-directory"},
    {"task go-task", "Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml", "-t --taskfile",
     "-d --dir"},
    {"bazel bazelisk blaze buck buck2",
     "WORKSPACE WORKSPACE.bazel MODULE.bazel BUILD BUILD.bazel .bazelrc .buckconfig BUCK", "", ""},
    {"dotnet msbuild nunit3-console",
     "*.sln *.slnx *.csproj *.fsproj *.vbproj Directory.Build.props Directory.Build.targets "
     "global.json *.runsettings nuget.config",
     "-s --settings", ""},
    {"mix", "mix.exs .formatter.exs .credo.exs", "", ""},
    {"rebar3", "rebar.config rebar.config.script", "", ""},
    {"lein clj clojure bb", "project.clj deps.edn bb.edn", "", ""},
    {"stack cabal", "stack.yaml package.yaml *.cabal cabal.project", "--stack-yaml --project-file",
     ""},
    {"dune", "dune-project dune dune-workspace", "", "--root"},
    {"composer phpunit pest phpstan psalm paratest",
     "composer.json phpunit.xml phpunit.xml.dist phpunit.dist.xml phpstan.neon phpstan.neon.dist "
     "psalm.xml",
     "-c --configuration", "-d --working-dir"},
    {"flutter dart", "pubspec.yaml analysis_options.yaml dart_test.yaml", "", "-C"},
    {"swift xcodebuild", "Package.swift", "", "--package-path"},
    {"zig", "build.zig build.zig.zon", "--build-file", ""},
    {"scons", "SConstruct Sconstruct sconstruct", "-f --file", "-C"},
    {"waf", "wscript", "", ""},
    {"nix nix-build nix-shell", "flake.nix default.nix shell.nix", "", ""},
    {"docker docker-compose podman",
     "Dockerfile docker-compose.yml docker-compose.yaml compose.yml compose.yaml .dockerignore",
     "-f --file", "--project-directory"},
    {"prove perl", "Makefile.PL Build.PL .proverc", "", ""},
    {"bats shellcheck shellspec", ".shellcheckrc .shellspec", "", ""},
    {"lua busted luacheck", ".busted .luacheckrc", "-f", ""},
    {"turbo nx lerna", "package.json turbo.json nx.json lerna.json", "", ""},
    {"grep egrep fgrep rg sed awk gawk mawk", "", "-f --file", ""},
    {"md5sum sha1sum sha256sum sha512sum cksum", "", "-c --check", ""},
    {"R Rscript", "DESCRIPTION .Rprofile", "", ""},
    {"julia", "Project.toml", "", ""},
};

const struct recipe *recipe_of(struct str program)
{
    for (size_t i = 0; i < ARRAY_LEN(recipes); i++) {
        if (str_is_word_of(program, recipes[i].programs))
            return &recipes[i];
    }
    return NULL;
}

bool recipe_is_order(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(recipes); i++) {
        struct str files = str_of(recipes[i].files);
        struct str pattern;

        while (files.len && str_cut(&files, ' ', &pattern)) {
            if (pattern.len && !str_is(pattern, "*") && recipe_name_fits(pattern, name))
                return true;
        }
    }
    return false;
}

bool recipe_is_runner(struct str program)
{
    return str_is_word_of(
        program,
        "sudo doas env exec command nohup setsid nice ionice chrt taskset time timeout "
        "stdbuf xargs parallel watch flock strace ltrace valgrind script xvfb-run "
        "dbus-run-session unbuffer chronic faketime fakeroot setarch systemd-run firejail "
        "bwrap unshare find npx bunx pnpx pnpm yarn npm bun poetry uv uvx pipenv pdm hatch "
        "pipx bundle rtx mise asdf direnv docker podman nix opam cross coverage nyc c8 "
        "gotestsum eval not");
}

bool recipe_is_interpreter(struct str program)
{
    static const char *const versioned[] = {"python*", "pypy*", "ruby*", "perl*", "php*", "lua*"};

    for (size_t i = 0; i < ARRAY_LEN(versioned); i++) {
        if (recipe_name_fits(str_of(versioned[i]), program) &&
            !str_is_word_of(program, "phpunit phpstan phpcs luacheck rubocop"))
            return true;
    }
    return str_is_word_of(program,
                          "sh bash zsh dash ksh ash fish source . node nodejs deno bun tsx "
                          "ts-node Rscript julia tclsh wish expect pwsh groovy scala "
                          "elixir escript ocaml guile racket sbcl bats prove");
}

bool recipe_inspects(struct str program)
{
    return str_is_word_of(
        program,
        "test [ [[ ls cat tac head tail wc stat file grep egrep fgrep rg ag ack jq yq xq sed awk "
        "gawk mawk sort uniq cut tr paste column nl od xxd hexdump strings find fd du echo printf "
        "touch rm rmdir cp mv ln mkdir chmod chown tee xmllint tidy md5sum sha1sum sha256sum "
        "sha512sum cksum readlink realpath basename dirname cd pushd git hg svn curl wget tar gzip "
        "gunzip zip unzip nm objdump readelf ldd size "
        "cc gcc g++ c++ clang clang++ tcc ld ar as rustc javac kotlinc scalac ghc ocamlfind "
        "ocamlopt fpc gfortran nim zig dmd ldc2 swiftc tsc csc mcs protoc flex bison "
        "black ruff flake8 mypy pylint isort pyright eslint prettier biome stylelint shellcheck "
        "clang-format clang-tidy cppcheck rustfmt gofmt golint staticcheck rubocop luacheck "
        "yamllint markdownlint hadolint checkstyle pdflatex xelatex lualatex latexmk pandoc typst "
        "sphinx-build");
}

bool recipe_is_builtin(struct str program)
{
    return str_is_word_of(
        program, "cd pushd popd test [ [[ echo printf true false : exit return set unset "
                 "export local readonly shift trap wait eval exec source . command builtin "
                 "type hash ulimit umask read alias unalias if then else elif fi for while "
                 "until do done case esac in { } ! ( ) function break continue times getopts "
                 "jobs bg fg kill");
}

bool recipe_name_fits(struct str pattern, struct str name)
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
        if (recipe_name_fits(behind, str_from(name, i)))
            return true;
    }
    return false;
}

/* ---- tests ---- */

#define SOURCE_ENDS                                                                                \
    "c cc cpp cxx c++ m mm h hpp go py rb rs js jsx ts tsx mjs cjs mts cts java kt kts scala "     \
    "groovy "                                                                                      \
    "cs fs vb php swift dart ex exs erl hs ml lua pl pm t r R jl nim zig cr d f90 sh bash bats "   \
    "zsh "                                                                                         \
    "fish ps1 clj cljs cljc el lisp rkt vue svelte sql"

/* The name without its end: foo_test of foo_test.c, foo.test of foo.test.ts. */
static bool stem_is_test(struct str stem)
{
    static const char *const small[] = {
        "test_*",   "*_test",   "*_tests", "*-test",   "*-tests",   "*.test",
        "*.tests",  "*.spec",   "*_spec",  "*-spec",   "*.e2e",     "*.cy",
        "*_SUITE",  "test-*",   "tests-*", "run_test", "run_tests", "run-tests",
        "runtests", "conftest", "test",    "tests",    "spec"};

    for (size_t i = 0; i < ARRAY_LEN(small); i++) {
        if (recipe_name_fits(str_of(small[i]), stem))
            return true;
    }
    return false;
}

/* Languages that begin words of a name with capitals: FooTest.java, FooTests.cs, FooSpec.scala. */
static bool stem_is_camel_test(struct str stem, struct str end)
{
    static const char *const names[] = {"*Test", "*Tests", "*TestCase", "*Spec", "*IT", "Test*"};

    if (!str_is_word_of(end, "java kt kts scala groovy cs fs vb php swift m mm hs"))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (recipe_name_fits(str_of(names[i]), stem) && !str_is(stem, "IT"))
            return true;
    }
    return false;
}

static bool name_is_test(struct str name)
{
    size_t dot = name.len;
    struct str end;
    struct str stem;

    while (dot > 0 && name.ptr[dot - 1] != '.')
        dot--;
    if (dot < 2)
        return false; /* no end, or a hidden name */
    end = str_from(name, dot);
    stem = str_first(name, dot - 1);
    if (str_is_word_of(end, "snap bats feature robot t"))
        return true;
    return str_is_word_of(end, SOURCE_ENDS) &&
           (stem_is_test(stem) || stem_is_camel_test(stem, end));
}

bool recipe_is_output_dir(struct str name)
{
    return str_is_word_of(
        name, ".git .hg .svn .jj node_modules bower_components target build _build dist out vendor "
              ".venv venv .tox .nox .eggs .gradle .m2 .cache .next .nuxt .turbo .parcel-cache "
              ".dart_tool .stack-work dist-newstyle .zig-cache zig-cache zig-out "
              "__pycache__ .pytest_cache .mypy_cache .ruff_cache .ipynb_checkpoints coverage "
              "htmlcov .nyc_output DerivedData bin obj .terraform .direnv .idea .vscode .tenax "
              ".claude");
}

/* What runs of tests and compilers leave beside them. */
static bool name_is_left_over(struct str name)
{
    static const char *const ends[] = {".pyc",  ".pyo", ".o",   ".a",   ".so",  ".class", ".gcno",
                                       ".gcda", ".log", ".trs", ".tmp", ".swp", "~"};

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (str_ends(name, str_of(ends[i])))
            return true;
    }
    return false;
}

bool recipe_is_test(struct str path)
{
    bool in_tests = false;

    while (str_chr(path, '/') < path.len) {
        struct str folder;

        str_cut(&path, '/', &folder);
        if (recipe_is_output_dir(folder))
            return false;
        in_tests |= str_is_word_of(folder, "test tests Test Tests __tests__ spec specs testdata "
                                           "test_data test-data testsuite __snapshots__ __mocks__ "
                                           "e2e integration_test integration_tests "
                                           "integration-tests androidTest unittests testing_data");
    }
    if (in_tests && name_is_left_over(path))
        return false;
    return in_tests || name_is_test(path);
}
