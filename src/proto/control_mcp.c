/*
 * What a client may say about MCP servers: which it brings, what shall become of one. The thread
 * that reads the client must not wait for a server, which may live in that very client.
 */
#include "proto/control_mcp.h"

#include <stdlib.h>
#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "host/host.h"
#include "host/mcp.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/client.h"
#include "mcp/mcp.h"
#include "mcp/server_conf.h"
#include "proto/control.h"
#include "proto/peer.h"
#include "proto/sdk_servers.h"

#define CONTROL_MAX_SERVERS ((size_t)4 << 20)

static int set_servers(struct control_call *call, const struct json *servers,
                       struct mcp_changes *ret, struct err *err)
{
    struct sdk_servers *ours = call->session->servers;

    return host_set_servers(call->session->host, servers,
                            call->owner && ours ? sdk_servers_link(ours) : NULL, ret, err);
}

int control_take_servers(struct control_call *call, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(CONTROL_MAX_SERVERS);
    CLEANUP(mcp_changes_release) struct mcp_changes changes = {0};
    const struct json *inside = json_get(call->request, "sdkMcpServers");
    const struct json *others = json_get(call->request, "mcpServers");
    const struct json *all = NULL;
    struct jw w;

    if (!json_len(others) && !json_len(inside) && !call->session->servers)
        return 0;
    jw_init(&w, &text, JW_CLEAN);
    jw_object(&w);
    JSON_EACH(inside, name) {
        if (json_get_key(others, json_str(name)) || !json_str(name).len)
            continue;
        jw_key_str(&w, json_str(name));
        jw_object(&w);
        jw_kcstr(&w, "type", "sdk");
        jw_kstr(&w, "name", json_str(name));
        jw_object_end(&w);
    }
    JSON_EACH(others, entry) {
        jw_key_str(&w, json_key(entry));
        jw_json(&w, entry);
    }
    jw_object_end(&w);
    if (buf_check(&text, err) < 0 || json_parse(&arena, buf_str(&text), &all, NULL, err) < 0 ||
        set_servers(call, all, &changes, err) < 0)
        return err_prefix(err, "mcpServers");
    for (size_t i = 0; i < changes.errors.len; i++) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(2000);
        struct str one = str_of(changes.errors.ptr[i]);
        size_t at = str_chr(one, '=');

        buf_addf(&line, "MCP server %.*s: %.*s", STR_ARG(str_first(one, at)),
                 STR_ARG(str_from(one, at + 1)));
        host_notice(call->session->host, LEVEL_WARNING, buf_str(&line));
    }
    return 0;
}

int control_mcp_status(struct control_call *call, struct jw *w, struct err *err)
{
    CLEANUP(buf_release) struct buf servers = BUF_INIT(CONTROL_MAX_SERVERS);

    host_write_mcp(call->session->host, /*tools=*/true, &servers);
    if (buf_check(&servers, err) < 0)
        return -1;
    jw_kraw(w, "mcpServers", buf_str(&servers));
    return 0;
}

static void write_names(struct jw *w, const char *key, const struct strv *names)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < names->len; i++)
        jw_cstr(w, names->ptr[i]);
    jw_array_end(w);
}

int control_mcp_set_servers(struct control_call *call, struct jw *w, struct err *err)
{
    CLEANUP(mcp_changes_release) struct mcp_changes changes = {0};
    const struct json *servers = json_get(call->request, "servers");

    if (!json_is(servers, JSON_OBJECT))
        return err_set(err, ERR_BAD_INPUT, "servers must be an object");
    if (set_servers(call, servers, &changes, err) < 0)
        return -1;
    write_names(w, "added", &changes.added);
    write_names(w, "removed", &changes.removed);
    jw_key(w, "errors");
    jw_object(w);
    for (size_t i = 0; i < changes.errors.len; i++) {
        struct str one = str_of(changes.errors.ptr[i]);
        size_t at = str_chr(one, '=');

        jw_key_str(w, str_first(one, at));
        jw_str(w, str_from(one, at + 1));
    }
    jw_object_end(w);
    return 0;
}

/* The server that a request names; mcp_count() when there is none, with the error in err. */
static size_t server_of(struct control_call *call, struct mcp *m, struct err *err)
{
    struct str name = json_get_str(call->request, "serverName");
    size_t i = mcp_find(m, name);

    if (i == mcp_count(m))
        err_set(err, ERR_NOT_FOUND, "Server not found: %.*s", STR_ARG(str_clip(name, 200)));
    return i;
}

struct reconnecting {
    struct mailbox *to;
    char request_id[];
};

static void on_reconnected(void *arg, const struct err *err)
{
    struct reconnecting *r = arg;
    struct line_mail *m = line_mail_new();

    control_respond(str_of(r->request_id), STR("{}"), err, &m->line);
    mailbox_send(r->to, &m->mail);
    mailbox_unref(r->to);
    free(r);
}

int control_mcp_reconnect(struct control_call *call, struct jw *w, struct err *err)
{
    struct mcp *m = host_mcp(call->session->host);
    size_t i = server_of(call, m, err);
    struct reconnecting *r;

    (void)w;
    if (i == mcp_count(m))
        return -1;
    if (!mcp_client_at(m, i)) {
        CLEANUP(buf_release) struct buf why = BUF_INIT(2000);
        const char *status = mcp_status(m, i, &why);

        return err_set(err, ERR_UNSUPPORTED, "%s is %s: %s", mcp_server_at(m, i)->name, status,
                       buf_cstr(&why));
    }
    r = mem_zalloc(sizeof(*r) + call->request_id.len + 1);
    memcpy(r->request_id, call->request_id.ptr, call->request_id.len);
    r->to = mailbox_ref(call->mailbox);
    mcp_client_reconnect_then(mcp_client_at(m, i), on_reconnected, r);
    return 1;
}

int control_mcp_toggle(struct control_call *call, struct jw *w, struct err *err)
{
    struct mcp *m = host_mcp(call->session->host);
    size_t i = server_of(call, m, err);

    (void)w;
    if (i == mcp_count(m))
        return -1;
    return host_toggle_server(call->session->host, i, json_get_bool(call->request, "enabled", true),
                              err);
}

int control_mcp_message(struct control_call *call, struct jw *w, struct err *err)
{
    struct str name = json_get_str(call->request, "server_name");

    (void)w;
    if (!call->owner || !call->session->servers ||
        !sdk_servers_message(call->session->servers, name, json_get(call->request, "message")))
        return err_set(err, ERR_NOT_FOUND, "Server not found: %.*s", STR_ARG(str_clip(name, 200)));
    return 0;
}
