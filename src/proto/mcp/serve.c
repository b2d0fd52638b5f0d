/*
 * Clients, their calls, and one thread that brings what belongs to a running call to its client:
 * questions of the session and progress. Other threads that use a call are counted under the gate,
 * and the call ends when there are none.
 */
#include "proto/mcp/serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/vec.h"
#include "host/asks.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "sync/thread.h"
#include "sync/ticket.h"

#define SERVE_VERSION "2025-11-25"
#define SERVE_MODERN "2026-07-28"
#define SERVE_VERSIONS "2024-11-05 2025-03-26 2025-06-18 2025-11-25"
#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define ASK_PREVIEW 2000
#define ASK_MAX                                                                                    \
    ((size_t)64 << 10) /* of a call that a user can be asked about: all of it is shown */

/* A question to a client. */
struct serve_ask {
    uint64_t ask;    /* of the session */
    int64_t request; /* ours, to the client */
};

struct serve_call {
    struct serve_peer *peer;
    struct str id; /* as JSON */
    const struct json *params;
    bool is_modern;
    char use[32]; /* what the session calls it */
    const struct serve_way *way;
    const struct json *token; /* of progress; NULL: not wanted */
    int64_t steps;
    struct cancel *cancel;
    bool may_ask;
    unsigned users; /* under the gate, like what follows */
    VEC(struct serve_ask) asks;
};

struct serve_peer {
    struct serve *serve;
    bool can_elicit; /* under the gate, like what follows */
    bool is_over;
    VEC(struct serve_call *) calls;
};

struct serve {
    struct host *host;
    bool never_asks;
    struct cancel *cancel;
    struct gate gate;
    VEC(struct serve_peer *) peers; /* under the gate */
    int64_t next_request;
    struct mailbox *mail;
    struct ask_front *front;
    struct observer *observer;
    struct cancel *stop;
    struct thread *thread;
    struct ticket alone; /* of calls that must not run beside others */
};

/* ---- Messages ---- */

static void way_send(const struct serve_way *way, struct buf *text)
{
    secret_scrub(text);
    way->send(way->arg, buf_str(text));
}

static void answer_begin(struct jw *w, struct buf *out, struct str id)
{
    jw_init(w, out, JW_CLEAN);
    jw_object(w);
    jw_kcstr(w, "jsonrpc", "2.0");
    jw_kraw(w, "id", id);
}

static void answer_error(const struct serve_way *way, struct str id, int code, struct str text,
                         struct str data)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct jw w;

    answer_begin(&w, &out, id);
    jw_key(&w, "error");
    jw_object(&w);
    jw_ki64(&w, "code", code);
    jw_kstr(&w, "message", text);
    if (data.len)
        jw_kraw(&w, "data", data);
    jw_object_end(&w);
    jw_object_end(&w);
    way_send(way, &out);
}

/* result: the members of an object, without its braces. */
static void answer_result(const struct serve_way *way, struct str id, bool is_modern,
                          struct str result)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{", STR_ARG(id));
    if (is_modern)
        buf_addf(&out, "\"resultType\":\"complete\"%s", result.len ? "," : "");
    buf_add(&out, result);
    buf_adds(&out, "}}");
    way_send(way, &out);
}

void serve_refuse(const struct serve_way *way, const struct json *id, int code, const char *text)
{
    bool has_id = json_is(id, JSON_STRING) || json_is(id, JSON_NUMBER);

    answer_error(way, has_id ? json_raw(id) : STR("null"), code, str_of(text), STR(""));
}

static bool is_id(const struct json *id)
{
    int64_t number;

    return json_is(id, JSON_STRING) ? json_str(id).len <= 1024 : json_i64(id, &number);
}

enum serve_kind serve_kind(const struct json *m)
{
    const struct json *id = json_get(m, "id");

    if (!json_is(m, JSON_OBJECT) || !str_is(json_get_str(m, "jsonrpc"), "2.0"))
        return SERVE_BAD;
    if (json_is(json_get(m, "method"), JSON_STRING))
        return !id ? SERVE_NOTIFICATION : is_id(id) ? SERVE_REQUEST : SERVE_BAD;
    return id && (json_get(m, "result") || json_get(m, "error")) ? SERVE_ANSWER : SERVE_BAD;
}

bool serve_is_call(const struct json *m)
{
    return serve_kind(m) == SERVE_REQUEST && str_is(json_get_str(m, "method"), "tools/call");
}

struct str serve_version(const struct json *m)
{
    return json_get_str(json_get(json_get(m, "params"), "_meta"), META_VERSION);
}

/* ---- What the session says about a running call ---- */

