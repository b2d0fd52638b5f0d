/*
 * Origins: protected files, later looks, accepted changes, and reading back from disk; in every
 * kind of repository and without one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "goal/origin/origin.h"
#include "goal/work_check.h"
#include "unit.h"

static char goal_dir[300];

/* A separate workspace for each test; `folder` is the part of it that is worked in. */
static char root[400];

static int setup(void **state)
{
    (void)state;
    work_make();
    snprintf(goal_dir, sizeof(goal_dir), "%s/goal", work_top);
    snprintf(root, sizeof(root), "%s", work_dir);
    return 0;
}

static struct origin *take_with(const char *globs, const char *check, const char *keep,
                                bool protects_nothing)
{
    CLEANUP(strv_release) struct strv protect = STRV_INIT;
    CLEANUP(strv_release) struct strv checks = STRV_INIT;
    CLEANUP(strv_release) struct strv keeps = STRV_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct origin_spec spec = {.dir = root,
                               .folder = goal_dir,
                               .environ = work_env,
                               .globs = &protect,
                               .keep = &keeps,
                               .checks = &checks,
                               .protects_nothing = protects_nothing};
    struct origin *o = NULL;
    struct err err = {0};

    if (globs)
        strv_adds(&protect, globs);
    if (check)
        strv_adds(&checks, check);
    if (keep)
        strv_adds(&keeps, keep);
    usleep(60 * 1000); /* nothing is young */
    if (origin_take(&spec, NULL, &o, &notes, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < notes.len; i++)
        fail_msg("%s", notes.ptr[i]);
    return o;
}

static struct origin *take(void)
{
    return take_with(NULL, "make test", NULL, false);
}

static void freep(struct origin **o)
{
    origin_free(*o);
}

/* "new tree a, changed b | git: x": files of the tree are called so. */
static void look(const struct origin *o, struct buf *ret)
{
    CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
    struct err err = {0};

    buf_clear(ret);
    if (origin_look(o, NULL, &now, &err) < 0)
        fail_msg("%s", err.text);
    VEC_EACH(&now.changes, c) {
        const struct inventory_entry *e = change_entry(c);

        buf_addf(ret, "%s%s %s%s", ret->len ? ", " : "", inventory_how_name(c->how),
                 e->flags & INVENTORY_TREE ? "tree " : "", e->path.ptr);
    }
    for (size_t i = 0; i < now.git.len; i++) {
        const char *name = now.git.ptr[i];

        if (strncmp(name, work_top, strlen(work_top)) == 0)
            name += strlen(work_top) + 1;
        buf_addf(ret, "%s%s", i ? ", " : " | git: ", name);
    }
}

static void assert_look(const struct origin *o, const char *expected)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);

    look(o, &text);
    assert_string_equal(buf_cstr(&text), expected);
}

static void assert_protected(const struct origin *o, const char *expected)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);

    origin_names(o, 1000, &names);
    for (size_t i = 0; i < names.len; i++)
        buf_addf(&text, "%s%s", i ? " " : "", names.ptr[i]);
    assert_string_equal(buf_cstr(&text), expected);
    assert_int_equal(origin_count(o), names.len);
}

/* "what path": objections to the state of protected files. */
static void assert_objections(const struct origin *o, const char *expected)
{
    CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    objection_vec objections = VEC_INIT;

    assert_int_equal(origin_look(o, NULL, &now, NULL), 0);
    origin_protected(o, &now, &objections);
    VEC_EACH(&objections, it) {
        buf_addf(&text, "%s%s %s", text.len ? ", " : "", it->path, objection_name(it->what));
    }
    objections_release(&objections);
    assert_string_equal(buf_cstr(&text), expected);
}

static const char make_project[] =
    "mkdir -p tests lib build; echo 1 > tests/test_a.py; echo 2 > tests/data.txt; echo 3 > "
    "lib/a.py;"
    "printf 'test:\\n\\ttrue\\n' > Makefile; echo '[pytest]' > pytest.ini; echo 4 > run.sh;"
    "echo build/ > .gitignore; echo 5 > build/out; echo 6 > build/keep";

/* ---- protected files ---- */

static void protects_by_name(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;

    (void)state;
    work_run("git init -q", NULL);
    work_run(make_project, NULL);
    o = take();
    assert_protected(o, "Makefile pytest.ini tests/data.txt tests/test_a.py");
    origin_free(o);
    o = take_with(NULL, NULL, NULL, false); /* without checks nothing builds */
    assert_protected(o, "tests/data.txt tests/test_a.py");
    origin_free(o);
    o = take_with(NULL, "make", NULL, true);
    assert_protected(o, "");
}

static void protects_by_glob(void **state)
{
    static const struct {
        const char *glob, *names;
    } rows[] = {
        {"lib", "lib/a.py"},
        {"lib/", "lib/a.py"},
        {"./lib", "lib/a.py"},
        {"*.sh", "run.sh"},
        {"build", "build/keep build/out"},
        {"/run.sh", "run.sh"},
        {"lib/*.py", "lib/a.py"},
        {"**/out", "build/out"},
        {"a.py", "lib/a.py"},
    };

    (void)state;
    work_run("git init -q", NULL);
    work_run(make_project, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(freep) struct origin *o = take_with(rows[i].glob, NULL, NULL, true);

        assert_protected(o, rows[i].names);
    }
}

