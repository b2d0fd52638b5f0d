/*
 * Mail about a stream. Made and sent by the network thread, read and freed by the owner of the
 * mailbox.
 */
#include "net/net_stream.h"

static void net_mail_free(struct mail *mail)
{
    struct net_mail *m = (struct net_mail *)mail;

    strv_release(&m->headers);
    buf_release(&m->bytes);
    net_stream_drop(m->stream);
    free(m);
}

const struct mail_kind net_mail_kind = {.name = "net", .free = net_mail_free};

struct net_mail *net_mail_new(struct net_stream *s, enum net_mail_what what)
{
    struct net_mail *m = mem_zalloc(sizeof(*m));

    m->mail.kind = &net_mail_kind;
    m->mail.bytes = sizeof(*m);
    m->stream = net_stream_ref(s);
    m->what = what;
    m->status = s->status;
    return m;
}

void net_mail_send(struct net_stream *s, struct net_mail *m)
{
    if (atomic_load(&s->cancelled))
        mail_free(&m->mail);
    else
        mailbox_send(s->to, &m->mail);
}

struct str net_mail_header(const struct strv *headers, const char *name)
{
    struct str want = str_of(name);

    for (size_t i = 0; i < headers->len; i++) {
        struct str line = str_of(headers->ptr[i]);

        if (str_starts(line, want) && line.len > want.len && line.ptr[want.len] == ':')
            return str_trim(str_from(line, want.len + 1));
    }
    return STR("");
}
