/*
 * The thread waits on one mailbox: for what the wire brings, for requests of other threads, for
 * answers of the user. What others may see (state, lists) is under a gate; everything else is the
 * thread's own.
 */
#include "mcp/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/server_conf.h"
#include "mcp/wire.h"
#include "sync/cancel.h"
#include "sync/inquiry.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

#define CLIENT_VERSION "2025-11-25"
#define CLIENT_QUIET_MS 250        /* after a list_changed, before the list is read again */
#define CLIENT_REST_MS (30 * 1000) /* before a server that failed is tried again */
#define CLIENT_MAX_QUESTIONS 16
#define CLIENT_PROGRESS_MS 100

enum list_kind {
    LIST_TOOLS,
    LIST_RESOURCES,
    LIST_TEMPLATES,
    LIST_PROMPTS,
    LIST_COUNT,
};

static const struct {
    const char *method, *member;
} list_rows[] = {
    [LIST_TOOLS] = {"tools/list", "tools"},
    [LIST_RESOURCES] = {"resources/list", "resources"},
    [LIST_TEMPLATES] = {"resources/templates/list", "resourceTemplates"},
    [LIST_PROMPTS] = {"prompts/list", "prompts"},
};

/* A request of another thread, on its stack. */
struct client_call {
    struct inquiry inquiry;
    const struct mcp_request *request;
    struct buf *ret;
    struct err *err;
};

/* A pending request. */
struct client_pending {
    int64_t id;
    struct client_call *call; /* NULL: the thread's own */
    int64_t due_ms, last_ms;  /* without a message; in all */
    int64_t progress_ms;      /* when progress was shown last */
};

/* Mail of ours: a call that its asker gives up, an answer of the user, an order. */
struct client_mail {
    struct mail mail;
    enum {
        MAIL_GIVE_UP,
        MAIL_ANSWER,
        MAIL_RECONNECT,
        MAIL_END,
    } what;
    struct client_call *call;
    struct buf id, result; /* of an answer */
    int code;
    void (*done)(void *arg, const struct err *err); /* of RECONNECT; NULL: not awaited */
    void *arg;
};

static void client_mail_free(struct mail *mail)
{
    struct client_mail *m = (struct client_mail *)mail;

    if (m->done) { /* it was never read */
        struct err err = {0};

        err_set(&err, ERR_CANCELLED, "it was ended");
        m->done(m->arg, &err);
    }
    buf_release(&m->id);
    buf_release(&m->result);
    free(m);
}

static const struct mail_kind client_mail_kind = {"mcp", client_mail_free};

struct mcp_then {
    void (*done)(void *arg, const struct err *err);
    void *arg;
};

struct mcp_client {
    struct mcp_client_spec spec;
    struct thread *thread;
    struct mailbox *mail;
    struct cancel *ending;
    struct gate gate; /* of state, error and lists; woken when the state changes */
    enum mcp_state state;
    bool is_asked;   /* to connect anew, and has not begun */
    unsigned asking; /* threads that ask the user */
    char error[500], scope[500];
    const char *code;
    unsigned changes;  /* of state and lists */
    int64_t failed_ms; /* when the last start failed */
    struct mcp_lists *lists;

    /* The thread's own. */
    struct wire *wire;
    VEC(struct client_pending) pending;
    VEC(struct client_call *) waiting; /* for a connection */
    struct mcp_then then;              /* the same, of an order to connect */
    int64_t next_id;
    int64_t start_id;           /* of initialize or of the list that is being read; 0: none */
    int64_t start_due_ms;       /* of all of the start; 0: it is over */
    struct mcp_lists *building; /* while lists are read */
    enum list_kind reading;
    unsigned pages;
    bool is_refresh;    /* lists are read again in a live connection */
    int64_t refresh_ms; /* when they shall be; 0: not */
    unsigned questions;
    bool is_lost, has_tools_changed;
    struct err lost;
};

const char *mcp_state_name(enum mcp_state s)
{
    static const char *const names[] = {"pending", "connected", "needs-auth", "failed"};

    return names[s];
}

const struct mcp_server *mcp_client_server(const struct mcp_client *c)
{
    return c->spec.server;
}

