/*
 * codex_list: lists of threads, turns, items, models, skills and servers. The loop's thread; chores
 * read the disk.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "host/host.h"
#include "host/hub.h"
#include "host/mcp.h"
#include "host/record/replay.h"
#include "json/json.h"
#include "llm/effort.h"
#include "llm/model.h"
#include "proto/codex/codex_state.h"
#include "proto/rpc/live.h"
#include "slash/slash.h"
#include "store/index.h"
#include "store/remove.h"
#include "sync/cancel.h"

#define LIST_PAGE 25
#define LIST_MAX_PAGE 1000

static int64_t limit_of(const struct json *params)
{
    int64_t limit = json_get_i64(params, "limit", LIST_PAGE);

    return limit < 1 ? LIST_PAGE : limit > LIST_MAX_PAGE ? LIST_MAX_PAGE : limit;
}

static void write_cursors(struct jw *w, struct str next)
{
    jw_key(w, "nextCursor");
    if (next.len)
        jw_str(w, next);
    else
        jw_null(w);
    jw_kcstr(w, "backwardsCursor", NULL);
}

/* ---- Threads ---- */

static int read_index(const struct client *c, struct index *ix, struct conf **ret_conf,
                      struct err *err)
{
    CLEANUP(store_freep) struct store *store = NULL;
    const struct live_table_spec *spec = client_spec(c);

    if (spec->settings(spec->arg, /*dir=*/NULL, /*trusts=*/false, ret_conf, err) < 0)
        return -1;
    (void)hub_store(live_table_hub(client_table(c)), conf_home(*ret_conf), client_cancel(c), &store,
                    /*err=*/NULL);
    return index_refresh(store, conf_home(*ret_conf), /*project=*/STR(""), client_cancel(c), ix,
                         err);
}

int codex_find_row(const struct client *c, struct str id, struct index *ix, struct buf *ret_path,
                   const struct store_session **ret, struct err *err)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;

    if (read_index(c, ix, &conf, err) < 0)
        return -1;
    VEC_EACH(&ix->rows, row) {
        if (!str_eq(id, row->id))
            continue;
        index_path(row, conf_home(conf), ret_path);
        *ret = row;
        return 0;
    }
    return err_set(err, ERR_NOT_FOUND, "no rollout found for thread id %.*s", STR_ARG(id));
}

struct list_order {
    bool by_creation, ascends;
};

static int64_t key_of(const struct store_session *row, const struct list_order *o)
{
    return o->by_creation ? row->created_ms : row->last_ms;
}

static int compare_rows(const void *a, const void *b, void *arg)
{
    const struct list_order *o = arg;
    const struct store_session *x = a;
    const struct store_session *y = b;
    int64_t kx = key_of(x, o);
    int64_t ky = key_of(y, o);
    int r = kx != ky ? (kx < ky ? -1 : 1) : str_cmp(x->id, y->id);

    return o->ascends ? r : -r;
}

/* "<key>-<id>" of the last one of the page before: rows after it in the order. */
static bool is_behind(const struct store_session *row, struct str cursor, struct list_order *o)
{
    struct store_session last = {.id = str_from(cursor, str_chr(cursor, '-') + 1)};
    int64_t key;

    if (!cursor.len || str_to_i64(str_first(cursor, str_chr(cursor, '-')), &key, /*err=*/NULL) < 0)
        return true;
    last.last_ms = last.created_ms = key;
    return compare_rows(&last, row, o) < 0;
}

static bool is_wanted(const struct store_session *row, const struct json *p)
{
    const struct json *cwd = json_get(p, "cwd");
    struct str term = json_get_str(p, "searchTerm");
    bool fits = !json_str(cwd).len || str_eq(json_str(cwd), row->cwd);

    if (json_len(cwd)) {
        fits = false;
        JSON_EACH(cwd, it) {
            fits = fits || str_eq(json_str(it), row->cwd);
        }
    }
    if (json_get_bool(p, "archived", false))
        return false;
    return fits && (!term.len || str_find_nocase(row->first_prompt, term) < row->first_prompt.len ||
                    str_find_nocase(index_name(row), term) < index_name(row).len);
}

/* An open thread, as it is when the request arrives. */
struct loaded {
    char id[ID_UUID_LEN + 1];
    struct buf status, provider, model;
    const char *effort;
};

struct list_chore {
    struct call_chore base;
    VEC(struct loaded) loaded;
};

