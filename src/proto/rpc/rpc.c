/*
 * rpc: messages read and written. The thread of the connection's loop.
 */
#include "proto/rpc/rpc.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/vec.h"
#include "json/json.h"
#include "json/jw.h"
#include "proto/stream_line.h"

#define RPC_MAX_ID 1024 /* bytes of it as JSON */

/* A request of ours that waits for its answer. */
struct rpc_asked {
    int64_t id;
    rpc_answer_fn fn;
    void *arg;
};

struct rpc {
    struct rpc_spec spec;
    int64_t next;
    bool is_closed;
    VEC(struct rpc_call *) calls;
    VEC(struct rpc_asked) asked;
};

struct rpc *rpc_new(const struct rpc_spec *spec)
{
    struct rpc *r = mem_zalloc(sizeof(*r));

    r->spec = *spec;
    return r;
}

static void rpc_free_when_over(struct rpc *r)
{
    if (!r->is_closed || r->calls.len)
        return;
    vec_release(&r->calls);
    vec_release(&r->asked);
    mem_freep(&r);
}

void rpc_close(struct rpc *r)
{
    r->is_closed = true;
    while (r->asked.len) {
        struct rpc_asked it = r->asked.ptr[--r->asked.len];

        it.fn(it.arg, /*result=*/NULL, /*error=*/NULL);
    }
    VEC_EACH(&r->calls, call) {
        (*call)->is_over = true;
    }
    rpc_free_when_over(r);
}

size_t rpc_open_calls(const struct rpc *r)
{
    return r->calls.len;
}

/* ---- Out ---- */

static void rpc_begin(const struct rpc *r, struct jw *w, struct buf *line)
{
    jw_init(w, line, JW_CLEAN);
    jw_object(w);
    if (!r->spec.is_bare)
        jw_kcstr(w, "jsonrpc", "2.0");
}

static void rpc_send(struct rpc *r, struct jw *w, struct buf *line)
{
    CLEANUP(buf_release) struct buf escaped = BUF_INIT(BUF_NO_LIMIT);

    jw_object_end(w);
    buf_addc(line, '\n');
    if (r->is_closed)
        return;
    if (line->over) {
        log_debug("rpc", "a message of more than %zu MB is left out", RPC_MAX_OUT >> 20);
        return;
    }
    secret_scrub(line);
    r->spec.send(r->spec.arg,
                 line_escape_breaks(buf_str(line), &escaped) ? buf_str(&escaped) : buf_str(line));
}

static void rpc_send_error(struct rpc *r, struct str id, enum rpc_code code, struct str text,
                           struct str data)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(RPC_MAX_OUT);
    struct jw w;

    rpc_begin(r, &w, &line);
    jw_kraw(&w, "id", id);
    jw_key(&w, "error");
    jw_object(&w);
    jw_ki64(&w, "code", code);
    jw_kstr(&w, "message", text);
    if (data.len)
        jw_kraw(&w, "data", data);
    jw_object_end(&w);
    rpc_send(r, &w, &line);
}

static void rpc_end_call(struct rpc_call *call)
{
    struct rpc *r = call->rpc;

    for (size_t i = 0; i < r->calls.len; i++) {
        if (r->calls.ptr[i] == call)
            r->calls.ptr[i] = r->calls.ptr[--r->calls.len];
    }
    arena_release(&call->arena);
    mem_freep(&call);
    rpc_free_when_over(r);
}

void rpc_answer(struct rpc_call *call, struct str json)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(RPC_MAX_OUT);
    struct jw w;

    if (!call->is_over) {
        rpc_begin(call->rpc, &w, &line);
        jw_kraw(&w, "id", call->id);
        jw_kraw(&w, "result", json.len ? json : STR("{}"));
        if (line.over)
            rpc_send_error(call->rpc, call->id, RPC_INTERNAL, STR("the answer is too long"),
                           STR(""));
        else
            rpc_send(call->rpc, &w, &line);
    }
    rpc_end_call(call);
}

void rpc_refuse(struct rpc_call *call, enum rpc_code code, struct str text, struct str data)
{
    if (!call->is_over)
        rpc_send_error(call->rpc, call->id, code, text, data);
    rpc_end_call(call);
}

void rpc_refusef(struct rpc_call *call, enum rpc_code code, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)64 << 10);
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    rpc_refuse(call, code, buf_str(&text), STR(""));
}

void rpc_notify(struct rpc *r, const char *method, struct str params)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(RPC_MAX_OUT);
    struct jw w;

    rpc_begin(r, &w, &line);
    jw_kcstr(&w, "method", method);
    jw_kraw(&w, "params", params.len ? params : STR("{}"));
    if (r->spec.is_bare)
        jw_ki64(&w, "emittedAtMs", clock_wall_ms());
    rpc_send(r, &w, &line);
}

int64_t rpc_ask(struct rpc *r, const char *method, struct str params, rpc_answer_fn fn, void *arg)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(RPC_MAX_OUT);
    int64_t id = r->next++;
    struct jw w;

    rpc_begin(r, &w, &line);
    jw_kcstr(&w, "method", method);
    jw_ki64(&w, "id", id);
    jw_kraw(&w, "params", params);
    vec_push(&r->asked, ((struct rpc_asked){id, fn, arg}));
    rpc_send(r, &w, &line);
    return id;
}

