/*
 * codex_goal: thread/goal/set, get and clear, and what becomes of a goal. The loop's thread; a goal
 * is changed as a chore of its session, by the rules of /goal (goal_do()).
 */
#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "conf/conf.h"
#include "goal/argument/argument.h"
#include "goal/goal.h"
#include "goal/report/row_json.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "host/hub.h"
#include "json/json.h"
#include "proto/codex/codex_state.h"
#include "proto/rpc/live.h"
#include "store/goals/goals.h"
#include "store/index.h"
#include "sync/cancel.h"

/* ---- Told ---- */

void codex_bare_goal(struct str thread, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *goal = NULL;
    struct jw w;

    jw_init(&w, ret, JW_CLEAN);
    (void)json_parse(&arena, thread, &goal, /*ret_info=*/NULL, /*err=*/NULL);
    if (!json_is(goal, JSON_OBJECT)) {
        jw_null(&w);
        return;
    }
    jw_object(&w);
    JSON_EACH(goal, m) {
        if (str_is_word_of(json_key(m), "phase iterations lastReason"))
            continue;
        jw_key_str(&w, json_key(m));
        jw_json(&w, m);
    }
    jw_object_end(&w);
}

/* It differs from the last report, or is reported anyway. */
static void say_goal(struct codex_view *v, struct str goal, struct str turn)
{
    struct codex_note n;
    struct jw *w;

    if (str_is(goal, "null")) {
        if (v->goal.len) {
            buf_clear(&v->goal);
            (void)codex_begin(&n, v, "thread/goal/cleared");
            codex_end(&n);
        }
        return;
    }
    buf_clear(&v->goal);
    buf_add(&v->goal, goal);
    w = codex_begin(&n, v, "thread/goal/updated");
    jw_key(w, "turnId");
    if (turn.len)
        jw_str(w, turn);
    else
        jw_null(w);
    jw_kraw(w, "goal", goal);
    codex_end(&n);
}

void codex_goal_event(struct codex_view *v, const struct event *e, struct str turn)
{
    CLEANUP(buf_release) struct buf goal = BUF_INIT(CODEX_MAX_TEXT);

    codex_bare_goal(e->data, &goal);
    if (e->seq >= v->goal_from && !str_eq(buf_str(&goal), buf_str(&v->goal)))
        say_goal(v, buf_str(&goal), turn);
}

void codex_goal_opened(struct codex_view *v)
{
    CLEANUP(buf_release) struct buf thread = BUF_INIT(CODEX_MAX_TEXT);
    CLEANUP(buf_release) struct buf goal = BUF_INIT(CODEX_MAX_TEXT);

    v->goal_from = view_goal(v->view->live, &thread);
    codex_bare_goal(buf_str(&thread), &goal);
    say_goal(v, buf_str(&goal), STR(""));
}

/* ---- Changed ---- */

struct goal_chore {
    struct call_chore base;
    char session[ID_UUID_LEN + 1];
    bool cleared;        /* there was one */
    bool begins;         /* a turn begins by itself */
    uint64_t from, next; /* numbers of the events that it has caused: from <= number < next */
    struct buf goal;     /* as the answer has it */
};

/* What happened before the change is reported before its answer. */
static void say_before(struct client *c, void *arg)
{
    struct goal_chore *g = arg;
    struct client_view *view = client_view(c, str_of(g->session));

    if (view)
        view_pump_before(view, g->from);
}

/* All clients that see the thread get a set, also one that changed nothing. */
static void say_set(struct client *c, void *arg)
{
    struct goal_chore *g = arg;
    struct client_view *view = client_view(c, str_of(g->session));
    struct codex_view *v = view ? codex_view_of(view) : NULL;

    if (!v)
        return;
    say_goal(v, buf_str(&g->goal), STR(""));
    if (v->goal_from < g->next)
        v->goal_from = g->next;
}

static void pump(struct client *c, void *arg)
{
    struct client_view *view = client_view(c, str_of(arg));

    if (view)
        view_pump(view);
}

static void let_go(struct goal_chore *g)
{
    g->base.live->holds--;
    client_each(g->base.client, pump, g->session);
    live_close_unused(g->base.live, g->begins);
}

