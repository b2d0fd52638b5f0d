/*
 * States of a workspace in git: their contents, the way back, and that nothing of the user's is
 * touched on the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strv.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "goal/git/baseline.h"
#include "goal/git/staging.h"
#include "goal/work_check.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "sync/cancel.h"
#include "unit.h"

static char session_dir[300];
static struct baseline base = {
    .dir = work_dir, .session = "0c5f5b5e-0000-4000-8000-000000000001", .environ = work_env};

static int setup(void **state)
{
    work_setup(state);
    snprintf(session_dir, sizeof(session_dir), "%s/session", work_top);
    base.folder = session_dir;
    base.dir = work_dir;
    base.environ = work_env;
    return 0;
}

/* A repository with a commit, a change that is staged, one that is not, and an untracked file. */
static void make_repo(void)
{
    work_run("git init -q", NULL);
    work_put_all("a.c b.c src/c.c gone.c");
    work_put(".gitignore", "*.o\nbuild/\n");
    work_run(
        "git add -A && git commit -qm one && echo staged >> b.c && git add b.c && echo dirty >> "
        "src/c.c && echo new > new.c && echo o > x.o",
        NULL);
}

/* All that is the user's: index byte by byte, HEAD, branches, tags, stash, configuration. */
static void users_things(struct buf *ret)
{
    buf_clear(ret);
    work_run("d=$(git rev-parse --git-dir); c=$(git rev-parse --git-common-dir);"
             "test ! -f $d/index || sha256sum < $d/index; cat $d/HEAD $c/config;"
             "git for-each-ref refs/heads refs/tags refs/stash refs/notes; ls $d | sort",
             ret);
}

static void keep(const char *name, char commit[GIT_ID])
{
    struct err err = {0};

    if (baseline_keep(&base, name, STR("a state\n"), NULL, commit, NULL, &err) < 0)
        fail_msg("%s: %s", name, err.text);
}

/* From a kept state to the present one. */
static int diff(const char *commit, struct buf *stat, size_t max_stat, struct buf *hunks,
                size_t max_hunks, struct err *err)
{
    struct git git = staging_git(&base, git_now_ms() + BASELINE_TIMEOUT_MS, NULL);
    char tree[GIT_ID];

    if (staging_tree(&base, git.deadline_ms, NULL, tree, err) < 0)
        return -1;
    return baseline_diff_trees(&git, commit, tree, stat, max_stat, hunks, max_hunks, err);
}

/* "name text" of every file in a commit, or of every file in the work tree but ignored ones. */
static void contents(const char *commit, struct buf *ret)
{
    char command[500];

    buf_clear(ret);
    snprintf(
        command, sizeof(command),
        "for f in $(git ls-tree -r --name-only --full-tree %s | sort); do echo \"$f: $(git show "
        "%s:$f | tr '\\n' ' ')\"; done",
        commit, commit);
    work_run(command, ret);
}

/* The next goal of a session began at step-1 again, over the first one's. */
static void steps_of_all_goals_stay(void **state)
{
    char first[GIT_ID], second[GIT_ID];
    char ref[BASELINE_REF];
    CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 12);
    struct err err = {0};

    (void)state;
    work_run("git init -q && echo 1 > a", NULL);
    if (baseline_keep_next(&base, "step", STR("x"), NULL, first, ref, &err) < 0)
        fail_msg("%s", err.text);
    work_run("echo 2 > a", NULL);
    assert_int_equal(baseline_keep_next(&base, "step", STR("y"), NULL, second, ref, &err), 0);
    work_run("git for-each-ref --format='%(objectname) %(refname)' 'refs/tenax/*/step-*'", &out);
    assert_true(str_starts(buf_str(&out), str_of(first)));
    assert_true(str_find(buf_str(&out), str_of(second)) < out.len);
    assert_true(str_ends(str_trim(buf_str(&out)), STR("/step-2")));
    assert_true(str_ends(str_trim(buf_str(&out)), str_of(ref)));
}

