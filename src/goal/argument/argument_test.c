/*
 * Text after /goal: every command, text that only looks like one, options, figures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "goal/argument/argument.h"
#include "unit.h"

#define NOW INT64_C(1763208000000) /* 2025-11-15T12:00:00Z */
#define HOUR INT64_C(3600000)

static const char *const verb_names[] = {
    [GOAL_SHOW] = "show",       [GOAL_SET] = "set",       [GOAL_CLEAR] = "clear",
    [GOAL_EDIT] = "edit",       [GOAL_PAUSE] = "pause",   [GOAL_RESUME] = "resume",
    [GOAL_BUDGET] = "budget",   [GOAL_CHECK] = "check",   [GOAL_CHECK_RM] = "check rm",
    [GOAL_PROTECT] = "protect", [GOAL_WAIT] = "wait",     [GOAL_NEXT] = "next",
    [GOAL_QUEUE] = "queue",     [GOAL_ACCEPT] = "accept", [GOAL_LOG] = "log",
    [GOAL_REPORT] = "report",   [GOAL_UNDO] = "undo",
};

/* text NULL: the words are wrong, and the error has `said` in it. */
static const struct {
    const char *typed;
    enum goal_verb verb;
    const char *text;
    const char *said; /* of an error; else the options as JSON, NULL: none */
} words[] = {
    {"", GOAL_SHOW, "", NULL},
    {"undo YES", GOAL_UNDO, "yes", NULL},
    {"report 1f2e3d4c", GOAL_REPORT, "1f2e3d4c", NULL},
    {"report 1f2e3d4c-0000-4000-8000-000000000000", GOAL_REPORT,
     "1f2e3d4c-0000-4000-8000-000000000000", NULL},
    {"report dead links", GOAL_SET, "report dead links", NULL},
    {"report 404", GOAL_SET, "report 404", NULL},
    {"undo yesterday's changes", GOAL_SET, "undo yesterday's changes", NULL},
    {"  \t\n ", GOAL_SHOW, "", NULL},
    {"status", GOAL_SHOW, "", NULL},
    {"status is 200 for every page", GOAL_SET, "status is 200 for every page", NULL},

    {"clear", GOAL_CLEAR, "", NULL},
    {"stop", GOAL_CLEAR, "", NULL},
    {"off", GOAL_CLEAR, "", NULL},
    {"reset", GOAL_CLEAR, "", NULL},
    {"none", GOAL_CLEAR, "", NULL},
    {"cancel", GOAL_CLEAR, "", NULL},
    {"  StOp  ", GOAL_CLEAR, "", NULL},
    {"CANCEL\n", GOAL_CLEAR, "", NULL},
    {"stop the server when tests pass", GOAL_SET, "stop the server when tests pass", NULL},
    {"clear the cache", GOAL_SET, "clear the cache", NULL},
    {"none of the tests fail", GOAL_SET, "none of the tests fail", NULL},
    {"stopped", GOAL_SET, "stopped", NULL},
    {"stop.", GOAL_SET, "stop.", NULL},
    {"-- stop", GOAL_SET, "stop", NULL},
    {"--\tclear", GOAL_SET, "clear", NULL},

    {"pause", GOAL_PAUSE, "", NULL},
    {"RESUME", GOAL_RESUME, "", NULL},
    {"pause the build when it is red", GOAL_SET, "pause the build when it is red", NULL},
    {"resume upload works", GOAL_SET, "resume upload works", NULL},
    {"log", GOAL_LOG, "", NULL},
    {"Report", GOAL_REPORT, "", NULL},
    {"undo", GOAL_UNDO, "", NULL},
    {"undo works in the editor", GOAL_SET, "undo works in the editor", NULL},
    {"log rotation works", GOAL_SET, "log rotation works", NULL},

    {"edit", GOAL_EDIT, "", NULL},
    {"edit -- all links work", GOAL_EDIT, "all links work", NULL},
    {"edit the readme", GOAL_SET, "edit the readme", NULL},
    {"edit --", GOAL_EDIT, NULL, "new objective is empty"},

    {"check make test", GOAL_CHECK, "make test", NULL},
    {"Check make test", GOAL_CHECK, "make test", NULL},
    {"check ./run --all 'a b'", GOAL_CHECK, "./run --all 'a b'", NULL},
    {"check 'make test'", GOAL_CHECK, "make test", NULL},
    {"check \"make test\" && true", GOAL_CHECK, "\"make test\" && true", NULL},
    {"check if grep -q x y; then true; else false; fi", GOAL_CHECK,
     "if grep -q x y; then true; else false; fi", NULL},
    {"check for f in *; do sh -n $f; done", GOAL_CHECK, "for f in *; do sh -n $f; done", NULL},
    {"check that all links work", GOAL_SET, "check that all links work", NULL},
    {"check whether it builds", GOAL_SET, "check whether it builds", NULL},
    {"check if we do it right", GOAL_SET, "check if we do it right", NULL},
    {"check for dead links", GOAL_SET, "check for dead links", NULL},
    {"check all links; fix them", GOAL_SET, "check all links; fix them", NULL},
    {"check The docs", GOAL_SET, "check The docs", NULL},
    {"checks pass", GOAL_SET, "checks pass", NULL},
    {"check", GOAL_CHECK, NULL, "check needs a command"},
    {"check rm 2", GOAL_CHECK_RM, "", NULL},
    {"check rm 0", GOAL_CHECK_RM, NULL, "count from 1"},
    {"check rm 99999999999999999999", GOAL_CHECK_RM, NULL, "out of range"},
    {"check rm -f x", GOAL_CHECK, "rm -f x", NULL},

    {"protect tests/**", GOAL_PROTECT, "tests/**", NULL},
    {"protect Makefile", GOAL_PROTECT, "Makefile", NULL},
    {"protect 'my tests/*.c'", GOAL_PROTECT, "my tests/*.c", NULL},
    {"protect none", GOAL_PROTECT, "none", "{\"protect_none\":true}"},
    {"protect the users' data", GOAL_SET, "protect the users' data", NULL},
    {"protect tests/** docs/**", GOAL_PROTECT, NULL, "one glob at a time"},
    {"protect", GOAL_PROTECT, NULL, "protect needs a glob"},

    {"wait 4242", GOAL_WAIT, "4242", NULL},
    {"wait pid 4242", GOAL_WAIT, "pid 4242", NULL},
    {"wait 90s", GOAL_WAIT, "90s", NULL},
    {"wait 2 hours", GOAL_WAIT, "2h", NULL},
    {"wait 30 Minutes", GOAL_WAIT, "30m", NULL},
    {"wait build/done.flag", GOAL_WAIT, "build/done.flag", NULL},
    {"wait test -f done", GOAL_WAIT, "test -f done", NULL},
    {"wait until test -f done; do sleep 1; done", GOAL_WAIT, "until test -f done; do sleep 1; done",
     NULL},
    {"wait here", GOAL_SET, "wait here", NULL},
    {"wait for CI", GOAL_SET, "wait for CI", NULL},
    {"wait until the tests pass", GOAL_SET, "wait until the tests pass", NULL},
    {"wait 2 days before the release", GOAL_SET, "wait 2 days before the release", NULL},
    {"wait", GOAL_WAIT, NULL, "wait needs"},
    {"waiting is over", GOAL_SET, "waiting is over", NULL},

    {"next the docs are complete", GOAL_NEXT, "the docs are complete", NULL},
    {"next --check 'make docs' docs build --budget 10k", GOAL_NEXT, "docs build",
     "{\"checks\":[\"make docs\"],\"token_budget\":10000}"},
    {"next -- --check works", GOAL_NEXT, "--check works", NULL},
    {"next", GOAL_NEXT, NULL, "next needs a condition"},
    {"next --budget 5", GOAL_NEXT, NULL, "condition is empty"},
    {"queue", GOAL_QUEUE, "", NULL},
    {"queue 3 1", GOAL_QUEUE, "", NULL},
    {"queue move 3 1", GOAL_QUEUE, "", NULL},
    {"queue rm 2", GOAL_QUEUE, "", NULL},
    {"queue 3", GOAL_QUEUE, NULL, "where to"},
    {"queue 0 1", GOAL_QUEUE, NULL, "count from 1"},
    {"queue depth stays below 10", GOAL_SET, "queue depth stays below 10", NULL},
    {"queue 3 items at once", GOAL_SET, "queue 3 items at once", NULL},
    {"accept", GOAL_ACCEPT, "", NULL},
    {"accept all", GOAL_ACCEPT, "all", NULL},
    {"accept 'tests/a b.c'", GOAL_ACCEPT, "tests/a b.c", NULL},
    {"accept header is honoured", GOAL_SET, "accept header is honoured", NULL},

    {"budget the work", GOAL_SET, "budget the work", NULL},
    {"budget cost overrun is shown", GOAL_SET, "budget cost overrun is shown", NULL},
    {"budget 5 people", GOAL_SET, "budget 5 people", NULL},
    {"budget", GOAL_BUDGET, NULL, "budget needs a number"},
    {"budget abc", GOAL_BUDGET, NULL, "'abc' is not a number of tokens"},
    {"budget 0", GOAL_BUDGET, NULL, "more than 0"},
    {"budget -1", GOAL_BUDGET, NULL, "less than nothing"},
    {"budget 1e30", GOAL_BUDGET, NULL, "not a number of tokens"},
    {"budget 1000000000000000000000000000000", GOAL_BUDGET, NULL, "more than can be counted"},
    {"budget +", GOAL_BUDGET, NULL, "not a number of tokens"},
    {"budget $0", GOAL_BUDGET, NULL, "more than 0"},
    {"budget turns 0", GOAL_BUDGET, NULL, "1 or more"},
    {"budget deadline 2020-01-01T00:00:00Z", GOAL_BUDGET, NULL, "in the past"},

    {"all tests pass", GOAL_SET, "all tests pass", NULL},
    {"  all tests\n  pass  ", GOAL_SET, "all tests\n  pass", NULL},
    {"<b>bold</b> & \"quoted\" don't `--check`", GOAL_SET,
     "<b>bold</b> & \"quoted\" don't `--check`", NULL},
    {"\"all tests pass\"", GOAL_SET, "\"all tests pass\"", NULL},
    {"caf\xc3\xa9 works", GOAL_SET, "caf\xc3\xa9 works", NULL},
    {"--check 'make test' all tests pass", GOAL_SET, "all tests pass",
     "{\"checks\":[\"make test\"]}"},
    {"all tests pass --check 'make test'", GOAL_SET, "all tests pass",
     "{\"checks\":[\"make test\"]}"},
    {"--check=\"make \\\"a b\\\"\" it works", GOAL_SET, "it works",
     "{\"checks\":[\"make \\\"a b\\\"\"]}"},
    {"--check 'a \\ b' x", GOAL_SET, "x", "{\"checks\":[\"a \\\\ b\"]}"},
    {"--check a\\ b x", GOAL_SET, "x", "{\"checks\":[\"a b\"]}"},
    {"--check a --check b --protect 't/**' --protect none it --budget 1.5m --max-turns 20 "
     "--max-cost $2.50 --deadline 2h --referee self --on-deny skip --auto-resume",
     GOAL_SET, "it",
     "{\"checks\":[\"a\",\"b\"],\"protect\":[\"t/**\"],\"protect_none\":true,"
     "\"token_budget\":1500000,\"max_turns\":20,\"max_cost_usd\":2.5,"
     "\"deadline_ms\":1763215200000,\"lasts_ms\":7200000,\"referee\":\"self\",\"on_deny\":\"skip\","
     "\"auto_resume\":true}"},
    {"--auto-resume tests pass", GOAL_SET, "tests pass", "{\"auto_resume\":true}"},
    {"--budget 5k -- --check is documented", GOAL_SET, "--check is documented",
     "{\"token_budget\":5000}"},
    {"git log --oneline shows three lines", GOAL_SET, "git log --oneline shows three lines", NULL},
    {"tests pass -- really", GOAL_SET, "tests pass -- really", NULL},
    {"-x is refused", GOAL_SET, "-x is refused", NULL},
    {"resume --budget 5k", GOAL_SET, NULL, "resume takes no options"},
    {"--budget 5k Stop", GOAL_SET, NULL, "Stop takes no options"},
    {"--budget 5k -- stop", GOAL_SET, "stop", "{\"token_budget\":5000}"},
    {"make --check work everywhere", GOAL_SET, NULL, "begin with --"},
    {"tests pass --budget 500k please", GOAL_SET, NULL, "'please' is neither"},
    {"tests pass --chekc 'make test'", GOAL_SET, NULL, "did you mean --check?"},
    {"--chekc 'make test' tests pass", GOAL_SET, NULL, "did you mean --check?"},
    {"--maxturns 5 tests pass", GOAL_SET, NULL, "did you mean --max-turns?"},
    {"--frobnicate tests pass", GOAL_SET, NULL, "there is no option --frobnicate"},
    {"--check", GOAL_SET, NULL, "--check needs a value"},
    {"--check --budget 5 x", GOAL_SET, NULL, "--check needs a value"},
    {"--check '' x", GOAL_SET, NULL, "command is empty"},
    {"--check 'make test x", GOAL_SET, NULL, "not closed"},
    {"--check 'make test'", GOAL_SET, NULL, "condition is empty"},
    {"--", GOAL_SET, NULL, "condition is empty"},
    {"--budget abc x", GOAL_SET, NULL, "--budget: 'abc'"},
    {"--budget 0 x", GOAL_SET, NULL, "more than 0"},
    {"--max-turns 0 x", GOAL_SET, NULL, "1 or more"},
    {"--max-turns -3 x", GOAL_SET, NULL, "1 or more"},
    {"--max-cost free x", GOAL_SET, NULL, "not an amount of money"},
    {"--deadline 2020-01-01T00:00:00Z x", GOAL_SET, NULL, "in the past"},
    {"--deadline soon x", GOAL_SET, NULL, "not a duration"},
    {"--referee nobody x", GOAL_SET, NULL, "none of judge, self, checks"},
    {"--on-deny cry x", GOAL_SET, NULL, "neither block nor skip"},
    {"--auto-resume=yes x", GOAL_SET, NULL, "takes no value"},
    {"caf\xc3 works", GOAL_SET, NULL, "not valid UTF-8 (byte 3)"},
};

