/*
 * ListAgents: the agents that the caller and its descendants have started. Runs on a tool thread;
 * sees only its call.
 */
#include <inttypes.h>

#include "agent/task.h"
#include "base/clock.h"
#include "base/identity.h"
#include "json/jw.h"
#include "tasks/entries.h"

static int list_agents_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_list_agents_entry = {
    .name = "ListAgents",
    .text = tool_list_agents_md,
    .schema = tool_list_agents_schema,
    .flags = TOOL_FREE | TOOL_READ_ONLY | TOOL_CONCURRENT | TOOL_DEFERRED,
    .run = list_agents_run,
};

struct lister {
    struct task_table *tasks;
    const char *by;
    struct jw w;
};

static bool list_row(void *arg, const struct task_view *v)
{
    struct lister *l = arg;
    int64_t end_ms = v->ended_ms ? v->ended_ms : clock_mono_ms();

    if ((v->kind != TASK_AGENT && v->kind != TASK_TEAMMATE) ||
        !task_is_below(l->tasks, l->by, v->id))
        return true;
    jw_object(&l->w);
    jw_kcstr(&l->w, "id", v->id);
    if (v->name)
        jw_kcstr(&l->w, "name", v->name);
    jw_kcstr(&l->w, "type", v->type ? v->type : "");
    jw_kstr(&l->w, "description", v->description);
    jw_kcstr(&l->w, "state", task_state_name(v->state));
    jw_ki64(&l->w, "age_seconds", (end_ms - v->began_ms) / 1000);
    jw_object_end(&l->w);
    return true;
}

static int list_agents_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct lister l = {.tasks = task_table_of(call->workspace),
                       .by = call->identity ? call->identity->agent : IDENTITY_MAIN};

    (void)err;
    jw_init(&l.w, &ret->data, 0);
    jw_object(&l.w);
    jw_key(&l.w, "agents");
    jw_array(&l.w);
    task_each(l.tasks, list_row, &l);
    jw_array_end(&l.w);
    jw_object_end(&l.w);
    buf_add(&ret->text, buf_str(&ret->data));
    return 0;
}