/* They may have been written by a confined command. */
static void runs_no_filters_of_a_repository(void **state)
{
    static const char *const planted[] = {
        "git config filter.x.clean 'touch ran; cat'",
        "git config include.path more && git config -f .git/more filter.x.clean 'touch ran; cat'",
        "git config extensions.worktreeConfig 1 && git config --worktree filter.x.clean ./ran",
    };
    char commit[GIT_ID];

    (void)state;
    make_repo();
    for (size_t i = 0; i < ARRAY_LEN(planted); i++) {
        struct err err = {0};

        work_run("cp .git/config saved; echo '*.c filter=x' > .gitattributes", NULL);
        work_run(planted[i], NULL);
        assert_int_equal(baseline_keep(&base, "base", STR("x"), NULL, commit, NULL, &err), -1);
        assert_int_equal(err.code, ERR_UNSUPPORTED);
        assert_non_null(strstr(err.text, "filter.x."));
        work_run("test ! -e ran && mv saved .git/config && rm -f .git/config.worktree .git/more",
                 NULL);
    }
    work_run("rm .gitattributes", NULL);
    keep("base", commit);
}

/* What a confined command could have written runs confined: it does its work, sees no index but its
 * own, and reaches nothing else. */
static void runs_filters_of_a_repository_in_the_sandbox(void **state)
{
    static const char *const argv[] = {"tenax"};
    const struct conf_sources from = {
        .dir = work_dir, .environ = work_env, .etc = work_top, .trusted = true};
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct args args = {0};
    struct conf_sources sources = from;
    struct sandbox_spec spec = {.insists = true};
    struct baseline_undone undone;
    struct conf *conf = NULL;
    struct sandbox *sandbox;
    char commit[GIT_ID];
    struct err err = {0};
    bool is_there;

    (void)state;
    assert_int_equal(args_parse(ARRAY_LEN(argv), (char *const *)argv, &args, &err), 0);
    sources.args = &args;
    assert_int_equal(conf_load(&sources, &conf, &err), 0);
    spec.conf = conf;
    spec.workspace = workspace_new(work_dir, work_top, work_env);
    sandbox = sandbox_new(&spec, &warnings);
    is_there = sandbox_state(sandbox) == SANDBOX_ON;
    if (is_there) {
        make_repo();
        work_put("clean", "#!/bin/sh\ntouch ../ran\nln -sf /etc/passwd ../session/goal.index\n"
                          "tr a-z A-Z\n");
        work_put("smudge", "#!/bin/sh\ntouch ../ran\ntr A-Z a-z\n");
        work_run("git config filter.x.clean ./clean && git config filter.x.smudge ./smudge && "
                 "echo '*.txt filter=x' > .gitattributes && echo one > a.txt",
                 NULL);
        base.sandbox = sandbox;
        keep("base", commit);
        contents(commit, &out);
        assert_non_null(strstr(buf_cstr(&out), "a.txt: ONE"));
        work_run("echo two > a.txt; rm new.c", NULL);
        if (baseline_undo(&base, commit, NULL, &undone, &err) < 0)
            fail_msg("%s", err.text);
        base.sandbox = NULL;
        buf_clear(&out);
        work_run("cat a.txt new.c; ls -A ../session; test ! -e ../ran", &out);
        assert_string_equal(buf_cstr(&out), "one\nnew\ngoal.index\n");
    }
    sandbox_free(sandbox);
    workspace_unref(spec.workspace);
    conf_unref(conf);
    args_release(&args);
    if (!is_there)
        skip();
}

