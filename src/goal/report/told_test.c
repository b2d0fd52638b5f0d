/*
 * What becomes of a goal, in words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "goal/report/told.h"
#include "json/json.h"
#include "unit.h"

static const struct told_case {
    const char *name, *json;
    const char *text; /* NULL: no line */
    enum told_tone tone;
} cases[] = {
    {"goal_verdict", "{\"met\":true,\"reason\":\"40 of 40 pass\"}", "✓ met: 40 of 40 pass",
     TOLD_GOOD},
    {"goal_verdict", "{\"met\":false,\"reason\":\"2 fail\\nand more\"}", "✗ not met: 2 fail",
     TOLD_BAD},
    {"goal_verdict", "{\"met\":false,\"impossible\":true,\"reason\":\"no net\"}",
     "✗ not met, and cannot be: no net", TOLD_BAD},
    {"goal_verdict", "{\"met\":false,\"error\":\"the judge is down\"}",
     "? no verdict: the judge is down", TOLD_WARNING},
    {"goal_verdict", "{\"met\":true,\"stale\":true}", NULL, TOLD_PLAIN},
    {"goal_updated", "{\"which\":\"token budget\",\"used\":81.5,\"limit\":100}",
     "! 81 % of the token budget used", TOLD_WARNING},
    {"goal_updated", "{\"to\":\"paused\",\"by\":\"user\",\"why\":\"by the user\"}", NULL,
     TOLD_PLAIN},
    {"goal_updated", "{\"to\":\"paused\",\"by\":\"user\",\"why\":\"interrupted\"}",
     "! goal paused: interrupted · /goal resume continues", TOLD_WARNING},
    {"goal_updated", "{\"to\":\"complete\",\"by\":\"engine\"}", NULL, TOLD_PLAIN},
    {"goal_updated", "{\"objective_chars\":7}", NULL, TOLD_PLAIN},
    {"goal_updated",
     "{\"to\":\"paused\",\"by\":\"user\",\"why\":\"by the user\",\"elsewhere\":true}",
     "! goal paused from outside · /goal resume continues", TOLD_WARNING},
    {"goal_updated", "{\"to\":\"active\",\"by\":\"user\",\"elsewhere\":true}",
     "! goal resumed from outside", TOLD_PLAIN},
    {"goal_updated", "{\"objective_chars\":7,\"elsewhere\":true}", "! goal edited from outside",
     TOLD_WARNING},
    {"goal_updated", "{\"limit\":\"token budget\",\"elsewhere\":true}",
     "! the goal's token budget was changed from outside", TOLD_WARNING},
    {"goal_updated", "{\"limit\":\"token budget\"}", NULL, TOLD_PLAIN},
    {"goal_updated", "{\"checks\":[],\"elsewhere\":true}", NULL, TOLD_PLAIN},
    {"goal_cleared", "{\"elsewhere\":true}", "! goal cleared from outside", TOLD_WARNING},
    {"goal_cleared", "{}", NULL, TOLD_PLAIN},
    {"goal_limited", "{\"to\":\"budget_limited\",\"by\":\"engine\",\"why\":\"used up\"}",
     "! goal budget limited: used up · /goal budget +N continues", TOLD_WARNING},
    {"goal_blocked", "{\"to\":\"blocked\",\"by\":\"model\",\"why\":\"no key\"}",
     "✗ goal blocked: no key · /goal resume continues", TOLD_BAD},
    {"goal_restored", "{\"status\":\"active\",\"iterations\":1}",
     "continuing the goal of this session (1 turn so far)", TOLD_FAINT},
    {"goal_restored", "{\"status\":\"paused\",\"iterations\":1}", NULL, TOLD_PLAIN},
    {"goal_set", "{\"set\":{\"via\":\"user\"}}", NULL, TOLD_PLAIN},
    {"goal_set", "{\"set\":{\"via\":\"next\",\"checks\":[{},{}]}}",
     "◎ the next goal begins · 2 checks", TOLD_PLAIN},
    {"goal_achieved", "{\"turns\":1,\"duration_ms\":61000,\"tokens\":950}",
     "✓ goal complete · 1 turn · 1m · 950 tokens · /goal report", TOLD_GOOD},
    {"goal_of_tomorrow", "{}", NULL, TOLD_PLAIN},
    {"goal_verdict", "null", "✗ not met", TOLD_BAD},
};

static void lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf got = BUF_INIT(4096);
        enum told_tone tone = TOLD_PLAIN;
        const struct json *v = NULL;
        bool told;

        assert_int_equal(json_parse(&arena, str_of(cases[i].json), &v, NULL, NULL), 0);
        told = goal_told(str_of(cases[i].name), v, &got, &tone);
        if (told != !!cases[i].text || tone != cases[i].tone ||
            (told && !str_is(buf_str(&got), cases[i].text)))
            fail_msg("row %zu: %s (%d)", i, told ? buf_cstr(&got) : "nothing", (int)tone);
    }
}

static void waits(void **state)
{
    static const struct told_case rows[] = {
        {.json = "{\"on\":\"timer\",\"what\":\"timer, 3s left\"}", .text = "waiting: timer"},
        {.json = "{\"on\":\"process\",\"what\":\"pid 4242\"}", .text = "waiting: pid 4242"},
        {.json = "{\"on\":\"retry\",\"what\":\"the server is down\"}",
         .text = "trying again: the server is down"},
        {.json = "{}", .text = "waiting"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf got = BUF_INIT(4096);
        const struct json *v = NULL;

        assert_int_equal(json_parse(&arena, str_of(rows[i].json), &v, NULL, NULL), 0);
        goal_told_wait(v, &got);
        assert_string_equal(buf_cstr(&got), rows[i].text);
    }
}

UNIT_TEST(told)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
