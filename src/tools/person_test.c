/*
 * The tools that ask the user: their questions, the results for the model, and the mode afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/ask.h"
#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/schema.h"
#include "tools/entries.h"
#include "unit.h"

static char root[] = "/tmp/tenax-person-XXXXXX";
static char home[sizeof(root) + 8];

/* A permit as the settings' defaults make it, in this mode. */
struct place {
    struct conf *conf;
    struct workspace *workspace;
    struct permit *permit;
};

static void place_make(struct place *p, enum permit_mode before, enum permit_mode mode)
{
    static char *environ[] = {home, NULL};
    struct conf_sources from = {.dir = root, .environ = environ, .etc = root};
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct err err = {0};

    if (conf_load(&from, &p->conf, &err) < 0)
        fail_msg("%s", err.text);
    p->workspace = workspace_new(root, root, environ);
    if (permit_new(p->conf, p->workspace, &warnings, &p->permit, &err) < 0 ||
        permit_set_mode(p->permit, before, &err) < 0 || permit_set_mode(p->permit, mode, &err) < 0)
        fail_msg("%s", err.text);
}

static void place_release(struct place *p)
{
    permit_free(p->permit);
    workspace_unref(p->workspace);
    conf_unref(p->conf);
}

/* The user, who answers as the row says. */
struct person {
    struct asker asker;
    const char *input;       /* of the answer; NULL: it fails with code */
    const char *message;     /* not NULL: no */
    const char *permissions; /* or NULL */
    enum err_code code;
    bool interrupt;
    int asked;
    enum ask_kind kind;
    char question[2000];
};

static int user_ask_put(struct asker *self, const struct ask *ask, struct cancel *cancel,
                        struct ask_answer *ret, struct err *err)
{
    struct person *p = (struct person *)self;

    (void)cancel;
    p->asked++;
    p->kind = ask->kind;
    snprintf(p->question, sizeof(p->question), "%.*s %.*s %.*s", STR_ARG(ask->tool_name),
             STR_ARG(ask->tool_use_id), STR_ARG(ask->input));
    assert_true(ask->needs_person);
    if (p->code)
        return err_set(err, p->code, "it failed");
    ret->allowed = !p->message;
    ret->interrupt = p->interrupt;
    if (p->message)
        buf_adds(&ret->message, p->message);
    if (p->input)
        buf_adds(&ret->input, p->input);
    if (p->permissions)
        buf_adds(&ret->permissions, p->permissions);
    return 0;
}

struct outcome {
    int code; /* of the error, or 0 */
    struct err err;
    struct tool_result result;
};

static void run(const struct tool_entry *entry, const char *args, struct permit *permit,
                struct person *person, struct outcome *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *schema = NULL;
    const struct json *v = NULL;
    struct tool_call call = {.entry = entry, .id = STR("toolu_1"), .permit = permit};

    *ret = (struct outcome){.result = TOOL_RESULT_INIT};
    if (person) {
        person->asker.put = user_ask_put;
        call.asker = &person->asker;
    }
    assert_int_equal(json_parse(&arena, str_of(entry->schema), &schema, NULL, NULL), 0);
    assert_int_equal(json_parse(&arena, str_of(args), &v, NULL, NULL), 0);
    if (schema_check(schema, v, &ret->err) < 0) {
        ret->code = -1;
        return;
    }
    call.args = v;
    if (entry->run(&call, &ret->result, &ret->err) < 0)
        ret->code = (int)ret->err.code;
}

static const char *outcome_text(const struct outcome *o)
{
    return o->code ? o->err.text : buf_cstr(&o->result.text);
}

#define Q1                                                                                         \
    "{\"question\":\"Which?\",\"header\":\"Db\",\"multiSelect\":false,\"options\":["               \
    "{\"label\":\"A\",\"description\":\"a\"},{\"label\":\"B\",\"description\":\"b\"}]}"
#define Q2                                                                                         \
    "{\"question\":\"What else?\",\"header\":\"More\",\"multiSelect\":true,\"options\":["          \
    "{\"label\":\"C\",\"description\":\"c\"},{\"label\":\"D\",\"description\":\"d\"}]}"
#define ONE "{\"questions\":[" Q1 "]}"
#define TWO "{\"questions\":[" Q1 "," Q2 "]}"