/* The call with that id, which stays until call_drop(); NULL: there is none. */
static struct serve_call *call_hold(struct serve *s, struct str use)
{
    struct serve_call *found = NULL;

    gate_take(&s->gate);
    VEC_EACH(&s->peers, p) {
        VEC_EACH(&(*p)->calls, c) {
            if (str_is(use, (*c)->use))
                found = *c;
        }
    }
    if (found)
        found->users++;
    gate_give(&s->gate);
    return found;
}

static void call_drop(struct serve *s, struct serve_call *c)
{
    gate_take(&s->gate);
    c->users--;
    gate_wake(&s->gate);
    gate_give(&s->gate);
}

/* The client need not answer any more. */
static void take_back(const struct serve_call *c, int64_t request)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&out,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
             "\"requestId\":%" PRId64 "}}",
             request);
    way_send(c->way, &out);
}

static void write_question(const struct ask *ask, int64_t request, struct buf *out)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct jw w;

    buf_addf(&text, "%.*s wants to run: %.*s", STR_ARG(ask->tool_name), STR_ARG(ask->input));
    if (ask->reason.len)
        buf_addf(&text, "\n%.*s", STR_ARG(str_clip(ask->reason, ASK_PREVIEW)));
    jw_init(&w, out, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "jsonrpc", "2.0");
    jw_ki64(&w, "id", request);
    jw_kcstr(&w, "method", "elicitation/create");
    jw_key(&w, "params");
    jw_object(&w);
    jw_kstr(&w, "message", buf_str(&text));
    jw_kraw(&w, "requestedSchema",
            STR("{\"type\":\"object\",\"properties\":{\"decision\":{\"type\":\"string\",\"title\":"
                "\"Permission\",\"description\":\"Whether this call may "
                "run\",\"enum\":[\"allow\",\"deny\"]}},\"required\":[\"decision\"]}"));
    jw_object_end(&w);
    jw_object_end(&w);
}

static void on_ask(struct serve *s, const struct ask_mail *m)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct serve_call *c = call_hold(s, m->ask->tool_use_id);
    int64_t request;

    if (c && c->may_ask && m->ask->kind == ASK_PERMISSION && m->ask->input.len <= ASK_MAX) {
        gate_take(&s->gate);
        request = ++s->next_request;
        *vec_add(&c->asks) = (struct serve_ask){.ask = m->id, .request = request};
        gate_give(&s->gate);
        write_question(m->ask, request, &out);
        way_send(c->way, &out);
    } else {
        struct ask_answer no = ASK_ANSWER_INIT;

        buf_addf(
            &no.message,
            "This call needs permission (%.*s), and %s. Allow it with a rule in the settings or "
            "with --allowedTools of tenax mcp serve.",
            STR_ARG(str_clip(m->ask->reason, ASK_PREVIEW)),
            m->ask->input.len > ASK_MAX ? "it is too long to be shown to the user"
                                        : "this client cannot ask the user");
        (void)asks_answer(host_asks(s->host), s->front, m->id, &no);
        ask_answer_release(&no);
    }
    if (c)
        call_drop(s, c);
}

/* It was answered elsewhere, or its call was cancelled. */
static void on_withdrawn(struct serve *s, uint64_t ask)
{
    struct serve_call *found = NULL;
    int64_t request = 0;

    gate_take(&s->gate);
    VEC_EACH(&s->peers, p) {
        VEC_EACH(&(*p)->calls, c) {
            for (size_t i = 0; i < (*c)->asks.len; i++) {
                if ((*c)->asks.ptr[i].ask != ask)
                    continue;
                request = (*c)->asks.ptr[i].request;
                (*c)->asks.ptr[i] = (*c)->asks.ptr[--(*c)->asks.len];
                found = *c;
                found->users++;
            }
        }
    }
    gate_give(&s->gate);
    if (!found)
        return;
    take_back(found, request);
    call_drop(s, found);
}

static void on_progress(struct serve *s, const struct event *e)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct serve_call *c = call_hold(s, e->id);
    struct jw w;

    if (!c)
        return;
    if (c->token) {
        jw_init(&w, &out, JW_CLEAN);
        jw_object(&w);
        jw_kcstr(&w, "jsonrpc", "2.0");
        jw_kcstr(&w, "method", "notifications/progress");
        jw_key(&w, "params");
        jw_object(&w);
        jw_kjson(&w, "progressToken", c->token);
        jw_ki64(&w, "progress", ++c->steps);
        jw_kstr(&w, "message", str_clip(e->text, ASK_PREVIEW));
        jw_object_end(&w);
        jw_object_end(&w);
        way_send(c->way, &out);
    }
    call_drop(s, c);
}