static void protects_later(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;

    (void)state;
    work_run("git init -q", NULL);
    work_run(make_project, NULL);
    o = take();
    work_run("echo more >> lib/a.py; echo new > lib/b.py; echo bad > tests/data.txt", NULL);
    assert_int_equal(origin_protect(o, STR("lib"), NULL, &notes, NULL), 0);
    assert_int_equal(notes.len, 0);
    assert_protected(o, "Makefile lib/a.py lib/b.py pytest.ini tests/data.txt tests/test_a.py");
    assert_objections(o, "tests/data.txt changed"); /* a protected one stays as it was */
    work_run("echo 1 > lib/b.py; rm lib/a.py", NULL);
    assert_objections(o, "lib/a.py gone, lib/b.py changed, tests/data.txt changed");
    assert_int_equal(origin_protect(o, STR("nothing-of-that-name"), NULL, &notes, NULL), 0);
    assert_int_equal(notes.len, 1);
}

static void protects_behind_links(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;

    (void)state;
    work_run("git init -q; mkdir -p real other; echo 1 > real/a; echo 2 > other/b;"
             "ln -s real tests; ln -s other elsewhere; ln -s /etc spec",
             NULL);
    o = take();
    assert_protected(o, "real/a");
}

/* ---- the workspace since then ---- */

static void changes_with_git(void **state)
{
    static const struct {
        const char *name, *command, *expected;
    } rows[] = {
        {"nothing", "true", ""},
        {"a tracked file", "echo x >> lib/a.py", "changed tree lib/a.py"},
        {"a new file", "echo x > lib/b.py", "new tree lib/b.py"},
        {"an ignored file", "echo x > build/out", "changed build/out"},
        {"a new ignored file", "echo x > build/new", "new build/new"},
        {"a cache that is not ignored", "mkdir lib/__pycache__; echo x > lib/__pycache__/a.pyc",
         "new lib/__pycache__/a.pyc"},
        {"ignored from now on", "echo '*.py' >> .gitignore; echo x > lib/b.py",
         "changed tree .gitignore, new lib/b.py"},
        {"excluded from now on", "echo 'lib/' >> .git/info/exclude; echo x > lib/b.py",
         "new tree lib/b.py | git: work/.git/info/exclude"},
        {"a mode", "chmod +x lib/a.py", "mode tree lib/a.py"},
        {"gone", "rm lib/a.py", "gone tree lib/a.py"},
        {"the configuration of git", "git config core.pager x", " | git: work/.git/config"},
        {"a hook",
         "printf '#!/bin/sh\\n' > .git/hooks/post-checkout;"
         "chmod +x .git/hooks/post-checkout",
         " | git: work/.git/hooks/post-checkout"},
        {"a sample of a hook", "touch .git/hooks/new.sample", ""},
        {"attributes", "mkdir -p .git/info; echo '* -diff' > .git/info/attributes",
         " | git: work/.git/info/attributes"},
        {"a ref that replaces", "git replace HEAD $(echo x | git commit-tree HEAD^{tree})",
         " | git: refs/replace"},
        {"the same, packed",
         "git replace HEAD $(echo x | git commit-tree HEAD^{tree}); git pack-refs --all",
         " | git: refs/replace"},
        {"assume unchanged", "git update-index --assume-unchanged lib/a.py",
         " | git: lib/a.py (git is told to look past it)"},
        {"skip the work tree", "git update-index --skip-worktree lib/a.py",
         " | git: lib/a.py (git is told to look past it)"},
        {"a commit", "git commit -q --allow-empty -m more; git tag t; git branch b", ""},
        {"the index alone", "git rm -q --cached lib/a.py", ""},
        {"the user's configuration", "echo '[x]' > ../home/.gitconfig", " | git: home/.gitconfig"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(freep) struct origin *o = NULL;
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);

        work_run("find . -mindepth 1 -delete; rm -rf ../goal ../home/.gitconfig; git init -q",
                 NULL);
        work_run(make_project, NULL);
        work_run("git add .; git commit -qm begin", NULL);
        o = take();
        work_run(rows[i].command, NULL);
        look(o, &text);
        if (!str_is(buf_str(&text), rows[i].expected))
            fail_msg("%s: '%s', not '%s'", rows[i].name, buf_cstr(&text), rows[i].expected);
    }
}

static void broken_index(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);

    (void)state;
    work_run("git init -q; echo 1 > a; git add .; git commit -qm begin", NULL);
    o = take();
    work_run("echo garbage > .git/index", NULL);
    look(o, &text);
    assert_true(
        str_starts(buf_str(&text), STR(" | git: the repository cannot be read any more: ")));
}

static void changes_without_git(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;

    (void)state;
    work_run(make_project, NULL);
    o = take();
    assert_false(o->git.has_git);
    assert_protected(o, "Makefile pytest.ini tests/data.txt tests/test_a.py");
    assert_look(o, "");
    work_run("echo x > lib/a.py; echo x > lib/b.py; echo x > lib/b.pyc; echo x > tests/data.txt",
             NULL);
    assert_look(o, "changed tree lib/a.py, new tree lib/b.py, new lib/b.pyc, changed tree "
                   "tests/data.txt");
    assert_objections(o, "tests/data.txt changed");
}

