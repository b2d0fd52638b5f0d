/*
 * codex_goal_elsewhere: goals of threads that another process has open. That process makes the
 * changes: it is asked over its control socket, as `tenax goal` does. A chore; answers on the loop.
 */
#include <inttypes.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "goal/report/row_json.h"
#include "host/hub.h"
#include "host/socket/socket_call.h"
#include "json/json.h"
#include "proto/codex/codex_state.h"
#include "proto/rpc/live.h"
#include "store/goals/goals.h"
#include "store/hold.h"
#include "store/store.h"

#define ELSEWHERE_BEGIN_MS 2000  /* it is not begun after that */
#define ELSEWHERE_ANSWER_MS 5000 /* a process that has not answered by then is stopped */
#define ELSEWHERE_MAX_TEXT ((size_t)1 << 20)

struct elsewhere {
    struct call_chore base;
    bool clears;
    bool cleared; /* there was one */
    struct codex_changed to;
};

/* As it is after the change. goal_id: of the one before, if there was one. */
static int look(struct elsewhere *e, struct store *store, struct str goal_id, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str id = json_get_str(e->base.call->params, "threadId");
    struct cancel *cancel = client_cancel(e->base.client);
    goal_event_vec events = VEC_INIT;
    struct store_goal row = {0};
    int r = store_goal_get(store, id, &arena, &row, cancel, err);

    if (r > 0)
        goal_id = row.goal_id;
    if (r >= 0)
        r = store_goal_last_events(store, id, goal_id, 1, &arena, &events, cancel, err);
    if (r == 0) {
        goal_row_write_whole(&row, &e->to.goal);
        e->to.updated_ms = row.updated_at_ms;
        e->to.event = events.len ? events.ptr[0].id : 0;
    }
    vec_release(&events);
    return r;
}

/* `/goal` with this argument, in the process that has the thread. */
static int ask(const struct call_chore *c, const struct holder *holder, struct str argument,
               struct err *err)
{
    CLEANUP(buf_release) struct buf request = BUF_INIT(ELSEWHERE_MAX_TEXT);
    CLEANUP(buf_release) struct buf answer = BUF_INIT(CODEX_MAX_TEXT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str id = json_get_str(c->call->params, "threadId");
    struct jw w;

    jw_init(&w, &request, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "subtype", "goal");
    jw_kstr(&w, "argument", argument);
    jw_ki64(&w, "wait_ms", ELSEWHERE_BEGIN_MS);
    jw_object_end(&w);
    return socket_call(buf_cstr(&holder->socket), arena_cstr(&arena, id), buf_str(&request),
                       ELSEWHERE_ANSWER_MS, client_cancel(c->client), &answer, err);
}

static int ask_objective(const struct call_chore *c, const struct holder *holder, bool exists,
                         struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(ELSEWHERE_MAX_TEXT);
    const struct json *p = c->call->params;
    int64_t budget;

    if (exists)
        buf_adds(&text, "edit ");
    else if (json_i64(json_get(p, "tokenBudget"), &budget))
        buf_addf(&text, "--budget %" PRId64 " ", budget);
    buf_adds(&text, "-- ");
    buf_add(&text, str_trim(json_get_str(p, "objective")));
    return ask(c, holder, buf_str(&text), err);
}

static int ask_budget(const struct call_chore *c, const struct holder *holder, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    int64_t budget;

    if (json_i64(json_get(c->call->params, "tokenBudget"), &budget))
        buf_addf(&text, "budget %" PRId64, budget);
    else
        buf_adds(&text, "budget none");
    return ask(c, holder, buf_str(&text), err);
}

static int ask_status(const struct call_chore *c, const struct holder *holder, enum goal_status now,
                      struct err *err)
{
    struct str status = json_get_str(c->call->params, "status");

    if (str_is(status, goal_row_thread_status(now)) || !str_is_word_of(status, "active paused"))
        return 0;
    return ask(c, holder, str_is(status, "active") ? STR("resume") : STR("pause"), err);
}

static int change(struct elsewhere *e, const struct holder *holder, struct store *store,
                  struct err *err)
{
    const struct call_chore *c = &e->base;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *p = c->call->params;
    struct str id = json_get_str(p, "threadId");
    struct cancel *cancel = client_cancel(c->client);
    struct store_goal row = {0};
    int exists = store_goal_get(store, id, &arena, &row, cancel, err);

