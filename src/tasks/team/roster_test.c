/*
 * The config of a team: members that are added at the same time, and kills at each write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/disk.h"
#include "base/err.h"
#include "proc/tree.h"
#include "store/scratch_check.h"
#include "sync/thread.h"
#include "tasks/team/roster.h"
#include "unit.h"

static void create(struct latch *lead)
{
    CLEANUP(roster_release) struct roster r = ROSTER_INIT;
    struct err err = {0};

    if (roster_create(&r, scratch_dir(), STR("crew"), STR(""), STR("s"), /*cancel=*/NULL, lead,
                      &err) < 0)
        fail_msg("%s", err.text);
}

static void open_roster(struct roster *r)
{
    const char *folder = scratch("teams/crew");
    struct err err = {0};

    r->folder = mem_dup(folder, strlen(folder));
    if (roster_read(r, &err) < 0)
        fail_msg("%s", err.text);
}

/* A later process with the same pid is not taken for the lead. */
static void lead_process(void **state)
{
    CLEANUP(latch_give) struct latch lead = LATCH_INIT;
    CLEANUP(roster_release) struct roster r = ROSTER_INIT;
    struct tree_proc me;

    (void)state;
    scratch_make();
    create(&lead);
    open_roster(&r);
    assert_true(tree_look(getpid(), &me));
    assert_int_equal(r.lead_pid, getpid());
    assert_int_equal(r.lead_start, me.start);
    scratch_remove();
}

static void add(struct str name, struct buf *ret)
{
    CLEANUP(roster_release) struct roster r = ROSTER_INIT;
    struct member m = {.name = name, .type = STR("general-purpose"), .is_active = true};
    struct err err = {0};

    open_roster(&r);
    if (roster_add(&r, &m, /*cancel=*/NULL, ret, &err) < 0)
        fail_msg("%s", err.text);
}

#define ADDERS 4
#define EACH 10

/* All of them want the same name. */
static void add_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < EACH; i++) {
        CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);

        add(STR("bob"), &name);
    }
}

/* In threads and in another process: all are there, each with a name of its own. */
static void many_at_once(void **state)
{
    CLEANUP(latch_give) struct latch lead = LATCH_INIT;
    CLEANUP(roster_release) struct roster r = ROSTER_INIT;
    struct thread *threads[ADDERS];
    struct err err = {0};
    pid_t other;

    (void)state;
    scratch_make();
    create(&lead);
    other = fork();
    if (other == 0) {
        add_many(NULL);
        _exit(0);
    }
    for (int i = 0; i < ADDERS; i++)
        threads[i] = thread_start("adder", add_many, NULL, &err);
    for (int i = 0; i < ADDERS; i++)
        thread_join(threads[i]);
    assert_int_equal(waitpid(other, NULL, 0), other);
    open_roster(&r);
    assert_int_equal(r.members.len, (ADDERS + 1) * EACH);
    VEC_EACH(&r.members, m) {
        assert_ptr_equal(roster_find(&r, m->name), m);
    }
    scratch_remove();
}

/* Whatever was acknowledged is there, and the file parses. */
static void killed_at_each_write(void **state)
{
    static const char *const how[] = {"kill", "torn", "after"};

    (void)state;
    for (size_t h = 0; h < ARRAY_LEN(how); h++) {
        for (int n = 1; n <= 9; n++) {
            CLEANUP(latch_give) struct latch lead = LATCH_INIT;
            CLEANUP(roster_release) struct roster r = ROSTER_INIT;
            int acked = 0;
            int fds[2];
            pid_t child;
            char c;

            scratch_make();
            create(&lead);
            assert_int_equal(pipe(fds), 0);
            child = fork();
            if (child == 0) {
                char spec[32];

                snprintf(spec, sizeof(spec), "%s:%d", how[h], n);
                disk_test_mode(spec);
                for (int i = 0; i < 4; i++) {
                    CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);

                    add(STR("bob"), &name);
                    (void)!write(fds[1], "x", 1);
                }
                _exit(0);
            }
            close(fds[1]);
            while (read(fds[0], &c, 1) == 1)
                acked++;
            close(fds[0]);
            assert_int_equal(waitpid(child, NULL, 0), child);
            open_roster(&r);
            assert_true((int)r.members.len >= acked && (int)r.members.len <= acked + 1);
            scratch_remove();
        }
    }
}

UNIT_TEST(roster)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lead_process),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(killed_at_each_write),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
