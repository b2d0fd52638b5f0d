/*
 * Reports: what they must show, from which event; hostile text; very long and empty ledgers; and
 * the Markdown they are made of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "goal/report/markdown.h"
#include "goal/report/report.h"
#include "goal/report/tally.h"
#include "json/json.h"
#include "unit.h"

#define T0 INT64_C(1763208000000) /* 2025-11-15 12:00:00Z */
#define EVENT(seconds, of_kind, json)                                                              \
    {                                                                                              \
        .goal_id = STR_INIT("g1"), .time_ms = T0 + (seconds)*1000, .kind = STR_INIT(of_kind),      \
        .data = STR_INIT(json)                                                                     \
    }
#define CHECK(command, passed, code)                                                               \
    "{\"command\":\"" command "\",\"passed\":" passed ",\"exit_code\":" code                       \
    ",\"timed_out\":false,\"duration_ms\":1234,\"output_sha256\":"                                 \
    "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\","                        \
    "\"output_bytes\":42,\"tail\":\"x\"}"

static const struct goal_event story[] = {
    EVENT(0, "set",
          "{\"objective_chars\":14,\"via\":\"user\",\"referee\":\"judge\",\"checks\":[" CHECK(
              "make test", "false",
              "2") "," CHECK("make lint", "true",
                             "0") "],\"weak\":[\"make "
                                  "lint\"],\"protected\":3,\"baseline\":{\"commit\":\"c0\","
                                  "\"tree\":\"t0\"}}"),
    EVENT(1, "charge",
          "{\"who\":\"main\",\"tokens\":1000,\"output_tokens\":100,\"cost_usd\":0.25,"
          "\"seconds\":60,\"steps\":4}"),
    {.goal_id = STR_INIT("another"),
     .time_ms = T0,
     .kind = STR_INIT("charge"),
     .data = STR_INIT("{\"who\":\"main\",\"tokens\":777777}")},
    EVENT(60, "verdict",
          "{\"round\":1,\"by\":\"check\",\"met\":false,\"claim\":true,\"reason\":\"make test exits "
          "2\",\"checks\":[" CHECK("make test", "false", "2") "]}"),
    EVENT(70, "verdict", "{\"round\":1,\"by\":\"judge\",\"met\":true,\"stale\":true}"),
    EVENT(80, "verdict", "{\"round\":2,\"by\":\"judge\",\"met\":false,\"error\":\"timed out\"}"),
    EVENT(90, "verdict",
          "{\"round\":2,\"by\":\"protect\",\"met\":false,\"reason\":\"tests changed\","
          "\"changed\":[{\"path\":\"tests/a.c\",\"what\":\"changed\"}]}"),
    EVENT(95, "accept", "{\"paths\":[\"tests/a.c\"]}"),
    EVENT(100, "stall", "{\"count\":3,\"action\":\"strategy\"}"),
    EVENT(110, "wait", "{\"on\":\"process\",\"what\":\"pid 4242\",\"until_ms\":0}"),
    EVENT(170, "wake", "{\"why\":\"it ended\",\"waited_ms\":60000}"),
    EVENT(180, "retry", "{\"error\":\"overloaded\",\"delay_ms\":500,\"attempt\":1}"),
    EVENT(190, "warning", "{\"which\":\"token budget\",\"used\":8,\"limit\":10}"),
    EVENT(195, "charge",
          "{\"who\":\"judge\",\"tokens\":234,\"output_tokens\":5,"
          "\"cost_unknown\":true}"),
    EVENT(199, "unheard of", "{\"x\":1}"),
    EVENT(199, "verdict", "{broken"),
    EVENT(
        200, "verdict",
        "{\"round\":3,\"by\":\"judge\",\"met\":true,\"claim\":true,\"reason\":\"all tests "
        "pass\",\"model\":\"big-1\",\"steps\":2,\"checked_in\":\"overlay\",\"observed\":true,"
        "\"not_run\":[\"tests/b.sh\"],"
        "\"checks\":[" CHECK("make test", "true", "0") "," CHECK(
            "make lint", "true",
            "0") "],\"criteria\":[{\"text\":\"tests pass\",\"state\":\"met\"},{\"text\":\"lint is "
                 "clean\",\"state\":\"met\"}]}"),
    EVENT(200, "step", "{\"ref\":\"refs/tenax/s/step-1\",\"why\":\"all tests pass\"}"),
    EVENT(201, "status",
          "{\"from\":\"active\",\"to\":\"complete\",\"by\":\"engine\",\"why\":\"verified\"}"),
};

