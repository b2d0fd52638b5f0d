/*
 * Which sessions go, which stay, and what is never touched.
 */
#include "store/remove.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "store/goals/goals.h"
#include "store/hold.h"
#include "store/store.h"
#include "store/test_home.h"
#include "sync/cancel.h"
#include "unit.h"

#define P "-w"
#define ONE HOME_ID(1)
#define TWO HOME_ID(2)
#define DAY_MS ((int64_t)24 * 3600 * 1000)
#define NOW_MS ((int64_t)1800000000 * 1000)

static void put(const char *path, const char *text)
{
    CLEANUP(mem_freep) char *full = path_join(test_home, path);
    CLEANUP(mem_freep) char *dir = path_dirname(full);

    assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
    assert_int_equal(file_replace(full, str_of(text), 0600, NULL), 0);
}

static bool there(const char *path)
{
    CLEANUP(mem_freep) char *full = path_join(test_home, path);
    struct stat st;

    return lstat(full, &st) == 0;
}

static void age(const char *path, int days)
{
    CLEANUP(mem_freep) char *full = path_join(test_home, path);
    struct timespec times[2] = {{.tv_sec = (NOW_MS - days * DAY_MS) / 1000},
                                {.tv_sec = (NOW_MS - days * DAY_MS) / 1000}};

    assert_int_equal(utimensat(AT_FDCWD, full, times, 0), 0);
}

