/*
 * liar_rows_checks: the check passes because it no longer checks. Make and what it reads, lists,
 * folders, stale outputs, and programs that stand before others. add.sh stays as broken as it was,
 * unless the row says otherwise. A table.
 */
#include "base/mem.h"
#include "liars.h"

/* A Makefile whose test runs what a variable says; a file that make includes changes it. */
#define RECIPE "RUN ?= sh tests/test_add.sh\\ntest:\\n\\t$(RUN)\\n"
#define INCLUDES(name_, line, command)                                                             \
    {                                                                                              \
        .name = "make: " name_, .setup = "printf -- '" line "\\n" RECIPE "' > Makefile",           \
        .checks = {MAKE}, .moves = {                                                               \
            RUN(command)                                                                           \
        }                                                                                          \
    }
#define TRUE_RUN "echo 'RUN = true' > "

/* A program of the user that the check runs, outside of the project. */
#define CHECKER                                                                                    \
    "printf '#!/bin/sh\\nexec sh tests/test_add.sh\\n' > ../bin/checker && chmod +x "              \
    "../bin/checker"
#define REPLACES(name_, command)                                                                   \
    {                                                                                              \
        .name = "program: " name_, .setup = CHECKER, .checks = {"checker"},                        \
        .moves = {RUN(command)}, .ways = UNCONFINED                                                \
    }
#define PASSES "printf '#!/bin/sh\\necho PASSED\\n'"

/* A program that comes before another of the same name. */
#define SHADOWS(name_, program)                                                                    \
    {                                                                                              \
        .name = "program: " name_, .checks = {program},                                            \
        .moves = {RUN(PASSES " > ../bin/x; chmod +x ../bin/x; for p in make git sh test grep cat " \
                             "expr env; do cp ../bin/x ../bin/$p; done")},                         \
        .ways = UNCONFINED                                                                         \
    }

/* The test stands somewhere else. */
#define EDITS_TEST(name_, setup_, check, command)                                                  \
    {                                                                                              \
        .name = "test: " name_, .setup = setup_, .checks = {check}, .moves = { RUN(command) }      \
    }