static const struct store_goal done = {
    .goal_id = STR_INIT("g1"),
    .objective = STR_INIT("all tests pass"),
    .status = GOAL_COMPLETE,
    .tokens_used = 1234,
    .output_tokens = 105,
    .token_budget = 50000,
    .steps = 4,
    .max_turns = 500,
    .time_used_seconds = 60,
    .cost_usd = 0.25,
    .cost_unknown = true,
    .iterations = 2,
    .created_at_ms = T0,
    .updated_at_ms = T0 + 201000,
};

static struct goal_report report_of(const struct store_goal *g, const goal_event_vec *events)
{
    return (struct goal_report){
        .goal = g,
        .objective = STR("all tests pass"),
        .events = events,
        .diff_stat = STR(" src/a.c | 4 ++--\n 1 file changed\n"),
        .session = STR("5e551011"),
        .dir = STR("/home/u/p"),
        .now_ms = T0 + 300000,
    };
}

static void check_has(struct str text, const char *const *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!str_has(text, str_of(wanted[i])))
            fail_msg("'%s' is not in: %.*s", wanted[i], STR_ARG(text));
    }
}

/* Every row of every table has as many cells as its head. */
static void check_tables(struct str text)
{
    struct str rest = text;
    struct str line;
    size_t wanted = 0;

    while (str_cut(&rest, '\n', &line)) {
        size_t pipes = 0;

        if (!str_starts(line, STR("|"))) {
            wanted = 0;
            continue;
        }
        for (size_t i = 0; i < line.len; i++)
            pipes += line.ptr[i] == '|' && (i == 0 || line.ptr[i - 1] != '\\');
        if (wanted && pipes != wanted)
            fail_msg("%zu pipes instead of %zu: %.*s", pipes, wanted, STR_ARG(line));
        wanted = pipes;
    }
}

static void markdown_of_a_story(void **state)
{
    static const char *const wanted[] = {
        "# Goal report: complete\n\n**Verdict: the goal is met.** all tests pass (decided by "
        "judge, big-1, 2025-11-15 12:03:20Z)\n",
        "## Objective\n\n> all tests pass\n",
        "| tests pass | met | judge | 2025-11-15 12:03:20Z |\n",
        "| `make test` | passed | 0 | 1.2 s | 2025-11-15 12:03:20Z | 3 (2 failed) | "
        "`0123456789abcdef` |\n",
        "| `make lint` | passed | 0 | 1.2 s | 2025-11-15 12:03:20Z | 2 (0 failed), passed before "
        "any work | ",
        "\nConfirmed in a clean room (an overlay).\n\nThey ran this when the goal was set, and not "
        "at "
        "the end: `tests/b.sh`.\n",
        "2 times the goal was found not to be met, 1 of them after the agent had claimed to be "
        "done.\n",
        "| 1 | 2025-11-15 12:01:00Z | check | yes | make test exits 2 |\n",
        "| 2 | 2025-11-15 12:01:30Z | protect | no | tests changed Protected: `tests/a.c` changed "
        "|\n",
        "```\n src/a.c | 4 ++--\n 1 file changed\n```\n",
        "the newest `refs/tenax/s/step-1`",
        "| Turns | 3 |\n",
        "| Steps | 4 of 500 |\n",
        "| Tokens | 1,234 of 50,000 (output: 105) |\n",
        "| Cost | $0.25 + unknown |\n",
        "| Time at work | 1m |\n",
        "| Time waited | 1m |\n",
        "| Set | 2025-11-15 12:00:00Z by user |\n",
        "| Referee | judge |\n",
        "| Verdicts that failed | 1 |\n",
        "| Verdicts that came too late | 1 |\n",
        "| Stalls | 1 |\n",
        "| Retries | 1 |\n",
        "| Session | `5e551011` |\n",
        "| main | 1,000 | 100 | $0.25 | 1m | 4 |\n",
        "| judge | 234 | 5 | $0 + unknown | 0s | 0 |\n",
        "| 2025-11-15 12:01:50Z | pid 4242 | 1m | it ended |\n",
        "- 2025-11-15 12:01:40Z: no change in 3 turns: strategy\n",
        "- 2025-11-15 12:03:21Z: active → complete, by engine: verified\n",
        "changes were accepted, 1 file: tests/a.c",
    };
    goal_event_vec events = {.ptr = (struct goal_event *)story, .len = ARRAY_LEN(story)};
    struct goal_report r = report_of(&done, &events);
    CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);

    (void)state;
    goal_report_markdown(&r, &b);
    check_has(buf_str(&b), wanted, ARRAY_LEN(wanted));
    check_tables(buf_str(&b));
    assert_false(str_has(buf_str(&b), STR("777")));
    assert_false(str_has(buf_str(&b), STR("How to go on")));
    assert_false(str_has(buf_str(&b), STR("add up to")));
}

