/*
 * acp: the methods of the protocol, and the state of a client. The loop's thread.
 */
#include "proto/acp/acp.h"

#include <stdlib.h>
#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "host/host.h"
#include "json/json.h"
#include "llm/auth.h"
#include "llm/provider.h"
#include "proto/acp/acp_state.h"
#include "slash/slash.h"

struct acp_view *acp_view_of(const struct client_view *v)
{
    return v->own;
}

enum rpc_code acp_code(const struct err *err)
{
    switch (err->code) {
    case ERR_AUTH:
        return RPC_AUTH;
    case ERR_NOT_FOUND:
        return RPC_NOT_FOUND;
    case ERR_BAD_INPUT:
        return RPC_PARAMS;
    default:
        return RPC_INTERNAL;
    }
}

struct acp_view *acp_view_for(struct acp *a, struct rpc_call *call)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(4096);
    const struct json *id = json_get(call->params, "sessionId");
    struct client_view *v = client_view(a->client, json_str(id));
    struct jw w;

    if (v)
        return acp_view_of(v);
    if (!json_is(id, JSON_STRING)) {
        rpc_refusef(call, RPC_PARAMS, "sessionId must be a string");
        return NULL;
    }
    jw_init(&w, &data, JW_CLEAN);
    jw_object(&w);
    jw_kstr(&w, "sessionId", str_clip(json_str(id), 200));
    jw_object_end(&w);
    rpc_refuse(call, RPC_NOT_FOUND, STR("there is no such session on this connection"),
               buf_str(&data));
    return NULL;
}

/* ---- Connection ---- */

/* Whether a model can be asked with what settings and environment have. */
static bool is_ready(const struct conf *conf, const struct args *args, struct cancel *cancel)
{
    CLEANUP(provider_release) struct provider p = {0};
    struct err err = {0};

    return provider_select(conf, str_of(args_get(args, OPT_MODEL)), cancel, &p, &err) == 0;
}