static void goal_answer(struct call_chore *c)
{
    struct goal_chore *g = (struct goal_chore *)c;

    client_each(c->client, say_before, g);
    rpc_answer(TAKE_PTR(c->call), buf_str(&c->result));
    client_each(c->client, say_set, g);
    let_go(g);
}

static void goal_failed(struct call_chore *c)
{
    struct goal_chore *g = (struct goal_chore *)c;

    rpc_refuse(TAKE_PTR(c->call), codex_code(&c->err), str_of(c->err.text), STR(""));
    let_go(g);
}

static void goal_release(struct call_chore *c)
{
    buf_release(&((struct goal_chore *)c)->goal);
}

static int goal_apply(struct call_chore *c, struct goal_argument *what, bool *io_turn,
                      struct err *err)
{
    struct goal_answer answer = GOAL_ANSWER_INIT;
    int r =
        goal_do(host_goal(c->live->host), what, VIA_CLIENT, client_cancel(c->client), &answer, err);

    *io_turn = *io_turn || answer.turn;
    goal_answer_release(&answer);
    return r;
}

static int set_objective(struct call_chore *c, bool exists, bool *io_turn, struct err *err)
{
    CLEANUP(goal_argument_release) struct goal_argument what = GOAL_ARGUMENT_INIT;
    const struct json *budget = json_get(c->call->params, "tokenBudget");

    what.verb = exists ? GOAL_EDIT : GOAL_SET;
    buf_add(&what.text, str_trim(json_get_str(c->call->params, "objective")));
    if (!exists)
        (void)json_i64(budget, &what.options.token_budget);
    what.options.begins_paused = str_is(json_get_str(c->call->params, "status"), "paused");
    return goal_apply(c, &what, io_turn, err);
}

static int set_budget(struct call_chore *c, bool *io_turn, struct err *err)
{
    CLEANUP(goal_argument_release) struct goal_argument what = GOAL_ARGUMENT_INIT;
    const struct json *budget = json_get(c->call->params, "tokenBudget");

    what.verb = GOAL_BUDGET;
    what.limit = LIMIT_TOKENS;
    what.budget.what = json_is(budget, JSON_NULL) ? CHANGE_CLEAR : CHANGE_SET;
    (void)json_i64(budget, &what.budget.value);
    return goal_apply(c, &what, io_turn, err);
}

int codex_check_status(struct str status, const struct store_goal *now, struct err *err)
{
    if (!status.len || str_is_word_of(status, "active paused") ||
        (now && str_is(status, goal_row_thread_status(now->status))))
        return 0;
    return err_set(err, ERR_DENIED,
                   "a client can set a goal to active or paused; whether it is %.*s is the "
                   "referee's decision",
                   STR_ARG(status));
}

static int set_status(struct call_chore *c, enum goal_status now, bool *io_turn, struct err *err)
{
    CLEANUP(goal_argument_release) struct goal_argument what = GOAL_ARGUMENT_INIT;
    struct str status = json_get_str(c->call->params, "status");

    if (str_is(status, goal_row_thread_status(now)) || !str_is_word_of(status, "active paused"))
        return 0;
    what.verb = str_is(status, "active") ? GOAL_RESUME : GOAL_PAUSE;
    return goal_apply(c, &what, io_turn, err);
}

static int goal_set(struct call_chore *c, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *p = c->call->params;
    struct host *h = c->live->host;
    bool exists, turn = false;
    struct store_goal row = {0};

    exists = goal_get(host_goal(h), &arena, &row, err) > 0;
    if (!exists && !json_get(p, "objective"))
        return err_set(err, ERR_NOT_FOUND, "cannot update goal for thread %s: no goal exists",
                       c->live->id);
    /* First: a request that is refused changes nothing. */
    if (codex_check_status(json_get_str(p, "status"), exists ? &row : NULL, err) < 0)
        return -1;
    if (json_get(p, "objective") && set_objective(c, exists, &turn, err) < 0)
        return -1;
    if (exists && json_get(p, "tokenBudget") && set_budget(c, &turn, err) < 0)
        return -1;
    if (goal_get(host_goal(h), &arena, &row, err) < 0)
        return -1;
    if (set_status(c, row.status, &turn, err) < 0)
        return -1;
    host_write_goal(h);
    /* One that was set and paused at once begins no turn. */
    turn = turn && goal_get(host_goal(h), &arena, &row, err) > 0 && row.status == GOAL_ACTIVE;
    ((struct goal_chore *)c)->begins = turn;
    return turn ? host_wake(h, err) : 0;
}

