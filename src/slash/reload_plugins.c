/*
 * /reload-plugins: plugins that were installed, enabled or changed since the session began.
 */
#include "conf/conf.h"
#include "conf/plugin.h"
#include "host/host.h"
#include "slash/answer.h"

static int reload_plugins_run(struct slash_call *call, struct err *err);

const struct slash_command slash_reload_plugins_entry = {
    .name = "reload-plugins",
    .hint = "",
    .summary = "Apply changes of plugins to this session",
    .more = "MCP servers of plugins that are new start with the next session.",
    .run = reload_plugins_run,
};

static int reload_plugins_run(struct slash_call *call, struct err *err)
{
    const struct plugins *now;

    if (host_reload_plugins(call->host, err) < 0)
        return -1;
    now = plugins_get(host_conf(call->host));
    slash_sayf(call, INK_PLAIN, "%zu plugin%s loaded.\n", now->list.len,
               now->list.len == 1 ? " is" : "s are");
    VEC_EACH(&now->list, it) {
        slash_sayf(call, INK_PLAIN, "  %s%s%s\n", (*it)->id, (*it)->version ? " " : "",
                   (*it)->version ? (*it)->version : "");
    }
    VEC_EACH(&now->problems, it) {
        slash_sayf(call, INK_YELLOW, "%s: %s\n", it->id, it->text);
    }
    return 0;
}