static void on_events(struct serve *s)
{
    struct event *e = NULL;
    uint64_t seq = 0;

    for (;;) {
        switch (observer_take(s->observer, &e, &seq)) {
        case OBSERVED_EVENT:
            if (e->kind == EVENT_TOOL_PROGRESS && !e->ended && e->text.len)
                on_progress(s, e);
            event_unref(e);
            break;
        case OBSERVED_GAP:
            break;
        case OBSERVED_NOTHING:
        case OBSERVED_DROPPED: /* a client reads too slowly: no more progress */
            return;
        }
    }
}

static void serve_run(void *arg)
{
    struct serve *s = arg;
    struct mail *m = NULL;

    on_events(s);
    while (mailbox_take(s->mail, s->stop, /*deadline_ms=*/-1, &m, NULL) == 0) {
        if (m->kind == &observer_mail_kind) {
            on_events(s);
        } else if (m->kind == &ask_mail_kind) {
            const struct ask_mail *ask = (const struct ask_mail *)m;

            if (ask->what == ASK_PUT)
                on_ask(s, ask);
            else
                on_withdrawn(s, ask->id);
        }
        mail_free(m);
    }
}

/* ---- What a client says ---- */

static void take_initialize(struct serve_peer *p, struct str id, const struct json *params,
                            const struct serve_way *way)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str wanted = json_get_str(params, "protocolVersion");
    const struct json *elicits = json_path(params, "capabilities.elicitation");

    gate_take(&p->serve->gate);
    /* {}: forms; a client that has only URLs lists them. */
    p->can_elicit =
        json_is(elicits, JSON_OBJECT) && (json_get(elicits, "form") || !json_len(elicits));
    gate_give(&p->serve->gate);
    buf_addf(&out,
             "\"protocolVersion\":\"%.*s\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{"
             "\"name\":\"tenax\",\"title\":\"tenax\",\"version\":\"" TENAX_VERSION "\"}",
             STR_ARG(str_is_word_of(wanted, SERVE_VERSIONS) ? wanted : STR(SERVE_VERSION)));
    answer_result(way, id, /*is_modern=*/false, buf_str(&out));
}

static void answer_discover(struct str id, const struct serve_way *way)
{
    answer_result(way, id, /*is_modern=*/true,
                  STR("\"supportedVersions\":[\"2024-11-05\",\"2025-03-26\",\"2025-06-18\",\"2025-"
                      "11-25\",\"" SERVE_MODERN "\"],\"capabilities\":{\"tools\":{}},\"_meta\":{"
                      "\"io.modelcontextprotocol/"
                      "serverInfo\":{\"name\":\"tenax\",\"version\":\"" TENAX_VERSION "\"}}"));
}

static void write_content(const struct tool_result *r, struct buf *out)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *data = NULL;
    struct jw w;

    buf_adds(out, "\"content\":");
    jw_init(&w, out, JW_CLEAN);
    jw_array(&w);
    if (r->text.len || !r->images.len) {
        jw_object(&w);
        jw_kcstr(&w, "type", "text");
        jw_kstr(&w, "text", buf_str(&r->text));
        jw_object_end(&w);
    }
    VEC_EACH(&r->images, image) {
        jw_object(&w);
        jw_kcstr(&w, "type", "image");
        jw_kcstr(&w, "mimeType", image->media_type);
        jw_key(&w, "data");
        jw_str_begin(&w);
        jw_str_base64(&w, buf_str(&image->bytes));
        jw_str_end(&w);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    if (r->is_error)
        buf_adds(out, ",\"isError\":true");
    if (json_parse(&arena, buf_str(&r->data), &data, NULL, NULL) == 0 &&
        json_is(data, JSON_OBJECT)) {
        buf_adds(out, ",\"structuredContent\":");
        jw_init(&w, out, JW_CLEAN);
        jw_json(&w, data);
    }
}

static bool call_enter(struct serve_call *c)
{
    struct serve_peer *p = c->peer;
    struct serve *s = p->serve;
    bool may;

    gate_take(&s->gate);
    may = !p->is_over && p->calls.len < SERVE_MAX_CALLS;
    for (size_t i = 0; may && i < p->calls.len; i++)
        may = !str_eq(p->calls.ptr[i]->id, c->id);
    c->may_ask = c->may_ask && p->can_elicit && !s->never_asks;
    if (may)
        vec_push(&p->calls, c);
    gate_give(&s->gate);
    return may;
}

