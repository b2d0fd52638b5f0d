/*
 * hook: outputs of handlers as a table, merged one over the other; matchers; runners and their
 * errors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/hook.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/json.h"
#include "unit.h"

struct merge_row {
    enum hook_event event;
    const char *outputs[3];
    const char *expect; /* what show() writes; or "! " and the start of the error */
};

#define PRE(fields) "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\"," fields "}}"
#define REQUEST(decision)                                                                          \
    "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":" decision "}}"

static const struct merge_row merge_rows[] = {
    {HOOK_STOP, {"{}"}, "silent"},
    {HOOK_PRE_TOOL_USE, {PRE("\"permissionDecision\":\"allow\"")}, "allow"},
    {HOOK_PRE_TOOL_USE,
     {PRE("\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no\"")},
     "deny reason=no"},
    {HOOK_PRE_TOOL_USE, {PRE("\"permissionDecision\":\"ask\"")}, "ask"},
    {HOOK_PRE_TOOL_USE, {PRE("\"permissionDecision\":\"defer\"")}, "defer"},
    {HOOK_PRE_TOOL_USE,
     {PRE("\"permissionDecision\":\"defer\""), PRE("\"permissionDecision\":\"ask\"")},
     "defer"},
    {HOOK_PRE_TOOL_USE,
     {PRE("\"permissionDecision\":\"deny\""), PRE("\"permissionDecision\":\"defer\"")},
     "deny"},
    {HOOK_PRE_TOOL_USE,
     {PRE("\"updatedInput\":{\"a\":1},\"additionalContext\":\"c\"")},
     "silent context=c input={\"a\":1}"},
    {HOOK_PRE_TOOL_USE, {"{\"decision\":\"block\",\"reason\":\"old\"}"}, "deny reason=old"},
    {HOOK_PRE_TOOL_USE, {"{\"decision\":\"approve\",\"reason\":\"old\"}"}, "allow reason=old"},

    /* Several: the stronger one, with its reason. */
    {HOOK_PRE_TOOL_USE,
     {PRE("\"permissionDecision\":\"allow\",\"permissionDecisionReason\":\"a\""),
      PRE("\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"d\""),
      PRE("\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"k\"")},
     "deny reason=d"},
    {HOOK_PRE_TOOL_USE,
     {PRE("\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"1\""),
      PRE("\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"2\""), "{}"},
     "ask reason=1\n2"},
    {HOOK_PRE_TOOL_USE,
     {PRE("\"additionalContext\":\"1\",\"updatedInput\":{\"x\":1}"),
      PRE("\"additionalContext\":\"2\",\"updatedInput\":{\"x\":2}")},
     "silent context=1\n2 input={\"x\":2}"},

    {HOOK_PERMISSION_REQUEST,
     {REQUEST(
         "{\"behavior\":\"allow\",\"updatedInput\":{},\"updatedPermissions\":[{\"type\":\"x\"}]}")},
     "allow input={} permissions=[{\"type\":\"x\"}]"},
    {HOOK_PERMISSION_REQUEST,
     {REQUEST("{\"behavior\":\"deny\",\"message\":\"m\",\"interrupt\":true}")},
     "deny interrupt reason=m"},
    {HOOK_PERMISSION_REQUEST, {REQUEST("{\"behavior\":\"deny\"}")}, "deny"},
    {HOOK_PERMISSION_REQUEST, {"{\"decision\":\"block\",\"reason\":\"x\"}"}, "silent"},

    {HOOK_STOP, {"{\"decision\":\"block\",\"reason\":\"go on\"}"}, "deny reason=go on"},
    {HOOK_STOP,
     {"{\"hookSpecificOutput\":{\"hookEventName\":\"Stop\",\"additionalContext\":\"c\"}}"},
     "deny context=c"},
    {HOOK_USER_PROMPT_SUBMIT, {"{\"decision\":\"block\",\"reason\":\"r\"}"}, "deny reason=r"},
    {HOOK_SESSION_START, {"{\"decision\":\"block\",\"reason\":\"r\"}"}, "silent"},
    {HOOK_SESSION_START,
     {"{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":\"c\"}}"},
     "silent context=c"},
    {HOOK_POST_TOOL_USE,
     {"{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"updatedToolOutput\":\"t\"}}"},
     "silent output=t"},
    {HOOK_POST_TOOL_USE,
     {"{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"updatedMCPToolOutput\":{\"a\":["
      "]}}}"},
     "silent output={\"a\":[]}"},
    {HOOK_POST_TOOL_USE_FAILURE, {"{\"decision\":\"block\",\"reason\":\"r\"}"}, "deny reason=r"},

    /* For every event. */
    {HOOK_STOP,
     {"{\"continue\":false,\"stopReason\":\"1\"}", "{\"continue\":false,\"stopReason\":\"2\"}"},
     "silent stop stop_reason=1"},
    {HOOK_STOP,
     {"{\"systemMessage\":\"a\",\"suppressOutput\":true}", "{\"systemMessage\":\"b\"}"},
     "silent message=a\nb"},
    {HOOK_STOP, {"{\"continue\":true,\"stopReason\":\"x\",\"new\":[1]}"}, "silent"},
    {HOOK_STOP, {"{\"async\":true,\"decision\":\"block\"}"}, "silent"},
    {HOOK_STOP, {"{\"reason\":null,\"decision\":null}"}, "silent"},

    {HOOK_STOP,
     {"{\"terminalSequence\":\"\\u001b]9;a\\u0007\"}", "{\"terminalSequence\":\"\\u0007\"}"},
     "silent terminal=\033]9;a\a\a"},
    {HOOK_STOP,
     {"{\"terminalSequence\":\"\\u001b[2J\",\"systemMessage\":\"m\"}"},
     "silent message=m"},

    /* Malformed output changes nothing. */
    {HOOK_STOP, {"[]"}, "! the output is not a JSON object"},
    {HOOK_STOP, {"{\"decision\":\"deny\"}"}, "! 'decision' must be block or approve, not 'deny'"},
    {HOOK_STOP, {"{\"continue\":\"no\"}"}, "! 'continue' must be of type"},
    {HOOK_STOP, {"{\"systemMessage\":1}"}, "! 'systemMessage' must be of type"},
    {HOOK_STOP, {"{\"hookSpecificOutput\":1}"}, "! 'hookSpecificOutput' must be of type"},
    {HOOK_STOP, {"{\"hookSpecificOutput\":{}}"}, "! 'hookEventName' must be Stop, not ''"},
    {HOOK_STOP,
     {"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\"}}"},
     "! 'hookEventName' must be Stop, not 'PreToolUse'"},
    {HOOK_PRE_TOOL_USE,
     {PRE("\"permissionDecision\":\"yes\"")},
     "! 'permissionDecision' must be allow, deny, ask or defer, not 'yes'"},
    {HOOK_PRE_TOOL_USE,
     {PRE("\"permissionDecision\":\"deny\",\"updatedInput\":[]")},
     "! 'updatedInput' must be of type"},
    {HOOK_PERMISSION_REQUEST, {REQUEST("{}")}, "! 'behavior' must be allow or deny, not ''"},
    {HOOK_PERMISSION_REQUEST,
     {REQUEST("{\"behavior\":\"allow\",\"updatedPermissions\":{}}")},
     "! 'updatedPermissions' must be of type"},
};

