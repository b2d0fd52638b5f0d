/*
 * MCP servers are started when the session is created and end with it. Their tools are added to the
 * toolbox before the first turn; servers that connect or change later wait for the next turn,
 * because a list of tools that changes during a turn would invalidate the provider's cache.
 */
#include "host/mcp.h"

#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/toolbox.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "guard/workspace.h"
#include "host/connect.h"
#include "host/extra.h"
#include "host/host_state.h"
#include "host/mcp_ask.h"
#include "host/permission_tool.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/client.h"
#include "mcp/mcp.h"
#include "mcp/oauth.h"
#include "mcp/reach.h"
#include "mcp/server_conf.h"
#include "mcp/token.h"
#include "net/net.h"
#include "store/store.h"

#define HOST_MCP_WAIT_MS 5000 /* for servers to connect before a run's first request */

static int64_t wait_ms(const struct host *h)
{
    const char *said = conf_env(h->conf, "MCP_CONNECT_TIMEOUT_MS");
    int64_t ms;

    return said && str_to_i64(str_of(said), &ms, NULL) == 0 && ms >= 0 && ms < HOST_MCP_WAIT_MS
               ? ms
               : HOST_MCP_WAIT_MS;
}

/* ---- Approvals ---- */

int mcp_approvals(const struct conf *conf, struct strv *ret, struct cancel *cancel, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(conf_home(conf), "state.db");
    CLEANUP(store_freep) struct store *store = NULL;

    if (!file_exists(path))
        return 0;
    return store_shared(conf_home(conf), cancel, &store, err) < 0
               ? -1
               : store_trust_approved(store, str_of(conf_dir(conf)), ret, cancel, err);
}

int mcp_approve(const struct conf *conf, const struct mcp_server *s, struct cancel *cancel,
                struct err *err)
{
    CLEANUP(store_freep) struct store *store = NULL;
    CLEANUP(strv_release) struct strv all = STRV_INIT;
    CLEANUP(buf_release) struct buf approval = BUF_INIT(1000);

    mcp_approval(s, &approval);
    if (store_shared(conf_home(conf), cancel, &store, err) < 0 ||
        store_trust_approved(store, str_of(conf_dir(conf)), &all, cancel, err) < 0)
        return -1;
    strv_add(&all, buf_str(&approval));
    return store_trust_approve(store, str_of(conf_dir(conf)), &all, clock_wall_ms(), cancel, err);
}

/* ---- The session's servers ---- */

static bool needs_net(const struct mcp_servers *servers)
{
    VEC_EACH(&servers->list, s) {
        if (!s->hidden && s->gate == MCP_READY && s->type != MCP_STDIO)
            return true;
    }
    return false;
}

/* Reports servers that are not started and why, once. */
static void note_servers(struct host *h, struct strv *ret_notes)
{
    const struct mcp *m = h->mcp;

    for (size_t i = 0; i < mcp_count(m); i++) {
        const struct mcp_server *s = mcp_server_at(m, i);

        if (s->hidden)
            continue;
        if (s->gate == MCP_UNAPPROVED && conf_is_trusted(h->conf))
            strv_addf(ret_notes,
                      "The MCP server %s of this project is not started until you approve it: "
                      "tenax mcp approve %s",
                      s->name, s->name);
        else if (s->gate == MCP_UNAPPROVED && !h->is_interactive)
            strv_addf(ret_notes,
                      "The MCP server %s of this project is not started, because the folder is not "
                      "trusted: use --trust, or tenax trust add",
                      s->name);
        else if (s->gate == MCP_BROKEN)
            strv_addf(ret_notes, "The MCP server %s is not started: %s (%s)", s->name, s->problem,
                      s->file);
    }
}

int host_start_mcp(struct host *h, struct strv *ret_notes, struct err *err)
{
    CLEANUP(mcp_servers_release) struct mcp_servers servers = {0};
    CLEANUP(strv_release) struct strv approved = STRV_INIT;
    struct mcp_spec spec = {
        .conf = h->conf,
        .dynamic = h->mcp_servers,
        .approved = &approved,
        .is_headless = !h->is_interactive,
        .roots = host_mcp_roots,
        .sandbox = h->sandbox,
        .ask = host_mcp_ask,
        .can_sample = h->is_interactive,
        .said = host_mcp_said,
        .done = host_mcp_done,
        .arg = h,
    };
    struct mcp_sources from = {
        .conf = h->conf,
        .dynamic = h->mcp_servers,
        .approved = &approved,
        .is_headless = spec.is_headless,
    };

    if (mcp_servers_load(&from, &servers, err) < 0)
        return -1;
    if (servers.list.len && mcp_approvals(h->conf, &approved, h->cancel, err) < 0)
        return -1;
    if (needs_net(&servers)) {
        if (!h->net)
            h->net = connect_net(h->conf, err);
        if (!h->net || net_loaded(h->net, err) < 0)
            return -1;
    }
    spec.net = h->net;
    if (mcp_new(&spec, ret_notes, &h->mcp, err) < 0)
        return -1;
    note_servers(h, ret_notes);
    return 0;
}

