/*
 * codex_turn: turns begun, steered and interrupted, and what happens in them as notifications. The
 * loop's thread.
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/image.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "host/host.h"
#include "json/json.h"
#include "llm/effort.h"
#include "llm/message.h"
#include "proto/codex/codex_state.h"
#include "proto/thread_goal.h"
#include "slash/slash.h"

#define TURN_MAX_IMAGE ((size_t)20 << 20)

/* ---- Out ---- */

static void write_turn_note(struct codex_view *v, const char *method, const struct codex_turn *t,
                            enum turn_view how)
{
    struct codex_note n;
    struct jw *w = codex_begin(&n, v, method);

    jw_key(w, "turn");
    turn_write(t, v->items.dir, how, w);
    codex_end(&n);
}

void codex_say_status(struct codex_view *v)
{
    CLEANUP(buf_release) struct buf room = BUF_INIT(4096);
    struct codex_note n;
    struct jw *w;

    (void)codex_status_of(v, &room);
    if (str_eq(buf_str(&room), buf_str(&v->status)))
        return;
    if (!v->status.len && str_has(buf_str(&room), STR("idle"))) { /* as it was opened */
        buf_add(&v->status, buf_str(&room));
        return;
    }
    buf_clear(&v->status);
    buf_add(&v->status, buf_str(&room));
    w = codex_begin(&n, v, "thread/status/changed");
    jw_kraw(w, "status", buf_str(&room));
    codex_end(&n);
}

static void on_turn_started(void *arg, const struct codex_turn *t)
{
    struct codex_view *v = arg;

    if (str_eq(buf_str(&v->started), buf_str(&t->id)))
        buf_clear(&v->started);
    v->has_failed = false;
    codex_diff_clear(v);
    codex_say_status(v);
    write_turn_note(v, "turn/started", t, TURN_BARE);
}

static void say_item(struct codex_view *v, const char *method, const struct codex_turn *t,
                     const struct codex_item *it)
{
    bool is_done = it->status != ITEM_RUNNING;
    struct codex_note n;
    struct jw *w = codex_begin(&n, v, method);

    jw_key(w, "item");
    item_write(it, v->items.dir, w);
    jw_kstr(w, "turnId", buf_str(&t->id));
    if (is_done && strcmp(method, "item/completed") == 0) {
        jw_kcstr(w, "contentTokenCount", NULL);
        jw_ki64(w, "completedAtMs", it->completed_ms);
    } else {
        jw_ki64(w, "startedAtMs", it->started_ms);
    }
    codex_end(&n);
}

static void on_item_started(void *arg, const struct codex_turn *t, const struct codex_item *it)
{
    say_item(arg, "item/started", t, it);
    if (it->kind == ITEM_REASONING) {
        struct codex_note n;
        struct jw *w = codex_begin(&n, arg, "item/reasoning/summaryPartAdded");

        jw_kstr(w, "turnId", buf_str(&t->id));
        jw_kstr(w, "itemId", buf_str(&it->id));
        jw_ki64(w, "summaryIndex", 0);
        codex_end(&n);
    }
}

static void on_item_delta(void *arg, const struct codex_turn *t, const struct codex_item *it,
                          struct str delta)
{
    struct codex_note n;
    struct jw *w = codex_begin(&n, arg,
                               it->kind == ITEM_AGENT       ? "item/agentMessage/delta"
                               : it->kind == ITEM_REASONING ? "item/reasoning/summaryTextDelta"
                                                            : "item/commandExecution/outputDelta");

    jw_kstr(w, "turnId", buf_str(&t->id));
    jw_kstr(w, "itemId", buf_str(&it->id));
    jw_kstr(w, "delta", delta);
    if (it->kind == ITEM_REASONING)
        jw_ki64(w, "summaryIndex", 0);
    codex_end(&n);
}

static void on_item_completed(void *arg, const struct codex_turn *t, const struct codex_item *it)
{
    say_item(arg, "item/completed", t, it);
    codex_diff_say(arg, t, it);
}

static struct str turn_id(const struct codex_view *v)
{
    const struct codex_turn *t = items_running(&v->items);

    return t ? buf_str(&t->id) : buf_str(&v->started);
}

