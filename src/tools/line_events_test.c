/*
 * Lines made into events, by a clock of the test.
 */
#include "tools/line_events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

static const struct event_case {
    const char *what;
    struct {
        int64_t at_ms;
        const char *bytes; /* NULL = the program ends */
    } fed[4];
    size_t count;
    int64_t taken_ms;
    const char *event; /* NULL = nothing is due */
} event_cases[] = {
    {"a line waits for others", {{0, "one\n"}}, 1, 199, NULL},
    {"and is due", {{0, "one\n"}}, 1, 200, "one"},
    {"joined", {{0, "one\n"}, {150, "two\nthree\n"}}, 2, 200, "one\ntwo\nthree"},
    {"in pieces", {{0, "on"}, {500, "e\n"}}, 2, 699, NULL},
    {"whole lines only", {{0, "one\ntw"}}, 1, 200, "one"},
    {"an end without a newline", {{0, "on"}, {1, "e"}, {2, NULL}}, 3, 2, "one"},
    {"an end without output", {{0, NULL}}, 1, 1000, NULL},
    {"escape sequences", {{0, "\033[31mred\033[0m\r\n"}}, 1, 200, "red"},
    {"an empty line", {{0, "\n"}}, 1, 200, ""},
};

static void made(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(event_cases); i++) {
        const struct event_case *c = &event_cases[i];
        CLEANUP(buf_release) struct buf got = BUF_INIT(1000);
        struct line_events e;
        bool is_due;

        line_events_init(&e);
        for (size_t k = 0; k < c->count; k++) {
            if (c->fed[k].bytes)
                line_events_feed(&e, str_of(c->fed[k].bytes), c->fed[k].at_ms);
            else
                line_events_end(&e, c->fed[k].at_ms);
        }
        is_due = line_events_take(&e, c->taken_ms, &got);
        if (is_due != (c->event != NULL) || (c->event && !str_is(buf_str(&got), c->event)))
            fail_msg("%s: %s '%s'", c->what, is_due ? "event" : "none", buf_cstr(&got));
        line_events_release(&e);
    }
}

static void cut(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 20);
    struct line_events e;

    (void)state;
    line_events_init(&e);
    for (int i = 0; i < 3000; i++)
        line_events_feed(&e, STR("123456789\n"), 0);
    assert_true(line_events_take(&e, 200, &got));
    assert_true(got.len < LINE_EVENTS_MAX_TEXT + 100);
    assert_true(str_ends(buf_str(&got), STR("lines left out]")));
    line_events_release(&e);
}

/* 100 a minute are allowed, minute after minute; one more is not. */
static void counted(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 20);
    struct line_events e;
    int64_t now_ms = 0;

    (void)state;
    line_events_init(&e);
    for (int i = 0; i < 3 * LINE_EVENTS_PER_MINUTE; i++) {
        line_events_feed(&e, STR("x\n"), now_ms);
        assert_true(line_events_take(&e, now_ms + 200, &got));
        assert_false(line_events_are_too_many(&e));
        now_ms += 600;
    }
    for (int i = 0; i < LINE_EVENTS_PER_MINUTE + 1; i++) {
        line_events_feed(&e, STR("x\n"), now_ms);
        assert_true(line_events_take(&e, now_ms + 200, &got));
        now_ms += 300;
    }
    assert_true(line_events_are_too_many(&e));
    line_events_release(&e);
}

UNIT_TEST(line_events)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made),
        cmocka_unit_test(cut),
        cmocka_unit_test(counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
