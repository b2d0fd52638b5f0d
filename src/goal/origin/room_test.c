/*
 * Clean rooms: what a check finds in one, what it cannot change, and that nothing of it stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>

#include "base/clock.h"
#include "goal/check.h"
#include "goal/origin/origin.h"
#include "goal/origin/room.h"
#include "goal/work_check.h"
#include "proc/confine.h"
#include "unit.h"

static char goal_dir[300], home_dir[300], temp_dir[300];
static struct origin *origin;
static struct origin_now now;
static struct room *room;
static struct strv caches;

static int setup(void **state)
{
    (void)state;
    work_make();
    snprintf(goal_dir, sizeof(goal_dir), "%s/goal", work_top);
    snprintf(home_dir, sizeof(home_dir), "%s/home", work_top);
    snprintf(temp_dir, sizeof(temp_dir), "%s/temp", work_top);
    assert_int_equal(mkdir(temp_dir, 0755), 0);
    now = (struct origin_now)ORIGIN_NOW_INIT;
    return 0;
}

static void close_room(void)
{
    room_free(room);
    room = NULL;
    origin_now_release(&now);
    now = (struct origin_now)ORIGIN_NOW_INIT;
}

/* Nothing is left where rooms are made. */
static void assert_nothing_left(void)
{
    DIR *dir = opendir(temp_dir);
    const struct dirent *e;

    assert_non_null(dir);
    while ((e = readdir(dir))) {
        if (e->d_name[0] != '.')
            fail_msg("%s is left", e->d_name);
    }
    closedir(dir);
}

static int teardown(void **state)
{
    close_room();
    assert_nothing_left();
    origin_free(origin);
    origin = NULL;
    strv_release(&caches);
    return work_teardown(state);
}

static void take(const char *check, const char *keep)
{
    CLEANUP(strv_release) struct strv checks = STRV_INIT;
    CLEANUP(strv_release) struct strv keeps = STRV_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct strv none = STRV_INIT;
    struct origin_spec spec = {.dir = work_dir,
                               .folder = goal_dir,
                               .environ = work_env,
                               .globs = &none,
                               .keep = &keeps,
                               .checks = &checks};
    struct err err = {0};

    strv_adds(&checks, check);
    if (keep)
        strv_adds(&keeps, keep);
    usleep(60 * 1000); /* nothing is young */
    if (origin_take(&spec, NULL, &origin, &notes, &err) < 0)
        fail_msg("%s", err.text);
}

static void open_room(bool hides_built)
{
    struct room_spec spec = {.origin = origin,
                             .now = &now,
                             .temp = temp_dir,
                             .home = home_dir,
                             .caches = &caches,
                             .hides_built = hides_built};
    struct err err = {0};

    close_room();
    if (origin_look(origin, NULL, &now, &err) < 0 || room_open(&spec, NULL, &room, &err) < 0)
        fail_msg("%s", err.text);
}

/* Runs a command in the room. */
static void run(const char *command, struct check_result *ret)
{
    struct check_spec spec = {
        .command = str_of(command), .dir = work_dir, .environ = work_env, .room = room};
    struct err err = {0};

    *ret = (struct check_result){0};
    if (check_run(&spec, NULL, ret, &err) < 0)
        fail_msg("%s: %s", command, err.text);
}

/* A command that succeeds in the room. */
static void passes(const char *command)
{
    struct check_result r;

    run(command, &r);
    if (!r.passed)
        fail_msg("%s: code %d: %s", command, r.code, buf_cstr(&r.tail));
    check_result_release(&r);
}

/* The protected files that a command touches in the room, as words. */
static void touches(const char *command, const char *expected)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 12);
    struct check_result r;

    open_room(false);
    run(command, &r);
    for (size_t i = 0; i < r.touched.len; i++)
        buf_addf(&text, "%s%s", i ? " " : "", r.touched.ptr[i]);
    if (!r.passed || !str_is(buf_str(&text), expected))
        fail_msg("%s: '%s', not '%s': %s", command, buf_cstr(&text), expected, buf_cstr(&r.tail));
    check_result_release(&r);
}