static const struct {
    const char *name;
    const char *args;
    bool absent; /* no asker at all */
    enum err_code fails;
    const char *answer;
    const char *denial;
    bool interrupt;
    int asked;
    int code;
    bool is_error;
    const char *want;
    const char *data; /* or NULL: none is looked for */
} question_cases[] = {
    {"one label", ONE, .answer = "{\"questions\":[],\"answers\":{\"Which?\":\"B\"}}", .asked = 1,
     .want = "Which?\n→ B", .data = "{\"questions\":[" Q1 "],\"answers\":{\"Which?\":\"B\"}}"},
    {"a list, one text", TWO,
     .answer = "{\"answers\":{\"Which?\":\"my own\",\"What else?\":[\"C\",\"D\"]}}", .asked = 1,
     .want = "Which?\n→ my own\nWhat else?\n→ C, D"},
    {"by header", ONE, .answer = "{\"answers\":{\"Db\":\"A\"}}", .asked = 1, .want = "Which?\n→ A"},
    {"one left out", TWO, .answer = "{\"answers\":{\"Which?\":\"A\"}}", .asked = 1,
     .want = "Which?\n→ A\nWhat else?\n→ (not answered)"},
    {"in general", ONE, .answer = "{\"answers\":{},\"response\":\"neither\"}", .asked = 1,
     .want = "Which?\n→ (not answered)\nThe user says: neither",
     .data = "{\"questions\":[" Q1 "],\"answers\":{},\"response\":\"neither\"}"},
    {"allowed, unanswered", ONE, .asked = 1,
     .want = "Which?\n→ (not answered)\nThe user chose nothing. Decide yourself and say what you "
             "assume.",
     .data = "{\"questions\":[" Q1 "],\"answers\":{}}"},
    {"answers of the wrong type", ONE, .answer = "{\"answers\":{\"Which?\":{\"x\":[1]}}}",
     .asked = 1,
     .want = "Which?\n→ (not answered)\nThe user chose nothing. Decide yourself and say what you "
             "assume."},
    {"no JSON", ONE, .answer = "{", .asked = 1, .code = ERR_BAD_INPUT, .want = "the answer: "},
    {"a hook has answered", "{\"questions\":[" Q1 "],\"answers\":{\"Which?\":\"A\"}}",
     .want = "Which?\n→ A"},
    {"denied", ONE, .denial = "later", .asked = 1, .is_error = true,
     .want = "The user did not answer the questions. They say: later"},
    {"denied for good", ONE, .denial = "", .interrupt = true, .asked = 1, .is_error = true,
     .want = "The user did not answer the questions."},
    {"no asker", ONE, .absent = true,
     .want = "No user is here to answer now. Decide yourself, prefer steps that are easy to undo, "
             "and say "
             "in your answer what you assumed.",
     .data = "{\"questions\":[" Q1 "],\"answers\":{}}"},
    {"no front end", ONE, .fails = ERR_UNSUPPORTED, .asked = 1,
     .want = "No user is here to answer now. Decide yourself, prefer steps that are easy to undo, "
             "and say "
             "in your answer what you assumed."},
    {"cancelled", ONE, .fails = ERR_CANCELLED, .asked = 1, .code = ERR_CANCELLED,
     .want = "it failed"},
    {"the same twice", "{\"questions\":[" Q1 "," Q1 "]}", .code = ERR_BAD_INPUT,
     .want = "two questions have the same text: \"Which?\""},
    {"none", "{\"questions\":[]}", .code = -1, .want = ""},
    {"five", "{\"questions\":[" Q1 "," Q1 "," Q1 "," Q1 "," Q1 "]}", .code = -1, .want = ""},
    {"one option",
     "{\"questions\":[{\"question\":\"Q\",\"header\":\"H\",\"multiSelect\":false,\"options\":["
     "{\"label\":\"A\",\"description\":\"a\"}]}]}",
     .code = -1, .want = ""},
    {"no description",
     "{\"questions\":[{\"question\":\"Q\",\"header\":\"H\",\"multiSelect\":false,\"options\":["
     "{\"label\":\"A\"},{\"label\":\"B\"}]}]}",
     .code = -1, .want = ""},
};