/* A server's text for a line of ours. */
static void add_line(struct buf *ret, struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        buf_addc(ret, (unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f ? ' ' : text.ptr[i]);
}

/* ---- What others see ---- */

static struct mcp_lists *lists_new(void)
{
    struct mcp_lists *l = mem_zalloc(sizeof(*l));

    l->refs = 1;
    return l;
}

/* The count is under the gate of no client: lists are shared by few, and atomics are enough. */
void mcp_lists_unref(struct mcp_lists *l)
{
    if (!l || __atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL))
        return;
    vec_release(&l->tools);
    vec_release(&l->resources);
    vec_release(&l->templates);
    vec_release(&l->prompts);
    arena_release(&l->arena);
    free(l);
}

static const char *code_of(const struct err *why)
{
    switch (why ? why->code : ERR_NONE) {
    case ERR_NONE:
        return "";
    case ERR_NOT_FOUND:
        return "ENOENT";
    case ERR_DENIED:
        return "EACCES";
    case ERR_TIMEOUT:
        return "CONNECT_TIMEOUT";
    case ERR_PROTOCOL:
    case ERR_BAD_INPUT:
    case ERR_TOO_BIG:
        return "PROTOCOL";
    case ERR_AUTH:
        return "AUTH";
    default:
        return str_find_nocase(str_of(why->text), STR("refused")) < strlen(why->text)
                   ? "ECONNREFUSED"
                   : "CONNECTION_CLOSED";
    }
}

static void client_show(struct mcp_client *c, enum mcp_state state, const struct err *why,
                        struct mcp_lists *lists)
{
    struct mcp_lists *old = NULL;

    gate_take(&c->gate);
    c->state = state;
    c->changes++;
    c->is_asked = c->is_asked && state != MCP_CONNECTING;
    snprintf(c->error, sizeof(c->error), "%s", why ? why->text : "");
    c->code = code_of(why);
    if (state == MCP_FAILED)
        c->failed_ms = clock_mono_ms();
    if (lists) {
        old = c->lists;
        c->lists = lists;
    }
    gate_wake(&c->gate);
    gate_give(&c->gate);
    mcp_lists_unref(old);
    if (c->spec.changed)
        c->spec.changed(c->spec.arg);
}

void mcp_client_look(struct mcp_client *c, struct mcp_look *ret)
{
    gate_take(&c->gate);
    ret->state = c->is_asked ? MCP_CONNECTING : c->state;
    ret->lists = c->lists;
    if (ret->lists)
        __atomic_add_fetch(&ret->lists->refs, 1, __ATOMIC_ACQ_REL);
    memcpy(ret->error, c->error, sizeof(ret->error));
    memcpy(ret->scope, c->scope, sizeof(ret->scope));
    ret->code = c->code ? c->code : "";
    gate_give(&c->gate);
}

unsigned mcp_client_changes(struct mcp_client *c)
{
    unsigned changes;

    gate_take(&c->gate);
    changes = c->changes;
    gate_give(&c->gate);
    return changes;
}

/* ---- Requests ---- */

static void request_text(struct mcp_client *c, const char *method, struct str params,
                         struct str meta, int64_t id, struct buf *ret)
{
    struct str inner = str_trim(params);

    (void)c;
    buf_adds(ret, "{\"jsonrpc\":\"2.0\",");
    if (id)
        buf_addf(ret, "\"id\":%" PRId64 ",", id);
    buf_addf(ret, "\"method\":\"%s\"", method);
    if (inner.len > 2 || meta.len) {
        buf_adds(ret, ",\"params\":{");
        if (meta.len)
            buf_addf(ret, "\"_meta\":{%.*s}%s", STR_ARG(meta), inner.len > 2 ? "," : "");
        if (inner.len > 2)
            buf_add(ret, str_first(str_from(inner, 1), inner.len - 2));
        buf_addc(ret, '}');
    }
    buf_addc(ret, '}');
}

static int client_send(struct mcp_client *c, const char *method, struct str params, struct str meta,
                       int64_t id, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(WIRE_MAX_MESSAGE);

    request_text(c, method, params, meta, id, &text);
    if (buf_check(&text, err) < 0)
        return -1;
    return wire_send(c->wire, buf_str(&text), id, err);
}

static struct client_pending *client_find(struct mcp_client *c, int64_t id)
{
    VEC_EACH(&c->pending, p) {
        if (p->id == id)
            return p;
    }
    return NULL;
}

static void client_finish(struct mcp_client *c, struct client_pending *p, int result)
{
    struct client_call *call = p->call;

    *p = c->pending.ptr[--c->pending.len];
    if (call)
        inquiry_answer(&call->inquiry, result);
}

static void client_begin(struct mcp_client *c, struct client_call *call)
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
    if (client_send(c, r->method, r->params, buf_str(&meta), id, call->err) < 0 &&
        client_find(c, id))
        client_finish(c, client_find(c, id), -1);
}

