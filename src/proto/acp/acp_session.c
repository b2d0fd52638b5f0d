/*
 * acp_session: sessions opened, told again, listed, closed and deleted. The loop's thread; what
 * waits is a chore.
 */
#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "host/hub.h"
#include "host/record/replay.h"
#include "json/json.h"
#include "proto/acp/acp_state.h"
#include "proto/rpc/live.h"
#include "store/index.h"
#include "store/remove.h"

#define LIST_PAGE 50

enum acp_open {
    OPEN_NEW,
    OPEN_LOAD,
    OPEN_RESUME,
};

/* A request that opens a session. */
struct acp_opening {
    struct client *client;
    struct rpc_call *call;
    enum acp_open how;
};

/* ---- Opening ---- */

static void write_opened(struct acp_view *v, enum acp_open how, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, JW_CLEAN);
    jw_object(&w);
    if (how == OPEN_NEW)
        jw_kcstr(&w, "sessionId", v->view->live->id);
    acp_write_modes(v, &w);
    jw_key(&w, "configOptions");
    acp_write_options(v, &w);
    jw_object_end(&w);
}

static void answer_opened(struct acp_view *v, struct rpc_call *call, enum acp_open how)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(ACP_MAX_TEXT);
    CLEANUP(buf_release) struct buf goal = BUF_INIT(ACP_MAX_TEXT);
    struct strv *notes = &v->view->live->notes;
    struct jw w;

    write_opened(v, how, &out);
    rpc_answer(call, buf_str(&out));
    buf_clear(&v->options);
    jw_init(&w, &v->options, JW_CLEAN);
    acp_write_options(v, &w);
    acp_say_commands(v);
    for (size_t i = 0; i < notes->len; i++)
        acp_say_notice(v, "warning", str_of(notes->ptr[i]));
    strv_clear(notes);
    v->goal_from = view_goal(v->view->live, &goal);
    acp_say_goal(v, buf_str(&goal));
    v->view->is_held = false;
    view_pump(v->view);
}

/* A transcript told again: read as a chore, shown on the loop. */
struct load_chore {
    struct call_chore base;
    char session[ID_UUID_LEN + 1];
    VEC(struct event *) events;
};

static void load_event(void *arg, const struct event *e)
{
    struct load_chore *c = arg;

    vec_push(&c->events, event_ref((struct event *)e)); /* counting changes no event */
}

static void load_run(struct call_chore *c)
{
    (void)replay_session(c->live->host, client_cancel(c->client), load_event, c, &c->err);
}

static void load_answer(struct call_chore *c)
{
    struct load_chore *l = (struct load_chore *)c;
    struct client_view *view = client_view(c->client, str_of(l->session));
    struct acp_view *v = view ? acp_view_of(view) : NULL;

    if (!v) {
        rpc_refusef(TAKE_PTR(c->call), RPC_NOT_FOUND, "the session was closed");
        return;
    }
    acp_replay(v, l->events.ptr, l->events.len);
    answer_opened(v, TAKE_PTR(c->call), OPEN_LOAD);
}

static void load_release(struct call_chore *c)
{
    struct load_chore *l = (struct load_chore *)c;

    VEC_EACH(&l->events, e) {
        event_unref(*e);
    }
    vec_release(&l->events);
}

static void begin_load(struct acp_view *v, struct rpc_call *call)
{
    struct load_chore *c =
        call_chore_new(sizeof(*c), v->acp->client, call, v->view->live, load_run);

    memcpy(c->session, v->view->live->id, sizeof(c->session));
    c->base.answer = load_answer;
    c->base.release = load_release;
    v->view->is_held = true;
    call_chore_start(c);
}

static void refuse_open(struct acp_opening *o, struct str holder, const struct err *err)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(4096);
    struct jw w;

    if (err->code == ERR_NOT_FOUND && o->how != OPEN_NEW) {
        jw_init(&w, &data, JW_CLEAN);
        jw_object(&w);
        jw_kstr(&w, "sessionId", json_get_str(o->call->params, "sessionId"));
        jw_object_end(&w);
        rpc_refuse(o->call, RPC_NOT_FOUND, str_of(err->text), buf_str(&data));
    } else if (err->code == ERR_BUSY) {
        rpc_refuse(o->call, RPC_REQUEST, str_of(err->text), holder);
    } else {
        rpc_refuse(o->call, acp_code(err), str_of(err->text), STR(""));
    }
}

static bool on_opened(void *arg, struct live *live, struct str holder, const struct err *err)
{
    struct acp_opening *o = arg;
    struct client *c = o->client;
    bool is_wanted = live && !c->is_closed && !c->is_ended;
    struct client_view *view;

    if (!live) {
        refuse_open(o, holder, err);
    } else if (!is_wanted) { /* who asked for it is gone */
        rpc_refusef(o->call, RPC_INTERNAL, "the connection has ended");
    } else {
        view = client_view(c, str_of(live->id));
        if (!view)
            view = view_new(c, live, o->how == OPEN_NEW ? 1 : FEED_NOW);
        if (o->how == OPEN_LOAD)
            begin_load(acp_view_of(view), o->call);
        else
            answer_opened(acp_view_of(view), o->call, o->how);
    }
    client_unref(c);
    mem_freep(&o);
    return is_wanted;
}

