/*
 * send() is called by the threads of servers, answers come in on the thread that reads the client.
 * One gate guards the shared state; servers' threads receive mail.
 */
#include "proto/sdk_servers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/vec.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/sdk_link.h"
#include "proto/peer.h"
#include "sync/thread.h"

#define SERVERS_MAX_WAITING 1024

/* A request that has no answer yet. */
struct waiting {
    char request_id[32];
    int64_t id; /* in its message; 0: the answer is not needed */
    struct mailbox *to;
};

struct connected {
    char *server;
    struct mailbox *to;
};

struct sdk_servers {
    struct sdk_link link; /* first: it is what servers hold */
    struct gate gate;     /* of everything below */
    VEC(struct waiting) waiting;
    VEC(struct connected) connected;
    uint64_t last;
    char ids[16]; /* what the ids of requests begin with */
    bool closed;
    struct mailbox *to;
};

static void fail(const struct waiting *w, const char *why)
{
    struct sdk_mail *m;

    if (!w->id)
        return;
    m = sdk_mail_new(w->id);
    err_set(&m->err, ERR_NETWORK, "%s", why);
    mailbox_send(w->to, &m->mail);
}

static void servers_open(struct sdk_link *link, const char *server, struct mailbox *to)
{
    struct sdk_servers *s = (struct sdk_servers *)link;

    gate_take(&s->gate);
    *vec_add(&s->connected) =
        (struct connected){.server = mem_dup(server, strlen(server)), .to = mailbox_ref(to)};
    gate_give(&s->gate);
}

static void servers_close(struct sdk_link *link, struct mailbox *to)
{
    struct sdk_servers *s = (struct sdk_servers *)link;

    gate_take(&s->gate);
    for (size_t i = 0; i < s->connected.len; i++) {
        if (s->connected.ptr[i].to != to)
            continue;
        free(s->connected.ptr[i].server);
        mailbox_unref(to);
        s->connected.ptr[i--] = s->connected.ptr[--s->connected.len];
    }
    for (size_t i = 0; i < s->waiting.len; i++) {
        if (s->waiting.ptr[i].to != to)
            continue;
        mailbox_unref(to);
        s->waiting.ptr[i--] = s->waiting.ptr[--s->waiting.len];
    }
    gate_give(&s->gate);
}

static int servers_send(struct sdk_link *link, const char *server, struct str message, int64_t id,
                        struct mailbox *to, struct err *err)
{
    struct sdk_servers *s = (struct sdk_servers *)link;
    struct waiting w = {.id = id, .to = to};
    struct line_mail *m;
    struct jw j;

    gate_take(&s->gate);
    if (s->closed || s->waiting.len >= SERVERS_MAX_WAITING) {
        bool closed = s->closed;

        gate_give(&s->gate);
        return closed ? err_set(err, ERR_NETWORK, "the client has gone")
                      : err_set(err, ERR_TOO_BIG, "too many requests wait for the client");
    }
    (void)snprintf(w.request_id, sizeof(w.request_id), "%s-%" PRIu64, s->ids, ++s->last);
    mailbox_ref(to);
    vec_push(&s->waiting, w);
    gate_give(&s->gate);
    m = line_mail_new();
    jw_init(&j, &m->line, JW_CLEAN);
    jw_object(&j);
    jw_kcstr(&j, "type", "control_request");
    jw_kcstr(&j, "request_id", w.request_id);
    jw_key(&j, "request");
    jw_object(&j);
    jw_kcstr(&j, "subtype", "mcp_message");
    jw_kcstr(&j, "server_name", server);
    jw_kraw(&j, "message", message);
    jw_object_end(&j);
    jw_object_end(&j);
    buf_addc(&m->line, '\n');
    mailbox_send(s->to, &m->mail);
    return 0;
}

struct sdk_servers *sdk_servers_new(struct mailbox *to)
{
    struct sdk_servers *s = mem_zalloc(sizeof(*s));

    s->link = (struct sdk_link){servers_open, servers_close, servers_send};
    (void)id_make(s->ids, sizeof(s->ids), "mcp-", 8);
    s->to = mailbox_ref(to);
    gate_init(&s->gate);
    return s;
}

void sdk_servers_free(struct sdk_servers *s)
{
    if (!s)
        return;
    sdk_servers_close(s);
    VEC_EACH(&s->connected, c) {
        free(c->server);
        mailbox_unref(c->to);
    }
    vec_release(&s->connected);
    vec_release(&s->waiting);
    mailbox_unref(s->to);
    gate_release(&s->gate);
    free(s);
}

struct sdk_link *sdk_servers_link(struct sdk_servers *s)
{
    return &s->link;
}

bool sdk_servers_answer(struct sdk_servers *s, struct str request_id, const struct json *output,
                        struct str error)
{
    const struct json *reply = json_get(output, "mcp_response");
    struct waiting found = {0};
    size_t i = 0;

    gate_take(&s->gate);
    while (i < s->waiting.len && !str_is(request_id, s->waiting.ptr[i].request_id))
        i++;
    if (i < s->waiting.len) {
        found = s->waiting.ptr[i];
        s->waiting.ptr[i] = s->waiting.ptr[--s->waiting.len];
    }
    gate_give(&s->gate);
    if (!found.to)
        return false;
    if (found.id && json_is(reply, JSON_OBJECT)) {
        struct sdk_mail *m = sdk_mail_new(found.id);

        buf_add(&m->json, json_raw(reply));
        mailbox_send(found.to, &m->mail);
    } else {
        CLEANUP(buf_release) struct buf why = BUF_INIT(1000);

        buf_addf(&why, "%.*s", STR_ARG(error.len ? str_clip(error, 400) : STR("no response")));
        fail(&found, buf_cstr(&why));
    }
    mailbox_unref(found.to);
    return true;
}

bool sdk_servers_message(struct sdk_servers *s, struct str server, const struct json *message)
{
    bool any = false;

    gate_take(&s->gate);
    VEC_EACH(&s->connected, c) {
        struct sdk_mail *m;

        if (!str_is(server, c->server))
            continue;
        m = sdk_mail_new(0);
        buf_add(&m->json, json_raw(message));
        mailbox_send(c->to, &m->mail);
        any = true;
    }
    gate_give(&s->gate);
    return any;
}

void sdk_servers_close(struct sdk_servers *s)
{
    gate_take(&s->gate);
    s->closed = true;
    VEC_EACH(&s->waiting, w) {
        fail(w, "the client has gone");
        mailbox_unref(w->to);
    }
    s->waiting.len = 0;
    gate_give(&s->gate);
}

void sdk_servers_reopen(struct sdk_servers *s)
{
    gate_take(&s->gate);
    s->closed = false;
    gate_give(&s->gate);
}