static void keeps_all_but_ignored(void **state)
{
    struct buf before = BUF_INIT(BUF_NO_LIMIT);
    struct buf after = BUF_INIT(BUF_NO_LIMIT);
    char commit[GIT_ID];
    char second[GIT_ID];
    char tree[GIT_ID];
    struct err err = {0};

    (void)state;
    make_repo();
    work_run("rm gone.c", NULL);
    users_things(&before);
    keep("base", commit);
    users_things(&after);
    assert_string_equal(buf_cstr(&before), buf_cstr(&after));
    contents(commit, &after);
    assert_string_equal(buf_cstr(&after), ".gitignore: *.o build/ \n"
                                          "a.c: a.c\n"
                                          "b.c: b.cstaged \n"
                                          "new.c: new \n"
                                          "src/c.c: src/c.cdirty \n");
    /* the same state is the same tree; another is not; each state follows the one before */
    assert_int_equal(baseline_keep(&base, "step-1", STR("x"), NULL, second, tree, &err), 0);
    assert_string_not_equal(commit, second);
    buf_clear(&after);
    work_run("r=refs/tenax/0c5f5b5e-0000-4000-8000-000000000001; git rev-parse $r/base $r/step-1^ "
             "$r/base^ HEAD $r/last $r/step-1 $r/base^{tree} $r/last^{tree} | uniq -c | "
             "sed 's/^ *//; s/ .*//' | tr '\\n' ' '; git log -1 --format='%an %cn %G?' $r/base",
             &after);
    assert_string_equal(buf_cstr(&after), "2 2 2 2 tenax tenax N\n");
    buf_release(&before);
    buf_release(&after);
}

/* ---- the user's things, over all kinds of repositories ---- */

static const struct {
    const char *name;
    const char *setup;  /* in an empty folder */
    const char *dir;    /* the workspace below it; NULL: itself */
    const char *change; /* what the agent does */
} repos[] = {
    {"plain", "git init -q; echo a > a; git add a; git commit -qm x; echo b > b", NULL,
     "echo x > a; rm b; echo c > c"},
    {"unborn", "git init -q; echo a > a", NULL, "echo x > a; echo c > c"},
    {"unborn and staged", "git init -q; echo a > a; git add a; echo b > b", NULL,
     "rm a b; echo > c"},
    {"sha256", "git init -q --object-format=sha256; echo a > a; git add a; git commit -qm x", NULL,
     "echo x > a; echo c > c"},
    {"subfolder", "git init -q; mkdir s; echo a > a; echo b > s/b; git add -A; git commit -qm x",
     "s", "echo x > ../a; echo x > b; echo c > c"},
    {"worktree",
     "git init -q m; cd m; echo a > a; git add a; git commit -qm x; git worktree add -q ../w; cd "
     "..; "
     "echo b > w/b",
     "w", "echo x > a; rm b; git commit -qam y; echo c > c"},
    {"detached", "git init -q; echo a > a; git add a; git commit -qm x; git checkout -q --detach",
     NULL, "echo x > a; git commit -qam y; echo y > a"},
    {"conflict",
     "git init -q; echo a > a; git add a; git commit -qm x; git checkout -qb o; echo o > a; git "
     "commit -qam o; git checkout -q main; echo m > a; git commit -qam m; git merge o >/dev/null "
     "|| "
     "true",
     NULL, "echo solved > a"},
    {"intent to add", "git init -q; echo a > a; git add -N a", NULL, "echo x > a"},
    {"autocrlf",
     "git init -q; git config core.autocrlf true; git config core.safecrlf true; printf "
     "'a\\r\\nb\\r\\n' > a; git add a; git commit -qm x",
     NULL, "printf 'a\\r\\nc\\r\\n' > a; printf 'x\\r\\n' > c"},
    {"odd names",
     "git init -q; mkdir 'd e'; echo 1 > 'd e/two words'; echo 2 > \"$(printf 'new\\nline')\"; "
     "echo 3 "
     "> \"$(printf '\\377\\376')\"; echo 4 > ':(top)x'; echo 5 > -f; git add -A; git commit -qm x",
     NULL,
     "echo x > 'd e/two words'; rm ./-f; echo x > ':(top)x'; echo x > \"$(printf 'new\\nline')\""},
    {"sparse",
     "git init -q; mkdir in out; echo a > in/a; echo b > out/b; git add -A; git commit -qm x; git "
     "sparse-checkout set in 2>/dev/null; test ! -e out/b",
     NULL, "echo x > in/a; echo c > in/c"},
    {"split index",
     "git init -q; git config core.splitIndex true; echo a > a; git add a; git commit -qm x; git "
     "update-index --split-index; echo b > b",
     NULL, "echo x > a; rm b"},
    {"untracked cache",
     "git init -q; git config core.untrackedCache true; echo a > a; git add a; git commit -qm x; "
     "git "
     "status >/dev/null; echo b > b",
     NULL, "echo x > a; rm b; mkdir n; echo c > n/c"},
    {"submodule",
     "git init -q m; cd m; echo s > s; git add s; git commit -qm s; cd ..; git init -q r; cd r; "
     "git -c "
     "protocol.file.allow=always submodule --quiet add ../m sub; echo a > a; git add -A; git "
     "commit "
     "-qm x",
     "r", "echo x > a; echo inside > sub/s"},
    {"repository inside",
     "git init -q; echo a > a; git add a; git commit -qm x; git init -q in; echo i "
     "> in/i",
     NULL, "echo x > a"},
    {"modes and links",
     "git init -q; echo a > a; chmod +x a; ln -s a l; ln -s none d; git add -A; git commit -qm x",
     NULL, "chmod -x a; rm l; ln -s b l; rm d; mkdir d; echo c > d/c"},
    {"file becomes folder",
     "git init -q; echo a > a; mkdir b; echo b > b/c; git add -A; git commit -qm "
     "x",
     NULL, "rm a; mkdir a; echo x > a/x; rm -r b; echo b > b"},
    {"unreadable", /* to root nothing is */
     "git init -q; echo a > a; git add a; git commit -qm x; echo s > shut; chmod 000 shut", NULL,
     "echo x > a; echo c > zz"},
    {"packed",
     "git init -q; echo a > a; git add a; git commit -qm x; git gc -q; git pack-refs --all", NULL,
     "echo x > a"},
    {"signing and hooks",
     "git init -q; echo a > a; git add a; git commit -qm x; git config commit.gpgSign true; git "
     "config "
     "gpg.program /bin/false; git config core.fsmonitor ../hook; git config core.logAllRefUpdates "
     "always; for h in post-index-change reference-transaction pre-commit post-checkout; do printf "
     "'#!/bin/sh\\necho $0 >> ../heard\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done; cp "
     ".git/hooks/pre-commit ../hook",
     NULL, "echo x > a; echo c > c"},
};

