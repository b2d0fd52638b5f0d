/*
 * codex_thread: threads started, resumed, forked and let go. The loop's thread.
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "guard/permit.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "host/record/replay.h"
#include "json/json.h"
#include "llm/effort.h"
#include "llm/message.h"
#include "proto/codex/codex_state.h"
#include "slash/slash.h"
#include "store/index.h"

enum codex_open {
    OPEN_START,
    OPEN_RESUME,
    OPEN_FORK,
};

/* ---- Written ---- */

static void write_null(struct jw *w, const char *key)
{
    jw_key(w, key);
    jw_null(w);
}

static void write_seconds(struct jw *w, const char *key, int64_t ms)
{
    jw_ki64(w, key, (ms ? ms : clock_wall_ms()) / 1000);
}

static void write_environments(struct jw *w, struct str cwd)
{
    jw_key(w, "environments");
    jw_array(w);
    jw_object(w);
    jw_kcstr(w, "environmentId", "local");
    jw_kstr(w, "cwd", cwd);
    jw_key(w, "runtimeWorkspaceRoots");
    jw_array(w);
    jw_str(w, cwd);
    jw_array_end(w);
    jw_object_end(w);
    jw_array_end(w);
}

void codex_write_thread(struct jw *w, const struct codex_thread *t)
{
    static const char *const nulls[] = {"section",        "sectionEnteredAt", "projectId",
                                        "threadSource",   "agentNickname",    "agentRole",
                                        "daybreakEnabled"};
    const struct store_session *row = t->row;
    struct str name = row && row->title.len ? row->title : row ? row->ai_title : STR("");

    jw_object(w);
    jw_kcstr(w, "id", t->id);
    write_environments(w, t->cwd);
    write_null(w, "extra");
    jw_kcstr(w, "sessionId", t->id);
    jw_key(w, "forkedFromId");
    if (t->forked_from.len)
        jw_str(w, t->forked_from);
    else
        jw_null(w);
    write_null(w, "attachedToThreadId");
    write_null(w, "parentThreadId");
    jw_kstr(w, "preview", row ? row->first_prompt : STR(""));
    jw_kbool(w, "ephemeral", t->is_ephemeral);
    jw_kcstr(w, "historyMode", "paginated");
    jw_kcstr(w, "modelProvider", t->provider);
    jw_kcstr(w, "model", t->model);
    jw_kcstr(w, "reasoningEffort", t->effort);
    write_seconds(w, "createdAt", row ? row->created_ms : 0);
    write_seconds(w, "updatedAt", row ? row->last_ms : 0);
    write_seconds(w, "recencyAt", row ? row->last_ms : 0);
    jw_kraw(w, "status", str_of(t->status));
    jw_key(w, "path");
    if (t->path && *t->path)
        jw_cstr(w, t->path);
    else
        jw_null(w);
    jw_kstr(w, "cwd", t->cwd);
    jw_kcstr(w, "cliVersion", CODEX_VERSION);
    jw_kcstr(w, "originator", "tenax");
    jw_kcstr(w, "source", "appServer");
    jw_kbool(w, "canAcceptDirectInput", true);
    for (size_t i = 0; i < ARRAY_LEN(nulls); i++)
        write_null(w, nulls[i]);
    jw_key(w, "gitInfo");
    if (row && row->branch.len) {
        jw_object(w);
        write_null(w, "sha");
        jw_kstr(w, "branch", row->branch);
        write_null(w, "originUrl");
        jw_object_end(w);
    } else {
        jw_null(w);
    }
    jw_key(w, "name");
    if (name.len)
        jw_str(w, name);
    else
        jw_null(w);
    jw_key(w, "turns");
    jw_array(w);
    for (size_t i = 0; t->turns && i < t->turns->turns.len; i++)
        turn_write(t->turns->turns.ptr[i], t->turns->dir, TURN_FULL, w);
    jw_array_end(w);
    jw_object_end(w);
}

const char *codex_status_of(const struct codex_view *v, struct buf *room)
{
    bool is_active = v->in_turn || items_running(&v->items) || v->started.len;

    buf_clear(room);
    if (!is_active) {
        buf_addf(room, "{\"type\":\"%s\"}", v->has_failed ? "systemError" : "idle");
    } else {
        buf_addf(room, "{\"type\":\"active\",\"activeFlags\":[%s%s%s]}",
                 v->is_waiting_for_approval ? "\"waitingOnApproval\"" : "",
                 v->is_waiting_for_approval && v->is_waiting_for_input ? "," : "",
                 v->is_waiting_for_input ? "\"waitingOnUserInput\"" : "");
    }
    return buf_cstr(room);
}

