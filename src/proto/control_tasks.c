/*
 * control_tasks: commands in the background as a client sees them. The thread of the client's loop.
 */
#include "proto/control_tasks.h"

#include "agent/task.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "host/host.h"
#include "json/json.h"
#include "json/jw.h"
#include "proto/control.h"
#include "proto/peer.h"
#include "tasks/agents.h"
#include "tools/background.h"

#define OUTPUT_BYTES                                                                               \
    ((size_t)256 << 10) /* clients read lines of 1 MB, and escapes make it longer */

int control_stop_task(struct control_call *call, struct jw *w, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct task_table *tasks = host_tasks(call->session->host);
    struct str id = json_get_str(call->request, "task_id");
    struct task_view v;

    (void)w;
    if (task_look(tasks, id, &arena, &v) && task_is_over(v.state))
        return 0; /* it has ended */
    return task_stop(tasks, /*by=*/NULL, id, err);
}

int control_get_task_output(struct control_call *call, struct jw *w, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct task_table *tasks = host_tasks(call->session->host);
    struct str id = json_get_str(call->request, "task_id");
    struct task_view v;
    size_t total;

    if (task_look(tasks, id, &arena, &v) && v.kind != TASK_SHELL) {
        if (task_output(tasks, /*by=*/NULL, id, &text, err) < 0)
            return -1;
        total = text.len;
    } else if (background_tail(host_workspace(call->session->host), id, OUTPUT_BYTES, &text, &total,
                               err) < 0) {
        return -1;
    }
    jw_kstr(w, "output", buf_str(&text));
    jw_ki64(w, "total_bytes", (int64_t)total);
    jw_kbool(w, "truncated", text.len < total);
    return 0;
}

int control_background_tasks(struct control_call *call, struct jw *w, struct err *err)
{
    struct str id = json_get_str(call->request, "tool_use_id");
    size_t count = background_send(host_workspace(call->session->host), id) +
                   agents_send_away(host_agents(call->session->host), id);

    (void)err;
    if (id.len)
        jw_kbool(w, "backgrounded", count);
    return 0;
}