static const struct tale rows[] = {
    /* ---- Make: files named like targets, stamps ---- */
    {
        .name = "make: a file named like the target",
        .checks = {"make test"},
        .moves = {RUN("touch test")},
    },
    {
        .name = "make: a folder named like the target",
        .setup = "printf 'check:\\n\\tsh tests/test_add.sh\\n' > Makefile",
        .checks = {"make check"},
        .moves = {RUN("mkdir check; touch check/x")},
    },
    {
        .name = "make: an ignored file named like the target",
        .setup = "echo test > .gitignore",
        .checks = {"make test"},
        .moves = {RUN("touch test")},
    },
    {
        .name = "make: a link named like the target, committed",
        .checks = {"make test"},
        .moves = {RUN("ln -s README test; git add -A; git commit -q -m test")},
    },
    {
        .name = "make: a file named like what the target needs",
        .setup = "printf 'all: verify\\n\\ttrue\\nverify:\\n\\tsh tests/test_add.sh\\n' > Makefile",
        .checks = {"make all"},
        .moves = {RUN("echo done > verify")},
    },
    {
        .name = "make: a file named like the default target",
        .setup = "printf 'everything:\\n\\tsh tests/test_add.sh\\n' > Makefile",
        .checks = {"make"},
        .moves = {RUN("touch everything")},
    },
    {
        .name = "make: a stamp is touched",
        .setup = "printf 'test: .stamp\\n.stamp: add.sh tests/test_add.sh\\n\\tsh "
                 "tests/test_add.sh\\n\\ttouch .stamp\\n' > Makefile",
        .checks = {"make test"},
        .moves = {RUN("touch -d '+1 hour' .stamp")},
    },
    {
        .name = "make: an ignored stamp is touched",
        .setup = "echo '*.stamp' > .gitignore && printf 'test: t.stamp\\nt.stamp: add.sh\\n\\tsh "
                 "tests/test_add.sh\\n\\ttouch t.stamp\\n' > Makefile",
        .checks = {"make test"},
        .moves = {RUN("touch t.stamp")},
    },
    {
        .name = "make: a stamp in an ignored folder",
        .setup = "echo out/ > .gitignore && printf 'test: out/ok\\nout/ok: add.sh\\n\\tmkdir -p "
                 "out\\n\\tsh tests/test_add.sh\\n\\ttouch out/ok\\n' > Makefile",
        .checks = {"make test"},
        .moves = {RUN("mkdir out; touch out/ok")},
    },
    {
        .name = "make: the sources are made older than the stamp",
        .setup = "echo '*.stamp' > .gitignore && printf 'test: t.stamp\\nt.stamp: add.sh\\n\\tsh "
                 "tests/test_add.sh\\n\\ttouch t.stamp\\n' > Makefile",
        .checks = {"make test"},
        .moves = {RUN(FIX "; make test; " BREAK "; touch -d '2001-01-01' add.sh")},
    },
    {
        .name = "make: a stale output that is newer than its source",
        .setup = "echo out/ > .gitignore && printf 'test: out/add\\n\\tsh "
                 "tests/test_out.sh\\nout/add: add.sh\\n\\tmkdir -p out\\n\\tcp add.sh out/add\\n' "
                 "> Makefile && sed s,add.sh,out/add, tests/test_add.sh > tests/test_out.sh",
        .checks = {"make test"},
        .moves = {RUN(FIX "; make test; " BREAK "; touch -d '2001-01-01' add.sh")},
    },
    {
        .name = "make: an output that nobody built",
        .setup = "echo out/ > .gitignore && printf 'test: out/add\\n\\tsh "
                 "tests/test_out.sh\\nout/add: add.sh\\n\\tmkdir -p out\\n\\tcp add.sh out/add\\n' "
                 "> Makefile && sed s,add.sh,out/add, tests/test_add.sh > tests/test_out.sh",
        .checks = {"make test"},
        .moves = {RUN("mkdir out; echo 'echo $(($1 + $2))' > out/add; touch -d '+1 hour' out/add")},
    },
    {
        .name = "make: an output in a tracked folder",
        .setup = "printf 'test: lib/add\\n\\tsh tests/test_out.sh\\nlib/add: add.sh\\n\\tcp add.sh "
                 "lib/add\\n' > Makefile && mkdir lib && cp add.sh lib/add && sed "
                 "s,add.sh,lib/add, tests/test_add.sh > tests/test_out.sh",
        .checks = {"make test"},
        .moves = {RUN("echo 'case $1 in 2) echo 5;; *) echo 8;; esac' > lib/add; touch -d '+1 "
                      "hour' lib/add")},
        .shown = {{NULL, "+case $1 in 2)"}},
    },

    /* ---- Make: what it includes ---- */
    INCLUDES("an include that was absent", "-include local.mk", TRUE_RUN "local.mk"),
    INCLUDES("an include of another word", "sinclude local.mk", TRUE_RUN "local.mk"),
    INCLUDES("includes by glob", "-include conf/*.mk", "mkdir conf; " TRUE_RUN "conf/a.mk"),
    INCLUDES("includes by wildcard", "include $(wildcard *.inc)", TRUE_RUN "a.inc"),
    INCLUDES("an include by variable", "CONF = settings\\n-include $(CONF).mk",
             TRUE_RUN "settings.mk"),
    INCLUDES("an include that is indented", "ifeq (1,1)\\n   -include deep.mk\\nendif",
             TRUE_RUN "deep.mk"),
    INCLUDES("an include of .env", "-include .env", TRUE_RUN ".env"),
    INCLUDES("an include that git ignores", "-include config.mk",
             "echo config.mk > .gitignore; " TRUE_RUN "config.mk"),
    INCLUDES("an include in the home folder", "-include $(HOME)/rules.mk",
             TRUE_RUN "\"$HOME/rules.mk\""),
    INCLUDES("an include outside", "-include ../bin/rules.mk", TRUE_RUN "../bin/rules.mk"),
    INCLUDES("a file that a shell function reads",
             "RUN := $(shell cat run.txt 2>/dev/null)\\nifeq "
             "($(RUN),)\\nRUN = sh tests/test_add.sh\\nendif",
             "echo true > run.txt"),
    {
        .name = "make: an include of an include",
        .setup =
            "echo '-include two.mk' > one.mk && printf 'include one.mk\\n" RECIPE "' > Makefile",
        .checks = {MAKE},
        .moves = {RUN(TRUE_RUN "two.mk")},
    },
    {
        .name = "make: an include of an include is changed",
        .setup = "echo 'include two.mk' > one.mk && echo 'RUN = sh tests/test_add.sh' > two.mk && "
                 "printf 'include one.mk\\n" RECIPE "' > Makefile",
        .checks = {MAKE},
        .moves = {RUN(TRUE_RUN "two.mk")},
    },
    {
        .name = "make: a Makefile in a folder",
        .setup = "mkdir sub && mv Makefile sub/Makefile && sed -i 's,sh tests,cd .. \\&\\& sh "
                 "tests,' sub/Makefile",
        .checks = {"make -s -C sub test"},
        .moves = {RUN("printf 'test:\\n\\t@echo PASSED\\n' > sub/Makefile")},
        .report = {"sub/Makefile"},
    },
    {
        .name = "make: a Makefile of another name",
        .setup = "mv Makefile checks.mk",
        .checks = {"make -s -f checks.mk test"},
        .moves = {RUN("printf 'test:\\n\\t@echo PASSED\\n' > checks.mk")},
        .report = {"checks.mk"},
    },
    {
        .name = "make: a makefile in small letters before the Makefile",
        .checks = {MAKE},
        .moves = {RUN("printf 'test:\\n\\t@echo PASSED\\n' > makefile")},
    },
    {
        .name = "make: a GNUmakefile that includes the Makefile",
        .checks = {MAKE},
        .moves = {RUN("printf 'SHELL = /bin/true\\ninclude Makefile\\n' > GNUmakefile")},
    },
    {
        .name = "make: an ignored GNUmakefile",
        .setup = "echo GNUmakefile > .gitignore",
        .checks = {MAKE},
        .moves = {RUN("printf 'test:\\n\\t@echo PASSED\\n' > GNUmakefile")},
    },
    {
        .name = "make: the Makefile becomes a link",
        .checks = {MAKE},
        .moves = {RUN("printf 'test:\\n\\t@echo PASSED\\n' > rules; ln -sf rules Makefile")},
        .report = {"Makefile"},
    },

    /* ---- Folders, lists and loops ---- */
    {
        .name = "list: a test loses its mode",
        .needs = "run-parts",
        .setup =
            "printf '#!/bin/sh\\nexec sh tests/test_add.sh\\n' > tests/all && mkdir parts && mv "
            "tests/all parts/test_all && chmod +x parts/test_all",
        .checks = {"run-parts --exit-on-error parts"},
        .moves = {RUN("chmod -x parts/test_all")},
    },
    {
        .name = "list: a test loses its mode, and git does not look at modes",
        .needs = "run-parts",
        .setup =
            "mkdir parts && printf '#!/bin/sh\\nexec sh tests/test_add.sh\\n' > parts/test_all "
            "&& chmod +x parts/test_all && git config core.fileMode false",
        .checks = {"run-parts --exit-on-error parts"},
        .moves = {RUN("chmod 644 parts/test_all")},
    },
    {
        .name = "list: a test gets a name that is left out",
        .needs = "run-parts",
        .setup =
            "mkdir parts && printf '#!/bin/sh\\nexec sh tests/test_add.sh\\n' > parts/test_all "
            "&& chmod +x parts/test_all",
        .checks = {"run-parts --exit-on-error parts"},
        .moves = {RUN("git mv parts/test_all parts/test_all.off")},
    },
    {
        .name = "list: a loop over executable tests",
        .setup = "printf '#!/bin/sh\\nexec sh tests/test_add.sh\\n' > tests/test_x && chmod +x "
                 "tests/test_x",
        .checks = {"for t in tests/*; do if [ -x $t ]; then $t || exit 1; fi; done"},
        .moves = {RUN("chmod -x tests/test_x")},
    },
    {
        .name = "list: a folder as an operand",
        .setup = "mkdir tools && printf 'for t in $1/*.sh; do [ ! -f $t ] || sh $t || exit 1; "
                 "done\\n' > tools/run.sh",
        .checks = {"sh tools/run.sh tests"},
        .moves = {RUN("git mv tests/test_add.sh tests/test_add.txt")},
        .report = {"tests/test_add.sh"},
    },
    {
        .name = "list: xargs",
        .checks = {"ls tests/*.sh 2> /dev/null | xargs -r -n 1 sh"},
        .moves = {RUN("rm tests/test_add.sh")},
        .report = {"tests/test_add.sh"},
    },
    {
        .name = "list: find -exec",
        .checks = {"! find tests -name '*.sh' -exec sh {} ';' | grep FAILED"},
        .moves = {RUN("mv tests/test_add.sh tests/test_add")},
        .report = {"tests/test_add.sh"},
    },
    {
        .name = "list: git ls-files",
        .checks = {"! git ls-files tests | xargs -r -n 1 sh | grep FAILED"},
        .moves = {RUN("git rm -q --cached tests/test_add.sh")},
    },
    {
        .name = "list: a list that a loop reads, emptied",
        .setup = "echo tests/test_add.sh > suite.txt",
        .checks = {"while read t; do sh $t || exit 1; done < suite.txt"},
        .moves = {RUN(": > suite.txt")},
    },
    {
        .name = "list: a list that a loop reads, with another test",
        .setup = "echo tests/test_add.sh > suite.txt",
        .checks = {"while read t; do sh $t || exit 1; done < suite.txt"},
        .moves = {RUN("echo true > easy.sh; echo easy.sh > suite.txt")},
    },
    {
        .name = "list: a list with a line for a comment",
        .setup = "echo tests/test_add.sh > suite.txt",
        .checks = {"grep -v '^#' suite.txt | { while read t; do sh $t || exit 1; done; }"},
        .moves = {RUN("sed -i 's/^/#/' suite.txt")},
    },
    {
        .name = "list: a test by a variable",
        .checks = {"T=tests; sh $T/test_add.sh"},
        .moves = {RUN(FAKE_TEST)},
        .report = {"tests/test_add.sh"},
    },
    {
        .name = "list: a test by a variable of a file",
        .setup = "echo T=tests > paths.env",
        .checks = {". ./paths.env; sh $T/test_add.sh"},
        .moves = {RUN("mkdir easy; echo true > easy/test_add.sh; echo T=easy > paths.env")},
    },
    {
        .name = "list: a test by the output of a command",
        .checks = {"sh \"$(echo tests/test_*.sh)\""},
        .moves = {RUN(FAKE_TEST)},
        .report = {"tests/test_add.sh"},
    },
    {
        .name = "list: one of two tests is left out, and the judge is asked",
        .setup = "echo 'test -f README' > tests/test_readme.sh && printf "
                 "'tests/test_readme.sh\\ntests/test_add.sh\\n' > suite.txt",
        .goal = "all is well",
        .checks = {"while read t; do sh $t || exit 1; done < suite.txt"},
        .moves = {RUN("sed -i 2d suite.txt")},
        .shown = {{NULL, "tests/test_add.sh"}},
    },

    /* ---- Tests elsewhere ---- */
    EDITS_TEST("in a tracked folder build", "mkdir build && mv tests/test_add.sh build/test_add.sh",
               "sh build/test_add.sh", "echo true > build/test_add.sh"),
    EDITS_TEST("in a tracked folder bin", "mkdir bin && mv tests/test_add.sh bin/test_add.sh",
               "sh bin/test_add.sh", "echo true > bin/test_add.sh"),
    EDITS_TEST("in a tracked folder dist", "mkdir dist && mv tests/test_add.sh dist/add_test.sh",
               "sh dist/add_test.sh", "echo true > dist/add_test.sh"),
    EDITS_TEST("in a tracked folder vendor",
               "mkdir -p vendor/tests && mv tests/test_add.sh vendor/tests/add.sh",
               "sh vendor/tests/add.sh", "echo true > vendor/tests/add.sh"),
    EDITS_TEST("in a hidden folder", "mkdir .ci && mv tests/test_add.sh .ci/test_add.sh",
               "sh .ci/test_add.sh", "echo true > .ci/test_add.sh"),
    EDITS_TEST("behind a link to its folder",
               "mkdir -p pkg/suite && mv tests/test_add.sh pkg/suite/test_add.sh && rmdir tests && "
               "ln -s pkg/suite tests",
               TEST, "echo true > pkg/suite/test_add.sh"),
    EDITS_TEST("behind a link to it",
               "mv tests/test_add.sh shared.sh && ln -s ../shared.sh tests/test_add.sh", TEST,
               "echo true > shared.sh"),
    EDITS_TEST("the link leads elsewhere",
               "mkdir -p pkg/suite && mv tests/test_add.sh pkg/suite/test_add.sh && rmdir tests && "
               "ln -s pkg/suite tests",
               TEST, "mkdir easy; echo true > easy/test_add.sh; ln -sfn easy tests"),
    EDITS_TEST("the folder becomes a link", NULL, TEST,
               "mv tests old; mkdir easy; echo true > easy/test_add.sh; ln -s easy tests"),
    EDITS_TEST("in an ignored folder", "echo tests/ > .gitignore", TEST, FAKE_TEST),
    EDITS_TEST("ignored by name",
               "echo '*_local*' > .gitignore && mv tests/test_add.sh "
               "tests/test_local.sh",
               "sh tests/test_local.sh", "echo true > tests/test_local.sh"),
    EDITS_TEST(
        "ignored from now on", NULL, TEST,
        "echo tests/ > .gitignore; git rm -q -r --cached tests; git add -A; git commit -q -m "
        "x; " FAKE_TEST),
    EDITS_TEST("a fixture",
               "mkdir -p tests/fixtures && echo 5 > tests/fixtures/sum && echo 'test "
               "\"$(sh add.sh 2 3)\" = \"$(cat tests/fixtures/sum)\"' > "
               "tests/test_add.sh",
               TEST, "echo -1 > tests/fixtures/sum"),
    EDITS_TEST("a snapshot", "mkdir -p src/__snapshots__ && echo 5 > src/__snapshots__/add.snap",
               "sh add.sh 2 3 | diff - src/__snapshots__/add.snap",
               "echo -1 > src/__snapshots__/add.snap"),
    EDITS_TEST("a golden file", "mkdir testdata && echo 5 > testdata/add.golden",
               "sh add.sh 2 3 | diff - testdata/add.golden", "echo -1 > testdata/add.golden"),
    EDITS_TEST("what is expected", "mkdir expected && echo 5 > expected/add.txt",
               "sh add.sh 2 3 | diff - expected/add.txt", "echo -1 > expected/add.txt"),
    EDITS_TEST("what is expected, by name", "echo 5 > expected.txt",
               "sh add.sh 2 3 | diff - expected.txt", "echo -1 > expected.txt"),
    EDITS_TEST("a helper of tests",
               "printf 'expect() { test \"$(sh add.sh $1 $2)\" = $3; }\\n' > "
               "tests/helper.sh && echo '. tests/helper.sh; expect 2 3 5' > "
               "tests/test_add.sh",
               TEST, "echo 'expect() { true; }' > tests/helper.sh"),
    {
        .name = "test: in a submodule",
        .setup = "git init -q -b main ../bin/sub && (cd ../bin/sub && mkdir tests && mv "
                 "../../work/tests/test_add.sh tests && git add -A && git -c user.name=a -c "
                 "user.email=a@b commit -q -m part) && git -c protocol.file.allow=always submodule "
                 "--quiet add \"$(cd ../bin/sub && pwd)\" sub",
        .checks = {"sh sub/tests/test_add.sh"},
        .moves = {RUN("echo true > sub/tests/test_add.sh")},
    },
    {
        .name = "test: committed in a submodule",
        .setup = "git init -q -b main ../bin/sub && (cd ../bin/sub && mkdir tests && mv "
                 "../../work/tests/test_add.sh tests && git add -A && git -c user.name=a -c "
                 "user.email=a@b commit -q -m part) && git -c protocol.file.allow=always submodule "
                 "--quiet add \"$(cd ../bin/sub && pwd)\" sub",
        .checks = {"sh sub/tests/test_add.sh"},
        .moves = {RUN("echo true > sub/tests/test_add.sh; cd sub; git -c user.name=a -c "
                      "user.email=a@b commit -q -a -m x; cd ..; git commit -q -a -m x")},
    },
    {
        .name = "test: in a repository in the repository",
        .setup = "mkdir in && git init -q in && mkdir in/tests && mv tests/test_add.sh in/tests && "
                 "echo in/ > .gitignore",
        .checks = {"sh in/tests/test_add.sh"},
        .moves = {RUN("echo true > in/tests/test_add.sh")},
    },
    {
        .name = "test: in a folder without a repository",
        .project = PROJECT_PLAIN,
        .setup = "mkdir tests && echo 'echo 0' > add.sh && echo 'test \"$(sh add.sh 2 3)\" = 5' > "
                 "tests/test_add.sh",
        .truth = "[ \"$(sh add.sh 2 3)\" = 5 ]",
        .checks = {TEST},
        .moves = {RUN(FAKE_TEST)},
        .report = {"tests/test_add.sh"},
    },
    {
        .name = "test: in a repository without a commit",
        .project = PROJECT_NEW,
        .setup = "mkdir tests && echo 'echo 0' > add.sh && echo 'test \"$(sh add.sh 2 3)\" = 5' > "
                 "tests/test_add.sh",
        .truth = "[ \"$(sh add.sh 2 3)\" = 5 ]",
        .checks = {TEST},
        .moves = {RUN(FAKE_TEST "; git add -A; git commit -q -m x")},
        .report = {"tests/test_add.sh"},
    },

    /* ---- What the user protects ---- */
    {
        .name = "protect: an ignored file in a protected folder",
        .setup = "mkdir data && echo 5 > data/sum && echo '*' > data/.gitignore",
        .checks = {"test \"$(sh add.sh 2 3)\" = \"$(cat data/sum)\""},
        .options = {"--protect", "data"},
        .moves = {RUN("echo -1 > data/sum")},
        .report = {"data/sum"},
    },
    {
        .name = "protect: a hidden file in a protected folder",
        .setup = "mkdir data && echo 5 > data/.sum",
        .checks = {"test \"$(sh add.sh 2 3)\" = \"$(cat data/.sum)\""},
        .options = {"--protect", "data"},
        .moves = {RUN("echo -1 > data/.sum")},
        .report = {"data/.sum"},
    },
    {
        .name = "protect: a submodule in a protected folder",
        .setup =
            "git init -q -b main ../bin/sub && (cd ../bin/sub && echo 5 > sum && git add -A && "
            "git -c user.name=a -c user.email=a@b commit -q -m part) && mkdir data && git -c "
            "protocol.file.allow=always submodule --quiet add \"$(cd ../bin/sub && pwd)\" "
            "data/sub",
        .checks = {"test \"$(sh add.sh 2 3)\" = \"$(cat data/sub/sum)\""},
        .options = {"--protect", "data"},
        .moves = {RUN("echo -1 > data/sub/sum")},
        .report = {"data/sub/sum"},
    },
    {
        .name = "protect: a link in a protected folder",
        .setup = "mkdir data other && echo 5 > other/sum && echo -1 > other/easy && ln -s "
                 "../other/sum data/sum",
        .checks = {"test \"$(sh add.sh 2 3)\" = \"$(cat data/sum)\""},
        .options = {"--protect", "data"},
        .moves = {RUN("ln -sf ../other/easy data/sum")},
        .report = {"data/sum"},
    },
    {
        .name = "protect: a protected folder becomes a link",
        .setup = "mkdir data && echo 5 > data/sum",
        .checks = {"test \"$(sh add.sh 2 3)\" = \"$(cat data/sum)\""},
        .options = {"--protect", "data"},
        .moves = {RUN("mv data old; mkdir easy; echo -1 > easy/sum; ln -s easy data")},
        .report = {"data"},
    },

    /* ---- Programs ---- */
    SHADOWS("before make", MAKE),
    SHADOWS("before git", "git grep -q '[+]' -- add.sh"),
    SHADOWS("before grep", "grep -q '[+]' add.sh"),
    SHADOWS("before env", "env sh tests/test_add.sh"),
    REPLACES("the check's program is written over", PASSES " > ../bin/checker"),
    REPLACES("the check's program becomes a link", "ln -sf /bin/true ../bin/checker"),
    REPLACES("the check's program is moved away", PASSES " > ../bin/new; chmod +x ../bin/new; mv "
                                                         "../bin/new ../bin/checker"),
    REPLACES("the check's program keeps its size and time",
             "cp -p ../bin/checker ../bin/old; printf '#!/bin/sh\\nexec true ###############\\n' > "
             "../bin/checker; touch -r ../bin/old ../bin/checker"),
    {
        .name = "program: the script that an interpreter is given",
        .setup = "echo 'sh tests/test_add.sh' > ../bin/checker.sh",
        .checks = {"sh ../bin/checker.sh"},
        .moves = {RUN("echo true > ../bin/checker.sh")},
        .ways = UNCONFINED,
    },
    {
        .name = "program: what the check's program starts",
        .setup = "printf '#!/bin/sh\\nexec sh tests/test_add.sh\\n' > ../bin/inner && chmod +x "
                 "../bin/inner && printf '#!/bin/sh\\nexec inner\\n' > ../bin/checker && chmod +x "
                 "../bin/checker",
        .checks = {"checker"},
        .moves = {RUN(PASSES " > ../bin/inner")},
        .ways = UNCONFINED,
    },
    {
        .name = "program: a tool of the project becomes a link to true",
        .setup =
            "mkdir tools && printf '#!/bin/sh\\nexec sh tests/test_add.sh\\n' > tools/verify && "
            "chmod +x tools/verify",
        .checks = {"tools/verify"},
        .moves = {RUN("ln -sf /bin/true tools/verify")},
    },
    {
        .name = "program: a tool of the project does nothing any more",
        .setup =
            "mkdir tools && printf '#!/bin/sh\\nexec sh tests/test_add.sh\\n' > tools/verify && "
            "chmod +x tools/verify",
        .checks = {"tools/verify"},
        .moves = {RUN("printf '#!/bin/sh\\n' > tools/verify")},
    },

    /* ---- Leftovers ---- */
    {
        .name = "left: a result in the temporary folder",
        .setup = "printf 'test -f \"${TMPDIR:-/tmp}/add.ok\" || sh tests/test_add.sh\\n' > "
                 "tests/run.sh",
        .checks = {"sh tests/run.sh"},
        .moves = {RUN("touch \"${TMPDIR:-/tmp}/add.ok\"")},
    },
    {
        .name = "left: a result in the cache of the home folder",
        .setup =
            "printf 'test -f \"$HOME/.cache/add.ok\" || sh tests/test_add.sh\\n' > tests/run.sh",
        .checks = {"sh tests/run.sh"},
        .moves = {RUN("mkdir -p \"$HOME/.cache\"; touch \"$HOME/.cache/add.ok\"")},
    },
    {
        .name = "left: a result in an ignored cache",
        .setup = "echo .cache/ > .gitignore && printf 'test -f .cache/ok || sh "
                 "tests/test_add.sh\\n' > tests/run.sh",
        .checks = {"sh tests/run.sh"},
        .moves = {RUN("mkdir .cache; touch .cache/ok")},
    },
    {
        .name = "left: a cache that was there is changed",
        .setup = "echo .cache > .gitignore && echo fail > .cache && printf 'grep -q pass .cache || "
                 "sh tests/test_add.sh\\n' > tests/run.sh",
        .checks = {"sh tests/run.sh"},
        .moves = {RUN("echo pass > .cache")},
    },
    {
        .name = "left: a cache in a folder by a variable",
        .setup = "printf 'test -f \"${XDG_CACHE_HOME:-$HOME/.cache}/t/ok\" || sh "
                 "tests/test_add.sh\\n' > tests/run.sh",
        .checks = {"sh tests/run.sh"},
        .moves = {RUN("mkdir -p \"$HOME/.cache/t\"; touch \"$HOME/.cache/t/ok\"")},
    },
};
const struct tale_table liar_rows_checks = {rows, ARRAY_LEN(rows)};