static void client_tell_cancelled(struct mcp_client *c, int64_t id, const char *why)
{
    CLEANUP(buf_release) struct buf params = BUF_INIT(400);

    buf_addf(&params, "{\"requestId\":%" PRId64 ",\"reason\":\"%s\"}", id, why);
    if (c->wire)
        (void)client_send(c, "notifications/cancelled", buf_str(&params), STR(""), 0, NULL);
}

/* ---- The start ---- */

static void client_next_list(struct mcp_client *c, struct str cursor);

static void client_tell(struct mcp_client *c, const struct err *why)
{
    struct mcp_then then = c->then;

    c->then = (struct mcp_then){0};
    if (then.done)
        then.done(then.arg, why);
}

static void client_fail(struct mcp_client *c, enum mcp_state state, const struct err *why)
{
    struct wire *wire = TAKE_PTR(c->wire);

    c->start_id = 0;
    c->start_due_ms = 0;
    c->refresh_ms = 0;
    c->is_refresh = false;
    c->is_lost = false;
    mcp_lists_unref(TAKE_PTR(c->building));
    while (c->pending.len) {
        struct client_call *call = c->pending.ptr[0].call;

        if (call)
            err_set(call->err, ERR_NETWORK,
                    "the connection to %s was lost during the call; it may have taken effect (%s)",
                    c->spec.server->name, why->text);
        client_finish(c, &c->pending.ptr[0], -1);
    }
    for (size_t i = 0; i < c->waiting.len; i++) {
        err_set(c->waiting.ptr[i]->err, why->code, "the MCP server \"%s\" cannot be used: %s",
                c->spec.server->name, why->text);
        inquiry_answer(&c->waiting.ptr[i]->inquiry, -1);
    }
    c->waiting.len = 0;
    wire_free(wire);
    client_show(c, state, why, NULL);
    client_tell(c, why);
}

static void client_connected(struct mcp_client *c)
{
    c->start_id = 0;
    c->start_due_ms = 0;
    c->is_refresh = false;
    client_show(c, MCP_CONNECTED, NULL, TAKE_PTR(c->building));
    for (size_t i = 0; i < c->waiting.len; i++)
        client_begin(c, c->waiting.ptr[i]);
    c->waiting.len = 0;
    client_tell(c, /*why=*/NULL);
}

static void client_initialize(struct mcp_client *c, struct err *err)
{
    CLEANUP(buf_release) struct buf params = BUF_INIT(4096);

    buf_adds(&params, "{\"protocolVersion\":\"" CLIENT_VERSION "\",\"capabilities\":{");
    if (c->spec.server->type != MCP_SDK)
        buf_adds(&params, "\"roots\":{\"listChanged\":true}");
    if (c->spec.ask && c->spec.server->type != MCP_SDK)
        buf_adds(&params, ",\"elicitation\":{\"form\":{\"applyDefaults\":true}}");
    buf_adds(&params,
             "},\"clientInfo\":{\"name\":\"tenax\",\"title\":\"tenax\",\"version\":\"" TENAX_VERSION
             "\"}}");
    c->start_id = ++c->next_id;
    (void)client_send(c, "initialize", buf_str(&params), STR(""), c->start_id, err);
}

static int64_t on_message(void *arg, struct str json);
static void on_undone(void *arg, int64_t id, const struct err *err);

/* What the server has said about scopes stays known when its wire is gone. */
static void note_scope(struct mcp_client *c)
{
    if (!c->wire || !c->wire->scope[0])
        return;
    gate_take(&c->gate);
    memcpy(c->scope, c->wire->scope, sizeof(c->scope));
    gate_give(&c->gate);
}

/* The wire is in the middle of something: client_run() frees it. The first reason counts. */
static void on_lost(void *arg, const struct err *err)
{
    struct mcp_client *c = arg;

    if (c->is_lost)
        return;
    note_scope(c);
    c->is_lost = true;
    c->lost = *err;
}