static void reading(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        CLEANUP(goal_argument_release) struct goal_argument a = GOAL_ARGUMENT_INIT;
        CLEANUP(buf_release) struct buf options = BUF_INIT(4096);
        struct err err = {0};
        int r = goal_argument_read(str_of(words[i].typed), NOW, &a, &err);

        if (!words[i].text) {
            if (r == 0 || !strstr(err.text, words[i].said))
                fail_msg("'%s': %s, '%s' instead of an error with '%s'", words[i].typed,
                         verb_names[a.verb], err.text, words[i].said);
            continue;
        }
        if (r < 0)
            fail_msg("'%s': %s", words[i].typed, err.text);
        goal_options_write(&a.options, &options);
        if (a.verb != words[i].verb || strcmp(buf_cstr(&a.text), words[i].text) != 0 ||
            strcmp(buf_cstr(&options), words[i].said ? words[i].said : "{}") != 0)
            fail_msg("'%s': %s '%s' %s", words[i].typed, verb_names[a.verb], buf_cstr(&a.text),
                     buf_cstr(&options));
    }
}

static const struct {
    const char *typed;
    enum goal_limit limit;
    enum goal_change what;
    int64_t value;
    double usd;
} budgets[] = {
    {"budget 500k", LIMIT_TOKENS, CHANGE_SET, 500000, 0},
    {"BUDGET 500K", LIMIT_TOKENS, CHANGE_SET, 500000, 0},
    {"budget +1.5m", LIMIT_TOKENS, CHANGE_ADD, 1500000, 0},
    {"budget none", LIMIT_TOKENS, CHANGE_CLEAR, 0, 0},
    {"budget tokens 7", LIMIT_TOKENS, CHANGE_SET, 7, 0},
    {"budget $2.50", LIMIT_COST, CHANGE_SET, 0, 2.5},
    {"budget +$2", LIMIT_COST, CHANGE_ADD, 0, 2},
    {"budget cost 3", LIMIT_COST, CHANGE_SET, 0, 3},
    {"budget cost none", LIMIT_COST, CHANGE_CLEAR, 0, 0},
    {"budget turns 700", LIMIT_TURNS, CHANGE_SET, 700, 0},
    {"budget turns +200", LIMIT_TURNS, CHANGE_ADD, 200, 0},
    {"budget steps none", LIMIT_TURNS, CHANGE_CLEAR, 0, 0},
    {"budget deadline 2h", LIMIT_DEADLINE, CHANGE_SET, NOW + 2 * HOUR, 0},
    {"budget deadline +30m", LIMIT_DEADLINE, CHANGE_ADD, HOUR / 2, 0},
    {"budget deadline none", LIMIT_DEADLINE, CHANGE_CLEAR, 0, 0},
};