static void note_loaded(struct codex *a, struct list_chore *c)
{
    struct live_table *t = client_table(a->client);

    for (size_t i = 0; i < live_count(t); i++) {
        struct live *live = live_at(t, i);
        struct client_view *view = client_view(a->client, str_of(live->id));
        enum effort effort;
        struct loaded it = {0};
        int64_t window;

        if (live->is_closing)
            continue;
        memcpy(it.id, live->id, sizeof(it.id));
        buf_init(&it.status, 4096);
        buf_init(&it.provider, 1024);
        buf_init(&it.model, 1024);
        if (view)
            (void)codex_status_of(codex_view_of(view), &it.status);
        else
            buf_adds(&it.status, host_in_turn(live->host)
                                     ? "{\"type\":\"active\",\"activeFlags\":[]}"
                                     : "{\"type\":\"idle\"}");
        host_model(live->host, &it.provider, &it.model, &window);
        effort = host_effort(live->host);
        it.effort = effort == EFFORT_UNSET ? NULL : effort_name(effort);
        vec_push(&c->loaded, it);
    }
}

static void list_release(struct call_chore *base)
{
    struct list_chore *c = (struct list_chore *)base;

    VEC_EACH(&c->loaded, it) {
        buf_release(&it->status);
        buf_release(&it->provider);
        buf_release(&it->model);
    }
    vec_release(&c->loaded);
}

static void write_row(struct call_chore *c, struct jw *w, const struct store_session *row,
                      const char *path, const struct items *turns)
{
    CLEANUP(mem_freep) char *id = mem_dup(row->id.ptr, row->id.len);
    struct codex_thread t = {
        .row = row,
        .id = id,
        .path = path,
        .provider = "tenax",
        .model = "",
        .cwd = row->cwd,
        .status = "{\"type\":\"notLoaded\"}",
        .turns = turns,
    };

    VEC_EACH(&((struct list_chore *)c)->loaded, it) {
        if (strcmp(it->id, id) != 0)
            continue;
        t.status = buf_cstr(&it->status);
        t.provider = buf_cstr(&it->provider);
        t.model = buf_cstr(&it->model);
        t.effort = it->effort;
    }
    codex_write_thread(w, &t);
}

static int list_threads(struct call_chore *c, struct err *err)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    CLEANUP(buf_release) struct buf next = BUF_INIT(200);
    const struct json *p = c->call->params;
    struct str cursor = json_get_str(p, "cursor");
    int64_t limit = limit_of(p);
    int64_t count = 0;
    struct list_order order = {
        .by_creation = str_is(json_get_str(p, "sortKey"), "created_at"),
        .ascends = str_is(json_get_str(p, "sortDirection"), "asc"),
    };
    struct jw w;

    if (read_index(c->client, &ix, &conf, err) < 0)
        return -1;
    if (ix.rows.len)
        qsort_r(ix.rows.ptr, ix.rows.len, sizeof(*ix.rows.ptr), compare_rows, &order);
    jw_init(&w, &c->result, JW_CLEAN);
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    VEC_EACH(&ix.rows, row) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

        if (!is_wanted(row, p) || !is_behind(row, cursor, &order))
            continue;
        if (count++ == limit)
            break;
        index_path(row, conf_home(conf), &path);
        write_row(c, &w, row, buf_cstr(&path), /*turns=*/NULL);
        buf_clear(&next);
        buf_addi(&next, key_of(row, &order));
        buf_addf(&next, "-%.*s", STR_ARG(row->id));
    }
    jw_array_end(&w);
    write_cursors(&w, count > limit ? buf_str(&next) : STR(""));
    jw_object_end(&w);
    return 0;
}

static void list_run(struct call_chore *c)
{
    (void)list_threads(c, &c->err);
}

static void start(struct codex *a, struct rpc_call *call, void (*run)(struct call_chore *c))
{
    struct list_chore *c = call_chore_new(sizeof(*c), a->client, call, /*live=*/NULL, run);

    note_loaded(a, c);
    c->base.code = codex_code;
    c->base.release = list_release;
    call_chore_start(c);
}

void codex_thread_list(struct codex *a, struct rpc_call *call)
{
    start(a, call, list_run);
}

static void on_replay(void *arg, const struct event *e)
{
    items_event(arg, e);
}

