/* Scenario files: what they mean, how they complain, and in which order they are played. */
#include "llm/scenario/scenario.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "llm/scenario/viewer.h"
#include "unit.h"

static struct scenario *parse(const char *text)
{
    struct scenario *s = NULL;
    struct err err = {0};

    if (scenario_parse(str_of(text), "t", &s, &err) < 0)
        fail_msg("%s\n--- in ---\n%s", err.text, text);
    return s;
}

#define assert_str(s, expected)                                                                    \
    do {                                                                                           \
        struct str got_ = (s);                                                                     \
        if (!str_is(got_, (expected)))                                                             \
            fail_msg("got '%.*s', expected '%s'", STR_ARG(got_), (expected));                      \
    } while (0)

static void test_everything_once(void **state)
{
    static const char text[] = "# a comment\n"
                               "chunk 5\n"
                               "\n"
                               "step greet # another\n"
                               "  if-result \"FAILED\"\n"
                               "  if-prompt hello\n"
                               "  think Let me see. # not a comment\n"
                               "  text Hello, world.\r\n"
                               "  text \" and \\\"more\\\"\\n\\x41\" # comment\n"
                               "  text <<END\n"
                               "    several\n"
                               "\n"
                               "      lines\n"
                               "    END\n"
                               "  call Bash {\"command\": \"ls # x\"}\n"
                               "  call Empty\n"
                               "  call Long <<X\n"
                               "{\n"
                               "X\n"
                               "  pause 100ms\n"
                               "  usage input=12 output=7 cache_read=3 cache_write=2 thinking=2\n"
                               "  stop stop_sequence \"###\"\n"
                               "  chunk 3\n"
                               "  pace 2s\n"
                               "  fault status 529 \"overloaded\" retry-after=1 times=3\n"
                               "  fault garbage 120 \"\\x00\\xff\"\n"
                               "  fault error \"boom\" type=api_error\n"
                               "  fault tls self-signed\n"
                               "  sticky\n"
                               "step\n";
    struct scenario *s = parse(text);
    const struct scenario_step *a = &s->steps[0];

    (void)state;
    assert_int_equal(s->len, 2);
    assert_str(a->name, "greet");
    assert_int_equal(a->line, 4);
    assert_int_equal(a->if_count, 2);
    assert_int_equal(a->ifs[0].kind, IF_RESULT);
    assert_str(a->ifs[0].text, "FAILED");
    assert_str(a->ifs[1].text, "hello");
    assert_int_equal(a->part_count, 8);
    assert_int_equal(a->parts[0].kind, PART_THINKING);
    assert_str(a->parts[0].text, "Let me see. # not a comment");
    assert_str(a->parts[1].text, "Hello, world.");
    assert_str(a->parts[2].text, " and \"more\"\nA");
    assert_str(a->parts[3].text, "several\n\n  lines");
    assert_str(a->parts[4].name, "Bash");
    assert_str(a->parts[4].text, "{\"command\": \"ls # x\"}");
    assert_str(a->parts[5].name, "Empty");
    assert_str(a->parts[5].text, "");
    assert_str(a->parts[6].text, "{");
    assert_int_equal(a->parts[7].ms, 100);
    assert_int_equal(a->usage_mode, USAGE_GIVEN);
    assert_int_equal(a->usage.input, 12);
    assert_int_equal(a->usage.cache_write, 2);
    assert_int_equal(a->stop, STOP_SEQUENCE);
    assert_str(a->stop_sequence, "###");
    assert_int_equal(a->chunk, 3);
    assert_int_equal(a->pace_ms, 2000);
    assert_true(a->sticky);
    assert_int_equal(a->fault_count, 4);
    assert_int_equal(a->faults[0].status, 529);
    assert_int_equal(a->faults[0].times, 3);
    assert_str(a->faults[0].headers[0], "retry-after: 1");
    assert_int_equal(a->faults[1].at, 120);
    assert_int_equal(a->faults[1].text.len, 2);
    assert_int_equal(a->faults[2].at, 8); /* after the parts so far */
    assert_str(a->faults[2].type, "api_error");
    assert_int_equal(a->faults[3].tls, TLS_SELF_SIGNED);

    assert_int_equal(s->steps[1].chunk, 5); /* the file's default */
    assert_int_equal(s->steps[1].part_count, 0);
    assert_int_equal(s->steps[1].stop, STOP_NONE);
    scenario_free(s);
}

