/*
 * The mode is decided only once, because the list of tools, the beginning of every request, must
 * not change. A session that has told its model about deferred tools keeps them when it is resumed.
 */
#include "host/extra.h"

#include <stddef.h>
#include <string.h>

#include "agent/event.h"
#include "agent/extra.h"
#include "agent/recall.h"
#include "agent/tool.h"
#include "agent/toolbox.h"
#include "base/buf.h"
#include "base/err.h"
#include "guard/permit.h"
#include "guard/rule.h"
#include "guard/tool_flags.h"
#include "host/host_state.h"
#include "host/session.h"
#include "llm/model.h"
#include "llm/room.h"
#include "mcp/mcp.h"
#include "mcp/names.h"
#include "mcp/reach.h"
#include "mcp/resources.h"
#include "mcp/server_conf.h"

static struct host *host_of(struct extra_source *self)
{
    return (struct host *)((char *)self - offsetof(struct host, extra));
}

static struct toolbox *extra_toolbox(struct extra_source *self)
{
    struct host *h = host_of(self);

    if (h->defers)
        host_refresh_mcp(h);
    return host_toolbox(h);
}

static void extra_servers(struct extra_source *self, struct extra_servers *ret)
{
    struct host *h = host_of(self);

    if (h->mcp)
        mcp_reach_servers(h->mcp, ret);
}

static enum extra_state extra_state_of(struct extra_source *self, struct str tool)
{
    struct host *h = host_of(self);

    return h->mcp ? mcp_reach_state(h->mcp, tool) : EXTRA_CONNECTED;
}

static void extra_await(struct extra_source *self, struct str tools, struct cancel *cancel)
{
    struct host *h = host_of(self);

    if (h->mcp)
        mcp_reach_await(h->mcp, tools, cancel);
}

/* Names of servers may have colons: the longest one counts. */
static size_t server_of(const struct mcp *m, struct str name)
{
    size_t found = mcp_count(m);

    for (size_t i = 0; i < name.len; i++) {
        size_t at = name.ptr[i] == ':' ? mcp_find(m, str_first(name, i)) : mcp_count(m);

        if (at < mcp_count(m))
            found = at;
    }
    return found;
}

/* Only rules that deny keep resources from being read. */
static bool is_denied(struct host *h, size_t server)
{
    CLEANUP(buf_release) struct buf prefix = BUF_INIT(4096);
    struct rule_subject subject = {.tool = STR("ReadMcpResourceTool")};
    struct permit_answer answer;

    permit_check(h->permit, &subject, TOOL_FREE | TOOL_READ_ONLY, &answer);
    if (answer.verdict == PERMIT_DENY)
        return true;
    mcp_name_prefix(str_of(mcp_server_at(h->mcp, server)->name), &prefix);
    buf_adds(&prefix, "resource");
    subject.tool = buf_str(&prefix);
    permit_check(h->permit, &subject, TOOL_FREE | TOOL_READ_ONLY, &answer);
    return answer.verdict == PERMIT_DENY;
}

static bool extra_resource(struct extra_source *self, struct str name, struct cancel *cancel,
                           struct buf *ret_line, struct buf *ret_text)
{
    struct host *h = host_of(self);
    struct err err = {0};
    size_t i;

    if (!h->mcp || (i = server_of(h->mcp, name)) == mcp_count(h->mcp))
        return false;
    if (is_denied(h, i))
        err_set(&err, ERR_DENIED, "a rule denies it");
    else
        (void)mcp_resource_attach(h->mcp, i,
                                  str_from(name, strlen(mcp_server_at(h->mcp, i)->name) + 1),
                                  cancel, ret_line, ret_text, &err);
    if (err.code) {
        buf_clear(ret_line);
        buf_clear(ret_text);
        buf_addf(ret_text, "The resource @%.*s could not be read: %s", STR_ARG(name), err.text);
        host_notice(h, LEVEL_WARNING, buf_str(ret_text));
    }
    return true;
}

struct extra_source *host_extra_source(struct host *h)
{
    return &h->extra;
}

/* Whether the model already knows about deferred tools. */
static bool told_before(const struct host *h)
{
    const struct recall *past = session_recall(h->session);

    return past && str_has(buf_str(&past->extra), STR("\"deferred_tools_delta\""));
}

void host_extra_open(struct host *h)
{
    struct extra_settings settings;

    h->extra = (struct extra_source){.toolbox = extra_toolbox,
                                     .servers = extra_servers,
                                     .state_of = extra_state_of,
                                     .await = extra_await,
                                     .resource = extra_resource};
    extra_settings_read(h->conf, &settings);
    h->defers = settings.mode == EXTRA_ON;
    if (settings.mode != EXTRA_AUTO)
        return;
    h->defers = told_before(h);
    h->is_undecided = !h->defers && !session_recall(h->session);
}

void host_extra_decide(struct host *h)
{
    struct extra_settings settings;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct mcp_tools *tools;
    const struct tool_entry *rows;
    size_t bytes = 0;
    size_t count;
    struct model model;

    if (!h->is_undecided || !h->mcp)
        return;
    h->is_undecided = false;
    extra_settings_read(h->conf, &settings);
    tools = mcp_tools(h->mcp, &notes);
    rows = mcp_tools_rows(tools, &count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].flags & TOOL_DEFERRED)
            bytes += strlen(rows[i].name) + strlen(rows[i].text) + strlen(rows[i].schema);
    }
    mcp_tools_free(tools);
    models_figures(&h->models, &model);
    h->defers = (int64_t)(bytes / ROOM_TOKEN_BYTES) * 100 > model.window * settings.percent;
}
