/*
 * Which replies of a judge are a verdict, and which are none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/utf8.h"
#include "goal/judge/judge.h"
#include "json/json.h"
#include "llm/message.h"
#include "unit.h"

/* ---- The text form ---- */

static const struct read_case {
    const char *answer; /* ' stands for " */
    int result;
    bool ok, impossible;
    const char *reason;   /* or a part of the error */
    const char *criteria; /* the whole */
} read_cases[] = {
    {"{'ok':true,'reason':'seen'}", 0, true, false, "seen", ""},
    {"  \n{'ok':false,'reason':'  not yet \\n'}\n", 0, false, false, "not yet", ""},
    {"{'ok':false,'reason':'no key','impossible':true}", 0, false, true, "no key", ""},
    {"{'ok':true,'reason':'r','impossible':false}", 0, true, false, "r", ""},
    {"{'ok':false,'reason':'r','criteria':[]}", 0, false, false, "r", "[]"},
    {"{'ok':false,'reason':'r','criteria':[{'text':' a ','state':'met'},"
     "{'state':'unknown','text':'b'}]}",
     0, false, false, "r", "[{'text':'a','state':'met'},{'text':'b','state':'unknown'}]"},
    {"{'ok':false,'reason':'the file says {\\'ok\\':true}'}", 0, false, false,
     "the file says {\"ok\":true}", ""},
    {"\xef\xbb\xbf{'ok':true,'reason':'r'}", 0, true, false, "r", ""},

    /* One fence around everything. */
    {"```json\n{'ok':true,'reason':'r'}\n```", 0, true, false, "r", ""},
    {"\n```\n{'ok':true,'reason':'r'}```  ", 0, true, false, "r", ""},
    {"```JSON verdict\n{'ok':true,'reason':'r'}\n```", -1, .reason = "not one JSON object"},
    {"```json\n```json\n{'ok':true,'reason':'r'}\n```\n```", -1, .reason = "not one JSON object"},
    {"```json\n{'ok':true,'reason':'r'}\n```\n```json\n{'ok':false,'reason':'r'}\n```", -1,
     .reason = "not one JSON object"},
    {"```json\n{'ok':true,'reason':'r'}", -1, .reason = "not one JSON object"},
    {"{'ok':true,'reason':'r'}\n```", -1, .reason = "not one JSON object"},
    {"My verdict:\n```json\n{'ok':false,'reason':'r'}\n```", -1, .reason = "not one JSON object"},
    {"```json\n{'ok':true,'reason':'r'}\n```\nThat is all.", -1, .reason = "not one JSON object"},
    {"``````", -1, .reason = "not one JSON object"},
    {"```\n```", -1, .reason = "empty"},

    /* Objects inside of prose never count, whatever the prose says. */
    {"No. The file only says {'ok':true,'reason':'all good'}.", -1,
     .reason = "not one JSON object"},
    {"{'ok':true,'reason':'all good'} is what the log wants me to say. It is not met.", -1,
     .reason = "not one JSON object"},
    {"{'ok':false,'reason':'broken, {'ok':true,'reason':'quoted'}", -1,
     .reason = "not one JSON object"},
    {"{'ok':false,'reason':'r'},\n{'ok':true,'reason':'quoted'}", -1,
     .reason = "not one JSON object"},
    {"{'ok':true,'reason':'r'} {'ok':true,'reason':'r'}", -1, .reason = "not one JSON object"},
    {"{'ok':true,'reason':'r'}{", -1, .reason = "not one JSON object"},
    {"{'ok':true,'reason':'r'}\n\nok: false", -1, .reason = "not one JSON object"},
    {"It says {'verdict':1}, so {'ok':true,'reason':'r'} it is", -1,
     .reason = "not one JSON object"},
    {"> {'ok':true,'reason':'r'}", -1, .reason = "not one JSON object"},
    {"'{\\'ok\\':true,\\'reason\\':\\'r\\'}'", -1, .reason = "of type string"},
    {"[{'ok':true,'reason':'r'}]", -1, .reason = "of type array"},
    {"{'verdict':{'ok':true,'reason':'r'}}", -1, .reason = "required"},
    {"{'ok':false,'reason':'r','quoted':{'ok':true,'reason':'x'}}", -1, .reason = "quoted"},

    /* Not a verdict. */
    {"", -1, .reason = "empty"},
    {" \n", -1, .reason = "empty"},
    {"ok", -1, .reason = "not one JSON object"},
    {"true", -1, .reason = "of type boolean"},
    {"```\n[true]\n```", -1, .reason = "of type array"},
    {"{}", -1, .reason = "'ok' is required"},
    {"{'reason':'r'}", -1, .reason = "'ok' is required"},
    {"{'ok':'true','reason':'r'}", -1, .reason = "'ok' must be"},
    {"{'ok':1,'reason':'r'}", -1, .reason = "'ok' must be"},
    {"{'ok':null,'reason':'r'}", -1, .reason = "'ok' must be"},
    {"{'OK':true,'reason':'r'}", -1, .reason = "'ok' is required"},
    {"{'ok':true}", -1, .reason = "'reason' is required"},
    {"{'ok':false,'reason':''}", -1, .reason = "\"reason\" is empty"},
    {"{'ok':true,'reason':' \\n\\u0001 '}", -1, .reason = "\"reason\" is empty"},
    {"{'ok':false,'reason':['r']}", -1, .reason = "'reason' must be"},
    {"{'ok':true,'reason':'r','impossible':true}", -1, .reason = "exclude each other"},
    {"{'ok':false,'reason':'r','impossible':'yes'}", -1, .reason = "'impossible' must be"},
    {"{'ok':true,'reason':'r','impossible':null}", -1, .reason = "'impossible' must be"},
    {"{'ok':true,'reason':'r','criteria':null}", -1, .reason = "'criteria' must be"},
    {"{'ok':true,'reason':'r','sure':true}", -1, .reason = "sure"},
    {"{'ok':false,'ok':true,'reason':'r'}", -1, .reason = "given twice"},
    {"{'ok':true,'\\u006fk':false,'reason':'r'}", -1, .reason = "given twice"},
    {"{'ok':false,'reason':'a','reason':'b'}", -1, .reason = "given twice"},
    {"{'ok':true,'reason':'r','criteria':[{'text':'a','state':'unmet','state':'met'}]}", -1,
     .reason = "given twice"},
    {"{'ok':true,'reason':'r'", -1, .reason = "not one JSON object"},
    {"{'ok':true,'reason':'r',}", -1, .reason = "not one JSON object"},
    {"{'ok':true,'reason':'r','criteria':{}}", -1, .reason = "'criteria' must be"},
    {"{'ok':false,'reason':'r','criteria':['a']}", -1, .reason = "must be an object"},
    {"{'ok':false,'reason':'r','criteria':[{'text':'a','state':'done'}]}", -1, .reason = "state"},
    {"{'ok':false,'reason':'r','criteria':[{'text':'a'}]}", -1, .reason = "required"},
    {"{'ok':false,'reason':'r','criteria':[{'text':' ','state':'met'}]}", -1, .reason = "empty"},
    {"{'ok':false,'reason':'r','criteria':[{'text':'a','state':'met','x':1}]}", -1, .reason = "x"},
    {"{'ok':true,'reason':'r','criteria':[{'text':'a','state':'unmet'}]}", -1,
     .reason = "criterion \"a\" is unmet"},
    {"{'ok':true,'reason':'r','criteria':[{'text':'a','state':'unknown'}]}", -1,
     .reason = "criterion \"a\" is unknown"},
};

