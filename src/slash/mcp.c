/*
 * /mcp: the session's MCP servers, and what may be done about them.
 */
#include "host/mcp.h"
#include "base/err.h"
#include "host/host.h"
#include "mcp/client.h"
#include "mcp/mcp.h"
#include "mcp/server_conf.h"
#include "slash/answer.h"

static int mcp_run(struct slash_call *call, struct err *err);

const struct slash_command slash_mcp_entry = {
    .name = "mcp",
    .hint = "[reconnect|enable|disable|approve NAME]",
    .summary = "Show the MCP servers and their tools, or connect one again",
    .run = mcp_run,
};

static void show_one(struct slash_call *call, const struct mcp *m, size_t i)
{
    const struct mcp_server *s = mcp_server_at(m, i);
    CLEANUP(buf_release) struct buf why = BUF_INIT(2000);
    CLEANUP(buf_release) struct buf line = BUF_INIT(4000);
    const char *status = mcp_status(m, i, &why);
    struct mcp_look look = {0};

    if (mcp_client_at(m, i))
        mcp_client_look(mcp_client_at(m, i), &look);
    slash_sayf(call, look.state == MCP_CONNECTED && look.lists ? INK_GREEN : INK_PLAIN, "%s",
               s->name);
    slash_sayf(call, INK_FAINT, " (%s, %s): ", mcp_scope_name(s->scope), mcp_type_name(s->type));
    slash_add_line(&line, buf_str(&why), 300);
    if (look.lists && look.state == MCP_CONNECTED)
        slash_sayf(call, INK_PLAIN, "connected, %zu tool%s%s%s\n", look.lists->tools.len,
                   look.lists->tools.len == 1 ? "" : "s", line.len ? "; " : "", buf_cstr(&line));
    else
        slash_sayf(call, INK_PLAIN, "%s%s%s\n", status, line.len ? ", " : "", buf_cstr(&line));
    mcp_lists_unref(look.lists);
}

static int mcp_change(struct slash_call *call, struct mcp *m, struct str verb, struct str name,
                      struct err *err)
{
    const struct conf *conf = host_conf(call->host);
    const struct mcp_server *s;
    size_t i = mcp_find(m, name);

    if (i == mcp_count(m))
        return err_set(err, ERR_NOT_FOUND, "No MCP server named \"%.*s\". /mcp lists them",
                       STR_ARG(name));
    s = mcp_server_at(m, i);
    if (str_is(verb, "reconnect")) {
        if (!mcp_client_at(m, i))
            return err_set(err, ERR_UNSUPPORTED, "%s is not used in this session", s->name);
        mcp_client_reconnect(mcp_client_at(m, i));
        if (mcp_client_wait(mcp_client_at(m, i), MCP_START_MS, call->cancel, err) < 0)
            return err_prefix(err, "%s", s->name);
        slash_sayf(call, INK_PLAIN, "%s is connected.\n", s->name);
        return 0;
    }
    if (str_is(verb, "approve")) {
        if (mcp_approve(conf, s, call->cancel, err) < 0)
            return -1;
        slash_sayf(call, INK_PLAIN,
                   "%s is approved as it is configured now, and starts with the next session.\n",
                   s->name);
        return 0;
    }
    if (!str_is(verb, "enable") && !str_is(verb, "disable"))
        return err_set(
            err, ERR_BAD_INPUT,
            "/mcp takes reconnect, enable, disable or approve, and the name of a server");
    if (mcp_servers_disable(conf, name, str_is(verb, "disable"), err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "%s is turned %s in this project from the next session on.\n",
               s->name, str_is(verb, "disable") ? "off" : "on");
    return 0;
}

static int mcp_run(struct slash_call *call, struct err *err)
{
    struct mcp *m = host_mcp(call->host);
    struct str verb = str_first(call->args, str_chr(call->args, ' '));
    struct str name = str_trim(str_from(call->args, verb.len));

    if (m && verb.len)
        return mcp_change(call, m, verb, name, err);
    for (size_t i = 0; m && i < mcp_count(m); i++) {
        if (!mcp_is_hidden(m, i))
            show_one(call, m, i);
    }
    if (!call->text.len)
        slash_say(call, INK_PLAIN,
                  STR("No MCP servers are configured. Add one with: tenax mcp add NAME COMMAND\n"));
    return 0;
}
