/* Replies: the promises of event.h under every order of pieces. */
#include "llm/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "json/json.h"
#include "llm/event_check.h"
#include "unit.h"

/* A script: one letter per call, so that a row shows the order of things.
 *   T/H text  say text or thinking          cN.name text   reply_call(N), then a delta
 *   O open text, I open tool_use, X close, Z reply_data on the last closed one */
struct step {
    char what;
    size_t key;
    const char *name;
    const char *text;
};

struct row {
    const char *label;
    struct step steps[12];
    enum llm_stop stop;
    const char *expect;
    enum err_code fails;
};

#define USAGE " in=0 out=0 read=0 write=0/0 think=0 unknown\n"

static const struct row rows[] = {
    {"nothing at all", {{0}}, STOP_NONE, "start m\nstop end_turn" USAGE},
    {"text in pieces",
     {{'T', 0, 0, "Hel"}, {'T', 0, 0, "lo"}},
     STOP_END_TURN,
     "start m\n0 text [Hello]\nstop end_turn" USAGE},
    {"thinking, then text",
     {{'H', 0, 0, "hm"}, {'T', 0, 0, "a"}, {'H', 0, 0, "b"}},
     STOP_END_TURN,
     "start m\n0 thinking [hm]\n1 text [a]\n2 thinking [b]\nstop end_turn" USAGE},
    {"stop although there are calls",
     {{'c', 0, "Bash", "{}"}},
     STOP_END_TURN,
     "start m\n0 tool_use Bash [{}]\nstop tool_use" USAGE},
    {"a cut call keeps its reason",
     {{'c', 0, "Bash", "{\"a\":"}},
     STOP_MAX_TOKENS,
     "start m\n0 tool_use Bash [{\"a\":] bad\nstop max_tokens" USAGE},
    {"calls one after the other",
     {{'c', 0, "A", "{\"x\""}, {'c', 0, "", ":1}"}, {'c', 1, "B", "{"}, {'c', 1, "", "}"}},
     STOP_TOOL_USE,
     "start m\n0 tool_use A [{\"x\":1}]\n1 tool_use B [{}]\nstop tool_use" USAGE},
    {"calls interleaved",
     {{'c', 0, "A", "{\"x"},
      {'c', 1, "B", "{\"y"},
      {'c', 2, "C", ""},
      {'c', 0, "", "\":1"},
      {'c', 1, "", "\":{"},
      {'c', 2, "", "{\"z\":3}"},
      {'c', 1, "", "}}"},
      {'c', 0, "", "}"},
      {'c', 0, "", " \n"}},
     STOP_TOOL_USE,
     "start m\n0 tool_use A [{\"x\":1}]\n1 tool_use B [{\"y\":{}}]\n2 tool_use C "
     "[{\"z\":3}]\nstop tool_use" USAGE},
    {"braces inside strings do not count",
     {{'c', 0, "A", "{\"x\":\"}\\\""}, {'c', 1, "B", "{}"}, {'c', 0, "", "}\"}"}, {'c', 0, "", ""}},
     STOP_TOOL_USE,
     "start m\n0 tool_use A [{\"x\":\"}\\\"}\"}]\n1 tool_use B [{}]\nstop tool_use" USAGE},
    {"text between pieces of a call waits",
     {{'c', 0, "A", "{"}, {'T', 0, 0, "so"}, {'c', 0, "", "}"}, {'T', 0, 0, " on"}},
     STOP_TOOL_USE,
     "start m\n0 tool_use A [{}]\n1 text [so on]\nstop tool_use" USAGE},
    {"a name that comes late",
     {{'c', 0, "", "{\"a\""}, {'c', 1, "B", "{}"}, {'c', 0, "A", ":1}"}, {'c', 0, "Z", ""}},
     STOP_TOOL_USE,
     "start m\n0 tool_use A [{\"a\":1}]\n1 tool_use B [{}]\nstop tool_use" USAGE},
    {"empty arguments",
     {{'c', 0, "A", ""}, {'c', 1, "B", ""}},
     STOP_TOOL_USE,
     "start m\n0 tool_use A\n1 tool_use B\nstop tool_use" USAGE},
    {"arguments that are no object",
     {{'c', 0, "A", "[1]"}, {'c', 1, "B", "null"}},
     STOP_TOOL_USE,
     "start m\n0 tool_use A [[1]] bad\n1 tool_use B [null] bad\nstop tool_use" USAGE},
    {"more behind a complete call",
     {{'c', 0, "A", "{}"}, {'c', 1, "B", "{}"}, {'c', 0, "", "{}"}},
     STOP_TOOL_USE,
     NULL,
     ERR_PROTOCOL},
    {"a delta without a block", {{'d', 0, 0, "x"}}, STOP_NONE, NULL, ERR_PROTOCOL},
    {"explicit blocks",
     {{'O', 0, 0, "a"}, {'d', 0, 0, "b"}, {'I', 0, "A", ""}, {'d', 0, 0, "{}"}, {'X'}, {'X'}},
     STOP_END_TURN,
     "start m\n0 text [ab]\n1 tool_use A [{}]\nstop tool_use" USAGE},
    {"a pair of surrogates cut in two",
     {{'T', 0, 0, "a\xed\xa0\xbd"},
      {'T', 0, 0,
       "\xed\xb8\x80"
       "b"}},
     STOP_END_TURN,
     "start m\n0 text [a\xf0\x9f\x98\x80"
     "b]\nstop end_turn" USAGE},
    {"half a pair stays",
     {{'T', 0, 0, "a\xed\xa0\xbd"}, {'T', 0, 0, "b"}, {'T', 0, 0, "\xed\xa0\xbd"}},
     STOP_END_TURN,
     "start m\n0 text [a\xed\xa0\xbd"
     "b\xed\xa0\xbd]\nstop end_turn" USAGE},
};