/* Every file below the folder with its bytes, but .git. */
static void files_of(struct buf *ret)
{
    buf_clear(ret);
    work_run(
        "find . -name .git -prune -o \\( -type f -o -type l \\) -print0 | sort -z | xargs -0 -r "
        "sh -c 'for f; do printf \"%s %s \" \"$f\" \"$(stat -c %A \"$f\")\"; if [ -L \"$f\" ]; "
        "then readlink \"$f\"; else "
        "sha256sum < \"$f\"; fi; done; true' x",
        ret);
}

static void leaves_the_user_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(repos); i++) {
        struct buf before = BUF_INIT(BUF_NO_LIMIT);
        struct buf after = BUF_INIT(BUF_NO_LIMIT);
        struct buf files = BUF_INIT(BUF_NO_LIMIT);
        struct buf changed = BUF_INIT(BUF_NO_LIMIT);
        struct buf stat = {0};
        struct buf hunks = {0};
        struct buf plan = {0};
        struct baseline_undone undone = {0};
        char first[GIT_ID];
        char second[GIT_ID];
        char tree[GIT_ID];
        char top[200];
        size_t count = 0;
        struct err err = {0};

        setup(NULL);
        snprintf(top, sizeof(top), "%.190s", work_dir);
        work_run(repos[i].setup, NULL);
        if (repos[i].dir)
            snprintf(work_dir, sizeof(work_dir), "%s/%s", top, repos[i].dir);

        files_of(&files);
        users_things(&before);
        keep("base", first);
        users_things(&after);
        if (strcmp(buf_cstr(&before), buf_cstr(&after)) != 0)
            fail_msg("%s, keep: %s\nbefore: %s", repos[i].name, buf_cstr(&after),
                     buf_cstr(&before));

        work_run(repos[i].change, NULL);
        users_things(&before);
        files_of(&changed);
        if (diff(first, &stat, 10000, &hunks, 10000, &err) < 0 ||
            baseline_undo_plan(&base, first, NULL, &plan, &count, &err) < 0 ||
            baseline_keep(&base, "step-1", STR("s"), NULL, second, tree, &err) < 0)
            fail_msg("%s: %s", repos[i].name, err.text);
        if (!stat.len || !hunks.len || !count)
            fail_msg("%s: no change seen: %s", repos[i].name, buf_cstr(&stat));
        if (baseline_undo(&base, first, NULL, &undone, &err) < 0)
            fail_msg("%s, undo: %s", repos[i].name, err.text);
        users_things(&after);
        if (strcmp(buf_cstr(&before), buf_cstr(&after)) != 0)
            fail_msg("%s, undo: %s\nbefore: %s", repos[i].name, buf_cstr(&after),
                     buf_cstr(&before));
        files_of(&after);
        if (strcmp(repos[i].name, "submodule") != 0 && /* its inside is its own */
            strcmp(buf_cstr(&files), buf_cstr(&after)) != 0)
            fail_msg("%s: after undo:\n%s\nwanted:\n%s", repos[i].name, buf_cstr(&after),
                     buf_cstr(&files));
        if (undone.restored + undone.removed != count)
            fail_msg("%s: %zu + %zu of %zu", repos[i].name, undone.restored, undone.removed, count);

        /* and forward again */
        if (baseline_undo(&base, undone.kept, NULL, &undone, &err) < 0)
            fail_msg("%s, forward: %s", repos[i].name, err.text);
        files_of(&after);
        if (strcmp(buf_cstr(&changed), buf_cstr(&after)) != 0)
            fail_msg("%s: forward again:\n%s\nwanted:\n%s", repos[i].name, buf_cstr(&after),
                     buf_cstr(&changed));
        assert_true(str_ends(str_of(undone.ref), STR("/undo-2")));
        snprintf(work_dir, sizeof(work_dir), "%s", top);
        if (file_exists(work_at("heard")) || file_exists(work_at("../heard")))
            fail_msg("%s: a hook was run", repos[i].name);
        buf_release(&before);
        buf_release(&after);
        buf_release(&files);
        buf_release(&changed);
        buf_release(&stat);
        buf_release(&hunks);
        buf_release(&plan);
        work_teardown(NULL);
    }
}

