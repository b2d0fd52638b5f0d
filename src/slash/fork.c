/*
 * /fork: starts a background agent that knows the conversation so far and does one directive. The
 * session itself stays; /branch is for a copy to continue in.
 */
#include "base/err.h"
#include "base/identity.h"
#include "host/host.h"
#include "slash/answer.h"
#include "tasks/agents.h"

#define FORK_DESCRIPTION 60 /* characters of the directive */

static int fork_run(struct slash_call *call, struct err *err);

const struct slash_command slash_fork_entry = {
    .name = "fork",
    .hint = "<directive>",
    .summary = "Start a background agent that knows this conversation",
    .more =
        "The agent gets a copy of the conversation and does the directive while you go on here; "
        "its report arrives when it ends. `/tasks` lists it. To continue in a copy yourself: "
        "`/branch`.",
    .run = fork_run,
};

static int fork_run(struct slash_call *call, struct err *err)
{
    CLEANUP(agents_outcome_release) struct agents_outcome outcome = {0};
    CLEANUP(buf_release) struct buf description = BUF_INIT(BUF_NO_LIMIT);
    struct identity main = {.session = host_session(call->host), .agent = IDENTITY_MAIN};
    struct agents_order order = {
        .by = &main,
        .permit = host_permit(call->host),
        .workspace = host_workspace(call->host),
        .prompt = call->args,
        .type = STR_INIT("fork"),
        .cancel = call->cancel,
    };

    if (!call->args.len) {
        slash_sayf(call, INK_PLAIN, "Usage: /fork %s\n", slash_fork_entry.hint);
        return 0;
    }
    slash_add_line(&description, call->args, FORK_DESCRIPTION);
    order.description = buf_str(&description);
    if (agents_start(host_agents(call->host), &order, &outcome, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "The fork %s works in the background.\n", outcome.id);
    return 0;
}