/* Path of a member, and its text. */
static const struct {
    const char *path, *value;
} members[] = {
    {"type", "\"goal_report\""},
    {"version", "1"},
    {"goal_id", "\"g1\""},
    {"objective", "\"all tests pass\""},
    {"status", "\"complete\""},
    {"referee", "\"judge\""},
    {"via", "\"user\""},
    {"set_ms", "1763208000000"},
    {"verdict.met", "true"},
    {"verdict.by", "\"judge\""},
    {"verdict.model", "\"big-1\""},
    {"verdict.reason", "\"all tests pass\""},
    {"verdict.why", "\"verified\""},
    {"verdict.time_ms", "1763208200000"},
    {"criteria.1.text", "\"lint is clean\""},
    {"criteria.1.state", "\"met\""},
    {"criteria.1.by", "\"judge\""},
    {"confirmed.in", "\"overlay\""},
    {"confirmed.observed", "true"},
    {"confirmed.not_run.0", "\"tests/b.sh\""},
    {"checks.0.command", "\"make test\""},
    {"checks.0.passed", "true"},
    {"checks.0.exit_code", "0"},
    {"checks.0.duration_ms", "1234"},
    {"checks.0.output_sha256",
     "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\""},
    {"checks.0.runs", "3"},
    {"checks.0.failures", "2"},
    {"checks.0.passed_before_work", "false"},
    {"checks.1.passed_before_work", "true"},
    {"refused.0.by", "\"check\""},
    {"refused.0.claim", "true"},
    {"refused.0.reason", "\"make test exits 2\""},
    {"refused.1.changed.0.path", "\"tests/a.c\""},
    {"counts.verdicts", "5"},
    {"counts.refused", "2"},
    {"counts.claims_refused", "1"},
    {"counts.judge_errors", "1"},
    {"counts.stale", "1"},
    {"counts.retries", "1"},
    {"counts.waits", "1"},
    {"baseline.commit", "\"c0\""},
    {"refs.0", "\"refs/tenax/s/step-1\""},
    {"diff_stat", "\" src/a.c | 4 ++--\\n 1 file changed\\n\""},
    {"turns", "3"},
    {"steps", "4"},
    {"tokens.used", "1234"},
    {"tokens.charged", "1234"},
    {"tokens.charges_match", "true"},
    {"tokens.by.0.who", "\"main\""},
    {"tokens.by.1.tokens", "234"},
    {"cost.usd", "0.25"},
    {"cost.unknown", "true"},
    {"time.active_seconds", "60"},
    {"time.waited_ms", "60000"},
    {"limits.token_budget", "50000"},
    {"limits.deadline_ms", "null"},
    {"waits.0.what", "\"pid 4242\""},
    {"waits.0.over", "true"},
    {"course.0.kind", "\"accept\""},
    {"course.3.data.to", "\"complete\""},
};

static const struct json *parse(struct arena *arena, const struct buf *b)
{
    const struct json *v = NULL;
    struct err err = {0};

    if (json_parse(arena, buf_str(b), &v, NULL, &err) < 0)
        fail_msg("%s in: %s", err.text, buf_cstr(b));
    return v;
}

static void json_of_a_story(void **state)
{
    goal_event_vec events = {.ptr = (struct goal_event *)story, .len = ARRAY_LEN(story)};
    struct goal_report r = report_of(&done, &events);
    CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root;

    (void)state;
    goal_report_json(&r, &b);
    assert_int_equal(str_chr(buf_str(&b), '\n'), b.len);
    root = parse(&arena, &b);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        struct str raw = json_raw(json_path(root, members[i].path));

        if (!str_is(raw, members[i].value))
            fail_msg("%s is %.*s", members[i].path, STR_ARG(raw));
    }
    assert_null(json_get(root, "next"));
}