static void write_methods(const struct acp *a, bool ready, struct jw *w)
{
    jw_key(w, "authMethods");
    jw_array(w);
    if (!ready && a->terminal_login) {
        jw_object(w);
        jw_kcstr(w, "type", "terminal");
        jw_kcstr(w, "id", "tenax-login");
        jw_kcstr(w, "name", "Log in with an API key");
        jw_kcstr(w, "description", "Store a key with tenax auth login");
        jw_key(w, "args");
        jw_array(w);
        jw_cstr(w, "auth");
        jw_cstr(w, "login");
        jw_array_end(w);
        jw_object_end(w);
    }
    if (!ready) {
        jw_object(w);
        jw_kcstr(w, "id", "environment");
        jw_kcstr(w, "name", "Use a key from the environment or the settings");
        jw_kcstr(w, "description",
                 "Set ANTHROPIC_API_KEY, or run tenax auth login, then try again");
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void write_empty(struct jw *w, const char *key)
{
    jw_key(w, key);
    jw_object(w);
    jw_object_end(w);
}

static void write_capabilities(struct jw *w)
{
    static const char *const session[] = {"list", "resume", "close", "delete",
                                          "additionalDirectories"};

    jw_key(w, "agentCapabilities");
    jw_object(w);
    jw_kbool(w, "loadSession", true);
    jw_key(w, "promptCapabilities");
    jw_object(w);
    jw_kbool(w, "image", true);
    jw_kbool(w, "audio", false);
    jw_kbool(w, "embeddedContext", true);
    jw_object_end(w);
    jw_key(w, "mcpCapabilities");
    jw_object(w);
    jw_kbool(w, "http", true);
    jw_kbool(w, "sse", true);
    jw_object_end(w);
    jw_key(w, "sessionCapabilities");
    jw_object(w);
    for (size_t i = 0; i < ARRAY_LEN(session); i++)
        write_empty(w, session[i]);
    jw_object_end(w);
    jw_key(w, "auth");
    jw_object(w);
    write_empty(w, "logout");
    jw_object_end(w);
    jw_object_end(w);
}

static void take_capabilities(struct acp *a, const struct json *caps)
{
    a->reads_files = json_bool(json_path(caps, "fs.readTextFile"), false);
    a->writes_files = json_bool(json_path(caps, "fs.writeTextFile"), false);
    a->shows_terminals = json_bool(json_path(caps, "_meta.terminal_output"), false);
    a->notices = json_is(json_path(caps, "session.notices"), JSON_OBJECT);
    a->compactions = json_is(json_path(caps, "session.compaction"), JSON_OBJECT);
    a->forms = json_is(json_path(caps, "elicitation.form"), JSON_OBJECT);
    a->urls = json_is(json_path(caps, "elicitation.url"), JSON_OBJECT);
    a->terminal_login = json_bool(json_path(caps, "auth.terminal"), false) ||
                        json_bool(json_path(caps, "_meta.terminal-auth"), false);
}

static void do_initialize(struct acp *a, struct rpc_call *call)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)64 << 10);
    const struct live_table_spec *spec = client_spec(a->client);
    int64_t version;
    struct jw w;

    if (!json_i64(json_get(call->params, "protocolVersion"), &version)) {
        rpc_refusef(call, RPC_PARAMS, "protocolVersion must be an integer");
        return;
    }
    take_capabilities(a, json_get(call->params, "clientCapabilities"));
    a->is_initialized = true;
    (void)spec->settings(spec->arg, /*dir=*/NULL, /*trusts=*/false, &conf, /*err=*/NULL);
    jw_init(&w, &out, JW_CLEAN);
    jw_object(&w);
    jw_ki64(&w, "protocolVersion", 1);
    write_capabilities(&w);
    write_methods(a, conf && is_ready(conf, spec->host->args, client_cancel(a->client)), &w);
    jw_key(&w, "agentInfo");
    jw_object(&w);
    jw_kcstr(&w, "name", "tenax");
    jw_kcstr(&w, "title", "tenax");
    jw_kcstr(&w, "version", TENAX_VERSION);
    jw_object_end(&w);
    jw_object_end(&w);
    rpc_answer(call, buf_str(&out));
}

/* ---- Keys ---- */

static void authenticate_run(struct call_chore *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(provider_release) struct provider p = {0};
    const struct live_table_spec *spec = client_spec(c->client);

    if (spec->settings(spec->arg, /*dir=*/NULL, /*trusts=*/false, &conf, &c->err) < 0)
        return;
    (void)provider_select(conf, str_of(args_get(spec->host->args, OPT_MODEL)),
                          client_cancel(c->client), &p, &c->err);
}

static void do_authenticate(struct acp *a, struct rpc_call *call)
{
    struct call_chore *c;
    struct str method = json_get_str(call->params, "methodId");

    if (!str_is_word_of(method, "environment tenax-login")) {
        rpc_refusef(call, RPC_PARAMS, "there is no authentication method \"%.*s\"",
                    STR_ARG(str_clip(method, 60)));
        return;
    }
    c = call_chore_new(sizeof(*c), a->client, call, /*live=*/NULL, authenticate_run);
    c->code = acp_code;
    call_chore_start(c);
}

/* Keys that tenax keeps are forgotten; those of the environment are the user's. */
static void logout_run(struct call_chore *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(strv_release) struct strv stored = STRV_INIT;
    const struct live_table_spec *spec = client_spec(c->client);

    if (spec->settings(spec->arg, /*dir=*/NULL, /*trusts=*/false, &conf, &c->err) < 0 ||
        auth_list(conf_home(conf), &stored, &c->err) < 0)
        return;
    for (size_t i = 0; i < stored.len; i++) {
        if (auth_remove(conf_home(conf), str_of(stored.ptr[i]), &c->err) < 0)
            return;
    }
}

static void do_logout(struct acp *a, struct rpc_call *call)
{
    call_chore_start(
        call_chore_new(sizeof(struct call_chore), a->client, call, /*live=*/NULL, logout_run));
}

