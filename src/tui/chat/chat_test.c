/*
 * The conversation: scripts of events, and the lines that come of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/secret.h"
#include "tui/chat/chat_check.h"
#include "unit.h"

static const struct chat_case {
    const char *name;
    const char *script;
    const char *text;
} cases[] = {
#define CASE(name, script, text) {name, script, text},
#include "tui/chat/chat_test.def"
#undef CASE
};

static const int widths[] = {20, 80, 200};

static void shows(void **state)
{
    bool failed = false;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 20);
        struct chat_check k;

        chat_check_init(&k, 80, 12);
        chat_check_play(&k, cases[i].script);
        chat_check_take(&k);
        chat_check_text(&k, /*with_live=*/true, &got);
        if (!str_is(buf_str(&got), cases[i].text)) {
            print_error("---- %s: got\n%s---- wanted\n%s", cases[i].name, buf_cstr(&got),
                        cases[i].text);
            failed = true;
        }
        chat_check_release(&k);
    }
    assert_false(failed);
}

/* The lines taken are the same, however often they are taken. An answer that is void after it was
 * seen is another matter: the more was seen, the more must stay. So is a command that is answered
 * between the parts of one. */
static void whenever_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases) * ARRAY_LEN(widths); i++) {
        const struct chat_case *row = &cases[i / ARRAY_LEN(widths)];
        int cols = widths[i % ARRAY_LEN(widths)];
        CLEANUP(buf_release) struct buf first = BUF_INIT(1 << 20);

        if (strstr(row->script, "void\n") || strstr(row->script, "command+"))
            continue;
        for (unsigned round = 0; round < 20; round++) {
            CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 20);
            struct chat_check k;

            chat_check_init(&k, cols, 12);
            k.takes = round * 256 / 19; /* never … after every event */
            k.seed = round + i * 31;
            chat_check_play(&k, row->script);
            chat_check_play(&k, "end\n");
            chat_check_take(&k);
            chat_check_text(&k, /*with_live=*/true, &got);
            chat_check_release(&k);
            if (!round)
                buf_add(&first, buf_str(&got));
            else if (!str_eq(buf_str(&first), buf_str(&got)))
                fail_msg("%s, %d columns, round %u:\n%s---- first:\n%s", row->name, cols, round,
                         buf_cstr(&got), buf_cstr(&first));
        }
    }
}

static void check_rows(const struct chat_case *row, const struct lines *ls, int cols)
{
    for (size_t i = 0; i < lines_count(ls); i++) {
        if (line_width(lines_at(ls, i)) > cols)
            fail_msg("%s: wider than %d: %.*s", row->name, cols, STR_ARG(lines_at(ls, i).text));
    }
}

/* No row is wider than the window, no region higher, whatever their size. */
static void fits(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (int cols = 1; cols < 130; cols += cols < 30 ? 1 : 17) {
            struct chat_check k;

            chat_check_init(&k, cols, 1 + cols % 12);
            for (struct str rest = str_of(cases[i].script), line; rest.len;) {
                CLEANUP(lines_release) struct lines live = LINES_INIT;
                CLEANUP(buf_release) struct buf one = BUF_INIT(1 << 16);
                size_t text_rows = 0;

                (void)str_cut(&rest, '\n', &line);
                buf_add(&one, line);
                chat_check_play(&k, buf_cstr(&one));
                chat_check_take(&k);
                chat_live(k.chat, &k.view, &live, &text_rows);
                check_rows(&cases[i], &live, cols);
                if (lines_count(&live) > (size_t)k.view.rows || text_rows > lines_count(&live))
                    fail_msg("%s: %zu rows of %d", cases[i].name, lines_count(&live), k.view.rows);
            }
            check_rows(&cases[i], &k.taken, cols);
            chat_check_release(&k);
        }
    }
}

static const char lost_opened[] = "turn\nstep\nopen one two three four five six seven eight nine\n";
static const char lost_closed[] = "close\nstep-done\nend\n";

/* So many rows of an open answer are pushed into the scrollback, which is reported only when `late`
 * has happened: it then stands there as if it had been taken. */
static void play_lost(size_t lost, const char *late, const char *rest, struct buf *ret)
{
    CLEANUP(lines_release) struct lines live = LINES_INIT;
    struct chat_check k;
    size_t text_rows = 0;

    chat_check_init(&k, 20, 12);
    chat_check_play(&k, lost_opened);
    chat_check_take(&k);
    assert_int_equal(lines_count(&k.taken), 0);
    chat_live(k.chat, &k.view, &live, &text_rows);
    assert_int_equal(text_rows, 4);
    for (size_t i = 0; i < lost && i < text_rows; i++)
        lines_add(&k.taken, lines_at(&live, i));
    chat_check_play(&k, late);
    chat_lost(k.chat, lost);
    chat_check_play(&k, rest);
    chat_check_take(&k);
    chat_check_text(&k, /*with_live=*/false, ret);
    chat_check_release(&k);
}

