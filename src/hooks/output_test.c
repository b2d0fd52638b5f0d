/*
 * Exit codes and JSON, event by event.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "hooks/handler.h"
#include "hooks/output.h"
#include "hooks/point.h"
#include "unit.h"

/* What came of it, in one line: "deny=reason ask stop=… context=… message=… error=…". */
static void tell(const struct hook_outcome *o, int r, const struct err *err, struct buf *ret)
{
    static const char *const decisions[] = {"", "allow", "ask", "defer", "deny"};
    const struct {
        const char *name;
        const struct buf *text;
    } parts[] = {
        {"reason", &o->reason}, {"context", &o->context}, {"message", &o->message},
        {"input", &o->input},   {"output", &o->output},   {"title", &o->title},
        {"first", &o->first},
    };

    buf_adds(ret, decisions[o->decision]);
    if (o->stop)
        buf_addf(ret, " stop=%s", buf_cstr(&o->stop_reason));
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (parts[i].text->len)
            buf_addf(ret, " %s=%s", parts[i].name, buf_cstr(parts[i].text));
    }
    if (o->retry)
        buf_adds(ret, " retry");
    if (o->hides_prompt)
        buf_adds(ret, " hides");
    if (r < 0)
        buf_addf(ret, " error=%s", err->text);
}

static void check(const char *name, enum hook_event event, const struct output *output,
                  unsigned flags, const char *expected)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf told = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};
    int r = output_merge(output, event, flags, &o, &err);

    tell(&o, r, &err, &told);
    if (strcmp(buf_cstr(&told), expected) != 0)
        fail_msg("%s at %s:\n  got      '%s'\n  expected '%s'", name, hook_event_name(event),
                 buf_cstr(&told), expected);
}

/* Exit codes, at every event. Standard output is "out", standard error "why\nmore". */
static const struct {
    enum hook_event event;
    const char *zero, *two, *other;
} code_rows[] = {
    {HOOK_SESSION_START, " context=out", " message=why\nmore", " error=exit code 1: why"},
    {HOOK_USER_PROMPT_SUBMIT, " context=out", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_USER_PROMPT_EXPANSION, " context=out", "deny reason=why\nmore",
     " error=exit code 1: why"},
    {HOOK_PRE_TOOL_USE, "", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_PERMISSION_REQUEST, "", "", " error=exit code 1: why"},
    {HOOK_PERMISSION_DENIED, "", "", " error=exit code 1: why"},
    {HOOK_POST_TOOL_USE, "", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_POST_TOOL_USE_FAILURE, "", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_POST_TOOL_BATCH, "", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_NOTIFICATION, "", "", " error=exit code 1: why"},
    {HOOK_STOP, "", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_STOP_FAILURE, "", "", " error=exit code 1: why"},
    {HOOK_SUBAGENT_START, "", " message=why\nmore", " error=exit code 1: why"},
    {HOOK_SUBAGENT_STOP, "", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_PRE_COMPACT, "", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_POST_COMPACT, "", " message=why\nmore", " error=exit code 1: why"},
    {HOOK_TASK_CREATED, "", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_TASK_COMPLETED, "", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_TEAMMATE_IDLE, "", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_INSTRUCTIONS_LOADED, "", "", " error=exit code 1: why"},
    {HOOK_CWD_CHANGED, "", " message=why\nmore", " error=exit code 1: why"},
    {HOOK_DIRECTORY_ADDED, "", "", " error=exit code 1: why"},
    {HOOK_FILE_CHANGED, "", " message=why\nmore", " error=exit code 1: why"},
    {HOOK_CONFIG_CHANGE, "", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_ELICITATION, "", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_ELICITATION_RESULT, "", "deny reason=why\nmore", " error=exit code 1: why"},
    {HOOK_SESSION_END, "", " message=why\nmore", " error=exit code 1: why"},
};

static void exit_codes(void **state)
{
    (void)state;
    assert_int_equal(ARRAY_LEN(code_rows), HOOK_EVENT_COUNT);
    for (size_t i = 0; i < ARRAY_LEN(code_rows); i++) {
        struct output o = {.out = STR("out\n"), .err = STR("\nwhy\nmore\n")};

        check("exit 0", code_rows[i].event, &o, 0, code_rows[i].zero);
        o.code = 2;
        check("exit 2", code_rows[i].event, &o, 0, code_rows[i].two);
        o.code = 1;
        check("exit 1", code_rows[i].event, &o, 0, code_rows[i].other);
        o.code = 127;
        o.err = STR("");
        check("exit 127", code_rows[i].event, &o, 0, " error=exit code 127");
    }
}