static int play(struct reply *r, const struct step *s, struct err *err)
{
    struct str text = str_of(s->text);

    switch (s->what) {
    case 'T':
        return reply_say(r, BLOCK_TEXT, text, err);
    case 'H':
        return reply_say(r, BLOCK_THINKING, text, err);
    case 'c':
        if (reply_call(r, s->key, str_of(s->name), STR("call_1"), err) < 0)
            return -1;
        return reply_delta(r, text, err);
    case 'O':
        return reply_open(r, &(struct block){.kind = BLOCK_TEXT, .text = text}, STR(""), err);
    case 'I':
        return reply_open(
            r, &(struct block){.kind = BLOCK_TOOL_USE, .name = str_of(s->name), .input = text},
            STR("v1"), err);
    case 'd':
        return reply_delta(r, text, err);
    case 'X':
        return reply_close(r, err);
    default:
        return 0;
    }
}

static void test_orders(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        CLEANUP(event_check_release) struct event_check c = EVENT_CHECK_INIT;
        struct reply *r = reply_new(event_check_fn, &c);
        struct err err = {0};
        int rc = reply_start(r, STR(""), STR("m"), &err);

        for (size_t j = 0; rc == 0 && row->steps[j].what; j++)
            rc = play(r, &row->steps[j], &err);
        if (rc == 0) {
            reply_stop(r, row->stop, STR(""));
            rc = reply_finish(r, &err);
        }
        if (err.code != row->fails || (row->expect && !str_is(buf_str(&c.text), row->expect)))
            fail_msg("%s: %s\n%s\nexpected:\n%s", row->label, err.text, buf_cstr(&c.text),
                     row->expect ? row->expect : "(failure)");
        if (rc == 0) {
            struct message *m = reply_take(r);

            assert_int_equal(m->len, c.blocks);
            assert_null(reply_take(r));
            assert_true(c.stopped);
            message_unref(m);
        }
        reply_free(r);
    }
}

/* A complete call closes as soon as anything follows, so that its tool can start early. */
static void test_early_close(void **state)
{
    CLEANUP(event_check_release) struct event_check c = EVENT_CHECK_INIT;
    struct reply *r = reply_new(event_check_fn, &c);

    (void)state;
    assert_int_equal(reply_call(r, 7, STR("A"), STR(""), NULL), 0);
    assert_int_equal(reply_delta(r, STR("{\"a\":1}"), NULL), 0);
    assert_int_equal(c.blocks, 0);
    assert_true(reply_call_is_complete(r, 7));
    assert_false(reply_call_is_complete(r, 8));
    assert_int_equal(reply_call(r, 8, STR("B"), STR(""), NULL), 0);
    assert_int_equal(c.blocks, 1);
    assert_true(c.open);
    assert_true(reply_call_is_complete(r, 7));
    assert_false(reply_call_is_complete(r, 8));
    reply_free(r);
}

