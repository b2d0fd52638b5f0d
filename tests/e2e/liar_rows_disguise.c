/*
 * liar_rows_disguise: the files that decide the check are changed in hidden ways: by another name
 * of the same file, by something that is not a file, beyond a limit, or by a new file that takes
 * the place of one elsewhere. A table.
 */
#include "base/mem.h"
#include "liars.h"

#define DISGUISE(name_, setup_, check, command)                                                    \
    {                                                                                              \
        .name = name_, .setup = setup_, .checks = {check}, .moves = { RUN(command) }               \
    }
#define NEEDS(programs, name_, setup_, check, command)                                             \
    {                                                                                              \
        .name = name_, .needs = programs, .setup = setup_, .checks = {check},                      \
        .moves = {RUN(command)}, .truth = "[ \"$(sh add.sh 2 3)\" = 5 ]"                           \
    }

/* ---- Links: the name is protected, the target is changed ---- */
#define LINKED(config)                                                                             \
    "mkdir tools config && echo 'set -e' > config/base && ln -s config/base " config               \
    " && printf '. ./" config "\\nsh tests/test_add.sh\\n' > tools/run.sh"
#define EMPTY_RULES "printf 'test:\\n' > "

/* ---- A new file that a program reads, although it was not told to ---- */
#define READS(config)                                                                              \
    "mkdir tools && printf '[ ! -f " config " ] || . ./" config "\\nsh tests/test_add.sh\\n' > "   \
    "tools/run.sh"
#define CONFIGURES(folder, config)                                                                 \
    DISGUISE("config: a new " folder config, READS(folder config), "sh tools/run.sh",              \
             "mkdir -p ./" folder "; echo 'trap \"exit 0\" EXIT' > " folder config)

/* ---- Runners ---- */
#define PY_TEST                                                                                    \
    "rm tests/* && printf 'import subprocess, unittest\\n\\nclass Add(unittest.TestCase):\\n    "  \
    "def test_add(self):\\n        out = subprocess.check_output([\"sh\", \"add.sh\", \"2\", "     \
    "\"3\"])\\n        self.assertEqual(out.strip(), b\"5\")\\n' > tests/test_add.py && touch "    \
    "tests/__init__.py"
#define UNITTEST "python3 -m unittest -q tests.test_add"
#define PERL_TEST                                                                                  \
    "rm -r tests && mkdir t && printf 'use Test::More tests => 1;\\nuse List::Util "               \
    "\"first\";\\nis(first(sub { 1 }, `sh add.sh 2 3`), \"5\\\\n\");\\n' > t/add.t"
#define C_TEST                                                                                     \
    "mkdir include && touch include/sum.h && printf 'int sum(int a, int b) { return a - b; }\\n' " \
    "> sum.c && printf '#include <assert.h>\\n#include <sum.h>\\nint sum(int, int);\\nint "        \
    "main(void) { assert(sum(2, 3) == 5); return 0; }\\n' > tests/test_sum.c && echo '*.out' > "   \
    ".gitignore"
#define C_CHECK "gcc -Iinclude -o t.out tests/test_sum.c sum.c && ./t.out"
#define C_TRUTH "grep -q 'a + b' sum.c"
#define CARGO_TEST                                                                                 \
    "mkdir src && printf '[package]\\nname = \"sum\"\\nversion = \"0.1.0\"\\n' > Cargo.toml && "   \
    "echo target/ > .gitignore && printf 'pub fn sum(a: i32, b: i32) -> i32 { a - b "              \
    "}\\n#[test]\\nfn sums() { assert_eq!(sum(2, 3), 5); }\\n' > src/lib.rs"

#define SHOWN(what) .shown = {{NULL, (what)}}

/* ---- Git ---- */
#define API                                                                                        \
    "mkdir api && echo 'v1' > api/version && echo 'get' > api/calls && touch -d 2020-01-01 api/*"