/* The turns of a thread as its transcript has them. */
static int read_turns(struct call_chore *c, struct index *ix, struct buf *ret_path,
                      const struct store_session **ret_row, struct items *ret, struct err *err)
{
    struct str id = json_get_str(c->call->params, "threadId");
    CLEANUP(mem_freep) char *session = mem_dup(id.ptr, id.len);

    if (codex_find_row(c->client, id, ix, ret_path, ret_row, err) < 0)
        return -1;
    *ret = (struct items){.keeps = true, .dir = arena_cstr(&ix->arena, (*ret_row)->cwd)};
    return replay_file(buf_cstr(ret_path), session, client_cancel(c->client), on_replay, ret, err);
}

static void read_run(struct call_chore *c)
{
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    bool with_turns = json_get_bool(c->call->params, "includeTurns", false);
    const struct store_session *row = NULL;
    struct items turns = {0};
    struct jw w;

    if (read_turns(c, &ix, &path, &row, &turns, &c->err) == 0) {
        jw_init(&w, &c->result, JW_CLEAN);
        jw_object(&w);
        jw_key(&w, "thread");
        write_row(c, &w, row, buf_cstr(&path), with_turns ? &turns : NULL);
        jw_object_end(&w);
    }
    items_release(&turns);
}

void codex_thread_read(struct codex *a, struct rpc_call *call)
{
    struct str id;

    if (codex_thread_id(call, &id))
        start(a, call, read_run);
}

static void delete_run(struct call_chore *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    const struct live_table_spec *spec = client_spec(c->client);
    const struct store_session *row;

    if (codex_find_row(c->client, json_get_str(c->call->params, "threadId"), &ix, &path, &row,
                       &c->err) < 0 ||
        spec->settings(spec->arg, /*dir=*/NULL, /*trusts=*/false, &conf, &c->err) < 0)
        return;
    (void)remove_session(conf_home(conf), buf_cstr(&path), &c->err);
}

static void on_closed(void *arg)
{
    call_chore_start(arg);
}

void codex_thread_delete(struct codex *a, struct rpc_call *call)
{
    struct call_chore *c;
    struct live *live;
    struct client_view *v;
    struct str id;

    if (!codex_thread_id(call, &id))
        return;
    live = live_find(client_table(a->client), id);
    v = client_view(a->client, id);
    if (live && live->users > (v ? 1 : 0)) {
        rpc_refusef(call, RPC_REQUEST, "thread %.*s is used by another client", STR_ARG(id));
        return;
    }
    if (v)
        codex_leave(v);
    c = call_chore_new(sizeof(*c), a->client, call, /*live=*/NULL, delete_run);
    c->code = codex_code;
    if (live)
        live_close(live, on_closed, c);
    else
        call_chore_start(c);
}

void codex_loaded_list(struct codex *a, struct rpc_call *call)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(CODEX_MAX_TEXT);
    struct live_table *t = client_table(a->client);
    struct jw w;

    jw_init(&w, &out, JW_CLEAN);
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < live_count(t); i++) {
        if (!live_at(t, i)->is_closing)
            jw_cstr(&w, live_at(t, i)->id);
    }
    jw_array_end(&w);
    jw_kcstr(&w, "nextCursor", NULL);
    jw_object_end(&w);
    rpc_answer(call, buf_str(&out));
}

/* ---- Turns and items ---- */

/* A page of count things in one direction; the cursor is the number of the next one. */
struct page {
    int64_t at, step, left;
    size_t count;
};

static void page_init(struct page *p, const struct json *params, size_t count, bool descends)
{
    struct str direction = json_get_str(params, "sortDirection");

    if (direction.len)
        descends = str_is(direction, "desc");
    p->step = descends ? -1 : 1;
    p->at = descends ? (int64_t)count - 1 : 0;
    p->left = limit_of(params);
    p->count = count;
    (void)str_to_i64(json_get_str(params, "cursor"), &p->at, /*err=*/NULL);
}

static bool page_next(struct page *p, size_t *ret)
{
    if (!p->left || p->at < 0 || p->at >= (int64_t)p->count)
        return false;
    *ret = (size_t)p->at;
    p->at += p->step;
    p->left--;
    return true;
}

static void page_end(const struct page *p, struct jw *w)
{
    CLEANUP(buf_release) struct buf next = BUF_INIT(32);

    if (p->at >= 0 && p->at < (int64_t)p->count)
        buf_addi(&next, p->at);
    jw_array_end(w);
    write_cursors(w, buf_str(&next));
    jw_object_end(w);
}

