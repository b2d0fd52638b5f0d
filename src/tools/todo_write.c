/*
 * TodoWrite: the model's list of things to do, replaced whole. The workspace keeps it. Runs on a
 * tool thread; sees only its call.
 */
#include "agent/tool.h"
#include "base/err.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "tools/entries.h"

static int tool_todo_write_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_todo_write_entry = {
    .name = "TodoWrite",
    .text = tool_todo_write_md,
    .schema = tool_todo_write_schema,
    .flags = TOOL_FREE,
    .run = tool_todo_write_run,
};

static size_t todo_count(const struct json *todos, const char *status)
{
    size_t n = 0;

    JSON_EACH(todos, todo) {
        n += str_is(json_get_str(todo, "status"), status);
    }
    return n;
}

static int tool_todo_write_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf old = BUF_INIT(TOOL_MAX_TEXT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(TOOL_MAX_TEXT);
    const struct json *todos = json_get(call->args, "todos");
    struct jw out;

    jw_init(&out, &text, 0);
    jw_json(&out, todos);
    if (buf_check(&text, err) < 0)
        return -1;
    workspace_todos(call->workspace, &old);
    workspace_set_todos(call->workspace, buf_str(&text));

    jw_init(&out, &ret->data, 0);
    jw_object(&out);
    jw_kraw(&out, "oldTodos", buf_str(&old));
    jw_kraw(&out, "newTodos", buf_str(&text));
    jw_object_end(&out);
    buf_addf(&ret->text, "The list is saved: %zu done, %zu in progress, %zu to do.",
             todo_count(todos, "completed"), todo_count(todos, "in_progress"),
             todo_count(todos, "pending"));
    return 0;
}