static void call_leave(struct serve_call *c)
{
    struct serve_peer *p = c->peer;
    struct serve *s = p->serve;

    gate_take(&s->gate);
    for (size_t i = 0; i < p->calls.len; i++) {
        if (p->calls.ptr[i] == c)
            p->calls.ptr[i] = p->calls.ptr[--p->calls.len];
    }
    while (c->users)
        (void)gate_wait(&s->gate, /*deadline_ms=*/-1);
    gate_give(&s->gate);
    VEC_EACH(&c->asks, it) { /* the call was faster than the news that it was cancelled */
        take_back(c, it->request);
    }
    vec_release(&c->asks);
}

static int call_tool(struct serve_call *c, struct tool_result *ret, struct err *err)
{
    struct serve *s = c->peer->serve;
    const struct json *args = json_get(c->params, "arguments");
    struct agent_tool_use use = {
        .id = str_of(c->use),
        .name = json_get_str(c->params, "name"),
        .input = args ? json_raw(args) : STR("{}"),
    };
    bool is_alone = !host_tool_is_shared(s->host, use.name);
    int r;

    if (is_alone && ticket_take(&s->alone, c->cancel, err) < 0)
        return -1;
    r = host_call_tool(s->host, &use, c->cancel, ret, err);
    if (is_alone)
        ticket_give(&s->alone);
    return r;
}

/* Of the revisions whose messages carry it there is one. */
static bool version_is_fine(const struct json *m, const struct serve_way *way)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(BUF_NO_LIMIT);
    struct str version = serve_version(m);
    struct jw w;

    if (!version.len || str_is(version, SERVE_MODERN))
        return true;
    buf_adds(&data, "{\"supported\":[\"" SERVE_MODERN "\"],\"requested\":");
    jw_init(&w, &data, JW_CLEAN);
    jw_str(&w, str_clip(version, 100));
    buf_addc(&data, '}');
    answer_error(way, json_raw(json_get(m, "id")), -32022, STR("Unsupported protocol version"),
                 buf_str(&data));
    return false;
}

struct serve_call *serve_call_new(struct serve_peer *p, const struct json *m,
                                  const struct serve_way *way)
{
    struct serve_call *c;
    struct str id = json_raw(json_get(m, "id"));
    const struct json *params = json_get(m, "params");
    struct str name = json_get_str(params, "name");

    if (!version_is_fine(m, way))
        return NULL;
    if (!host_has_tool(p->serve->host, name)) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&text, "Unknown tool: %.*s", STR_ARG(str_clip(name, 200)));
        answer_error(way, id, -32602, buf_str(&text), STR(""));
        return NULL;
    }
    c = mem_zalloc(sizeof(*c));
    *c = (struct serve_call){
        .peer = p,
        .id = id,
        .params = params,
        .is_modern = serve_version(m).len,
        .way = way,
        .token = json_get(json_get(params, "_meta"), "progressToken"),
        .may_ask = !serve_version(m).len,
        .cancel = cancel_new(p->serve->cancel),
    };
    (void)id_make(c->use, sizeof(c->use), "toolu_", 20);
    if (call_enter(c))
        return c;
    answer_error(way, id, -32000, STR("Too many calls run already, or the id is in use"), STR(""));
    cancel_unref(c->cancel);
    mem_freep(&c);
    return NULL;
}

void serve_call_run(struct serve_call *c)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(tool_result_release) struct tool_result result = TOOL_RESULT_INIT;
    struct err err = {0};
    int r = call_tool(c, &result, &err);

    call_leave(c);
    if (r == 0) { /* a call that was cancelled gets no answer */
        write_content(&result, &out);
        answer_result(c->way, c->id, c->is_modern, buf_str(&out));
    }
    cancel_unref(c->cancel);
    mem_freep(&c);
}

/* id empty: all of them. */
static void cancel_calls(struct serve_peer *p, struct str id)
{
    VEC(struct cancel *) tokens = VEC_INIT;

    gate_take(&p->serve->gate);
    VEC_EACH(&p->calls, c) {
        if (!id.len || str_eq((*c)->id, id))
            vec_push(&tokens, cancel_ref((*c)->cancel));
    }
    gate_give(&p->serve->gate);
    VEC_EACH(&tokens, t) {
        cancel_set(*t);
        cancel_unref(*t);
    }
    vec_release(&tokens);
}

