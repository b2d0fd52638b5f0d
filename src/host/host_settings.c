/*
 * host_settings: settings that change while a session runs. Settings read on demand need only the
 * next snapshot (reload.h); model and effort are sent to the agent. Also adds a folder to work in,
 * as an update of permissions. Any thread.
 */
#include <stdatomic.h>

#include "agent/agent.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "conf/plugin.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "host/host_state.h"
#include "host/reload.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/effort.h"
#include "llm/provider.h"
#include "mcp/mcp.h"
#include "mcp/server_conf.h"

void host_reload(struct host *h)
{
    reload_look(h->reload);
}

/* Their servers end at once; those of new plugins start with the next session. */
static void stop_servers(struct host *h, const struct plugins *now)
{
    for (size_t i = 0; h->mcp && i < mcp_count(h->mcp); i++) {
        const struct mcp_server *s = mcp_server_at(h->mcp, i);

        if (s->plugin && !plugins_find(now, str_of(s->plugin->id)) && mcp_client_at(h->mcp, i))
            (void)mcp_toggle(h->mcp, i, false, /*net=*/NULL, /*err=*/NULL);
    }
}

int host_reload_plugins(struct host *h, struct err *err)
{
    if (reload_plugins(h->reload, err) < 0)
        return -1;
    stop_servers(h, plugins_get(h->conf));
    return 0;
}

int host_bring_plugins(struct host *h, const struct strv *dirs, const struct strv *without_mcp,
                       struct err *err)
{
    if (host_check_early(h, err) < 0)
        return -1;
    plugins_bring(h->conf, dirs, without_mcp);
    return host_reload_plugins(h, err) < 0 ? -1 : host_add_plugin_servers(h, err);
}

void host_on_reload(struct host *h, void (*fn)(void *arg), void *arg, void (*release)(void *arg))
{
    reload_also(h->reload, fn, arg, release);
}

/* The effort that the settings name now, from the next call on. */
static void host_heed_effort(struct host *h)
{
    enum effort effort = EFFORT_UNSET;

    (void)effort_parse(conf_get_str(h->conf, "effortLevel"), &effort);
    host_set_effort(h, effort);
}

int host_lay_over(struct host *h, const struct json *settings, struct err *err)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1024);
    CLEANUP(provider_release) struct provider p = {0};
    struct str model = json_get_str(settings, "model");

    /* Selected first: on failure nothing changes. */
    if (model.len && host_select(h, model, &p, err) < 0)
        return -1;
    if (reload_lay_over(h->reload, settings, err) < 0)
        return -1;
    if (json_get(settings, "effortLevel"))
        host_heed_effort(h);
    return json_get(settings, "model") ? host_set_model(h, model, &name, err) : 0;
}

int host_set_policy(struct host *h, const struct json *settings, struct strv *ret_dropped,
                    struct err *err)
{
    return reload_set_policy(h->reload, settings, ret_dropped, err);
}

static void host_tell_folder(struct host *h, const char *folder, const char *source)
{
    struct agent *a = NULL;

    /* The agent runs them; it is not started without need. */
    if (hooks_want(h->hooks, HOOK_DIRECTORY_ADDED, str_of(source)))
        a = host_agent(h, /*err=*/NULL);
    if (a)
        agent_tell_folder(a, folder, source);
}

int host_add_folder(struct host *h, struct str folder, bool save, const char *source,
                    struct strv *ret_warnings, struct err *err)
{
    CLEANUP(mem_freep) char *path = workspace_resolve(h->workspace, folder);
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *updates = NULL;
    struct jw w;

    jw_init(&w, &json, JW_CLEAN);
    jw_array(&w);
    jw_object(&w);
    jw_kcstr(&w, "type", "addDirectories");
    jw_key(&w, "directories");
    jw_array(&w);
    jw_str(&w, folder);
    jw_array_end(&w);
    jw_kcstr(&w, "destination", save ? "localSettings" : "session");
    jw_object_end(&w);
    jw_array_end(&w);
    if (json_parse(&arena, buf_str(&json), &updates, /*ret_info=*/NULL, err) < 0 ||
        permit_update(h->permit, updates, ret_warnings, err) < 0)
        return -1;
    host_tell_folder(h, path, source);
    if (h->mcp)
        mcp_roots_changed(h->mcp);
    return 0;
}