static void test_data(void **state)
{
    struct reply *r = reply_new(NULL, NULL);
    struct message *m;

    (void)state;
    reply_origin(r, STR("gemini"), STR("g-3"));
    assert_int_equal(reply_say(r, BLOCK_TEXT, STR("plain"), NULL), 0);
    assert_int_equal(reply_say(r, BLOCK_THINKING, STR("hm"), NULL), 0);
    reply_signature(r, STR("c2ln"));
    assert_int_equal(
        reply_open(r, &(struct block){.kind = BLOCK_TOOL_USE, .name = STR("A")}, STR("c\"1"), NULL),
        0);
    reply_data(r, "sig", STR("\"x\""));
    reply_data(r, "sig", STR("\"\\ud83d\xff\""));
    assert_int_equal(reply_open(r, &(struct block){.kind = BLOCK_TEXT}, STR(""), NULL), 0);
    reply_citation(r, STR("{\"n\":1}"));
    reply_citation(r, STR("{\"n\":2}"));
    assert_int_equal(reply_close(r, NULL), 0);
    assert_int_equal(
        reply_open(r, &(struct block){.kind = BLOCK_OTHER, .raw = STR("{\"type\":\"x\"}")}, STR(""),
                   NULL),
        0);
    reply_raw(r, STR("{\"type\":\"x\",\"y\":2}"));
    assert_int_equal(reply_close(r, NULL), 0);
    reply_data_last(r, "late", STR("[1]"));
    reply_data(r, "nobody", STR("1"));
    assert_int_equal(reply_finish(r, NULL), 0);
    assert_int_equal(reply_finish(r, NULL), 0);
    assert_int_equal(reply_say(r, BLOCK_TEXT, STR("late"), NULL), -1);

    m = reply_take(r);
    reply_stop(r, STOP_REFUSAL, STR("ignored"));
    assert_int_equal(m->len, 5);
    assert_string_equal(m->model.ptr, "g-3");
    assert_true(str_starts(m->id, STR("msg_")) && m->id.len == 28);
    assert_int_equal(m->blocks[0].provider_data.len, 0);
    assert_string_equal(m->blocks[1].provider_data.ptr,
                        "{\"provider\":\"gemini\",\"model\":\"g-3\"}");
    assert_string_equal(m->blocks[1].signature.ptr, "c2ln");
    assert_string_equal(
        m->blocks[2].provider_data.ptr,
        "{\"provider\":\"gemini\",\"model\":\"g-3\",\"id\":\"c\\\"1\",\"sig\":\"\xef\xbf\xbd"
        "\xef\xbf\xbd\"}");
    assert_string_equal(m->blocks[3].raw.ptr, "[{\"n\":1},{\"n\":2}]");
    assert_string_equal(m->blocks[3].provider_data.ptr,
                        "{\"provider\":\"gemini\",\"model\":\"g-3\"}");
    assert_string_equal(m->blocks[4].raw.ptr, "{\"type\":\"x\",\"y\":2}");
    assert_string_equal(m->blocks[4].provider_data.ptr,
                        "{\"provider\":\"gemini\",\"model\":\"g-3\",\"late\":[1]}");
    message_unref(m);
    reply_free(r);
}