int host_add_plugin_servers(struct host *h, struct err *err)
{
    CLEANUP(mcp_servers_release) struct mcp_servers servers = {0};
    CLEANUP(strv_release) struct strv approved = STRV_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct mcp_sources from = {
        .conf = h->conf,
        .dynamic = h->mcp_servers,
        .approved = &approved,
        .is_headless = !h->is_interactive,
    };

    if (mcp_approvals(h->conf, &approved, h->cancel, err) < 0 ||
        mcp_servers_load(&from, &servers, err) < 0)
        return -1;
    if (needs_net(&servers)) {
        if (!h->net)
            h->net = connect_net(h->conf, err);
        if (!h->net || net_loaded(h->net, err) < 0)
            return -1;
    }
    mcp_add_plugins(h->mcp, &servers, h->net, &notes);
    for (size_t i = 0; i < notes.len; i++)
        host_notice(h, LEVEL_WARNING, str_of(notes.ptr[i]));
    return 0;
}

/* Whether the first request waits for servers: if their tools are part of it and not known from the
 * last time, and no user at a terminal would have to wait. */
static bool awaits_servers(struct host *h)
{
    if (h->is_interactive)
        return false;
    if (!h->defers)
        return true;
    for (size_t i = 0; i < mcp_count(h->mcp); i++) {
        struct mcp_client *c = mcp_client_at(h->mcp, i);
        struct mcp_look look = {0};

        if (!c || !mcp_server_at(h->mcp, i)->always_loads)
            continue;
        mcp_client_look(c, &look);
        mcp_lists_unref(look.lists);
        if (!look.lists)
            return true;
    }
    return false;
}

/* On failure the one without the servers' tools stays. */
static void remake_toolbox(struct host *h)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(2000);
    struct err err = {0};

    if (host_make_toolbox(h, &err) == 0)
        return;
    buf_addf(&text, "The tools of the MCP servers cannot be used: %s", err.text);
    host_notice(h, LEVEL_ERROR, buf_str(&text));
}

void host_await_mcp(struct host *h)
{
    if (!h->mcp)
        return;
    if (awaits_servers(h))
        mcp_wait(h->mcp, wait_ms(h), h->cancel);
    host_extra_decide(h);
    h->mcp_seen = mcp_version(h->mcp);
    remake_toolbox(h);
    if (h->permission_tool)
        permission_tool_await(h->permission_tool, h->cancel);
}

/* Called on an agent's thread between steps. Tools that are part of the request change only between
 * two turns. */
void host_refresh_mcp(struct host *h)
{
    uint64_t version = h->mcp ? mcp_version(h->mcp) : 0;
    bool in_turn;

    gate_take(&h->gate);
    in_turn = h->step > 0;
    gate_give(&h->gate);
    if (!h->mcp || version == h->mcp_seen || (!h->defers && in_turn))
        return;
    h->mcp_seen = version;
    remake_toolbox(h);
}

/* The network, for a server that needs it. */
static int net_for(struct host *h, const struct mcp_server *s, struct err *err)
{
    if (s->type == MCP_STDIO || s->type == MCP_SDK)
        return 0;
    if (!h->net)
        h->net = connect_net(h->conf, err);
    return h->net ? net_loaded(h->net, err) : -1;
}

int host_toggle_server(struct host *h, size_t i, bool on, struct err *err)
{
    if (on && net_for(h, mcp_server_at(h->mcp, i), err) < 0)
        return -1;
    return mcp_toggle(h->mcp, i, on, h->net, err);
}

int host_approve_server(struct host *h, size_t i, struct cancel *cancel, struct err *err)
{
    const struct mcp_server *s = mcp_server_at(h->mcp, i);

    if (mcp_approve(h->conf, s, cancel, err) < 0 || net_for(h, s, err) < 0)
        return -1;
    if (conf_is_trusted(h->conf))
        mcp_admit(h->mcp, i, h->net);
    return 0;
}

struct login {
    struct host *host;
    struct cancel *cancel;
};

static int show_login(void *arg, const char *url, struct err *err)
{
    const struct login *l = arg;
    CLEANUP(buf_release) struct buf text = BUF_INIT(64 << 10);

    (void)err;
    buf_addf(&text, "Log in at this address: %s", url);
    host_notice(l->host, LEVEL_INFO, buf_str(&text));
    host_open_page(l->host, str_of(url), l->cancel);
    return 0;
}

