/*
 * A goal as people see it: figures at their borders, lines of a status bar, the summary, stops, the
 * log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "goal/report/display.h"
#include "unit.h"

static const struct {
    int64_t seconds;
    const char *shown;
} elapsed[] = {
    {0, "0s"},
    {1, "1s"},
    {59, "59s"},
    {60, "1m"},
    {61, "1m"},
    {119, "1m"},
    {120, "2m"},
    {12 * 60, "12m"},
    {3599, "59m"},
    {3600, "1h"},
    {3659, "1h"},
    {3660, "1h 1m"},
    {3 * 3600, "3h"},
    {3 * 3600 + 5 * 60, "3h 5m"},
    {86399, "23h 59m"},
    {86400, "1d 0h 0m"},
    {86400 + 5 * 60, "1d 0h 5m"},
    {86400 + 2 * 3600 + 3 * 60, "1d 2h 3m"},
    {-1, "0s"},
    {INT64_MIN, "0s"},
    {INT64_MAX, "106751991167300d 15h 30m"},
};

static void elapsed_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(elapsed); i++) {
        CLEANUP(buf_release) struct buf b = BUF_INIT(100);

        goal_show_elapsed(elapsed[i].seconds, &b);
        if (strcmp(buf_cstr(&b), elapsed[i].shown) != 0)
            fail_msg("%lld: %s", (long long)elapsed[i].seconds, buf_cstr(&b));
    }
}

static const struct {
    int64_t n;
    const char *shown;
} tokens[] = {
    {0, "0"},
    {1, "1"},
    {950, "950"},
    {999, "999"},
    {1000, "1K"},
    {1049, "1K"},
    {1050, "1.1K"},
    {12500, "12.5K"},
    {50000, "50K"},
    {999949, "999.9K"},
    {999950, "1M"},
    {1000000, "1M"},
    {1200000, "1.2M"},
    {999949999, "999.9M"},
    {999950000, "1B"},
    {INT64_C(1500000000), "1.5B"},
    {INT64_C(2000000000000), "2T"},
    {GOAL_MAX_NUMBER, "9007.2T"},
    {INT64_MAX, "9223372T"},
    {-1, "0"},
    {INT64_MIN, "0"},
};

static void token_figures(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
        CLEANUP(buf_release) struct buf b = BUF_INIT(100);

        goal_show_tokens(tokens[i].n, &b);
        if (strcmp(buf_cstr(&b), tokens[i].shown) != 0)
            fail_msg("%lld: %s", (long long)tokens[i].n, buf_cstr(&b));
    }
}

static const struct {
    double usd;
    const char *shown;
} sums[] = {
    {0, "$0"},
    {0.00005, "<$0.0001"},
    {0.0031, "$0.0031"},
    {0.42, "$0.42"},
    {12.5, "$12.50"},
    {-3, "$0"},
    {1e300, "$1000000000000000.00"},
    {__builtin_nan(""), "$0"},
};

static void money(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sums); i++) {
        CLEANUP(buf_release) struct buf b = BUF_INIT(100);

        goal_show_usd(sums[i].usd, &b);
        if (strcmp(buf_cstr(&b), sums[i].shown) != 0)
            fail_msg("%g: %s", sums[i].usd, buf_cstr(&b));
    }
}

static const struct {
    const char *text;
    size_t max;
    const char *shown;
} lines[] = {
    {"", 10, ""},
    {"one", 10, "one"},
    {"  one  \ntwo", 10, "one"},
    {"\n\n two \n", 10, "two"},
    {"one\r\ntwo", 10, "one"},
    {"0123456789", 10, "0123456789"},
    {"0123456789a", 10, "0123456789…"},
    {"caf\xc3\xa9s", 4, "caf…"},
    {"a\x1b[31mb\x07", 20, "a [31mb "},
    {"a\xc2\x9b"
     "31mb",
     20, "a 31mb"},
    {"a\xff"
     "b",
     20,
     "a\xef\xbf\xbd"
     "b"},
    {"a\tb\x7f"
     "c",
     20, "a b c"},
    {"Because of:\n- a.c: changed\n- b.c: gone\n", 40, "Because of: a.c: changed"},
    {"Because of:\n- a.c: changed\n", 17, "Because of: a.c: …"},
    {"Because of:\n- a.c: changed\n", 12, "Because of:"},
    {"Because of:", 40, "Because of:"},
};

static void one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        CLEANUP(buf_release) struct buf b = BUF_INIT(100);

        goal_show_line(str_of(lines[i].text), lines[i].max, &b);
        if (strcmp(buf_cstr(&b), lines[i].shown) != 0)
            fail_msg("row %zu: '%s'", i, buf_cstr(&b));
    }
}

static const struct {
    const char *name;
    struct store_goal goal;
    int64_t now_ms, read_ms, turn_ms;
    bool plan_mode;
    const char *indicator, *pill;
} looks[] = {
    {"fresh", {.time_used_seconds = 0}, 0, 0, 0, false, "0s", "not yet evaluated"},
    {"elapsed", {.time_used_seconds = 720, .iterations = 1}, 0, 0, 0, false, "12m", "1 turn"},
    {"budget",
     {.tokens_used = 12500,
      .token_budget = 50000,
      .iterations = 3,
      .last_reason = STR_INIT("  make test fails\nmore")},
     0,
     0,
     0,
     false,
     "12.5K / 50K",
     "3 turns · make test fails"},
    {"live since the turn began",
     {.time_used_seconds = 50},
     20500,
     1000,
     5000,
     false,
     "1m",
     "not yet evaluated"},
    {"live since the row was read",
     {.time_used_seconds = 50},
     20500,
     18000,
     5000,
     false,
     "52s",
     "not yet evaluated"},
    {"no turn runs", {.time_used_seconds = 50}, 900000, 1000, 0, false, "50s", "not yet evaluated"},
    {"a clock that went back",
     {.time_used_seconds = 50},
     1000,
     2000,
     1500,
     false,
     "50s",
     "not yet evaluated"},
    {"plan mode",
     {.time_used_seconds = 50, .iterations = 2},
     900000,
     1000,
     2000,
     true,
     "50s",
     "held by plan mode · 2 turns"},
    {"waiting",
     {.phase = STR_INIT("waiting"),
      .phase_detail = STR_INIT("{\"what\":\"pid 4242\"}"),
      .token_budget = 5},
     900000,
     1000,
     2000,
     false,
     "waiting: pid 4242",
     "not yet evaluated"},
    {"waiting, detail is no JSON",
     {.phase = STR_INIT("waiting"), .phase_detail = STR_INIT("{pid")},
     0,
     0,
     0,
     false,
     "waiting",
     "not yet evaluated"},
    {"retrying",
     {.phase = STR_INIT("retrying"), .phase_detail = STR_INIT("{\"why\":\"over\\u001bloaded\"}")},
     0,
     0,
     0,
     false,
     "retrying: over loaded",
     "not yet evaluated"},
    {"verifying",
     {.phase = STR_INIT("verifying"), .time_used_seconds = 60},
     0,
     0,
     0,
     false,
     "1m",
     "not yet evaluated"},
    {"paused",
     {.status = GOAL_PAUSED, .phase = STR_INIT("waiting"), .iterations = 1},
     9000,
     1,
     1,
     true,
     "paused",
     "1 turn"},
    {"blocked", {.status = GOAL_BLOCKED}, 0, 0, 0, false, "blocked", "not yet evaluated"},
    {"usage limited",
     {.status = GOAL_USAGE_LIMITED},
     0,
     0,
     0,
     false,
     "usage limited",
     "not yet evaluated"},
    {"budget limited",
     {.status = GOAL_BUDGET_LIMITED, .tokens_used = 50100, .token_budget = 50000},
     0,
     0,
     0,
     false,
     "budget limited (50.1K / 50K tokens)",
     "not yet evaluated"},
    {"limited by money",
     {.status = GOAL_BUDGET_LIMITED,
      .tokens_used = 100,
      .token_budget = 50000,
      .cost_usd = 2.1,
      .max_cost_usd = 2},
     0,
     0,
     0,
     false,
     "budget limited ($2.10 / $2.00)",
     "not yet evaluated"},
    {"limited by steps",
     {.status = GOAL_BUDGET_LIMITED, .steps = 500, .max_turns = 500},
     0,
     0,
     0,
     false,
     "budget limited (500 / 500 steps)",
     "not yet evaluated"},
    {"limited by time",
     {.status = GOAL_BUDGET_LIMITED,
      .deadline_ms = INT64_C(1763208000000),
      .updated_at_ms = INT64_C(1763208000001)},
     0,
     0,
     0,
     false,
     "budget limited (deadline 2025-11-15T12:00Z)",
     "not yet evaluated"},
    {"limited by nothing known",
     {.status = GOAL_BUDGET_LIMITED},
     0,
     0,
     0,
     false,
     "budget limited",
     "not yet evaluated"},
    {"complete",
     {.status = GOAL_COMPLETE, .time_used_seconds = 11100},
     0,
     0,
     0,
     false,
     "complete (3h 5m)",
     "1 turn"},
    {"complete with a budget",
     {.status = GOAL_COMPLETE, .tokens_used = 12500, .token_budget = 50000},
     0,
     0,
     0,
     false,
     "complete (12.5K tokens)",
     "1 turn"},
};

static void status_line(void **state)
{
    struct goal_look none = {0};
    CLEANUP(buf_release) struct buf empty = BUF_INIT(100);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        CLEANUP(buf_release) struct buf indicator = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf pill = BUF_INIT(1000);
        struct goal_look l = {&looks[i].goal, looks[i].now_ms, looks[i].read_ms, looks[i].turn_ms,
                              looks[i].plan_mode};

        goal_show_indicator(&l, &indicator);
        goal_show_pill(&l, &pill);
        if (strcmp(buf_cstr(&indicator), looks[i].indicator) != 0 ||
            strcmp(buf_cstr(&pill), looks[i].pill) != 0)
            fail_msg("%s: '%s', '%s'", looks[i].name, buf_cstr(&indicator), buf_cstr(&pill));
    }
    goal_show_indicator(&none, &empty);
    goal_show_pill(&none, &empty);
    assert_int_equal(empty.len, 0);
    assert_int_equal(goal_live_seconds(&none), 0);
}

static void summary_of_nothing(void **state)
{
    CLEANUP(buf_release) struct buf b = BUF_INIT(10000);
    struct goal_look none = {0};

    (void)state;
    goal_show_summary(&none, STR(""), STR(""), &b);
    assert_true(str_starts(buf_str(&b), STR("There is no goal.")));
    assert_true(str_ends(buf_str(&b), str_of(goal_usage)));
}

static void summary_of_an_active_goal(void **state)
{
    CLEANUP(buf_release) struct buf b = BUF_INIT(10000);
    struct store_goal g = {
        .objective = STR("all tests pass"),
        .phase = STR("waiting"),
        .phase_detail = STR("{\"what\":\"pid 4242\"}"),
        .token_budget = 50000,
        .tokens_used = 12500,
        .cost_usd = 0.42,
        .max_cost_usd = 2,
        .steps = 7,
        .max_turns = 500,
        .iterations = 2,
        .time_used_seconds = 130,
        .last_reason = STR("test_a fails\nand more"),
        .checks = STR("[\"make test\",{\"command\":\"make lint\"}]"),
        .deadline_ms = INT64_C(1763208000000),
    };
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    struct goal_look l = {.goal = &g, .protected_names = &names, .protected_count = 14};

    (void)state;
    strv_adds(&names, "Makefile");
    strv_adds(&names, "tests/a_test.c");
    goal_show_summary(&l, STR("all tests pass\nand the docs build"),
                      STR("[{\"text\":\"tests pass\",\"state\":\"unmet\"},"
                          "{\"text\":\"docs\\u001b[2J build\",\"state\":\"met\"},"
                          "{\"text\":\"else\",\"state\":\"odd\"}]"),
                      &b);
    assert_string_equal(buf_cstr(&b),
                        "Goal:        active, waiting: pid 4242\n"
                        "Objective:   all tests pass\n"
                        "             and the docs build\n"
                        "Turns:       2\n"
                        "Last check:  test_a fails\n"
                        "Criteria:\n"
                        "  unmet    tests pass\n"
                        "  met      docs [2J build\n"
                        "  unknown  else\n"
                        "Checks:      1. make test\n"
                        "             2. make lint\n"
                        "Protected:   Makefile, tests/a_test.c and 12 more\n"
                        "Time:        2m, until 2025-11-15T12:00Z at the latest\n"
                        "Tokens:      12.5K of 50K, 37.5K left\n"
                        "Cost:        $0.42 of $2.00\n"
                        "Steps:       7 of 500\n"
                        "Commands:    /goal edit · /goal pause · /goal clear (stops early) · "
                        "/goal log\n");
}

static void summary_is_bounded(void **state)
{
    CLEANUP(buf_release) struct buf b = BUF_INIT(100000);
    CLEANUP(buf_release) struct buf objective = BUF_INIT(100000);
    CLEANUP(buf_release) struct buf criteria = BUF_INIT(100000);
    struct store_goal g = {.cost_unknown = true};
    struct goal_look l = {.goal = &g, .plan_mode = true};

    (void)state;
    for (int i = 0; i < 4000; i++)
        buf_adds(&objective, "caf\xc3\xa9 ");
    for (int i = 0; i < 60; i++)
        buf_adds(&criteria, i ? ",{\"text\":\"x\",\"state\":\"met\"}" : "[{}");
    buf_addc(&criteria, ']');
    goal_show_summary(&l, buf_str(&objective), buf_str(&criteria), &b);
    assert_true(b.len < 4000);
    assert_true(str_has(buf_str(&b), STR("not yet evaluated")));
    assert_true(str_has(buf_str(&b), STR("held until plan mode is left")));
    assert_true(str_has(buf_str(&b), STR("… and 10 more")));
    assert_true(str_has(buf_str(&b), STR("without a known price")));
    assert_false(str_has(buf_str(&b), STR("Last check")));
}

static const struct {
    struct store_goal goal;
    const char *has[3];
} stops[] = {
    {{.status = GOAL_PAUSED}, {"Paused", "/goal resume"}},
    {{.status = GOAL_BLOCKED, .last_reason = STR_INIT("no network\nx")},
     {"Blocked: no network\n", "/goal resume", "/goal edit"}},
    {{.status = GOAL_BLOCKED}, {"Blocked\n", "/goal resume"}},
    {{.status = GOAL_USAGE_LIMITED}, {"quota", "/goal resume", "--auto-resume"}},
    {{.status = GOAL_BUDGET_LIMITED, .token_budget = 5, .tokens_used = 6},
     {"the token budget is reached (6 / 5 tokens)", "/goal budget +100k", "/goal budget none"}},
    {{.status = GOAL_BUDGET_LIMITED, .max_cost_usd = 1, .cost_usd = 1},
     {"the cost limit is reached ($1.00 / $1.00)", "/goal budget +$5"}},
    {{.status = GOAL_BUDGET_LIMITED, .max_turns = 5, .steps = 5},
     {"the step limit is reached (5 / 5 steps)", "/goal budget steps +200"}},
    {{.status = GOAL_BUDGET_LIMITED, .deadline_ms = 5, .updated_at_ms = 5},
     {"the deadline is reached", "/goal budget deadline 2h"}},
    {{.status = GOAL_COMPLETE, .iterations = 2, .time_used_seconds = 720, .tokens_used = 12500},
     {"Achieved after 3 turns, 12m and 12.5K tokens.", "/goal <condition> sets another"}},
    {{.status = GOAL_COMPLETE}, {"Achieved after 1 turn, 0s and 0 tokens."}},
};

/* Every command a stop names can be typed as it stands there. */
static void check_commands(struct str text)
{
    struct str rest = text;

    for (;;) {
        CLEANUP(goal_argument_release) struct goal_argument a = GOAL_ARGUMENT_INIT;
        struct str command;
        size_t at = str_find(rest, STR("/goal budget "));

        if (at == rest.len)
            return;
        rest = str_from(rest, at + strlen("/goal "));
        command = str_first(rest, str_chr(rest, ';'));
        if (str_has(command, STR(" gives")))
            command = str_first(command, str_find(command, STR(" gives")));
        if (str_has(command, STR(" sets")))
            command = str_first(command, str_find(command, STR(" sets")));
        if (str_has(command, STR(" lifts")))
            command = str_first(command, str_find(command, STR(" lifts")));
        assert_int_equal(goal_argument_read(command, 1000, &a, NULL), 0);
        if (a.verb != GOAL_BUDGET)
            fail_msg("'%.*s' is no budget", STR_ARG(command));
    }
}