static void assert_hidden(const char *expected)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);

    for (size_t i = 0; i < room_hidden(room)->len; i++)
        buf_addf(&text, "%s%s", i ? " " : "", room_hidden(room)->ptr[i]);
    assert_string_equal(buf_cstr(&text), expected);
}

static bool has_overlay(void)
{
    const char *why = NULL;

    if (confine_overlay_works(&why))
        return true;
    print_message("no overlay here: %s\n", why);
    return false;
}

static void make_project(void)
{
    work_run(
        "git init -q; mkdir -p tests src build/deep; echo 1 > tests/a; echo 2 > tests/b;"
        "echo 3 > src/a.c; echo build/ > .gitignore; echo '*.log' >> .gitignore;"
        "echo 4 > build/same; echo 5 > build/changed; echo 6 > build/deep/kept; echo 7 > a.log;"
        "git add .; git commit -qm begin",
        NULL);
}

/* ---- files ---- */

static void hides_what_changed(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    make_project();
    take("make test", NULL);
    work_run("echo x > build/changed; echo x > build/new; mkdir -p build/dir/sub;"
             "echo x > build/dir/sub/f; echo x > build/dir/g; echo x > src/a.c; echo x > src/b.c;"
             "mkdir src/__pycache__; echo x > src/__pycache__/m.pyc; echo x > a.log;"
             "ln -s same build/link; touch build/deep/kept",
             NULL);
    work_put("build/odd \n\xff", "x");
    open_room(false);
    assert_false(room_is_copy(room));
    assert_string_equal(room_dir(room), work_dir);
    assert_hidden("a.log build/changed build/dir/g build/dir/sub/f build/link build/new "
                  "build/odd \n\xff src/__pycache__/m.pyc");
    passes("test ! -e a.log && test ! -e build/changed && test ! -e build/dir &&"
           "test ! -L build/link && test ! -e build/new && test ! -e src/__pycache__ &&"
           "test $(cat build/same build/deep/kept | tr -d '\\n') = 46 &&"
           "test $(cat src/a.c) = x && test $(cat src/b.c) = x && test $(ls build | wc -l) = 2");
    passes(
        "mkdir build/dir && echo made > build/dir/g && echo made > build/changed && rm -r tests");
    work_run("test $(cat build/changed) = x; test $(cat tests/a) = 1; test $(cat build/dir/g) = x",
             NULL);
    close_room();
    work_run("test $(cat build/changed) = x; test $(cat tests/a) = 1", NULL);
}

static void keeps_what_is_kept(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    make_project();
    take("make test", "build/changed");
    work_run("echo x > build/changed; echo x > build/same", NULL);
    open_room(false);
    assert_hidden("build/same");
    passes("test $(cat build/changed) = x");
}

/* A program that git does not ignore is work, unless the check builds. */
static void hides_programs(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    make_project();
    take("make test", NULL);
    work_run("cp /bin/true app; printf '#!/bin/sh\\n' > script; chmod +x script", NULL);
    open_room(false);
    assert_hidden("");
    open_room(true);
    assert_hidden("app");
    passes("test ! -e app && test -x script");
}

static void dates_sources(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    make_project();
    take("make test", NULL);
    work_run("echo x > src/a.c; touch -d '2001-01-01' src/a.c; echo y > src/n.c;"
             "touch -d '2001-01-01' src/n.c",
             NULL);
    open_room(false);
    passes("test src/a.c -nt build/same && test $(cat src/a.c) = x && test src/n.c -nt build/same");
}

/* A folder that an ignored file took the place of. */
static void other_types(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    make_project();
    take("make test", NULL);
    work_run("rm -r build/deep; echo x > build/deep; rm build/same; mkdir build/same;"
             "echo x > build/same/f; rm build/changed; ln -s same build/changed",
             NULL);
    open_room(false);
    passes("test ! -e build/deep && test ! -e build/same/f && test ! -L build/changed");
}

/* ---- git ---- */

