/*
 * Surroundings: rows of pretend gits, quick, slow, stubborn, talkative, broken and missing, with
 * what must be said of them. A row that would wait for its git runs into the test's time limit.
 */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "context/branch.h"
#include "context/surroundings.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "unit.h"

#define COMMIT "0123456789012345678901234567890123456789"
#define OTHER_COMMIT "abcdef6789abcdef6789abcdef6789abcdef6789"

static char root[] = "/tmp/tenax-surroundings-XXXXXX";

static char *below(const char *name)
{
    return path_join(root, name);
}

static void make_file(const char *name, const char *text, mode_t mode)
{
    CLEANUP(mem_freep) char *path = below(name);
    CLEANUP(mem_freep) char *folder = path_dirname(path);

    assert_int_equal(file_mkdirs(folder, 0700, NULL), 0);
    assert_int_equal(file_replace(path, str_of(text), mode, NULL), 0);
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    proc_shutdown();
    return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The text in dir with PATH=bin:/usr/bin:/bin, or bin alone. */
static int gather(const char *dir, const char *bin, bool alone, int64_t git_ms,
                  struct cancel *cancel, struct buf *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(mem_freep) char *at = below(dir);
    struct surroundings_spec spec = {.dir = at, .git_ms = git_ms};
    struct surroundings *s;
    int rc;

    strv_addf(&env, "PATH=%s/%s%s", root, bin, alone ? "" : ":/usr/bin:/bin");
    strv_addf(&env, "HOME=%s", root);
    strv_adds(&env, "SHELL=/bin/zsh");
    spec.environ = strv_get(&env);
    s = surroundings_start(&spec);
    rc = surroundings_write(s, cancel, ret, err);
    surroundings_free(s);
    return rc;
}

struct git_case {
    const char *name;
    const char *script; /* of git, after "#!/bin/sh"; NULL: there is none */
    const char *expect[5];
    const char *never[2];
    int64_t git_ms; /* 0: enough for a slow machine */
};

#define SLOW "took too long"

static const struct git_case cases[] = {
    {.name = "quick and clean",
     .script = "case \"$*\" in *status*) echo '## main...origin/main [ahead 1]' ;;\n"
               "*log*) echo '1234567 first'; echo 'abcdef0 second' ;; esac",
     .expect = {"\nGit repository: yes\nBranch: work\nMain branch: master\n"
                "Upstream: origin/main [ahead 1]\nStatus: clean\n"
                "Last commits:\n  1234567 first\n  abcdef0 second"},
     .never = {SLOW}},
    {.name = "changes",
     .script = "case \"$*\" in *status*) printf '## work\\n M a.c\\n?? b.c\\n' ;; esac",
     .expect = {"\nStatus: 2 changed\n   M a.c\n  ?? b.c\n"},
     .never = {"Upstream"}},
    {.name = "many changes",
     .script = "case \"$*\" in *status*) seq -f '?? file-%g' 100 ;; esac",
     .expect = {"Status: 100 changed", "?? file-40\n  ... and 60 more"},
     .never = {"file-41"}},
    {.name = "no commits",
     .script = "case \"$*\" in *log*) echo \"fatal: your current branch 'x' does not have any "
               "commits yet\" >&2; exit 128 ;; esac",
     .expect = {"\nCommits: none yet"}},
    {.name = "refused",
     .script = "echo 'fatal: detected dubious ownership' >&2; echo more >&2; exit 128",
     .expect = {"\nBranch: work\n", "\nStatus: unknown (fatal: detected dubious ownership)\n"},
     .never = {"more"}},
    {.name = "missing",
     .expect = {"\nBranch: work\n", "\nStatus: unknown, git is not installed"},
     .never = {"commits"}},
    {.name = "never ends",
     .script = "exec sleep 600",
     .git_ms = 300,
     .expect = {"\nBranch: work\n", "\nStatus: git took too long", "\nCommits: git took too long"}},
    {.name = "never ends and does not hear TERM",
     .script = "trap '' TERM; sleep 600; sleep 600",
     .git_ms = 300,
     .expect = {"\nStatus: git took too long"}},
    {.name = "talks for ever",
     .script = "while :; do echo '?? a file with a name'; done",
     .git_ms = 300,
     .expect = {"\nStatus: git took too long"}},
    {.name = "untracked files take too long",
     .script = "case \"$*\" in *-uno*) printf '## work\\n M a.c\\n' ;;\n"
               "*status*) exec sleep 600 ;; esac",
     .git_ms = 3000, /* 2100 until the second try, 900 for it */
     .expect = {"\nStatus: 1 changed (untracked files not looked at: that took too long)\n   M "}},
};

static void gits(void **state)
{
    (void)state;
    make_file("repo/.git/HEAD", "ref: refs/heads/work\n", 0600);
    make_file("repo/.git/refs/heads/master", "1234\n", 0600);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct git_case *c = &cases[i];
        CLEANUP(buf_release) struct buf script = BUF_INIT(4096);
        CLEANUP(buf_release) struct buf bin = BUF_INIT(64);
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
        struct err err = {0};

        buf_addf(&bin, "bin-%zu/git", i);
        buf_addf(&script, "#!/bin/sh\n%s\n", c->script ? c->script : "");
        if (c->script)
            make_file(buf_cstr(&bin), buf_cstr(&script), 0700);
        buf_cut(&bin, bin.len - 4, 4);
        if (gather("repo", buf_cstr(&bin), !c->script, c->git_ms ? c->git_ms : 60000, NULL, &text,
                   &err) < 0)
            fail_msg("%s: %s", c->name, err.text);
        for (size_t k = 0; k < ARRAY_LEN(c->expect) && c->expect[k]; k++)
            if (!str_has(buf_str(&text), str_of(c->expect[k])))
                fail_msg("%s: '%s' is missing in\n%s", c->name, c->expect[k], buf_cstr(&text));
        for (size_t k = 0; k < ARRAY_LEN(c->never) && c->never[k]; k++)
            if (str_has(buf_str(&text), str_of(c->never[k])))
                fail_msg("%s: '%s' is in\n%s", c->name, c->never[k], buf_cstr(&text));
    }
}