static void client_start(struct mcp_client *c)
{
    const struct mcp_server *s = c->spec.server;
    struct err err = {0};
    struct wire_spec spec = {
        .server = s,
        .dir = c->spec.dir,
        .env = c->spec.env,
        .home = c->spec.home,
        .log = c->spec.log,
        .net = c->spec.net,
        .link = c->spec.link,
        .mail = c->mail,
        .message = on_message,
        .undone = on_undone,
        .lost = on_lost,
        .arg = c,
    };

    client_show(c, MCP_CONNECTING, NULL, NULL);
    c->is_lost = false;
    c->start_due_ms = clock_mono_ms() + (s->start_ms ? s->start_ms : MCP_START_MS);
    c->wire = s->type == MCP_STDIO ? wire_stdio_new(&spec, &err)
              : s->type == MCP_SDK ? wire_sdk_new(&spec, &err)
                                   : wire_http_new(&spec, &err);
    if (c->wire)
        client_initialize(c, &err);
    if (err.code)
        client_fail(c, MCP_FAILED, &err);
}

static void start_failed(struct mcp_client *c, enum err_code code, const char *what, struct str why)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(1000);
    struct err err = {0};

    add_line(&clean, str_clip(why, 200));
    err_set(&err, code, "%s%s%s", what, why.len ? ": " : "", buf_cstr(&clean));
    on_lost(c, &err);
}

/* initialize was answered. */
static void take_hello(struct mcp_client *c, const struct json *result)
{
    static const char versions[] = "2024-11-05 2025-03-26 2025-06-18 2025-11-25";
    struct str version = json_get_str(result, "protocolVersion");
    const struct json *can = json_get(result, "capabilities");
    struct mcp_lists *l = c->building = lists_new();

    if (!str_is_word_of(version, versions) || version.len >= sizeof(c->wire->version)) {
        start_failed(c, ERR_PROTOCOL, "it speaks a version that is not supported", version);
        return;
    }
    memcpy(c->wire->version, version.ptr, version.len);
    l->server_name =
        arena_str(&l->arena, str_clip(json_get_str(json_get(result, "serverInfo"), "name"), 200));
    l->server_version = arena_str(
        &l->arena, str_clip(json_get_str(json_get(result, "serverInfo"), "version"), 100));
    l->instructions =
        arena_str(&l->arena, str_clip(json_get_str(result, "instructions"), MCP_MAX_TEXT));
    l->has_tools = json_is(json_get(can, "tools"), JSON_OBJECT);
    l->has_resources = json_is(json_get(can, "resources"), JSON_OBJECT);
    l->has_prompts = json_is(json_get(can, "prompts"), JSON_OBJECT);
    (void)client_send(c, "notifications/initialized", STR(""), STR(""), 0, NULL);
    if (c->wire->kind->ready)
        c->wire->kind->ready(c->wire);
    c->reading = LIST_TOOLS;
    c->pages = 0;
    client_next_list(c, STR(""));
}

/* The next page, or the next list that the server has, or the end. */
static void client_next_list(struct mcp_client *c, struct str cursor)
{
    CLEANUP(buf_release) struct buf params = BUF_INIT(64 << 10);
    struct mcp_lists *l = c->building;
    struct err err = {0};
    struct jw w;

    for (; c->reading < LIST_COUNT; c->reading++) {
        if (c->reading == LIST_TOOLS     ? l->has_tools
            : c->reading == LIST_PROMPTS ? l->has_prompts
                                         : l->has_resources)
            break;
    }
    if (c->reading == LIST_COUNT) {
        client_connected(c);
        return;
    }
    if (cursor.len) {
        jw_init(&w, &params, 0);
        jw_object(&w);
        jw_kstr(&w, "cursor", cursor);
        jw_object_end(&w);
    }
    c->start_id = ++c->next_id;
    if (client_send(c, list_rows[c->reading].method, buf_str(&params), STR(""), c->start_id, &err) <
        0)
        on_lost(c, &err);
}

static void take_page(struct mcp_client *c, const struct json *result)
{
    struct mcp_lists *l = c->building;
    struct str cursor = json_get_str(result, "nextCursor");
    const struct json *page = NULL;

    /* The message goes away; what the list holds stays. */
    if (json_parse_copy(&l->arena, json_raw(json_get(result, list_rows[c->reading].member)), &page,
                        NULL, NULL) < 0)
        page = NULL;
    JSON_EACH(page, one) {
        if (!json_is(one, JSON_OBJECT))
            continue;
        if (c->reading == LIST_TOOLS && l->tools.len < MCP_MAX_TOOLS)
            vec_push(&l->tools, one);
        else if (c->reading == LIST_RESOURCES && l->resources.len < MCP_MAX_TOOLS)
            vec_push(&l->resources, one);
        else if (c->reading == LIST_TEMPLATES && l->templates.len < MCP_MAX_TOOLS)
            vec_push(&l->templates, one);
        else if (c->reading == LIST_PROMPTS && l->prompts.len < MCP_MAX_TOOLS)
            vec_push(&l->prompts, one);
    }
    if (cursor.len && ++c->pages < MCP_MAX_PAGES) {
        client_next_list(c, cursor);
        return;
    }
    c->pages = 0;
    c->reading++;
    client_next_list(c, STR(""));
}

