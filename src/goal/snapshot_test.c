/*
 * What counts as a change of the workspace, and what does not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>

#include "base/strv.h"
#include "goal/origin/origin.h"
#include "goal/snapshot.h"
#include "goal/work_check.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "unit.h"

/* A goal that begins now, and the state of the workspace since. */
struct chain {
    struct origin *o;
    struct snapshot *s;
};

static struct chain begin(void)
{
    static int count;
    const struct strv none = STRV_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    char folder[300];
    struct origin_spec spec = {.dir = work_dir,
                               .folder = folder,
                               .environ = work_env,
                               .globs = &none,
                               .keep = &none,
                               .checks = &none};
    struct chain c = {.s = snapshot_new(work_dir, work_env)};
    struct err err = {0};

    snprintf(folder, sizeof(folder), "%s/goals/%d", work_top, count++);
    if (origin_take(&spec, NULL, &c.o, &notes, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

static void chain_free(struct chain *c)
{
    origin_free(c->o);
    snapshot_free(c->s);
}

static void look(const struct chain *c, bool walk, const char *wrote, char ret[SHA256_HEX + 1])
{
    CLEANUP(strv_release) struct strv list = STRV_INIT;
    bool whole = false;
    struct err err = {0};

    if (wrote)
        strv_adds(&list, wrote);
    if (snapshot_look(c->s, c->o, walk, &list, NULL, ret, &whole, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(whole);
}

/* In a repository of a.c, src/b.c, with build/ and *.o ignored: a command, and whether it changes
 * the state. */
static const struct {
    const char *command;
    bool changes;
} rows[] = {
    {"true", false},
    {"touch a.c src/b.c", false},
    {"cp a.c x; cat x > a.c; rm x", false},     /* the same bytes again */
    {"cp a.c x; mv x a.c", false},              /* another file with the same bytes */
    {"echo b >> a.c; printf a.c > a.c", false}, /* there and back */
    {"mkdir -p src/deep/er", false},            /* folders hold nothing */
    {"echo o > x.o; mkdir build; echo > build/y", false},
    {"echo o > src/x.o", false},
    {"mkdir -p node_modules/x; echo > node_modules/x/y", false},
    {"git gc -q", false},
    {"git add -A", false},
    {"git tag t", false},
    {"git checkout -q -b other", false}, /* the same commit */
    {"echo b >> a.c", true},
    {"printf A.c > a.c", true}, /* the same size */
    {"echo new > new.c", true},
    {"rm a.c", true},
    {"mv a.c c.c", true},
    {"chmod +x a.c", true},
    {"rm a.c; ln -s src/b.c a.c", true},
    {"rm a.c; mkdir a.c", true},
    {"mkfifo fifo", true},
    {"git commit -q --allow-empty -m x", true},
    {"git checkout -q --detach HEAD^", true},
    {"echo > .gitignore; echo o > x.o", true},
    {"ln -s loop loop", true},
    {"echo x > \"$(printf 'new\\nline \\377')\"", true},
};

static void make_repo(void)
{
    work_put_all("a.c src/b.c");
    work_put(".gitignore", "build/\n*.o\nnode_modules\n");
    work_run("git init -q; git add -A; git commit -qm one; git commit -q --allow-empty -m two",
             NULL);
}

static void what_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct chain s;
        char first[SHA256_HEX + 1];
        char second[SHA256_HEX + 1];
        char third[SHA256_HEX + 1];

        work_make();
        make_repo();
        s = begin();
        look(&s, true, NULL, first);
        look(&s, true, NULL, second);
        assert_string_equal(first, second);
        work_run(rows[i].command, NULL);
        look(&s, true, NULL, second);
        if ((strcmp(first, second) != 0) != rows[i].changes)
            fail_msg("%s: %s", rows[i].command, rows[i].changes ? "not seen" : "seen");
        look(&s, true, NULL, third); /* and it stays so */
        assert_string_equal(second, third);
        look(&s, false, NULL, third);
        assert_string_equal(second, third);
        chain_free(&s);
        work_remove();
    }
}

/* The same without git: only caches and compiled files do not count then. */
static void outside_of_git(void **state)
{
    struct chain s;
    char first[SHA256_HEX + 1];
    char second[SHA256_HEX + 1];

    (void)state;
    work_put_all("a.c src/b.c x.txt");
    s = begin();
    look(&s, true, NULL, first);
    work_run("touch a.c; mkdir __pycache__; echo > __pycache__/a.pyc", NULL);
    look(&s, true, NULL, second);
    assert_string_equal(first, second);
    work_run("echo more > x.txt", NULL);
    look(&s, true, NULL, second);
    assert_string_not_equal(first, second);
    chain_free(&s);
}

static void comes_back(void **state)
{
    static const char *const there[] = {"echo b >> a.c", "rm src/b.c", "echo n > n.c",
                                        "git commit -qam x", "chmod +x a.c"};
    static const char *const back[] = {"printf a.c > a.c", "printf src/b.c > src/b.c", "rm n.c",
                                       "git reset -q --soft HEAD^", "chmod -x a.c"};
    struct chain s;
    char states[ARRAY_LEN(there) + 1][SHA256_HEX + 1];
    char now[SHA256_HEX + 1];

    (void)state;
    make_repo();
    s = begin();
    look(&s, true, NULL, states[0]);
    for (size_t i = 0; i < ARRAY_LEN(there); i++) {
        work_run(there[i], NULL);
        look(&s, true, NULL, states[i + 1]);
        for (size_t k = 0; k <= i; k++)
            assert_string_not_equal(states[k], states[i + 1]);
    }
    for (size_t i = ARRAY_LEN(there); i > 0; i--) {
        work_run(back[i - 1], NULL);
        look(&s, true, NULL, now);
        if (strcmp(now, states[i - 1]) != 0)
            fail_msg("'%s' does not bring back what was before '%s'", back[i - 1], there[i - 1]);
    }
    chain_free(&s);
}

/* A chain that begins in the same state tells the same hashes. */
static void same_from_anywhere(void **state)
{
    struct chain s;
    struct chain t;
    char first[SHA256_HEX + 1];
    char second[SHA256_HEX + 1];

    (void)state;
    make_repo();
    s = begin();
    t = begin();
    look(&s, true, NULL, first);
    look(&t, true, NULL, second);
    assert_string_equal(first, second);
    work_run("echo 1 > z; echo 2 > y", NULL);
    look(&s, true, NULL, first);
    work_run("rm y z; echo 2 > y", NULL);
    look(&t, true, NULL, second);
    work_run("echo 1 > z", NULL);
    look(&t, true, NULL, second);
    assert_string_equal(first, second);
    chain_free(&s);
    chain_free(&t);
}

/* Without a walk only what tools wrote is looked at; it counts wherever it is. */
static void what_tools_wrote(void **state)
{
    struct chain s;
    char now[5][SHA256_HEX + 1];
    char outside[300];
    char again[SHA256_HEX + 1];

    (void)state;
    make_repo();
    snprintf(outside, sizeof(outside), "%s/home/x", work_top);
    s = begin();
    look(&s, true, NULL, now[0]);
    work_run("echo b >> a.c; echo c >> src/b.c", NULL);
    look(&s, false, work_at("a.c"), now[1]);
    assert_string_not_equal(now[0], now[1]);
    look(&s, false, NULL, again);
    assert_string_equal(now[1], again); /* src/b.c is not looked at */
    look(&s, true, NULL, now[2]);
    assert_string_not_equal(now[1], now[2]);
    work_run("echo o > $HOME/x", NULL);
    look(&s, false, outside, now[3]);
    assert_string_not_equal(now[2], now[3]);
    work_run("touch $HOME/x", NULL);
    look(&s, false, outside, again);
    assert_string_equal(now[3], again);
    work_run("echo p > $HOME/x", NULL); /* by a command, later */
    look(&s, true, NULL, now[4]);
    assert_string_not_equal(now[3], now[4]);
    work_run("echo o > $HOME/x", NULL);
    look(&s, true, NULL, again);
    assert_string_equal(now[3], again);
    work_run("mkdir -p build; echo made > build/conf.o", NULL); /* ignored, but written */
    look(&s, false, work_at("build/conf.o"), again);
    assert_string_not_equal(now[3], again);
    chain_free(&s);
}

static void forgives(void **state)
{
    struct chain s;
    char agent[SHA256_HEX + 1];
    char now[SHA256_HEX + 1];
    struct err err = {0};

    (void)state;
    make_repo();
    s = begin();
    look(&s, true, NULL, now);
    work_run("echo agent >> a.c", NULL);
    look(&s, true, NULL, agent);
    for (int i = 0; i < 3; i++) { /* a check that writes something else each time, and commits */
        char command[300];

        snprintf(command, sizeof(command),
                 "echo %d > report.xml; echo %d >> a.c; rm -f src/b.c; git commit -q --allow-empty "
                 "-m %d",
                 i, i, i);
        work_run(command, NULL);
        assert_int_equal(snapshot_forgive(s.s, s.o, NULL, &err), 0);
        look(&s, true, NULL, now);
        assert_string_equal(agent, now);
    }
    work_run("echo mine > report.xml", NULL); /* now it is the agent's */
    look(&s, true, NULL, now);
    assert_string_not_equal(agent, now);
    work_run("echo 2 > report.xml", NULL); /* as the check had left it */
    look(&s, true, NULL, now);
    assert_string_equal(agent, now);
    work_run("rm report.xml", NULL); /* as it was before */
    look(&s, true, NULL, now);
    assert_string_equal(agent, now);
    work_run("echo x > src/b.c", NULL);
    look(&s, true, NULL, now);
    assert_string_not_equal(agent, now);
    chain_free(&s);
}

/* Within one tick of the file's clock, and of the same size. */
static void too_fast_for_the_clock(void **state)
{
    struct chain s;
    char before[SHA256_HEX + 1];
    char now[SHA256_HEX + 1];
    int fd;

    (void)state;
    work_put_all("a.c");
    s = begin();
    fd = open(work_at("a.c"), O_WRONLY | O_CLOEXEC);
    look(&s, true, NULL, before);
    for (int i = 0; i < 30; i++) {
        char c = (char)('A' + i);

        assert_int_equal(pwrite(fd, &c, 1, 0), 1);
        look(&s, true, NULL, now);
        assert_string_not_equal(before, now);
        memcpy(before, now, sizeof(now));
    }
    close(fd);
    chain_free(&s);
}

/* ---- hostile workspaces ---- */

static void churn(void *arg)
{
    struct cancel *stop = arg;

    for (unsigned i = 0; !cancel_is_set(stop); i++) {
        char path[600];
        int fd;

        snprintf(path, sizeof(path), "%s/churn-%u", work_dir, i % 50);
        fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
        if (fd >= 0) {
            (void)!write(fd, path, i % 100);
            close(fd);
        }
        snprintf(path, sizeof(path), "%s/churn-%u", work_dir, (i + 25) % 50);
        unlink(path);
    }
}

static void hostile(void **state)
{
    struct cancel *stop = cancel_new(NULL);
    struct chain s;
    struct thread *t;
    char first[SHA256_HEX + 1];
    char now[SHA256_HEX + 1];

    (void)state;
    make_repo();
    work_run(
        "mkfifo p; ln -s l l; ln -s . self; ln -s /dev/zero zero; truncate -s 1G big; echo x > "
        "closed; chmod 000 closed; mkdir -p shut; chmod 000 shut; d=.; for i in $(seq 100); do "
        "d=$d/d; done; mkdir -p $d; echo deep > $d/f",
        NULL);
    s = begin();
    look(&s, true, NULL, now);
    work_run("printf x | dd of=big bs=1 seek=1073741823 conv=notrunc status=none", NULL);
    look(&s, true, NULL, first);
    assert_string_not_equal(first, now);
    work_run("touch big", NULL); /* too long to be read: from here on its size counts */
    look(&s, true, NULL, now);
    assert_string_equal(first, now);
    t = thread_start("churn", churn, stop, NULL);
    for (int i = 0; i < 50; i++) /* files come and go while they are read */
        look(&s, true, NULL, now);
    cancel_set(stop);
    thread_join(t);
    work_run("rm -f churn-*; truncate -s 0 big; truncate -s 1G big; chmod 700 shut", NULL);
    look(&s, true, NULL, now);
    assert_string_equal(first, now);
    chain_free(&s);
    cancel_unref(stop);
}

static void cancelled_and_gone(void **state)
{
    struct cancel *cancel = cancel_new(NULL);
    struct chain s;
    char first[SHA256_HEX + 1];
    char now[SHA256_HEX + 1];
    struct err err = {0};

    (void)state;
    work_put_all("a.c");
    s = begin();
    cancel_set(cancel);
    assert_int_equal(snapshot_look(s.s, s.o, true, NULL, cancel, now, NULL, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    assert_int_equal(snapshot_forgive(s.s, s.o, cancel, &err), -1);
    look(&s, true, NULL, first);
    work_run("echo b >> a.c", NULL);
    assert_int_equal(snapshot_look(s.s, s.o, true, NULL, cancel, now, NULL, &err), -1);
    look(&s, true, NULL, now);
    assert_string_not_equal(first, now);
    work_run("rm -r ../work", NULL);
    assert_int_equal(snapshot_look(s.s, s.o, true, NULL, NULL, now, NULL, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    chain_free(&s);
    cancel_unref(cancel);
}

UNIT_TEST(snapshot)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_counts),
        cmocka_unit_test_setup_teardown(outside_of_git, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(comes_back, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(same_from_anywhere, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(what_tools_wrote, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(forgives, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(too_fast_for_the_clock, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(hostile, work_setup, work_teardown),
        cmocka_unit_test_setup_teardown(cancelled_and_gone, work_setup, work_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
