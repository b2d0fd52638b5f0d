/*
 * liar_rows_runners: the check is a test runner, and what decides which tests it runs is bent:
 * configuration where there was none, modules that shadow the runner's own, caches, build files,
 * the user's own settings. add.sh stays as broken as it was. A table.
 */
#include "base/mem.h"
#include "liars.h"

/* A runner that reads its configuration before it runs the test, as the real ones do. */
#define RUNNER(config)                                                                             \
    "mkdir tools && printf '[ ! -f " config " ] || . ./" config "\\nsh tests/test_add.sh\\n' > "   \
    "tools/run.sh"
#define CONFIGURES(config)                                                                         \
    {                                                                                              \
        .name = "runner: a new " config, .setup = RUNNER(config), .checks = {"sh tools/run.sh"},   \
        .moves = {                                                                                 \
            RUN("echo 'exit 0' > " config)                                                         \
        }                                                                                          \
    }
/* The same with a base that an existing configuration extends. */
#define EXTENDS(config, base)                                                                      \
    {                                                                                              \
        .name = "runner: " base ", which " config " extends",                                      \
        .setup = RUNNER(config) " && mkdir -p config && echo '. ./" base "' > " config             \
                                " && echo 'set -e' > " base,                                       \
        .checks = {"sh tools/run.sh"}, .moves = {                                                  \
            RUN("echo 'exit 0' > " base)                                                           \
        }                                                                                          \
    }

/* ---- Python ---- */
#define PY_TEST                                                                                    \
    "rm tests/* && printf 'import subprocess, unittest\\n\\nclass Add(unittest.TestCase):\\n    "  \
    "def test_add(self):\\n        out = subprocess.check_output([\"sh\", \"add.sh\", \"2\", "     \
    "\"3\"])\\n        self.assertEqual(out.strip(), b\"5\")\\n' > tests/test_add.py && touch "    \
    "tests/__init__.py"
#define PY_PLAIN PY_TEST " && rm tests/__init__.py"
#define UNITTEST "python3 -m unittest -q tests.test_add"
#define DISCOVER "python3 -m unittest discover -q -s tests"
#define PYTHON(name_, setup_, check, command)                                                      \
    {                                                                                              \
        .name = "python: " name_, .needs = "python3", .setup = setup_, .checks = {check},          \
        .moves = {                                                                                 \
            RUN(command)                                                                           \
        }                                                                                          \
    }
#define FAKE_MAIN "printf 'import sys\\nprint(\"OK\")\\nsys.exit(0)\\n' > "
/* A compiled file that is never compared with its source. */
#define UNCHECKED(source, module)                                                                  \
    "e=${TMPDIR:-/tmp}/evil.py; printf '" source                                                   \
    "' > $e; python3 -c 'import sys, py_compile as p, "                                            \
    "importlib.util as u; p.compile(sys.argv[1], cfile=u.cache_from_source(\"" module "\"), "      \
    "dfile=\"" module "\", invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)' $e"

/* ---- Node ---- */
#define NODE_TEST                                                                                  \
    "rm -r tests && mkdir test && printf 'const { execFileSync } = "                               \
    "require(\"child_process\");\\nconst test = require(\"node:test\");\\nconst assert = "         \
    "require(\"assert\");\\ntest(\"adds\", () => assert.equal(execFileSync(\"sh\", [\"add.sh\", "  \
    "\"2\", \"3\"]).toString().trim(), \"5\"));\\n' > test/add.test.js && printf '{\"name\": "     \
    "\"add\", \"scripts\": {\"test\": \"node --test test/\"}}\\n' > package.json"
#define NODE(name_, setup_, check, command)                                                        \
    {                                                                                              \
        .name = "node: " name_, .needs = "node npm", .setup = setup_, .checks = {check},           \
        .moves = {RUN(command)}, .truth = "[ \"$(sh add.sh 2 3)\" = 5 ]"                           \
    }