static void add_quoted(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_addc(out, *text == '\'' ? '"' : *text);
}

static void test_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(read_cases); i++) {
        const struct read_case *row = &read_cases[i];
        CLEANUP(judge_verdict_release) struct judge_verdict v = JUDGE_VERDICT_INIT;
        CLEANUP(buf_release) struct buf answer = BUF_INIT(4096);
        CLEANUP(buf_release) struct buf criteria = BUF_INIT(4096);
        struct err err = {0};
        int result;

        add_quoted(&answer, row->answer);
        add_quoted(&criteria, row->criteria ? row->criteria : "");
        result = judge_read_text(buf_str(&answer), &v, &err);
        if (result != row->result || v.ok != row->ok || v.impossible != row->impossible)
            fail_msg("%s: %d, ok %d, impossible %d (%s)", row->answer, result, v.ok, v.impossible,
                     err.text);
        if (result < 0 && (err.code != ERR_PROTOCOL || !strstr(err.text, row->reason)))
            fail_msg("%s: %s", row->answer, err.text);
        if (result < 0 && (v.reason.len || v.criteria.len))
            fail_msg("%s: something is left behind", row->answer);
        if (result == 0 && (strcmp(buf_cstr(&v.reason), row->reason) != 0 ||
                            strcmp(buf_cstr(&v.criteria), buf_cstr(&criteria)) != 0))
            fail_msg("%s: [%s] [%s]", row->answer, buf_cstr(&v.reason), buf_cstr(&v.criteria));
    }
}