/* mcpServers of ACP as entries of a settings file: {"name": {…}}. */
static int write_servers(const struct json *servers, struct jw *w, struct err *err)
{
    jw_object(w);
    JSON_EACH(servers, s) {
        struct str name = json_get_str(s, "name");
        struct str type = json_get_str(s, "type");

        if (!name.len)
            return err_set(err, ERR_BAD_INPUT, "an MCP server needs a name");
        jw_key_str(w, name);
        jw_object(w);
        if (type.len && !str_is(type, "stdio")) {
            jw_kstr(w, "type", type);
            jw_kstr(w, "url", json_get_str(s, "url"));
            jw_key(w, "headers");
        } else {
            jw_kstr(w, "command", json_get_str(s, "command"));
            if (json_get(s, "args"))
                jw_kjson(w, "args", json_get(s, "args"));
            jw_key(w, "env");
        }
        jw_object(w);
        JSON_EACH(json_get(s, type.len && !str_is(type, "stdio") ? "headers" : "env"), pair) {
            jw_key_str(w, json_get_str(pair, "name"));
            jw_str(w, json_get_str(pair, "value"));
        }
        jw_object_end(w);
        jw_object_end(w);
    }
    jw_object_end(w);
    return 0;
}

static int read_folders(const struct json *list, struct strv *ret, struct err *err)
{
    JSON_EACH(list, it) {
        if (!str_starts(json_str(it), STR("/")))
            return err_set(err, ERR_BAD_INPUT, "additionalDirectories must be absolute paths");
        strv_add(ret, json_str(it));
    }
    return 0;
}

static void open_session(struct acp *a, struct rpc_call *call, enum acp_open how)
{
    CLEANUP(strv_release) struct strv folders = STRV_INIT;
    CLEANUP(buf_release) struct buf servers = BUF_INIT(ACP_MAX_TEXT);
    const struct json *p = call->params;
    const struct json *prompt = json_path(p, "_meta.systemPrompt");
    struct str cwd = json_get_str(p, "cwd");
    struct str id = json_get_str(p, "sessionId");
    struct live_spec spec = {
        .folders = &folders,
        .system = json_str(prompt),
        .append = json_get_str(prompt, "append"),
    };
    struct acp_opening *o;
    struct err err = {0};
    struct jw w;

    jw_init(&w, &servers, JW_CLEAN);
    if (!str_starts(cwd, STR("/"))) {
        rpc_refusef(call, RPC_PARAMS, "cwd must be an absolute path");
        return;
    }
    if (read_folders(json_get(p, "additionalDirectories"), &folders, &err) < 0 ||
        write_servers(json_get(p, "mcpServers"), &w, &err) < 0) {
        rpc_refuse(call, RPC_PARAMS, str_of(err.text), STR(""));
        return;
    }
    if (how != OPEN_NEW && !id_is_uuid(id)) {
        err_set(&err, ERR_NOT_FOUND, "there is no session '%.*s'", STR_ARG(str_clip(id, 100)));
        o = mem_zalloc(sizeof(*o));
        *o = (struct acp_opening){a->client, call, how};
        refuse_open(o, STR(""), &err);
        mem_freep(&o);
        return;
    }
    spec.dir = arena_cstr(&call->arena, cwd);
    spec.resume = how == OPEN_NEW ? NULL : arena_cstr(&call->arena, id);
    if (json_len(json_get(p, "mcpServers")))
        spec.servers = buf_str(&servers);
    o = mem_zalloc(sizeof(*o));
    *o = (struct acp_opening){a->client, call, how};
    client_ref(a->client);
    live_open(client_table(a->client), &spec, on_opened, o);
}

void acp_session_new(struct acp *a, struct rpc_call *call)
{
    open_session(a, call, OPEN_NEW);
}

void acp_session_load(struct acp *a, struct rpc_call *call)
{
    open_session(a, call, OPEN_LOAD);
}

void acp_session_resume(struct acp *a, struct rpc_call *call)
{
    open_session(a, call, OPEN_RESUME);
}

/* ---- Listed ---- */

struct list_chore {
    struct call_chore base;
};

/* Newest first; the id decides between two of the same time, so that no page skips any. */
static int compare_rows(const void *a, const void *b)
{
    const struct store_session *x = a;
    const struct store_session *y = b;

    if (x->last_ms != y->last_ms)
        return x->last_ms < y->last_ms ? 1 : -1;
    return str_cmp(x->id, y->id);
}

/* "<last_ms>-<id>" of the last one of the page before. */
static bool is_behind(const struct store_session *row, struct str cursor)
{
    struct str id = str_from(cursor, str_chr(cursor, '-') + 1);
    int64_t last_ms;

    if (!cursor.len || str_to_i64(str_first(cursor, str_chr(cursor, '-')), &last_ms, NULL) < 0)
        return true;
    if (row->last_ms != last_ms)
        return row->last_ms < last_ms;
    return str_cmp(row->id, id) > 0;
}