static void git_is_as_it_was(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    make_project();
    work_run("git config alias.x status; printf '#!/bin/sh\\nexit 0\\n' > .git/hooks/pre-commit;"
             "chmod +x .git/hooks/pre-commit; git branch base; git tag v1",
             NULL);
    take("git diff --quiet base v1 -- src", NULL);
    work_run(
        "git config alias.x log; git config core.excludesFile /x;"
        "printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit;"
        "printf '#!/bin/sh\\n' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit;"
        "rm .git/info/exclude; mkdir -p .git/info; echo 'src/' > .git/info/exclude;"
        "echo '* -diff' > .git/info/attributes;"
        "git update-index --assume-unchanged src/a.c; git update-index --skip-worktree tests/a",
        NULL);
    open_room(false);
    passes("test $(git config alias.x) = status && ! git config core.excludesFile");
    passes("grep -q 'exit 0' .git/hooks/pre-commit && test -x .git/hooks/pre-commit &&"
           "test ! -e .git/hooks/post-commit && ! grep -q src .git/info/exclude &&"
           "test ! -e .git/info/attributes");
    passes("! git ls-files -v | grep -q '^[a-zS]'");
    work_run("git ls-files -v | grep -q '^S'", NULL);
}

/* A filter of the agent's own has had git note in the index that a changed file is unchanged. */
static void index_is_not_believed(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    make_project();
    take("true", NULL);
    work_run(
        "git config filter.f.clean 'echo 3 #'; echo 'src/a.c filter=f' > .git/info/attributes; "
        "echo 9 > src/a.c; git update-index --refresh; git config --unset filter.f.clean; rm "
        ".git/info/attributes; touch -d 2030-01-01 .git/index; git diff --quiet",
        NULL);
    open_room(false);
    passes("! git diff --quiet && git diff --quiet -- tests");
}

static void refs_are_pinned(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    make_project();
    work_run("git branch base; git tag v1; git checkout -q -b work", NULL);
    take("git diff --quiet base v1 work", NULL);
    work_run("git rev-parse base > ../old; echo x > src/a.c; git commit -qam more;"
             "git branch -f base; git tag -f v1; git tag base; git update-ref refs/heads/v1 HEAD;"
             "git rev-parse HEAD > ../new",
             NULL);
    open_room(false);
    passes("test $(git rev-parse base) = $(cat ../old)");
    passes("test $(git rev-parse v1) = $(cat ../old)");
    passes("test $(git rev-parse work) = $(cat ../old) && test $(git rev-parse HEAD) = $(cat "
           "../new)");
    passes("test $(git rev-parse refs/heads/base) = $(cat ../old)");
    work_run("git pack-refs --all", NULL);
    open_room(false);
    passes(
        "test $(git rev-parse base) = $(cat ../old) && test $(git rev-parse v1) = $(cat ../old)");
    work_run("git update-ref -d refs/heads/base; git update-ref -d refs/tags/base", NULL);
    open_room(false);
    passes("test $(git rev-parse base) = $(cat ../old)");
    work_run("echo garbage > .git/packed-refs", NULL);
    open_room(false); /* what the agent breaks does not keep a room from being opened */
}

/* Refs that are named by way of something else. */
static void refs_of_others(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    make_project();
    work_run("git update-ref refs/remotes/o/main HEAD; git symbolic-ref refs/remotes/o/HEAD "
             "refs/remotes/o/main; git config branch.main.remote o; git config branch.main.merge "
             "refs/heads/main; git config remote.o.url .; git config remote.o.fetch "
             "+refs/heads/*:refs/remotes/o/*; git rev-parse HEAD > ../old",
             NULL);
    take("git diff --quiet o @{u}", NULL);
    work_run("echo x > src/a.c; git commit -qam more; git update-ref refs/remotes/o/main HEAD",
             NULL);
    open_room(false);
    passes("test $(git rev-parse o/HEAD) = $(cat ../old)");
    passes("test $(git rev-parse @{u}) = $(cat ../old)");
}

