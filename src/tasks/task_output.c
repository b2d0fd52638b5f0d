/*
 * TaskOutput: the state and output of a task. Runs on a tool thread; sees only its call.
 */
#include <string.h>

#include "agent/task.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/identity.h"
#include "json/json.h"
#include "json/jw.h"
#include "tasks/entries.h"

#define OUTPUT_WAIT_MS 30000

static int task_output_run(struct tool_call *call, struct tool_result *ret, struct err *err);

/* Not read-only: output of a command is returned only once. */
const struct tool_entry tool_task_output_entry = {
    .name = "TaskOutput",
    .text = tool_task_output_md,
    .schema = tool_task_output_schema,
    .flags = TOOL_FREE | TOOL_CONCURRENT,
    .run = task_output_run,
};

static int task_output_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf output = BUF_INIT(TOOL_MAX_TEXT);
    struct task_table *tasks = task_table_of(call->workspace);
    const char *by = call->identity ? call->identity->agent : IDENTITY_MAIN;
    struct str id = json_get_str(call->args, "task_id");
    bool block = json_get_bool(call->args, "block", true);
    const char *status = "success";
    struct task_view v;
    struct jw w;

    if (!task_look(tasks, id, &arena, &v) || !task_is_below(tasks, by, v.id))
        return task_output(tasks, by, id, &output, err); /* its error lists the existing tasks */
    if (block && task_wait(tasks, v.id, json_get_i64(call->args, "timeout", OUTPUT_WAIT_MS),
                           call->cancel, err) < 0)
        return -1;
    if (task_output(tasks, by, str_of(v.id), &output, err) < 0 ||
        !task_look(tasks, str_of(v.id), &arena, &v))
        return -1;
    if (!task_is_over(v.state))
        status = block ? "timeout" : "not_ready";
    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kcstr(&w, "retrieval_status", status);
    jw_key(&w, "task");
    jw_object(&w);
    jw_kcstr(&w, "task_id", v.id);
    jw_kcstr(&w, "task_type", task_kind_type(v.kind));
    jw_kcstr(&w, "status", task_state_name(v.state));
    jw_kstr(&w, "description", v.description);
    jw_kstr(&w, "output", buf_str(&output));
    if (v.has_code)
        jw_ki64(&w, "exitCode", v.code);
    if (task_is_over(v.state) && v.summary.len && v.state != TASK_COMPLETED)
        jw_kstr(&w, "error", v.summary);
    jw_object_end(&w);
    jw_object_end(&w);
    buf_add(&ret->text, buf_str(&ret->data));
    return 0;
}
