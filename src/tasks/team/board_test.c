/*
 * The board: ids, rules of who may start what, circles, and many at once, in threads and processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/disk.h"
#include "base/err.h"
#include "json/json.h"
#include "store/scratch_check.h"
#include "sync/thread.h"
#include "tasks/team/board.h"
#include "unit.h"

static void begin(struct board *b)
{
    struct err err = {0};

    scratch_make();
    if (board_init(b, scratch_dir(), STR("list"), &err) < 0)
        fail_msg("%s", err.text);
}

static void end(struct board *b)
{
    board_release(b);
    scratch_remove();
}

static int64_t add(struct board *b, const char *subject)
{
    struct work_item item = {.subject = str_of(subject), .description = STR("what to do")};
    struct err err = {0};
    int64_t id = 0;

    if (board_add(b, &item, /*cancel=*/NULL, &id, &err) < 0)
        fail_msg("%s", err.text);
    return id;
}

/* "actor id status owner blocks blockedBy", "-" for a missing one. */
static int change(struct board *b, const char *line, struct err *err)
{
    static struct arena arena;
    struct str rest = str_of(line);
    struct str word[6] = {0};
    struct board_change c = {0};
    struct board_changed done;
    enum item_status status;

    for (size_t i = 0; i < 6; i++)
        (void)str_cut(&rest, ' ', &word[i]);
    for (size_t i = 0; i < 6; i++) {
        if (str_is(word[i], "-"))
            word[i] = (struct str){0};
    }
    c.actor = word[0];
    assert_int_equal(str_to_i64(word[1], &c.id, NULL), 0);
    if (item_status_parse(word[2], &status))
        c.status = &status;
    if (word[3].len) {
        if (str_is(word[3], "none"))
            word[3] = (struct str){0};
        c.owner = &word[3];
    }
    if (word[4].len)
        assert_int_equal(json_parse_copy(&arena, word[4], &c.add_blocks, NULL, NULL), 0);
    if (word[5].len)
        assert_int_equal(json_parse_copy(&arena, word[5], &c.add_blocked_by, NULL, NULL), 0);
    err_clear(err);
    return board_change(b, &c, /*cancel=*/NULL, &done, err);
}

static void ids_are_never_given_twice(void **state)
{
    struct board b;
    struct err err = {0};

    (void)state;
    begin(&b);
    assert_int_equal(add(&b, "a"), 1);
    assert_int_equal(add(&b, "b"), 2);
    assert_int_equal(change(&b, "- 2 deleted", &err), 0);
    assert_int_equal(add(&b, "c"), 3);
    assert_int_equal(board_clear(&b, NULL, &err), 0);
    assert_int_equal(board_read(&b, &err), 0);
    assert_int_equal(b.items.len, 0);
    assert_int_equal(add(&b, "d"), 4);
    end(&b);
}

static void who_may_change_what(void **state)
{
    static const struct {
        const char *change;
        enum err_code fails;
        const char *says;
    } rows[] = {
        {"alice 9 in_progress", ERR_NOT_FOUND, "Task not found"},
        {"alice 1 in_progress", ERR_NONE, NULL}, /* free: hers now */
        {"bob 1 in_progress", ERR_BUSY, "already_claimed: #1 is alice's"},
        {"alice 1 in_progress", ERR_NONE, NULL},
        {"team-lead 1 in_progress bob", ERR_NONE, NULL}, /* given to another */
        {"alice 1 in_progress", ERR_BUSY, "#1 is bob's"},
        {"- 2 - - - [\"1\"]", ERR_NONE, NULL}, /* #1 blocks #2 */
        {"alice 2 in_progress", ERR_UNSUPPORTED, "#2 is blocked by #1"},
        {"- 3 - - - [\"2\"]", ERR_NONE, NULL},
        {"- 1 - - - [\"3\"]", ERR_BAD_INPUT, "#3 cannot block #1"}, /* a circle of three */
        {"- 3 - - [\"1\"]", ERR_BAD_INPUT, "#3 cannot block #1"},
        {"- 2 - - [\"2\"]", ERR_BAD_INPUT, "#2 cannot block #2"},
        {"- 2 - - [\"9\"]", ERR_NOT_FOUND, "no task \"9\""},
        {"bob 1 completed", ERR_NONE, NULL},
        {"alice 2 in_progress", ERR_NONE, NULL}, /* what blocked it is done */
        {"- 2 deleted", ERR_NONE, NULL},
        {"alice 3 in_progress", ERR_NONE, NULL}, /* what blocked it is gone */
    };
    struct board b;
    struct err err = {0};

    (void)state;
    begin(&b);
    add(&b, "first");
    add(&b, "second");
    add(&b, "third");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int r = change(&b, rows[i].change, &err);

        if ((r < 0) != (rows[i].fails != ERR_NONE) || err.code != rows[i].fails ||
            (rows[i].says && !str_has(str_of(err.text), str_of(rows[i].says))))
            fail_msg("%s: %d, %s", rows[i].change, r, err.text);
    }
    end(&b);
}

static void items_of_a_member_are_given_back(void **state)
{
    struct board b;
    struct err err = {0};

    (void)state;
    begin(&b);
    add(&b, "a");
    add(&b, "b");
    add(&b, "c");
    assert_int_equal(board_claim(&b, STR("alice"), NULL, &err), 1);
    assert_int_equal(board_claim(&b, STR("alice"), NULL, &err), 2);
    assert_int_equal(change(&b, "alice 1 completed", &err), 0);
    assert_int_equal(board_give_back(&b, STR("alice"), NULL, &err), 1);
    assert_int_equal(board_read(&b, &err), 0);
    assert_true(str_is(board_find(&b, 1)->owner, "alice"));
    assert_int_equal(board_find(&b, 2)->owner.len, 0);
    assert_int_equal(board_find(&b, 2)->status, ITEM_PENDING);
    assert_int_equal(board_claim(&b, STR("bob"), NULL, &err), 2);
    end(&b);
}