/* Files that configuration includes, submodules, and repositories that came later. */
static void git_elsewhere(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    make_project();
    work_run("printf '[a]\n\tb = 1\n' > more; git config include.path ../more;"
             "git config --add include.path ../late; git init -q ../s; git -C ../s commit -q "
             "--allow-empty -m s; git -c protocol.file.allow=always submodule -q add \"$PWD/../s\" "
             "s; echo 1 > s/f; git -C s add f; git -C s commit -qm f; mkdir new; echo 1 > new/f",
             NULL);
    take("true", NULL);
    work_run("printf '[a]\n\tb = 2\n' > more; printf '[a]\n\tc = 1\n' > late; git -C s config x.y "
             "z; git -C s update-index --assume-unchanged f; echo 2 > s/f; git -C new init -q",
             NULL);
    open_room(false);
    passes("test $(git config a.b) = 1 && ! git config a.c && ! git -C s config x.y");
    passes("! git -C s diff --quiet && test ! -e new/.git");
}

static void replaced_objects(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    make_project();
    take("git show HEAD:src/a.c", NULL);
    work_run("echo evil > ../evil; git replace $(git rev-parse HEAD:src/a.c)"
             " $(git hash-object -w ../evil); git show HEAD:src/a.c | grep -q evil",
             NULL);
    open_room(false);
    passes("test $(git show HEAD:src/a.c) = 3");
}

/* ---- around it ---- */

static void home_and_caches(void **state)
{
    char path[400];

    (void)state;
    if (!has_overlay())
        return;
    make_project();
    work_run("mkdir -p ../home/.cargo/registry ../home/.secret; echo 1 > ../home/.cargo/registry/x;"
             "echo 2 > ../home/.bashrc",
             NULL);
    snprintf(path, sizeof(path), "%s/.cargo/registry", home_dir);
    strv_adds(&caches, path);
    strv_adds(&caches, "/etc");
    strv_adds(&caches, "/nonexistent/cache");
    take("true", NULL);
    open_room(false);
    passes("test $(cat ~/.cargo/registry/x) = 1 && test ! -e ~/.bashrc && test ! -e ~/.secret");
    passes(
        "for d in \"$HOME\" \"$TMPDIR\" \"$XDG_CONFIG_HOME\" \"$XDG_CACHE_HOME\" "
        "\"$XDG_DATA_HOME\" \"$XDG_STATE_HOME\" \"$XDG_RUNTIME_DIR\"; do test -d \"$d\" && touch "
        "\"$d/x\" || exit 1; done");
    passes("touch \"$TMPDIR/a\"; ln -s / \"$TMPDIR/root\"; mkdir -p \"$TMPDIR/closed/x\";"
           "chmod 000 \"$TMPDIR/closed\"");
    work_run("test ! -e ../home/x", NULL);
}

static void touched(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    make_project();
    take("make test", NULL);
    touches("cat tests/a tests/b > /dev/null; ls -l tests; test -w tests/a", "");
    touches("echo new > tests/c", "");
    touches("echo x > src/a.c; mkdir more; echo x > more/f", "");
    touches("echo x > tests/a", "tests/a");
    touches("cp tests/a k; echo x > tests/a; cat k > tests/a", "tests/a");
    touches("mv tests/a x; mv x tests/a", "tests/a");
    touches("mv tests t; mv t tests", "tests/a tests/b");
    touches("rm tests/b", "tests/b");
    touches("rm -r tests", "tests/a tests/b");
    touches("cp -r tests k; rm -r tests; mv k tests", "tests/a tests/b");
    touches("chmod 600 tests/a", "tests/a");
    touches("touch tests/a", "tests/a");
    touches("ln tests/a src/second; echo x > src/second", "tests/a");
    touches("rm tests/a; ln -s b tests/a", "tests/a");
    touches("rm -r tests; ln -s src tests", "tests/a tests/b");
    touches("rm -r tests; echo x > tests", "tests/a tests/b");
    touches("mv tests t; mkdir tests; cp t/a tests", "tests/a tests/b");
}

static void processes(void **state)
{
    struct check_result r;

    (void)state;
    if (!has_overlay())
        return;
    make_project();
    take("true", NULL);
    open_room(false);
    run("test $(ls -d /proc/[0-9]* | wc -l) -lt 12; echo $?; (sleep 60; touch ../late) &", &r);
    assert_string_equal(buf_cstr(&r.tail), "0\n");
    check_result_release(&r);
    work_run("! pgrep -f '[s]leep 60; touch ../late'", NULL);
}