int host_login_server(struct host *h, size_t i, struct cancel *cancel, struct err *err)
{
    struct mcp_client *c = mcp_client_at(h->mcp, i);
    struct oauth o = {.net = h->net,
                      .home = conf_home(h->conf),
                      .server = mcp_server_at(h->mcp, i),
                      .cancel = cancel};
    struct login login = {h, cancel};
    CLEANUP(buf_release) struct buf scope = BUF_INIT(TOKEN_MAX);
    struct oauth_login spec = {
        .client_secret = conf_env(h->conf, "MCP_CLIENT_SECRET"), .open = show_login, .arg = &login};

    if (!o.server->url || !c || !h->net)
        return err_set(err, ERR_UNSUPPORTED, "it has no address to log in to, or is not used");
    mcp_reach_scope(c, o.home, &scope);
    spec.scope = buf_str(&scope);
    if (oauth_login(&o, &spec, err) < 0)
        return -1;
    mcp_client_reconnect(c);
    return mcp_client_wait(c, MCP_START_MS, cancel, err);
}

static bool has_remote(const struct json *servers)
{
    JSON_EACH(servers, entry) {
        if (json_get(entry, "url"))
            return true;
    }
    return false;
}

/* The other ones, in the arena. */
static const struct json *without_ours(struct host *h, const struct json *servers,
                                       struct arena *arena, struct strv *ret_notes)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct json *rest = NULL;
    struct jw w;

    jw_init(&w, &text, 0);
    jw_object(&w);
    JSON_EACH(servers, entry) {
        if (h->mcp && mcp_find(h->mcp, json_key(entry)) < mcp_count(h->mcp)) {
            strv_addf(ret_notes, "the session's own MCP server %.*s is used",
                      STR_ARG(str_clip(json_key(entry), 100)));
            continue;
        }
        jw_key_str(&w, json_key(entry));
        jw_json(&w, entry);
    }
    jw_object_end(&w);
    (void)json_parse(arena, arena_str(arena, buf_str(&text)), &rest, /*ret_info=*/NULL,
                     /*err=*/NULL);
    return rest;
}

/* Those that did not connect. */
static void note_unconnected(const struct mcp *m, struct strv *ret_notes)
{
    for (size_t i = 0; i < mcp_count(m); i++) {
        CLEANUP(buf_release) struct buf why = BUF_INIT(1000);
        const struct mcp_server *s = mcp_server_at(m, i);
        const char *status = mcp_status(m, i, &why);

        if (strcmp(status, "connected") != 0)
            strv_addf(ret_notes, "its MCP server %s: %s%s%s", s->name, status, why.len ? ": " : "",
                      s->gate == MCP_BROKEN ? s->problem : buf_cstr(&why));
    }
}

struct mcp *host_start_own_servers(struct host *h, const struct json *servers,
                                   struct strv *ret_notes, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(strv_release) struct strv approved = STRV_INIT;
    struct mcp_spec spec = {
        .conf = h->conf,
        .dynamic = without_ours(h, servers, &arena, ret_notes),
        .approved = &approved,
        .is_headless = !h->is_interactive,
        .starts_all = true,
        .only_dynamic = true,
        .roots = host_mcp_roots,
        .sandbox = h->sandbox,
        .ask = host_mcp_ask,
        .said = host_mcp_said,
        .done = host_mcp_done,
        .arg = h,
    };
    struct mcp *m = NULL;

    if (!json_len(spec.dynamic))
        return NULL;
    if (has_remote(spec.dynamic)) {
        if (!h->net)
            h->net = connect_net(h->conf, err);
        if (!h->net || net_loaded(h->net, err) < 0)
            return NULL;
    }
    spec.net = h->net;
    if (mcp_new(&spec, ret_notes, &m, err) < 0)
        return NULL;
    mcp_wait(m, wait_ms(h), h->cancel);
    note_unconnected(m, ret_notes);
    return m;
}

int host_set_servers(struct host *h, const struct json *servers, struct sdk_link *link,
                     struct mcp_changes *ret, struct err *err)
{
    if (has_remote(servers)) {
        if (!h->net)
            h->net = connect_net(h->conf, err);
        if (!h->net || net_loaded(h->net, err) < 0)
            return -1;
    }
    mcp_set(h->mcp, servers, link, h->net, ret);
    return 0;
}

struct mcp *host_mcp(struct host *h)
{
    return h->mcp;
}

void host_write_mcp(struct host *h, bool tools, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, JW_CLEAN);
    if (h->mcp) {
        mcp_write(h->mcp, tools, &w);
    } else {
        jw_array(&w);
        jw_array_end(&w);
    }
}