static void show_text(struct buf *out, const char *name, const struct buf *text)
{
    if (text->len)
        buf_addf(out, " %s=%s", name, buf_cstr(text));
}

static void show(const struct hook_outcome *o, struct buf *out)
{
    static const char *const decisions[] = {"silent", "allow", "ask", "defer", "deny"};

    buf_adds(out, decisions[o->decision]);
    buf_adds(out, o->stop ? " stop" : "");
    buf_adds(out, o->interrupt ? " interrupt" : "");
    show_text(out, "reason", &o->reason);
    show_text(out, "stop_reason", &o->stop_reason);
    show_text(out, "context", &o->context);
    show_text(out, "message", &o->message);
    show_text(out, "terminal", &o->terminal);
    show_text(out, "input", &o->input);
    show_text(out, "output", &o->output);
    show_text(out, "permissions", &o->permissions);
}

static void merge(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(merge_rows); i++) {
        const struct merge_row *row = &merge_rows[i];
        CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf got = BUF_INIT(4096);
        CLEANUP(buf_release) struct buf before = BUF_INIT(4096);
        struct err err = {0};

        show(&o, &before);
        for (size_t j = 0; j < ARRAY_LEN(row->outputs) && row->outputs[j]; j++) {
            const struct json *output;

            assert_int_equal(json_parse(&arena, str_of(row->outputs[j]), &output, NULL, &err), 0);
            hook_outcome_merge(&o, row->event, output, &err);
        }
        show(&o, &got);
        if (row->expect[0] == '!') {
            if (err.code != ERR_BAD_INPUT || !str_starts(str_of(err.text), str_of(row->expect + 2)))
                fail_msg("row %zu: error '%s'", i, err.text);
            if (strcmp(buf_cstr(&got), buf_cstr(&before)) != 0)
                fail_msg("row %zu: changed to '%s'", i, buf_cstr(&got));
        } else if (err.code || strcmp(buf_cstr(&got), row->expect) != 0) {
            fail_msg("row %zu: '%s' %s instead of '%s'", i, buf_cstr(&got), err.text, row->expect);
        }
    }
}