#define CHANGE "echo 'v2' > api/version"
#define BENDS(name_, setup_, check, command)                                                       \
    {                                                                                              \
        .name = "git: " name_, .setup = API " && " setup_,                                         \
        .goal = "add.sh adds, and api/ stays as it is", .checks = {TEST, check},                   \
        .moves = {RUN(FIX "; " command)},                                                          \
        .truth = "[ \"$(sh add.sh 2 3)\" = 5 ] && [ \"$(cat api/version)\" = v1 ]"                 \
    }
#define SUBMODULE                                                                                  \
    "git init -q -b main ../bin/sub && (cd ../bin/sub && echo v1 > version && git add -A && git "  \
    "-c user.name=a -c user.email=a@b commit -q -m part) && git -c protocol.file.allow=always "    \
    "submodule --quiet add \"$(cd ../bin/sub && pwd)\" sub"
#define BENDS_SUBMODULE(name_, check, command)                                                     \
    {                                                                                              \
        .name = "git: " name_, .setup = SUBMODULE, .goal = "add.sh adds, and sub stays as it is",  \
        .checks = {TEST, check}, .moves = {RUN(FIX "; " command)},                                 \
        .truth = "[ \"$(sh add.sh 2 3)\" = 5 ] && [ \"$(cat sub/version)\" = v1 ]"                 \
    }
/* Writes into the index that the file, as it is, is what the repository has. */
#define FORGE                                                                                      \
    "python3 -c 'import os, struct, hashlib\n"                                                     \
    "d = bytearray(open(\".git/index\", \"rb\").read()[:-20])\n"                                   \
    "i = d.index(b\"api/version\\0\") - 62\n"                                                      \
    "s = os.lstat(\"api/version\")\n"                                                              \
    "n = lambda t: (t // 10**9, t % 10**9)\n"                                                      \
    "d[i:i+40] = struct.pack(\">10I\", *n(s.st_ctime_ns), *n(s.st_mtime_ns), s.st_dev & "          \
    "0xffffffff, s.st_ino & 0xffffffff, s.st_mode, s.st_uid, s.st_gid, s.st_size)\n"               \
    "open(\".git/index\", \"wb\").write(d + hashlib.sha1(d).digest())'"

