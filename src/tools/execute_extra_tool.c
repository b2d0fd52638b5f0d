/*
 * ExecuteExtraTool: only a name for another call. Before hooks, permissions and events see it, the
 * agent puts the tool that it names in its place (agent/call/call.c), so run() is never reached.
 */
#include "agent/tool.h"
#include "base/err.h"
#include "tools/entries.h"

static int tool_execute_extra_tool_run(struct tool_call *call, struct tool_result *ret,
                                       struct err *err)
{
    (void)call;
    (void)ret;
    return err_set(err, ERR_UNSUPPORTED, "extra tools cannot be called here");
}

const struct tool_entry tool_execute_extra_tool_entry = {
    .name = "ExecuteExtraTool",
    .text = tool_execute_extra_tool_md,
    .schema = tool_execute_extra_tool_schema,
    .flags = TOOL_FREE | TOOL_EXECUTES,
    .run = tool_execute_extra_tool_run,
};
