/*
 * codex_goal_follow: goals of threads that are not open here, after the client has changed one.
 *
 * A chore per connection waits for changes of the store and looks at these goals; the loop reports
 * what is new and sends it out again. While a request of the client changes such a goal nothing is
 * reported, because its answer comes first; then the chore looks again.
 */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "goal/report/row_json.h"
#include "host/hub.h"
#include "json/json.h"
#include "proto/codex/codex_state.h"
#include "proto/rpc/live.h"
#include "store/changes.h"
#include "store/goals/goals.h"
#include "store/store.h"
#include "sync/cancel.h"

#define FOLLOW_MAX 100
#define FOLLOW_EVENTS 1000

/* A goal as it was reported last. */
struct followed {
    char id[ID_UUID_LEN + 1];
    struct buf goal; /* JSON; "null": there is none */
    int64_t updated_ms;
    int64_t event;      /* id of the newest in the ledger */
    struct strv states; /* JSON, in order: what is new; the last one is `goal` */
};

struct codex_follow {
    struct codex *app;
    VEC(struct followed *) list;
    struct cancel *cancel; /* of the chore that waits; NULL: none does */
    size_t requests;       /* under way */
};

struct follow_chore {
    struct call_chore base;
    struct cancel *cancel;
    VEC(struct followed *) list; /* what the client knows; then, what it is */
};

static void followed_free(struct followed *it)
{
    buf_release(&it->goal);
    strv_release(&it->states);
    mem_freep(&it);
}

static struct followed *followed_copy(const struct followed *from)
{
    struct followed *it = mem_zalloc(sizeof(*it));

    memcpy(it->id, from->id, sizeof(it->id));
    buf_init(&it->goal, CODEX_MAX_TEXT);
    buf_add(&it->goal, buf_str(&from->goal));
    it->updated_ms = from->updated_ms;
    it->event = from->event;
    return it;
}

static struct followed *find(struct codex_follow *f, struct str id)
{
    VEC_EACH(&f->list, it) {
        if (str_is(id, (*it)->id))
            return *it;
    }
    return NULL;
}

struct codex_follow *codex_follow_new(struct codex *a)
{
    struct codex_follow *f = mem_zalloc(sizeof(*f));

    f->app = a;
    return f;
}

void codex_follow_end(struct codex_follow *f)
{
    while (f->list.len)
        followed_free(f->list.ptr[--f->list.len]);
    if (f->cancel)
        cancel_set(f->cancel);
}

void codex_follow_free(struct codex_follow *f)
{
    codex_follow_end(f);
    cancel_unref(f->cancel);
    vec_release(&f->list);
    mem_freep(&f);
}

/* ---- Looking ---- */

/* What makes two states of a goal differ for the user. */
struct state {
    struct str objective, status;
};

static struct state state_of(struct arena *arena, struct str goal)
{
    const struct json *v = NULL;

    (void)json_parse(arena, goal, &v, /*ret_info=*/NULL, /*err=*/NULL);
    return (struct state){json_get_str(v, "objective"), json_get_str(v, "status")};
}

static bool is_same(const struct state *a, const struct state *b)
{
    return str_eq(a->objective, b->objective) && str_eq(a->status, b->status);
}

/* The goal, in another state from then on. */
static void patch(struct arena *arena, struct str goal, const struct state *to, int64_t time_ms,
                  struct strv *ret)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(CODEX_MAX_TEXT);
    const struct json *v = NULL;
    struct jw w;

    (void)json_parse(arena, goal, &v, /*ret_info=*/NULL, /*err=*/NULL);
    jw_init(&w, &out, JW_CLEAN);
    jw_object(&w);
    JSON_EACH(v, m) {
        jw_key_str(&w, json_key(m));
        if (str_is(json_key(m), "objective"))
            jw_str(&w, to->objective);
        else if (str_is(json_key(m), "status"))
            jw_str(&w, to->status);
        else if (str_is(json_key(m), "updatedAt"))
            jw_i64(&w, time_ms / 1000);
        else
            jw_json(&w, m);
    }
    jw_object_end(&w);
    strv_add(ret, buf_str(&out));
}

/* The states that the ledger tells between what is known and the row, which is the last one. */
static void add_states(struct followed *it, const goal_event_vec *events, struct str row,
                       struct arena *arena)
{
    struct state now = state_of(arena, buf_str(&it->goal));
    struct state last = state_of(arena, row);

    VEC_EACH(events, e) {
        const struct json *data = NULL;
        struct state next = now;

        it->event = e->id;
        if (e->status == GOAL_STATUS_COUNT)
            continue;
        next.status = str_of(goal_row_thread_status(e->status));
        (void)json_parse(arena, e->data, &data, /*ret_info=*/NULL, /*err=*/NULL);
        if (json_get_str(data, "objective").len)
            next.objective = json_get_str(data, "objective");
        /* Of another goal only the row is known, and none is known of one that is gone. */
        if (!is_same(&now, &next) && now.status.len && last.status.len)
            patch(arena, buf_str(&it->goal), &next, e->time_ms, &it->states);
        now = next;
    }
    /* With what was spent until now. */
    if (it->states.len && is_same(&now, &last))
        mem_freep(&it->states.ptr[--it->states.len]);
    strv_add(&it->states, row);
}