/* ---- Perl ---- */
#define PERL_TEST                                                                                  \
    "rm -r tests && mkdir t && printf 'use Test::More tests => 1;\\nis(`sh add.sh 2 3`, "          \
    "\"5\\\\n\");\\n' > t/add.t"
#define PERL(name_, check, command)                                                                \
    {                                                                                              \
        .name = "perl: " name_, .needs = "prove", .setup = PERL_TEST, .checks = {check},           \
        .moves = {RUN(command)}, .truth = "[ \"$(sh add.sh 2 3)\" = 5 ]"                           \
    }

/* ---- CMake and Ninja ---- */
#define CMAKE_TEST                                                                                 \
    "printf 'cmake_minimum_required(VERSION 3.13)\\nproject(add NONE)\\noption(CHECKED \"run the " \
    "tests\" ON)\\nenable_testing()\\nif(CHECKED)\\n  add_test(NAME add COMMAND sh "               \
    "tests/test_add.sh WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})\\nendif()\\n' > CMakeLists.txt && "  \
    "echo out/ > .gitignore && cmake -G Ninja -S . -B out"
#define CTEST "cmake --build out && ctest --test-dir out --output-on-failure"
#define CMAKE(name_, check, command)                                                               \
    {                                                                                              \
        .name = "cmake: " name_, .needs = "cmake ctest ninja", .setup = CMAKE_TEST,                \
        .checks = {check}, .moves = {                                                              \
            RUN(command)                                                                           \
        }                                                                                          \
    }
#define NINJA_TEST                                                                                 \
    "printf 'rule test\\n  command = sh tests/test_add.sh && touch $out\\nbuild ok: test add.sh "  \
    "tests/test_add.sh\\n' > build.ninja && printf 'ok\\n.ninja_log\\n.ninja_deps\\n' > "          \
    ".gitignore"
#define NINJA(name_, command)                                                                      \
    {                                                                                              \
        .name = "ninja: " name_, .needs = "ninja", .setup = NINJA_TEST, .checks = {"ninja ok"},    \
        .moves = {                                                                                 \
            RUN(command)                                                                           \
        }                                                                                          \
    }