static void write_live(struct codex_view *v, const struct store_session *row,
                       struct str forked_from, const struct items *turns, struct jw *w)
{
    CLEANUP(buf_release) struct buf provider = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf model = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf room = BUF_INIT(4096);
    struct host *h = v->view->live->host;
    enum effort effort = host_effort(h);
    int64_t window;
    struct codex_thread t = {
        .row = row,
        .id = v->view->live->id,
        .path = host_transcript(h),
        .effort = effort == EFFORT_UNSET ? NULL : effort_name(effort),
        .cwd = str_of(conf_dir(host_conf(h))),
        .forked_from = forked_from,
        .is_ephemeral = v->is_ephemeral,
        .turns = turns,
    };

    host_model(h, &provider, &model, &window);
    t.provider = buf_cstr(&provider);
    t.model = buf_cstr(&model);
    t.status = codex_status_of(v, &room);
    codex_write_thread(w, &t);
}

/* What a mode comes to in the words of Codex. */
static const char *policy_of(enum permit_mode mode)
{
    return mode == MODE_DONT_ASK || mode == MODE_BYPASS ? "never"
           : mode == MODE_DEFAULT                       ? "untrusted"
                                                        : "on-request";
}

static const char *sandbox_of(const struct codex_view *v, enum permit_mode mode)
{
    const char *name = v->sandbox            ? v->sandbox
                       : mode == MODE_BYPASS ? "danger-full-access"
                       : mode == MODE_PLAN   ? "read-only"
                                             : "workspace-write";

    return strcmp(name, "read-only") == 0            ? "readOnly"
           : strcmp(name, "danger-full-access") == 0 ? "dangerFullAccess"
                                                     : "workspaceWrite";
}

static void write_opened(struct codex_view *v, const struct store_session *row,
                         struct str forked_from, const struct items *turns, bool is_resumed,
                         struct buf *ret)
{
    CLEANUP(buf_release) struct buf provider = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf model = BUF_INIT(1024);
    struct host *h = v->view->live->host;
    enum permit_mode mode = permit_mode(host_permit(h));
    enum effort effort = host_effort(h);
    const char *sandbox = sandbox_of(v, mode);
    int64_t window;
    struct jw w;

    host_model(h, &provider, &model, &window);
    jw_init(&w, ret, JW_CLEAN);
    jw_object(&w);
    jw_key(&w, "thread");
    write_live(v, row, forked_from, turns, &w);
    jw_kstr(&w, "model", buf_str(&model));
    jw_kstr(&w, "modelProvider", buf_str(&provider));
    write_null(&w, "serviceTier");
    jw_kcstr(&w, "cwd", conf_dir(host_conf(h)));
    jw_key(&w, "runtimeWorkspaceRoots");
    jw_array(&w);
    jw_cstr(&w, conf_dir(host_conf(h)));
    jw_array_end(&w);
    jw_key(&w, "instructionSources");
    jw_array(&w);
    jw_array_end(&w);
    jw_kcstr(&w, "approvalPolicy", v->policy ? v->policy : policy_of(mode));
    jw_kcstr(&w, "approvalsReviewer", "user");
    jw_key(&w, "sandbox");
    jw_object(&w);
    jw_kcstr(&w, "type", sandbox);
    if (strcmp(sandbox, "workspaceWrite") == 0) {
        jw_key(&w, "writableRoots");
        jw_array(&w);
        jw_array_end(&w);
        jw_kbool(&w, "networkAccess", false);
        jw_kbool(&w, "excludeTmpdirEnvVar", false);
        jw_kbool(&w, "excludeSlashTmp", false);
    } else if (strcmp(sandbox, "readOnly") == 0) {
        jw_kbool(&w, "networkAccess", false);
    }
    jw_object_end(&w);
    write_null(&w, "activePermissionProfile");
    jw_key(&w, "disabledPluginIds");
    jw_array(&w);
    jw_array_end(&w);
    jw_kcstr(&w, "multiAgentMode", "explicitRequestOnly");
    jw_kcstr(&w, "reasoningEffort", effort == EFFORT_UNSET ? NULL : effort_name(effort));
    if (is_resumed) {
        /* No number: a list that goes backwards begins at its newest. Clients take null for none.
         */
        jw_kcstr(&w, "turnsBackwardsCursor", "newest");
        jw_kcstr(&w, "itemsBackwardsCursor", "newest");
        write_null(&w, "initialTurnsPage");
    }
    jw_object_end(&w);
}