static void observed(void **state)
{
    struct check_result r;

    (void)state;
    if (!has_overlay() || !confine_observe_works(NULL))
        return;
    make_project();
    take("true", NULL);
    work_run("printf 'cat tests/a; cat build/missing; true\\n' > run.sh", NULL);
    open_room(false);
    run("sh run.sh", &r);
    assert_true(r.passed && r.trace.is_seen && !r.trace.is_cut);
    assert_true(trace_has(&r.trace.ran, STR("run.sh")));
    assert_true(trace_has(&r.trace.read, STR("tests/a")));
    assert_false(trace_has(&r.trace.used, STR("tests/a")));
    assert_true(trace_has(&r.trace.missing, STR("build/missing")));
    check_result_release(&r);
}

/* What a check finds in its home is the user's where it is linked, and its own elsewhere. */
static void observed_at_home(void **state)
{
    struct check_result r;
    char path[400];

    (void)state;
    if (!has_overlay() || !confine_observe_works(NULL))
        return;
    make_project();
    work_run("mkdir -p ../home/.cargo/registry; echo 1 > ../home/.cargo/registry/x;"
             "echo 2 > ../home/.cargo/.package-cache",
             NULL);
    snprintf(path, sizeof(path), "%s/.cargo/registry", home_dir);
    strv_adds(&caches, path);
    take("true", NULL);
    open_room(false);
    run("echo > ~/.cargo/.package-cache; cat ~/.cargo/.package-cache ~/.cargo/registry/x", &r);
    assert_true(r.passed && r.trace.is_seen);
    snprintf(path, sizeof(path), "%s/.cargo/registry/x", home_dir);
    assert_true(trace_has(&r.trace.outside, str_of(path)));
    snprintf(path, sizeof(path), "%s/.cargo/.package-cache", home_dir);
    assert_false(trace_has(&r.trace.outside, str_of(path)));
    check_result_release(&r);
}

/* A linked work tree has its folder of git elsewhere. */
static void linked_work_tree(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    work_run("git init -q ../main; cd ../main; echo 1 > a; git add .; git commit -qm begin;"
             "git branch base; rmdir ../work; git worktree add -q ../work -b topic",
             NULL);
    take("git diff --quiet base", NULL);
    work_run("echo 2 > a; git commit -qam more; git branch -f base; git config x.y z;"
             "printf '#!/bin/sh\\n' > ../main/.git/hooks/post-commit",
             NULL);
    open_room(false);
    passes("test $(git show base:a) = 1 && test $(git show HEAD:a) = 2 && ! git config x.y &&"
           "test ! -e ../main/.git/hooks/post-commit");
    passes("git commit -q --allow-empty -m inside");
    work_run("test $(git log --oneline | wc -l) = 2", NULL);
}

static void without_git(void **state)
{
    (void)state;
    if (!has_overlay())
        return;
    work_run("mkdir tests; echo 1 > tests/a; echo 2 > b", NULL);
    take("true", NULL);
    work_run("echo x > b; echo x > c.pyc; mkdir __pycache__; echo x > __pycache__/d.pyc", NULL);
    open_room(false);
    assert_hidden("__pycache__/d.pyc c.pyc");
    passes("test $(cat b) = x && test ! -e c.pyc && test ! -e __pycache__");
    touches("echo x > tests/a", "tests/a");
}

static void open_as(bool must_copy, bool on_disk)
{
    struct room_spec spec = {.origin = origin,
                             .now = &now,
                             .temp = temp_dir,
                             .home = home_dir,
                             .must_copy = must_copy,
                             .on_disk = on_disk};
    struct err err = {0};

    close_room();
    assert_int_equal(origin_look(origin, NULL, &now, NULL), 0);
    if (room_open(&spec, NULL, &room, &err) < 0)
        fail_msg("%s", err.text);
}