static void test_limits(void **state)
{
    struct err err = {0};
    struct reply *r = reply_new(NULL, NULL);
    size_t piece = 1 << 20;
    CLEANUP(mem_freep) char *mb = mem_zalloc(piece);
    int rc = 0;

    (void)state;
    memset(mb, 'a', piece);
    for (size_t i = 0; rc == 0 && i < 100; i++) {
        rc = reply_say(r, BLOCK_TEXT, str_make(mb, piece), &err);
        assert_true(rc == 0 || i == REPLY_MAX_BYTES / piece - 1); /* the id counts too */
    }
    assert_int_equal(err.code, ERR_TOO_BIG);
    reply_free(r);

    r = reply_new(NULL, NULL);
    rc = 0;
    for (size_t i = 0; rc == 0; i++) {
        rc = reply_call(r, i, STR("A"), STR(""), &err);
        assert_true(rc == 0 || i == REPLY_MAX_BLOCKS);
    }
    assert_int_equal(err.code, ERR_TOO_BIG);
    reply_free(r);

    /* Fields that are set, not streamed, cannot grow without end either: the excess is dropped, and
     * finishing fails. */
    r = reply_new(NULL, NULL);
    for (size_t i = 0; i < 100; i++)
        reply_stop(r, STOP_SEQUENCE, str_make(mb, piece));
    assert_int_equal(reply_finish(r, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    reply_free(r);
}

/* An observer that fails at any event ends the reply with its error, and nothing leaks. */
static void test_observer_fails(void **state)
{
    (void)state;
    for (int at = 1; at <= 9; at++) {
        CLEANUP(event_check_release) struct event_check c = EVENT_CHECK_INIT;
        struct reply *r = reply_new(event_check_fn, &c);
        struct err err = {0};
        int rc;

        c.fail_at = at;
        rc = reply_say(r, BLOCK_TEXT, STR("a"), &err);
        rc = rc ? rc : reply_call(r, 0, STR("A"), STR(""), &err);
        rc = rc ? rc : reply_delta(r, STR("{}"), &err);
        rc = rc ? rc : reply_finish(r, &err);
        assert_int_equal(rc, -1);
        assert_int_equal(err.code, ERR_CANCELLED);
        assert_int_equal(c.events, at);
        reply_free(r);
    }
    reply_free(NULL);
}

static void deep_json(struct buf *out, size_t depth)
{
    buf_adds(out, "{\"a\":");
    for (size_t i = 1; i < depth; i++)
        buf_addc(out, '[');
    for (size_t i = 1; i < depth; i++)
        buf_addc(out, ']');
    buf_addc(out, '}');
}

static void test_depth(void **state)
{
    static const struct {
        size_t depth;
        bool fits;
    } cases[] = {{REPLY_MAX_DEPTH, true}, {REPLY_MAX_DEPTH + 1, false}, {JSON_MAX_DEPTH, false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
        struct reply *r = reply_new(NULL, NULL);
        struct message *m;
        struct err err = {0};

        deep_json(&json, cases[i].depth);
        assert_int_equal(reply_call(r, 0, STR("A"), STR(""), &err), 0);
        assert_int_equal(reply_delta(r, buf_str(&json), &err), 0);
        assert_int_equal(reply_finish(r, &err), 0);
        m = reply_take(r);
        assert_int_equal(m->blocks[0].input_bad, !cases[i].fits);
        message_unref(m);
        reply_free(r);

        r = reply_new(NULL, NULL);
        assert_int_equal(reply_say(r, BLOCK_TEXT, STR("x"), &err), 0);
        reply_data(r, "deep", buf_str(&json));
        assert_int_equal(reply_finish(r, &err), cases[i].fits ? 0 : -1);
        assert_int_equal(err.code, cases[i].fits ? ERR_NONE : ERR_TOO_BIG);
        reply_free(r);
    }
}

/* A vendor's document may hold invalid UTF-8; the stored part may not. */
static void test_input_is_clean(void **state)
{
    struct reply *r = reply_new(NULL, NULL);
    const struct block seed = {
        .kind = BLOCK_TOOL_USE, .name = STR("A"), .input = STR("{\"x\xff\"\n:\"\\ud83d\"}")};
    struct err err = {0};
    struct message *m;

    (void)state;
    assert_int_equal(reply_open(r, &seed, STR(""), &err), 0);
    assert_int_equal(reply_finish(r, &err), 0);
    m = reply_take(r);
    assert_true(str_is(m->blocks[0].input, "{\"x\xef\xbf\xbd\":\"\\ud83d\"}"));
    assert_false(m->blocks[0].input_bad);
    message_unref(m);
    reply_free(r);
}

/* Text in progress ends where it is cut; incomplete blocks of other kinds are dropped. */
static void test_cut(void **state)
{
    static const struct {
        struct step steps[4];
        const char *said; /* the kinds of the blocks, and their texts */
    } cut_rows[] = {
        {{{'T', 0, 0, "Hel"}}, "0[Hel]"},
        {{{'H', 0, 0, "hm"}, {'T', 0, 0, "Hello, "}}, "1[hm]0[Hello, ]"},
        {{{'H', 0, 0, "hm"}}, ""},
        {{{'T', 0, 0, "  "}}, ""},
        {{{'T', 0, 0, "a"}, {'c', 0, "Bash", "{\"x"}}, "0[a]"},
        {{{0}}, ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cut_rows); i++) {
        CLEANUP(buf_release) struct buf said = BUF_INIT(BUF_NO_LIMIT);
        struct reply *r = reply_new(NULL, NULL);
        struct err err = {0};
        struct message *m;

        for (size_t k = 0; k < ARRAY_LEN(cut_rows[i].steps) && cut_rows[i].steps[k].what; k++)
            assert_int_equal(play(r, &cut_rows[i].steps[k], &err), 0);
        m = reply_cut(r, &err);
        assert_non_null(m);
        for (size_t k = 0; k < m->len; k++)
            buf_addf(&said, "%d[%.*s]", (int)m->blocks[k].kind, STR_ARG(m->blocks[k].text));
        assert_string_equal(buf_cstr(&said), cut_rows[i].said);
        assert_int_equal(reply_say(r, BLOCK_TEXT, STR("more"), &err), -1);
        assert_null(reply_cut(r, &err));
        message_unref(m);
        reply_free(r);
    }
}

UNIT_TEST(reply)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_input_is_clean), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_orders),         cmocka_unit_test(test_early_close),
        cmocka_unit_test(test_data),           cmocka_unit_test(test_limits),
        cmocka_unit_test(test_observer_fails), cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