static void write_figures(struct jw *w, const char *key, const struct llm_usage *u)
{
    int64_t input = u->input + u->cache_read + u->cache_write;

    jw_key(w, key);
    jw_object(w);
    jw_ki64(w, "totalTokens", input + u->output);
    jw_ki64(w, "inputTokens", input);
    jw_ki64(w, "cachedInputTokens", u->cache_read);
    jw_ki64(w, "cacheWriteInputTokens", u->cache_write);
    jw_ki64(w, "outputTokens", u->output);
    jw_ki64(w, "reasoningOutputTokens", u->thinking);
    jw_object_end(w);
}

/* Reported behind the items of its answer: calls of tools end after it. */
static void keep_usage(struct codex_view *v, const struct event *e)
{
    v->total.input += e->usage.input;
    v->total.output += e->usage.output;
    v->total.cache_read += e->usage.cache_read;
    v->total.cache_write += e->usage.cache_write;
    v->total.thinking += e->usage.thinking;
    v->last = e->usage;
    v->owes_usage = true;
}

static void say_usage(struct codex_view *v)
{
    CLEANUP(buf_release) struct buf provider = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf model = BUF_INIT(1024);
    struct codex_note n;
    int64_t window;
    struct jw *w;

    if (!v->owes_usage)
        return;
    v->owes_usage = false;
    host_model(v->view->live->host, &provider, &model, &window);
    w = codex_begin(&n, v, "thread/tokenUsage/updated");
    jw_kstr(w, "turnId", turn_id(v));
    jw_key(w, "tokenUsage");
    jw_object(w);
    write_figures(w, "total", &v->total);
    write_figures(w, "last", &v->last);
    jw_ki64(w, "modelContextWindow", window);
    jw_object_end(w);
    codex_end(&n);
}

static bool is_over(void *arg, const struct event *e)
{
    struct codex_view *v = arg;

    return !thread_goal_goes_on(v->view->live->host, e->report);
}

static void on_turn_completed(void *arg, const struct codex_turn *t)
{
    struct codex_view *v = arg;

    say_usage(v);
    v->has_failed = t->status == TURN_FAILED;
    codex_say_status(v);
    if (t->status == TURN_FAILED) {
        struct codex_note n;
        struct jw *w = codex_begin(&n, v, "error");

        jw_kstr(w, "turnId", buf_str(&t->id));
        jw_key(w, "error");
        turn_write_error(t, w);
        jw_kbool(w, "willRetry", false);
        codex_end(&n);
    }
    view_take_back_asks(v->view);
    write_turn_note(v, "turn/completed", t, TURN_SUMMARY);
}

void codex_items_init(struct codex_view *v)
{
    v->items = (struct items){
        .dir = conf_dir(host_conf(v->view->live->host)),
        .turn_started = on_turn_started,
        .item_started = on_item_started,
        .item_delta = on_item_delta,
        .item_completed = on_item_completed,
        .is_over = is_over,
        .turn_completed = on_turn_completed,
        .arg = v,
    };
}