static void test_one(void **state)
{
    CLEANUP(mem_freep) char *path = home_path(P, ONE);
    CLEANUP(mem_freep) char *link = path_join(test_home, "projects/" P "/" ONE "/link");
    struct err err = {0};

    (void)state;
    home_clear();
    put("outside/kept", "x");
    home_say(P, ONE, "user", 1, "a");
    home_say(P, TWO, "user", 1, "b");
    put("projects/" P "/" ONE "/tool-results/1.txt", "x");
    put("projects/" P "/" ONE "/subagents/deep/er/2.txt", "x");
    assert_int_equal(symlink("../../../outside", link), 0);
    assert_int_equal(remove_session(test_home, path, &err), 0);
    assert_false(there("projects/" P "/" ONE ".jsonl"));
    assert_false(there("projects/" P "/" ONE));
    assert_true(there("projects/" P "/" TWO ".jsonl"));
    assert_true(there("outside/kept")); /* links are not followed */
    assert_false(there("run/" ONE ".lock"));

    assert_int_equal(remove_session(test_home, path, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    mem_freep(&path);
    path = home_path(P, TWO);
    assert_int_equal(remove_session(test_home, path, &err), 0);
    assert_false(there("projects/" P)); /* the last one */
}

static void test_open_one(void **state)
{
    CLEANUP(mem_freep) char *path = home_path(P, ONE);
    struct hold *hold = NULL;
    struct err err = {0};

    (void)state;
    home_clear();
    home_say(P, ONE, "user", 1, "a");
    assert_int_equal(hold_take(test_home, ONE, "", &hold, &err), 0);
    assert_int_equal(remove_session(test_home, path, &err), -1);
    assert_int_equal(err.code, ERR_BUSY);
    assert_non_null(strstr(err.text, "is open (pid "));
    assert_true(there("projects/" P "/" ONE ".jsonl"));
    hold_give(hold);
    assert_int_equal(remove_session(test_home, path, &err), 0);
}

static void test_not_ours(void **state)
{
    CLEANUP(mem_freep) char *claude = path_join(test_home, "claude/projects/" P "/" ONE ".jsonl");
    CLEANUP(mem_freep) char *odd = path_join(test_home, "projects/" P "/notes.jsonl");
    struct err err = {0};

    (void)state;
    home_clear();
    put("claude/projects/" P "/" ONE ".jsonl", "{}\n");
    put("projects/" P "/notes.jsonl", "{}\n");
    assert_int_equal(remove_session(test_home, claude, &err), -1);
    assert_int_equal(err.code, ERR_DENIED);
    assert_int_equal(remove_session(test_home, odd, &err), -1);
    assert_int_equal(err.code, ERR_DENIED);
    assert_true(there("claude/projects/" P "/" ONE ".jsonl"));
    assert_true(there("projects/" P "/notes.jsonl"));
}

static void fill(void)
{
    home_clear();
    for (int i = 1; i <= 5; i++) {
        char id[] = HOME_ID(0);
        char path[200];

        id[7] = (char)('0' + i);
        home_say(P, id, "user", 1, "a");
        snprintf(path, sizeof(path), "projects/" P "/%s/tool-results/1.txt", id);
        put(path, "x");
        snprintf(path, sizeof(path), "projects/" P "/%s.jsonl", id);
        age(path, i * 10); /* 10, 20, … days */
    }
    home_say(P, HOME_ID(0), "user", 1, "a"); /* the newest */
    age("projects/" P "/" HOME_ID(0) ".jsonl", 0);
    put("projects/" P "/memory/notes.md", "x");
    age("projects/" P "/memory", 900);
    put("projects/-gone/" HOME_ID(7) "/tool-results/1.txt", "x"); /* its transcript is gone */
    age("projects/-gone/" HOME_ID(7), 900);
    put("projects/" P "/" HOME_ID(6) ".jsonl.new", "x"); /* of a fork that was killed */
    age("projects/" P "/" HOME_ID(6) ".jsonl.new", 900);
    put("projects/" P "/" HOME_ID(9) ".jsonl.new", "x");
    age("projects/" P "/" HOME_ID(9) ".jsonl.new", 1);
    put("run/" HOME_ID(8) ".lock", "{}\n");
    age("run/" HOME_ID(8) ".lock", 900);
    put("run/1.sock", "");
    age("run/1.sock", 900);
}

/* A run a day, each of which removes a day's share: one, of so few. */
static int sweep_for(int runs, int64_t days, int64_t from_ms)
{
    int removed = 0;

    for (int i = 0; i < runs; i++)
        removed += remove_old(test_home, days, from_ms + i * DAY_MS, NULL, NULL);
    return removed;
}

/* A clock that is ahead for a while removes old sessions by the sessions' own times, and only
 * few. */
static void test_clock_ahead(void **state)
{
    (void)state;
    fill();
    assert_int_equal(remove_old(test_home, 25, NOW_MS + 9000 * DAY_MS, NULL, NULL), 1);
    assert_int_equal(remove_old(test_home, 25, NOW_MS + 9001 * DAY_MS, NULL, NULL), 1);
    assert_int_equal(sweep_for(10, 25, NOW_MS + 9002 * DAY_MS), 2); /* 30 and 40 */
    assert_true(there("projects/" P "/" HOME_ID(1) ".jsonl"));
    assert_true(there("projects/" P "/" HOME_ID(2) ".jsonl"));
}

static void test_old(void **state)
{
    struct hold *hold = NULL;

    (void)state;
    fill();
    assert_int_equal(hold_take(test_home, HOME_ID(5), "", &hold, NULL), 0);
    assert_int_equal(sweep_for(3, 25, NOW_MS), 3); /* the folder, 40, 30 */
    assert_true(there("projects/" P "/" HOME_ID(1) ".jsonl"));
    assert_true(there("projects/" P "/" HOME_ID(2) "/tool-results/1.txt"));
    assert_false(there("projects/" P "/" HOME_ID(3) ".jsonl"));
    assert_false(there("projects/" P "/" HOME_ID(3)));
    assert_false(there("projects/" P "/" HOME_ID(4) ".jsonl"));
    assert_true(there("projects/" P "/" HOME_ID(5) ".jsonl")); /* open */
    assert_true(there("projects/" P "/memory/notes.md"));
    assert_false(there("projects/-gone"));
    assert_false(there("projects/" P "/" HOME_ID(6) ".jsonl.new"));
    assert_true(there("projects/" P "/" HOME_ID(9) ".jsonl.new"));
    assert_false(there("run/" HOME_ID(8) ".lock"));
    assert_true(there("run/1.sock"));
    hold_give(hold);

    /* Once a day. */
    assert_int_equal(remove_old(test_home, 25, NOW_MS + 2 * DAY_MS + DAY_MS / 2, NULL, NULL), 0);
    assert_true(there("projects/" P "/" HOME_ID(5) ".jsonl"));
    assert_int_equal(remove_old(test_home, 25, NOW_MS + 3 * DAY_MS, NULL, NULL), 1);
    assert_false(there("projects/" P "/" HOME_ID(5) ".jsonl"));
}

/* How many goals and lines of their ledgers a session has. */
static int count_goals(struct store *s, const char *id)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    goal_event_vec events = VEC_INIT;
    goal_next_vec next = VEC_INIT;
    struct store_goal g;
    int count;

    count = store_goal_get(s, str_of(id), &arena, &g, NULL, NULL);
    assert_int_equal(store_goal_events(s, str_of(id), STR(""), 0, 10, &arena, &events, NULL, NULL),
                     0);
    assert_int_equal(store_goal_next_list(s, str_of(id), &arena, &next, NULL, NULL), 0);
    count += (int)(events.len + next.len);
    vec_release(&events);
    vec_release(&next);
    return count;
}

/* What the store remembers of a goal goes with its session, and only then. */
static void test_goals(void **state)
{
    static const char *const ids[] = {HOME_ID(1), HOME_ID(2), HOME_ID(3), HOME_ID(4)};
    CLEANUP(mem_freep) char *path = home_path(P, HOME_ID(1));
    const struct goal_event event = {.kind = STR("set")};
    const struct goal_next next = {.objective = STR("the next one")};
    struct store *s = NULL;
    struct err err = {0};

    (void)state;
    fill();
    assert_int_equal(store_open("sqlite", test_home, NULL, &s, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct store_goal g = {.thread_id = str_of(ids[i]),
                               .goal_id = STR(HOME_ID(1)),
                               .objective = STR("all tests pass")};

        assert_int_equal(store_goal_replace(s, &g, 5, &event, NULL, NULL, NULL, &err), 0);
        assert_int_equal(store_goal_next_add(s, g.thread_id, &next, NULL, &err), 0);
        assert_int_equal(count_goals(s, ids[i]), 3);
    }
    assert_int_equal(remove_session(test_home, path, &err), 0);
    assert_int_equal(count_goals(s, HOME_ID(1)), 0);
    assert_int_equal(count_goals(s, HOME_ID(2)), 3);
    assert_int_equal(sweep_for(3, 35, NOW_MS), 3); /* the folder, 50, 40 */
    assert_int_equal(count_goals(s, HOME_ID(3)), 3);
    assert_int_equal(count_goals(s, HOME_ID(4)), 0);
    store_free(s);
}

static void test_kept_for_good(void **state)
{
    (void)state;
    fill();
    assert_int_equal(remove_old(test_home, 0, NOW_MS, NULL, NULL), 0);
    assert_null(sweep_begin(test_home, 0, NOW_MS));
    assert_true(there("projects/" P "/" HOME_ID(5) ".jsonl"));
    assert_false(there("projects/.last-sweep"));
}

static void test_sweep_beside(void **state)
{
    struct sweep *s;

    (void)state;
    home_clear();
    assert_null(sweep_begin(test_home, 25, NOW_MS)); /* there were never any messages */
    assert_false(there("projects/.last-sweep"));
    fill();
    s = sweep_begin(test_home, 25, NOW_MS);
    assert_non_null(s);
    sweep_end(s); /* may have come before it did anything */
    sweep_end(NULL);
    assert_true(there("projects/" P "/" HOME_ID(1) ".jsonl"));
}

static void test_cancelled(void **state)
{
    CLEANUP(cancel_unrefp) struct cancel *cancel = cancel_new(/*parent=*/NULL);
    struct err err = {0};

    (void)state;
    fill();
    cancel_set(cancel);
    assert_int_equal(remove_old(test_home, 25, NOW_MS, cancel, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    assert_true(there("projects/" P "/" HOME_ID(5) ".jsonl"));
    assert_false(there("projects/.last-sweep")); /* another process may continue it at once */
}

UNIT_TEST(remove)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),           cmocka_unit_test(test_open_one),
        cmocka_unit_test(test_not_ours),      cmocka_unit_test(test_old),
        cmocka_unit_test(test_kept_for_good), cmocka_unit_test(test_sweep_beside),
        cmocka_unit_test(test_clock_ahead),   cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_goals),
    };

    return cmocka_run_group_tests(tests, home_setup, home_teardown);
}