static void every_stop_says_how_to_go_on(void **state)
{
    struct store_goal active = {0};
    CLEANUP(buf_release) struct buf nothing = BUF_INIT(100);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(stops); i++) {
        CLEANUP(buf_release) struct buf b = BUF_INIT(1000);

        goal_show_stop(&stops[i].goal, &b);
        for (size_t k = 0; k < 3 && stops[i].has[k]; k++) {
            if (!strstr(buf_cstr(&b), stops[i].has[k]))
                fail_msg("row %zu: '%s' lacks '%s'", i, buf_cstr(&b), stops[i].has[k]);
        }
        check_commands(buf_str(&b));
    }
    goal_show_stop(&active, &nothing);
    assert_int_equal(nothing.len, 0);
}

static const struct {
    enum goal_status from, edited;
    bool confirms;
    const char *shown;
} statuses[] = {
    {GOAL_ACTIVE, GOAL_ACTIVE, true, "active"},
    {GOAL_PAUSED, GOAL_PAUSED, true, "paused"},
    {GOAL_BLOCKED, GOAL_BLOCKED, true, "blocked"},
    {GOAL_USAGE_LIMITED, GOAL_USAGE_LIMITED, true, "usage limited"},
    {GOAL_BUDGET_LIMITED, GOAL_ACTIVE, true, "budget limited"},
    {GOAL_COMPLETE, GOAL_ACTIVE, false, "complete"},
};