static void limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(budgets); i++) {
        CLEANUP(goal_argument_release) struct goal_argument a = GOAL_ARGUMENT_INIT;
        struct err err = {0};

        if (goal_argument_read(str_of(budgets[i].typed), NOW, &a, &err) < 0)
            fail_msg("'%s': %s", budgets[i].typed, err.text);
        if (a.verb != GOAL_BUDGET || a.limit != budgets[i].limit ||
            a.budget.what != budgets[i].what || a.budget.value != budgets[i].value ||
            a.usd != budgets[i].usd)
            fail_msg("'%s': %s, limit %d, change %d by %lld or $%g", budgets[i].typed,
                     verb_names[a.verb], a.limit, a.budget.what, (long long)a.budget.value, a.usd);
    }
}

static const struct {
    const char *typed;
    size_t number, number2;
} places[] = {
    {"queue", 0, 0},          {"queue 3 1", 3, 1},  {"queue 3 0", 3, 0},
    {"queue move 4 2", 4, 2}, {"queue rm 2", 2, 0}, {"check rm 5", 5, 0},
};

static void numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        CLEANUP(goal_argument_release) struct goal_argument a = GOAL_ARGUMENT_INIT;

        assert_int_equal(goal_argument_read(str_of(places[i].typed), NOW, &a, NULL), 0);
        if (a.number != places[i].number || a.number2 != places[i].number2)
            fail_msg("'%s': %zu %zu", places[i].typed, a.number, a.number2);
    }
}

