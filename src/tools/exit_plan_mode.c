/*
 * ExitPlanMode: shows the plan to the user; with their approval the work begins.
 *
 * If approved, the mode becomes that of the answer's permission updates, or the previous one. If
 * denied, plan mode stays and the model reads why. Without a user it stays too, and the plan itself
 * is the result of the run. Runs on a tool thread, which waits for the user.
 */
#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/strv.h"
#include "guard/permit.h"
#include "json/json.h"
#include "json/jw.h"
#include "tools/entries.h"
#include "tools/user_ask.h"

static int tool_exit_plan_mode_run(struct tool_call *call, struct tool_result *ret,
                                   struct err *err);

const struct tool_entry tool_exit_plan_mode_entry = {
    .name = "ExitPlanMode",
    .text = tool_exit_plan_mode_md,
    .schema = tool_exit_plan_mode_schema,
    .flags = TOOL_PERSON,
    .run = tool_exit_plan_mode_run,
};

/* The answer may carry a mode ("yes, and accept edits") and rules. */
static int leave_plan_mode(struct tool_call *call, const struct ask_answer *answer,
                           struct arena *arena, struct err *err)
{
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    const struct json *updates = NULL;

    if (answer->permissions.len) {
        if (json_parse(arena, buf_str(&answer->permissions), &updates, /*ret_info=*/NULL, err) < 0)
            return err_prefix(err, "the permissions that came with the answer");
        if (permit_update(call->permit, updates, &warnings, err) < 0)
            return -1;
    }
    if (permit_mode(call->permit) != MODE_PLAN)
        return 0;
    return permit_set_mode(call->permit, permit_mode_before_plan(call->permit), err);
}

static void write_data(struct tool_result *ret, struct str plan, bool approved)
{
    struct jw w;

    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kstr(&w, "plan", plan);
    jw_kbool(&w, "isAgent", false);
    jw_kbool(&w, "approved", approved);
    jw_object_end(&w);
}

static int tool_exit_plan_mode_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(ask_answer_release) struct ask_answer answer = ASK_ANSWER_INIT;
    struct str plan = json_get_str(call->args, "plan");
    const struct json *input = NULL;
    struct err why = {0};
    struct str changed;

    if (permit_mode(call->permit) != MODE_PLAN)
        return err_set(err, ERR_BAD_INPUT,
                       "plan mode is not on, so there is nothing to leave: continue with the work");
    if (user_ask(call, ASK_PERMISSION, "the plan needs approval", "mode", &answer, &why) < 0) {
        if (why.code != ERR_UNSUPPORTED)
            return err_set(err, why.code, "%s", why.text);
        buf_adds(&ret->text,
                 "No user is here to approve the plan. Plan mode stays on, and the plan "
                 "is the result of this run: give it whole as your final answer.");
        write_data(ret, plan, /*approved=*/false);
        return 0;
    }
    if (!answer.allowed) {
        user_ask_refused(ret, &answer, "The user did not approve the plan. Plan mode stays on.");
        return 0;
    }
    if (answer.input.len &&
        json_parse(&arena, buf_str(&answer.input), &input, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "the answer");
    if (leave_plan_mode(call, &answer, &arena, err) < 0)
        return -1;

    changed = json_get_str(input, "plan");
    buf_addf(&ret->text, "%s The mode is now %s. Begin.", /* a team's lead says who it is */
             answer.message.len ? buf_cstr(&answer.message) : "The user approved the plan.",
             permit_mode_name(permit_mode(call->permit)));
    if (changed.len && !str_eq(changed, plan)) {
        buf_adds(&ret->text, " They changed it; this is the plan to follow:\n\n");
        buf_add(&ret->text, changed);
        plan = changed;
    }
    write_data(ret, plan, /*approved=*/true);
    return 0;
}