static void keep_goal(struct goal_chore *g)
{
    CLEANUP(buf_release) struct buf thread = BUF_INIT(CODEX_MAX_TEXT);

    g->next = view_goal(g->base.live, &thread);
    codex_bare_goal(buf_str(&thread), &g->goal);
}

static void set_run(struct call_chore *c)
{
    struct goal_chore *g = (struct goal_chore *)c;

    g->from = feed_next(host_feed(c->live->host));
    if (goal_set(c, &c->err) < 0)
        return;
    keep_goal(g);
    buf_addf(&c->result, "{\"goal\":%s}", buf_cstr(&g->goal));
}

static void clear_run(struct call_chore *c)
{
    CLEANUP(goal_argument_release) struct goal_argument what = GOAL_ARGUMENT_INIT;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct goal_chore *g = (struct goal_chore *)c;
    struct store_goal row;
    bool turn = false;

    what.verb = GOAL_CLEAR;
    g->from = feed_next(host_feed(c->live->host));
    g->cleared = goal_get(host_goal(c->live->host), &arena, &row, &c->err) > 0;
    if (g->cleared && goal_apply(c, &what, &turn, &c->err) < 0)
        return;
    host_write_goal(c->live->host);
    keep_goal(g);
    buf_addf(&c->result, "{\"cleared\":%s}", g->cleared ? "true" : "false");
}

/* A request about a goal; its thread is opened when it is not. */
struct goal_opening {
    struct client *client;
    struct rpc_call *call;
    void (*run)(struct call_chore *c);
};

static bool on_opened(void *arg, struct live *live, struct str holder, const struct err *err)
{
    struct goal_opening *o = arg;
    struct client *c = o->client;
    struct str id = json_get_str(o->call->params, "threadId");
    bool is_wanted = live && !c->is_closed && !c->is_ended;
    struct goal_chore *g;

    (void)holder;
    if (!live && err->code == ERR_BUSY) {
        codex_goal_elsewhere(c->own, o->call, o->run == clear_run);
    } else if (!live && err->code == ERR_NOT_FOUND) {
        rpc_refusef(o->call, RPC_REQUEST, "thread not found: %.*s", STR_ARG(id));
    } else if (!live) {
        rpc_refuse(o->call, codex_code(err), str_of(err->text), STR(""));
    } else if (!is_wanted) {
        rpc_refusef(o->call, RPC_INTERNAL, "the connection has ended");
    } else if (!*host_transcript(live->host)) {
        rpc_refusef(o->call, RPC_REQUEST, "ephemeral thread does not support goals: %.*s",
                    STR_ARG(id));
    } else if (!host_goal(live->host)) {
        rpc_refusef(o->call, RPC_REQUEST, "goals feature is disabled");
    } else {
        live->holds++; /* the answer comes before what it changes */
        g = call_chore_new(sizeof(*g), c, o->call, live, o->run);
        memcpy(g->session, live->id, sizeof(g->session));
        buf_init(&g->goal, CODEX_MAX_TEXT);
        g->base.answer = goal_answer;
        g->base.failed = goal_failed;
        g->base.release = goal_release;
        call_chore_start(g);
    }
    client_unref(c);
    mem_freep(&o);
    return is_wanted;
}

static void change_goal(struct codex *a, struct rpc_call *call, struct str id,
                        void (*run)(struct call_chore *c))
{
    struct live_spec spec = {.resume = arena_cstr(&call->arena, id)};
    struct goal_opening *o = mem_zalloc(sizeof(*o));

    *o = (struct goal_opening){a->client, call, run};
    client_ref(a->client);
    live_open(client_table(a->client), &spec, on_opened, o);
}

static size_t code_points(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    return n;
}