/* u: user, r: result, s: said, c: called; then the text. */
static const struct view_case {
    const char *told[8];
    const char *prompt;
    const char *result;
    size_t bytes;
} view_cases[] = {
    {{"uhi"}, "hi", "", 2},
    {{"uhi", "u there"}, "hi\n there", "", 8},
    {{"uhi", "syes", "unext"}, "next", "", 9},
    {{"uhi", "syes", "cBash", "rout", "rput"}, "hi", "out\nput", 11},
    {{"uhi", "cBash", "rout", "umore"}, "hi\nmore", "out", 9},
    {{"uhi", "cBash", "rout", "cBash", "rtwo"}, "hi", "two", 8},
    {{"uhi", "cBash", "rout", "sdone", "unext"}, "next", "", 13},
    {{"uhi", "cBash", "sbehind", "rout"}, "hi", "out", 11},
};

static void test_views(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(view_cases); i++) {
        const struct view_case *t = &view_cases[i];
        CLEANUP(viewer_release) struct scenario_viewer v;
        struct scenario_view view;

        viewer_init(&v);
        for (size_t k = 0; k < ARRAY_LEN(t->told) && t->told[k]; k++) {
            struct str text = str_of(t->told[k] + 1);

            switch (t->told[k][0]) {
            case 'u':
                viewer_user(&v, text);
                break;
            case 'r':
                viewer_result(&v, text);
                break;
            case 's':
                viewer_said(&v, text);
                break;
            default:
                viewer_called(&v);
            }
        }
        view = viewer_view(&v, STR("m"));
        if (!str_is(view.prompt, t->prompt) || !str_is(view.result, t->result) ||
            view.bytes != t->bytes)
            fail_msg("row %zu: prompt '%.*s', result '%.*s', %zu bytes", i, STR_ARG(view.prompt),
                     STR_ARG(view.result), view.bytes);
    }
}

static const struct bad_case {
    const char *text;
    const char *complaint;
} bad_cases[] = {
    {"text hi", "t:1:1: 'text' belongs into a step"},
    {"step\n  txt hi", "t:2:3: unknown keyword 'txt'; did you mean 'text'?"},
    {"step\n  zebra hi", "t:2:3: unknown keyword 'zebra'"},
    {"step\n  text \"hi", "t:2:8: the quotation mark is never closed"},
    {"step\n  text \"hi\" there", "t:2:13: text after the closing quotation mark"},
    {"step\n  text \"\\q\"", "t:2:9: unknown escape"},
    {"step\n  text \"\\x4\"", "t:2:9: unknown escape"},
    {"step\n  text <<END\n hi\n", "t:2:8: no line 'END' ends this text"},
    {"step\n  text <<END now\n hi\nEND\n", "t:2:14: nothing more is expected here"},
    {"step\n  call", "t:2:7: the tool's name is missing"},
    {"step\n  pause", "t:2:8: a duration such as 20ms or 2s is missing"},
    {"step\n  pause 2h", "t:2:9: not a duration"},
    {"step\n  pace 4000s", "t:2:8: not a duration"},
    {"step\n  pace -1ms", "t:2:8: not a duration"},
    {"step\n  chunk 0", "t:2:9: the number of bytes must be between 1 and"},
    {"step\n  chunk few", "t:2:9: the number of bytes is not a number: 'few'"},
    {"step\n  usage", "t:2:8: figures such as input=12 are missing"},
    {"step\n  usage inptu=3", "t:2:9: unknown figure 'inptu'; did you mean 'input'?"},
    {"step\n  usage input 3", "t:2:9: expected a figure such as input=12"},
    {"step\n  usage input=x", "t:2:15: the figure is not a number: 'x'"},
    {"step\n  usage output=1 thinking=2", "t:2:9: thinking is part of output"},
    {"step\n  stop maxtokens",
     "t:2:8: unknown stop reason 'maxtokens'; did you mean 'max_tokens'?"},
    {"step\n  stop stop_sequence", "t:2:21: the sequence is missing"},
    {"step\n  fault statsu 500", "t:2:9: unknown fault 'statsu'; did you mean 'status'?"},
    {"step\n  fault status 200", "t:2:16: the status must be between 400 and 599"},
    {"step\n  fault cut", "t:2:12: the number of bytes is missing"},
    {"step\n  fault garbage 3", "t:2:18: the garbage is missing"},
    {"step\n  fault tls bad", "t:2:13: unknown kind of TLS failure 'bad'"},
    {"step\n  fault empty often", "t:2:15: expected an option such as times=2"},
    {"step\n  fault empty time=2", "t:2:15: unknown option 'time'; did you mean 'times'?"},
    {"step\n  fault status 500 header=x", "t:2:20: a header is written"},
    {"step\n  sticky yes", "t:2:10: nothing more is expected here"},
    {"step\n  if-result", "t:2:12: the text to look for is missing"},
    {"step a b", "t:1:8: nothing more is expected here"},
    {"step\n  text caf\xe9!", "t:2:11: not UTF-8"},
};

