/*
 * /todos: the list of things to do that the model keeps.
 */
#include "base/arena.h"
#include "guard/workspace.h"
#include "host/host.h"
#include "json/json.h"
#include "slash/answer.h"

static int todos_run(struct slash_call *call, struct err *err);

const struct slash_command slash_todos_entry = {
    .name = "todos",
    .hint = "",
    .summary = "Show the model's list of things to do",
    .run = todos_run,
};

static int todos_run(struct slash_call *call, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SLASH_MAX_TEXT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *list = NULL;

    workspace_todos(host_workspace(call->host), &text);
    if (json_parse(&arena, buf_str(&text), &list, /*ret_info=*/NULL, err) < 0)
        return -1;
    JSON_EACH(list, item) {
        struct str status = json_get_str(item, "status");
        bool done = str_is(status, "completed");
        bool now = str_is(status, "in_progress");
        CLEANUP(buf_release) struct buf line = BUF_INIT(4096);

        slash_add_line(&line, json_get_str(item, now ? "activeForm" : "content"), 200);
        if (!line.len)
            slash_add_line(&line, json_get_str(item, "content"), 200);
        slash_sayf(call,
                   done  ? INK_GREEN
                   : now ? INK_CYAN
                         : INK_PLAIN,
                   "%s ",
                   done  ? "☑"
                   : now ? "▶"
                         : "☐");
        slash_sayf(call, done ? INK_FAINT : now ? INK_BOLD : INK_PLAIN, "%s\n", buf_cstr(&line));
    }
    if (!json_len(list))
        slash_say(call, INK_PLAIN, STR("There is nothing on the list.\n"));
    return 0;
}