/* ---- Policies ---- */

static const char *const policies[] = {"untrusted", "on-request", "on-failure", "never"};
static const char *const sandboxes[] = {"read-only", "workspace-write", "danger-full-access"};

static int choose(const struct json *v, const char *const *names, size_t count, const char *field,
                  const char **ret, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!str_is(json_str(v), names[i]))
            continue;
        *ret = names[i];
        return 0;
    }
    return err_set(err, ERR_BAD_INPUT, "Invalid request: unknown variant `%.*s` of `%s`",
                   STR_ARG(str_clip(json_str(v), 60)), field);
}

static int read_policies(struct codex_view *v, const struct json *params, bool *ret_given,
                         struct err *err)
{
    static const char *const types[] = {"readOnly", "workspaceWrite", "dangerFullAccess"};
    const struct json *policy = json_get(params, "approvalPolicy");
    const struct json *sandbox = json_get(params, "sandbox");
    const struct json *object = json_get(params, "sandboxPolicy");
    const char *type = NULL;

    *ret_given = false;
    if (json_is(policy, JSON_OBJECT)) { /* granular */
        v->policy = "on-request";
        *ret_given = true;
    } else if (json_is(policy, JSON_STRING)) {
        if (choose(policy, policies, ARRAY_LEN(policies), "approvalPolicy", &v->policy, err) < 0)
            return -1;
        *ret_given = true;
    }
    if (json_is(sandbox, JSON_STRING)) {
        if (choose(sandbox, sandboxes, ARRAY_LEN(sandboxes), "sandbox", &v->sandbox, err) < 0)
            return -1;
        *ret_given = true;
    }
    if (json_is(object, JSON_OBJECT)) {
        if (choose(json_get(object, "type"), types, ARRAY_LEN(types), "sandboxPolicy.type", &type,
                   err) < 0)
            return -1;
        for (size_t i = 0; i < ARRAY_LEN(types); i++) {
            if (type == types[i])
                v->sandbox = sandboxes[i];
        }
        *ret_given = true;
    }
    return 0;
}

int codex_apply(struct codex_view *v, const struct json *params, struct err *err)
{
    struct permit *permit = host_permit(v->view->live->host);
    bool is_never, is_open, is_closed;
    enum permit_mode mode;
    bool given;

    if (read_policies(v, params, &given, err) < 0)
        return -1;
    if (!given)
        return 0;
    is_never = v->policy && strcmp(v->policy, "never") == 0;
    is_open = v->sandbox && strcmp(v->sandbox, "danger-full-access") == 0;
    is_closed = v->sandbox && strcmp(v->sandbox, "read-only") == 0;
    v->denies_asks = is_never && !is_open;
    if (is_never)
        mode = is_open ? MODE_BYPASS : is_closed ? MODE_DONT_ASK : MODE_AUTO;
    else if (is_open || is_closed || (v->policy && strcmp(v->policy, "untrusted") == 0))
        mode = MODE_DEFAULT;
    else
        mode = MODE_AUTO;
    if (permit_mode(permit) == mode)
        return 0;
    return permit_set_mode(permit, mode, err);
}

/* ---- Opening ---- */

struct codex_opening {
    struct client *client;
    struct rpc_call *call;
    enum codex_open how;
};

/* The stored data of a thread: read as a chore of its session. */
struct opened_chore {
    struct call_chore base;
    char session[ID_UUID_LEN + 1];
    enum codex_open how;
    bool has_joined; /* the client had no view of it before */
    bool is_known;   /* row */
    struct arena arena;
    struct store_session row;
    struct items turns;
    bool with_turns;
    struct buf model, effort;
};

static void on_replay(void *arg, const struct event *e)
{
    items_event(arg, e);
}