/* value 0: refused. */
static const struct {
    const char *text;
    int64_t value;
} tokens[] = {
    {"1", 1},
    {"20000", 20000},
    {"500k", 500000},
    {"500K", 500000},
    {"1.5m", 1500000},
    {"0.5k", 500},
    {".5k", 500},
    {"1.000k", 1000},
    {"1.0000k", 1000},
    {"1.0", 1},
    {"2b", INT64_C(2000000000)},
    {" 7 ", 7},
    {"9007199254740992", INT64_C(9007199254740992)},
    {"9007199254740993", 0},
    {"9007199254740.9921k", 0},
    {"10000000000m", 0},
    {"99999999999999999999999999999999999999999999k", 0},
    {"1.0001k", 0},
    {"1.5", 0},
    {"0", 0},
    {"0.0k", 0},
    {"-1", 0},
    {"-5k", 0},
    {"+5", 0},
    {"1e30", 0},
    {"abc", 0},
    {"k", 0},
    {"", 0},
    {".", 0},
    {"1.2.3", 0},
    {"5 k", 0},
    {"5kk", 0},
    {"0x10", 0},
};

static void token_figures(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
        struct err err = {0};
        int64_t value = 0;
        int r = goal_read_tokens(str_of(tokens[i].text), &value, &err);

        if (value != tokens[i].value || (r == 0) != (tokens[i].value != 0) ||
            (r < 0 && err.code != ERR_BAD_INPUT))
            fail_msg("'%s': %d, %lld, '%s'", tokens[i].text, r, (long long)value, err.text);
    }
}