static void turns_run(struct call_chore *c)
{
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct str how = json_get_str(c->call->params, "itemsView");
    enum turn_view view = str_is(how, "full")      ? TURN_FULL
                          : str_is(how, "summary") ? TURN_SUMMARY
                                                   : TURN_BARE;
    const struct store_session *row;
    struct items turns = {0};
    struct page page;
    struct jw w;
    size_t i;

    if (read_turns(c, &ix, &path, &row, &turns, &c->err) == 0) {
        page_init(&page, c->call->params, turns.turns.len, /*descends=*/true);
        jw_init(&w, &c->result, JW_CLEAN);
        jw_object(&w);
        jw_key(&w, "data");
        jw_array(&w);
        while (page_next(&page, &i))
            turn_write(turns.turns.ptr[i], turns.dir, view, &w);
        page_end(&page, &w);
    }
    items_release(&turns);
}

void codex_turns_list(struct codex *a, struct rpc_call *call)
{
    struct str id;

    if (codex_thread_id(call, &id))
        start(a, call, turns_run);
}

struct placed {
    const struct codex_turn *turn;
    const struct codex_item *item;
};

static void items_run(struct call_chore *c)
{
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct str turn = json_get_str(c->call->params, "turnId");
    VEC(struct placed) all = VEC_INIT;
    const struct store_session *row;
    struct items turns = {0};
    struct page page;
    struct jw w;
    size_t i;

    if (read_turns(c, &ix, &path, &row, &turns, &c->err) == 0) {
        VEC_EACH(&turns.turns, t) {
            VEC_EACH(&(*t)->items, it) {
                if (!turn.len || str_eq(turn, buf_str(&(*t)->id)))
                    vec_push(&all, ((struct placed){*t, *it}));
            }
        }
        page_init(&page, c->call->params, all.len, /*descends=*/false);
        jw_init(&w, &c->result, JW_CLEAN);
        jw_object(&w);
        jw_key(&w, "data");
        jw_array(&w);
        while (page_next(&page, &i)) {
            jw_object(&w);
            jw_kstr(&w, "turnId", buf_str(&all.ptr[i].turn->id));
            jw_key(&w, "item");
            item_write(all.ptr[i].item, turns.dir, &w);
            jw_ki64(&w, "startedAtMs", all.ptr[i].item->started_ms);
            jw_ki64(&w, "completedAtMs", all.ptr[i].item->completed_ms);
            jw_object_end(&w);
        }
        page_end(&page, &w);
    }
    vec_release(&all);
    items_release(&turns);
}

/* A thread that has no file yet has no items. */
static void items_failed(struct call_chore *c)
{
    struct live *live =
        live_find(client_table(c->client), json_get_str(c->call->params, "threadId"));

    if (c->err.code == ERR_NOT_FOUND && live)
        rpc_answer(TAKE_PTR(c->call),
                   STR("{\"data\":[],\"nextCursor\":null,\"backwardsCursor\":null}"));
    else
        rpc_refuse(TAKE_PTR(c->call), codex_code(&c->err), str_of(c->err.text), STR(""));
}

void codex_items_list(struct codex *a, struct rpc_call *call)
{
    struct call_chore *c;
    struct str id;

    if (!codex_thread_id(call, &id))
        return;
    c = call_chore_new(sizeof(*c), a->client, call, /*live=*/NULL, items_run);
    c->failed = items_failed;
    call_chore_start(c);
}

/* ---- Tables ---- */

static void write_efforts(struct jw *w, const struct model *m)
{
    jw_key(w, "supportedReasoningEfforts");
    jw_array(w);
    for (unsigned e = EFFORT_NONE; e <= EFFORT_MAX; e++) {
        if (!(m->efforts & 1u << e))
            continue;
        jw_object(w);
        jw_kcstr(w, "reasoningEffort", effort_name((enum effort)e));
        jw_kcstr(w, "description", effort_name((enum effort)e));
        jw_object_end(w);
    }
    jw_array_end(w);
    jw_kcstr(w, "defaultReasoningEffort",
             effort_name(m->efforts & 1u << EFFORT_MEDIUM ? EFFORT_MEDIUM : EFFORT_NONE));
}

static void write_model(struct jw *w, const struct model *m, bool is_default)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1024);

    buf_addf(&name, "%.*s/%.*s", STR_ARG(m->provider), STR_ARG(m->name));
    jw_object(w);
    jw_kstr(w, "id", buf_str(&name));
    jw_kstr(w, "model", buf_str(&name));
    jw_kcstr(w, "upgrade", NULL);
    jw_kstr(w, "displayName", m->name);
    jw_kstr(w, "description", m->provider);
    jw_kbool(w, "hidden", false);
    write_efforts(w, m);
    jw_key(w, "inputModalities");
    jw_array(w);
    jw_cstr(w, "text");
    if (m->images)
        jw_cstr(w, "image");
    jw_array_end(w);
    jw_kbool(w, "isDefault", is_default);
    jw_object_end(w);
}

