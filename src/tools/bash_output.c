/*
 * BashOutput: what a background command has written since the last look. Runs on a tool thread;
 * sees only its call.
 */
#include "agent/tool.h"
#include "base/err.h"
#include "json/json.h"
#include "json/jw.h"
#include "tools/background.h"
#include "tools/entries.h"

static int tool_bash_output_run(struct tool_call *call, struct tool_result *ret, struct err *err);

/* Not read-only: output shown once is not shown again. */
const struct tool_entry tool_bash_output_entry = {
    .name = "BashOutput",
    .text = tool_bash_output_md,
    .schema = tool_bash_output_schema,
    .flags = TOOL_FREE | TOOL_HIDDEN,
    .run = tool_bash_output_run,
};

static int tool_bash_output_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct str id = json_get_str(call->args, "bash_id");
    CLEANUP(background_view_release) struct background_view view = {0};
    struct jw w;

    if (background_look(call->workspace, id, json_get_str(call->args, "filter"), &view, err) < 0)
        return -1;
    buf_addf(&ret->text, "%.*s: %s\n", STR_ARG(id), buf_cstr(&view.summary));
    if (view.text.len)
        buf_add(&ret->text, buf_str(&view.text));
    else
        buf_adds(&ret->text, "(no new output)");
    ret->is_capped = true;

    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kstr(&w, "shellId", id);
    jw_kcstr(&w, "command", view.command);
    jw_kcstr(&w, "status", task_state_name(view.status));
    jw_key(&w, "exitCode");
    if (view.has_code)
        jw_i64(&w, view.code);
    else
        jw_null(&w);
    jw_kstr(&w, "stdout", buf_str(&view.text));
    jw_kcstr(&w, "stderr", "");
    jw_object_end(&w);
    return 0;
}