static const struct {
    const char *text;
    double value;
} sums[] = {
    {"2.50", 2.5}, {"$2.50", 2.5}, {"$.5", 0.5},      {"3", 3},   {"1000000000", 1e9}, {"0", 0},
    {"$0.00", 0},  {"-1", 0},      {"1e5", 0},        {"inf", 0}, {"nan", 0},          {"", 0},
    {"$", 0},      {"1e400", 0},   {"1000000001", 0}, {"$-2", 0}, {"2,50", 0},
};

static void money(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sums); i++) {
        double value = 0;
        int r = goal_read_usd(str_of(sums[i].text), &value, NULL);

        if (value != sums[i].value || (r == 0) != (sums[i].value > 0))
            fail_msg("'%s': %d, %g", sums[i].text, r, value);
    }
}

/* ms from NOW on; 0: refused. */
static const struct {
    const char *text;
    int64_t ms;
} deadlines[] = {
    {"90s", 90000},
    {"30m", HOUR / 2},
    {"2h", 2 * HOUR},
    {"2H", 2 * HOUR},
    {"1h30m", HOUR * 3 / 2},
    {"1h 30m", HOUR * 3 / 2},
    {"1d", 24 * HOUR},
    {"1d2h3m4s", 26 * HOUR + 184000},
    {"366d", GOAL_MAX_AHEAD_MS},
    {"367d", 0},
    {"99999999999999999999d", 0},
    {"9999999999s", 0},
    {"30m1h", 0},
    {"1h1h", 0},
    {"0s", 0},
    {"2", 0},
    {"h", 0},
    {"", 0},
    {"-2h", 0},
    {"2h!", 0},
    {"2025-11-15T14:00:00Z", 2 * HOUR},
    {"2025-11-15T14:00Z", 2 * HOUR},
    {"2025-11-15T14:00:00.999Z", 2 * HOUR},
    {"2025-11-15T14:00:00+01:00", HOUR},
    {"2025-11-15T14:00:00+0100", HOUR},
    {"2025-11-15T09:00:00-05:00", 2 * HOUR},
    {"2025-11-15T12:00:00Z", 0},
    {"2025-11-15T11:59:59Z", 0},
    {"2026-11-17T00:00:00Z", 0},
    {"2026-02-31T00:00:00Z", 0},
    {"2026-13-01T00:00:00Z", 0},
    {"2026-01-01T25:00:00Z", 0},
    {"2026-01-01T00:00:00X", 0},
    {"2026-01-01", 0},
    {"25:00", 0},
    {"12:60", 0},
    {"1:00", 0},
    {"12:00:00:00", 0},
};