/* ---- Races ---- */

#define RACERS 20

struct racer {
    struct thread *thread;
    char name[16];
    int64_t claimed; /* how many */
    int lost;        /* to a named one */
    bool takes_all;
};

/* Everybody wants #1 by name, or everything by turns. */
static void race(void *arg)
{
    struct racer *r = arg;
    struct board b;
    struct err err = {0};
    char line[64];

    assert_int_equal(board_init(&b, scratch_dir(), STR("list"), &err), 0);
    if (r->takes_all) {
        while (board_claim(&b, str_of(r->name), NULL, &err) > 0)
            r->claimed++;
    } else {
        struct board_change c = {.id = 1, .actor = str_of(r->name)};
        enum item_status status = ITEM_IN_PROGRESS;
        struct board_changed done;

        c.status = &status;
        snprintf(line, sizeof(line), "%s", r->name);
        if (board_change(&b, &c, NULL, &done, &err) == 0)
            r->claimed = 1;
        else if (err.code == ERR_BUSY && str_has(str_of(err.text), STR("already_claimed: #1 is m")))
            r->lost = 1;
    }
    board_release(&b);
}

static void twenty_claim_one_item(void **state)
{
    struct racer racers[RACERS] = {0};
    struct board b;
    struct err err = {0};
    int won = 0;
    int lost = 0;

    (void)state;
    begin(&b);
    add(&b, "the one");
    for (int i = 0; i < RACERS; i++) {
        snprintf(racers[i].name, sizeof(racers[i].name), "m%d", i);
        racers[i].thread = thread_start("racer", race, &racers[i], &err);
        assert_non_null(racers[i].thread);
    }
    for (int i = 0; i < RACERS; i++) {
        thread_join(racers[i].thread);
        won += (int)racers[i].claimed;
        lost += racers[i].lost;
    }
    assert_int_equal(won, 1);
    assert_int_equal(lost, RACERS - 1);
    end(&b);
}

/* 8 members take 100 items, four of them in another process. */
static void two_processes_claim_each_item_once(void **state)
{
    struct racer racers[4] = {0};
    struct board b;
    struct err err = {0};
    int64_t claimed = 0;
    int status = 0;
    pid_t other;

    (void)state;
    begin(&b);
    for (int i = 0; i < 100; i++)
        add(&b, "one of many");
    other = fork();
    if (other == 0) {
        struct racer r = {.name = "other", .takes_all = true};

        race(&r);
        _exit((int)r.claimed);
    }
    for (int i = 0; i < 4; i++) {
        snprintf(racers[i].name, sizeof(racers[i].name), "m%d", i);
        racers[i].takes_all = true;
        racers[i].thread = thread_start("racer", race, &racers[i], &err);
    }
    for (int i = 0; i < 4; i++) {
        thread_join(racers[i].thread);
        claimed += racers[i].claimed;
    }
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_true(WIFEXITED(status));
    assert_int_equal(claimed + WEXITSTATUS(status), 100);
    assert_int_equal(board_read(&b, &err), 0);
    VEC_EACH(&b.items, i) {
        assert_int_equal(i->status, ITEM_IN_PROGRESS);
        assert_true(i->owner.len > 0);
    }
    end(&b);
}

/* A process that is killed at any of its writes leaves files that parse, and no id is used twice.
 */
static void killed_at_each_write(void **state)
{
    static const char *const how[] = {"kill", "torn", "after"};

    (void)state;
    for (size_t h = 0; h < ARRAY_LEN(how); h++) {
        for (int n = 1; n <= 12; n++) {
            struct board b;
            struct err err = {0};
            int64_t last = 0;
            pid_t child;

            begin(&b);
            add(&b, "a");
            add(&b, "b");
            child = fork();
            if (child == 0) {
                char spec[32];

                snprintf(spec, sizeof(spec), "%s:%d", how[h], n);
                disk_test_mode(spec);
                (void)change(&b, "- 1 - - [\"2\"]", &err);
                (void)add(&b, "c");
                (void)board_claim(&b, STR("alice"), NULL, &err);
                _exit(0);
            }
            assert_int_equal(waitpid(child, NULL, 0), child);
            if (board_read(&b, &err) < 0)
                fail_msg("%s:%d: %s", how[h], n, err.text);
            VEC_EACH(&b.items, i) {
                assert_true(i->id > last);
                last = i->id;
                VEC_EACH(&i->blocks, id) { /* both ends list it */
                    assert_int_equal(board_find(&b, *id)->blocked_by.len, 1);
                }
            }
            assert_true(add(&b, "d") > last);
            end(&b);
        }
    }
}

static void lists_are_file_names(void **state)
{
    static const char *const bad[] = {"", "..", "a/b", ".lock", "a b"};
    struct board b;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(board_init(&b, "/nowhere", str_of(bad[i]), NULL), -1);
}

UNIT_TEST(board)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_never_given_twice),
        cmocka_unit_test(who_may_change_what),
        cmocka_unit_test(items_of_a_member_are_given_back),
        cmocka_unit_test(twenty_claim_one_item),
        cmocka_unit_test(two_processes_claim_each_item_once),
        cmocka_unit_test(killed_at_each_write),
        cmocka_unit_test(lists_are_file_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