static void charges_that_differ(void **state)
{
    struct store_goal g = done;
    goal_event_vec events = {.ptr = (struct goal_event *)story, .len = ARRAY_LEN(story)};
    struct goal_report r = report_of(&g, &events);
    CLEANUP(buf_release) struct buf json = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root;

    (void)state;
    g.tokens_used = 2000;
    goal_report_json(&r, &json);
    goal_report_markdown(&r, &text);
    root = parse(&arena, &json);
    assert_int_equal(json_get_i64(json_get(root, "tokens"), "used", 0), 2000);
    assert_int_equal(json_get_i64(json_get(root, "tokens"), "charged", 0), 1234);
    assert_false(json_get_bool(json_get(root, "tokens"), "charges_match", true));
    assert_true(str_has(buf_str(&text), STR("add up to 1,234 tokens; the goal was charged 2,000")));
}

/* Not complete: the reason, why it stopped, and how to continue. */
static void stopped_goals(void **state)
{
    static const struct goal_event list[] = {
        EVENT(0, "verdict",
              "{\"by\":\"judge\",\"met\":false,\"impossible\":true,\"reason\":\"no "
              "network\"}"),
        EVENT(1, "wait", "{\"on\":\"file\"}"),
        EVENT(2, "status",
              "{\"from\":\"active\",\"to\":\"blocked\",\"why\":\"the judge says so\"}"),
    };
    goal_event_vec events = {.ptr = (struct goal_event *)list, .len = ARRAY_LEN(list)};

    (void)state;
    for (enum goal_status s = GOAL_ACTIVE; s < GOAL_COMPLETE; s++) {
        struct store_goal g = {.goal_id = STR("g1"), .status = s, .last_reason = STR("old")};
        struct goal_report r = report_of(&g, &events);
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
        CLEANUP(buf_release) struct buf json = BUF_INIT(1 << 20);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const char *const wanted[] = {
            "**Verdict: the goal is not met.** no network (decided by judge",
            "the judge says so",
            "## How to continue\n\n> ",
            "Cannot be met: no network",
            "| 2025-11-15 12:00:01Z | file | 4m | still waiting |",
        };

        goal_report_markdown(&r, &text);
        goal_report_json(&r, &json);
        check_has(buf_str(&text), wanted, ARRAY_LEN(wanted));
        check_tables(buf_str(&text));
        if (s != GOAL_ACTIVE)
            assert_true(json_get_str(parse(&arena, &json), "next").len > 0);
        assert_int_equal(json_get_i64(json_get(parse(&arena, &json), "time"), "waited_ms", 0),
                         299000);
    }
}

#define HOSTILE                                                                                    \
    "a|b `c` ``d`` **e** <script>alert(1)</script> [f](http://x) ![g](h) \\\\| \\n# heading\\n- "  \
    "item\\n1. one\\n```\\n---\\n| x |\\u001b[2J\\u0000&amp; $m$ ~~s~~"