static void points_in_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(deadlines); i++) {
        struct err err = {0};
        int64_t at = NOW;
        int r = goal_read_deadline(str_of(deadlines[i].text), NOW, &at, &err);

        if (at != NOW + deadlines[i].ms || (r == 0) != (deadlines[i].ms != 0))
            fail_msg("'%s': %d, %lld ms ahead, '%s'", deadlines[i].text, r, (long long)(at - NOW),
                     err.text);
    }
}

/* Whatever the zone: a time of day is the next one, at most a day (and a changed clock) ahead. */
static void times_of_day(void **state)
{
    static const char *const times[] = {"00:00", "06:30", "12:00", "18:30", "23:59:59"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        int64_t at = 0;

        assert_int_equal(goal_read_deadline(str_of(times[i]), NOW, &at, NULL), 0);
        if (at <= NOW || at > NOW + 25 * HOUR)
            fail_msg("'%s': %lld ms ahead", times[i], (long long)(at - NOW));
    }
}

static void long_texts(void **state)
{
    static const struct {
        size_t chars;
        bool is_fine;
    } cases[] = {{4000, true}, {4001, true}, {300000, true}, {600000, false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(goal_argument_release) struct goal_argument a = GOAL_ARGUMENT_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        struct err err = {0};
        int r;

        for (size_t n = 0; n < cases[i].chars; n++)
            buf_adds(&text, "\xc3\xa9");
        r = goal_argument_read(buf_str(&text), NOW, &a, &err);
        if ((r == 0) != cases[i].is_fine || (r == 0 && a.text.len != text.len) ||
            (r < 0 && err.code != ERR_TOO_BIG))
            fail_msg("%zu characters: %d, %zu bytes, '%s'", cases[i].chars, r, a.text.len,
                     err.text);
    }
}

static void odd_bytes(void **state)
{
    CLEANUP(goal_argument_release) struct goal_argument a = GOAL_ARGUMENT_INIT;
    CLEANUP(buf_release) struct buf many = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};

    (void)state;
    assert_int_equal(goal_argument_read(STR("tests\0pass"), NOW, &a, &err), -1);
    assert_non_null(strstr(err.text, "NUL"));
    for (int i = 0; i < 33; i++)
        buf_adds(&many, "--check x ");
    buf_adds(&many, "it works");
    assert_int_equal(goal_argument_read(buf_str(&many), NOW, &a, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    /* A failure leaves the old values. */
    assert_int_equal(goal_argument_read(STR("--budget 5 first"), NOW, &a, NULL), 0);
    assert_int_equal(goal_argument_read(STR("--budget abc second"), NOW, &a, NULL), -1);
    assert_string_equal(buf_cstr(&a.text), "first");
    assert_int_equal(a.options.token_budget, 5);
    /* A success forgets it. */
    assert_int_equal(goal_argument_read(STR("third"), NOW, &a, NULL), 0);
    assert_int_equal(a.options.token_budget, 0);
}

/* said: what comes out again, or the error. */
static const struct {
    const char *json;
    bool is_fine;
    const char *said;
} stored[] = {
    {"{}", true, "{}"},
    {"{\"tokens_at_start\":5,\"other\":[{}]}", true, "{}"},
    {"{\"checks\":[\"make test\",\" b \"],\"protect\":[\"x\"]}", true,
     "{\"checks\":[\"make test\",\"b\"],\"protect\":[\"x\"]}"},
    {"{\"referee\":\"judge\",\"on_deny\":\"block\"}", true, "{\"referee\":\"judge\"}"},
    {"{\"token_budget\":null,\"max_turns\":0,\"max_cost_usd\":0,\"auto_resume\":false}", true,
     "{}"},
    {"{\"max_cost_usd\":0.1,\"deadline_ms\":5}", true, "{\"max_cost_usd\":0.1,\"deadline_ms\":5}"},
    {"", false, "the goal's options"},
    {"[]", false, "not an object"},
    {"{\"checks\":\"make\"}", false, "checks of the goal's options: not an array"},
    {"{\"checks\":[5]}", false, "not an array of strings"},
    {"{\"checks\":[\"a\\u0000b\"]}", false, "NUL"},
    {"{\"token_budget\":-1}", false, "token_budget of the goal's options"},
    {"{\"token_budget\":1e30}", false, "token_budget"},
    {"{\"max_turns\":1.5}", false, "max_turns"},
    {"{\"max_cost_usd\":-1}", false, "max_cost_usd"},
    {"{\"max_cost_usd\":\"1\"}", false, "max_cost_usd"},
    {"{\"referee\":\"me\"}", false, "referee"},
    {"{\"referee\":5}", false, "not a string"},
    {"{\"on_deny\":\"x\"}", false, "on_deny"},
    {"{\"auto_resume\":1}", false, "neither true nor false"},
};

static void options_as_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(stored); i++) {
        CLEANUP(goal_options_release) struct goal_options o = {0};
        CLEANUP(buf_release) struct buf again = BUF_INIT(4096);
        struct err err = {0};
        int r = goal_options_read(str_of(stored[i].json), &o, &err);

        goal_options_write(&o, &again);
        if ((r == 0) != stored[i].is_fine || (r == 0 ? strcmp(buf_cstr(&again), stored[i].said) != 0
                                                     : !strstr(err.text, stored[i].said)))
            fail_msg("%s: %d, %s, '%s'", stored[i].json, r, buf_cstr(&again), err.text);
    }
}