static void take_answer(struct serve_peer *p, const struct json *m)
{
    struct serve *s = p->serve;
    struct ask_answer answer = ASK_ANSWER_INIT;
    const struct json *result = json_get(m, "result");
    uint64_t ask = 0;
    int64_t id;

    if (!json_i64(json_get(m, "id"), &id))
        return;
    gate_take(&s->gate);
    VEC_EACH(&p->calls, c) {
        for (size_t i = 0; i < (*c)->asks.len; i++) {
            if ((*c)->asks.ptr[i].request != id)
                continue;
            ask = (*c)->asks.ptr[i].ask;
            (*c)->asks.ptr[i] = (*c)->asks.ptr[--(*c)->asks.len];
        }
    }
    gate_give(&s->gate);
    if (!ask)
        return;
    answer.allowed = str_is(json_get_str(result, "action"), "accept") &&
                     str_is(json_get_str(json_get(result, "content"), "decision"), "allow");
    (void)asks_answer(host_asks(s->host), s->front, ask, &answer);
    ask_answer_release(&answer);
}

static void take_request(struct serve_peer *p, const struct json *m, const struct serve_way *way)
{
    struct str id = json_raw(json_get(m, "id"));
    struct str method = json_get_str(m, "method");
    struct str version = serve_version(m);
    const struct json *params = json_get(m, "params");
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (!version_is_fine(m, way))
        return;
    if (str_is(method, "initialize")) {
        take_initialize(p, id, params, way);
    } else if (str_is(method, "server/discover")) {
        answer_discover(id, way);
    } else if (str_is(method, "ping") && !version.len) {
        answer_result(way, id, /*is_modern=*/false, STR(""));
    } else if (str_is(method, "tools/list")) {
        buf_adds(&out, "\"tools\":");
        host_write_tools(p->serve->host, &out);
        answer_result(way, id, version.len, buf_str(&out));
    } else {
        answer_error(way, id, -32601, STR("Method not found"), STR(""));
    }
}

void serve_take(struct serve_peer *p, const struct json *m, const struct serve_way *way)
{
    struct serve_call *c;

    switch (serve_kind(m)) {
    case SERVE_BAD:
        serve_refuse(way, json_get(m, "id"), -32600, "Invalid request");
        break;
    case SERVE_REQUEST:
        c = serve_is_call(m) ? serve_call_new(p, m, way) : NULL;
        if (c)
            serve_call_run(c);
        else if (!serve_is_call(m))
            take_request(p, m, way);
        break;
    case SERVE_NOTIFICATION:
        if (str_is(json_get_str(m, "method"), "notifications/cancelled") &&
            json_path(m, "params.requestId"))
            cancel_calls(p, json_raw(json_path(m, "params.requestId")));
        break;
    case SERVE_ANSWER:
        take_answer(p, m);
        break;
    }
}

/* ---- Life ---- */

struct serve_peer *serve_peer_new(struct serve *s)
{
    struct serve_peer *p = mem_zalloc(sizeof(*p));

    p->serve = s;
    gate_take(&s->gate);
    vec_push(&s->peers, p);
    gate_give(&s->gate);
    return p;
}

void serve_peer_end(struct serve_peer *p)
{
    gate_take(&p->serve->gate);
    p->is_over = true;
    gate_give(&p->serve->gate);
    cancel_calls(p, STR(""));
}

void serve_peer_free(struct serve_peer *p)
{
    struct serve *s = p->serve;

    gate_take(&s->gate);
    for (size_t i = 0; i < s->peers.len; i++) {
        if (s->peers.ptr[i] == p)
            s->peers.ptr[i] = s->peers.ptr[--s->peers.len];
    }
    gate_give(&s->gate);
    vec_release(&p->calls);
    mem_freep(&p);
}

struct serve *serve_new(struct host *host, bool never_asks, struct cancel *cancel, struct err *err)
{
    struct serve *s = mem_zalloc(sizeof(*s));

    s->host = host;
    s->never_asks = never_asks;
    s->cancel = cancel;
    gate_init(&s->gate);
    ticket_init(&s->alone);
    s->mail = mailbox_new();
    s->stop = cancel_new(NULL);
    s->front = asks_join(host_asks(host), s->mail);
    s->observer = feed_observe(host_feed(host), FEED_NOW, OBSERVER_REMOTE, s->mail);
    s->thread = thread_start("mcp serve", serve_run, s, err);
    if (s->thread)
        return s;
    serve_free(s);
    return NULL;
}

void serve_free(struct serve *s)
{
    if (!s)
        return;
    cancel_set(s->stop);
    thread_join(s->thread);
    ask_front_leave(s->front);
    observer_free(s->observer);
    mailbox_close(s->mail);
    mailbox_unref(s->mail);
    cancel_unref(s->stop);
    ticket_release(&s->alone);
    gate_release(&s->gate);
    vec_release(&s->peers);
    mem_freep(&s);
}