static void opened_run(struct call_chore *c)
{
    struct opened_chore *o = (struct opened_chore *)c;
    struct host *h = c->live->host;
    CLEANUP(buf_release) struct buf name = BUF_INIT(1024);
    enum effort effort;

    if (o->model.len && host_set_model(h, buf_str(&o->model), &name, &c->err) < 0)
        return;
    if (o->effort.len && effort_parse(buf_str(&o->effort), &effort))
        host_set_effort(h, effort);
    if (o->how == OPEN_START)
        return;
    o->is_known = index_read(host_transcript(h), client_cancel(c->client), &o->arena, &o->row,
                             /*err=*/NULL) == 0;
    if (o->with_turns)
        (void)replay_session(h, client_cancel(c->client), on_replay, &o->turns, &c->err);
}

static void opened_release(struct call_chore *c)
{
    struct opened_chore *o = (struct opened_chore *)c;

    items_release(&o->turns);
    arena_release(&o->arena);
    buf_release(&o->model);
    buf_release(&o->effort);
}

static void say_started(struct codex_view *v)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(RPC_MAX_OUT);
    struct jw w;

    jw_init(&w, &out, JW_CLEAN);
    jw_object(&w);
    jw_key(&w, "thread");
    write_live(v, /*row=*/NULL, STR(""), /*turns=*/NULL, &w);
    jw_object_end(&w);
    codex_notify(v->app, "thread/started", &out);
}

static void say_warning(struct codex_view *v, struct str text)
{
    struct codex_note n;
    struct jw *w = codex_begin(&n, v, "warning");

    jw_kstr(w, "message", text);
    codex_end(&n);
}

/* It could not be opened as the client wants it: who had it before keeps it as it was. */
static void leave_refused(struct opened_chore *o, struct client_view *view)
{
    struct live *live = o->base.live;

    if (view && o->has_joined) {
        view_free(view);
    } else if (view) {
        view->is_held = false;
        view_pump(view);
    }
    live_close_unused(live, /*begins=*/false);
}

static void opened_answer(struct call_chore *c)
{
    struct opened_chore *o = (struct opened_chore *)c;
    struct client_view *view = client_view(c->client, str_of(o->session));
    struct codex_view *v = view ? codex_view_of(view) : NULL;
    struct err err = {0};
    struct strv *notes;

    if (!v) {
        rpc_refusef(TAKE_PTR(c->call), RPC_REQUEST, "thread not found: %s", o->session);
        return;
    }
    if (codex_apply(v, c->call->params, &err) < 0) {
        rpc_refuse(TAKE_PTR(c->call), RPC_REQUEST, str_of(err.text), STR(""));
        leave_refused(o, view);
        return;
    }
    write_opened(v, o->is_known ? &o->row : NULL,
                 o->how == OPEN_FORK ? json_get_str(c->call->params, "threadId") : STR(""),
                 o->with_turns ? &o->turns : NULL, o->how != OPEN_START, &c->result);
    rpc_answer(TAKE_PTR(c->call), buf_str(&c->result));
    if (o->how != OPEN_RESUME)
        say_started(v);
    notes = &v->view->live->notes;
    for (size_t i = 0; i < notes->len; i++)
        say_warning(v, str_of(notes->ptr[i]));
    strv_clear(notes);
    if (conf_lacks_trust(host_conf(v->view->live->host)))
        say_warning(v, STR("this folder is not trusted: those of its settings that run programs or "
                           "grant permissions are left out (tenax trust add)"));
    view->is_held = false;
    codex_say_status(v);
    codex_goal_opened(v);
    view_pump(view);
}

static void opened_failed(struct call_chore *c)
{
    struct opened_chore *o = (struct opened_chore *)c;
    struct client_view *view = client_view(c->client, str_of(o->session));

    rpc_refuse(TAKE_PTR(c->call), codex_code(&c->err), str_of(c->err.text), STR(""));
    leave_refused(o, view);
}

