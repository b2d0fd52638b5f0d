#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "sync/crew.h"
#include "sync/mailbox.h"
#include "unit.h"

struct piece {
    struct mail mail;
    struct mailbox *to;
    struct gate *hold; /* NULL: does not wait */
    bool *open;        /* under hold */
    pthread_t who;
    char name[16];
};

static void piece_free(struct mail *m)
{
    (void)m; /* the test's */
}

static const struct mail_kind piece_kind = {"piece", piece_free};

static void piece_run(void *arg)
{
    struct piece *p = arg;

    p->who = pthread_self();
    pthread_getname_np(p->who, p->name, sizeof(p->name));
    if (p->hold) {
        gate_take(p->hold);
        while (!*p->open)
            gate_wait(p->hold, /*deadline_ms=*/-1);
        gate_give(p->hold);
    }
    p->mail.kind = &piece_kind;
    mailbox_send(p->to, &p->mail);
}

static struct piece *wait_for_one(struct mailbox *mb)
{
    struct mail *m = NULL;

    assert_int_equal(mailbox_take(mb, NULL, /*deadline_ms=*/-1, &m, NULL), 0);
    return (struct piece *)m;
}

/* Consecutive pieces are done by one thread, or by two that take turns: one may not be back yet
 * when the next piece comes. */
static void test_one_at_a_time(void **state)
{
    static const char *const names[] = {"Bash", "Read", "a-name-that-is-too-long"};
    struct mailbox *mb = mailbox_new();
    struct crew *c = crew_new();

    (void)state;
    for (int i = 0; i < 300; i++) {
        const char *name = names[i % 3];
        struct piece p = {.to = mb};

        assert_int_equal(crew_start(c, name, piece_run, &p, NULL), 0);
        assert_ptr_equal(wait_for_one(mb), &p);
        assert_int_equal(strncmp(p.name, name, sizeof(p.name) - 1), 0);
    }
    crew_free(c);
    mailbox_close(mb);
    mailbox_unref(mb);
}

/* None waits for another, and all leave but one. */
static void test_beside_each_other(void **state)
{
    struct mailbox *mb = mailbox_new();
    struct crew *c = crew_new();
    struct piece pieces[20];
    struct gate hold;
    bool open = false;

    (void)state;
    gate_init(&hold);
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
            bool is_last = i == ARRAY_LEN(pieces) - 1;

            pieces[i] = (struct piece){.to = mb, .hold = is_last ? NULL : &hold, .open = &open};
            assert_int_equal(crew_start(c, "piece", piece_run, &pieces[i], NULL), 0);
        }
        assert_ptr_equal(wait_for_one(mb), &pieces[ARRAY_LEN(pieces) - 1]);
        gate_take(&hold);
        open = true;
        gate_wake(&hold);
        gate_give(&hold);
        for (size_t i = 1; i < ARRAY_LEN(pieces); i++)
            assert_non_null(wait_for_one(mb));
        gate_take(&hold);
        open = false;
        gate_give(&hold);
    }
    crew_free(c);
    gate_release(&hold);
    mailbox_close(mb);
    mailbox_unref(mb);
}

static void count_up(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

/* Work already started is done before the crew is gone. */
static void test_free_waits(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        struct crew *c = crew_new();
        atomic_int done = 0;

        for (int i = 0; i < round % 7; i++)
            assert_int_equal(crew_start(c, "count", count_up, &done, NULL), 0);
        crew_free(c);
        assert_int_equal(atomic_load(&done), round % 7);
    }
    crew_free(NULL);
}

UNIT_TEST(crew)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_beside_each_other),
        cmocka_unit_test(test_free_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