/* ---- What the server says ---- */

struct question {
    struct mcp_client *client;
    struct buf id, method, params;
};

/* Who frees the client waits for this. */
static void question_free(struct question *q)
{
    struct mcp_client *c = q->client;

    buf_release(&q->id);
    buf_release(&q->method);
    buf_release(&q->params);
    free(q);
    gate_take(&c->gate);
    c->asking--;
    gate_wake(&c->gate);
    gate_give(&c->gate);
}

static void question_run(void *arg)
{
    struct question *q = arg;
    struct client_mail *m = mem_zalloc(sizeof(*m));
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *params = NULL;
    struct err err = {0};

    m->mail.kind = &client_mail_kind;
    m->what = MAIL_ANSWER;
    buf_init(&m->result, WIRE_MAX_MESSAGE);
    buf_move(&m->id, &q->id);
    if (json_parse(&arena, buf_str(&q->params), &params, NULL, &err) < 0 ||
        q->client->spec.ask(q->client->spec.arg, q->client->spec.server->name, buf_str(&q->method),
                            params, q->client->ending, &m->result, &err) < 0)
        m->code = -32603;
    mailbox_send(q->client->mail, &m->mail);
    question_free(q);
}

static void client_reply(struct mcp_client *c, struct str id, struct str result, int code,
                         const char *text)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(WIRE_MAX_MESSAGE);

    buf_addf(&out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,", STR_ARG(id));
    if (code)
        buf_addf(&out, "\"error\":{\"code\":%d,\"message\":\"%s\"}}", code, text);
    else
        buf_addf(&out, "\"result\":%.*s}", STR_ARG(result));
    if (c->wire && !out.over)
        (void)wire_send(c->wire, buf_str(&out), 0, NULL);
}

static void reply_roots(struct mcp_client *c, struct str id)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
    struct jw w;

    jw_init(&w, &out, 0);
    jw_object(&w);
    jw_key(&w, "roots");
    jw_array(&w);
    for (const char *const *root = c->spec.roots; root && *root; root++) {
        CLEANUP(buf_release) struct buf uri = BUF_INIT(64 << 10);

        buf_adds(&uri, "file://");
        for (const char *p = *root; *p; p++) {
            if (str_is_alnum(*p) || strchr("/-_.~", *p))
                buf_addc(&uri, *p);
            else
                buf_addf(&uri, "%%%02X", (unsigned char)*p);
        }
        jw_object(&w);
        jw_kstr(&w, "uri", buf_str(&uri));
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    client_reply(c, id, buf_str(&out), 0, NULL);
}

static void take_request(struct mcp_client *c, struct str method, struct str id,
                         const struct json *params)
{
    if (str_is(method, "ping")) {
        client_reply(c, id, STR("{}"), 0, NULL);
    } else if (str_is(method, "roots/list")) {
        reply_roots(c, id);
    } else if (!str_is(method, "elicitation/create") || !c->spec.ask) {
        client_reply(c, id, STR(""), -32601, "Method not found");
    } else if (c->questions >= CLIENT_MAX_QUESTIONS) {
        client_reply(c, id, STR(""), -32603, "Too many requests wait for an answer");
    } else {
        struct question *q = mem_zalloc(sizeof(*q));

        q->client = c;
        buf_init(&q->id, 1024);
        buf_init(&q->method, 200);
        buf_init(&q->params, WIRE_MAX_MESSAGE);
        buf_add(&q->id, id);
        buf_add(&q->method, method);
        buf_add(&q->params, params ? json_raw(params) : STR("{}"));
        c->questions++;
        gate_take(&c->gate);
        c->asking++;
        gate_give(&c->gate);
        if (thread_start_loose("mcp ask", question_run, q, NULL) < 0) {
            c->questions--;
            question_free(q);
            client_reply(c, id, STR(""), -32603, "Internal error");
        }
    }
}

static void take_progress(struct mcp_client *c, const struct json *params)
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
    if (!p->call->request->progress || now_ms - p->progress_ms < CLIENT_PROGRESS_MS)
        return;
    p->progress_ms = now_ms;
    if (message.len)
        add_line(&text, str_clip(message, 200));
    else if (total)
        buf_addf(&text, "%.*s/%.*s", STR_ARG(json_number(done)), STR_ARG(json_number(total)));
    else
        buf_add(&text, json_number(done));
    p->call->request->progress(p->call->request->arg, buf_str(&text));
}

