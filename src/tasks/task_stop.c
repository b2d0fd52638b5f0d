/*
 * TaskStop: stops a task that the agent has started. Runs on a tool thread; sees only its call.
 */
#include "agent/task.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/identity.h"
#include "json/json.h"
#include "json/jw.h"
#include "tasks/entries.h"

static int task_stop_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_task_stop_entry = {
    .name = "TaskStop",
    .text = tool_task_stop_md,
    .schema = tool_task_stop_schema,
    .flags = TOOL_FREE,
    .run = task_stop_run,
};

static int task_stop_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf message = BUF_INIT(1000);
    struct task_table *tasks = task_table_of(call->workspace);
    const char *by = call->identity ? call->identity->agent : IDENTITY_MAIN;
    struct str id = json_get_str(call->args, "task_id");
    struct task_view v = {0};
    struct jw w;

    if (!id.len)
        id = json_get_str(call->args, "shell_id");
    if (!id.len)
        return err_set(err, ERR_BAD_INPUT, "give task_id: which task to stop");
    if (task_stop(tasks, by, id, err) < 0 || !task_look(tasks, id, &arena, &v))
        return -1;
    buf_addf(&message, "%s is being stopped", v.id);
    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kstr(&w, "message", buf_str(&message));
    jw_kcstr(&w, "task_id", v.id);
    jw_kcstr(&w, "task_type", task_kind_type(v.kind));
    jw_kstr(&w, "command", v.command.len ? v.command : v.description);
    jw_object_end(&w);
    buf_add(&ret->text, buf_str(&ret->data));
    return 0;
}