/* 1: it is not as the client knows it. */
static int look_at(struct followed *it, struct store *store, struct cancel *cancel, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf goal = BUF_INIT(CODEX_MAX_TEXT);
    goal_event_vec events = VEC_INIT;
    struct store_goal row = {0};
    int r = store_goal_events(store, str_of(it->id), /*goal_id=*/STR(""), it->event, FOLLOW_EVENTS,
                              &arena, &events, cancel, err);

    /* After the ledger: what it has, the row has. */
    if (r == 0)
        r = store_goal_get(store, str_of(it->id), &arena, &row, cancel, err) < 0 ? -1 : 0;
    if (r == 0)
        goal_row_write_whole(&row, &goal);
    if (r == 0 && (events.len || !str_eq(buf_str(&goal), buf_str(&it->goal))) &&
        (!row.thread_id.len || row.updated_at_ms >= it->updated_ms)) {
        add_states(it, &events, buf_str(&goal), &arena);
        buf_move(&it->goal, &goal);
        it->updated_ms = row.updated_at_ms;
        r = 1;
    }
    vec_release(&events);
    return r;
}

/* 1: one of them has changed. */
static int look(struct follow_chore *c, struct store *store, struct err *err)
{
    int changed = 0;

    VEC_EACH(&c->list, it) {
        int r = look_at(*it, store, c->cancel, err);

        if (r < 0)
            return -1;
        changed = changed || r;
    }
    return changed;
}

static void follow_run(struct call_chore *base)
{
    struct follow_chore *c = (struct follow_chore *)base;
    const struct live_table_spec *spec = client_spec(base->client);
    CLEANUP(store_freep) struct store *store = NULL;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(fd_closep) int fd = -1;
    int changed = 0;

    if (spec->settings(spec->arg, /*dir=*/NULL, /*trusts=*/false, &conf, &base->err) < 0 ||
        hub_store(live_table_hub(client_table(base->client)), conf_home(conf), c->cancel, &store,
                  &base->err) < 0)
        return;
    fd = store_changes_open(conf_home(conf)); /* before the first look */
    while (!changed) {
        changed = look(c, store, &base->err);
        if (!changed && store_changes_wait(fd, c->cancel, &base->err) < 0)
            return;
    }
}

static void start(struct codex_follow *f);

static void say(struct codex_follow *f, struct followed *known, struct str goal)
{
    CLEANUP(buf_release) struct buf note = BUF_INIT(CODEX_MAX_TEXT);
    bool is_gone = str_is(goal, "null");

    if (str_eq(buf_str(&known->goal), goal))
        return;
    buf_clear(&known->goal);
    buf_add(&known->goal, goal);
    if (is_gone)
        buf_addf(&note, "{\"threadId\":\"%s\"}", known->id);
    else
        buf_addf(&note, "{\"threadId\":\"%s\",\"turnId\":null,\"goal\":%.*s}", known->id,
                 STR_ARG(goal));
    codex_notify(f->app, is_gone ? "thread/goal/cleared" : "thread/goal/updated", &note);
}

static void say_states(struct codex_follow *f, const struct followed *now)
{
    struct followed *known = find(f, str_of(now->id));

    if (!known || now->event < known->event || now->updated_ms < known->updated_ms)
        return;
    for (size_t i = 0; i < now->states.len; i++)
        say(f, known, str_of(now->states.ptr[i]));
    known->event = now->event;
    known->updated_ms = now->updated_ms;
}

/* The loop, also when it was sent for. A store that cannot be read is not followed any longer. */
static void follow_done(struct call_chore *base)
{
    struct follow_chore *c = (struct follow_chore *)base;
    struct codex_follow *f = ((struct codex *)base->client->own)->follow;

    cancel_unref(f->cancel);
    f->cancel = NULL;
    if (base->err.code && base->err.code != ERR_CANCELLED)
        codex_follow_end(f);
    VEC_EACH(&c->list, it) {
        if (!f->requests)
            say_states(f, *it);
    }
    start(f);
}

static void follow_release(struct call_chore *base)
{
    struct follow_chore *c = (struct follow_chore *)base;

    VEC_EACH(&c->list, it) {
        followed_free(*it);
    }
    vec_release(&c->list);
    cancel_unref(c->cancel);
}

static void start(struct codex_follow *f)
{
    struct client *client = f->app->client;
    struct follow_chore *c;

    if (f->cancel || f->requests || !f->list.len)
        return;
    c = call_chore_new(sizeof(*c), client, /*call=*/NULL, /*live=*/NULL, follow_run);
    f->cancel = cancel_new(client_cancel(client));
    c->cancel = cancel_ref(f->cancel);
    VEC_EACH(&f->list, it) {
        vec_push(&c->list, followed_copy(*it));
    }
    c->base.answer = follow_done;
    c->base.failed = follow_done;
    c->base.release = follow_release;
    call_chore_start(c);
}

/* ---- Followed ---- */

void codex_follow_begin(struct codex *a)
{
    a->follow->requests++;
    if (a->follow->cancel)
        cancel_set(a->follow->cancel);
}

void codex_follow_changed(struct codex *a, struct str id, const struct codex_changed *to)
{
    struct codex_follow *f = a->follow;
    struct followed *it = find(f, id);

    f->requests--;
    if (!a->client->is_ended && to && !it && f->list.len < FOLLOW_MAX) {
        it = mem_zalloc(sizeof(*it));
        snprintf(it->id, sizeof(it->id), "%.*s", STR_ARG(id));
        buf_init(&it->goal, CODEX_MAX_TEXT);
        vec_push(&f->list, it);
    }
    if (it && to) {
        buf_clear(&it->goal);
        buf_add(&it->goal, buf_str(&to->goal));
        it->updated_ms = to->updated_ms;
        it->event = to->event;
    }
    start(f);
}

void codex_unfollow(struct codex *a, struct str id)
{
    struct codex_follow *f = a->follow;

    for (size_t i = 0; i < f->list.len; i++) {
        if (!str_is(id, f->list.ptr[i]->id))
            continue;
        followed_free(f->list.ptr[i]);
        f->list.ptr[i] = f->list.ptr[--f->list.len];
        if (!f->list.len && f->cancel)
            cancel_set(f->cancel);
        return;
    }
}