static void no_repository(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    char today[11];

    (void)state;
    make_file("plain/x", "", 0600);
    make_file("bin-trap/git", "#!/bin/sh\necho '## never asked'\n", 0700);
    surroundings_today(today);
    assert_int_equal(gather("plain", "bin-trap", false, 0, NULL, &text, NULL), 0);
    assert_true(str_has(buf_str(&text), STR("Working directory: /tmp/tenax-surroundings-")));
    assert_true(str_has(buf_str(&text), STR("\nShell of the user: zsh\n")));
    assert_true(str_has(buf_str(&text), str_of(today)));
    assert_true(str_ends(buf_str(&text), STR("\nGit repository: no")));
}

static void cancelled(void **state)
{
    CLEANUP(cancel_unrefp) struct cancel *cancel = cancel_new(NULL);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct err err = {0};

    (void)state;
    make_file("repo/.git/HEAD", "ref: refs/heads/work\n", 0600);
    make_file("bin-sleep/git", "#!/bin/sh\nexec sleep 600\n", 0700);
    cancel_set(cancel);
    assert_int_equal(gather("repo", "bin-sleep", false, 600000, cancel, &text, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
}

static void branches(void **state)
{
    static const struct {
        const char *name;
        const char *files[4][2];
        const char *current;
        const char *main_name;
        const char *commit;
    } rows[] = {
        {"origin says",
         {{".git/HEAD", "ref: refs/heads/a/b\n"},
          {".git/refs/remotes/origin/HEAD", "ref: refs/remotes/origin/dev\n"},
          {".git/refs/heads/main", "x"}},
         "a/b",
         "dev"},
        {"packed",
         {{".git/HEAD", "ref: refs/heads/x"},
          {".git/packed-refs", "# pack\n12 refs/heads/maintenance\n34 refs/heads/trunk\n"}},
         "x",
         "trunk"},
        {"detached", {{".git/HEAD", COMMIT "\n"}}, NULL, NULL, COMMIT},
        {"loose",
         {{".git/HEAD", "ref: refs/heads/a/b\n"},
          {".git/refs/heads/a/b", COMMIT "\n"},
          {".git/packed-refs", OTHER_COMMIT " refs/heads/a/b\n"}},
         "a/b",
         NULL,
         COMMIT},
        {"packed commit",
         {{".git/HEAD", "ref: refs/heads/b\n"},
          {".git/packed-refs", OTHER_COMMIT " refs/heads/a/b\n" COMMIT " refs/heads/b\n"}},
         "b",
         NULL,
         COMMIT},
        {"no name of a commit",
         {{".git/HEAD", "ref: refs/heads/b\n"}, {".git/refs/heads/b", "ref: refs/heads/c\n"}},
         "b",
         NULL},
        {"reftable", {{".git/HEAD", "ref: refs/heads/.invalid\n"}}, NULL, NULL},
        {"worktree",
         {{".git", "gitdir: real/worktrees/w\n"},
          {"real/worktrees/w/HEAD", "ref: refs/heads/topic\n"},
          {"real/worktrees/w/commondir", "../..\n"},
          {"real/refs/heads/main", "x"}},
         "topic",
         "main"},
        {"binary", {{".git/HEAD", "ref: refs/heads/\xff\x01"}}, "\xff\x01", NULL},
        {"empty", {{".git/HEAD", ""}}, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(branch_release) struct branch b = {0};
        CLEANUP(mem_freep) char *dir = NULL;
        char name[100];

        for (size_t k = 0; k < 4 && rows[i].files[k][0]; k++) {
            snprintf(name, sizeof(name), "branch-%zu/%s", i, rows[i].files[k][0]);
            make_file(name, rows[i].files[k][1], 0600);
        }
        snprintf(name, sizeof(name), "branch-%zu/sub", i);
        dir = below(name);
        assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
        branch_find(dir, &b);
        if (!b.is_repo || !str_eq(str_of(b.current), str_of(rows[i].current)) ||
            !str_eq(str_of(b.main_name), str_of(rows[i].main_name)) ||
            !str_eq(str_of(b.commit), str_of(rows[i].commit)))
            fail_msg("%s: repo %d, current '%s', main '%s', commit '%s'", rows[i].name, b.is_repo,
                     b.current ? b.current : "", b.main_name ? b.main_name : "",
                     b.commit ? b.commit : "");
    }
}

/* Runs a shell command in root; false when it failed. */
static bool shell(const char *command)
{
    const char *const argv[] = {"sh", "-ec", command, NULL};
    struct proc_spec spec = {.argv = argv, .dir = root};
    struct proc_result r;
    bool ok;

    assert_int_equal(proc_run(&spec, NULL, &r, NULL), 0);
    ok = r.how == PROC_EXITED && r.code == 0;
    if (!ok)
        print_message("%s", buf_cstr(&r.err));
    proc_result_release(&r);
    return ok;
}

#define GIT_INIT                                                                                   \
    "export HOME=$PWD GIT_CONFIG_NOSYSTEM=1; git init -q -b main %1$s; cd %1$s; "                  \
    "git config user.name n; git config user.email e; "

/* The real one. Its own programs are not run: a repository could name any. */
static void real_git(void **state)
{
    CLEANUP(buf_release) struct buf command = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(mem_freep) char *trap = below("trapped");

    (void)state;
    if (!shell("command -v git >/dev/null")) {
        print_message("git is not installed: not tried\n");
        return;
    }
    buf_addf(&command,
             GIT_INIT "echo x >a; git add a; git commit -qm 'first one'; echo y >a; "
                      "echo z >b; git config core.fsmonitor 'touch %2$s; false'",
             "real", trap);
    assert_true(shell(buf_cstr(&command)));
    assert_int_equal(gather("real", "bin-none", false, 60000, NULL, &text, NULL), 0);
    if (!str_has(buf_str(&text), STR("\nBranch: main\nMain branch: main\nStatus: 2 changed\n"
                                     "   M a\n  ?? b\nLast commits:\n")) ||
        !str_ends(buf_str(&text), STR(" first one")))
        fail_msg("%s", buf_cstr(&text));
    assert_false(file_exists(trap));
}

/* Nor are its filters, which a status would run to compare a file: they may be a folder's, or the
 * work of a confined command. */
static void filters(void **state)
{
    static const char *const ways[] = {
        "git config filter.x.clean \"touch $T; cat\"",
        "git config -f more filter.x.clean \"touch $T; cat\"; git config include.path ../more",
    };

    (void)state;
    if (!shell("command -v git >/dev/null"))
        return;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        CLEANUP(buf_release) struct buf command = BUF_INIT(4096);
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
        CLEANUP(mem_freep) char *trap = below("filtered");
        const char *name = i ? "included" : "filters";

        buf_addf(&command,
                 GIT_INIT
                 "echo '* filter=x' >.gitattributes; echo x >a; git add a; git commit -qm one; "
                 "touch -d '1 hour ago' a; echo y >a; ",
                 name);
        buf_addf(&command, "T=%s; ", trap);
        buf_adds(&command, ways[i]);
        assert_true(shell(buf_cstr(&command)));
        assert_int_equal(gather(name, "bin-none", false, 60000, NULL, &text, NULL), 0);
        assert_false(file_exists(trap));
        if (!str_has(buf_str(&text),
                     STR("\nStatus: not looked at, because the repository's settings")) ||
            !str_ends(buf_str(&text), STR(" one")))
            fail_msg("%s", buf_cstr(&text));
    }
}

/* Folders in which git finds another repository than a reading of .git does, and that one names a
 * filter. */
struct planted_case {
    const char *name;
    const char *script; /* in a repository with a filter in its attributes; $F: its settings */
    const char *dir;    /* of the session, in that repository */
};

#define COMMON_DIR(folder)                                                                         \
    "mkdir '.git/" folder "'; cp -r .git/objects .git/refs '.git/" folder "'; "

static const struct planted_case planted_cases[] = {
    {"a blank before the common folder",
     COMMON_DIR("evil") COMMON_DIR(" evil") "cp .git/config .git/evil; "
                                            "cat .git/config \"$F\" >'.git/ evil/config'; "
                                            "echo ' evil' >.git/commondir",
     "."},
    {"many lines behind the common folder",
     COMMON_DIR("evil") "cat .git/config \"$F\" >.git/evil/config; "
                        "{ echo evil; yes '' | head -n 5000; } >.git/commondir",
     "."},
    {"a blank before the folder",
     "cp -r .git evil; mv .git ' evil'; cat \"$F\" >>' evil/config'; echo 'gitdir:  evil' >.git",
     "."},
    {"the folder is a repository itself",
     "mkdir sub; cp a .gitattributes sub; cp -r .git/* sub; cat \"$F\" >>sub/config; "
     "git config -f sub/config core.worktree \"$PWD/sub\"",
     "sub"},
    {"HEAD leads nowhere",
     "mkdir sub; cp a .gitattributes sub; cp -r .git sub; cat \"$F\" >>sub/.git/config; "
     "ln -sf refs/heads/none sub/.git/HEAD",
     "sub"},
    {"no repository below one",
     "mkdir -p sub/.git; cp .git/HEAD sub/.git; cat \"$F\" >>.git/config", "sub"},
};

static void planted(void **state)
{
    CLEANUP(mem_freep) char *trap = below("planted-trap");

    (void)state;
    if (!shell("command -v git >/dev/null"))
        return;
    for (size_t i = 0; i < ARRAY_LEN(planted_cases); i++) {
        const struct planted_case *c = &planted_cases[i];
        CLEANUP(buf_release) struct buf command = BUF_INIT(4096);
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
        char name[100];

        snprintf(name, sizeof(name), "planted-%zu", i);
        buf_addf(&command,
                 GIT_INIT "echo '* filter=x' >.gitattributes; echo x >a; git add .; "
                          "git commit -qm one; echo y >a; F=../planted-filter; "
                          "git config -f $F filter.x.clean 'touch %2$s; cat'; ",
                 name, trap);
        /* Left to itself, git runs it. */
        buf_addf(&command,
                 "%s; cd %s; git --no-optional-locks status >/dev/null; test -e %s; rm %s",
                 c->script, c->dir, trap, trap);
        if (!shell(buf_cstr(&command)))
            fail_msg("%s: git does not run the filter", c->name);
        snprintf(name, sizeof(name), "planted-%zu/%s", i, c->dir);
        assert_int_equal(gather(name, "bin-none", false, 60000, NULL, &text, NULL), 0);
        if (file_exists(trap))
            fail_msg("%s: the filter has run\n%s", c->name, buf_cstr(&text));
    }
}

/* A linked worktree, a submodule and what has no work tree, below their tops. */
static void layouts(void **state)
{
    static const char *const rows[][2] = {
        {"layout/linked/sub",
         "\nBranch: linked\nMain branch: main\nStatus: 1 changed\n   M sub/a\n"},
        {"layout/module/sub", "\nBranch: main\nMain branch: main\nUpstream: origin/main\nStatus: 1 "
                              "changed\n   M sub/a\n"},
        {"layout/bare", "\nStatus: unknown (fatal: this operation must be run in a work tree)\n"},
    };
    CLEANUP(buf_release) struct buf command = BUF_INIT(4096);

    (void)state;
    if (!shell("command -v git >/dev/null"))
        return;
    buf_addf(&command,
             GIT_INIT "mkdir sub; echo x >sub/a; git add .; git commit -qm one; "
                      "git worktree add -q linked; echo y >linked/sub/a; "
                      "git -c protocol.file.allow=always submodule --quiet add ./. module; "
                      "echo y >module/sub/a; "
                      "git clone -q --bare . bare/.bare; echo 'gitdir: .bare' >bare/.git",
             "layout");
    assert_true(shell(buf_cstr(&command)));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

        assert_int_equal(gather(rows[i][0], "bin-none", false, 60000, NULL, &text, NULL), 0);
        if (!str_has(buf_str(&text), str_of(rows[i][1])))
            fail_msg("%s: %s", rows[i][0], buf_cstr(&text));
    }
}

/* 100,000 files, half of them not known to git. */
static void huge_repository(void **state)
{
    CLEANUP(buf_release) struct buf command = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    int64_t start_us;

    (void)state;
    if (!getenv("TENAX_HEAVY") || !shell("command -v git >/dev/null"))
        return;
    buf_addf(&command,
             GIT_INIT
             "for d in $(seq 500); do mkdir -p t/$d u/$d; (cd t/$d; seq 100 | xargs touch); "
             "(cd u/$d; seq 100 | xargs touch); done; git add t; git commit -qm all",
             "huge");
    assert_true(shell(buf_cstr(&command)));
    start_us = clock_mono_us();
    assert_int_equal(gather("huge", "bin-none", false, 0, NULL, &text, NULL), 0);
    print_message("100,000 files: %.1f ms\n%s\n", (double)(clock_mono_us() - start_us) / 1000,
                  buf_cstr(&text));
    assert_true(clock_mono_us() - start_us < 10000000);
}

UNIT_TEST(surroundings)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gits),
        cmocka_unit_test(no_repository),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(branches),
        cmocka_unit_test(real_git),
        cmocka_unit_test(filters),
        cmocka_unit_test(planted),
        cmocka_unit_test(layouts),
        cmocka_unit_test(huge_repository),
    };

    return cmocka_run_group_tests(tests, make_root, remove_root);
}
