/*
 * Redirects are answers, not followed. The caller's thread waits.
 */
#include "mcp/oauth_http.h"

#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/json.h"
#include "mcp/oauth.h"
#include "mcp/server_conf.h"
#include "net/net.h"
#include "net/url.h"
#include "sync/mailbox.h"

#define OAUTH_REQUEST_MS (15 * 1000)

void oauth_answer_release(struct oauth_answer *a)
{
    strv_release(&a->headers);
    buf_release(&a->body);
}

void oauth_add_encoded(struct buf *ret, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (str_is_alnum(c) || (c && strchr("-_.~", c)))
            buf_addc(ret, c);
        else
            buf_addf(ret, "%%%02X", (unsigned char)c);
    }
}

void oauth_add_param(struct buf *ret, const char *name, struct str value)
{
    buf_addf(ret, "%s%s=", ret->len ? "&" : "", name);
    oauth_add_encoded(ret, value);
}

/* https, or a host that is this machine or the server's own. */
static int check_url(const struct oauth *o, const char *text, struct err *err)
{
    struct url url, own;

    if (url_parse(str_of(text), &url, err) < 0)
        return -1;
    if (url.tls || str_is_word_of(url.host, "localhost 127.0.0.1 [::1]"))
        return 0;
    if (url_parse(str_of(o->server->url), &own, err) < 0)
        return -1;
    if (!own.tls && str_eq_nocase(own.host, url.host))
        return 0;
    return err_set(err, ERR_DENIED, "it wants a login over plain HTTP at %.*s",
                   STR_ARG(str_clip(url.host, 200)));
}

static int read_answer(struct net_stream *stream, struct mailbox *mail, struct cancel *cancel,
                       struct oauth_answer *ret, struct err *err)
{
    int64_t until_ms = clock_mono_ms() + OAUTH_REQUEST_MS;
    struct mail *m = NULL;
    bool over = false;
    int r = 0;

    while (!over) {
        struct net_mail *n;

        if (mailbox_take(mail, cancel, until_ms, &m, err) < 0)
            return -1;
        n = (struct net_mail *)m;
        if (n->what == NET_HEAD) {
            ret->status = n->status;
            strv_add_all(&ret->headers, &n->headers);
        } else if (n->what == NET_BYTES) {
            buf_add(&ret->body, buf_str(&n->bytes));
            net_used(stream, n->bytes.len);
        } else {
            over = true;
            if (n->end.code)
                r = err_set(err, (enum err_code)n->end.code, "%s", n->end.text);
        }
        mail_free(m);
    }
    return r < 0 ? r : buf_check(&ret->body, err);
}

int oauth_send(const struct oauth *o, const char *url, const char *type, struct str body,
               const struct strv *headers, struct oauth_answer *ret, struct err *err)
{
    struct net_request request = {
        .method = body.ptr ? "POST" : "GET",
        .url = url,
        .body = BUF_INIT((size_t)1 << 20),
        .total_ms = OAUTH_REQUEST_MS,
        .max_bytes = ret->body.max,
    };
    struct mailbox *mail;
    struct net_stream *stream;
    int r = -1;

    if (check_url(o, url, err) < 0)
        return -1;
    mail = mailbox_new();
    buf_add(&request.body, body);
    strv_adds(&request.headers, "user-agent: tenax/" TENAX_VERSION);
    strv_adds(&request.headers, "accept: application/json, text/event-stream");
    if (type)
        strv_addf(&request.headers, "content-type: %s", type);
    if (headers)
        strv_add_all(&request.headers, headers);
    stream = net_start(o->net, &request, mail, err);
    if (stream)
        r = read_answer(stream, mail, o->cancel, ret, err);
    net_request_release(&request);
    net_stream_unref(stream);
    mailbox_close(mail);
    mailbox_unref(mail);
    return r;
}

int oauth_get_json(const struct oauth *o, const char *url, struct arena *arena,
                   const struct json **ret, struct err *err)
{
    CLEANUP(oauth_answer_release) struct oauth_answer answer = OAUTH_ANSWER_INIT;
    CLEANUP(strv_release) struct strv headers = STRV_INIT;

    *ret = NULL;
    strv_adds(&headers, "mcp-protocol-version: 2025-11-25");
    if (oauth_send(o, url, NULL, (struct str){0}, &headers, &answer, err) < 0)
        return -1;
    if (answer.status != 200)
        return 0;
    if (json_parse_copy(arena, buf_str(&answer.body), ret, NULL, NULL) < 0 ||
        !json_is(*ret, JSON_OBJECT))
        return err_set(err, ERR_PROTOCOL, "%.300s answered with something that is not JSON", url);
    return 0;
}