static bool is_status(struct str status)
{
    for (int s = 0; s < GOAL_STATUS_COUNT; s++) {
        if (str_is(status, goal_row_thread_status(s)))
            return true;
    }
    return false;
}

void codex_goal_set(struct codex *a, struct rpc_call *call)
{
    const struct json *objective = json_get(call->params, "objective");
    const struct json *budget = json_get(call->params, "tokenBudget");
    const struct json *status = json_get(call->params, "status");
    struct str text = str_trim(json_str(objective));
    int64_t tokens = 0;
    struct str id;

    if (!codex_thread_id(call, &id))
        return;
    if (objective && !text.len)
        rpc_refusef(call, RPC_REQUEST, "goal objective must not be empty");
    else if (code_points(text) > GOAL_MAX_OBJECTIVE)
        rpc_refusef(call, RPC_REQUEST, "goal objective must be at most %d characters",
                    GOAL_MAX_OBJECTIVE);
    else if (budget && !json_is(budget, JSON_NULL) && (!json_i64(budget, &tokens) || tokens <= 0))
        rpc_refusef(call, RPC_REQUEST, "goal budgets must be positive when provided");
    else if (status && !json_is(status, JSON_NULL) && !is_status(json_str(status)))
        rpc_refusef(call, RPC_REQUEST,
                    "Invalid request: unknown variant `%.*s`, expected one of `active`, `paused`, "
                    "`blocked`, `usageLimited`, `budgetLimited`, `complete`",
                    STR_ARG(str_clip(json_str(status), 60)));
    else
        change_goal(a, call, id, set_run);
}

void codex_goal_clear(struct codex *a, struct rpc_call *call)
{
    struct str id;

    if (codex_thread_id(call, &id))
        change_goal(a, call, id, clear_run);
}

/* ---- Looked at ---- */

static int goal_read(struct call_chore *c, struct err *err)
{
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(store_freep) struct store *store = NULL;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct live_table_spec *spec = client_spec(c->client);
    struct str id = json_get_str(c->call->params, "threadId");
    const struct store_session *session;
    struct store_goal row;
    struct jw w;
    int r;

    if (codex_find_row(c->client, id, &ix, &path, &session, err) < 0)
        return err->code == ERR_NOT_FOUND
                   ? err_set(err, ERR_NOT_FOUND, "thread not found: %.*s", STR_ARG(id))
                   : -1;
    if (spec->settings(spec->arg, /*dir=*/NULL, /*trusts=*/false, &conf, err) < 0 ||
        hub_store(live_table_hub(client_table(c->client)), conf_home(conf),
                  client_cancel(c->client), &store, err) < 0)
        return -1;
    r = store_goal_get(store, id, &arena, &row, client_cancel(c->client), err);
    if (r < 0)
        return -1;
    jw_init(&w, &c->result, JW_CLEAN);
    jw_object(&w);
    jw_key(&w, "goal");
    if (r) {
        jw_object(&w);
        goal_row_write_thread(&row, row.objective, &w);
        jw_object_end(&w);
    } else {
        jw_null(&w);
    }
    jw_object_end(&w);
    return 0;
}

static void read_run(struct call_chore *c)
{
    (void)goal_read(c, &c->err);
}

void codex_goal_get(struct codex *a, struct rpc_call *call)
{
    CLEANUP(buf_release) struct buf thread = BUF_INIT(CODEX_MAX_TEXT);
    CLEANUP(buf_release) struct buf goal = BUF_INIT(CODEX_MAX_TEXT);
    CLEANUP(buf_release) struct buf out = BUF_INIT(CODEX_MAX_TEXT);
    struct call_chore *c;
    struct live *live;
    struct str id;

    if (!codex_thread_id(call, &id))
        return;
    live = live_find(client_table(a->client), id);
    if (live) {
        goal_thread_json(host_goal(live->host), &thread);
        codex_bare_goal(buf_str(&thread), &goal);
        buf_addf(&out, "{\"goal\":%s}", buf_cstr(&goal));
        rpc_answer(call, buf_str(&out));
        return;
    }
    c = call_chore_new(sizeof(*c), a->client, call, /*live=*/NULL, read_run);
    c->code = codex_code;
    call_chore_start(c);
}