/* ---- Methods ---- */

static const struct {
    const char *method;
    void (*fn)(struct acp *a, struct rpc_call *call);
} methods[] = {
    {"initialize", do_initialize},
    {"authenticate", do_authenticate},
    {"logout", do_logout},
    {"session/new", acp_session_new},
    {"session/load", acp_session_load},
    {"session/resume", acp_session_resume},
    {"session/list", acp_session_list},
    {"session/close", acp_session_close},
    {"session/delete", acp_session_delete},
    {"session/prompt", acp_prompt},
    {"session/set_mode", acp_set_mode},
    {"session/set_config_option", acp_set_option},
};

static void on_request(struct client *client, struct rpc_call *call)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(4096);
    struct acp *a = client->own;
    struct jw w;

    if (!a->is_initialized && !str_is(call->method, "initialize")) {
        rpc_refuse(call, RPC_REQUEST, STR("Invalid request"),
                   STR("\"first ACP request must be initialize\""));
        return;
    }
    if (call->params && !json_is(call->params, JSON_OBJECT)) {
        rpc_refusef(call, RPC_PARAMS, "params must be an object");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (!str_is(call->method, methods[i].method))
            continue;
        methods[i].fn(a, call);
        return;
    }
    jw_init(&w, &data, JW_CLEAN);
    jw_object(&w);
    jw_kstr(&w, "method", str_clip(call->method, 200));
    jw_object_end(&w);
    rpc_refuse(call, RPC_METHOD, STR("Method not found"), buf_str(&data));
}

static void on_notified(struct client *client, struct str method, const struct json *params)
{
    struct client_view *v = client_view(client, json_get_str(params, "sessionId"));

    if (v && str_is(method, "session/cancel"))
        acp_cancel(acp_view_of(v));
}

static void on_taken_back(struct client *client, struct rpc_call *call)
{
    struct client_view *v = client_view(client, json_get_str(call->params, "sessionId"));

    if (v && str_is(call->method, "session/prompt"))
        acp_prompt_taken_back(acp_view_of(v), call);
}

static void on_ended(struct client *client)
{
    VEC_EACH(&client->views, v) {
        acp_cancel(acp_view_of(*v));
    }
}

static void *on_client_new(struct client *client)
{
    struct acp *a = mem_zalloc(sizeof(*a));

    a->client = client;
    return a;
}

static void on_client_free(void *own)
{
    struct acp *a = own;

    mem_freep(&a);
}

static void *on_view_new(struct client_view *view)
{
    struct acp_view *v = mem_zalloc(sizeof(*v));

    v->acp = view->client->own;
    v->view = view;
    buf_init(&v->message, 4096);
    buf_init(&v->user, 4096);
    buf_init(&v->goal, ACP_MAX_TEXT);
    buf_init(&v->options, ACP_MAX_TEXT);
    buf_init(&v->mode, 64);
    buf_init(&v->title, 4096);
    buf_adds(&v->mode, permit_mode_name(permit_mode(host_permit(view->live->host))));
    v->in_turn = host_in_turn(view->live->host);
    acp_files_lend(v);
    return v;
}

static void on_view_free(void *own)
{
    struct acp_view *v = own;

    acp_files_withdraw(v);
    acp_prompts_free(v);
    acp_asked_free(v);
    acp_free_calls(v);
    map_release(&v->seen);
    buf_release(&v->message);
    buf_release(&v->user);
    buf_release(&v->goal);
    buf_release(&v->options);
    buf_release(&v->mode);
    buf_release(&v->title);
    mem_freep(&v);
}

const struct protocol acp_protocol = {
    .client_new = on_client_new,
    .client_free = on_client_free,
    .request = on_request,
    .notified = on_notified,
    .taken_back = on_taken_back,
    .view_new = on_view_new,
    .view_free = on_view_free,
    .event = acp_event,
    .ask = acp_ask,
    .withdrawn = acp_withdrawn,
    .ended = on_ended,
};