static void say_plan(struct codex_view *v, const struct event *e)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *input = NULL;
    struct codex_note n;
    struct jw *w;

    if (json_parse(&arena, e->json, &input, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    w = codex_begin(&n, v, "turn/plan/updated");
    jw_kstr(w, "turnId", turn_id(v));
    jw_kcstr(w, "explanation", NULL);
    jw_key(w, "plan");
    jw_array(w);
    JSON_EACH(json_get(input, "todos"), todo) {
        struct str status = json_get_str(todo, "status");

        jw_object(w);
        jw_kstr(w, "step", json_get_str(todo, "content"));
        jw_kstr(w, "status", str_is(status, "in_progress") ? STR("inProgress") : status);
        jw_object_end(w);
    }
    jw_array_end(w);
    codex_end(&n);
}

static void say_retry(struct codex_view *v, const struct event *e)
{
    struct codex_note n;
    struct jw *w = codex_begin(&n, v, "error");

    jw_kstr(w, "turnId", turn_id(v));
    jw_key(w, "error");
    jw_object(w);
    jw_kstr(w, "message", e->text);
    jw_kcstr(w, "codexErrorInfo", e->is_overloaded ? "serverOverloaded" : "other");
    jw_kcstr(w, "additionalDetails", NULL);
    jw_kcstr(w, "misalignment", NULL);
    jw_object_end(w);
    jw_kbool(w, "willRetry", true);
    codex_end(&n);
}

static void say_notice(struct codex_view *v, const struct event *e)
{
    struct codex_note n;

    if (e->level == LEVEL_INFO)
        return;
    jw_kstr(codex_begin(&n, v, "warning"), "message", e->text);
    codex_end(&n);
}

void codex_event(struct client_view *view, const struct event *e)
{
    struct codex_view *v = codex_view_of(view);
    bool is_main = identity_is_main(&e->by);

    if (is_main && e->kind == EVENT_TURN_STARTED)
        v->in_turn = true;
    if (is_main && e->kind == EVENT_TURN_DONE)
        v->in_turn = false;
    if (is_main && e->kind == EVENT_STEP_STARTED)
        say_usage(v);
    if (is_main && e->kind == EVENT_TOOL_STARTED && str_is(e->name, "TodoWrite"))
        say_plan(v, e);
    items_event(&v->items, e);
    switch (e->kind) {
    case EVENT_STEP_DONE:
        if (is_main)
            keep_usage(v, e);
        break;
    case EVENT_RETRY:
        if (is_main)
            say_retry(v, e);
        break;
    case EVENT_NOTICE:
        say_notice(v, e);
        break;
    case EVENT_COMPACTED:
        if (is_main && !e->is_error) {
            struct codex_note n;

            jw_kstr(codex_begin(&n, v, "thread/compacted"), "turnId", turn_id(v));
            codex_end(&n);
        }
        break;
    case EVENT_GOAL:
    case EVENT_ACTIVE_GOAL:
    case EVENT_GOAL_ROW:
        codex_goal_event(v, e, turn_id(v));
        break;
    case EVENT_TURN_DONE:
        if (is_main)
            codex_say_status(v);
        break;
    default:
        break;
    }
}

/* ---- In ---- */

/* A picture of this machine. */
static int add_image_file(struct message *m, struct str path, struct err *err)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(TURN_MAX_IMAGE);
    CLEANUP(buf_release) struct buf data = BUF_INIT(2 * TURN_MAX_IMAGE);
    CLEANUP(mem_freep) char *name = mem_dup(path.ptr, path.len);
    struct block b = {.kind = BLOCK_IMAGE};
    const char *type;

    if (file_slurp(name, TURN_MAX_IMAGE, &bytes, err) < 0)
        return -1;
    type = image_type(buf_str(&bytes));
    if (!type)
        return err_set(err, ERR_BAD_INPUT, "'%s' is no picture", name);
    buf_add_base64(&data, buf_str(&bytes));
    b.media_type = str_of(type);
    b.data = buf_str(&data);
    (void)message_add(m, &b);
    return 0;
}

/* "data:image/png;base64,…", or a URL that the provider loads. */
static int add_image(struct message *m, struct str url, struct err *err)
{
    struct block b = {.kind = BLOCK_IMAGE};
    struct str head = str_first(url, str_chr(url, ','));

    if (!str_starts(url, STR("data:"))) {
        if (!str_starts(url, STR("https://")) && !str_starts(url, STR("http://")))
            return err_set(err, ERR_BAD_INPUT, "an image needs a data: or https: URL");
        b.url = url;
    } else {
        if (!str_ends(head, STR(";base64")))
            return err_set(err, ERR_BAD_INPUT, "an image's data must be base64");
        b.media_type = str_first(str_from(head, strlen("data:")),
                                 head.len - strlen("data:") - strlen(";base64"));
        b.data = str_from(url, head.len + 1);
    }
    (void)message_add(m, &b);
    return 0;
}

static int add_input(struct message *m, const struct json *input, struct agent_input *how,
                     struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(CODEX_MAX_TEXT);
    struct block b = {.kind = BLOCK_TEXT};
    struct str type = json_get_str(input, "type");

    if (str_is(type, "image"))
        return add_image(m, json_get_str(input, "url"), err);
    if (str_is(type, "localImage"))
        return add_image_file(m, json_get_str(input, "path"), err);
    if (str_is(type, "text")) {
        buf_add(&text, json_get_str(input, "text"));
    } else if (str_is(type, "mention")) {
        buf_addf(&text, " @\"%.*s\" ", STR_ARG(json_get_str(input, "path")));
        how->has_files = true;
    } else if (str_is(type, "skill")) {
        buf_addf(&text, "/%.*s ", STR_ARG(json_get_str(input, "name")));
        how->is_literal = how->is_literal && m->len;
    } else {
        return err_set(err, ERR_BAD_INPUT, "Invalid request: unknown variant `%.*s`",
                       STR_ARG(str_clip(type, 60)));
    }
    b.text = buf_str(&text);
    if (b.text.len)
        (void)message_add(m, &b);
    return 0;
}