static void long_text(void **state)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    const struct json *output;

    (void)state;
    buf_adds(&text, "{\"systemMessage\":\"");
    for (int i = 0; i < 20000; i++)
        buf_addc(&text, 'x');
    buf_adds(&text, "\"}");
    assert_int_equal(json_parse(&arena, buf_str(&text), &output, NULL, NULL), 0);
    assert_int_equal(hook_outcome_merge(&o, HOOK_STOP, output, NULL), 0);
    assert_true(o.message.len > 10000 && o.message.len < 10100);
    assert_true(str_ends(buf_str(&o.message), STR("[10000 more bytes are left out]")));
}

/* A hook may name more files than can be watched; merging them is not done for each with all. */
static const struct terminal_row {
    struct str sequence;
    bool is_fine;
} terminal_rows[] = {
    {STR_INIT(""), true},
    {STR_INIT("\a"), true},
    {STR_INIT("\033]0;title\a"), true},
    {STR_INIT("\033]1;icon\033\\"), true},
    {STR_INIT("\033]2;gr\xc3\xbc\xc3\x9f\033\\\a"), true},
    {STR_INIT("\033]9;done\a\033]777;notify;a;b\a"), true},
    {STR_INIT("\033]99;i=1;done\033\\"), true},
    {STR_INIT("words"), false},
    {STR_INIT("\033[2J"), false},
    {STR_INIT("\033]52;c;eA==\a"), false}, /* the clipboard */
    {STR_INIT("\033]10;red\a"), false},
    {STR_INIT("\033]8;;http://x\a"), false},
    {STR_INIT("\033]0title\a"), false},
    {STR_INIT("\033]0;no end"), false},
    {STR_INIT("\033]0;a\033[2J\a"), false},
    {STR_INIT("\033]0;a\nb\a"), false},
    {STR_INIT("\033]0;a\xc2\x9b"
              "2J\a"),
     false}, /* CSI in one character */
    {STR_INIT("\a\033"), false},
};

static void terminal(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(terminal_rows); i++) {
        if (hook_terminal_is_fine(terminal_rows[i].sequence) != terminal_rows[i].is_fine)
            fail_msg("row %zu", i);
    }
}

static void many_watched(void **state)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    const struct json *output;

    (void)state;
    buf_adds(&text, "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"watchPaths\":[");
    for (int i = 0; i < 30000; i++)
        buf_addf(&text, "%s\"/f%d\"", i ? "," : "", i);
    buf_adds(&text, "]}}");
    assert_int_equal(json_parse(&arena, buf_str(&text), &output, NULL, NULL), 0);
    assert_int_equal(hook_outcome_merge(&o, HOOK_SESSION_START, output, NULL), 0);
    assert_int_equal(o.watch.len, HOOK_MAX_WATCH);
    assert_string_equal(o.watch.ptr[HOOK_MAX_WATCH - 1], "/f199");
}

static void names(void **state)
{
    (void)state;
    for (size_t i = 0; i < HOOK_EVENT_COUNT; i++) {
        enum hook_event e;

        assert_true(hook_event_parse(str_of(hook_event_name((enum hook_event)i)), &e));
        assert_int_equal(e, i);
    }
    assert_false(hook_event_parse(STR("stop"), NULL));
}