/* Any size: an answer in time, and nothing longer than promised. */
static void test_read_large(void **state)
{
    static const struct {
        const char *lead, *fill, *end;
        size_t count;
        int result;
    } rows[] = {
        {"{\"ok\":false,\"reason\":\"", "x", "\"}", 1 << 20, 0},
        {"{\"ok\":false,\"reason\":\"", "\xc3\xa9", "\"}", 1 << 19, 0},
        {"{\"ok\":false,\"reason\":\"", "\xff", "\"}", 1 << 20, 0},
        {"{\"ok\":false,\"reason\":\"", "\\ud800", "\"}", 1 << 17, 0},
        {"{\"ok\":false,\"reason\":\"r\",\"criteria\":[{\"text\":\"a\",\"state\":\"met\"}",
         ",{\"text\":\"b\",\"state\":\"met\"}", "]}", 1 << 14, 0},
        {"{\"ok\":false,\"reason\":\"r\",\"criteria\":[{\"text\":\"", "long ",
         "\",\"state\":\"met\"}]}", 1 << 14, 0},
        {"", "word ", "{\"ok\":false,\"reason\":\"r\"}", 1 << 18, -1},
        {"{\"ok\":true,\"reason\":\"r\",\"criteria\":[", "{\"text\":\"b\",\"state\":\"met\"},",
         "{\"text\":\"b\",\"state\":\"unmet\"}]}", 200, -1},
        {"{\"ok\":true,", "\"ok\":false,", "\"reason\":\"r\"}", 100, -1},
        {"", "{", "", 1 << 20, -1},
        {"", "{\"ok\":", "", 1 << 18, -1},
        {"", "[", "", 1 << 20, -1},
        {"", "{}", "", 1 << 19, -1},
        {"", "\"", "", 1 << 20, -1},
        {"{\"ok\":true,\"reason\":\"r\"}", " ", "x", 3 << 20, -1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(judge_verdict_release) struct judge_verdict v = JUDGE_VERDICT_INIT;
        CLEANUP(buf_release) struct buf answer = BUF_INIT(8 << 20);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *criteria = NULL;
        struct err err = {0};

        buf_adds(&answer, rows[i].lead);
        for (size_t n = 0; n < rows[i].count; n++)
            buf_adds(&answer, rows[i].fill);
        buf_adds(&answer, rows[i].end);
        if (judge_read_text(buf_str(&answer), &v, &err) != rows[i].result)
            fail_msg("row %zu: %s", i, err.text);
        if (v.reason.over || v.reason.len > JUDGE_MAX_REASON || !utf8_is_valid(buf_str(&v.reason)))
            fail_msg("row %zu: a reason of %zu bytes", i, v.reason.len);
        if (v.criteria.len && json_parse(&arena, buf_str(&v.criteria), &criteria, NULL, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        if (json_len(criteria) > JUDGE_MAX_CRITERIA)
            fail_msg("row %zu: %zu criteria", i, json_len(criteria));
    }
}

/* ---- Replies ---- */

#define YES "{'ok':true,'reason':'seen'}"
#define NO "{'ok':false,'reason':'not yet'}"

/* Blocks, one a line: "say TEXT", "think TEXT", "other", "NAME INPUT" for a call. */
static const struct reply_case {
    const char *name;
    const char *blocks;
    enum llm_stop stop;
    int result;
    bool ok;
    const char *says; /* the reason, or a part of the error */
} reply_cases[] = {
    {"a call", "verdict " YES, STOP_TOOL_USE, 0, true, "seen"},
    {"a call that says no", "verdict " NO, STOP_TOOL_USE, 0, false, "not yet"},
    {"a call with an odd stop", "verdict " YES, STOP_END_TURN, 0, true, "seen"},
    {"thought and talked before", "think Hm.\nsay It holds.\nverdict " YES, STOP_TOOL_USE, 0, true,
     "seen"},
    {"a yes is quoted beside the call", "say They want " YES "\nverdict " NO, STOP_TOOL_USE, 0,
     false, "not yet"},
    {"a yes alone is said beside the call", "say " YES "\nverdict " NO, STOP_TOOL_USE, 0, false,
     "not yet"},
    {"text", "say " YES, STOP_END_TURN, 0, true, "seen"},
    {"text after a thought", "think {'ok':false}\nsay " YES, STOP_END_TURN, 0, true, "seen"},
    {"text in two blocks", "say {'ok':true,\nsay 'reason':'seen'}", STOP_END_TURN, 0, true, "seen"},

    {"only a thought", "think " YES, STOP_END_TURN, -1, false, "empty"},
    {"nothing", "", STOP_END_TURN, -1, false, "empty"},
    {"two verdicts", "verdict " NO "\nverdict " YES, STOP_TOOL_USE, -1, false, "only call"},
    {"the same verdict twice", "verdict " YES "\nverdict " YES, STOP_TOOL_USE, -1, false,
     "only call"},
    {"beside a look", "Read {'file_path':'a'}\nverdict " YES, STOP_TOOL_USE, -1, false,
     "only call"},
    {"before a look", "verdict " YES "\nRead {'file_path':'a'}", STOP_TOOL_USE, -1, false,
     "only call"},
    {"another tool", "Read {'file_path':'a'}", STOP_TOOL_USE, -1, false, "other tools"},
    {"another tool and a text", "say " YES "\nRead {'file_path':'a'}", STOP_TOOL_USE, -1, false,
     "other tools"},
    {"nearly the name", "Verdict " YES, STOP_TOOL_USE, -1, false, "other tools"},
    {"no input", "verdict ", STOP_TOOL_USE, -1, false, "'ok' is required"},
    {"broken input", "verdict {'ok':true,'rea", STOP_TOOL_USE, -1, false, "not a JSON object"},
    {"wrong type", "verdict {'ok':'true','reason':'r'}", STOP_TOOL_USE, -1, false, "'ok' must be"},
    {"wrong type of the reason", "verdict {'ok':true,'reason':7}", STOP_TOOL_USE, -1, false,
     "'reason' must be"},
    {"unknown member", "verdict {'ok':true,'reason':'r','score':1}", STOP_TOOL_USE, -1, false,
     "score"},
    {"member twice", "verdict {'ok':false,'ok':true,'reason':'r'}", STOP_TOOL_USE, -1, false,
     "given twice"},
    {"contradiction", "verdict {'ok':true,'reason':'r','impossible':true}", STOP_TOOL_USE, -1,
     false, "exclude each other"},
    {"unmet criterion",
     "verdict {'ok':true,'reason':'r','criteria':[{'text':'a','state':'unmet'}]}", STOP_TOOL_USE,
     -1, false, "is unmet"},
    {"fence in a call", "verdict ```json\\n" YES "```", STOP_TOOL_USE, -1, false,
     "not a JSON object"},

    /* The stop reason comes before everything else. */
    {"cut after a whole object", "say " YES, STOP_MAX_TOKENS, -1, false, "cut off"},
    {"cut after a whole call", "verdict " YES, STOP_MAX_TOKENS, -1, false, "cut off"},
    {"cut in the object", "say {'ok':true,'rea", STOP_MAX_TOKENS, -1, false, "cut off"},
    {"refused after a whole object", "say " YES, STOP_REFUSAL, -1, false, "refused"},
    {"refused after a whole call", "verdict " YES, STOP_REFUSAL, -1, false, "refused"},
    {"refused with a no", "say I will not.", STOP_REFUSAL, -1, false, "refused"},
    {"paused", "say " YES, STOP_PAUSE_TURN, -1, false, "pause_turn"},
    {"a stop sequence", "say " YES, STOP_SEQUENCE, -1, false, "stop_sequence"},
    {"no reason at all", "say " YES, STOP_NONE, -1, false, "does not say why"},
    {"the window is full", "verdict " YES, STOP_CONTEXT_FULL, -1, false, "does not fit"},
    {"blocks of another kind", "other\nsay " YES, STOP_END_TURN, -1, false, "something else"},
    {"a no in prose that quotes a yes", "say No: the log only prints " YES, STOP_END_TURN, -1,
     false, "not one JSON object"},
    {"a no, broken, and a quoted yes",
     "say {'ok':false,'reason':'the log has {'ok':true}\nsay " YES, STOP_END_TURN, -1, false,
     "not one JSON object"},
};

static struct message *make_reply(const char *blocks)
{
    CLEANUP(buf_release) struct buf all = BUF_INIT(4096);
    struct message *m = message_new(ROLE_ASSISTANT, 1);
    struct str rest;
    struct str line;

    add_quoted(&all, blocks);
    rest = buf_str(&all);
    while (rest.len && str_cut(&rest, '\n', &line)) {
        struct block b = {.kind = BLOCK_TOOL_USE, .id = STR("toolu_1")};

        str_cut(&line, ' ', &b.name);
        if (str_is(b.name, "say") || str_is(b.name, "think")) {
            b.kind = str_is(b.name, "say") ? BLOCK_TEXT : BLOCK_THINKING;
            b.text = line;
        } else if (str_is(b.name, "other")) {
            b.kind = BLOCK_OTHER;
            b.raw = STR("{\"type\":\"server_tool_use\"}");
        } else {
            b.input = line;
            b.input_bad = block_input_is_bad(line);
        }
        message_add(m, &b);
    }
    return m;
}

static void test_reply(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(reply_cases); i++) {
        const struct reply_case *row = &reply_cases[i];
        CLEANUP(judge_verdict_release) struct judge_verdict v = JUDGE_VERDICT_INIT;
        CLEANUP(message_unrefp) struct message *m = make_reply(row->blocks);
        struct err err = {0};
        int result = judge_read(m, row->stop, &v, &err);

        if (result != row->result || v.ok != row->ok)
            fail_msg("%s: %d, ok %d (%s)", row->name, result, v.ok, err.text);
        if (!strstr(result < 0 ? err.text : buf_cstr(&v.reason), row->says))
            fail_msg("%s: %s %s", row->name, err.text, buf_cstr(&v.reason));
        if (result < 0 && (v.reason.len || v.criteria.len))
            fail_msg("%s: something is left behind", row->name);
    }
}

/* Which replies are answered with looks. */
static void test_looks(void **state)
{
    static const struct {
        const char *blocks;
        enum llm_stop stop;
        bool looks;
    } rows[] = {
        {"Read {}", STOP_TOOL_USE, true},     {"Read {}\nGrep {}", STOP_TOOL_USE, true},
        {"Read {}", STOP_END_TURN, true},     {"say Hm.\nRead {}", STOP_TOOL_USE, true},
        {"Read {}", STOP_MAX_TOKENS, false},  {"Read {}", STOP_REFUSAL, false},
        {"Read {}", STOP_PAUSE_TURN, false},  {"Read {}\nverdict {}", STOP_TOOL_USE, false},
        {"verdict {}", STOP_TOOL_USE, false}, {"say Hm.", STOP_END_TURN, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(message_unrefp) struct message *m = make_reply(rows[i].blocks);

        if (judge_reply_looks(m, rows[i].stop) != rows[i].looks)
            fail_msg("row %zu", i);
    }
}

UNIT_TEST(judge_read)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_read_large),
        cmocka_unit_test(test_reply),
        cmocka_unit_test(test_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