static void empty_repository(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;

    (void)state;
    work_run("git init -q", NULL);
    o = take();
    assert_true(o->git.has_git && o->has_tree);
    assert_int_equal(o->git.head.len, 0);
    assert_look(o, "");
    work_run("echo 1 > a; git add a; git commit -qm first", NULL);
    assert_look(o, "new tree a");
}

static void sub_folder(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;

    (void)state;
    work_run("git init -q; mkdir -p sub/tests sub/build; echo 1 > sub/tests/a; echo 2 > sub/b;"
             "echo 3 > outside; echo build/ > .gitignore; echo 4 > sub/build/o;"
             "git add .; git commit -qm begin",
             NULL);
    snprintf(root, sizeof(root), "%s/sub", work_dir);
    o = take();
    assert_true(o->has_tree);
    assert_protected(o, "tests/a");
    work_run("echo x > sub/build/new; echo x > sub/c; echo x > outside; echo x > sub/build/o;"
             "git update-index --assume-unchanged sub/b",
             NULL);
    assert_look(o, "new build/new, changed build/o, new tree c | git: b (git is told to look past "
                   "it)");
}

/* Git compares times by the second: with an old mtime it would miss both of these changes. */
static void change_within_a_second(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;
    CLEANUP(mem_freep) char *kept = NULL, *copy = NULL;
    struct origin_now now = ORIGIN_NOW_INIT;
    struct err err = {0};
    struct stat a, b;
    struct tree t;
    char tree[GIT_ID];

    (void)state;
    work_run("echo 1 > a; echo 1 > b; touch -d '2020-01-01' a b", NULL);
    o = take();
    work_run("echo 2 > a; touch -d '2020-01-01' a; sleep 1.1", NULL);
    kept = path_join(o->git_dir, "index");
    copy = path_join(o->git_dir, "index-copy");
    if (origin_look(o, NULL, &now, &err) < 0 || tree_copy_index(kept, copy, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(stat(kept, &a) == 0 && stat(copy, &b) == 0);
    assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
    assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
    t = origin_tree(o);
    t.index = copy;
    if (tree_forget(&t, &now.changes, NULL, &err) < 0 || tree_take(&t, NULL, NULL, tree, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_not_equal(tree, o->tree);
    origin_now_release(&now);
}

static void linked_work_tree(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;

    (void)state;
    work_run("git init -q; mkdir tests; echo 1 > tests/a; git add .; git commit -qm begin;"
             "git worktree add -q ../linked",
             NULL);
    snprintf(root, sizeof(root), "%s/linked", work_top);
    o = take();
    assert_true(o->has_tree && !str_eq(o->git.git_dir, o->git.common_dir));
    assert_protected(o, "tests/a");
    work_run("echo x > ../linked/tests/a; git config a.b c; echo x > tests/a;"
             "cd ../linked; git update-index --assume-unchanged tests/a",
             NULL);
    assert_look(o,
                "changed tree tests/a | git: work/.git/config, tests/a (git is told to look past "
                "it)");
}

static void submodule(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;

    (void)state;
    work_run("git init -q ../module; cd ../module; mkdir tests; echo 1 > tests/a; echo 2 > b;"
             "git add .; git commit -qm m; cd ../work; git init -q;"
             "git -c protocol.file.allow=always submodule --quiet add ../module mod;"
             "git commit -qm begin",
             NULL);
    o = take();
    assert_protected(o, "mod/tests/a");
    work_run("echo x > mod/b; echo x > mod/tests/a; echo x > mod/new", NULL);
    assert_look(o, "changed tree mod/b, new tree mod/new, changed tree mod/tests/a");
    assert_objections(o, "mod/tests/a changed");
}

/* Filters and attributes of the workspace have no say, and no program of them runs. */
static void filters(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;

    (void)state;
    work_run("git init -q; mkdir tests; echo '* filter=evil ident eol=crlf' > .gitattributes;"
             "git config filter.evil.clean 'touch ../ran; cat';"
             "git config filter.evil.smudge 'touch ../ran; cat'; echo '$Id$' > tests/a",
             NULL);
    o = take();
    assert_true(o->has_tree);
    work_run("echo x > tests/a; test ! -e ../ran", NULL);
    assert_objections(o, "tests/a changed");
}

static void many_ignored(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;
    CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
    size_t ignored = 0;

    (void)state;
    work_run("git init -q; for i in $(seq 1 3000); do echo ignored$i; done > .gitignore;"
             "git add .; git commit -qm begin",
             NULL);
    o = take();
    work_run("for i in $(seq 1 3000); do echo 1 > ignored$i; done; echo 1 > seen", NULL);
    assert_int_equal(origin_look(o, NULL, &now, NULL), 0);
    assert_int_equal(now.changes.len, 3001);
    VEC_EACH(&now.changes, c) {
        ignored += !(c->is->flags & INVENTORY_TREE);
    }
    assert_int_equal(ignored, 3000);
}

/* ---- accepting ---- */

static void accepts(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;
    struct err err = {0};
    size_t count = 0;

    (void)state;
    work_run("git init -q", NULL);
    work_run(make_project, NULL);
    o = take();
    work_run("echo x > tests/data.txt; echo x > tests/test_a.py; rm Makefile; chmod +x pytest.ini;"
             "echo x > conftest.py; echo x > build/out",
             NULL);
    assert_objections(o, "Makefile gone, pytest.ini has other permissions, tests/data.txt changed, "
                         "tests/test_a.py changed");
    assert_int_equal(origin_accept(o, STR("tests/data.txt"), NULL, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_objections(o,
                      "Makefile gone, pytest.ini has other permissions, tests/test_a.py changed");
    assert_int_equal(origin_accept(o, STR("./tests/"), NULL, &count, &err), 0);
    assert_objections(o, "Makefile gone, pytest.ini has other permissions");
    assert_int_equal(origin_accept(o, STR("nothing/of/that"), NULL, &count, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(origin_accept(o, STR(""), NULL, &count, &err), 0);
    assert_int_equal(count, 3); /* Makefile, pytest.ini, conftest.py */
    assert_objections(o, "");
    assert_look(o, "changed build/out");
    work_run("echo y > tests/data.txt", NULL); /* accepted once is not for good */
    assert_objections(o, "tests/data.txt changed");
}

/* ---- checks ---- */

static void add_check(struct origin *o, const char *command, const char *records)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 14);
    struct trace trace = {0};
    struct strv touched = STRV_INIT;
    struct err err = {0};

    for (; *records; records++)
        buf_addc(&bytes, *records == '|' ? '\0' : *records == '^' ? '\x1f' : *records);
    trace_read(&trace, buf_str(&bytes), "/w", "/w", "/tmp/room", "/home/u");
    if (origin_add_check(o, command, /*now=*/NULL, &trace, &touched, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static void protects_what_is_read(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;

    (void)state;
    work_run("git init -q; echo 1 > rules.mk; echo 2 > other.mk; echo 3 > list; echo 4 > .env;"
             "touch Makefile a.c",
             NULL);
    o = take();
    assert_protected(o, "Makefile");
    add_check(o, "make test",
              "X 1 /usr/bin/make^test|R 1 /w/Makefile|R 1 /w/rules.mk|R 1 /w/list|"
              "X 2 /bin/sh|R 2 /w/.env|X 3 /usr/bin/cc|R 3 /w/a.c|");
    assert_protected(o, ".env Makefile list rules.mk");
}

static void compare_runs(void **state)
{
    static const struct {
        const char *name, *setup, *command, *first, *then, *objections, *partial;
    } rows[] = {
        {"the same", "", "t", "X 1 /bin/sh^run.sh|R 1 /w/run.sh|",
         "X 5 /bin/sh^run.sh|R 5 "
         "/w/run.sh|",
         "", ""},
        {"nothing is left", "", "t", "X 1 /bin/sh^run.sh|R 1 /w/run.sh|", "X 1 /bin/true|",
         "run.sh no longer runs", ""},
        {"some are missing", "", "t",
         "X 1 /bin/sh^run.sh|R 1 /w/run.sh|X 2 /usr/bin/python3|R 2 /w/tests/test_a.py|",
         "X 1 /bin/sh^run.sh|R 1 /w/run.sh|", "tests/test_a.py no longer runs", ""},
        {"a script that is no test is missing", "", "t",
         "X 1 /bin/sh^run.sh|R 1 /w/run.sh|X 2 /usr/bin/python3|R 2 /w/tests/test_a.py|",
         "X 2 /usr/bin/python3|R 2 /w/tests/test_a.py|", "", "run.sh"},
        {"more than before", "", "t", "X 1 /bin/sh^run.sh|R 1 /w/run.sh|",
         "X 1 /bin/sh^run.sh|R 1 /w/run.sh|X 2 /usr/bin/python3|R 2 /w/tests/test_a.py|", "", ""},
        {"what it built does not run", "", "t", "X 1 /w/build/app|", "X 1 /bin/true|",
         "t no longer runs", ""},
        {"what it built has another name", "", "t", "X 1 /w/build/app|", "X 1 /w/build/app2|", "",
         ""},
        {"new configuration of a runner", "echo 1 > conftest.py", "t", "X 1 /usr/bin/python3|",
         "X 1 /usr/bin/python3|R 1 /w/conftest.py|", "conftest.py is new", ""},
        {"the same, not read", "echo 1 > conftest.py", "t", "X 1 /usr/bin/python3|",
         "X 1 /usr/bin/python3|", "", ""},
        {"a module of the runner's name", "mkdir pytest; echo 1 > pytest/__init__.py", "t",
         "X 1 /usr/bin/python3|", "X 1 /usr/bin/python3|R 1 /w/pytest/__init__.py|",
         "pytest/__init__.py is new", ""},
        {"a manifest with settings of a runner", "echo '{\"jest\": {}}' > package.json", "t",
         "X 1 /usr/bin/node^run.sh|R 1 /w/run.sh|",
         "X 1 /usr/bin/node^run.sh|R 1 /w/run.sh|R 1 /w/package.json|", "package.json is new", ""},
        {"a manifest that names packages", "echo '{\"dependencies\": {}}' > package.json", "t",
         "X 1 /usr/bin/node^run.sh|R 1 /w/run.sh|",
         "X 1 /usr/bin/node^run.sh|R 1 /w/run.sh|R 1 /w/package.json|", "", ""},
        {"the manifest of a first project", "echo '{\"scripts\": {}}' > package.json", "t",
         "X 1 /usr/bin/node|", "X 1 /usr/bin/node|R 1 /w/package.json|", "", ""},
        {"a hidden file", "mkdir .x; echo 1 > .x/y", "t", "X 1 /usr/bin/rg|",
         "X 1 /usr/bin/rg|R 1 /w/.x/y|", ".x/y is new", ""},
        {"a hidden file that the check names", "mkdir .x; echo 1 > .x/y", "grep a .x/y",
         "X 1 /usr/bin/grep|", "X 1 /usr/bin/grep|R 1 /w/.x/y|", "", ""},
        {"a name that is an option", "echo 1 > --all", "t *", "X 1 /bin/t|", "X 1 /bin/t|",
         "--all is new", ""},
        {"a header before the system's", "mkdir inc; echo 1 > inc/math.h", "cc",
         "X 1 /usr/bin/cc|M 1 /w/inc/math.h|R 1 /usr/include/math.h|",
         "X 1 /usr/bin/cc|R 1 /w/inc/math.h|R 1 /usr/include/math.h|", "inc/math.h is new", ""},
        {"a header of the same name elsewhere", "mkdir inc; echo 1 > inc/types.h", "cc",
         "X 1 /usr/bin/cc|R 1 /usr/include/bits/types.h|",
         "X 1 /usr/bin/cc|R 1 /w/inc/types.h|R 1 /usr/include/bits/types.h|", "", ""},
        {"a module in place of the system's", "echo 1 > json.py", "t",
         "X 1 /usr/bin/python3|R 1 /usr/lib/python3.11/json/__init__.py|",
         "X 1 /usr/bin/python3|R 1 /w/json.py|", "json.py is new", ""},
        {"a compiled one", "mkdir re; echo 1 > re/__init__.py", "t",
         "X 1 /usr/bin/python3|R 1 /usr/lib/python3.11/__pycache__/re.cpython-311.pyc|",
         "X 1 /usr/bin/python3|R 1 /w/re/__init__.py|", "re/__init__.py is new", ""},
        {"a program in place of another", "mkdir b; echo 1 > b/diff", "t",
         "X 1 /bin/sh|X 2 /usr/bin/diff|", "X 1 /bin/sh|X 2 /w/b/diff|", "b/diff is new", ""},
        {"a program that is new", "mkdir b; echo 1 > b/other", "t", "X 1 /bin/sh|",
         "X 1 /bin/sh|X 2 /w/b/other|", "", ""},
        {"a file named like a target", "echo 1 > check", "make check", "X 1 /usr/bin/make|",
         "X 1 /usr/bin/make|", "check is new", ""},
        {"another file", "echo 1 > other", "make check", "X 1 /usr/bin/make|", "X 1 /usr/bin/make|",
         "", ""},
        {"a new makefile", "echo 1 > GNUmakefile", "make", "X 1 /usr/bin/make|R 1 /w/Makefile|",
         "X 1 /usr/bin/make|R 1 /w/GNUmakefile|", "GNUmakefile is new", ""},
        {"a header that only this run needs",
         "mkdir inc; echo 1 > inc/string.h; echo '#include <string.h>' > tests/data.txt", "cc",
         "X 1 /usr/bin/cc|M 1 /w/inc/math.h|R 1 /usr/include/math.h|",
         "X 1 /usr/bin/cc|R 1 /w/tests/data.txt|R 1 /w/inc/string.h|", "inc/string.h is new", ""},
        {"a header that no test names", "mkdir inc; echo 1 > inc/string.h", "cc",
         "X 1 /usr/bin/cc|M 1 /w/inc/math.h|R 1 /usr/include/math.h|",
         "X 1 /usr/bin/cc|R 1 /w/tests/data.txt|R 1 /w/inc/string.h|", "", ""},
        {"a header in a folder of its own", "mkdir -p inc/my; echo 1 > inc/my/types.h", "cc",
         "X 1 /usr/bin/cc|M 1 /w/inc/my/types.h|M 1 /w/inc/sys/types.h|R 1 "
         "/usr/include/sys/types.h|",
         "X 1 /usr/bin/cc|R 1 /w/inc/my/types.h|R 1 /usr/include/sys/types.h|", "", ""},
        {"a module that loads the real one", "echo 1 > re.py", "t",
         "X 1 /usr/bin/python3|R 1 /usr/lib/python3.99/re.py|",
         "X 1 /usr/bin/python3|R 1 /w/re.py|R 1 /usr/lib/python3.99/re.py|", "re.py is new", ""},
        {"the same with modules of the user", "echo 1 > re.py", "t",
         "X 1 /usr/bin/python3|R 1 /home/u/.pyenv/lib/re.py|",
         "X 1 /usr/bin/python3|R 1 /w/re.py|R 1 /home/u/.pyenv/lib/re.py|", "re.py is new", ""},
        {"a module of a package", "mkdir pkg; echo 1 > pkg/__init__.py; echo 1 > pkg/re.py", "t",
         "X 1 /usr/bin/python3|R 1 /usr/lib/python3.99/re.py|",
         "X 1 /usr/bin/python3|R 1 /w/pkg/re.py|R 1 /usr/lib/python3.99/re.py|", "", ""},
        {"a module in a folder that the check names", "mkdir src; echo 1 > src/re.py",
         "PYTHONPATH=src t", "X 1 /usr/bin/python3|R 1 /usr/lib/python3.99/re.py|",
         "X 1 /usr/bin/python3|R 1 /w/src/re.py|R 1 /usr/lib/python3.99/re.py|", "src/re.py is new",
         ""},
        {"a module of Perl with the end of another's name",
         "mkdir -p lib/My; echo 1 > lib/My/Util.pm", "t",
         "X 1 /usr/bin/perl|R 1 /usr/share/perl/Scalar/Util.pm|",
         "X 1 /usr/bin/perl|R 1 /w/lib/My/Util.pm|R 1 /usr/share/perl/Scalar/Util.pm|", "", ""},
        {"a module of Perl that only another module names",
         "mkdir -p lib/Scalar; echo 1 > lib/Scalar/Util.pm", "t",
         "X 1 /usr/bin/perl|R 1 /usr/share/perl/Scalar/Util.pm|",
         "X 1 /usr/bin/perl|R 1 /w/lib/Scalar/Util.pm|", "lib/Scalar/Util.pm is new", ""},
        {"modules of Node are not searched elsewhere", "echo 1 > index.js", "t",
         "X 1 /usr/bin/node|M 1 /w/index.js|R 1 /usr/lib/node_modules/npm/index.js|",
         "X 1 /usr/bin/node|R 1 /w/index.js|", "", ""},
        {"a program that the check names by its path", "mkdir b; echo 1 > b/diff", "./b/diff x",
         "X 1 /bin/sh|X 2 /usr/bin/diff|", "X 1 /bin/sh|X 2 /w/b/diff|", "", ""},
        {"what grep finds everywhere", "echo 1 > .x", "t", "X 1 /bin/sh|",
         "X 1 /usr/bin/grep|R 1 /w/.x|", "", ""},
        {"a hidden folder that the check names", "mkdir .x; echo 1 > .x/y", "t .x",
         "X 1 /usr/bin/rg|", "X 1 /usr/bin/rg|R 1 /w/.x/y|", "", ""},
        {"a makefile that only this run reads", "echo 2 > lib/a.py", "make", "X 1 /usr/bin/make|",
         "X 1 /usr/bin/make|R 1 /w/lib/a.py|", "lib/a.py changed", ""},
        {"the first makefile", "echo 1 > GNUmakefile", "make", "X 1 /usr/bin/make|",
         "X 1 /usr/bin/make|R 1 /w/GNUmakefile|", "", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(freep) struct origin *o = NULL;
        CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
        CLEANUP(strv_release) struct strv partial = STRV_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
        CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 14);
        static const struct strv untouched;
        objection_vec objections = VEC_INIT;
        struct trace trace = {0};

        work_run("find . -mindepth 1 -delete; rm -rf ../goal; git init -q", NULL);
        work_run(make_project, NULL);
        o = take();
        add_check(o, rows[i].command, rows[i].first);
        if (*rows[i].setup)
            work_run(rows[i].setup, NULL);
        assert_int_equal(origin_look(o, NULL, &now, NULL), 0);
        for (const char *c = rows[i].then; *c; c++)
            buf_addc(&bytes, *c == '|' ? '\0' : *c == '^' ? '\x1f' : *c);
        trace_read(&trace, buf_str(&bytes), "/w", "/w", "/tmp/room", "/home/u");
        origin_compare(o, &now, str_of(rows[i].command), STR(""), &trace, &untouched, &objections,
                       &partial);
        VEC_EACH(&objections, it) {
            buf_addf(&text, "%s%s %s", text.len ? ", " : "", it->path, objection_name(it->what));
        }
        if (!str_is(buf_str(&text), rows[i].objections))
            fail_msg("%s: '%s', not '%s'", rows[i].name, buf_cstr(&text), rows[i].objections);
        assert_string_equal(partial.len ? partial.ptr[0] : "", rows[i].partial);
        objections_release(&objections);
        trace_release(&trace);
    }
}

/* Tests in the source they test. */
static void inline_tests(void **state)
{
    static const char source[] =
        "pub fn f() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() "
        "{\n        assert!(true);\n    }\n\n    #[should_panic]\n    "
        "#[tokio::test(flavor = \"x\")]\n    async fn b() { f() }\n}\n";
    static const struct {
        const char *command, *objections;
    } rows[] = {
        {"sed -i 's/pub fn f/fn f/' a.rs", ""},
        {"sed -i 's/^    //' a.rs", ""},
        {"printf '#[test]\nfn c() {}\n' >> a.rs", ""},
        {"git mv a.rs b.rs", ""},
        {"sed -i 's/true/1 == 1/' a.rs", "a.rs changed"},
        {"sed -i '/should_panic/d' a.rs", "a.rs changed"},
        {"sed -i 's/    #.test]/    #[ignore]\\n&/' a.rs; sed -i '/fn a/,/^    }/d' a.rs",
         "a.rs changed"},
        {"sed -i '/mod tests/,$d' a.rs", "a.rs changed"},
        {"rm a.rs", "a.rs gone"},
        {"sed -i 's/f()/g()/' c.py", ""},
        {"sed -i 's/1, 1/1, 2/' c.py", "c.py changed"},
        {"sed -i 's/return/yield/' d.py", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(freep) struct origin *o = NULL;
        CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
        objection_vec objections = VEC_INIT;

        work_run("find . -mindepth 1 -delete; rm -rf ../goal; git init -q", NULL);
        work_put("a.rs", source);
        work_put("c.py", "import unittest\ndef f(): f()\nclass TestA(unittest.TestCase):\n    def "
                         "test_a(self):\n\n        self.assertEqual(1, 1)\n\nx = 1\n");
        work_put("d.py", "def test_connection():\n    return 1\n");
        work_run("git add .", NULL);
        o = take();
        work_run(rows[i].command, NULL);
        assert_int_equal(origin_look(o, NULL, &now, NULL), 0);
        assert_int_equal(origin_inline_tests(o, &now, NULL, &objections, NULL), 0);
        VEC_EACH(&objections, it) {
            buf_addf(&text, "%s%s %s", text.len ? ", " : "", it->path, objection_name(it->what));
        }
        if (!str_is(buf_str(&text), rows[i].objections))
            fail_msg("%s: '%s', not '%s'", rows[i].command, buf_cstr(&text), rows[i].objections);
        objections_release(&objections);
    }
}

/* Complete and observed parts must stay so. */
static void unseen(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;
    CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
    CLEANUP(strv_release) struct strv partial = STRV_INIT;
    static const struct strv untouched;
    objection_vec objections = VEC_INIT;
    struct trace blind = {0};

    (void)state;
    o = take();
    add_check(o, "t", "X 1 /bin/sh|");
    assert_int_equal(origin_look(o, NULL, &now, NULL), 0);
    now.files.is_whole = false;
    origin_protected(o, &now, &objections);
    origin_compare(o, &now, STR("t"), STR(""), &blind, &untouched, &objections, &partial);
    assert_int_equal(objections.len, 2);
    assert_int_equal(objections.ptr[0].what, OBJECTION_UNSEEN);
    assert_int_equal(objections.ptr[1].what, OBJECTION_UNSEEN);
    objections_release(&objections);
}

/* Files of installed programs that were read before, and one that every run loads. */
static void system_files(void **state)
{
    static const struct strv untouched;
    CLEANUP(freep) struct origin *o = NULL;
    CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
    CLEANUP(strv_release) struct strv partial = STRV_INIT;
    CLEANUP(buf_release) struct buf path = BUF_INIT(1 << 12);
    objection_vec objections = VEC_INIT;
    struct trace trace = {.is_seen = true};

    (void)state;
    work_run("mkdir ../usr; touch ../usr/a.py ../usr/b.py", NULL);
    o = take();
    add_check(o, "t", "X 1 /bin/sh|");
    work_run("touch ../usr/a.py ../usr/b.py ../usr/sitecustomize.py", NULL);
    buf_addf(&path, "%s/usr/a.py", work_top);
    strv_adds(&o->checks.ptr[0].trace.system, buf_cstr(&path));
    strv_adds(&trace.system, buf_cstr(&path));
    strv_addf(&trace.system, "%s/usr/b.py", work_top);
    strv_addf(&trace.system, "%s/usr/sitecustomize.py", work_top);
    assert_int_equal(origin_look(o, NULL, &now, NULL), 0);
    origin_compare(o, &now, STR("t"), STR(""), &trace, &untouched, &objections, &partial);
    assert_int_equal(objections.len, 2);
    assert_string_equal(objections.ptr[0].path, buf_cstr(&path));
    assert_true(strstr(objections.ptr[1].path, "sitecustomize.py") != NULL);
    objections_release(&objections);
    trace_release(&trace);
}

/* What cannot be read holds nothing that a search finds. */
static void closed(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;
    size_t count;

    (void)state;
    work_run(make_project, NULL);
    o = take();
    work_run("chmod 000 lib/a.py; chmod 200 run.sh; chmod 000 build/out; echo 1 > new; chmod 0 new",
             NULL);
    assert_objections(o, "lib/a.py has other permissions, new has other permissions, run.sh has "
                         "other permissions");
    assert_int_equal(origin_accept(o, STR(""), NULL, &count, NULL), 0);
    assert_int_equal(count, 3);
    assert_objections(o, "");
    work_run("chmod 600 lib/a.py run.sh build/out new", NULL);
}

static void programs(void **state)
{
    CLEANUP(freep) struct origin *o = NULL;
    CLEANUP(buf_release) struct buf record = BUF_INIT(1 << 12);
    objection_vec objections = VEC_INIT;
    char path[400];
    size_t count;

    (void)state;
    work_run("printf '#!/bin/sh\\n' > ../bin/tool; chmod +x ../bin/tool; echo 1 > ../bin/data; "
             "echo 2 > ../bin/old",
             NULL);
    snprintf(path, sizeof(path), "%s/bin/tool", work_top);
    o = take();
    buf_addf(&record, "X 1 %s|R 1 %s/bin/data|X 2 /bin/sh|", path, work_top);
    add_check(o, "tool", buf_cstr(&record));
    assert_int_equal(origin_programs(o, NULL, &objections, NULL), 0);
    work_run("touch ../bin/tool", NULL);
    assert_int_equal(origin_programs(o, NULL, &objections, NULL), 0);
    assert_int_equal(objections.len, 0);
    work_run("echo exit 0 >> ../bin/tool", NULL);
    assert_int_equal(origin_programs(o, NULL, &objections, NULL), 0);
    assert_int_equal(objections.len, 1);
    assert_string_equal(objections.ptr[0].path, path);
    objections_release(&objections);
    objections = (objection_vec)VEC_INIT;
    assert_int_equal(origin_accept(o, str_of(path), NULL, &count, NULL), 0);
    assert_int_equal(origin_programs(o, NULL, &objections, NULL), 0);
    assert_int_equal(objections.len, 0);
    work_run("mv ../bin/old ../bin/data", NULL); /* another file, which is older */
    assert_int_equal(origin_programs(o, NULL, &objections, NULL), 0);
    assert_int_equal(objections.len, 1);
    assert_int_equal(objections.ptr[0].what, OBJECTION_OUTSIDE);
    objections_release(&objections);
    objections = (objection_vec)VEC_INIT;
    assert_int_equal(origin_accept(o, STR(""), NULL, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_int_equal(origin_programs(o, NULL, &objections, NULL), 0);
    assert_int_equal(objections.len, 0);
}

/* ---- on disk ---- */

static void on_disk(void **state)
{
    CLEANUP(freep) struct origin *a = NULL;
    CLEANUP(freep) struct origin *b = NULL;
    CLEANUP(freep) struct origin *c = NULL;
    char sha256[SHA256_HEX + 1];
    struct err err = {0};

    (void)state;
    work_run("git init -q", NULL);
    work_run(make_project, NULL);
    work_run("git add .; git commit -qm begin; git update-index --assume-unchanged lib/a.py;"
             "printf '#!/bin/sh\\n\\377\\376%%41' > .git/hooks/pre-commit",
             NULL);
    work_put("caf\xe9", "latin1");
    a = take_with("lib", "git diff --quiet main", "build/keep", false);
    add_check(a, "git diff --quiet main", "X 1 /bin/sh^run.sh|R 1 /w/run.sh|R 1 /w/caf\xe9|");
    assert_int_equal(a->git.pins.len, 1);
    assert_int_equal(origin_write(a, sha256, &err), 0);
    if (origin_read(goal_dir, work_env, str_of(sha256), &b, &err) < 0)
        fail_msg("%s", err.text);
    assert_look(b, "");
    assert_string_equal(b->dir, a->dir);
    assert_string_equal(b->tree, a->tree);
    assert_int_equal(b->taken_ns, a->taken_ns);
    assert_protected(b, "Makefile lib/a.py pytest.ini tests/data.txt tests/test_a.py");
    assert_true(origin_keeps(b, STR("build/keep")) && !origin_keeps(b, STR("build/out")));
    assert_int_equal(b->git.pins.len, 1);
    assert_true(trace_has(&b->checks.ptr[0].trace.read, STR("caf\xe9")));
    assert_int_equal(b->programs.len, 1);
    work_run("echo x > lib/a.py; echo x > build/out; echo x > .git/hooks/pre-commit", NULL);
    assert_look(b, "changed build/out, changed tree lib/a.py | git: work/.git/hooks/pre-commit");

    work_run("cp ../goal/origin.json ../saved; printf x >> ../goal/origin.json", NULL);
    assert_int_equal(origin_read(goal_dir, work_env, str_of(sha256), &c, &err), -1);
    assert_int_equal(err.code, ERR_PROTOCOL);
    work_run("cp ../saved ../goal/origin.json", NULL);
    sha256[0] = sha256[0] == 'a' ? 'b' : 'a';
    assert_int_equal(origin_read(goal_dir, work_env, str_of(sha256), &c, &err), -1);
    assert_int_equal(err.code, ERR_PROTOCOL);
    work_run("rm ../goal/origin.json", NULL);
    assert_int_equal(origin_read(goal_dir, work_env, str_of(sha256), &c, &err), -1);
    assert_null(c);
}

static void explains(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    objection_vec v = VEC_INIT;

    (void)state;
    objection_add(&v, OBJECTION_CHANGED, STR("a"), "a test");
    objection_add(&v, OBJECTION_CHANGED, STR("a"), "a test"); /* once is enough */
    objections_explain(&v, "s1", &text);
    assert_int_equal(v.len, 1);
    assert_true(str_has(buf_str(&text), STR("- a: changed (a test)\n")));
    assert_true(str_has(buf_str(&text), STR("tenax goal accept a --session s1")));
    for (int i = 0; i < 100; i++) {
        char name[20];

        snprintf(name, sizeof(name), "f%d", i);
        objection_add(&v, OBJECTION_GONE, str_of(name), "a test");
    }
    buf_clear(&text);
    objections_explain(&v, "s1", &text);
    assert_true(str_has(buf_str(&text), STR("- and 61 more\n")));
    objections_release(&v);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, work_teardown)

UNIT_TEST(origin)
{
    const struct CMUnitTest tests[] = {
        CASE(protects_by_name),
        CASE(protects_by_glob),
        CASE(protects_later),
        CASE(protects_behind_links),
        CASE(changes_with_git),
        CASE(broken_index),
        CASE(changes_without_git),
        CASE(empty_repository),
        CASE(sub_folder),
        CASE(change_within_a_second),
        CASE(linked_work_tree),
        CASE(submodule),
        CASE(filters),
        CASE(many_ignored),
        CASE(accepts),
        CASE(protects_what_is_read),
        CASE(compare_runs),
        CASE(inline_tests),
        CASE(unseen),
        CASE(system_files),
        CASE(closed),
        CASE(programs),
        CASE(on_disk),
        CASE(explains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