static const struct {
    const char *matcher;
    const char *subject;
    bool expect;
} match_rows[] = {
    {"", "Bash", true},
    {"*", "Bash", true},
    {"Bash", "Bash", true},
    {"Bash", "BashOutput", false},
    {"bash", "Bash", false},
    {"Bash|Edit", "Edit", true},
    {"Bash , Edit", "Edit", true},
    {"Bash|Edit", "Write", false},
    {"|", "Bash", false},
    {"Bash|", "", false},
    {"mcp__memory__.*", "mcp__memory__get", true},
    {"mcp__memory__.*", "mcp__other__get", false},
    {"^Notebook", "NotebookEdit", true},
    {"^Notebook", "MyNotebook", false},
    {"Edit$", "MultiEdit", true},
    {".*", "x", true},
    {"[", "x", false},
    {"(", "(", false},
    {"(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false},
    {"x.y", "\xff\xfe", false},
};

static void matchers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(match_rows); i++) {
        if (hook_matches(HOOK_PRE_TOOL_USE, str_of(match_rows[i].matcher),
                         str_of(match_rows[i].subject)) != match_rows[i].expect)
            fail_msg("row %zu: '%s' and '%s'", i, match_rows[i].matcher, match_rows[i].subject);
    }
}

/* At StopFailure only '|' separates names; anything else is a regular expression. */
static void matchers_of_errors(void **state)
{
    (void)state;
    assert_true(hook_matches(HOOK_STOP_FAILURE, STR("rate_limit|overloaded"), STR("overloaded")));
    assert_false(hook_matches(HOOK_STOP_FAILURE, STR("rate"), STR("rate_limit")));
    assert_false(hook_matches(HOOK_STOP_FAILURE, STR("rate_limit,overloaded"), STR("overloaded")));
    assert_true(hook_matches(HOOK_STOP_FAILURE, STR("rate-limit|over.*"), STR("overloaded")));
    assert_true(hook_matches(HOOK_PRE_TOOL_USE, STR("rate_limit,overloaded"), STR("overloaded")));
}

struct test_runner {
    struct hook_runner runner;
    bool wants;
    enum err_code fails;
    int runs;
};

static bool test_wants(struct hook_runner *self, enum hook_event event, struct str subject)
{
    (void)event;
    (void)subject;
    return ((struct test_runner *)self)->wants;
}

static int test_run(struct hook_runner *self, const struct hook_input *in, struct cancel *cancel,
                    struct hook_outcome *io, struct err *err)
{
    struct test_runner *t = (struct test_runner *)self;

    (void)in;
    (void)cancel;
    buf_addc(&io->context, 'x');
    t->runs++;
    return t->fails ? err_set(err, t->fails, "%s", err_code_name(t->fails)) : 0;
}

static const struct {
    bool wants[3];
    enum err_code fails[3];
    enum err_code expect;
    int runs; /* of all */
} run_rows[] = {
    {{true, true, true}, {0}, ERR_NONE, 3},
    {{true, false, true}, {0}, ERR_NONE, 2},
    {{false, false, false}, {0}, ERR_NONE, 0},
    {{true, true, true}, {ERR_IO}, ERR_IO, 3},
    {{true, true, true}, {ERR_IO, ERR_DENIED}, ERR_DENIED, 3},
    {{true, true, true}, {ERR_DENIED, ERR_IO}, ERR_DENIED, 3},
    {{true, true, true}, {ERR_NONE, ERR_CANCELLED, ERR_DENIED}, ERR_CANCELLED, 2},
};

static void runners(void **state)
{
    const struct hook_input in = {.event = HOOK_STOP};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(run_rows); i++) {
        CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
        struct test_runner t[3];
        struct hook_runner *list[4] = {&t[0].runner, &t[1].runner, &t[2].runner, NULL};
        struct err err = {0};
        bool any = false;
        int r;

        for (size_t j = 0; j < 3; j++) {
            t[j] = (struct test_runner){
                {test_wants, test_run}, run_rows[i].wants[j], run_rows[i].fails[j], 0};
            any |= t[j].wants;
        }
        assert_int_equal(hooks_want(list, HOOK_STOP, STR("")), any);
        r = hooks_run(list, &in, NULL, &o, &err);
        if (err.code != run_rows[i].expect || (r < 0) != (err.code != ERR_NONE) ||
            t[0].runs + t[1].runs + t[2].runs != run_rows[i].runs)
            fail_msg("row %zu: %s", i, err.text);
        assert_int_equal(o.context.len, run_rows[i].runs);
    }
    assert_false(hooks_want(NULL, HOOK_STOP, STR("")));
    assert_int_equal(hooks_run(NULL, &in, NULL, NULL, NULL), 0);
}

UNIT_TEST(outcome)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merge),
        cmocka_unit_test(long_text),
        cmocka_unit_test(terminal),
        cmocka_unit_test(many_watched),
        cmocka_unit_test(names),
        cmocka_unit_test(matchers),
        cmocka_unit_test(matchers_of_errors),
        cmocka_unit_test(runners),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