static void questions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(question_cases); i++) {
        struct person person = {.input = question_cases[i].answer,
                                .message = question_cases[i].denial,
                                .interrupt = question_cases[i].interrupt,
                                .code = question_cases[i].fails};
        struct place place;
        struct outcome o;

        print_message("%s\n", question_cases[i].name);
        place_make(&place, MODE_DEFAULT, MODE_DEFAULT);
        run(&tool_ask_user_question_entry, question_cases[i].args, place.permit,
            question_cases[i].absent ? NULL : &person, &o);
        assert_int_equal(o.code, question_cases[i].code);
        if (o.code)
            assert_true(str_starts(str_of(outcome_text(&o)), str_of(question_cases[i].want)));
        else
            assert_string_equal(outcome_text(&o), question_cases[i].want);
        assert_int_equal(person.asked, question_cases[i].asked);
        assert_int_equal(o.result.is_error, question_cases[i].is_error);
        assert_int_equal(o.result.is_denied, question_cases[i].is_error);
        assert_int_equal(o.result.ends_turn, question_cases[i].interrupt);
        if (question_cases[i].data)
            assert_string_equal(buf_cstr(&o.result.data), question_cases[i].data);
        if (person.asked) {
            assert_int_equal(person.kind, ASK_QUESTION);
            assert_true(str_starts(str_of(person.question),
                                   STR("AskUserQuestion toolu_1 {\"questions\":[{\"question\"")));
        }
        tool_result_release(&o.result);
        place_release(&place);
    }
}

static const struct {
    const char *name;
    const struct tool_entry *entry;
    const char *args;
    enum permit_mode mode, before;
    bool absent;
    enum err_code fails;
    const char *answer;
    const char *denial;
    const char *permissions;
    int code;
    bool is_error;
    enum permit_mode then;
    const char *want;
} plan_cases[] = {
    {"enter", &tool_enter_plan_mode_entry, "{}", MODE_ACCEPT_EDITS, MODE_DEFAULT, .then = MODE_PLAN,
     .want = "Plan mode is on: read and search, change nothing."},
    {"enter twice", &tool_enter_plan_mode_entry, "{}", MODE_PLAN, MODE_DEFAULT, .then = MODE_PLAN,
     .want = "Plan mode is on already."},
    {"enter, unwanted", &tool_enter_plan_mode_entry, "{}", MODE_DEFAULT, MODE_DEFAULT,
     .denial = "just do it", .is_error = true, .then = MODE_DEFAULT,
     .want = "The user does not want plan mode now. They say: just do it"},
    {"enter, nobody there", &tool_enter_plan_mode_entry, "{}", MODE_DEFAULT, MODE_DEFAULT,
     .absent = true, .code = ERR_UNSUPPORTED, .then = MODE_DEFAULT,
     .want = "no user is here to approve a plan"},
    {"enter, cancelled", &tool_enter_plan_mode_entry, "{}", MODE_DEFAULT, MODE_DEFAULT,
     .fails = ERR_CANCELLED, .code = ERR_CANCELLED, .then = MODE_DEFAULT, .want = "it failed"},
    {"approved", &tool_exit_plan_mode_entry, "{\"plan\":\"P\"}", MODE_PLAN, MODE_ACCEPT_EDITS,
     .then = MODE_ACCEPT_EDITS,
     .want = "The user approved the plan. The mode is now acceptEdits. Begin."},
    {"approved, with a mode", &tool_exit_plan_mode_entry, "{\"plan\":\"P\"}", MODE_PLAN,
     MODE_DEFAULT, .permissions = "[{\"type\":\"setMode\",\"mode\":\"acceptEdits\"}]",
     .then = MODE_ACCEPT_EDITS,
     .want = "The user approved the plan. The mode is now acceptEdits. Begin."},
    {"approved, with a rule", &tool_exit_plan_mode_entry, "{\"plan\":\"P\"}", MODE_PLAN,
     MODE_DEFAULT,
     .permissions = "[{\"type\":\"addRules\",\"rules\":[{\"toolName\":\"Bash\",\"ruleContent\":"
                    "\"ls\"}],\"behavior\":\"allow\",\"destination\":\"session\"}]",
     .then = MODE_DEFAULT, .want = "The user approved the plan. The mode is now default. Begin."},
    {"approved, a mode that is forbidden", &tool_exit_plan_mode_entry, "{\"plan\":\"P\"}",
     MODE_PLAN, MODE_DEFAULT,
     .permissions = "[{\"type\":\"setMode\",\"mode\":\"bypassPermissions\"}]", .code = ERR_DENIED,
     .then = MODE_PLAN, .want = "this run may not go to bypassPermissions"},
    {"approved, no JSON", &tool_exit_plan_mode_entry, "{\"plan\":\"P\"}", MODE_PLAN, MODE_DEFAULT,
     .permissions = "[", .code = ERR_BAD_INPUT, .then = MODE_PLAN,
     .want = "the permissions that came with the answer"},
    {"approved and changed", &tool_exit_plan_mode_entry, "{\"plan\":\"P\"}", MODE_PLAN,
     MODE_DEFAULT, .answer = "{\"plan\":\"Q\"}", .then = MODE_DEFAULT,
     .want = "The user approved the plan. The mode is now default. Begin. They changed it; this is "
             "the plan to follow:\n\nQ"},
    {"denied", &tool_exit_plan_mode_entry, "{\"plan\":\"P\"}", MODE_PLAN, MODE_DEFAULT,
     .denial = "too big", .is_error = true, .then = MODE_PLAN,
     .want = "The user did not approve the plan. Plan mode stays on. They say: too big"},
    {"nobody there", &tool_exit_plan_mode_entry, "{\"plan\":\"P\"}", MODE_PLAN, MODE_DEFAULT,
     .absent = true, .then = MODE_PLAN, .want = "No user is here to approve the plan."},
    {"no front end", &tool_exit_plan_mode_entry, "{\"plan\":\"P\"}", MODE_PLAN, MODE_DEFAULT,
     .fails = ERR_UNSUPPORTED, .then = MODE_PLAN, .want = "No user is here to approve the plan."},
    {"cancelled", &tool_exit_plan_mode_entry, "{\"plan\":\"P\"}", MODE_PLAN, MODE_DEFAULT,
     .fails = ERR_CANCELLED, .code = ERR_CANCELLED, .then = MODE_PLAN, .want = "it failed"},
    {"not in plan mode", &tool_exit_plan_mode_entry, "{\"plan\":\"P\"}", MODE_DEFAULT, MODE_DEFAULT,
     .code = ERR_BAD_INPUT, .then = MODE_DEFAULT,
     .want = "plan mode is not on, so there is nothing to leave"},
    {"an empty plan", &tool_exit_plan_mode_entry, "{\"plan\":\"\"}", MODE_PLAN, MODE_DEFAULT,
     .code = -1, .then = MODE_PLAN, .want = ""},
};

