/*
 * Requests: writing them, waiting, and their ends. With the newer, stateless protocol a result may
 * consist of questions: the request waits for the answers and is sent again with them.
 */
#include "mcp/client_inside.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/strv.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/modern.h"
#include "mcp/server_conf.h"
#include "mcp/wire.h"
#include "sync/cancel.h"

#define PROGRESS_MS 100
#define DEATHS_MS (300LL * 1000) /* within this time, and it is left alone for a while */

void client_write_capabilities(const struct mcp_client *c, struct buf *ret)
{
    bool is_sdk = c->spec.server->type == MCP_SDK;

    buf_addc(ret, '{');
    if (!is_sdk)
        buf_adds(ret, "\"roots\":{\"listChanged\":true}");
    if (c->spec.ask && !is_sdk)
        buf_adds(ret, ",\"elicitation\":{\"form\":{\"applyDefaults\":true},\"url\":{}}");
    if (c->spec.can_sample && !is_sdk)
        buf_adds(ret, ",\"sampling\":{}");
    buf_addc(ret, '}');
}

/* more: further members of params, or empty. */
static void request_text(const char *method, struct str params, struct str meta, struct str more,
                         int64_t id, struct buf *ret)
{
    struct str inner = str_trim(params);
    bool has_inner = inner.len > 2;

    buf_adds(ret, "{\"jsonrpc\":\"2.0\",");
    if (id)
        buf_addf(ret, "\"id\":%" PRId64 ",", id);
    buf_addf(ret, "\"method\":\"%s\"", method);
    if (has_inner || meta.len || more.len) {
        buf_adds(ret, ",\"params\":{");
        if (meta.len)
            buf_addf(ret, "\"_meta\":{%.*s}%s", STR_ARG(meta), has_inner || more.len ? "," : "");
        buf_addf(ret, "%.*s%s", STR_ARG(more), more.len && has_inner ? "," : "");
        if (has_inner)
            buf_add(ret, str_first(str_from(inner, 1), inner.len - 2));
        buf_addc(ret, '}');
    }
    buf_addc(ret, '}');
}

/* The headers of a request of the newer protocol. */
static void add_headers(struct mcp_client *c, const char *method, struct str params,
                        struct strv *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root = NULL;
    const struct json *tool;

    if (params.len && json_parse(&arena, params, &root, NULL, NULL) < 0)
        root = NULL;
    tool = mcp_lists_tool(c->lists, json_get_str(root, "name"));
    modern_headers(method, root, json_get(tool, "inputSchema"), ret);
}

static int client_send_more(struct mcp_client *c, const char *method, struct str params,
                            struct str meta, struct str more, int64_t id, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(WIRE_MAX_MESSAGE);
    CLEANUP(buf_release) struct buf all_meta = BUF_INIT(64 << 10);
    CLEANUP(strv_release) struct strv headers = STRV_INIT;

    buf_add(&all_meta, meta);
    if (c->wire->is_modern) {
        CLEANUP(buf_release) struct buf can = BUF_INIT(1000);

        client_write_capabilities(c, &can);
        if (meta.len)
            buf_addc(&all_meta, ',');
        modern_write_meta(buf_str(&can), &all_meta);
        add_headers(c, method, params, &headers);
    }
    request_text(method, params, buf_str(&all_meta), more, id, &text);
    if (buf_check(&text, err) < 0)
        return -1;
    return wire_send(c->wire, buf_str(&text), id, &headers, err);
}

int client_send(struct mcp_client *c, const char *method, struct str params, int64_t id,
                struct err *err)
{
    return client_send_more(c, method, params, /*meta=*/STR(""), /*more=*/STR(""), id, err);
}

struct client_pending *client_find(struct mcp_client *c, int64_t id)
{
    VEC_EACH(&c->pending, p) {
        if (p->id == id)
            return p;
    }
    return NULL;
}

void client_finish(struct mcp_client *c, struct client_pending *p, int result)
{
    struct client_call *call = p->call;

    arena_release(&p->arena);
    *p = c->pending.ptr[--c->pending.len];
    buf_release(&call->more);
    inquiry_answer(&call->inquiry, result);
}

void client_begin(struct mcp_client *c, struct client_call *call)
{
    const struct mcp_request *r = call->request;
    CLEANUP(buf_release) struct buf meta = BUF_INIT(4096);
    int64_t id = ++c->next_id;
    int64_t now_ms = clock_mono_ms();
    int64_t limit = r->timeout_ms ? r->timeout_ms : MCP_CALL_MS;

    buf_add(&meta, r->meta);
    if (r->progress)
        buf_addf(&meta, "%s\"progressToken\":%" PRId64, meta.len ? "," : "", id);
    *vec_add(&c->pending) = (struct client_pending){
        .id = id, .call = call, .due_ms = now_ms + limit, .last_ms = now_ms + MCP_CALL_MAX_MS};
    if (client_send_more(c, r->method, r->params, buf_str(&meta), buf_str(&call->more), id,
                         call->err) < 0 &&
        client_find(c, id))
        client_finish(c, client_find(c, id), -1);
}