static void hostile_text(void **state)
{
    static const struct goal_event list[] = {
        EVENT(0, "set",
              "{\"via\":\"" HOSTILE "\",\"referee\":\"" HOSTILE
              "\",\"checks\":[" CHECK(HOSTILE, "false", "1") "]}"),
        EVENT(1, "charge", "{\"who\":\"" HOSTILE "\",\"tokens\":1}"),
        EVENT(2, "verdict",
              "{\"by\":\"" HOSTILE "\",\"reason\":\"" HOSTILE "\",\"model\":\"" HOSTILE
              "\",\"changed\":[{\"path\":\"" HOSTILE "\",\"what\":\"" HOSTILE "\"}],"
              "\"criteria\":[{\"text\":\"" HOSTILE "\",\"state\":\"" HOSTILE "\"}]}"),
        EVENT(3, "wait", "{\"what\":\"" HOSTILE "\"}"),
        EVENT(4, "wake", "{\"why\":\"" HOSTILE "\"}"),
        EVENT(5, "status", "{\"why\":\"" HOSTILE "\",\"from\":\"" HOSTILE "\"}"),
        EVENT(6, "verdict", "[1]"),
        EVENT(7, "charge", "{\"who\":5,\"tokens\":-5,\"cost_usd\":-1,\"seconds\":1e300}"),
        EVENT(8, "stall", "null"),
        EVENT(9, "accept", "{\"paths\":{\"a\":[]}}"),
    };
    static const char *const never[] = {"**e**",    "\n#  heading", "\n# heading", "\n- item",
                                        "\n1. one", "\x1b",         "&amp;amp;",   "~~s~~"};
    goal_event_vec events = {.ptr = (struct goal_event *)list, .len = ARRAY_LEN(list)};
    struct store_goal g = {.goal_id = STR("g1"), .status = GOAL_BLOCKED};
    struct goal_report r = report_of(&g, &events);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf json = BUF_INIT(1 << 20);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str plain;

    (void)state;
    r.objective = STR("o|p\n<b>q</b>\n# heading\n- item\n1. one\n\n    code\n```\n\x1b[2J \xff");
    r.dir = STR("/a|b`c");
    r.session = STR("``");
    r.diff_stat = STR("```\n| a |\n````\n\x1b[31m");
    goal_report_markdown(&r, &text);
    goal_report_json(&r, &json);
    assert_true(utf8_is_valid(buf_str(&text)));
    assert_true(utf8_is_valid(buf_str(&json)));
    check_tables(str_first(buf_str(&text), str_find(buf_str(&text), STR("## Changes since"))));
    check_tables(str_from(buf_str(&text), str_find(buf_str(&text), STR("## In figures"))));
    assert_non_null(parse(&arena, &json));
    /* Code may hold anything: only what stands outside of it counts here. */
    plain = str_first(buf_str(&text), str_find(buf_str(&text), STR("## Criteria")));
    for (size_t i = 0; i < ARRAY_LEN(never); i++) {
        if (str_has(plain, str_of(never[i])))
            fail_msg("'%s' is in: %.*s", never[i], STR_ARG(plain));
    }
    for (size_t i = 0; i < plain.len; i++) {
        if (strchr("<[`", plain.ptr[i]) && plain.ptr[i - 1] != '\\')
            fail_msg("something opens in: %.*s", STR_ARG(plain));
    }
    assert_true(str_has(plain, STR("the goal is not met.** a&#124;b")));
    assert_false(str_has(buf_str(&text), STR("\x1b")));
    assert_true(str_has(buf_str(&text), STR("`````\n```\n| a |\n````\n")));
}

static void no_events(void **state)
{
    struct store_goal g = {.objective = STR("x"), .status = GOAL_PAUSED};
    goal_event_vec none = VEC_INIT;
    struct goal_report r = {.goal = &g, .events = &none};
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf json = BUF_INIT(1 << 20);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const char *const wanted[] = {"# Goal report: paused", "the goal is not met", "> x\n",
                                  "/goal resume"};

    (void)state;
    goal_report_markdown(&r, &text);
    goal_report_json(&r, &json);
    check_has(buf_str(&text), wanted, ARRAY_LEN(wanted));
    assert_false(str_has(buf_str(&text), STR("## Checks")));
    assert_int_equal(json_len(json_get(parse(&arena, &json), "refused")), 0);
}

/* A ledger of 10,000 events: everything is counted, the newest is shown. */
static void long_ledgers(void **state)
{
    enum {
        COUNT = 10000
    };
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(4 << 20);
    CLEANUP(buf_release) struct buf json = BUF_INIT(16 << 20);
    goal_event_vec events = VEC_INIT;
    struct store_goal g = {.goal_id = STR("g1"), .status = GOAL_BLOCKED, .tokens_used = 17500};
    struct goal_report r = report_of(&g, &events);
    const struct json *root;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        struct goal_event *e = vec_add(&events);
        CLEANUP(buf_release) struct buf data = BUF_INIT(4096);

        *e = (struct goal_event){.goal_id = STR("g1"), .time_ms = T0 + i * 1000};
        switch (i % 4) {
        case 0:
            e->kind = STR("charge");
            buf_addf(&data, "{\"who\":\"who %d\",\"tokens\":7}", i % 400);
            break;
        case 1:
            e->kind = STR("verdict");
            buf_addf(&data,
                     "{\"round\":%d,\"met\":false,\"reason\":\"reason %d\",\"checks\":["
                     "{\"command\":\"check %d\",\"passed\":false}]}",
                     i, i, i);
            break;
        case 2:
            e->kind = STR("wait");
            buf_addf(&data, "{\"what\":\"wait %d\"}", i);
            break;
        default:
            e->kind = STR("wake");
            buf_adds(&data, "{\"waited_ms\":10}");
        }
        e->data = arena_str(&arena, buf_str(&data));
    }
    goal_report_markdown(&r, &text);
    goal_report_json(&r, &json);
    assert_int_equal(buf_check(&text, NULL), 0);
    assert_int_equal(buf_check(&json, NULL), 0);
    check_tables(buf_str(&text));
    assert_true(str_has(buf_str(&text), STR("The newest 50 of 2500:")));
    assert_true(str_has(buf_str(&text), STR("reason 9997")));
    assert_false(str_has(buf_str(&text), STR("reason 9001 ")));
    assert_true(str_has(buf_str(&text), STR("| wait 9998 |")));
    root = parse(&arena, &json);
    assert_int_equal(json_len(json_get(root, "refused")), TALLY_MAX);
    assert_int_equal(json_get_i64(json_get(root, "counts"), "refused", 0), 2500);
    assert_int_equal(json_get_i64(json_get(root, "counts"), "waits", 0), 2500);
    assert_int_equal(json_get_i64(json_get(root, "time"), "waited_ms", 0), 25000);
    assert_int_equal(json_len(json_get(root, "checks")), TALLY_MAX_CHECKS);
    assert_int_equal(json_len(json_path(root, "tokens.by")), TALLY_MAX_WHO);
    assert_true(json_get_bool(json_get(root, "tokens"), "charges_match", false));
    assert_true(str_is(json_get_str(json_path(root, "tokens.by.19"), "who"), "other"));
    vec_release(&events);
}

