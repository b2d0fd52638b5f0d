/*
 * EnterPlanMode: from here on the agent looks and plans, and changes nothing, until the user has
 * approved the plan (ExitPlanMode).
 *
 * The user is asked first: the mode can only be left with the user's consent, so without a user it
 * would be a dead end, and the call is refused. Runs on a tool thread.
 */
#include "agent/tool.h"
#include "base/err.h"
#include "guard/permit.h"
#include "tools/entries.h"
#include "tools/user_ask.h"

static int tool_enter_plan_mode_run(struct tool_call *call, struct tool_result *ret,
                                    struct err *err);

const struct tool_entry tool_enter_plan_mode_entry = {
    .name = "EnterPlanMode",
    .text = tool_enter_plan_mode_md,
    .schema = tool_enter_plan_mode_schema,
    .flags = TOOL_PERSON,
    .run = tool_enter_plan_mode_run,
};

static int tool_enter_plan_mode_run(struct tool_call *call, struct tool_result *ret,
                                    struct err *err)
{
    CLEANUP(ask_answer_release) struct ask_answer answer = ASK_ANSWER_INIT;
    struct err why = {0};

    if (permit_mode(call->permit) == MODE_PLAN) {
        buf_adds(&ret->text, "Plan mode is on already. Explore, then show your plan with "
                             "ExitPlanMode.");
        return 0;
    }
    if (user_ask(call, ASK_PERMISSION, "the model wants to make a plan first", "mode", &answer,
                 &why) < 0) {
        if (why.code == ERR_UNSUPPORTED)
            return err_set(
                err, ERR_UNSUPPORTED,
                "no user is here to approve a plan: think it through and continue in the "
                "mode you are in");
        return err_set(err, why.code, "%s", why.text);
    }
    if (!answer.allowed) {
        user_ask_refused(ret, &answer, "The user does not want plan mode now.");
        return 0;
    }
    if (permit_set_mode(call->permit, MODE_PLAN, err) < 0)
        return -1;
    buf_adds(&ret->text, "Plan mode is on: read and search, change nothing. When the plan is "
                         "complete, show it with ExitPlanMode.");
    return 0;
}
