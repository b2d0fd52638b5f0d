/*
 * A server inside the client of the session: messages travel over the client's own connection.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/sdk_link.h"
#include "mcp/server_conf.h"
#include "mcp/wire.h"

struct wire_sdk {
    struct wire wire;
    struct sdk_link *link;
};

static void sdk_mail_free(struct mail *mail)
{
    buf_release(&((struct sdk_mail *)mail)->json);
    free(mail);
}

const struct mail_kind sdk_mail_kind = {"sdk server", sdk_mail_free};

struct sdk_mail *sdk_mail_new(int64_t id)
{
    struct sdk_mail *m = mem_zalloc(sizeof(*m));

    m->mail.kind = &sdk_mail_kind;
    m->id = id;
    buf_init(&m->json, WIRE_MAX_MESSAGE);
    return m;
}

static int sdk_send(struct wire *w, struct str message, int64_t id, const struct strv *headers,
                    struct err *err)
{
    struct wire_sdk *s = (struct wire_sdk *)w;

    (void)headers;
    return s->link->send(s->link, w->spec.server->name, message, id, w->spec.mail, err);
}

static bool sdk_mail(struct wire *w, struct mail *mail)
{
    struct sdk_mail *m = (struct sdk_mail *)mail;

    if (mail->kind != &sdk_mail_kind)
        return false;
    if (m->err.code)
        w->spec.undone(w->spec.arg, m->id, &m->err);
    else
        (void)w->spec.message(w->spec.arg, buf_str(&m->json));
    return true;
}

static void sdk_free(struct wire *w)
{
    struct wire_sdk *s = (struct wire_sdk *)w;

    s->link->close(s->link, w->spec.mail);
    free(s);
}

static const struct wire_kind sdk_kind = {.send = sdk_send, .mail = sdk_mail, .free = sdk_free};

struct wire *wire_sdk_new(const struct wire_spec *spec, struct err *err)
{
    struct wire_sdk *s;

    if (!spec->link) {
        err_set(err, ERR_UNSUPPORTED, "it lives in a client, and this session has none");
        return NULL;
    }
    s = mem_zalloc(sizeof(*s));
    s->wire.kind = &sdk_kind;
    s->wire.spec = *spec;
    s->link = spec->link;
    s->link->open(s->link, spec->server->name, spec->mail);
    return &s->wire;
}