static bool on_opened(void *arg, struct live *live, struct str holder, const struct err *err)
{
    struct codex_opening *o = arg;
    struct client *c = o->client;
    struct str id = json_get_str(o->call->params, "threadId");
    const struct json *config = json_get(o->call->params, "config");
    bool is_wanted = live && !c->is_closed && !c->is_ended;
    struct opened_chore *chore;
    struct client_view *view;

    (void)holder;
    if (!live && err->code == ERR_BUSY) {
        rpc_refusef(o->call, RPC_REQUEST, "thread %.*s already has an active writer", STR_ARG(id));
    } else if (!live && err->code == ERR_NOT_FOUND) {
        rpc_refusef(o->call, RPC_REQUEST, "no rollout found for thread id %.*s", STR_ARG(id));
    } else if (!live) {
        rpc_refuse(o->call, codex_code(err), str_of(err->text), STR(""));
    } else if (!is_wanted) {
        rpc_refusef(o->call, RPC_INTERNAL, "the connection has ended");
    } else {
        bool has_joined = !client_view(c, str_of(live->id));

        view = has_joined ? view_new(c, live, o->how == OPEN_START ? 1 : FEED_NOW)
                          : client_view(c, str_of(live->id));
        view->is_held = true;
        codex_view_of(view)->is_ephemeral =
            json_get_bool(o->call->params, "ephemeral", false) && o->how == OPEN_START;
        codex_unfollow(c->own, str_of(live->id));
        chore = call_chore_new(sizeof(*chore), c, o->call, live, opened_run);
        memcpy(chore->session, live->id, sizeof(chore->session));
        chore->how = o->how;
        chore->has_joined = has_joined;
        chore->arena = (struct arena)ARENA_INIT;
        chore->with_turns =
            o->how != OPEN_START && !json_get_bool(o->call->params, "excludeTurns", false);
        chore->turns = (struct items){.dir = conf_dir(live->conf), .keeps = true};
        buf_init(&chore->model, 4096);
        buf_init(&chore->effort, 4096);
        buf_add(&chore->model, json_get_str(o->call->params, "model"));
        if (!chore->model.len)
            buf_add(&chore->model, json_get_str(config, "model"));
        buf_add(&chore->effort, json_get_str(config, "model_reasoning_effort"));
        chore->base.answer = opened_answer;
        chore->base.failed = opened_failed;
        chore->base.release = opened_release;
        chore->base.code = codex_code;
        call_chore_start(chore);
    }
    client_unref(c);
    mem_freep(&o);
    return is_wanted;
}

/* config.mcp_servers as entries of ours: Codex writes http_headers. */
static void write_servers(const struct json *servers, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, JW_CLEAN);
    jw_object(&w);
    JSON_EACH(servers, s) {
        jw_key_str(&w, json_key(s));
        jw_object(&w);
        if (json_get_str(s, "url").len)
            jw_kcstr(&w, "type", "http");
        JSON_EACH(s, m) {
            struct str key = json_key(m);

            if (!str_is_word_of(key, "command args env cwd url http_headers headers"))
                continue;
            jw_key_str(&w, str_is(key, "http_headers") ? STR("headers") : key);
            jw_json(&w, m);
        }
        jw_object_end(&w);
    }
    jw_object_end(&w);
}

static bool is_trusted(const struct json *params, struct str cwd)
{
    const struct json *projects = json_path(params, "config.projects");

    return str_is(json_get_str(json_get_key(projects, cwd), "trust_level"), "trusted");
}

static void open_thread(struct codex *a, struct rpc_call *call, enum codex_open how)
{
    const struct json *p = call->params;
    const struct live_table_spec *common = client_spec(a->client);
    CLEANUP(buf_release) struct buf servers = BUF_INIT(CODEX_MAX_TEXT);
    struct str cwd = json_get_str(p, "cwd");
    struct codex_opening *o;
    struct live_spec spec = {
        .forks = how == OPEN_FORK,
        .is_unkept = json_get_bool(p, "ephemeral", false),
        .system = json_get_str(p, "baseInstructions"),
        .append = json_get_str(p, "developerInstructions"),
        .trusts = is_trusted(p, cwd),
    };
    struct str id;

    if (how != OPEN_START) {
        if (!codex_thread_id(call, &id))
            return;
        spec.resume = arena_cstr(&call->arena, id);
    }
    if (cwd.len && cwd.ptr[0] != '/') {
        rpc_refusef(call, RPC_REQUEST, "Invalid request: cwd must be an absolute path");
        return;
    }
    if (json_len(json_path(p, "config.mcp_servers"))) {
        write_servers(json_path(p, "config.mcp_servers"), &servers);
        spec.servers = buf_str(&servers);
    }
    spec.dir = cwd.len ? arena_cstr(&call->arena, cwd) : NULL;
    (void)common;
    o = mem_zalloc(sizeof(*o));
    *o = (struct codex_opening){a->client, call, how};
    client_ref(a->client);
    live_open(client_table(a->client), &spec, on_opened, o);
}

