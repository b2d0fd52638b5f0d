/*
 * Inboxes: order, each letter once, limits, a thousand of them, two processes, and kills.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/disk.h"
#include "base/err.h"
#include "store/scratch_check.h"
#include "sync/thread.h"
#include "tasks/team/inbox.h"
#include "unit.h"

static int put(const char *from, const char *text, struct err *err)
{
    struct letter l = {.from = str_of(from), .text = str_of(text)};
    char id[ID_UUID_LEN + 1];

    return inbox_put(scratch_dir(), STR("bob"), &l, /*cancel=*/NULL, id, err);
}

static void must_put(const char *from, const char *text)
{
    struct err err = {0};

    if (put(from, text, &err) < 0)
        fail_msg("%s", err.text);
}

/* What a reader does. */
static int look_and_mark(struct letters *ret, struct err *err)
{
    if (inbox_look(scratch_dir(), STR("bob"), ret, err) < 0)
        return -1;
    return inbox_mark(scratch_dir(), STR("bob"), ret, /*cancel=*/NULL, err);
}

/* The texts taken, joined by spaces. */
static void take(struct buf *ret)
{
    CLEANUP(letters_release) struct letters l = LETTERS_INIT;
    struct err err = {0};

    if (look_and_mark(&l, &err) < 0)
        fail_msg("%s", err.text);
    VEC_EACH(&l.list, it) {
        buf_addf(ret, "%s%.*s", ret->len ? " " : "", STR_ARG(it->text));
    }
}

static void in_order_and_once(void **state)
{
    CLEANUP(buf_release) struct buf first = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf second = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    scratch_make();
    must_put("alice", "one");
    must_put("carol", "two \"quoted\"\n");
    must_put("alice", "three");
    take(&first);
    must_put("alice", "four");
    take(&second);
    assert_string_equal(buf_cstr(&first), "one two \"quoted\"\n three");
    assert_string_equal(buf_cstr(&second), "four");
    scratch_remove();
}

/* Letters that arrive while others are delivered stay unread, and so do those of a reader that was
 * killed before it could mark them. */
static void marks_what_was_handled(void **state)
{
    CLEANUP(letters_release) struct letters first = LETTERS_INIT;
    CLEANUP(letters_release) struct letters again = LETTERS_INIT;
    CLEANUP(letters_release) struct letters rest = LETTERS_INIT;
    struct err err = {0};

    (void)state;
    scratch_make();
    must_put("alice", "one");
    assert_int_equal(inbox_look(scratch_dir(), STR("bob"), &first, &err), 0);
    assert_int_equal(inbox_look(scratch_dir(), STR("bob"), &again, &err), 0);
    assert_int_equal(again.list.len, 1);
    must_put("alice", "two");
    assert_int_equal(inbox_mark(scratch_dir(), STR("bob"), &first, NULL, &err), 0);
    assert_int_equal(inbox_look(scratch_dir(), STR("bob"), &rest, &err), 0);
    assert_int_equal(rest.list.len, 1);
    assert_true(str_is(rest.list.ptr[0].text, "two"));
    scratch_remove();
}

static void limits(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};

    (void)state;
    scratch_make();
    for (size_t i = 0; i < INBOX_MAX_TEXT; i++)
        buf_addc(&text, 'x');
    must_put("alice", buf_cstr(&text));
    buf_addc(&text, 'x');
    assert_int_equal(put("alice", buf_cstr(&text), &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    scratch_remove();
}

/* The thousand and first waits for the receiver; reading makes room. */
static void a_thousand(void **state)
{
    CLEANUP(letters_release) struct letters l = LETTERS_INIT;
    struct err err = {0};
    char text[16];

    (void)state;
    scratch_make();
    for (int i = 0; i < INBOX_MAX_UNREAD; i++) {
        snprintf(text, sizeof(text), "%d", i);
        must_put("alice", text);
    }
    assert_int_equal(put("alice", "too many", &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_int_equal(look_and_mark(&l, &err), 0);
    assert_int_equal(l.list.len, INBOX_MAX_UNREAD);
    for (int i = 0; i < INBOX_MAX_UNREAD; i++) {
        snprintf(text, sizeof(text), "%d", i);
        assert_true(str_is(l.list.ptr[i].text, text));
    }
    must_put("alice", "there is room again");
    scratch_remove();
}

#define WRITERS 4
#define EACH 40

static void write_many(void *arg)
{
    const char *from = arg;
    char text[32];

    for (int i = 0; i < EACH; i++) {
        snprintf(text, sizeof(text), "%s%03d", from, i);
        must_put(from, text);
    }
}

/* Writers in threads and in another process, and a concurrent reader: all arrive, once, and those
 * of one writer in their order. */
static void many_at_once(void **state)
{
    static char names[WRITERS][8];
    struct thread *threads[WRITERS];
    int next[WRITERS + 1] = {0};
    int got = 0;
    struct err err = {0};
    pid_t other;

    (void)state;
    scratch_make();
    other = fork();
    if (other == 0) {
        write_many((char[]){"e"});
        _exit(0);
    }
    for (int i = 0; i < WRITERS; i++) {
        snprintf(names[i], sizeof(names[i]), "%c", 'a' + i);
        threads[i] = thread_start("writer", write_many, names[i], &err);
    }
    while (got < (WRITERS + 1) * EACH) {
        CLEANUP(letters_release) struct letters l = LETTERS_INIT;

        assert_int_equal(look_and_mark(&l, &err), 0);
        VEC_EACH(&l.list, it) {
            int64_t n = -1;

            assert_int_equal(str_to_i64(str_from(it->text, 1), &n, NULL), 0);
            assert_int_equal(n, next[it->text.ptr[0] - 'a']++);
            got++;
        }
        if (!l.list.len) /* a reader that asks without a break keeps writers from the lock */
            (void)poll(NULL, 0, 2);
    }
    for (int i = 0; i < WRITERS; i++)
        thread_join(threads[i]);
    assert_int_equal(waitpid(other, NULL, 0), other);
    scratch_remove();
}

/* Whatever was acknowledged is there, and the file parses. */
static void killed_at_each_write(void **state)
{
    static const char *const how[] = {"kill", "torn", "after"};

    (void)state;
    for (size_t h = 0; h < ARRAY_LEN(how); h++) {
        for (int n = 1; n <= 9; n++) {
            CLEANUP(letters_release) struct letters l = LETTERS_INIT;
            struct err err = {0};
            int acked = 0;
            int fds[2];
            pid_t child;
            char c;

            scratch_make();
            assert_int_equal(pipe(fds), 0);
            child = fork();
            if (child == 0) {
                char spec[32];

                snprintf(spec, sizeof(spec), "%s:%d", how[h], n);
                disk_test_mode(spec);
                for (int i = 0; i < 4; i++) {
                    must_put("alice", "x");
                    (void)!write(fds[1], "x", 1);
                }
                _exit(0);
            }
            close(fds[1]);
            while (read(fds[0], &c, 1) == 1)
                acked++;
            close(fds[0]);
            assert_int_equal(waitpid(child, NULL, 0), child);
            if (inbox_look(scratch_dir(), STR("bob"), &l, &err) < 0)
                fail_msg("%s:%d: %s", how[h], n, err.text);
            assert_true((int)l.list.len >= acked && (int)l.list.len <= acked + 1);
            scratch_remove();
        }
    }
}

UNIT_TEST(inbox)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order_and_once),
        cmocka_unit_test(marks_what_was_handled),
        cmocka_unit_test(limits),
        cmocka_unit_test(a_thousand),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(killed_at_each_write),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