static void test_complaints(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_cases); i++) {
        const struct bad_case *t = &bad_cases[i];
        struct scenario *s = NULL;
        struct err err = {0};

        if (scenario_parse(str_of(t->text), "t", &s, &err) == 0)
            fail_msg("row %zu was accepted:\n%s", i, t->text);
        if (!str_starts(str_of(err.text), str_of(t->complaint)))
            fail_msg("row %zu:\n%s\n  got      %s\n  expected %s", i, t->text, err.text,
                     t->complaint);
        assert_int_equal(err.code, ERR_BAD_INPUT);
        assert_null(s);
    }
}

static void test_limits(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct scenario *s = NULL;
    struct err err = {0};

    (void)state;
    for (int i = 0; i < SCENARIO_MAX_STEPS; i++)
        buf_adds(&text, "step\n");
    s = parse(buf_cstr(&text));
    assert_int_equal(s->len, SCENARIO_MAX_STEPS);
    scenario_free(s);
    s = NULL;
    buf_adds(&text, "step\n");
    assert_int_equal(scenario_parse(buf_str(&text), "t", &s, &err), -1);
    assert_string_equal(err.text, "t:1025:1: more than 1024 steps");

    buf_clear(&text);
    buf_adds(&text, "step\n");
    for (int i = 0; i <= SCENARIO_MAX_ITEMS; i++)
        buf_adds(&text, "text x\n");
    assert_int_equal(scenario_parse(buf_str(&text), "t", &s, &err), -1);
    assert_string_equal(err.text, "t:4098:1: more than 4096 lines in one step");
    assert_null(s);
}

/* Every cut of a full file is either accepted or refused with a place, never worse. */
static void test_every_prefix(void **state)
{
    static const char text[] =
        "step a\nif-result \"x\"\ntext <<E\n  l\n  E\ncall B {}\nusage input=1\n"
        "fault status 500 \"m\" header=\"a: b\" times=2\nfault slow 3 2ms\n";

    (void)state;
    for (size_t n = 0; n <= sizeof(text) - 1; n++) {
        char *copy = mem_dup(text, n);
        struct scenario *s = NULL;
        struct err err = {0};

        if (scenario_parse(str_make(copy, n), "t", &s, &err) < 0)
            assert_true(str_starts(str_of(err.text), STR("t:")));
        scenario_free(s);
        free(copy);
    }
}

static void test_order(void **state)
{
    struct scenario *s = parse("step fix\n if-result FAILED\n sticky\n text fixing\n"
                               "step first\n text one\n"
                               "step side\n if-system title\n text t\n"
                               "step last\n if-prompt bye\n if-model m1\n text two\n");
    struct scenario_cursor c = {0};
    const struct play {
        struct scenario_view view;
        const char *expected; /* NULL: no step */
    } plays[] = {
        {{.result = STR("1 FAILED"), .prompt = STR("bye")}, "fix"},
        {{.result = STR("2 FAILED")}, "fix"},
        {{.system = STR("make a title")}, "first"},
        {{.system = STR("make a title")}, "side"},
        {{.prompt = STR("bye"), .model = STR("m2")}, NULL},
        {{.prompt = STR("good bye"), .model = STR("m1")}, "last"},
        {{.prompt = STR("good bye"), .model = STR("m1")}, NULL},
        {{.result = STR("3 FAILED")}, "fix"},
    };

    (void)state;
    assert_int_equal(scenario_left(s, &c), 3);
    for (size_t i = 0; i < ARRAY_LEN(plays); i++) {
        const struct scenario_step *step = scenario_next(s, &c, &plays[i].view);

        if (!step != !plays[i].expected || (step && !str_is(step->name, plays[i].expected)))
            fail_msg("play %zu: got %s", i, step ? step->name.ptr : "nothing");
        if (step)
            scenario_played(s, &c, step);
    }
    assert_int_equal(scenario_left(s, &c), 0);
    assert_int_equal(c.calls, 6);
    scenario_free(s);
}