static const struct {
    const char *text;
    size_t max;
    const char *as_text, *as_code;
} spans[] = {
    {"plain", 99, "plain", "`plain`"},
    {"", 99, "", ""},
    {"a|b", 99, "a&#124;b", "`a\\|b`"},
    {"a\\|b", 99, "a\\\\&#124;b", "a\\\\&#124;b"},
    {"a`b", 99, "a\\`b", "`` a`b ``"},
    {"``", 99, "\\`\\`", "``` `` ```"},
    {"a\nb\tc", 99, "a b c", "`a b c`"},
    {"<i>&", 99, "\\<i\\>\\&", "`<i>&`"},
    {"- x", 99, "\\- x", "`- x`"},
    {"x - y", 99, "x - y", "`x - y`"},
    {"12. x", 99, "12\\. x", "`12. x`"},
    {"v12. x", 99, "v12. x", "`v12. x`"},
    {"abcdef", 3, "abc…", "`abc`…"},
    {"caf\xc3\xa9s", 4, "caf…", "`caf`…"},
    {"\x1b[2J\xff", 99, " \\[2J\xef\xbf\xbd", "` [2J\xef\xbf\xbd`"},
};

static void markdown_spans(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf code = BUF_INIT(1000);

        markdown_text(str_of(spans[i].text), spans[i].max, &text);
        markdown_code(str_of(spans[i].text), spans[i].max, &code);
        if (strcmp(buf_cstr(&text), spans[i].as_text) != 0 ||
            strcmp(buf_cstr(&code), spans[i].as_code) != 0)
            fail_msg("row %zu: '%s', '%s'", i, buf_cstr(&text), buf_cstr(&code));
    }
}

static const struct {
    const char *text;
    size_t max;
    const char *quoted, *fenced;
} blocks[] = {
    {"a", 99, "> a\n", "```\na\n```\n"},
    {"a\nb\n", 99, "> a  \n> b\n", "```\na\nb\n```\n"},
    {"a\n\n    b", 99, "> a  \n>\n> b\n", "```\na\n\n    b\n```\n"},
    {"# a\n> b", 99, "> \\# a  \n> \\> b\n", "```\n# a\n> b\n```\n"},
    {"```\nx", 99, "> \\`\\`\\`  \n> x\n", "````\n```\nx\n````\n"},
    {"abcdef", 3, "> abc\n> …\n", "```\nabc\n…\n```\n"},
};

static void markdown_blocks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
        CLEANUP(buf_release) struct buf quoted = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf fenced = BUF_INIT(1000);

        markdown_quote(str_of(blocks[i].text), blocks[i].max, &quoted);
        markdown_fence(str_of(blocks[i].text), blocks[i].max, &fenced);
        if (strcmp(buf_cstr(&quoted), blocks[i].quoted) != 0 ||
            strcmp(buf_cstr(&fenced), blocks[i].fenced) != 0)
            fail_msg("row %zu: '%s', '%s'", i, buf_cstr(&quoted), buf_cstr(&fenced));
    }
}

UNIT_TEST(report)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markdown_of_a_story), cmocka_unit_test(json_of_a_story),
        cmocka_unit_test(charges_that_differ), cmocka_unit_test(stopped_goals),
        cmocka_unit_test(hostile_text),        cmocka_unit_test(no_events),
        cmocka_unit_test(long_ledgers),        cmocka_unit_test(markdown_spans),
        cmocka_unit_test(markdown_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