static void plans(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(plan_cases); i++) {
        struct person person = {.input = plan_cases[i].answer,
                                .message = plan_cases[i].denial,
                                .permissions = plan_cases[i].permissions,
                                .code = plan_cases[i].fails};
        struct place place;
        struct outcome o;

        print_message("%s\n", plan_cases[i].name);
        place_make(&place, plan_cases[i].before, plan_cases[i].mode);
        run(plan_cases[i].entry, plan_cases[i].args, place.permit,
            plan_cases[i].absent ? NULL : &person, &o);
        assert_int_equal(o.code, plan_cases[i].code);
        if (!str_starts(str_of(outcome_text(&o)), str_of(plan_cases[i].want)))
            fail_msg("'%s' is not '%s'", outcome_text(&o), plan_cases[i].want);
        assert_int_equal(o.result.is_error, plan_cases[i].is_error);
        assert_int_equal(permit_mode(place.permit), plan_cases[i].then);
        if (person.asked)
            assert_int_equal(person.kind, ASK_PERMISSION);
        if (!o.code && o.result.data.len)
            assert_true(str_has(buf_str(&o.result.data), plan_cases[i].answer
                                                             ? STR("{\"plan\":\"Q\"")
                                                             : STR("{\"plan\":\"P\"")));
        tool_result_release(&o.result);
        place_release(&place);
    }
}

UNIT_TEST(person)
{
    int failed;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions),
        cmocka_unit_test(plans),
    };

    if (!mkdtemp(root))
        return 1;
    snprintf(home, sizeof(home), "HOME=%s", root);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(root);
    return failed;
}