static void test_faults_in_turn(void **state)
{
    struct scenario *s = parse("step a\n text hi\n fault status 500 \"x\" times=2\n fault cut 7\n"
                               " fault refuse\nstep b\n fault tls hang\n");
    struct scenario_cursor c = {0};
    const struct scenario_step *a = &s->steps[0];

    (void)state;
    assert_null(scenario_connection(s, &c, true));
    assert_int_equal(scenario_try(s, &c, a)->kind, FAULT_STATUS);
    assert_int_equal(scenario_try(s, &c, a)->kind, FAULT_STATUS);
    assert_int_equal(scenario_try(s, &c, a)->kind, FAULT_CUT);
    assert_int_equal(scenario_connection(s, &c, false)->kind, FAULT_REFUSE);
    assert_int_equal(scenario_connection(s, &c, true)->kind, FAULT_REFUSE);
    assert_null(scenario_connection(s, &c, true));
    assert_null(scenario_try(s, &c, a));
    assert_null(scenario_try(s, &c, a));
    scenario_played(s, &c, a);
    assert_int_equal(scenario_connection(s, &c, true)->tls, TLS_HANG);
    assert_null(scenario_connection(s, &c, true));
    scenario_free(s);
}

static const struct piece_case {
    size_t chunk;
    const char *text;
    const char *joined; /* pieces with | after each */
} piece_cases[] = {
    {0, "Hello, big  world.\nYes ", "Hello, |big  |world.\n|Yes |"},
    {0, "", ""},
    {0, " x", " |x|"},
    {3, "abcdefgh", "abc|def|gh|"},
    {1, "a\xc3\xa9\xe2\x82\xac", "a|\xc3\xa9|\xe2\x82\xac|"}, /* never inside a character */
    {100, "abc", "abc|"},
};

static void test_pieces(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(piece_cases); i++) {
        const struct piece_case *t = &piece_cases[i];
        CLEANUP(buf_release) struct buf got = BUF_INIT(1000);
        struct scenario_step step = {.chunk = t->chunk};
        struct str piece;
        size_t at = 0;

        while (scenario_piece(&step, str_of(t->text), &at, &piece)) {
            buf_add(&got, piece);
            buf_addc(&got, '|');
        }
        if (!str_is(buf_str(&got), t->joined))
            fail_msg("row %zu: got '%s', expected '%s'", i, buf_cstr(&got), t->joined);
    }
}

static void test_usage_and_stop(void **state)
{
    struct scenario *s = parse("step\n think 12345\n text abc\n call Bash {}\n"
                               "step\n text x\n usage none\n"
                               "step\n stop max_tokens\n usage input=9\n");
    struct scenario_view view = {.system = STR("12345678"), .bytes = 5};
    struct llm_usage u;

    (void)state;
    scenario_usage(&s->steps[0], &view, &u);
    assert_true(u.known);
    assert_int_equal(u.input, 4);
    assert_int_equal(u.output, 4);
    assert_int_equal(u.thinking, 2);
    assert_int_equal(scenario_stop(&s->steps[0]), STOP_TOOL_USE);
    scenario_usage(&s->steps[1], &view, &u);
    assert_false(u.known);
    assert_int_equal(scenario_stop(&s->steps[1]), STOP_END_TURN);
    scenario_usage(&s->steps[2], &view, &u);
    assert_int_equal(u.input, 9);
    assert_int_equal(scenario_stop(&s->steps[2]), STOP_MAX_TOKENS);
    scenario_free(s);
}

static void test_explain(void **state)
{
    struct scenario *s = parse("step\n if-prompt x\n");
    struct scenario_cursor c = {0};
    struct scenario_view view = {.prompt = STR("what?"), .result = STR("FAILED")};
    struct err err = {0};

    (void)state;
    scenario_explain(s, &c, &view, &err);
    assert_string_equal(err.text, "no step of t answers this call (0 answers given, 1 of 1 steps "
                                  "left); the last tool result is 'FAILED', the prompt 'what?'");
    scenario_free(s);
}

UNIT_TEST(scenario)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_once), cmocka_unit_test(test_views),
        cmocka_unit_test(test_complaints),      cmocka_unit_test(test_limits),
        cmocka_unit_test(test_every_prefix),    cmocka_unit_test(test_order),
        cmocka_unit_test(test_faults_in_turn),  cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_usage_and_stop),  cmocka_unit_test(test_explain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