/* ---- what an agent may try ---- */

static void not_fooled(void **state)
{
    static const char *const rows[] = {
        "git update-index --assume-unchanged a.c; echo evil >> a.c",
        "git update-index --skip-worktree a.c; echo evil >> a.c",
        "git update-index --skip-worktree a.c; rm a.c",
        "git rm -q --cached a.c; echo a.c >> .git/info/exclude; echo evil >> a.c",
        /* the same size and time; git's own index knows whole seconds of a change */
        ("touch -r a.c t; s=$(stat -c %Z a.c); until [ $(date +%s) -gt $s ]; do :; done; "
         "printf A.c > a.c; touch -r t a.c"),
    };

    (void)state;
    for (int first = 0; first < 2; first++) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            struct buf stat = {0};
            char commit[GIT_ID];
            struct err err = {0};

            setup(NULL);
            make_repo();
            if (first && i < 2) /* the marks were there before */
                work_run(i ? "git update-index --skip-worktree a.c"
                           : "git update-index --assume-unchanged a.c",
                         NULL);
            keep("base", commit);
            work_run(rows[i], NULL);
            if (diff(commit, &stat, 1000, NULL, 0, &err) < 0)
                fail_msg("%s", err.text);
            if (!strstr(buf_cstr(&stat), " a.c "))
                fail_msg("%s: not seen: %s", rows[i], buf_cstr(&stat));
            buf_release(&stat);
            work_teardown(NULL);
        }
    }
}

