/*
 * codex_server: the methods of the protocol, and the state of a client. The loop's thread.
 */
#include "proto/codex/codex_server.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "host/host.h"
#include "json/json.h"
#include "proto/codex/codex_state.h"
#include "sync/cancel.h"

struct codex_view *codex_view_of(const struct client_view *v)
{
    return v->own;
}

enum rpc_code codex_code(const struct err *err)
{
    return err->code == ERR_IO || err->code == ERR_RETRY_LATER ? RPC_INTERNAL : RPC_REQUEST;
}

void codex_refuse_missing(struct rpc_call *call, const char *field)
{
    rpc_refusef(call, RPC_REQUEST, "Invalid request: missing field `%s`", field);
}

bool codex_thread_id(struct rpc_call *call, struct str *ret)
{
    const struct json *id = json_get(call->params, "threadId");

    if (!json_is(id, JSON_STRING)) {
        codex_refuse_missing(call, "threadId");
        return false;
    }
    *ret = json_str(id);
    if (id_is_uuid(*ret))
        return true;
    rpc_refusef(call, RPC_REQUEST, "invalid %s id: %.*s",
                str_is(call->method, "thread/resume") ? "session" : "thread",
                STR_ARG(str_clip(*ret, 100)));
    return false;
}

struct codex_view *codex_view_for(struct codex *a, struct rpc_call *call)
{
    struct client_view *v;
    struct str id;

    if (!codex_thread_id(call, &id))
        return NULL;
    v = client_view(a->client, id);
    if (v)
        return codex_view_of(v);
    rpc_refusef(call, RPC_REQUEST, "thread not found: %.*s", STR_ARG(id));
    return NULL;
}

void codex_notify(struct codex *a, const char *method, const struct buf *params)
{
    if (!strv_has(&a->muted, str_of(method)))
        rpc_notify(a->client->rpc, method, buf_str(params));
}

struct jw *codex_begin(struct codex_note *n, struct codex_view *v, const char *method)
{
    n->view = v;
    n->method = method;
    n->text = (struct buf)BUF_INIT(RPC_MAX_OUT);
    jw_init(&n->w, &n->text, JW_CLEAN);
    jw_object(&n->w);
    jw_kcstr(&n->w, "threadId", v->view->live->id);
    return &n->w;
}

void codex_end(struct codex_note *n)
{
    jw_object_end(&n->w);
    codex_notify(n->view->app, n->method, &n->text);
    buf_release(&n->text);
}

/* ---- Connection ---- */

static void do_initialize(struct codex *a, struct rpc_call *call)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(buf_release) struct buf agent = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)64 << 10);
    const struct live_table_spec *spec = client_spec(a->client);
    const struct json *info = json_get(call->params, "clientInfo");
    struct jw w;

    if (a->is_initialized) {
        rpc_refusef(call, RPC_REQUEST, "Already initialized");
        return;
    }
    if (!json_is(info, JSON_OBJECT)) {
        codex_refuse_missing(call, "clientInfo");
        return;
    }
    a->is_initialized = true;
    buf_add(&a->name, str_clip(json_get_str(info, "name"), 200));
    JSON_EACH(json_path(call->params, "capabilities.optOutNotificationMethods"), method) {
        strv_add(&a->muted, json_str(method));
    }
    (void)spec->settings(spec->arg, /*dir=*/NULL, /*trusts=*/false, &conf, /*err=*/NULL);
    buf_adds(&agent, "tenax-app-server/" CODEX_VERSION " (tenax " TENAX_VERSION "; linux; ");
#if defined(__x86_64__)
    buf_adds(&agent, "x86_64)");
#elif defined(__aarch64__)
    buf_adds(&agent, "aarch64)");
#else
    buf_adds(&agent, "unknown)");
#endif
    jw_init(&w, &out, JW_CLEAN);
    jw_object(&w);
    jw_kstr(&w, "userAgent", buf_str(&agent));
    jw_kcstr(&w, "codexHome", conf ? conf_home(conf) : "");
    jw_kcstr(&w, "platformFamily", "unix");
    jw_kcstr(&w, "platformOs", "linux");
    jw_object_end(&w);
    rpc_answer(call, buf_str(&out));
}

/* ---- Methods ---- */