static void take_notification(struct mcp_client *c, struct str method, const struct json *params)
{
    if (str_is(method, "notifications/progress"))
        take_progress(c, params);
    else if (str_is(method, "notifications/tools/list_changed") ||
             str_is(method, "notifications/resources/list_changed") ||
             str_is(method, "notifications/prompts/list_changed"))
        c->refresh_ms = clock_mono_ms() + CLIENT_QUIET_MS;
}

static void take_start(struct mcp_client *c, const struct json *message)
{
    const struct json *error = json_get(message, "error");
    const struct json *result = json_get(message, "result");

    c->start_id = 0;
    if (!c->building && error)
        start_failed(c, ERR_PROTOCOL, "it refuses to start", json_get_str(error, "message"));
    else if (!c->building)
        take_hello(c, result);
    else if (error && c->is_refresh)
        mcp_lists_unref(TAKE_PTR(c->building)); /* the old lists stay */
    else
        take_page(c, result); /* an error: an empty list */
}

static void take_answer(struct mcp_client *c, struct client_pending *p, const struct json *message)
{
    const struct json *error = json_get(message, "error");
    const struct json *result = json_get(message, "result");
    struct client_call *call = p->call;
    int r = 0;

    if (error) {
        r = err_set(call->err, ERR_BAD_INPUT, "%.*s",
                    STR_ARG(str_clip(json_get_str(error, "message"), 400)));
    } else if (!json_is(result, JSON_OBJECT)) {
        r = err_set(call->err, ERR_PROTOCOL, "the server's answer is no object");
    } else {
        buf_add(call->ret, json_raw(result));
        r = buf_check(call->ret, call->err);
    }
    client_finish(c, p, r);
}

static int64_t take_message(struct mcp_client *c, const struct json *m)
{
    struct str method = json_get_str(m, "method");
    const struct json *id = json_get(m, "id");
    struct client_pending *p;
    int64_t number = 0;

    if (method.len && id) {
        if (json_is(id, JSON_STRING) || json_is(id, JSON_NUMBER))
            take_request(c, method, json_raw(id), json_get(m, "params"));
        return 0;
    }
    if (method.len) {
        take_notification(c, method, json_get(m, "params"));
        return 0;
    }
    if (!json_i64(id, &number) || number <= 0)
        return 0;
    p = client_find(c, number);
    if (number == c->start_id)
        take_start(c, m);
    else if (p && p->call)
        take_answer(c, p, m);
    return number;
}

static int64_t on_message(void *arg, struct str json)
{
    struct mcp_client *c = arg;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *m = NULL;
    int64_t answered = 0;

    if (c->is_lost || json_parse(&arena, json, &m, NULL, NULL) < 0)
        return 0; /* also a line that only looks like a message */
    if (!json_is(m, JSON_ARRAY))
        return take_message(c, m);
    JSON_EACH(m, one) {
        int64_t id = take_message(c, one);

        answered = id ? id : answered;
    }
    return answered;
}

static void on_undone(void *arg, int64_t id, const struct err *err)
{
    struct mcp_client *c = arg;
    struct client_pending *p = client_find(c, id);

    note_scope(c);
    if (id == c->start_id && !c->is_refresh) {
        on_lost(c, err);
    } else if (p && p->call) {
        *p->call->err = *err;
        client_finish(c, p, -1);
    }
}

/* ---- The thread ---- */

static void client_take_call(struct mcp_client *c, struct client_call *call)
{
    if (c->state == MCP_CONNECTED) {
        client_begin(c, call);
        return;
    }
    vec_push(&c->waiting, call);
    if (c->state == MCP_CONNECTING)
        return;
    if (c->lists || clock_mono_ms() - c->failed_ms >= CLIENT_REST_MS) {
        client_start(c);
    } else {
        c->waiting.len--;
        err_set(call->err, ERR_NETWORK, "the MCP server \"%s\" cannot be used: %s",
                c->spec.server->name, c->error);
        inquiry_answer(&call->inquiry, -1);
    }
}

