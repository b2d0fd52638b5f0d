/*
 * KillShell: ends a background command. Runs on a tool thread; sees only its call.
 */
#include "agent/tool.h"
#include "base/err.h"
#include "json/json.h"
#include "json/jw.h"
#include "tools/background.h"
#include "tools/entries.h"

static int tool_kill_shell_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_kill_shell_entry = {
    .name = "KillShell",
    .text = tool_kill_shell_md,
    .schema = tool_kill_shell_schema,
    .flags = TOOL_FREE | TOOL_HIDDEN,
    .run = tool_kill_shell_run,
};

static int tool_kill_shell_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct str id = json_get_str(call->args, "shell_id");
    CLEANUP(buf_release) struct buf was_over = BUF_INIT(1000);
    struct jw w;

    if (background_kill(call->workspace, id, &was_over, err) < 0)
        return -1;
    if (was_over.len)
        buf_addf(&ret->text, "%.*s was over already: %s", STR_ARG(id), buf_cstr(&was_over));
    else
        buf_addf(&ret->text, "%.*s is being ended", STR_ARG(id));

    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kstr(&w, "message", buf_str(&ret->text));
    jw_kstr(&w, "shell_id", id);
    jw_object_end(&w);
    return 0;
}