    if (exists < 0)
        return -1;
    if (e->clears) {
        e->cleared = exists;
        return exists && ask(c, holder, STR("clear"), err) < 0 ? -1
                                                               : look(e, store, row.goal_id, err);
    }
    if (!exists && !json_get(p, "objective"))
        return err_set(err, ERR_NOT_FOUND, "cannot update goal for thread %.*s: no goal exists",
                       STR_ARG(id));
    /* First: a request that is refused changes nothing. */
    if (codex_check_status(json_get_str(p, "status"), exists ? &row : NULL, err) < 0)
        return -1;
    if ((json_get(p, "objective") && ask_objective(c, holder, exists, err) < 0) ||
        (exists && json_get(p, "tokenBudget") && ask_budget(c, holder, err) < 0) ||
        store_goal_get(store, id, &arena, &row, cancel, err) < 0 ||
        ask_status(c, holder, row.status, err) < 0)
        return -1;
    return look(e, store, row.goal_id, err);
}

static void run(struct call_chore *c)
{
    struct elsewhere *e = (struct elsewhere *)c;
    const struct live_table_spec *spec = client_spec(c->client);
    CLEANUP(holder_release) struct holder holder = {0};
    CLEANUP(store_freep) struct store *store = NULL;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str id = json_get_str(c->call->params, "threadId");

    if (spec->settings(spec->arg, /*dir=*/NULL, /*trusts=*/false, &conf, &c->err) < 0 ||
        hub_store(live_table_hub(client_table(c->client)), conf_home(conf),
                  client_cancel(c->client), &store, &c->err) < 0)
        return;
    if (hold_look(conf_home(conf), arena_cstr(&arena, id), &holder, /*err=*/NULL) <= 0 ||
        !holder.socket.len)
        err_set(&c->err, ERR_BUSY, "thread %.*s already has an active writer", STR_ARG(id));
    else
        (void)change(e, &holder, store, &c->err);
}

static void answer(struct call_chore *c)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(CODEX_MAX_TEXT);
    CLEANUP(buf_release) struct buf note = BUF_INIT(CODEX_MAX_TEXT);
    struct elsewhere *e = (struct elsewhere *)c;
    struct str id = json_get_str(c->call->params, "threadId");
    struct codex *a = c->client->own;
    struct jw w;

    jw_init(&w, &note, JW_CLEAN);
    jw_object(&w);
    jw_kstr(&w, "threadId", id);
    if (e->clears) {
        buf_addf(&out, "{\"cleared\":%s}", e->cleared ? "true" : "false");
    } else {
        buf_addf(&out, "{\"goal\":%s}", buf_cstr(&e->to.goal));
        jw_key(&w, "turnId");
        jw_null(&w);
        jw_kraw(&w, "goal", buf_str(&e->to.goal));
    }
    jw_object_end(&w);
    codex_follow_changed(a, id, &e->to);
    rpc_answer(TAKE_PTR(c->call), buf_str(&out));
    if (c->client->is_closed)
        return;
    if (!e->clears)
        codex_notify(a, "thread/goal/updated", &note);
    else if (e->cleared)
        codex_notify(a, "thread/goal/cleared", &note);
}

static void failed(struct call_chore *c)
{
    rpc_refuse(TAKE_PTR(c->call), codex_code(&c->err), str_of(c->err.text), STR(""));
    codex_follow_changed(c->client->own, /*id=*/STR(""), /*to=*/NULL);
}

static void release(struct call_chore *c)
{
    buf_release(&((struct elsewhere *)c)->to.goal);
}

void codex_goal_elsewhere(struct codex *a, struct rpc_call *call, bool clears)
{
    struct elsewhere *e = call_chore_new(sizeof(*e), a->client, call, /*live=*/NULL, run);

    e->clears = clears;
    buf_init(&e->to.goal, CODEX_MAX_TEXT);
    e->base.answer = answer;
    e->base.failed = failed;
    e->base.release = release;
    codex_follow_begin(a);
    call_chore_start(e);
}