static void client_give_up(struct mcp_client *c, struct client_call *call)
{
    for (size_t i = 0; i < c->waiting.len; i++) {
        if (c->waiting.ptr[i] == call) {
            c->waiting.ptr[i] = c->waiting.ptr[--c->waiting.len];
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

/* False: the end. */
static bool client_take_mail(struct mcp_client *c, struct client_mail *m)
{
    switch (m->what) {
    case MAIL_GIVE_UP:
        client_give_up(c, m->call);
        return true;
    case MAIL_ANSWER:
        c->questions--;
        client_reply(c, buf_str(&m->id), buf_str(&m->result), m->code,
                     "The question could not be asked");
        return true;
    case MAIL_RECONNECT:
        if (c->wire) {
            struct err err = {0};

            err_set(&err, ERR_NETWORK, "it is connected anew");
            client_fail(c, MCP_CONNECTING, &err);
        }
        c->then = (struct mcp_then){m->done, m->arg};
        m->done = NULL;
        client_start(c);
        return true;
    default:
        return false;
    }
}

static void earlier(int64_t *due, int64_t ms)
{
    if (ms && (*due < 0 || ms < *due))
        *due = ms;
}

static int64_t client_due(struct mcp_client *c)
{
    int64_t due = -1;

    earlier(&due, c->start_due_ms);
    earlier(&due, c->refresh_ms);
    earlier(&due, c->wire ? c->wire->due_ms : 0);
    VEC_EACH(&c->pending, p) {
        earlier(&due, p->due_ms);
        earlier(&due, p->last_ms);
    }
    return due;
}

static void client_tick(struct mcp_client *c)
{
    int64_t now_ms = clock_mono_ms();

    if (c->wire && c->wire->due_ms && c->wire->due_ms <= now_ms)
        c->wire->kind->tick(c->wire);
    if (c->start_due_ms && c->start_due_ms <= now_ms) {
        struct err err = {0};

        err_set(&err, ERR_TIMEOUT, "it did not start within %" PRId64 " s",
                ((c->spec.server->start_ms ? c->spec.server->start_ms : MCP_START_MS) + 999) /
                    1000);
        client_fail(c, MCP_FAILED, &err);
    }
    for (size_t i = 0; i < c->pending.len; i++) {
        struct client_pending *p = &c->pending.ptr[i];
        int64_t limit =
            p->call && p->call->request->timeout_ms ? p->call->request->timeout_ms : MCP_CALL_MS;

        if (p->due_ms > now_ms && p->last_ms > now_ms)
            continue;
        client_tell_cancelled(c, p->id, "it took too long");
        if (p->call)
            err_set(p->call->err, ERR_TIMEOUT, "no answer for %" PRId64 " s", (limit + 999) / 1000);
        client_finish(c, p, -1);
        i--;
    }
    if (c->refresh_ms && c->refresh_ms <= now_ms && c->state == MCP_CONNECTED && !c->building) {
        struct mcp_lists *l = c->building = lists_new();

        c->refresh_ms = 0;
        c->is_refresh = true;
        l->server_name = arena_str(&l->arena, c->lists->server_name);
        l->server_version = arena_str(&l->arena, c->lists->server_version);
        l->instructions = arena_str(&l->arena, c->lists->instructions);
        l->has_tools = c->lists->has_tools;
        l->has_resources = c->lists->has_resources;
        l->has_prompts = c->lists->has_prompts;
        c->reading = LIST_TOOLS;
        c->pages = 0;
        client_next_list(c, STR(""));
    }
}

static void client_end(struct mcp_client *c)
{
    struct err err = {0};

    err_set(&err, ERR_CANCELLED, "it was ended");
    client_fail(c, MCP_FAILED, &err);
    mailbox_close(c->mail); /* who asks from now on is answered that it is gone */
}

static void client_run(void *arg)
{
    struct mcp_client *c = arg;
    bool goes_on = true;

    client_start(c);
    while (goes_on) {
        struct mail *m = NULL;
        struct inquiry *q;

        client_tick(c);
        if (c->is_lost) {
            struct err why = c->lost;

            client_fail(c, why.code == ERR_AUTH ? MCP_NEEDS_AUTH : MCP_FAILED, &why);
            continue;
        }
        if (mailbox_take(c->mail, /*cancel=*/NULL, client_due(c), &m, NULL) == 0) {
            q = inquiry_of(m);
            if (q)
                client_take_call(c, (struct client_call *)q);
            else if (m->kind == &client_mail_kind)
                goes_on = client_take_mail(c, (struct client_mail *)m);
            else if (c->wire)
                (void)wire_mail(c->wire, m);
            mail_free(m);
        }
    }
    client_end(c);
}

struct mcp_client *mcp_client_new(const struct mcp_client_spec *spec, struct err *err)
{
    struct mcp_client *c = mem_zalloc(sizeof(*c));

    c->spec = *spec;
    c->mail = mailbox_new();
    c->ending = cancel_new(NULL);
    gate_init(&c->gate);
    c->thread = thread_start("mcp", client_run, c, err);
    if (!c->thread) {
        mcp_client_free(c);
        return NULL;
    }
    return c;
}

static struct client_mail *order_new(int what)
{
    struct client_mail *m = mem_zalloc(sizeof(*m));

    m->mail.kind = &client_mail_kind;
    m->what = what;
    return m;
}

static void client_order(struct mcp_client *c, int what, struct client_call *call)
{
    struct client_mail *m = order_new(what);

    m->call = call;
    mailbox_send(c->mail, &m->mail);
}

void mcp_client_reconnect_then(struct mcp_client *c, void (*done)(void *arg, const struct err *err),
                               void *arg)
{
    struct client_mail *m = order_new(MAIL_RECONNECT);

    m->done = done;
    m->arg = arg;
    gate_take(&c->gate);
    c->is_asked = true;
    gate_give(&c->gate);
    mailbox_send(c->mail, &m->mail);
}

void mcp_client_reconnect(struct mcp_client *c)
{
    mcp_client_reconnect_then(c, /*done=*/NULL, /*arg=*/NULL);
}

void mcp_client_stop(struct mcp_client *c)
{
    cancel_set(c->ending);
    client_order(c, MAIL_END, NULL);
}

bool mcp_client_has_rested(struct mcp_client *c)
{
    bool has;

    gate_take(&c->gate);
    has =
        !c->is_asked && c->state == MCP_FAILED && clock_mono_ms() - c->failed_ms >= CLIENT_REST_MS;
    gate_give(&c->gate);
    return has;
}

void mcp_client_free(struct mcp_client *c)
{
    if (!c)
        return;
    cancel_set(c->ending);
    if (c->thread) {
        client_order(c, MAIL_END, NULL);
        thread_join(c->thread);
    }
    gate_take(&c->gate);
    while (c->asking)
        (void)gate_wait(&c->gate, /*deadline_ms=*/-1);
    gate_give(&c->gate);
    mailbox_close(c->mail);
    mailbox_unref(c->mail);
    cancel_unref(c->ending);
    gate_release(&c->gate);
    mcp_lists_unref(c->lists);
    vec_release(&c->pending);
    vec_release(&c->waiting);
    free(c);
}

int mcp_client_wait(struct mcp_client *c, int64_t ms, struct cancel *cancel, struct err *err)
{
    int64_t until_ms = clock_mono_ms() + ms;
    struct mcp_look look;

    for (;;) {
        mcp_client_look(c, &look);
        mcp_lists_unref(look.lists);
        if (look.state == MCP_CONNECTED)
            return 0;
        if (look.state != MCP_CONNECTING)
            return err_set(err, look.state == MCP_NEEDS_AUTH ? ERR_AUTH : ERR_NETWORK, "%s",
                           look.error);
        if (clock_mono_ms() >= until_ms)
            return err_set(err, ERR_TIMEOUT, "it is still connecting");
        if (cancel_check(cancel, err) < 0)
            return -1;
        gate_take(&c->gate);
        if (c->is_asked || c->state == MCP_CONNECTING) {
            int64_t slice = clock_mono_ms() + 50; /* a cancel wakes no gate */

            (void)gate_wait(&c->gate, slice < until_ms ? slice : until_ms);
        }
        gate_give(&c->gate);
    }
}

int mcp_client_call(struct mcp_client *c, const struct mcp_request *request, struct cancel *cancel,
                    struct buf *ret, struct err *err)
{
    struct err why = {0};
    struct client_call call = {.request = request, .ret = ret, .err = &why};

    if (cancel_check(cancel, err) < 0)
        return -1;
    inquiry_send(&call.inquiry, c->mail);
    if (inquiry_wait(&call.inquiry, cancel, err) < 0) {
        client_order(c, MAIL_GIVE_UP, &call);
        (void)inquiry_wait(&call.inquiry, /*cancel=*/NULL, NULL);
        return err_set(err, ERR_CANCELLED, "interrupted");
    }
    if (call.inquiry.result < 0) {
        if (!why.code)
            err_set(&why, ERR_NETWORK, "the MCP server \"%s\" is gone", c->spec.server->name);
        if (err)
            *err = why;
        return -1;
    }
    return 0;
}