void codex_thread_start(struct codex *a, struct rpc_call *call)
{
    open_thread(a, call, OPEN_START);
}

void codex_thread_resume(struct codex *a, struct rpc_call *call)
{
    open_thread(a, call, OPEN_RESUME);
}

void codex_thread_fork(struct codex *a, struct rpc_call *call)
{
    open_thread(a, call, OPEN_FORK);
}

/* ---- The rest ---- */

void codex_closed(struct client *c, struct str session)
{
    CLEANUP(buf_release) struct buf params = BUF_INIT(1024);
    struct codex *a = c->own;

    if (!strv_has(&a->left, session))
        return;
    buf_addf(&params, "{\"threadId\":\"%.*s\"}", STR_ARG(session));
    codex_notify(a, "thread/closed", &params);
}

void codex_leave(struct client_view *v)
{
    struct codex *a = v->client->own;
    struct str id = str_of(v->live->id);

    if (a->left.len < CODEX_MAX_LEFT && !strv_has(&a->left, id))
        strv_add(&a->left, id);
    codex_asks_refuse(codex_view_of(v));
    view_free(v);
}

static void on_unsubscribed(void *arg)
{
    rpc_answer(arg, STR("{\"status\":\"unsubscribed\"}"));
}

void codex_thread_unsubscribe(struct codex *a, struct rpc_call *call)
{
    struct client_view *v;
    struct live *live;
    struct str id;

    if (!codex_thread_id(call, &id))
        return;
    v = client_view(a->client, id);
    live = live_find(client_table(a->client), id);
    codex_unfollow(a, id);
    if (!v) {
        /* A thread closes with its last subscriber: who has just left one still calls it loaded. */
        rpc_answer(call, live || strv_has(&a->left, id) ? STR("{\"status\":\"notSubscribed\"}")
                                                        : STR("{\"status\":\"notLoaded\"}"));
        return;
    }
    codex_leave(v);
    if (!live->users && !host_in_turn(live->host)) {
        live_close(live, on_unsubscribed, call);
        return;
    }
    on_unsubscribed(call);
    live_close_unused(live, /*begins=*/false);
}

static void name_run(struct call_chore *c)
{
    (void)host_rename(c->live->host, json_get_str(c->call->params, "name"), &c->err);
}

struct named {
    const char *session;
    struct str name;
};

static void say_name(struct client *c, void *arg)
{
    const struct named *named = arg;
    struct client_view *view = client_view(c, str_of(named->session));
    struct codex_note n;

    if (!view)
        return;
    jw_kstr(codex_begin(&n, codex_view_of(view), "thread/name/updated"), "threadName", named->name);
    codex_end(&n);
}

static void name_answer(struct call_chore *c)
{
    struct named named = {c->live->id, json_get_str(c->call->params, "name")};
    CLEANUP(buf_release) struct buf name = BUF_INIT(CODEX_MAX_TEXT);

    buf_add(&name, named.name);
    named.name = buf_str(&name);
    rpc_answer(TAKE_PTR(c->call), STR("{}"));
    client_each(c->client, say_name, &named);
}

void codex_thread_name_set(struct codex *a, struct rpc_call *call)
{
    struct codex_view *v = codex_view_for(a, call);
    struct call_chore *c;

    if (!v)
        return;
    if (!json_is(json_get(call->params, "name"), JSON_STRING)) {
        codex_refuse_missing(call, "name");
        return;
    }
    c = call_chore_new(sizeof(*c), a->client, call, v->view->live, name_run);
    c->answer = name_answer;
    c->code = codex_code;
    call_chore_start(c);
}

static void compact_run(struct call_chore *c)
{
    struct agent_input input = {.message = message_user_text(STR("/compact"))};

    id_uuid(input.uuid);
    (void)slash_send(c->live->slash, &input, &c->err);
}

void codex_thread_compact(struct codex *a, struct rpc_call *call)
{
    struct codex_view *v = codex_view_for(a, call);
    struct call_chore *c;

    if (!v)
        return;
    c = call_chore_new(sizeof(*c), a->client, call, v->view->live, compact_run);
    c->code = codex_code;
    call_chore_start(c);
}
