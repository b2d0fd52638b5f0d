/*
 * Sessions by every name they can have.
 */
#include "store/transcript/find.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "store/hold.h"
#include "store/test_home.h"
#include "unit.h"

#define HERE "-here"
#define THERE "-there"
#define A "aaaa1111-1111-4222-8333-444444444444"
#define A2 "aaaa2222-1111-4222-8333-444444444444"
#define B "bbbb1111-1111-4222-8333-444444444444"
#define C "cccc1111-1111-4222-8333-444444444444"
#define C2 "cccc2222-1111-4222-8333-444444444444"
#define D "dddd1111-1111-4222-8333-444444444444"

static const struct find_case {
    const char *want;
    const char *project; /* of the match; NULL: none */
    const char *id;
    const char *error; /* a part of it */
} find_cases[] = {
    {A, HERE, A, NULL},
    {"AAAA1111-1111-4222-8333-444444444444", HERE, A, NULL},
    {"aaaa1", HERE, A, NULL},
    {"bbbb", HERE, B, NULL}, /* this folder's own, though others fit too */
    {"cccc1", THERE, C, NULL},
    {"aaaa", NULL, NULL, "'aaaa' fits 2 sessions: aaaa"},
    {"cccc", NULL, NULL, "'cccc' fits 2 sessions: cccc"},
    {"aaa", NULL, NULL, "no session is called 'aaa'"}, /* too short for an id */
    {"fix the tests", HERE, A, NULL},                  /* exactly, though another one has more */
    {"FIX the Tests", HERE, A, NULL},
    {"the tests again", HERE, A2, NULL},
    {"fix", NULL, NULL, "fix the tests again"},
    {"src/a.c is broken", HERE, B, NULL}, /* a title with a slash */
    {"far away", THERE, C, NULL},
    {"shared", HERE, B, NULL}, /* part of one here, and exactly one there */
    {"nothing like it", NULL, NULL, "`tenax sessions list --all` shows them"},
    {"", NULL, NULL, "which session?"},
    {"/nowhere/" A ".jsonl", NULL, NULL, "cannot read the session '/nowhere/"},
    {"/tmp", NULL, NULL, "it is not a file"},
    {"~/no/such.jsonl", NULL, NULL, "cannot read the session '/"},
};

static void fill_home(void)
{
    home_clear();
    home_say(HERE, A, "user", 1, "fix the tests");
    home_say(HERE, A2, "user", 2, "fix the tests again");
    home_say(HERE, B, "user", 3, "src/a.c is broken, a shared thing");
    home_say(THERE, "bbbb2222-1111-4222-8333-444444444444", "user", 4, "shared");
    home_say(THERE, C, "user", 5, "far away");
    home_say(THERE, C2, "user", 6, "as far");
}

static const struct find_scope scope = {
    .home = test_home, .dir = test_home, .project = STR_INIT(HERE)};

static void test_names(void **state)
{
    (void)state;
    fill_home();
    for (size_t i = 0; i < ARRAY_LEN(find_cases); i++) {
        const struct find_case *c = &find_cases[i];
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(mem_freep) char *want = home_path(c->project ? c->project : "", c->id ? c->id : "");
        struct err err = {0};
        int rc = find_session(&scope, str_of(c->want), NULL, &path, &err);

        if (c->error ? rc == 0 || !strstr(err.text, c->error)
                     : rc < 0 || strcmp(buf_cstr(&path), want) != 0)
            fail_msg("'%s': %d '%s' %s", c->want, rc, buf_cstr(&path), err.text);
    }
}

static void test_paths(void **state)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf again = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *want = home_path(THERE, C);
    struct err err = {0};

    (void)state;
    fill_home();
    assert_int_equal(find_session(&scope, str_of(want), NULL, &path, &err), 0);
    assert_string_equal(buf_cstr(&path), want);
    /* A relative one begins at the folder of the scope. */
    assert_int_equal(
        find_session(&scope, STR("projects/" THERE "/" C ".jsonl"), NULL, &again, &err), 0);
    assert_string_equal(buf_cstr(&again), want);
}

/* Two ids that differ only in the size of their letters. */
static void test_letters(void **state)
{
    static const char *const ids[] = {A, "AAAA1111-1111-4222-8333-444444444444"};

    (void)state;
    home_clear();
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        home_say(HERE, ids[i], "user", 1, "hello");
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(mem_freep) char *want = home_path(HERE, ids[i]);
        struct err err = {0};

        if (find_session(&scope, str_of(ids[i]), NULL, &path, &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(buf_cstr(&path), want);
    }
}

/* A question makes no files. */
static void test_nothing_there(void **state)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *db = path_join(test_home, "state.db");
    struct err err = {0};

    (void)state;
    home_clear();
    assert_int_equal(find_session(&scope, STR("some title"), NULL, &path, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(find_session(&scope, STR(A), NULL, &path, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_false(file_exists(db));
}

static void touch(const char *path, int second)
{
    struct timespec times[2] = {{.tv_sec = 1000000000 + second}, {.tv_sec = 1000000000 + second}};

    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void touch_session(const char *id, int second)
{
    CLEANUP(mem_freep) char *path = home_path(HERE, id);

    touch(path, second);
}

static void assert_newest(bool is_free, const char *id)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *want = home_path(HERE, id);
    struct err err = {0};

    if (find_newest(&scope, is_free, &path, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(buf_cstr(&path), want);
}

/* A newer file with the name of a session that is not one does no harm. */
static void test_newest(void **state)
{
    CLEANUP(mem_freep) char *folder = home_path(HERE, C);
    CLEANUP(mem_freep) char *link = home_path(HERE, C2);
    CLEANUP(mem_freep) char *odd = home_path(HERE, "this-name-is-as-long-as-that-of-an-i");
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct hold *hold = NULL;
    struct err err = {0};

    (void)state;
    home_clear();
    assert_int_equal(find_newest(&scope, true, &path, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    fill_home();
    touch_session(A, 2);
    touch_session(A2, 1);
    touch_session(B, 3);
    assert_newest(true, B);
    assert_int_equal(mkdir(folder, 0700), 0);
    touch(folder, 4);
    assert_int_equal(symlink("/dev/zero", link), 0);
    home_append(HERE, "this-name-is-as-long-as-that-of-an-i", "x");
    touch(odd, 5);
    home_append(HERE, D, "no line of this\n{\"is\": \"one\"}\n[1]\n");
    touch_session(D, 6);
    assert_newest(true, B);
    assert_newest(false, B);
    assert_int_equal(hold_take(test_home, B, "", &hold, &err), 0);
    assert_newest(true, A);
    assert_newest(false, B);
    hold_give(hold);
}

UNIT_TEST(find)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),         cmocka_unit_test(test_paths),
        cmocka_unit_test(test_nothing_there), cmocka_unit_test(test_newest),
        cmocka_unit_test(test_letters),
    };

    return cmocka_run_group_tests(tests, home_setup, home_teardown);
}