/* The message, and how it is to be taken. */
static int read_input(const struct json *list, struct agent_input *ret, struct err *err)
{
    CLEANUP(message_unrefp) struct message *m = message_new(ROLE_USER, json_len(list));

    ret->is_literal = true;
    JSON_EACH(list, input) {
        if (add_input(m, input, ret, err) < 0)
            return -1;
    }
    if (!m->len)
        return err_set(err, ERR_BAD_INPUT, "Invalid request: missing field `input`");
    ret->message = TAKE_PTR(m);
    return 0;
}

struct turn_chore {
    struct call_chore base;
    char session[ID_UUID_LEN + 1];
    struct agent_input input;
    struct buf model, effort, schema;
};

static void send_run(struct call_chore *c)
{
    struct turn_chore *t = (struct turn_chore *)c;
    CLEANUP(buf_release) struct buf name = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf provider = BUF_INIT(1024);
    struct host *h = c->live->host;
    enum effort effort;
    int64_t window;

    host_model(h, &provider, &name, &window);
    if (t->model.len && !str_eq(buf_str(&t->model), buf_str(&name))) {
        buf_clear(&name);
        if (host_set_model(h, buf_str(&t->model), &name, &c->err) < 0)
            return;
    }
    if (t->effort.len && effort_parse(buf_str(&t->effort), &effort))
        host_set_effort(h, effort);
    /* Of this turn alone; what joins a turn does not change its form. */
    if (!host_in_turn(h) && host_set_schema(h, buf_str(&t->schema), &c->err) < 0)
        return;
    (void)slash_send(c->live->slash, &t->input, &c->err);
}

static void send_nothing(struct call_chore *c)
{
    (void)c;
}

static void send_failed(struct call_chore *c)
{
    struct turn_chore *t = (struct turn_chore *)c;
    struct client_view *view = client_view(c->client, str_of(t->session));
    struct codex_view *v = view ? codex_view_of(view) : NULL;
    struct codex_note n;
    struct jw *w;

    if (!v)
        return;
    if (str_is(buf_str(&v->started), t->input.uuid))
        buf_clear(&v->started);
    w = codex_begin(&n, v, "error");
    jw_kcstr(w, "turnId", t->input.uuid);
    jw_key(w, "error");
    jw_object(w);
    jw_kcstr(w, "message", c->err.text);
    jw_kcstr(w, "codexErrorInfo", c->err.code == ERR_AUTH ? "unauthorized" : "other");
    jw_kcstr(w, "additionalDetails", NULL);
    jw_kcstr(w, "misalignment", NULL);
    jw_object_end(w);
    jw_kbool(w, "willRetry", false);
    codex_end(&n);
    codex_say_status(v);
}

static void send_release(struct call_chore *c)
{
    struct turn_chore *t = (struct turn_chore *)c;

    agent_input_release(&t->input);
    buf_release(&t->model);
    buf_release(&t->effort);
    buf_release(&t->schema);
}

/* The input is on its way to the session's queue, which takes it; id is the uuid it has there. */
static void send_input(struct codex_view *v, const struct json *params,
                       const struct agent_input *input, enum input_when when,
                       char id[ID_UUID_LEN + 1])
{
    struct turn_chore *t =
        call_chore_new(sizeof(*t), v->app->client, /*call=*/NULL, v->view->live, send_run);
    const struct json *schema = json_get(params, "outputSchema");

    t->input = *input;
    id_uuid(t->input.uuid);
    memcpy(id, t->input.uuid, ID_UUID_LEN + 1);
    memcpy(t->session, v->view->live->id, sizeof(t->session));
    t->input.when = when;
    buf_init(&t->model, 4096);
    buf_init(&t->effort, 4096);
    buf_init(&t->schema, CODEX_MAX_TEXT);
    buf_add(&t->model, json_get_str(params, "model"));
    buf_add(&t->effort, json_get_str(params, "effort"));
    if (json_is(schema, JSON_OBJECT))
        buf_add(&t->schema, json_raw(schema));
    t->base.answer = send_nothing;
    t->base.failed = send_failed;
    t->base.release = send_release;
    call_chore_start(t);
}