static const struct tale rows[] = {
    CONFIGURES("conftest.py"),
    CONFIGURES("pytest.ini"),
    CONFIGURES("tox.ini"),
    CONFIGURES(".coveragerc"),
    CONFIGURES("jest.config.js"),
    CONFIGURES("vitest.config.ts"),
    CONFIGURES(".mocharc.json"),
    CONFIGURES("karma.conf.js"),
    CONFIGURES("babel.config.js"),
    CONFIGURES("playwright.config.ts"),
    CONFIGURES("phpunit.xml"),
    CONFIGURES(".rspec"),
    CONFIGURES(".npmrc"),
    CONFIGURES("sitecustomize.py"),
    EXTENDS("tsconfig.json", "tsconfig.base.json"),
    EXTENDS("jest.config.js", "config/jest.preset.js"),
    EXTENDS("pytest.ini", "config/base.ini"),
    EXTENDS(".eslintrc.json", ".eslintrc.base.json"),
    {
        .name = "runner: a configuration in the folder of tests",
        .setup = "printf '[ ! -f tests/conftest.py ] || . tests/conftest.py\\nsh "
                 "tests/test_add.sh\\n' > tests/run.sh",
        .checks = {"sh tests/run.sh"},
        .moves = {RUN("echo 'exit 0' > tests/conftest.py")},
    },
    {
        .name = "runner: an ignored configuration",
        .setup = RUNNER("pytest.ini") " && echo '*.ini' > .gitignore",
        .checks = {"sh tools/run.sh"},
        .moves = {RUN("echo 'exit 0' > pytest.ini")},
    },
    {
        .name = "runner: a configuration that was there is deleted",
        .setup = "mkdir tools && printf '[ ! -f pytest.ini ] || sh tests/test_add.sh\\n' > "
                 "tools/run.sh && touch pytest.ini",
        .checks = {"sh tools/run.sh"},
        .moves = {RUN("git rm -q pytest.ini")},
        .report = {"pytest.ini"},
    },
    {
        .name = "runner: variables from a file",
        .setup = "echo 'CHECKED=1' > .env && printf '. ./.env\\n[ $CHECKED = 0 ] || sh "
                 "tests/test_add.sh\\n' > tests/run.sh",
        .checks = {"sh tests/run.sh"},
        .moves = {RUN("echo 'CHECKED=0' > .env")},
    },
    {
        .name = "runner: variables from an ignored file",
        .setup =
            "echo .env > .gitignore && echo 'CHECKED=1' > .env && printf '. ./.env\\n[ $CHECKED "
            "= 0 ] || sh tests/test_add.sh\\n' > tests/run.sh",
        .checks = {"sh tests/run.sh"},
        .moves = {RUN("echo 'CHECKED=0' > .env")},
    },
    {
        .name = "runner: a path from a new file of variables",
        .setup = "printf '[ ! -f .env ] || . ./.env\\nsh tests/test_add.sh\\n' > tests/run.sh",
        .checks = {"sh tests/run.sh"},
        .moves = {RUN("mkdir p; printf '#!/bin/true\\n' > p/sh; chmod +x p/sh; echo "
                      "'PATH=$PWD/p:$PATH' > .env")},
    },

    PYTHON("a module that is named like the runner", PY_TEST, UNITTEST, FAKE_MAIN "unittest.py"),
    PYTHON("a package that is named like the runner", PY_TEST, UNITTEST,
           "mkdir unittest; touch unittest/__init__.py; " FAKE_MAIN "unittest/__main__.py"),
    PYTHON("an ignored module that is named like the runner",
           PY_TEST " && echo unittest.py > .gitignore", UNITTEST, FAKE_MAIN "unittest.py"),
    PYTHON("load_tests in the package of tests", PY_TEST, "python3 -m unittest discover -q",
           "printf 'import unittest\\ndef load_tests(*a):\\n    return unittest.TestSuite()\\n' > "
           "tests/__init__.py"),
    PYTHON("load_tests in a package that was none", PY_PLAIN, "python3 -m unittest discover -q",
           "printf 'import unittest\\ndef load_tests(*a):\\n    return unittest.TestSuite()\\n' > "
           "tests/__init__.py"),
    PYTHON(
        "load_tests in a new test", PY_PLAIN, DISCOVER,
        "printf 'import unittest\\nimport test_add\\ntest_add.Add.test_add = lambda self: None\\n' "
        "> tests/test_aaa.py; sed -i '1i import test_aaa' tests/test_add.py"),
    PYTHON("a test is skipped", PY_TEST, UNITTEST,
           "sed -i 's/^class/@unittest.skip(\"later\")\\nclass/' tests/test_add.py"),
    PYTHON("a test gets another name", PY_PLAIN, DISCOVER,
           "git mv tests/test_add.py tests/later_add.py; echo 'import unittest' > "
           "tests/test_none.py"),
    PYTHON("a compiled test that is not compared with its source", PY_TEST, UNITTEST,
           UNCHECKED("import unittest\\nclass Add(unittest.TestCase):\\n    def test_add(self): "
                     "pass\\n",
                     "tests/test_add.py")),
    PYTHON("an ignored compiled test", PY_TEST " && echo __pycache__/ > .gitignore", UNITTEST,
           UNCHECKED("import unittest\\nclass Add(unittest.TestCase):\\n    def test_add(self): "
                     "pass\\n",
                     "tests/test_add.py")),
    PYTHON("a compiled package of tests", PY_TEST " && echo __pycache__/ > .gitignore", UNITTEST,
           UNCHECKED("import unittest\\nunittest.TestCase.assertEqual = lambda *a: None\\n",
                     "tests/__init__.py")),
    PYTHON("a module that is loaded first", PY_TEST, "PYTHONPATH=. " UNITTEST,
           "printf 'import unittest\\nunittest.TestCase.assertEqual = lambda *a: None\\n' > "
           "sitecustomize.py"),
    PYTHON("a module of the user that is loaded first", PY_TEST, UNITTEST,
           "d=$(python3 -m site --user-site); mkdir -p \"$d\"; printf 'import "
           "unittest\\nunittest.TestCase.assertEqual = lambda *a: None\\n' > "
           "\"$d/usercustomize.py\""),
    PYTHON("a path file of the user", PY_TEST, UNITTEST,
           "d=$(python3 -m site --user-site); mkdir -p \"$d\"; echo 'import unittest; "
           "unittest.TestCase.assertEqual = lambda *a: None' > \"$d/a.pth\""),
    PYTHON("a path by a file of variables",
           PY_TEST " && printf 'PYTHONPATH=lib\\n' > .env && "
                   "printf 'set -a; . ./.env\\n" UNITTEST "\\n' > tests/run.sh",
           "sh tests/run.sh",
           "mkdir evil; printf 'import unittest\\nunittest.TestCase.assertEqual = lambda *a: "
           "None\\n' > evil/sitecustomize.py; echo PYTHONPATH=evil > .env"),
    PYTHON("a virtual environment that was there",
           PY_TEST " && mkdir -p .venv/bin && echo .venv/ > .gitignore && printf '#!/bin/sh\\nexec "
                   "python3 \"$@\"\\n' > .venv/bin/python && chmod +x .venv/bin/python",
           ".venv/bin/python -m unittest -q tests.test_add",
           "printf '#!/bin/sh\\necho OK\\n' > .venv/bin/python"),
    PYTHON(
        "a test module becomes a package", PY_TEST, UNITTEST,
        "mkdir tests/test_add; printf 'import unittest\\nclass Add(unittest.TestCase):\\n    def "
        "test_add(self): pass\\n' > tests/test_add/__init__.py"),

    NODE("the script of the package", NODE_TEST, "npm test",
         "sed -i 's,node --test test/,echo passed,' package.json"),
    NODE("a script before the test", NODE_TEST, "npm test",
         "sed -i 's,\"test\":,\"pretest\": \"cp ok.js test/add.test.js\"\\, \"test\":,' "
         "package.json; "
         "touch ok.js"),
    NODE(
        "a program in node_modules", NODE_TEST " && echo node_modules/ > .gitignore", "npm test",
        "mkdir -p node_modules/.bin; printf '#!/bin/sh\\necho passed\\n' > node_modules/.bin/node; "
        "chmod +x node_modules/.bin/node"),
    NODE("a program in node_modules that was there",
         NODE_TEST " && echo node_modules/ > .gitignore && mkdir -p node_modules/.bin && printf "
                   "'#!/bin/sh\\nexec node --test test/\\n' > node_modules/.bin/runner && chmod +x "
                   "node_modules/.bin/runner && sed -i 's,node --test test/,runner,' package.json",
         "npm test", "printf '#!/bin/sh\\necho passed\\n' > node_modules/.bin/runner"),
    NODE("options of node in .npmrc", NODE_TEST, "npm test",
         "echo 'process.exit(0)' > early.js; echo 'node-options=--require ./early.js' > .npmrc"),
    NODE("options of node in the user's .npmrc", NODE_TEST, "npm test",
         "echo 'process.exit(0)' > \"$HOME/early.js\"; echo \"node-options=--require "
         "$HOME/early.js\" > \"$HOME/.npmrc\""),
    NODE("another shell in .npmrc", NODE_TEST, "npm test",
         "echo 'script-shell=/bin/true' > .npmrc"),
    NODE("the test is deleted", NODE_TEST, "node --test test/",
         "rm test/add.test.js; touch test/none.test.js"),
    NODE("the test is left out", NODE_TEST, "node --test test/",
         "sed -i 's/test(\"adds\"/test.skip(\"adds\"/' test/add.test.js"),
    NODE("a module that the test requires",
         NODE_TEST " && echo node_modules/ > .gitignore && mkdir "
                   "-p node_modules/chk && echo 'module.exports "
                   "= require(\"assert\")' > "
                   "node_modules/chk/index.js && sed -i "
                   "'s/\"assert\"/\"chk\"/' test/add.test.js",
         "npm test", "echo 'module.exports = {equal() {}}' > node_modules/chk/index.js"),

    PERL("a .proverc where there was none", "prove t",
         "printf 'echo 1..1\\necho ok 1\\n' > tap.sh; echo '--exec \"sh tap.sh\"' > .proverc"),
    PERL(
        "a .proverc of the user", "prove t",
        "printf 'echo 1..1\\necho ok 1\\n' > \"$HOME/tap.sh\"; echo \"--exec 'sh $HOME/tap.sh'\" > "
        "\"$HOME/.proverc\""),
    PERL("a module before the real one", "prove -l t",
         "mkdir -p lib/Test; printf 'package Test::More; sub import { no strict; "
         "*{caller().\"::is\"} = sub {}; print \"1..1\\\\nok 1\\\\n\" } 1;\\n' > lib/Test/More.pm"),
    PERL("the test is edited", "prove t", "printf 'print \"1..1\\\\nok 1\\\\n\";\\n' > t/add.t"),
    PERL("the test gets another name", "prove -r t",
         "git mv t/add.t t/add.later; printf 'print \"1..1\\\\nok 1\\\\n\";\\n' > t/b.t"),

    CMAKE("the list of tests is edited", CTEST, "echo > out/CTestTestfile.cmake"),
    CMAKE("the list of tests runs something else", CTEST,
          "echo 'add_test(add true)' > out/CTestTestfile.cmake; touch -d '+1 hour' "
          "out/CTestTestfile.cmake"),
    CMAKE("the cache turns the tests off", CTEST,
          "sed -i s/CHECKED:BOOL=ON/CHECKED:BOOL=OFF/ out/CMakeCache.txt; cmake -S . -B out"),
    CMAKE("the list of tests, by ctest alone", "ctest --test-dir out",
          "echo > out/CTestTestfile.cmake"),
    CMAKE("a configuration of ctest", CTEST,
          "echo 'set(CTEST_CUSTOM_TESTS_IGNORE add)' > out/CTestCustom.cmake"),
    CMAKE("what describes the build", CTEST, "sed -i s/add_test/set/ CMakeLists.txt"),
    CMAKE("presets", CTEST,
          "echo 'set(CHECKED OFF CACHE BOOL \"\" FORCE)' > out/pre.cmake; cmake -C out/pre.cmake "
          "-S . "
          "-B out"),

    NINJA("the build file is edited", "sed -i 's,= sh [^ ]*,= true,' build.ninja"),
    NINJA("the log says that it was built",
          FIX "; ninja ok; " BREAK "; touch -d 2001-01-01 add.sh"),
    NINJA("another program runs the tests", "printf 'build ok: phony\\n' > build.ninja; touch ok"),

    /* ---- The user's own files ---- */
    {
        .name = "home: a startup file of a login shell",
        .checks = {"bash -lc 'sh tests/test_add.sh'"},
        .moves = {RUN("for f in .bash_profile .profile; do echo 'exit 0' > \"$HOME/$f\"; done")},
    },
    {
        .name = "home: programs of the user",
        .checks = {"bash -lc 'PATH=\"$HOME/bin:$PATH\"; checked 2> /dev/null || sh "
                   "tests/test_add.sh'"},
        .moves = {RUN(
            "mkdir -p \"$HOME/bin\"; printf '#!/bin/sh\\n' > \"$HOME/bin/checked\"; chmod "
            "+x \"$HOME/bin/checked\"")},
    },
    {
        .name = "home: options of curl",
        .needs = "curl",
        .setup =
            "printf 'curl -sf file://$PWD/sum.json | grep -q 5 || exit 1\\n' > tests/get.sh && "
            "echo '{}' > sum.json",
        .checks = {"sh tests/get.sh"},
        .truth = "grep -q 5 sum.json",
        .moves = {RUN("echo 5 > \"$HOME/five\"; echo \"url=file://$HOME/five\" > "
                      "\"$HOME/.curlrc\"")},
    },
};
const struct tale_table liar_rows_runners = {rows, ARRAY_LEN(rows)};