void client_tell_cancelled(struct mcp_client *c, int64_t id, const char *why)
{
    CLEANUP(buf_release) struct buf params = BUF_INIT(400);

    asked_withdraw(&c->asked, STR(""), id);
    if (!c->wire || (c->wire->kind->drop && c->wire->kind->drop(c->wire, id)))
        return;
    buf_addf(&params, "{\"requestId\":%" PRId64 ",\"reason\":\"%s\"}", id, why);
    (void)client_send(c, "notifications/cancelled", buf_str(&params), 0, NULL);
}

/* Pending calls may have taken effect, except the one that the server has not even processed. */
void client_abandon(struct mcp_client *c, int64_t refused_id, const struct err *why)
{
    for (size_t i = 0; i < c->pending.len;) {
        struct client_pending *p = &c->pending.ptr[i];

        if (refused_id && p->id == refused_id && !p->call->is_again) {
            p->call->is_again = true;
            vec_push(&c->waiting, p->call);
            arena_release(&p->arena);
            *p = c->pending.ptr[--c->pending.len];
            continue;
        }
        err_set(p->call->err, ERR_NETWORK,
                "the connection to %s was lost during the call; it may have taken effect (%s)",
                c->spec.server->name, why->text);
        client_finish(c, p, -1);
    }
}

/* A result was a question: the request is sent again with the answers. */
static void client_again(struct mcp_client *c, struct client_pending *p, const struct json *state,
                         struct str answers)
{
    struct client_call *call = p->call;
    struct jw w;

    *p = c->pending.ptr[--c->pending.len];
    buf_release(&call->more);
    buf_init(&call->more, WIRE_MAX_MESSAGE);
    if (answers.len)
        buf_addf(&call->more, "\"inputResponses\":%.*s", STR_ARG(answers));
    if (state) {
        buf_addf(&call->more, "%s\"requestState\":", answers.len ? "," : "");
        jw_init(&w, &call->more, 0);
        jw_json(&w, state);
    }
    client_begin(c, call);
}

void client_take_progress(struct mcp_client *c, const struct json *params)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(400);
    struct str message = json_get_str(params, "message");
    const struct json *done = json_get(params, "progress");
    const struct json *total = json_get(params, "total");
    struct client_pending *p = client_find(c, json_get_i64(params, "progressToken", -1));
    int64_t now_ms = clock_mono_ms();
    int64_t limit;

    if (!p || !p->call)
        return;
    limit = p->call->request->timeout_ms ? p->call->request->timeout_ms : MCP_CALL_MS;
    p->due_ms = now_ms + limit;
    if (!p->call->request->progress || now_ms - p->progress_ms < PROGRESS_MS)
        return;
    p->progress_ms = now_ms;
    if (message.len)
        client_add_line(&text, str_clip(message, 200));
    else if (total)
        buf_addf(&text, "%.*s/%.*s", STR_ARG(json_number(done)), STR_ARG(json_number(total)));
    else
        buf_add(&text, json_number(done));
    p->call->request->progress(p->call->request->arg, buf_str(&text));
}

/* The server wants pages opened first (2025-11-25): each is a question as if it had been asked, and
 * then the call is repeated. False: it names none. */
static bool url_questions(struct mcp_client *c, struct client_pending *p, const struct json *error)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *all = NULL;
    unsigned n = 0;
    struct jw w;

    jw_init(&w, &text, 0);
    jw_object(&w);
    JSON_EACH(json_get(json_get(error, "data"), "elicitations"), one) {
        CLEANUP(buf_release) struct buf key = BUF_INIT(40);

        buf_addf(&key, "%u", n++);
        jw_key(&w, buf_cstr(&key));
        jw_object(&w);
        jw_kcstr(&w, "method", MCP_ASK_PAGE);
        jw_kjson(&w, "params", one);
        jw_object_end(&w);
    }
    jw_object_end(&w);
    if (!n || text.over || json_parse(&arena, buf_str(&text), &all, NULL, NULL) < 0 ||
        asked_put_all(&c->asked, p->id, all) < 0)
        return false;
    p->due_ms = p->last_ms; /* the user takes the time he takes */
    p->is_repeated = true;
    return true;
}

/* False: the call has failed. */
static bool take_questions(struct mcp_client *c, struct client_pending *p,
                           const struct json *result, const struct json *questions)
{
    struct client_call *call = p->call;

    if (!c->wire->is_modern || ++call->rounds > MODERN_MAX_ROUNDS) {
        err_set(call->err, ERR_PROTOCOL, "the server keeps asking instead of answering");
        return false;
    }
    arena_release(&p->arena);
    p->arena = (struct arena)ARENA_INIT;
    p->state = NULL;
    if (json_get(result, "requestState") &&
        json_parse_copy(&p->arena, json_raw(json_get(result, "requestState")), &p->state, NULL,
                        NULL) < 0)
        p->state = NULL;
    if (!json_len(questions)) { /* it only wants to be asked again */
        struct arena arena = p->arena;

        p->arena = (struct arena)ARENA_INIT;
        client_again(c, p, p->state, STR(""));
        arena_release(&arena);
        return true;
    }
    if (asked_put_all(&c->asked, p->id, questions) < 0) {
        err_set(call->err, ERR_PROTOCOL, "the server asks too much at once");
        return false;
    }
    p->due_ms = p->last_ms;
    return true;
}