#define DENY                                                                                       \
    "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\","   \
    "\"permissionDecisionReason\":\"never\"}}"
#define ALLOW                                                                                      \
    "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}"

static const struct {
    const char *name;
    enum hook_event event;
    int code;
    const char *out, *err;
    const char *expected;
} json_rows[] = {
    {"a session's name and first words", HOOK_SESSION_START, 0,
     "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"sessionTitle\":\"T\","
     "\"initialUserMessage\":\"Go.\",\"watchPaths\":[\"/x\"],\"reloadSkills\":true}}",
     "", " title=T first=Go."},
    {"a path that is no list", HOOK_SESSION_START, 0,
     "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"watchPaths\":\"/x\"}}", "",
     " error=its JSON cannot be used: 'watchPaths' must be of type array, not string"},
    {"a prompt kept from the screen", HOOK_USER_PROMPT_SUBMIT, 0,
     "{\"decision\":\"block\",\"reason\":\"no\",\"hookSpecificOutput\":{\"hookEventName\":"
     "\"UserPromptSubmit\",\"suppressOriginalPrompt\":true,\"sessionTitle\":\"T\"}}",
     "", "deny reason=no title=T hides"},
    {"another try", HOOK_PERMISSION_DENIED, 0,
     "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionDenied\",\"retry\":true}}", "",
     " retry"},
    {"what no event of its has", HOOK_PERMISSION_DENIED, 0,
     "{\"decision\":\"block\",\"reason\":\"x\"}", "", ""},
    {"a decision", HOOK_STOP, 0, " {\"decision\":\"block\",\"reason\":\"not yet\"}\n", "x",
     "deny reason=not yet"},
    {"no decision", HOOK_STOP, 0, "{}", "", ""},
    {"approves", HOOK_STOP, 0, "{\"decision\":\"approve\"}", "", ""},
    {"more to think about", HOOK_STOP, 0,
     "{\"hookSpecificOutput\":{\"hookEventName\":\"Stop\",\"additionalContext\":\"look\"}}", "",
     "deny context=look"},
    {"stops", HOOK_STOP, 0, "{\"continue\":false,\"stopReason\":\"enough\"}", "", " stop=enough"},
    {"tells the user", HOOK_STOP, 0, "{\"systemMessage\":\"hello\"}", "", " message=hello"},
    {"denies", HOOK_PRE_TOOL_USE, 0, DENY, "", "deny reason=never"},
    {"allows", HOOK_PRE_TOOL_USE, 0, ALLOW, "", "allow"},
    {"changes the input", HOOK_PRE_TOOL_USE, 0,
     "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"updatedInput\":{\"a\":1}}}", "",
     " input={\"a\":1}"},
    {"changes the result", HOOK_POST_TOOL_USE, 0,
     "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"updatedToolOutput\":\"z\"}}", "",
     " output=z"},
    /* Exit code 2: JSON gives the reason, and cannot undo it. */
    {"2 and a reason", HOOK_STOP, 2, "{\"decision\":\"block\",\"reason\":\"json\"}", "stderr",
     "deny reason=json"},
    {"2 without a reason", HOOK_STOP, 2, "{\"decision\":\"block\"}", "stderr",
     "deny reason=stderr"},
    {"2 and allow", HOOK_PRE_TOOL_USE, 2, ALLOW, "stderr", "deny reason=stderr"},
    {"2 and a message", HOOK_PRE_TOOL_USE, 2, "{\"systemMessage\":\"hello\"}", "stderr",
     "deny reason=stderr message=hello"},
    {"2 and broken JSON", HOOK_STOP, 2, "{\"decision\":", "stderr", "deny reason=stderr"},
    {"2 and nothing", HOOK_STOP, 2, "", "", "deny reason=A hook objects, and does not say why."},
    /* Other codes: JSON alone decides, where there is any. */
    {"1 and JSON", HOOK_STOP, 1, "{\"decision\":\"block\",\"reason\":\"json\"}", "stderr",
     "deny reason=json"},
    {"1 and empty JSON", HOOK_STOP, 1, "{}", "stderr", ""},
    {"1 and broken JSON", HOOK_STOP, 1, "{oops", "stderr", " error=exit code 1: stderr"},
    /* JSON that is not as it should be changes nothing. */
    {"broken", HOOK_STOP, 0, "{\"decision\":", "",
     " error=its JSON cannot be used: line 1, column 13: expected a value, but the text ends here"},
    {"wrong type", HOOK_STOP, 0, "{\"systemMessage\":\"x\",\"decision\":1}", "",
     " error=its JSON cannot be used: 'decision' must be of type string, not number"},
    {"wrong event", HOOK_STOP, 0,
     "{\"systemMessage\":\"x\",\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\"}}", "",
     " error=its JSON cannot be used: 'hookEventName' must be Stop, not 'PreToolUse'"},
    {"two values", HOOK_STOP, 0, "{} {}", "",
     " error=its JSON cannot be used: line 1, column 4: expected nothing more after the value, not "
     "'{'"},
    {"async", HOOK_STOP, 0, "{\"async\":true,\"decision\":\"block\"}", "", ""},
    {"plain words", HOOK_STOP, 0, "block", "", ""},
};

