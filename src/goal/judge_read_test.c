/*
 * What is understood of a judge's answer, and what is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/utf8.h"
#include "goal/judge.h"
#include "json/json.h"

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
    {"{'ok':true,'reason':'r','impossible':null,'criteria':null}", 0, true, false, "r", ""},
    {"{'reason':'r','ok':false,'more':[1,{'ok':true}]}", 0, false, false, "r", ""},
    {"{'ok':false,'reason':'r','criteria':[]}", 0, false, false, "r", "[]"},
    {"{'ok':false,'reason':'r','criteria':[{'text':' a ','state':'met'},"
     "{'state':'unknown','text':'b','x':1}]}",
     0, false, false, "r", "[{'text':'a','state':'met'},{'text':'b','state':'unknown'}]"},

    /* Fences and words. */
    {"```json\n{'ok':true,'reason':'r'}\n```", 0, true, false, "r", ""},
    {"```\n{'ok':true,'reason':'r'}```", 0, true, false, "r", ""},
    {"My verdict:\n```json\n{'ok':false,'reason':'r'}\n```\nThat is all.", 0, false, false, "r",
     ""},
    {"I looked at main() { return 0; } and {x}. {'ok':false,'reason':'a { in it'}", 0, false, false,
     "a { in it", ""},
    {"It says {'verdict':1}, so {'ok':false,'reason':'r'} it is", 0, false, false, "r", ""},
    {"\xef\xbb\xbf{'ok':true,'reason':'r'}", 0, true, false, "r", ""},

    /* What is no verdict. */
    {"", -1, .reason = "empty"},
    {" \n", -1, .reason = "empty"},
    {"ok", -1, .reason = "no JSON object"},
    {"true", -1, .reason = "of type boolean"},
    {"'ok'", -1, .reason = "of type string"},
    {"[{'ok':true,'reason':'r'}]", -1, .reason = "of type array"},
    {"```\n[true]\n```", -1, .reason = "of type array"},
    {"{}", -1, .reason = "no member \"ok\""},
    {"{'reason':'r'}", -1, .reason = "no member \"ok\""},
    {"{'verdict':{'ok':true,'reason':'r'}}", -1, .reason = "no member \"ok\""},
    {"So: {'verdict':{'ok':true,'reason':'r'}}", -1, .reason = "no JSON object with \"ok\""},
    {"{'ok':'true','reason':'r'}", -1, .reason = "\"ok\" must be true or false"},
    {"{'ok':1,'reason':'r'}", -1, .reason = "\"ok\" must be true or false"},
    {"{'ok':null,'reason':'r'}", -1, .reason = "\"ok\" must be true or false"},
    {"{'OK':true,'reason':'r'}", -1, .reason = "no member \"ok\""},
    {"{'ok':true}", -1, .reason = "it is missing"},
    {"{'ok':false,'reason':''}", -1, .reason = "\"reason\" is empty"},
    {"{'ok':true,'reason':' \\n\\u0001 '}", -1, .reason = "\"reason\" is empty"},
    {"{'ok':false,'reason':['r']}", -1, .reason = "\"reason\" must be a text"},
    {"{'ok':true,'reason':'r','impossible':true}", -1, .reason = "exclude each other"},
    {"{'ok':false,'reason':'r','impossible':'yes'}", -1, .reason = "\"impossible\" must be"},
    {"{'ok':true,'ok':false,'reason':'r'}", -1, .reason = "given twice"},
    {"{'ok':false,'reason':'a','reason':'b'}", -1, .reason = "given twice"},
    {"{'ok':true,'reason':'r'} or {'ok':false,'reason':'r'}", -1, .reason = "several"},
    {"The file says {'ok':true,'reason':'x'}, but {'ok':false,'reason':'r'}", -1,
     .reason = "several"},
    {"{'ok':true,'reason':'r'", -1, .reason = "no JSON object"},
    {"{'ok':true,'reason':'r','criteria':{}}", -1, .reason = "must be an array"},
    {"{'ok':false,'reason':'r','criteria':['a']}", -1, .reason = "must have a \"text\""},
    {"{'ok':false,'reason':'r','criteria':[{'text':'a','state':'done'}]}", -1,
     .reason = "met, unmet or unknown"},
    {"{'ok':false,'reason':'r','criteria':[{'text':'a'}]}", -1, .reason = "met, unmet or unknown"},
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
        result = judge_read(buf_str(&answer), &v, &err);
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

/* Whatever the size: an answer in time, and nothing longer than what was promised. */
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
        {"", "word ", "{\"ok\":false,\"reason\":\"r\"}", 1 << 18, 0},
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
        if (judge_read(buf_str(&answer), &v, &err) != rows[i].result)
            fail_msg("row %zu: %s", i, err.text);
        if (v.reason.over || v.reason.len > JUDGE_MAX_REASON || !utf8_is_valid(buf_str(&v.reason)))
            fail_msg("row %zu: a reason of %zu bytes", i, v.reason.len);
        if (v.criteria.len && json_parse(&arena, buf_str(&v.criteria), &criteria, NULL, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        if (json_len(criteria) > JUDGE_MAX_CRITERIA)
            fail_msg("row %zu: %zu criteria", i, json_len(criteria));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_read_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