static void answer_turn(struct rpc_call *call, struct str id)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(4096);
    struct codex_turn t = {.id = {.ptr = (char *)id.ptr, .len = id.len}};
    struct jw w;

    jw_init(&w, &out, JW_CLEAN);
    jw_object(&w);
    jw_key(&w, "turn");
    turn_write(&t, "", TURN_BARE, &w);
    jw_object_end(&w);
    rpc_answer(call, buf_str(&out));
}

void codex_turn_start(struct codex *a, struct rpc_call *call)
{
    struct codex_view *v = codex_view_for(a, call);
    struct agent_input input = {0};
    char id[ID_UUID_LEN + 1];
    struct err err = {0};
    struct str running;

    if (!v)
        return;
    if (read_input(json_get(call->params, "input"), &input, &err) < 0 ||
        codex_apply(v, call->params, &err) < 0) {
        agent_input_release(&input);
        rpc_refuse(call, RPC_REQUEST, str_of(err.text), STR(""));
        return;
    }
    running = turn_id(v);
    send_input(v, call->params, &input, running.len ? INPUT_NEXT : INPUT_LATER, id);
    if (running.len) {
        answer_turn(call, running);
        return;
    }
    buf_clear(&v->started);
    buf_adds(&v->started, id);
    answer_turn(call, str_of(id));
}

void codex_turn_steer(struct codex *a, struct rpc_call *call)
{
    struct codex_view *v = codex_view_for(a, call);
    struct str want;
    CLEANUP(buf_release) struct buf out = BUF_INIT(4096);
    struct agent_input input = {0};
    char id[ID_UUID_LEN + 1];
    struct err err = {0};
    struct str running;
    struct jw w;

    if (!v)
        return;
    want = json_get_str(call->params, "expectedTurnId");
    running = turn_id(v);
    if (!want.len) {
        codex_refuse_missing(call, "expectedTurnId");
    } else if (!running.len) {
        rpc_refusef(call, RPC_REQUEST, "no active turn to steer");
    } else if (!str_eq(running, want)) {
        rpc_refusef(call, RPC_REQUEST, "expected active turn id `%.*s` but found `%.*s`",
                    STR_ARG(want), STR_ARG(running));
    } else if (read_input(json_get(call->params, "input"), &input, &err) < 0) {
        rpc_refuse(call, RPC_REQUEST, str_of(err.text), STR(""));
    } else {
        send_input(v, /*params=*/NULL, &input, INPUT_NEXT, id);
        jw_init(&w, &out, JW_CLEAN);
        jw_object(&w);
        jw_kstr(&w, "turnId", running);
        jw_object_end(&w);
        rpc_answer(call, buf_str(&out));
    }
}

void codex_interrupt(struct codex_view *v)
{
    CLEANUP(strv_release) struct strv queued = STRV_INIT;

    /* Before its questions are refused: with a no, the agent would ask the model what now. */
    slash_interrupt(v->view->live->slash);
    /* What was steered into the turn goes with it: no other turn begins by itself. */
    host_interrupt(v->view->live->host, /*drop_queued=*/true, &queued);
    codex_asks_refuse(v);
}

/* Of a turn that is still on its way: it is interrupted when it has come. */
static void interrupt_run(struct call_chore *c)
{
    CLEANUP(strv_release) struct strv queued = STRV_INIT;

    slash_interrupt(c->live->slash);
    host_interrupt(c->live->host, /*drop_queued=*/false, &queued);
}

void codex_turn_interrupt(struct codex *a, struct rpc_call *call)
{
    struct codex_view *v = codex_view_for(a, call);
    struct str want;
    struct call_chore *c;
    struct str running;

    if (!v)
        return;
    want = json_get_str(call->params, "turnId");
    running = turn_id(v);
    if (!json_is(json_get(call->params, "turnId"), JSON_STRING)) {
        codex_refuse_missing(call, "turnId");
    } else if (!running.len) {
        rpc_refusef(call, RPC_REQUEST, "no active turn to interrupt");
    } else if (!str_eq(running, want)) {
        rpc_refusef(call, RPC_REQUEST, "expected active turn id %.*s but found %.*s", STR_ARG(want),
                    STR_ARG(running));
    } else {
        codex_interrupt(v);
        rpc_answer(call, STR("{}"));
        if (!items_running(&v->items)) {
            c = call_chore_new(sizeof(*c), a->client, /*call=*/NULL, v->view->live, interrupt_run);
            c->answer = send_nothing;
            c->failed = send_nothing;
            call_chore_start(c);
        }
    }
}
