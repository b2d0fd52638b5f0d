/*
 * /mcp: the session's MCP servers, and what may be done about them.
 */
#include "host/mcp.h"

#include <string.h>

#include "base/err.h"
#include "host/host.h"
#include "json/json.h"
#include "mcp/client.h"
#include "mcp/mcp.h"
#include "mcp/server_conf.h"
#include "slash/answer.h"
#include "sync/cancel.h"

#define VERBS_OF_ALL "reconnect enable disable login"
#define VERBS VERBS_OF_ALL " approve tools"

static int mcp_run(struct slash_call *call, struct err *err);

const struct slash_command slash_mcp_entry = {
    .name = "mcp",
    .hint = "[tools|reconnect|enable|disable|approve|login NAME|all]",
    .summary = "Show the MCP servers and their tools, or change one",
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

static void show_tools(struct slash_call *call, const struct mcp *m, size_t i)
{
    struct mcp_look look = {0};

    if (mcp_client_at(m, i))
        mcp_client_look(mcp_client_at(m, i), &look);
    for (size_t k = 0; look.lists && k < look.lists->tools.len; k++) {
        const struct json *tool = look.lists->tools.ptr[k];
        struct str about = json_get_str(tool, "description");
        CLEANUP(buf_release) struct buf name = BUF_INIT(4000);
        CLEANUP(buf_release) struct buf line = BUF_INIT(4000);

        slash_add_line(&name, json_get_str(tool, "name"), 100);
        slash_add_line(&line, str_first(about, str_chr(about, '\n')), 200);
        slash_sayf(call, INK_BOLD, "%s", buf_cstr(&name));
        slash_sayf(call, INK_PLAIN, "%s%s\n", line.len ? ": " : "", buf_cstr(&line));
    }
    mcp_lists_unref(look.lists);
    if (!call->text.len)
        slash_sayf(call, INK_PLAIN, "%s offers no tools.\n", mcp_server_at(m, i)->name);
}

static int reconnect(struct slash_call *call, struct mcp *m, size_t i, struct err *err)
{
    if (!mcp_client_at(m, i))
        return err_set(err, ERR_UNSUPPORTED, "it is not used in this session");
    mcp_client_reconnect(mcp_client_at(m, i));
    if (mcp_client_wait(mcp_client_at(m, i), MCP_START_MS, call->cancel, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "%s is connected.\n", mcp_server_at(m, i)->name);
    return 0;
}

static int toggle(struct slash_call *call, size_t i, bool on, struct err *err)
{
    const char *name = mcp_server_at(host_mcp(call->host), i)->name;

    if (mcp_servers_disable(host_conf(call->host), str_of(name), !on, err) < 0 ||
        host_toggle_server(call->host, i, on, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "%s is turned %s in this project.\n", name, on ? "on" : "off");
    return 0;
}

static int mcp_change(struct slash_call *call, struct mcp *m, struct str verb, size_t i,
                      struct err *err)
{
    const char *name = mcp_server_at(m, i)->name;

    if (str_is(verb, "tools")) {
        show_tools(call, m, i);
        return 0;
    }
    if (str_is(verb, "reconnect"))
        return reconnect(call, m, i, err);
    if (str_is(verb, "enable") || str_is(verb, "disable"))
        return toggle(call, i, str_is(verb, "enable"), err);
    if (str_is(verb, "approve")) {
        if (host_approve_server(call->host, i, call->cancel, err) < 0)
            return -1;
        slash_sayf(call, INK_PLAIN, "%s is approved as it is configured now.\n", name);
        return 0;
    }
    if (host_login_server(call->host, i, call->cancel, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "Logged in to %s, and connected.\n", name);
    return 0;
}

/* Each that the verb is about; what fails is said, and the others go on. */
static int mcp_change_all(struct slash_call *call, struct mcp *m, struct str verb, struct err *err)
{
    for (size_t i = 0; i < mcp_count(m) && cancel_check(call->cancel, err) == 0; i++) {
        CLEANUP(buf_release) struct buf why = BUF_INIT(2000);
        struct err now = {0};

        if (mcp_is_hidden(m, i) || (str_is(verb, "reconnect") && !mcp_client_at(m, i)) ||
            (str_is(verb, "login") && strcmp(mcp_status(m, i, &why), "needs-auth") != 0))
            continue;
        if (mcp_change(call, m, verb, i, &now) < 0)
            slash_sayf(call, INK_RED, "%s: %s\n", mcp_server_at(m, i)->name, now.text);
    }
    if (!call->text.len)
        slash_say(call, INK_PLAIN, STR("There is no server to do that with.\n"));
    return cancel_check(call->cancel, err);
}

static int mcp_run(struct slash_call *call, struct err *err)
{
    struct mcp *m = host_mcp(call->host);
    struct str verb = str_first(call->args, str_chr(call->args, ' '));
    struct str name = str_trim(str_from(call->args, verb.len));

    if (m && verb.len) {
        size_t i = mcp_find(m, name);

        if (!str_is_word_of(verb, VERBS))
            return err_set(
                err, ERR_BAD_INPUT,
                "/mcp takes tools, reconnect, enable, disable, approve or login, and the "
                "name of a server or all");
        if (str_is(name, "all") && i == mcp_count(m) && str_is_word_of(verb, VERBS_OF_ALL))
            return mcp_change_all(call, m, verb, err);
        if (i == mcp_count(m))
            return err_set(err, ERR_NOT_FOUND, "No MCP server named \"%.*s\". /mcp lists them",
                           STR_ARG(name));
        return mcp_change(call, m, verb, i, err) < 0
                   ? err_prefix(err, "%s", mcp_server_at(m, i)->name)
                   : 0;
    }
    for (size_t i = 0; m && i < mcp_count(m); i++) {
        if (!mcp_is_hidden(m, i))
            show_one(call, m, i);
    }
    if (!call->text.len)
        slash_say(call, INK_PLAIN,
                  STR("No MCP servers are configured. Add one with: tenax mcp add NAME COMMAND\n"));
    return 0;
}
