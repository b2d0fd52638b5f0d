/*
 * Tool calls without a model, for a host with only_calls: its agent starts with the first call and
 * never has a turn. Any thread.
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/tool.h"
#include "agent/toolbox.h"
#include "base/err.h"
#include "hooks/runner.h"
#include "host/host_state.h"
#include "host/hub.h"
#include "json/jw.h"
#include "llm/dialect/dialect.h"
#include "net/net.h"

/* Models that need the network report problems with it themselves. */
static struct agent *call_agent(struct host *h)
{
    struct agent_spec rest = {0};
    struct agent *a = host_hold(h);

    if (!a) {
        if (!h->net)
            h->net = hub_net(h->hub, h->conf, /*err=*/NULL);
        if (h->net && net_loaded(h->net, /*err=*/NULL) == 0)
            rest.net = h->net;
        runner_set_net(h->runner, rest.net);
        a = h->agent;
        agent_begin(a, &rest);
        gate_take(&h->gate);
        h->is_ready = true;
        gate_give(&h->gate);
    }
    host_let_go(h);
    return a;
}

int host_call_tool(struct host *h, const struct agent_tool_use *use, struct cancel *cancel,
                   struct tool_result *ret, struct err *err)
{
    return agent_call_tool(call_agent(h), use, cancel, ret, err);
}

static unsigned call_flags(struct host *h, struct str name, bool *ret_has)
{
    struct toolbox *box = host_toolbox(h);
    const struct tool_entry *e = toolbox_find(box, name);
    unsigned flags = e ? e->flags : 0;

    *ret_has = e;
    toolbox_unref(box);
    return flags;
}

bool host_has_tool(struct host *h, struct str name)
{
    bool has;

    (void)call_flags(h, name, &has);
    return has;
}

bool host_tool_is_shared(struct host *h, struct str name)
{
    bool has;

    return call_flags(h, name, &has) & TOOL_CONCURRENT;
}

static void write_tool(const struct toolbox *box, const struct tool_entry *e, struct str text,
                       struct jw *w)
{
    jw_object(w);
    jw_kcstr(w, "name", e->name);
    jw_kstr(w, "description", text);
    jw_kjson(w, "inputSchema", toolbox_schema(box, e));
    jw_key(w, "annotations");
    jw_object(w);
    jw_kbool(w, "readOnlyHint", e->flags & TOOL_READ_ONLY);
    jw_object_end(w);
    jw_object_end(w);
}

void host_write_tools(struct host *h, struct buf *ret)
{
    struct toolbox *box = host_toolbox(h);
    const struct llm_tool *tools;
    struct jw w;
    size_t n;

    tools = toolbox_llm(box, &n);
    jw_init(&w, ret, JW_CLEAN);
    jw_array(&w);
    for (size_t i = 0; i < n; i++)
        write_tool(box, toolbox_find(box, tools[i].name), tools[i].description, &w);
    for (size_t i = 0; i < h->only_tools.len; i++) { /* models use other names for these */
        const struct tool_entry *e = toolbox_find(box, str_of(h->only_tools.ptr[i]));

        if (e && e->flags & TOOL_HIDDEN && strcmp(e->name, h->only_tools.ptr[i]) == 0)
            write_tool(box, e, str_of(e->text), &w);
    }
    jw_array_end(&w);
    toolbox_unref(box);
}