static void json(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(json_rows); i++) {
        struct output o = {
            .code = json_rows[i].code,
            .out = str_of(json_rows[i].out),
            .err = str_of(json_rows[i].err),
        };

        check(json_rows[i].name, json_rows[i].event, &o, 0, json_rows[i].expected);
    }
}

static const struct {
    const char *name;
    enum hook_event event;
    struct output output;
    const char *goes_on, *blocks; /* onFailure */
} failure_rows[] = {
    {"late",
     HOOK_PRE_TOOL_USE,
     {.end = OUTPUT_TIMED_OUT, .out = STR_INIT(DENY), .code = 2},
     " error=it took too long and was ended",
     "deny reason=it took too long and was ended"},
    {"late",
     HOOK_STOP,
     {.end = OUTPUT_TIMED_OUT, .code = 2},
     " error=it took too long and was ended",
     " error=it took too long and was ended"},
    {"not started",
     HOOK_PRE_TOOL_USE,
     {.end = OUTPUT_NOT_STARTED, .err = STR_INIT("no file")},
     " error=it could not be started: no file",
     "deny reason=it could not be started: no file"},
    {"killed",
     HOOK_USER_PROMPT_SUBMIT,
     {.end = OUTPUT_SIGNALLED, .code = 9},
     " error=it was killed by signal 9",
     "deny reason=it was killed by signal 9"},
    {"exit 1",
     HOOK_PRE_TOOL_USE,
     {.code = 1, .err = STR_INIT("bad")},
     " error=exit code 1: bad",
     "deny reason=exit code 1: bad"},
    {"exit 1 with JSON", HOOK_PRE_TOOL_USE, {.code = 1, .out = STR_INIT("{}")}, "", ""},
    {"too much",
     HOOK_PRE_TOOL_USE,
     {.out = STR_INIT("{"), .cut = true},
     " error=it printed more than 1024 KB",
     "deny reason=it printed more than 1024 KB"},
    {"nothing to keep back",
     HOOK_POST_COMPACT,
     {.code = 1},
     " error=exit code 1",
     " error=exit code 1"},
};

static void failures(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(failure_rows); i++) {
        check(failure_rows[i].name, failure_rows[i].event, &failure_rows[i].output, 0,
              failure_rows[i].goes_on);
        check(failure_rows[i].name, failure_rows[i].event, &failure_rows[i].output,
              HANDLER_FAILURE_BLOCKS, failure_rows[i].blocks);
    }
}

/* Several at one event: deny beats ask beats allow, in whatever order. */
static void several(void **state)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf told = BUF_INIT(BUF_NO_LIMIT);
    const struct output outputs[] = {
        {.out = STR(ALLOW)}, {.code = 2, .err = STR("one")},    {.out = STR(DENY)},
        {.out = STR(ALLOW)}, {.code = 1, .err = STR("broken")},
    };
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(outputs); i++)
        (void)output_merge(&outputs[i], HOOK_PRE_TOOL_USE, 0, &o, &err);
    tell(&o, 0, &err, &told);
    assert_string_equal(buf_cstr(&told), "deny reason=one\nnever");
}

UNIT_TEST(output)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes),
        cmocka_unit_test(json),
        cmocka_unit_test(failures),
        cmocka_unit_test(several),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