/* A change in the moment after the index was written, of the same size. */
static void too_fast_for_the_clock(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        char commit[GIT_ID];
        char tree[GIT_ID];
        char other[GIT_ID];

        setup(NULL);
        work_run("git init -q && echo one > a && "
                 "git add a && echo two > a",
                 NULL);
        assert_int_equal(baseline_keep(&base, "base", STR(""), NULL, commit, tree, NULL), 0);
        work_run("test \"$(git show refs/tenax/0c5f5b5e-0000-4000-8000-000000000001/base:a)\" = "
                 "two && echo six > a",
                 NULL);
        assert_int_equal(staging_tree(&base, git_now_ms() + BASELINE_TIMEOUT_MS, NULL, other, NULL),
                         0);
        assert_string_not_equal(tree, other);
        work_teardown(NULL);
    }
}

/* ---- failing ---- */

static void not_in_git(void **state)
{
    static char no_path[] = "PATH=/nonexistent/bin";
    static char *const no_git[] = {no_path, NULL};
    char id[GIT_ID] = "untouched";
    struct err err = {0};

    (void)state;
    assert_int_equal(staging_tree(&base, git_now_ms() + BASELINE_TIMEOUT_MS, NULL, id, &err), -1);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    work_run("git init -q", NULL);
    base.environ = no_git;
    assert_int_equal(baseline_keep(&base, "base", STR(""), NULL, id, NULL, &err), -1);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_string_equal(err.text, "there is no git here");
    base.environ = work_env;
    work_run("rm -rf .git && "
             "git init -q --bare .git && rm -rf ../work/x",
             NULL);
    assert_int_equal(staging_tree(&base, git_now_ms() + BASELINE_TIMEOUT_MS, NULL, id, &err), -1);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    base.dir = "/nonexistent/none";
    assert_int_equal(staging_tree(&base, git_now_ms() + BASELINE_TIMEOUT_MS, NULL, id, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_string_equal(id, "untouched");
}

static void bad_names(void **state)
{
    static const char *const rows[] = {"", "a/b", "..", "a b", "-x", "a\n", "a.lock"};
    char id[GIT_ID];
    struct err err = {0};
    struct baseline_undone undone;
    struct buf out = {0};
    size_t count;

    (void)state;
    work_run("git init -q", NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (baseline_keep(&base, rows[i], STR(""), NULL, id, NULL, &err) == 0 ||
            err.code != ERR_BAD_INPUT)
            fail_msg("'%s' was taken", rows[i]);
        if (baseline_undo(&base, rows[i], NULL, &undone, &err) == 0 || err.code != ERR_BAD_INPUT ||
            baseline_undo_plan(&base, rows[i], NULL, &out, &count, &err) == 0 ||
            err.code != ERR_BAD_INPUT)
            fail_msg("'%s' was undone", rows[i]);
    }
    err_clear(&err); /* a commit that is not there */
    assert_int_equal(
        baseline_undo(&base, "0123456789012345678901234567890123456789", NULL, &undone, &err), -1);
    assert_int_equal(err.code, ERR_IO);
}

/* No new object can be written: the words are git's, and no state is half kept. */
static void cannot_write(void **state)
{
    struct buf refs = BUF_INIT(BUF_NO_LIMIT);
    char id[GIT_ID];
    struct err err = {0};

    (void)state;
    make_repo();
    work_run(
        "for a in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for b in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do "
        "test -e .git/objects/$a$b || : > .git/objects/$a$b; done; done; seq 100 > n1; "
        "for i in $(seq 40); do echo $i > m$i; done",
        NULL);
    assert_int_equal(baseline_keep(&base, "base", STR(""), NULL, id, NULL, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_true(str_starts(str_of(err.text), STR("git add: error: ")));
    work_run("git for-each-ref refs/tenax", &refs);
    assert_int_equal(refs.len, 0);
    buf_release(&refs);
}

static void recovers_its_index(void **state)
{
    char commit[GIT_ID];
    char tree[GIT_ID];
    char again[GIT_ID];

    (void)state;
    make_repo();
    assert_int_equal(baseline_keep(&base, "base", STR(""), NULL, commit, tree, NULL), 0);
    work_run("echo broken > ../session/goal.index", NULL);
    assert_int_equal(staging_tree(&base, git_now_ms() + BASELINE_TIMEOUT_MS, NULL, again, NULL), 0);
    assert_string_equal(tree, again);
    work_run("test $(ls ../session | wc -l) = 1", NULL); /* nothing is left lying about */
}

static void cancelled(void **state)
{
    struct cancel *cancel = cancel_new(NULL);
    char id[GIT_ID];
    struct err err = {0};

    (void)state;
    make_repo();
    cancel_set(cancel);
    assert_int_equal(baseline_keep(&base, "base", STR(""), cancel, id, NULL, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    cancel_unref(cancel);
}

/* Files that git ignores must not be lost. */
static void undo_spares_ignored(void **state)
{
    static const struct {
        const char *make, *words, *check;
    } in_the_way[] = {
        {"rm out; mkdir out; echo mine > out/secret.o", "'out/secret.o' is in the way of 'out'",
         "test $(cat out/secret.o) = mine; rm -r out"},
        {"rm out; mkdir -p out/a/b; echo mine > out/a/b/secret.o", "in the way of 'out'",
         "test $(cat out/a/b/secret.o) = mine; rm -r out"},
        {"rm -r src; echo '/src' >> .git/info/exclude; echo mine > src",
         "'src' is in the way of 'src/c.c'",
         "test $(cat src) = mine; rm src; : > .git/info/exclude"},
    };
    struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct baseline_undone undone;
    char commit[GIT_ID];
    struct err err = {0};

    (void)state;
    make_repo();
    work_put("out", "a file");
    keep("base", commit);
    work_run("mkdir build; echo made > build/x; echo o2 > x.o; echo later > later.c", NULL);
    assert_int_equal(baseline_undo(&base, commit, NULL, &undone, &err), 0);
    assert_int_equal(undone.removed, 1);
    assert_int_equal(undone.restored, 0);
    work_run("test -f build/x && test \"$(cat x.o)\" = o2 && test ! -e later.c && git show "
             "refs/tenax/0c5f5b5e-0000-4000-8000-000000000001/undo-1:later.c",
             &out);
    assert_string_equal(buf_cstr(&out), "later\n");

    /* one that is in the way is not lost, and is reported */
    for (size_t i = 0; i < ARRAY_LEN(in_the_way); i++) {
        work_run(in_the_way[i].make, NULL);
        if (baseline_undo(&base, commit, NULL, &undone, &err) == 0 || err.code != ERR_IO ||
            !strstr(err.text, in_the_way[i].words))
            fail_msg("%s: %s", in_the_way[i].make, err.text);
        work_run(in_the_way[i].check, NULL);
        assert_int_equal(baseline_undo(&base, commit, NULL, &undone, &err), 0);
    }
    buf_release(&out);
}

/* ---- diffs in few bytes ---- */

static void fair_shares(void **state)
{
    struct buf stat = {0};
    struct buf hunks = {0};
    char commit[GIT_ID];
    struct err err = {0};

    (void)state;
    work_run("git init -q && seq 5000 > long1 && seq 5000 > long2 && echo s > short", NULL);
    keep("base", commit);
    work_run("seq 5000 | sed 's/$/x/' > long1; seq 5000 | sed 's/$/y/' > long2; echo t > short",
             NULL);
    assert_int_equal(diff(commit, &stat, 4000, &hunks, 4000, &err), 0);
    assert_true(hunks.len <= 4000 && hunks.len > 3000);
    assert_non_null(strstr(buf_cstr(&hunks), "+t\n")); /* the short one is whole */
    assert_non_null(strstr(buf_cstr(&hunks), "diff --git a/long2 b/long2\n"));
    assert_non_null(strstr(buf_cstr(&hunks), "more bytes of this file's diff are left out\n"));
    assert_non_null(strstr(buf_cstr(&stat), "3 files changed"));

    /* many files: some are only named, all are counted */
    work_run("for i in $(seq 300); do seq 40 > f$i; done; seq 5000 > long1", NULL);
    assert_int_equal(diff(commit, &stat, 2000, &hunks, 8000, &err), 0);
    assert_true(hunks.len <= 8000);
    assert_true(stat.len <= 2000);
    assert_non_null(strstr(buf_cstr(&hunks), "more files are left out: a/f"));
    assert_non_null(strstr(buf_cstr(&stat), "302 files changed"));
    assert_non_null(strstr(buf_cstr(&stat), "more files\n"));
    for (size_t max = 0; max < 1000; max += 37) {
        assert_int_equal(diff(commit, &stat, max, &hunks, max, &err), 0);
        assert_true(hunks.len <= max + 200 && stat.len <= max + 200);
        max += 200;
    }
    buf_release(&stat);
    buf_release(&hunks);
}

/* Neither attributes nor crowds of new files hide changes of an old one. */
static void hides_nothing(void **state)
{
    struct buf stat = {0};
    struct buf hunks = {0};
    char commit[GIT_ID];
    struct err err = {0};

    (void)state;
    work_run("git init -q && echo old > z.test && printf 'a\\0b' > z.bin", NULL);
    keep("base", commit);
    work_run("echo new > z.test; printf 'a\\0c' > z.bin; echo '* binary' > .git/info/attributes",
             NULL);
    assert_int_equal(diff(commit, &stat, 4000, &hunks, 4000, &err), 0);
    assert_non_null(strstr(buf_cstr(&hunks), "-old\n+new\n"));
    assert_non_null(strstr(buf_cstr(&hunks), "b/z.bin\nBinary content differs\n"));
    assert_int_equal(strlen(buf_cstr(&hunks)), hunks.len); /* nothing of the binary one */
    work_run("for i in $(seq 300); do seq 40 > f$i; done", NULL);
    assert_int_equal(diff(commit, &stat, 2000, &hunks, 8000, &err), 0);
    assert_non_null(strstr(buf_cstr(&stat), " z.test "));
    assert_non_null(strstr(buf_cstr(&hunks), "-old\n+new\n"));
    buf_release(&stat);
    buf_release(&hunks);
}

UNIT_TEST(baseline)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keeps_all_but_ignored, setup, work_teardown),
        cmocka_unit_test_setup_teardown(runs_no_filters_of_a_repository, setup, work_teardown),
        cmocka_unit_test_setup_teardown(runs_filters_of_a_repository_in_the_sandbox, setup,
                                        work_teardown),
        cmocka_unit_test_setup_teardown(steps_of_all_goals_stay, setup, work_teardown),
        cmocka_unit_test(leaves_the_user_alone),
        cmocka_unit_test(not_fooled),
        cmocka_unit_test(too_fast_for_the_clock),
        cmocka_unit_test_setup_teardown(not_in_git, setup, work_teardown),
        cmocka_unit_test_setup_teardown(bad_names, setup, work_teardown),
        cmocka_unit_test_setup_teardown(cannot_write, setup, work_teardown),
        cmocka_unit_test_setup_teardown(recovers_its_index, setup, work_teardown),
        cmocka_unit_test_setup_teardown(cancelled, setup, work_teardown),
        cmocka_unit_test_setup_teardown(undo_spares_ignored, setup, work_teardown),
        cmocka_unit_test_setup_teardown(fair_shares, setup, work_teardown),
        cmocka_unit_test_setup_teardown(hides_nothing, setup, work_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