static const struct {
    const char *method;
    void (*fn)(struct codex *a, struct rpc_call *call);
} methods[] = {
    {"initialize", do_initialize},
    {"thread/start", codex_thread_start},
    {"thread/resume", codex_thread_resume},
    {"thread/fork", codex_thread_fork},
    {"thread/list", codex_thread_list},
    {"thread/read", codex_thread_read},
    {"thread/loaded/list", codex_loaded_list},
    {"thread/turns/list", codex_turns_list},
    {"thread/items/list", codex_items_list},
    {"thread/name/set", codex_thread_name_set},
    {"thread/delete", codex_thread_delete},
    {"thread/unsubscribe", codex_thread_unsubscribe},
    {"thread/compact/start", codex_thread_compact},
    {"turn/start", codex_turn_start},
    {"turn/steer", codex_turn_steer},
    {"turn/interrupt", codex_turn_interrupt},
    {"thread/goal/set", codex_goal_set},
    {"thread/goal/get", codex_goal_get},
    {"thread/goal/clear", codex_goal_clear},
    {"model/list", codex_model_list},
    {"skills/list", codex_skills_list},
    {"mcpServerStatus/list", codex_mcp_list},
    {"account/read", codex_account_read},
    {"config/read", codex_config_read},
    {"permissionProfile/list", codex_profile_list},
};

static void refuse_unknown(struct rpc_call *call)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)16 << 10);

    buf_addf(&text, "Invalid request: unknown variant `%.*s`, expected one of ",
             STR_ARG(str_clip(call->method, 200)));
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        buf_addf(&text, "%s`%s`", i ? ", " : "", methods[i].method);
    rpc_refuse(call, RPC_REQUEST, buf_str(&text), STR(""));
}

static void on_request(struct client *client, struct rpc_call *call)
{
    struct codex *a = client->own;

    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (!str_is(call->method, methods[i].method))
            continue;
        if (!a->is_initialized && methods[i].fn != do_initialize)
            rpc_refusef(call, RPC_REQUEST, "Not initialized");
        else
            methods[i].fn(a, call);
        return;
    }
    refuse_unknown(call);
}

static void on_notified(struct client *client, struct str method, const struct json *params)
{
    (void)client; /* "initialized": nothing waits for it */
    (void)method;
    (void)params;
}

static void on_ended(struct client *client)
{
    VEC_EACH(&client->views, v) {
        codex_asks_refuse(codex_view_of(*v));
        if ((*v)->live->users == 1)
            codex_interrupt(codex_view_of(*v));
    }
    codex_follow_end(((struct codex *)client->own)->follow);
}

static void *on_client_new(struct client *client)
{
    struct codex *a = mem_zalloc(sizeof(*a));

    a->client = client;
    a->follow = codex_follow_new(a);
    buf_init(&a->name, 1024);
    return a;
}

static void on_client_free(void *own)
{
    struct codex *a = own;

    buf_release(&a->name);
    strv_release(&a->muted);
    strv_release(&a->left);
    codex_follow_free(a->follow);
    mem_freep(&a);
}

static void *on_view_new(struct client_view *view)
{
    struct codex_view *v = mem_zalloc(sizeof(*v));

    v->app = view->client->own;
    v->view = view;
    buf_init(&v->status, 4096);
    buf_init(&v->goal, CODEX_MAX_TEXT);
    buf_init(&v->started, 4096);
    buf_init(&v->diff, CODEX_MAX_TEXT);
    v->in_turn = host_in_turn(view->live->host);
    codex_items_init(v);
    return v;
}

static void on_view_free(void *own)
{
    struct codex_view *v = own;

    codex_asked_free(v);
    codex_diff_release(v);
    items_release(&v->items);
    buf_release(&v->status);
    buf_release(&v->goal);
    buf_release(&v->started);
    mem_freep(&v);
}

const struct protocol codex_protocol = {
    .is_bare = true,
    .client_new = on_client_new,
    .client_free = on_client_free,
    .request = on_request,
    .notified = on_notified,
    .view_new = on_view_new,
    .view_free = on_view_free,
    .event = codex_event,
    .ask = codex_ask,
    .withdrawn = codex_withdrawn,
    .ended = on_ended,
    .closed = codex_closed,
};