void codex_model_list(struct codex *a, struct rpc_call *call)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(CODEX_MAX_TEXT);
    struct model m;
    struct jw w;

    (void)a;
    jw_init(&w, &out, JW_CLEAN);
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; model_at(i, &m); i++)
        write_model(&w, &m, !i);
    jw_array_end(&w);
    jw_kcstr(&w, "nextCursor", NULL);
    jw_object_end(&w);
    rpc_answer(call, buf_str(&out));
}

static void write_skills(struct live *live, struct jw *w)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    slash_item_vec items = VEC_INIT;

    slash_list(live->slash, &arena, &items);
    VEC_EACH(&items, item) {
        if (!item->is_skill)
            continue;
        jw_object(w);
        jw_kstr(w, "name", item->name);
        jw_kstr(w, "description", item->summary);
        jw_kcstr(w, "path", "");
        jw_kcstr(w, "scope", item->is_own ? "user" : "system");
        jw_kbool(w, "enabled", true);
        jw_object_end(w);
    }
    vec_release(&items);
}

/* Those of the threads that are open in a folder. */
void codex_skills_list(struct codex *a, struct rpc_call *call)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(CODEX_MAX_TEXT);
    struct live_table *t = client_table(a->client);
    struct jw w;

    jw_init(&w, &out, JW_CLEAN);
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    JSON_EACH(json_get(call->params, "cwds"), cwd) {
        bool is_written = false;

        jw_object(&w);
        jw_kstr(&w, "cwd", json_str(cwd));
        jw_key(&w, "skills");
        jw_array(&w);
        for (size_t i = 0; i < live_count(t) && !is_written; i++) {
            struct live *live = live_at(t, i);

            is_written = !live->is_closing && str_is(json_str(cwd), conf_dir(live->conf));
            if (is_written)
                write_skills(live, &w);
        }
        jw_array_end(&w);
        jw_key(&w, "errors");
        jw_array(&w);
        jw_array_end(&w);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    rpc_answer(call, buf_str(&out));
}

void codex_mcp_list(struct codex *a, struct rpc_call *call)
{
    CLEANUP(buf_release) struct buf servers = BUF_INIT(CODEX_MAX_TEXT);
    CLEANUP(buf_release) struct buf out = BUF_INIT(CODEX_MAX_TEXT);
    struct client_view *v = client_view(a->client, json_get_str(call->params, "threadId"));

    if (!v && a->client->views.len)
        v = a->client->views.ptr[0];
    if (v)
        host_write_mcp(v->live->host, /*tools=*/true, &servers);
    buf_addf(&out, "{\"data\":%s,\"nextCursor\":null}", servers.len ? buf_cstr(&servers) : "[]");
    rpc_answer(call, buf_str(&out));
}

void codex_account_read(struct codex *a, struct rpc_call *call)
{
    (void)a;
    rpc_answer(call, STR("{\"account\":null,\"requiresOpenaiAuth\":false}"));
}

void codex_config_read(struct codex *a, struct rpc_call *call)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)64 << 10);
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    const struct live_table_spec *spec = client_spec(a->client);
    struct str model = {0};
    struct jw w;

    if (spec->settings(spec->arg, /*dir=*/NULL, /*trusts=*/false, &conf, /*err=*/NULL) == 0)
        model = conf_get_str(conf, "model");
    jw_init(&w, &out, JW_CLEAN);
    jw_object(&w);
    jw_key(&w, "config");
    jw_object(&w);
    jw_key(&w, "model");
    if (model.len)
        jw_str(&w, model);
    else
        jw_null(&w);
    jw_kcstr(&w, "approval_policy", NULL);
    jw_kcstr(&w, "sandbox_mode", NULL);
    jw_object_end(&w);
    jw_key(&w, "origins");
    jw_object(&w);
    jw_object_end(&w);
    jw_kcstr(&w, "layers", NULL);
    jw_object_end(&w);
    rpc_answer(call, buf_str(&out));
}

void codex_profile_list(struct codex *a, struct rpc_call *call)
{
    (void)a;
    rpc_answer(call, STR("{\"data\":[],\"nextCursor\":null}"));
}