/* Rows that the window has pushed out are not handed out once more. */
static void lost_rows(void **state)
{
    CLEANUP(buf_release) struct buf whole = BUF_INIT(1 << 16);

    (void)state;
    play_lost(0, "", lost_closed, &whole);
    for (size_t lost = 0; lost < 5; lost++) {
        CLEANUP(buf_release) struct buf before = BUF_INIT(1 << 16);
        CLEANUP(buf_release) struct buf after = BUF_INIT(1 << 16);

        play_lost(lost, "", lost_closed, &before);
        assert_string_equal(buf_cstr(&before), buf_cstr(&whole));
        play_lost(lost, lost_closed, "", &after);
        assert_string_equal(buf_cstr(&after), buf_cstr(&whole));
    }
}

/* An answer that was void by the time: what stands of it is not taken for the new one. */
static void lost_and_void(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);

    (void)state;
    play_lost(2, "void\nstep\nopen ten\n", lost_closed, &got);
    assert_string_equal(buf_cstr(&got), "\n● one two three four\n[cut off]\n\n● ten\n");
}

/* Wherever a secret is cut in two, no part of it is shown. */
static void secrets(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
    struct chat_check k;

    (void)state;
    secret_add(STR("sk-test-0123456789abcdef"));
    chat_check_init(&k, 80, 12);
    chat_check_play(&k, "said my key is sk-test-0123456789abcdef\n"
                        "turn\nstep\nopen It is sk-test-0123456789");
    chat_check_take(&k);
    chat_check_text(&k, /*with_live=*/true, &got);
    chat_check_play(&k, "more abcdef, really.\nclose\n"
                        "call a Bash {\"command\":\"echo sk-test-0123456789abcdef\"}\n"
                        "progress a sk-test-0123456789abcdef\n");
    chat_check_take(&k);
    chat_check_text(&k, /*with_live=*/true, &got);
    chat_check_play(&k, "step-done\nresult a Bash sk-test-0123456789abcdef\n"
                        "notice 1 sk-test-0123456789abcdef\n");
    chat_check_take(&k);
    chat_check_text(&k, /*with_live=*/true, &got);
    assert_false(str_has(buf_str(&got), STR("sk-test-0123456789abcdef")));
    assert_true(str_has(buf_str(&got), STR("It is [hidden], really.")));
    assert_true(str_has(buf_str(&got), STR("Bash(echo [hidden])")));
    assert_false(str_has(buf_str(&got), STR("It is sk-test")));
    chat_check_release(&k);
}

static void asked(void **state)
{
    CLEANUP(lines_release) struct lines live = LINES_INIT;
    size_t rows = 0;
    struct chat_check k;

    (void)state;
    chat_check_init(&k, 80, 12);
    assert_false(chat_is_busy(k.chat));
    assert_int_equal(chat_due(k.chat, 1000), -1);
    assert_int_equal(chat_last_item(k.chat).len, 0);
    chat_check_play(&k, "turn\nstep\ncall toolu_1 Bash {\"command\":\"ls\"}\nstep-done\n"
                        "result toolu_1 Bash 1\\n2\\n3\\n4\\n5\\n6\\n7\n"
                        "call toolu_2 Bash {}\nresult toolu_2 Bash all of it\n");
    chat_check_take(&k);
    assert_true(chat_is_busy(k.chat));
    assert_true(chat_due(k.chat, 1001) > 1001);
    k.now_ms = k.view.now_ms = 5000;
    chat_live(k.chat, &k.view, &live, &rows);
    assert_true(chat_due(k.chat, 9000) > 5000 && chat_due(k.chat, 9000) < 9000); /* overdue */
    assert_true(str_is(chat_last_item(k.chat), "toolu_1"));
    chat_check_play(&k, "state 2\n");
    assert_int_equal(chat_due(k.chat, 1000), -1); /* waiting for the user: nothing moves */
    chat_check_play(&k, "state 1\nend\n");
    assert_false(chat_is_busy(k.chat));
    assert_int_equal(chat_due(k.chat, 1000), -1);
    chat_check_play(&k,
                    "goal goal_waiting {\"on\":\"timer\",\"what\":\"timer\",\"until_ms\":1003400}");
    assert_int_equal(chat_due(k.chat, 5000), 5400);
    chat_check_release(&k);
}

UNIT_TEST(chat)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows),     cmocka_unit_test(whenever_taken), cmocka_unit_test(fits),
        cmocka_unit_test(lost_rows), cmocka_unit_test(lost_and_void),  cmocka_unit_test(secrets),
        cmocka_unit_test(asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