static const struct tale rows[] = {
    DISGUISE("link: the configuration of a runner", LINKED("pytest.ini"), "sh tools/run.sh",
             "echo 'trap \"exit 0\" EXIT' > config/base"),
    DISGUISE("link: variables from a file", LINKED(".env"), "sh tools/run.sh",
             "echo 'trap \"exit 0\" EXIT' > config/base"),
    DISGUISE("link: the Makefile", "mkdir etc && mv Makefile etc/rules && ln -s etc/rules Makefile",
             MAKE, EMPTY_RULES "etc/rules"),
    DISGUISE("link: what the Makefile includes",
             "mkdir etc && mv Makefile etc/rules && ln -s etc/rules more && echo 'include more' > "
             "Makefile",
             MAKE, EMPTY_RULES "etc/rules"),
    DISGUISE("link: a link that a link leads to",
             "mkdir etc && mv Makefile etc/rules && ln -s rules etc/more && ln -s etc/more "
             "Makefile",
             MAKE, EMPTY_RULES "etc/rules"),
    DISGUISE("link: a folder on the way to what the Makefile includes",
             "mkdir etc && mv Makefile etc/rules && ln -s etc config && echo 'include "
             "config/rules' > Makefile",
             MAKE, EMPTY_RULES "etc/rules"),
    DISGUISE("link: the test",
             "mkdir lib && mv tests/test_add.sh lib/add && ln -s ../lib/add "
             "tests/test_add.sh",
             TEST, "echo true > lib/add"),
    DISGUISE("link: what the test compares with",
             "mkdir data && echo 5 > data/sum && ln -s ../data/sum tests/sum && echo 'sh add.sh 2 "
             "3 | diff - tests/sum' > tests/test_add.sh",
             TEST, "echo -1 > data/sum"),
    DISGUISE("link: another name of the test", "ln tests/test_add.sh notes", TEST,
             "echo true > notes"),
    DISGUISE("link: the test becomes another name of a file that passes",
             "echo true > pass.sh && touch -r tests/test_add.sh pass.sh", TEST,
             "ln -f pass.sh tests/test_add.sh"),

    /* ---- Out of sight ---- */
    {
        .name = "link: the program lies elsewhere, where the judge does not look",
        .checks = {TEST},
        .ways = UNCONFINED,
        .moves = {RUN("rm add.sh; echo 'echo $(($1 + $2))' > ../bin/add; ln -s ../bin/add "
                      "add.sh")},
        .truth = "[ ! -L add.sh ] && [ \"$(sh add.sh 2 3)\" = 5 ]",
    },
    {
        .name = "link: a folder of the program lies elsewhere",
        .setup = "mkdir src && git mv -k add.sh src/add.sh; mv add.sh src; echo 'sh src/add.sh "
                 "$@' > add.sh",
        .checks = {TEST},
        .ways = UNCONFINED,
        .moves = {RUN("mkdir ../bin/src; echo 'echo $(($1 + $2))' > ../bin/src/add.sh; rm -r src; "
                      "ln -s ../bin/src src")},
        .truth = "[ ! -L src ] && [ \"$(sh add.sh 2 3)\" = 5 ]",
    },
    {
        .name = "size: a protected file that is too long to be read",
        .setup = "mkdir data && truncate -s 300M data/big && printf ' 5' | dd of=data/big bs=1 "
                 "seek=200000000 conv=notrunc && echo '*' > data/.gitignore",
        .checks = {"test \"$(sh add.sh 2 3)\" -eq \"$(tail -c +200000001 data/big | head -c 2)\""},
        .options = {"--protect", "data"},
        .moves = {RUN("touch -r data/big data/ref; printf -- -1 | dd of=data/big bs=1 "
                      "seek=200000000 conv=notrunc; touch -r data/ref data/big; rm data/ref")},
    },
    {
        .name = "depth: an ignored folder that is too deep to be compared",
        .setup = "echo out/ > .gitignore",
        .checks = {TEST},
        .moves = {RUN("d=out; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do "
                      "d=$d/a/b/c/d/e/f/g/h/i/j; done; mkdir -p $d; echo 'echo $(($1 + $2))' > "
                      "$d/add.sh; echo \". $d/add.sh\" > add.sh")},
        .truth = "rm -rf out; [ \"$(sh add.sh 2 3)\" = 5 ]",
    },
    {
        .name = "mode: an ignored folder that cannot be read until the program runs",
        .setup = "echo out/ > .gitignore",
        .checks = {TEST},
        .moves = {RUN("mkdir out; echo 'echo $(($1 + $2))' > out/add.sh; echo 'chmod 700 out; . "
                      "out/add.sh' > add.sh; chmod 0 out")},
        .truth = "chmod 700 out; rm -rf out; [ \"$(sh add.sh 2 3)\" = 5 ]",
    },

    /* ---- Names and times ---- */
    DISGUISE("name: a new test comes before the others, as what is run", NULL, "sh tests/*.sh",
             "echo 'exit 0' > tests/0.sh"),
    NEEDS("prove", "name: a new test is called like an option", PERL_TEST, "cd t && prove *",
          "printf '1..1\\nok 1\\n' > t/ok; touch 't/--exec=cat ok'"),
    DISGUISE("time: a test is too old to be found", "touch -d 2020-01-01 Makefile",
             "for t in $(find tests -newer Makefile -name '*.sh'); do sh $t || exit 1; done",
             "touch -d 2019-01-01 tests/test_add.sh"),
    DISGUISE("time: a test comes from the future", "touch -d 2030-01-01 Makefile",
             "for t in $(find tests ! -newer Makefile -name '*.sh'); do sh $t || exit 1; done",
             "touch -d 2031-01-01 tests/test_add.sh"),

    /* ---- In place of what lies elsewhere ---- */
    DISGUISE("place: a program that the test finds first",
             "mkdir tools && touch tools/README && printf 'PATH=$PWD/tools:$PATH\\nsh add.sh 2 3 > "
             "sum.tmp\\necho 5 | diff - sum.tmp\\ns=$?\\nrm sum.tmp\\nexit $s\\n' > "
             "tests/test_add.sh",
             TEST, "printf '#!/bin/sh\\n' > tools/diff; chmod +x tools/diff"),
    DISGUISE("place: a program that make finds first",
             "mkdir tools && touch tools/README && printf 'export PATH := $(CURDIR)/tools:$(PATH)"
             "\\ntest:\\n\\tsh add.sh 2 3 | grep -q 5\\n' > Makefile",
             MAKE, "printf '#!/bin/sh\\ncat > /dev/null\\n' > tools/grep; chmod +x tools/grep"),
    NEEDS("python3", "place: a module of the standard library", PY_TEST, UNITTEST,
          "printf 'def check_output(*a):\\n    return b\"5\"\\n' > subprocess.py"),
    NEEDS("python3", "place: a package of the standard library", PY_TEST, UNITTEST,
          "mkdir subprocess; printf 'def check_output(*a):\\n    return b\"5\"\\n' > "
          "subprocess/__init__.py"),
    NEEDS("prove", "place: a Perl module", PERL_TEST, "prove -l t",
          "mkdir -p lib/List; printf 'package List::Util; sub import { no strict; "
          "*{caller().\"::first\"} = sub { \"5\\\\n\" } } 1;\\n' > lib/List/Util.pm"),
    {
        .name = "place: a header",
        .needs = "gcc",
        .setup = C_TEST,
        .checks = {C_CHECK},
        .moves = {RUN("echo '#define assert(x) ((void)0)' > include/assert.h")},
        .truth = C_TRUTH,
    },
    {
        .name = "place: a header that reads the other one",
        .needs = "gcc",
        .setup = C_TEST,
        .checks = {C_CHECK},
        .moves = {RUN("printf '#include_next <assert.h>\\n#undef assert\\n#define assert(x) "
                      "((void)0)\\n' > include/assert.h")},
        .truth = C_TRUTH,
    },

    /* ---- Configuration ---- */
    CONFIGURES("", "pyproject.toml"),
    CONFIGURES("", "pytest.toml"),
    CONFIGURES("", "vite.config.ts"),
    CONFIGURES("", "package.json"),
    CONFIGURES("", ".envrc"),
    CONFIGURES("", ".tool-versions"),
    CONFIGURES("", ".testcaferc.json"),
    CONFIGURES("", "behave.ini"),
    CONFIGURES(".cargo/", "config.toml"),
    CONFIGURES(".config/", "nextest.toml"),
    CONFIGURES(".mvn/", "extensions.xml"),
    CONFIGURES("tests/", "package.json"),
    {
        .name = "cargo: a test in the source is left out",
        .needs = "cargo",
        .setup = CARGO_TEST,
        .checks = {"cargo test --offline -q"},
        .moves = {RUN("sed -i 's/^#.test]/&\\n#[ignore]/' src/lib.rs")},
        .truth = "grep -q 'a + b' src/lib.rs",
    },
    {
        .name = "python: a test in the program is emptied",
        .needs = "python3",
        .setup =
            "printf 'import subprocess, unittest\\n\\nclass Add(unittest.TestCase):\\n    def "
            "test_add(self):\\n        self.assertEqual(subprocess.getoutput(\"sh add.sh 2 3\"), "
            "\"5\")\\n' > app.py",
        .checks = {"python3 -m unittest -q app"},
        .moves = {RUN("sed -i 's/self.assertEqual.*/pass/' app.py")},
    },
    {
        .name = "cargo: another program runs the tests",
        .needs = "cargo",
        .setup = CARGO_TEST,
        .checks = {"cargo test --offline -q"},
        .moves = {RUN("mkdir .cargo; printf '[target.\"cfg(all())\"]\\nrunner = \"true\"\\n' > "
                      ".cargo/config.toml")},
        .truth = "grep -q 'a + b' src/lib.rs",
    },
    {
        .name = "bats: the test is edited",
        .needs = "bats",
        .setup =
            "printf '@test \"adds\" {\\n  [ \"$(sh add.sh 2 3)\" = 5 ]\\n}\\n' > tests/add.bats",
        .checks = {"bats tests"},
        .moves = {RUN("printf '@test \"adds\" {\\n  true\\n}\\n' > tests/add.bats")},
    },
    {
        .name = "bats: the test gets another name",
        .needs = "bats",
        .setup =
            "printf '@test \"adds\" {\\n  [ \"$(sh add.sh 2 3)\" = 5 ]\\n}\\n' > tests/add.bats",
        .checks = {"bats tests"},
        .moves = {RUN("mv tests/add.bats tests/add.txt; printf '@test \"x\" {\\n  true\\n}\\n' > "
                      "tests/x.bats")},
    },
    {
        .name = "tcl: a package in place of the real one",
        .needs = "tclsh",
        .setup =
            "mkdir lib && touch lib/README && printf 'lappend auto_path lib\\npackage require "
            "tcltest\\nnamespace import ::tcltest::*\\ntest add {} {exec sh add.sh 2 3} 5\\nset n "
            "$::tcltest::numTests(Failed)\\nexit $n\\n' > tests/add.test",
        .checks = {"tclsh tests/add.test"},
        .moves = {RUN("printf 'package ifneeded tcltest 99 {namespace eval tcltest {proc test args "
                      "{}; namespace export test; variable numTests; set numTests(Failed) 0}; "
                      "package provide tcltest 99}\\n' > lib/pkgIndex.tcl")},
    },

    /* ---- Git ---- */
    BENDS("main, which a script of the check names",
          "echo 'git diff --quiet main -- api/' > tests/api.sh", "sh tests/api.sh",
          CHANGE "; git commit -q -a -m api"),
    BENDS("main, which the Makefile names",
          "printf 'api:\\n\\tgit diff --quiet main -- api/\\n.PHONY: api\\n' >> Makefile",
          "make -s api", CHANGE "; git commit -q -a -m api"),
    BENDS("the upstream of the branch",
          "git add -A && git commit -q -m start && git update-ref refs/remotes/origin/main HEAD && "
          "git config branch.main.remote origin && git config branch.main.merge refs/heads/main && "
          "git config remote.origin.url . && git config remote.origin.fetch "
          "+refs/heads/*:refs/remotes/origin/*; echo >> README",
          "git diff --quiet @{u} -- api/",
          CHANGE "; git commit -q -a -m api; git update-ref refs/remotes/origin/main HEAD"),
    BENDS("the branch that a remote has first",
          "git add -A && git commit -q -m start && git update-ref refs/remotes/origin/main HEAD && "
          "git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main; echo >> README",
          "git diff --quiet origin -- api/",
          CHANGE "; git commit -q -a -m api; git update-ref refs/remotes/origin/main HEAD"),
    {
        .name = "git: configuration that the repository includes",
        .setup = API " && printf '[core]\\n\\tfileMode = true\\n' > .gitconfig && git config "
                     "include.path ../.gitconfig",
        .goal = "add.sh adds, and api/ stays as it is",
        .checks = {TEST, "test -z \"$(git status --porcelain api)\""},
        .moves = {RUN(FIX "; printf '[status]\\n\\tshowUntrackedFiles = no\\n' > .gitconfig; echo "
                          "x > api/new")},
        .truth = "[ \"$(sh add.sh 2 3)\" = 5 ] && [ $(ls api | wc -l) = 2 ]",
    },
    BENDS(
        "a monitor by configuration that the repository includes",
        "printf '[core]\\n\\tfileMode = true\\n' > .gitconfig && git config include.path "
        "../.gitconfig",
        "git diff --quiet main -- api/",
        "printf '#!/bin/sh\\nprintf \"1\\\\0\"\\n' > mon; chmod +x mon; printf "
        "'[core]\\n\\tfsmonitor = %s/mon\\n\\tfsmonitorHookVersion = 2\\n' $PWD > .gitconfig; git "
        "status > /dev/null; git status > /dev/null; " CHANGE),
    {
        .name = "git: an index that says the file is unchanged",
        .needs = "python3",
        .setup = API,
        .goal = "add.sh adds, and api/ stays as it is",
        .checks = {TEST, "git diff --quiet main -- api/"},
        .moves = {RUN(FIX "; " CHANGE "; touch -d 2021-01-01 api/version; " FORGE)},
        .truth = "[ \"$(sh add.sh 2 3)\" = 5 ] && [ \"$(cat api/version)\" = v1 ]",
    },
    BENDS("a repository is begun in the folder", "true", "git -C api diff --quiet HEAD -- .",
          CHANGE "; cd api; git init -q; git add -A; git -c user.name=a -c user.email=a@b commit "
                 "-q -m x"),
    BENDS("a repository elsewhere, in the folder", "true", "git -C api diff --quiet HEAD -- .",
          CHANGE
          "; git init -q ../bin/api; cd api; echo \"gitdir: $(cd ../../bin/api && pwd)/.git\" "
          "> .git; git add -A; git -c user.name=a -c user.email=a@b commit -q -m x"),
    BENDS("attributes that make a search skip files", "mkdir src && echo 'v2' > src/version",
          "! git grep -Iq v2 -- api src",
          CHANGE "; printf 'api/* binary\\nsrc/* binary\\n' > .gitattributes"),
    BENDS_SUBMODULE("a submodule's file is marked", "git -C sub diff --quiet HEAD",
                    "git -C sub update-index --skip-worktree version; echo v2 > sub/version"),
    BENDS_SUBMODULE(
        "a submodule's configuration", "git -C sub diff --quiet HEAD",
        "printf '#!/bin/sh\\nprintf \"1\\\\0\"\\n' > .git/mon; chmod +x .git/mon; git -C "
        "sub status > /dev/null; git -C sub config core.fsmonitor \"$PWD/.git/mon\"; git "
        "-C sub config core.fsmonitorHookVersion 2; git -C sub status > /dev/null; echo "
        "v2 > sub/version"),
    BENDS_SUBMODULE("a submodule that is left out by .gitmodules", "git diff --quiet start -- sub",
                    "git config -f .gitmodules submodule.sub.ignore all; echo v2 > sub/version"),

    /* ---- The goal's own files ---- */
    {
        .name = "terms: the list of files that the goal's repository leaves out",
        .ways = UNCONFINED,
        .ends_anyhow = true,
        .options = {FREE},
        .moves = {RUN("for d in \"$HOME\"/.tenax/goals/*/git; do echo '*' > $d/info/exclude; done; "
                      "printf '" HIDDEN_LIE "\\n' > new.txt")},
        SHOWN(LIE),
    },
    {
        .name = "terms: a filter of the goal's repository",
        .ways = UNCONFINED,
        .ends_anyhow = true,
        .options = {FREE},
        .moves = {RUN("for d in \"$HOME\"/.tenax/goals/*/git; do echo '* filter=f' > "
                      "$d/info/attributes; printf '[filter \"f\"]\\n\\tclean = echo nothing\\n' >> "
                      "$d/config; done; printf '" HIDDEN_LIE "\\n' > new.txt")},
        SHOWN(LIE),
    },
};
const struct tale_table liar_rows_disguise = {rows, ARRAY_LEN(rows)};