static void edits_and_replacements(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        struct store_goal g = {.status = statuses[i].from};

        assert_int_equal(goal_edited_status(g.status), statuses[i].edited);
        assert_int_equal(goal_confirms_replace(&g), statuses[i].confirms);
        assert_string_equal(goal_show_status(g.status), statuses[i].shown);
    }
    assert_false(goal_confirms_replace(NULL));
}

#define EVENT(time, of_kind, json)                                                                 \
    {                                                                                              \
        .time_ms = (time), .kind = STR_INIT(of_kind), .data = STR_INIT(json)                       \
    }

static void log_lines(void **state)
{
    struct goal_event list[] = {
        EVENT(1000, "set",
              "{\"via\":\"user\",\"referee\":\"judge\",\"checks\":[{}],\"protected\":14,"
              "\"weak\":[\"make\"]}"),
        EVENT(2000, "charge", "{\"who\":\"main\",\"tokens\":5}"),
        EVENT(62000, "verdict",
              "{\"met\":false,\"by\":\"check\",\"claim\":true,\"reason\":\"make test\\nexits 1\"}"),
        EVENT(63000, "verdict", "{\"met\":false,\"by\":\"judge\",\"error\":\"timed out\"}"),
        EVENT(63000, "verdict", "{\"met\":false,\"impossible\":true,\"stale\":true}"),
        EVENT(64000, "stall", "{\"count\":3,\"action\":\"strategy\"}"),
        EVENT(64000, "blocker", "{\"count\":2,\"reason\":\"no key\"}"),
        EVENT(65000, "wait", "{\"on\":\"process\",\"what\":\"pid 4242\"}"),
        EVENT(125000, "wake", "{\"why\":\"it ended\",\"waited_ms\":60000}"),
        EVENT(126000, "retry", "{\"error\":\"overloaded\",\"delay_ms\":1500,\"attempt\":2}"),
        EVENT(127000, "warning", "{\"which\":\"token budget\"}"),
        EVENT(127000, "unheard of", "{}"),
        EVENT(128000, "checks", "[\"a\",\"b\"]"),
        EVENT(128000, "checks", "{\"checks\":[\"a\"]}"),
        EVENT(128000, "limits", "{\"limit\":\"token budget\"}"),
        EVENT(128000, "edited", "{\"objective_chars\":5}"),
        EVENT(129000, "accept", "{\"paths\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\"]}"),
        EVENT(130000, "status",
              "{\"from\":\"active\",\"to\":\"paused\",\"by\":\"user\",\"why\":\"\\u001b[2J\"}"),
        EVENT(131000, "restored", "{\"from\":\"transcript\"}"),
        EVENT(132000, "undo", "{\"ref\":\"refs/tenax/s/undo-1\"}"),
        EVENT(133000, "verdict", "{\"met\":true,\"by\":\"judge\",\"reason\":\"all hold\"}"),
        EVENT(134000, "cleared", "no json"),
    };
    goal_event_vec events = {.ptr = list, .len = ARRAY_LEN(list)};
    goal_event_vec none = VEC_INIT;
    CLEANUP(buf_release) struct buf b = BUF_INIT(10000);
    CLEANUP(buf_release) struct buf empty = BUF_INIT(1000);

    (void)state;
    goal_show_log(&events, events.ptr[0].time_ms, &b);
    assert_string_equal(
        buf_cstr(&b),
        "        0s  set by user, referee: judge, 1 check, 14 protected files, 1 weak check\n"
        "        1m  not met, although claimed (check): make test\n"
        "        1m  no verdict (judge): timed out\n"
        "        1m  too late, dropped: cannot be met\n"
        "        1m  no change in 3 turns: strategy\n"
        "        1m  a blocker, 2 of 3: no key\n"
        "        1m  waits for pid 4242\n"
        "        2m  wakes after 1m: it ended\n"
        "        2m  tries again in 2s: overloaded\n"
        "        2m  80 % used: token budget\n"
        "        2m  checks were changed: 2 now\n"
        "        2m  checks were changed: 1 now\n"
        "        2m  limits were changed: token budget\n"
        "        2m  the objective was changed\n"
        "        2m  changes were accepted, 6 files: a b c d e …\n"
        "        2m  active → paused, by user:  [2J\n"
        "        2m  restored from transcript\n"
        "        2m  the workspace was set back; as it was before: refs/tenax/s/undo-1\n"
        "        2m  met (judge): all hold\n"
        "        2m  cleared\n");
    goal_show_log(&none, 0, &empty);
    assert_string_equal(buf_cstr(&empty), "Nothing has happened yet.\n");
}

UNIT_TEST(display)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elapsed_times),
        cmocka_unit_test(token_figures),
        cmocka_unit_test(money),
        cmocka_unit_test(one_line),
        cmocka_unit_test(status_line),
        cmocka_unit_test(summary_of_nothing),
        cmocka_unit_test(summary_of_an_active_goal),
        cmocka_unit_test(summary_is_bounded),
        cmocka_unit_test(every_stop_says_how_to_go_on),
        cmocka_unit_test(edits_and_replacements),
        cmocka_unit_test(log_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