static void write_row(struct jw *w, const struct store_session *row)
{
    char when[25];

    clock_iso(row->last_ms, when);
    jw_object(w);
    jw_kstr(w, "sessionId", row->id);
    jw_kstr(w, "cwd", row->cwd);
    jw_kstr(w, "title", str_clip(index_name(row), 200));
    jw_kcstr(w, "updatedAt", when);
    jw_object_end(w);
}

static int list_rows(struct call_chore *c, struct err *err)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    CLEANUP(store_freep) struct store *store = NULL;
    const struct live_table_spec *spec = client_spec(c->client);
    struct str cwd = json_get_str(c->call->params, "cwd");
    struct str cursor = json_get_str(c->call->params, "cursor");
    const struct store_session *last = NULL;
    bool has_more = false;
    size_t count = 0;
    struct jw w;

    if (spec->settings(spec->arg, /*dir=*/NULL, /*trusts=*/false, &conf, err) < 0)
        return -1;
    (void)hub_store(live_table_hub(client_table(c->client)), conf_home(conf),
                    client_cancel(c->client), &store, /*err=*/NULL);
    if (index_refresh(store, conf_home(conf), /*project=*/STR(""), client_cancel(c->client), &ix,
                      err) < 0)
        return -1;
    if (ix.rows.len)
        qsort(ix.rows.ptr, ix.rows.len, sizeof(*ix.rows.ptr), compare_rows);
    jw_init(&w, &c->result, JW_CLEAN);
    jw_object(&w);
    jw_key(&w, "sessions");
    jw_array(&w);
    VEC_EACH(&ix.rows, row) {
        if ((cwd.len && !str_eq(cwd, row->cwd)) || !is_behind(row, cursor))
            continue;
        has_more = count == LIST_PAGE;
        if (has_more)
            break;
        write_row(&w, row);
        last = row;
        count++;
    }
    jw_array_end(&w);
    if (has_more) {
        CLEANUP(buf_release) struct buf next = BUF_INIT(200);

        buf_addi(&next, last->last_ms);
        buf_addf(&next, "-%.*s", STR_ARG(last->id));
        jw_kstr(&w, "nextCursor", buf_str(&next));
    }
    jw_object_end(&w);
    return 0;
}

static void list_run(struct call_chore *c)
{
    (void)list_rows(c, &c->err);
}

void acp_session_list(struct acp *a, struct rpc_call *call)
{
    call_chore_start(
        call_chore_new(sizeof(struct list_chore), a->client, call, /*live=*/NULL, list_run));
}

/* ---- Closed and deleted ---- */

static void on_closed(void *arg)
{
    rpc_answer(arg, STR("{}"));
}

void acp_session_close(struct acp *a, struct rpc_call *call)
{
    struct acp_view *v = acp_view_for(a, call);
    struct live *live;

    if (!v)
        return;
    live = v->view->live;
    acp_cancel(v);
    view_free(v->view);
    if (live->users)
        rpc_answer(call, STR("{}")); /* others still see it */
    else
        live_close(live, on_closed, call);
}

static int delete_session(struct call_chore *c, struct err *err)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    CLEANUP(store_freep) struct store *store = NULL;
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    const struct live_table_spec *spec = client_spec(c->client);
    struct str id = json_get_str(c->call->params, "sessionId");

    if (spec->settings(spec->arg, /*dir=*/NULL, /*trusts=*/false, &conf, err) < 0)
        return -1;
    (void)hub_store(live_table_hub(client_table(c->client)), conf_home(conf),
                    client_cancel(c->client), &store, /*err=*/NULL);
    if (index_refresh(store, conf_home(conf), /*project=*/STR(""), client_cancel(c->client), &ix,
                      err) < 0)
        return -1;
    VEC_EACH(&ix.rows, row) {
        if (!str_eq(id, row->id))
            continue;
        index_path(row, conf_home(conf), &path);
        return remove_session(conf_home(conf), buf_cstr(&path), err);
    }
    return err_set(err, ERR_NOT_FOUND, "there is no session '%.*s'", STR_ARG(str_clip(id, 100)));
}

static void delete_run(struct call_chore *c)
{
    (void)delete_session(c, &c->err);
}

static enum rpc_code delete_code(const struct err *err)
{
    return err->code == ERR_NOT_FOUND ? RPC_NOT_FOUND
           : err->code == ERR_BUSY    ? RPC_REQUEST
                                      : RPC_INTERNAL;
}

void acp_session_delete(struct acp *a, struct rpc_call *call)
{
    struct call_chore *c;

    if (live_find(client_table(a->client), json_get_str(call->params, "sessionId"))) {
        rpc_refusef(call, RPC_REQUEST, "the session is open; close it first");
        return;
    }
    c = call_chore_new(sizeof(*c), a->client, call, /*live=*/NULL, delete_run);
    c->code = delete_code;
    call_chore_start(c);
}