static bool all_accepted(struct str answers)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root = NULL;

    if (json_parse(&arena, answers, &root, NULL, NULL) < 0)
        return false;
    JSON_EACH(root, one) {
        if (!str_is(json_get_str(one, "action"), "accept"))
            return false;
    }
    return true;
}

void client_take_answers(struct mcp_client *c, const struct asked_mail *m)
{
    struct client_pending *p = client_find(c, m->number);
    struct arena arena;

    if (!p)
        return; /* it was cancelled */
    if (m->code) {
        err_set(p->call->err, m->code == -1 ? ERR_DENIED : ERR_BAD_INPUT,
                "the server asked for something that it does not get: %s", m->refusal);
        client_finish(c, p, -1);
        return;
    }
    if (p->is_repeated && !all_accepted(buf_str(&m->result))) {
        err_set(p->call->err, ERR_DENIED,
                "the server wants a page to be opened first, and it was not");
        client_finish(c, p, -1);
        return;
    }
    arena = p->arena;
    p->arena = (struct arena)ARENA_INIT;
    client_again(c, p, p->state, p->is_repeated ? STR("") : buf_str(&m->result));
    arena_release(&arena);
}

void client_take_answer(struct mcp_client *c, struct client_pending *p, const struct json *message)
{
    const struct json *error = json_get(message, "error");
    const struct json *result = json_get(message, "result");
    const struct json *questions = NULL;
    struct client_call *call = p->call;
    int r;

    if (error && json_get_i64(error, "code", 0) == -32042 && call->rounds++ == 0 && c->spec.ask &&
        url_questions(c, p, error))
        return;
    if (error) {
        r = err_set(call->err, ERR_BAD_INPUT, "%.*s",
                    STR_ARG(str_clip(json_get_str(error, "message"), 400)));
    } else if (!json_is(result, JSON_OBJECT)) {
        r = err_set(call->err, ERR_PROTOCOL, "the server's answer is no object");
    } else if (modern_asks(result, &questions)) {
        if (take_questions(c, p, result, questions))
            return;
        r = -1;
    } else {
        buf_add(call->ret, json_raw(result));
        r = buf_check(call->ret, call->err);
    }
    client_finish(c, p, r);
}

static bool keeps_dying(const struct mcp_client *c)
{
    return c->deaths >= CLIENT_DEATHS &&
           clock_mono_ms() - c->deaths_ms[c->deaths % CLIENT_DEATHS] < DEATHS_MS;
}

void client_take_call(struct mcp_client *c, struct client_call *call)
{
    bool has_rested = clock_mono_ms() - c->failed_ms >= CLIENT_REST_MS;

    if (c->state == MCP_CONNECTED) {
        client_begin(c, call);
        return;
    }
    vec_push(&c->waiting, call);
    if (c->state == MCP_CONNECTING)
        return;
    if (c->state == MCP_IDLE || has_rested || (c->lists && !keeps_dying(c))) {
        client_start(c);
    } else {
        c->waiting.len--;
        err_set(call->err, ERR_NETWORK, "the MCP server \"%s\" cannot be used: %s",
                c->spec.server->name, c->error);
        inquiry_answer(&call->inquiry, -1);
    }
}

void client_give_up(struct mcp_client *c, struct client_call *call)
{
    for (size_t i = 0; i < c->waiting.len; i++) {
        if (c->waiting.ptr[i] == call) {
            c->waiting.ptr[i] = c->waiting.ptr[--c->waiting.len];
            buf_release(&call->more);
            inquiry_answer(&call->inquiry, -1);
            return;
        }
    }
    VEC_EACH(&c->pending, p) {
        if (p->call == call) {
            client_tell_cancelled(c, p->id, "the user interrupted");
            client_finish(c, p, -1);
            return;
        }
    }
}

void client_expire(struct mcp_client *c, int64_t now_ms)
{
    for (size_t i = 0; i < c->pending.len; i++) {
        struct client_pending *p = &c->pending.ptr[i];
        int64_t limit = p->call->request->timeout_ms ? p->call->request->timeout_ms : MCP_CALL_MS;

        if (p->due_ms > now_ms && p->last_ms > now_ms)
            continue;
        client_tell_cancelled(c, p->id, "it took too long");
        err_set(p->call->err, ERR_TIMEOUT, "no answer for %" PRId64 " s", (limit + 999) / 1000);
        client_finish(c, p, -1);
        i--;
    }
}