static void copies(void **state)
{
    (void)state;
    make_project();
    work_run("ln -s src/a.c link; chmod 755 src/a.c", NULL);
    take("make test", NULL);
    work_run("echo x > build/changed; echo x > src/b.c; git config x.y z", NULL);
    for (int on_disk = 0; on_disk < 2; on_disk++) {
        open_as(/*must_copy=*/true, on_disk);
        assert_true(room_is_copy(room));
        assert_false(on_disk && room_in_memory(room));
        assert_hidden("build/changed");
        passes("test ! -e build/changed && test $(cat build/same src/b.c | tr -d '\\n') = 4x &&"
               "test -L link && test -x src/a.c && test \"$PWD\" != x && git log -1 > /dev/null");
        passes("! git config x.y && git config a.b c");
        passes("echo y > tests/a; rm -r src");
        work_run("test $(cat tests/a) = 1; test -e src/a.c; ! git config a.b", NULL);
    }
}

/* ---- other processes ---- */

/* What is at a path outside is not what the check has there; its next run has what the one before
 * it left. */
static void memory_is_private(void **state)
{
    (void)state;
    make_project();
    take("make test", NULL);
    for (int is_copy = 0; is_copy < 2; is_copy++) {
        CLEANUP(strv_release) struct strv env = STRV_INIT;

        open_as(is_copy, /*on_disk=*/false);
        if (!room_in_memory(room)) {
            print_message("no room in memory here\n");
            return;
        }
        assert_nothing_left();
        passes("echo x > \"$HOME/mark\"; echo x > \"$TMPDIR/mark\"; echo x > src/mark");
        passes("cat \"$HOME/mark\" \"$TMPDIR/mark\" src/mark");
        room_environ(room, work_env, &env);
        for (size_t i = 0; i < env.len; i++) {
            const char *folder = strchr(env.ptr[i], '=') + 1;
            CLEANUP(mem_freep) char *mark = path_join(folder, "mark");

            if (folder[0] == '/')
                assert_false(file_exists(mark));
        }
        work_run("test ! -e src/mark", NULL);
    }
}

/* The files that are said to be changed by others when a command has run. */
static void finds(const char *command, int64_t since_ms, const char *expected)
{
    CLEANUP(strv_release) struct strv found = STRV_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 12);
    struct check_result r;

    run(command, &r);
    room_find_foreign(room, &r.trace, since_ms, &found);
    for (size_t i = 0; i < found.len; i++)
        buf_addf(&text, "%s%s", i ? " " : "", found.ptr[i]);
    if (!r.passed || !str_is(buf_str(&text), expected))
        fail_msg("%s: '%s', not '%s': %s", command, buf_cstr(&text), expected, buf_cstr(&r.tail));
    check_result_release(&r);
}

/* On the disk another process reaches the room. The command stands for it, too: both use the path
 * that leads to the room outside. */
static void finds_what_others_did(void **state)
{
    int64_t before_ms = clock_wall_ms() - 60000, after_ms = clock_wall_ms() + 60000;

    (void)state;
    make_project();
    take("make test", NULL);
    work_run("echo x > src/b.c", NULL);
    for (int is_copy = 0; is_copy < 2; is_copy++) {
        if (!is_copy && !has_overlay())
            continue;
        open_as(is_copy, /*on_disk=*/true);
        finds("cat src/a.c src/b.c", before_ms, "");
        /* As the check does in the workspace. */
        finds("echo x > src/b.c; cat src/b.c", before_ms, "");
        finds("cat src/b.c", after_ms, "src/b.c");
        finds("echo other > src/b.c; cat src/b.c", before_ms, "src/b.c");
        finds("rm src/a.c; ln -s b.c src/a.c; cat src/a.c src/b.c", before_ms, "src/a.c src/b.c");
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TEST(room)
{
    const struct CMUnitTest tests[] = {
        CASE(hides_what_changed),
        CASE(keeps_what_is_kept),
        CASE(hides_programs),
        CASE(dates_sources),
        CASE(other_types),
        CASE(git_is_as_it_was),
        CASE(index_is_not_believed),
        CASE(refs_are_pinned),
        CASE(refs_of_others),
        CASE(git_elsewhere),
        CASE(replaced_objects),
        CASE(home_and_caches),
        CASE(touched),
        CASE(processes),
        CASE(observed),
        CASE(observed_at_home),
        CASE(linked_work_tree),
        CASE(without_git),
        CASE(copies),
        CASE(memory_is_private),
        CASE(finds_what_others_did),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