static bool rpc_find_asked(struct rpc *r, int64_t id, struct rpc_asked *ret)
{
    for (size_t i = 0; i < r->asked.len; i++) {
        if (r->asked.ptr[i].id != id)
            continue;
        *ret = r->asked.ptr[i];
        r->asked.ptr[i] = r->asked.ptr[--r->asked.len];
        return true;
    }
    return false;
}

void rpc_take_back(struct rpc *r, int64_t id)
{
    CLEANUP(buf_release) struct buf params = BUF_INIT(100);
    struct rpc_asked it;

    if (!rpc_find_asked(r, id, &it) || r->spec.is_bare)
        return;
    buf_addf(&params, "{\"requestId\":%" PRId64 "}", id);
    rpc_notify(r, "$/cancel_request", buf_str(&params));
}

/* ---- In ---- */

static void rpc_complain(struct rpc *r, enum rpc_code code, const char *text)
{
    log_debug("rpc", "%s", text);
    if (!r->spec.is_bare)
        rpc_send_error(r, STR("null"), code, str_of(text), STR(""));
}

static void rpc_take_answer(struct rpc *r, const struct json *v)
{
    struct rpc_asked it;
    int64_t id;

    if (!json_i64(json_get(v, "id"), &id) || !rpc_find_asked(r, id, &it)) {
        log_debug("rpc", "an answer to nothing is ignored");
        return;
    }
    it.fn(it.arg, json_get(v, "error") ? NULL : json_get(v, "result"), json_get(v, "error"));
}

static bool rpc_has_call(const struct rpc *r, struct str id)
{
    VEC_EACH(&r->calls, call) {
        if (str_eq((*call)->id, id) && !(*call)->is_over)
            return true;
    }
    return false;
}

/* The request is answered now; its worker finds out when it is done. */
static void rpc_cancel(struct rpc *r, const struct json *params)
{
    struct str id = json_raw(json_get(params, "requestId"));

    VEC_EACH(&r->calls, call) {
        if (!str_eq((*call)->id, id) || (*call)->is_over)
            continue;
        rpc_send_error(r, id, RPC_CANCELLED, STR("Request cancelled"), STR(""));
        (*call)->is_over = true;
        if (r->spec.taken_back)
            r->spec.taken_back(r->spec.arg, *call);
        return;
    }
}

static bool rpc_is_id(const struct json *id)
{
    int64_t number;

    return json_raw(id).len <= RPC_MAX_ID &&
           (json_is(id, JSON_STRING) || (json_is(id, JSON_NUMBER) && json_i64(id, &number)));
}

static void rpc_take_request(struct rpc *r, struct rpc_call *call, const struct json *v)
{
    call->id = json_raw(json_get(v, "id"));
    call->method = json_get_str(v, "method");
    call->params = json_get(v, "params");
    if (!rpc_is_id(json_get(v, "id"))) {
        rpc_complain(r, RPC_REQUEST, "Invalid request: the id must be an integer or a string");
    } else if (rpc_has_call(r, call->id)) {
        rpc_send_error(
            r, call->id, RPC_REQUEST,
            STR("Invalid request: this id belongs to a request that is not answered yet"), STR(""));
    } else if (r->calls.len >= RPC_MAX_CALLS) {
        rpc_send_error(r, call->id, RPC_OVERLOAD, STR("Server overloaded; retry later."), STR(""));
    } else {
        call->rpc = r;
        vec_push(&r->calls, call);
        r->spec.request(r->spec.arg, call);
        return;
    }
    arena_release(&call->arena);
    mem_freep(&call);
}

void rpc_line(struct rpc *r, struct str line)
{
    struct rpc_call *call;
    const struct json *v = NULL;
    struct err err = {0};

    if (!line.ptr) {
        rpc_complain(r, RPC_REQUEST, "Invalid request: a line of more than 64 MB");
        return;
    }
    if (!str_trim(line).len)
        return;
    call = mem_zalloc(sizeof(*call));
    call->arena = (struct arena)ARENA_INIT;
    if (json_parse_copy(&call->arena, line, &v, /*ret_info=*/NULL, &err) < 0) {
        err_prefix(&err, "Parse error");
        rpc_complain(r, RPC_PARSE, err.text);
    } else if (!json_is(v, JSON_OBJECT)) {
        rpc_complain(r, RPC_REQUEST,
                     json_is(v, JSON_ARRAY) ? "Invalid request: batches are not supported"
                                            : "Invalid request: it is not an object");
    } else if (json_is(json_get(v, "method"), JSON_STRING) && json_get(v, "id")) {
        rpc_take_request(r, call, v);
        return;
    } else if (json_is(json_get(v, "method"), JSON_STRING)) {
        if (str_is(json_get_str(v, "method"), "$/cancel_request"))
            rpc_cancel(r, json_get(v, "params"));
        else
            r->spec.notified(r->spec.arg, json_get_str(v, "method"), json_get(v, "params"));
    } else if (json_get(v, "id") && (json_get(v, "result") || json_get(v, "error"))) {
        rpc_take_answer(r, v);
    } else {
        rpc_complain(r, RPC_REQUEST, "Invalid request: it has no method");
    }
    arena_release(&call->arena);
    mem_freep(&call);
}
