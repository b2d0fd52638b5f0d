/*
 * /goal: what was typed is read (goal/argument.h) and done (goal/goal.h). The commands' thread.
 */
#include "goal/goal.h"
#include "base/clock.h"
#include "host/host.h"
#include "slash/commands.h"
#include "slash/slash.h"

static int goal_run_read(struct slash_call *call, struct goal_argument *what, struct err *err)
{
    struct goal_answer answer = GOAL_ANSWER_INIT;
    /* A client that sets a goal edits the one that is there. */
    enum goal_via via = call->is_client && what->verb == GOAL_SET ? VIA_CLIENT : VIA_USER;
    int rc = goal_do(host_goal(call->host), what, via, call->cancel, &answer, err);

    if (rc == 0) {
        buf_add(&call->text, buf_str(&answer.text));
        call->goes_on = answer.turn;
    }
    goal_answer_release(&answer);
    return rc;
}

int slash_goal_run(struct slash_call *call, struct err *err)
{
    CLEANUP(goal_argument_release) struct goal_argument what = GOAL_ARGUMENT_INIT;

    if (call->goal)
        return goal_run_read(call, call->goal, err);
    if (goal_argument_read(call->args, clock_wall_ms(), &what, err) < 0)
        return -1;
    return goal_run_read(call, &what, err);
}
