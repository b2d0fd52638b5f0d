/*
 * The thread waits on one mailbox: for what the wire brings, for requests of other threads, for
 * answers of the user. What others may see (state, lists) is under a gate.
 */
#include "mcp/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "json/json.h"
#include "mcp/client_inside.h"
#include "mcp/server_conf.h"
#include "mcp/wire.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"

#define CLIENT_QUIET_MS 250 /* after a list_changed, before the list is read again */

/* Mail of ours: a call that its asker gives up, an order. */
struct client_mail {
    struct mail mail;
    enum {
        MAIL_GIVE_UP,
        MAIL_RECONNECT,
        MAIL_ROOTS,
        MAIL_END,
    } what;
    struct client_call *call;
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
    free(m);
}

static const struct mail_kind client_mail_kind = {"mcp", client_mail_free};

const char *mcp_state_name(enum mcp_state s)
{
    static const char *const names[] = {"pending", "pending", "connected", "needs-auth", "failed"};

    return names[s];
}

const struct mcp_server *mcp_client_server(const struct mcp_client *c)
{
    return c->spec.server;
}

/* A server's text for a line of ours. */
void client_add_line(struct buf *ret, struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        buf_addc(ret, (unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f ? ' ' : text.ptr[i]);
}

/* ---- What others see ---- */

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

void client_show(struct mcp_client *c, enum mcp_state state, const struct err *why,
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
    ret->lists = mcp_lists_ref(c->lists);
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

void client_tell(struct mcp_client *c, const struct err *why)
{
    struct mcp_then then = c->then;

    c->then = (struct mcp_then){0};
    if (then.done)
        then.done(then.arg, why);
}

/* ---- Messages from the server ---- */

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
        (void)wire_send(c->wire, buf_str(&out), 0, /*headers=*/NULL, NULL);
}

static void take_request(struct mcp_client *c, struct str method, struct str id,
                         const struct json *params)
{
    bool is_form = str_is(method, "elicitation/create") && c->spec.ask;
    bool is_model = str_is(method, "sampling/createMessage") && c->spec.can_sample;

    if (str_is(method, "ping"))
        client_reply(c, id, STR("{}"), 0, NULL);
    else if (!is_form && !is_model && !str_is(method, "roots/list"))
        client_reply(c, id, STR(""), -32601, "Method not found");
    else if (asked_put(&c->asked, id, method, params) < 0)
        client_reply(c, id, STR(""), -32603, "Too many requests wait for an answer");
}

static void take_notification(struct mcp_client *c, struct str method, const struct json *params)
{
    if (str_is(method, "notifications/progress")) {
        client_take_progress(c, params);
    } else if (str_is(method, "notifications/tools/list_changed") ||
               str_is(method, "notifications/resources/list_changed") ||
               str_is(method, "notifications/prompts/list_changed")) {
        c->refresh_ms = clock_mono_ms() + CLIENT_QUIET_MS;
    } else if (str_is(method, "notifications/cancelled")) {
        asked_withdraw(&c->asked, json_raw(json_get(params, "requestId")), 0);
    } else if (str_is(method, "notifications/elicitation/complete") && c->spec.done) {
        c->spec.done(c->spec.arg, c->spec.server->name, json_get_str(params, "elicitationId"));
    } else if (str_is(method, "notifications/message") && c->spec.said &&
               str_is_word_of(json_get_str(params, "level"), "error critical alert emergency")) {
        const struct json *data = json_get(params, "data");
        CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

        client_add_line(
            &text, str_clip(json_is(data, JSON_STRING) ? json_str(data) : json_raw(data), 400));
        c->spec.said(c->spec.arg, c->spec.server->name, buf_str(&text));
    }
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
    if (number == c->probe_id)
        client_take_probe(c, m);
    else if (number == c->start_id)
        client_take_start(c, m);
    else if (p)
        client_take_answer(c, p, m);
    return number;
}

int64_t client_on_message(void *arg, struct str json)
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

void client_on_undone(void *arg, int64_t id, const struct err *err)
{
    struct mcp_client *c = arg;
    struct client_pending *p = client_find(c, id);

    client_note_scope(c);
    if (id == c->listen_id) {
        c->listen_id = 0;
        if (c->listens < CLIENT_RETRIES)
            c->listen_due_ms = clock_mono_ms() + (1000LL << c->listens++);
    } else if (id == c->probe_id && err->code != ERR_AUTH && err->code != ERR_DENIED &&
               err->code != ERR_NETWORK) {
        client_probe_failed(c);
    } else if (id == c->start_id && c->is_refresh) {
        client_refresh_failed(c);
    } else if (id == c->start_id || id == c->probe_id) {
        client_on_lost(c, err);
    } else if (p) {
        *p->call->err = *err;
        client_finish(c, p, -1);
    }
}

/* ---- The thread ---- */

static void take_asked(struct mcp_client *c, const struct asked_mail *m)
{
    if (m->number)
        client_take_answers(c, m);
    else
        client_reply(c, buf_str(&m->id), buf_str(&m->result), m->code, m->refusal);
}

/* False: the end. */
static bool client_take_mail(struct mcp_client *c, struct client_mail *m)
{
    switch (m->what) {
    case MAIL_GIVE_UP:
        client_give_up(c, m->call);
        return true;
    case MAIL_ROOTS:
        if (c->state == MCP_CONNECTED && !c->wire->is_modern && c->spec.server->type != MCP_SDK)
            (void)client_send(c, "notifications/roots/list_changed", STR(""), 0, NULL);
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

static bool may_refresh(const struct mcp_client *c)
{
    return c->state == MCP_CONNECTED && !c->building;
}

static int64_t client_due(struct mcp_client *c)
{
    int64_t due = -1;

    /* Each under the condition of client_tick(): a time that it cannot act on makes a busy loop. */
    earlier(&due, c->start_due_ms);
    earlier(&due, may_refresh(c) ? c->refresh_ms : 0);
    earlier(&due, c->wire ? c->probe_due_ms : 0);
    earlier(&due, c->state == MCP_CONNECTED ? c->listen_due_ms : 0);
    earlier(&due, c->wire ? 0 : c->retry_ms);
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
    if (c->start_due_ms && c->start_due_ms <= now_ms && c->is_refresh) {
        client_tell_cancelled(c, c->start_id, "it took too long");
        client_refresh_failed(c);
    } else if (c->start_due_ms && c->start_due_ms <= now_ms) {
        struct err err = {0};

        err_set(&err, ERR_TIMEOUT, "it did not start within %" PRId64 " s",
                ((c->spec.server->start_ms ? c->spec.server->start_ms : MCP_START_MS) + 999) /
                    1000);
        client_fail(c, MCP_FAILED, &err);
    }
    client_expire(c, now_ms);
    if (c->refresh_ms && c->refresh_ms <= now_ms && may_refresh(c))
        client_refresh(c);
    if (c->listen_due_ms && c->listen_due_ms <= now_ms && c->state == MCP_CONNECTED)
        client_listen(c);
    if (c->probe_due_ms && c->probe_due_ms <= now_ms && c->wire)
        client_greet(c);
    if (c->retry_ms && c->retry_ms <= now_ms && !c->wire)
        client_start(c);
}

static void client_end(struct mcp_client *c)
{
    struct err err = {0};

    err_set(&err, ERR_CANCELLED, "it was ended");
    VEC_EACH(&c->pending, p) {
        client_tell_cancelled(c, p->id, "the session ends");
    }
    if (c->start_id && c->building) /* a list; initialize must not be cancelled */
        client_tell_cancelled(c, c->start_id, "the session ends");
    client_fail(c, MCP_FAILED, &err);
    mailbox_close(c->mail); /* later callers get an error */
}

static void client_run(void *arg)
{
    struct mcp_client *c = arg;
    bool goes_on = true;

    if (c->spec.is_lazy)
        client_show(c, MCP_IDLE, NULL, NULL);
    else if (c->spec.delay_ms)
        c->retry_ms = clock_mono_ms() + c->spec.delay_ms;
    else
        client_start(c);
    while (goes_on) {
        struct mail *m = NULL;
        struct inquiry *q;

        client_tick(c);
        if (c->is_lost) {
            client_lost(c);
            continue;
        }
        if (mailbox_take(c->mail, /*cancel=*/NULL, client_due(c), &m, NULL) == 0) {
            q = inquiry_of(m);
            if (q)
                client_take_call(c, (struct client_call *)q);
            else if (m->kind == &asked_mail_kind)
                take_asked(c, (struct asked_mail *)m);
            else if (m->kind == &client_mail_kind)
                goes_on = client_take_mail(c, (struct client_mail *)m);
            else if (c->wire)
                (void)wire_mail(c->wire, m);
            mail_free(m);
        }
    }
    client_end(c);
}

static bool is_legacy_type(const struct mcp_server *s)
{
    return s->type == MCP_SDK || s->type == MCP_SSE;
}

/* Tools that it had the last time are known before it has connected. */
static void recall_lists(struct mcp_client *c)
{
    char era[16];

    if (!c->spec.cache)
        return;
    c->lists = mcp_lists_recall(c->spec.cache, clock_wall_ms(), era);
    c->is_recalled = c->lists != NULL;
    if (c->lists && strcmp(era, "modern") == 0)
        c->era = ERA_MODERN;
    else if (c->lists && strcmp(era, "legacy") == 0)
        c->era = ERA_LEGACY;
    c->is_era_recalled = c->era == ERA_LEGACY && !is_legacy_type(c->spec.server);
}

struct mcp_client *mcp_client_new(const struct mcp_client_spec *spec, struct err *err)
{
    struct mcp_client *c = mem_zalloc(sizeof(*c));

    c->spec = *spec;
    c->mail = mailbox_new();
    c->ending = cancel_new(NULL);
    gate_init(&c->gate);
    buf_init(&c->cursor, 64 << 10);
    c->state = spec->is_lazy ? MCP_IDLE : MCP_CONNECTING;
    c->era = is_legacy_type(spec->server) ? ERA_LEGACY : ERA_UNKNOWN;
    c->asked.mail = c->mail;
    c->asked.server = spec->server->name;
    c->asked.roots = spec->roots;
    c->asked.ask = spec->ask;
    c->asked.arg = spec->arg;
    c->asked.ending = c->ending;
    asked_init(&c->asked);
    recall_lists(c);
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

void mcp_client_roots_changed(struct mcp_client *c)
{
    client_order(c, MAIL_ROOTS, NULL);
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
    asked_release(&c->asked);
    mailbox_close(c->mail);
    mailbox_unref(c->mail);
    cancel_unref(c->ending);
    gate_release(&c->gate);
    mcp_lists_unref(c->lists);
    buf_release(&c->cursor);
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
        if (look.state == MCP_CONNECTED || look.state == MCP_IDLE)
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