static const struct {
    const char *typed, *said;
} explained[] = {
    {"check make test", "Understood as a check: make test (as a condition: /goal -- check …)"},
    {"wait 4242", "Understood as something to wait for: 4242 (as a condition: /goal -- wait …)"},
    {"next a\nb", "Understood as a goal for later: a… (as a condition: /goal -- next …)"},
    {"protect x", "Understood as files to protect: x (as a condition: /goal -- protect …)"},
    {"accept x", "Understood as a changed file to accept: x (as a condition: /goal -- accept …)"},
    {"accept", ""},
    {"all tests pass", ""},
    {"clear", ""},
};

static void explaining(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(explained); i++) {
        CLEANUP(goal_argument_release) struct goal_argument a = GOAL_ARGUMENT_INIT;
        CLEANUP(buf_release) struct buf said = BUF_INIT(4096);

        assert_int_equal(goal_argument_read(str_of(explained[i].typed), NOW, &a, NULL), 0);
        goal_argument_explain(&a, &said);
        assert_string_equal(buf_cstr(&said), explained[i].said);
    }
}

UNIT_TEST(argument)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading),      cmocka_unit_test(limits),
        cmocka_unit_test(numbers),      cmocka_unit_test(token_figures),
        cmocka_unit_test(money),        cmocka_unit_test(points_in_time),
        cmocka_unit_test(times_of_day), cmocka_unit_test(long_texts),
        cmocka_unit_test(odd_bytes),    cmocka_unit_test(options_as_json),
        cmocka_unit_test(explaining),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
