/*
 * A server at a URL: each message is a POST, answered by one JSON text or by a stream of them. A
 * stream that ends before the answer is resumed where it broke off. A further stream, a GET, brings
 * unsolicited messages of the server.
 *
 * The older way (2024-11-05) has one stream for all that comes, whose first event names the address
 * for messages: used for servers of type sse, and where the first POST is refused as they do.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/vec.h"
#include "mcp/credentials.h"
#include "mcp/oauth.h"
#include "mcp/server_conf.h"
#include "mcp/token.h"
#include "mcp/wire.h"
#include "net/net.h"
#include "net/sse.h"
#include "net/url.h"
#include "sync/mailbox.h"

#define HTTP_RETRY_MS 1000
#define HTTP_MAX_TRIES 5
#define HTTP_IDLE_MS (4LL * 3600 * 1000)
#define HTTP_LEAVE_MS 300 /* for the request that ends the session */

struct http_exchange {
    struct wire_http *wire;
    struct net_stream *stream; /* NULL: waits to be taken up again */
    int64_t id;                /* of the request that it answers; 0: of none */
    bool is_get, is_stream, is_answered;
    int status;
    int tries;      /* in a row without a byte of an event */
    int64_t due_ms; /* without a stream: when it is taken up again */
    struct buf body;
    struct sse *sse;
    struct buf last_id;
    int64_t retry_ms;
    struct buf challenge; /* WWW-Authenticate of an error */
    struct buf sent;      /* the message, as long as it may have to be sent once more */
    struct strv headers;  /* of the message alone */
};

struct wire_http {
    struct wire wire;
    struct strv headers;
    struct credentials *credentials; /* that are being made or were; NULL: none were needed */
    struct buf token;                /* among the headers; or empty */
    bool is_waiting;                 /* for them: nothing is sent */
    bool was_renewed;                /* and nothing has worked since */
    struct buf session;
    bool is_older; /* 2024-11-05 */
    bool is_over;
    char *post_url; /* older: NULL until it is known */
    VEC(struct http_exchange *) exchanges;
};

static void exchange_free(struct http_exchange *x)
{
    net_stream_unref(x->stream);
    sse_free(x->sse);
    buf_release(&x->body);
    buf_release(&x->last_id);
    buf_release(&x->challenge);
    buf_release(&x->sent);
    strv_release(&x->headers);
    free(x);
}

static void http_drop(struct wire_http *h, struct http_exchange *x)
{
    for (size_t i = 0; i < h->exchanges.len; i++) {
        if (h->exchanges.ptr[i] == x) {
            h->exchanges.ptr[i] = h->exchanges.ptr[--h->exchanges.len];
            exchange_free(x);
            return;
        }
    }
}

static void http_lost(struct wire_http *h, enum err_code code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
static void http_lost(struct wire_http *h, enum err_code code, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    struct err err = {0};
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    if (h->is_over)
        return;
    h->is_over = true;
    err_set(&err, code, "%s", buf_cstr(&text));
    h->wire.spec.lost(h->wire.spec.arg, &err);
}

static int http_start(struct http_exchange *x, const char *method, const char *url, struct str body,
                      struct err *err)
{
    struct wire_http *h = x->wire;
    struct net_request r = {
        .method = method,
        .url = url,
        .body = BUF_INIT(WIRE_MAX_MESSAGE),
        .idle_ms = HTTP_IDLE_MS,
        .max_bytes = x->is_get ? (size_t)1 << 40 : WIRE_MAX_MESSAGE * 4,
    };

    buf_add(&r.body, body);
    strv_adds(&r.headers, "user-agent: tenax/" TENAX_VERSION);
    strv_adds(&r.headers, x->is_get ? "accept: text/event-stream"
                                    : "accept: application/json, text/event-stream");
    if (body.len)
        strv_adds(&r.headers, "content-type: application/json");
    strv_add_all(&r.headers, &x->headers);
    if (h->wire.version[0] && !h->wire.is_modern)
        strv_addf(&r.headers, "mcp-protocol-version: %s", h->wire.version);
    if (h->session.len)
        strv_addf(&r.headers, "mcp-session-id: %s", buf_cstr(&h->session));
    if (x->last_id.len)
        strv_addf(&r.headers, "last-event-id: %s", buf_cstr(&x->last_id));
    strv_add_all(&r.headers, &h->headers);
    x->status = 0;
    x->is_stream = false;
    buf_clear(&x->body);
    x->stream = net_start(h->wire.spec.net, &r, h->wire.spec.mail, err);
    net_request_release(&r);
    return x->stream ? 0 : -1;
}

static struct http_exchange *http_exchange_new(struct wire_http *h, int64_t id, bool is_get)
{
    struct http_exchange *x = mem_zalloc(sizeof(*x));

    x->wire = h;
    x->id = id;
    x->is_get = is_get;
    x->retry_ms = -1;
    buf_init(&x->body, WIRE_MAX_MESSAGE);
    buf_init(&x->last_id, 2048);
    buf_init(&x->challenge, 8192);
    buf_init(&x->sent, WIRE_MAX_MESSAGE);
    vec_push(&h->exchanges, x);
    return x;
}

/* ---- What comes ---- */

/* The older way: the address for messages, of the same server. */
static int take_endpoint(struct wire_http *h, struct str path, struct err *err)
{
    CLEANUP(buf_release) struct buf url = BUF_INIT(8192);
    struct str base = str_of(h->wire.spec.server->url);
    struct url ours, theirs;

    if (url_parse(base, &ours, err) < 0)
        return -1;
    if (!str_starts(path, STR("http://")) && !str_starts(path, STR("https://"))) {
        size_t host_end = (size_t)(ours.host.ptr + ours.host.len - base.ptr);

        buf_add(&url, str_first(base, host_end + str_chr(str_from(base, host_end), '/')));
        if (!path.len || path.ptr[0] != '/')
            buf_addc(&url, '/');
    }
    buf_add(&url, path);
    if (url_parse(buf_str(&url), &theirs, err) < 0)
        return -1;
    if (!str_eq_nocase(ours.host, theirs.host) || ours.port != theirs.port ||
        ours.tls != theirs.tls)
        return err_set(err, ERR_DENIED, "it wants messages to go to another server");
    mem_freep(&h->post_url);
    h->post_url = buf_take(&url);
    return 0;
}

static int take_event(struct str name, struct str data, void *arg, struct err *err)
{
    struct http_exchange *x = arg;
    struct wire_http *h = x->wire;
    int64_t answered;

    x->tries = 0;
    if (h->is_older && str_is(name, "endpoint")) {
        if (take_endpoint(h, data, err) < 0)
            return -1;
        h->wire.due_ms = clock_mono_ms(); /* tick() sends what waits for it */
        return 0;
    }
    if (name.len && !str_is(name, "message"))
        return 0;
    answered = h->wire.spec.message(h->wire.spec.arg, data);
    x->is_answered = x->is_answered || (x->id && answered == x->id);
    return 0;
}

static void take_head(struct http_exchange *x, const struct net_mail *m)
{
    struct wire_http *h = x->wire;
    struct str type = net_mail_header(&m->headers, "content-type");
    struct str session = net_mail_header(&m->headers, "mcp-session-id");

    x->status = m->status;
    buf_clear(&x->challenge);
    if (m->status == 401 || m->status == 403)
        buf_add(&x->challenge, net_mail_header(&m->headers, "www-authenticate"));
    if (m->status < 300)
        h->was_renewed = false;
    x->is_stream = m->status == 200 &&
                   str_find_nocase(str_first(type, 40), STR("text/event-stream")) < type.len;
    if (m->status < 300 && session.len && session.len < 1024 && !h->session.len &&
        !h->wire.is_modern)
        buf_add(&h->session, session);
    if (x->is_stream && !x->sse)
        x->sse = sse_new(WIRE_MAX_MESSAGE, take_event, x);
}

static void exchange_undone(struct http_exchange *x, enum err_code code, const char *text)
{
    struct err err = {0};

    err_set(&err, code, "%s", text);
    if (x->id && !x->is_answered)
        x->wire->wire.spec.undone(x->wire->wire.spec.arg, x->id, &err);
}

/* Streams are taken up again: the server's own always, one that owes an answer if it said from
 * where. */
static bool exchange_waits(struct http_exchange *x)
{
    struct wire_http *h = x->wire;
    bool may = !h->wire.is_modern && (x->id ? x->last_id.len > 0 : x->is_get && !h->is_older);

    if (x->is_answered || !may || x->tries >= HTTP_MAX_TRIES)
        return false;
    net_stream_unref(TAKE_PTR(x->stream));
    x->is_get = true;
    x->due_ms =
        clock_mono_ms() + (x->retry_ms >= 0 ? x->retry_ms : (int64_t)HTTP_RETRY_MS << x->tries);
    x->tries++;
    if (!h->wire.due_ms || x->due_ms < h->wire.due_ms)
        h->wire.due_ms = x->due_ms;
    return true;
}

static int start_credentials(struct wire_http *h, struct str stale, struct err *err)
{
    struct credentials_spec spec = {
        .server = h->wire.spec.server,
        .home = h->wire.spec.home,
        .dir = h->wire.spec.dir,
        .env = h->wire.spec.env,
        .net = h->wire.spec.net,
        .to = h->wire.spec.mail,
    };

    credentials_free(TAKE_PTR(h->credentials));
    h->credentials = credentials_start(&spec, stale, err);
    h->is_waiting = h->credentials;
    return h->credentials ? 0 : -1;
}

/* 401: helper and token are asked once more, and the request is sent again. */
static bool exchange_awaits_credentials(struct http_exchange *x)
{
    struct wire_http *h = x->wire;

    if (!h->credentials || (h->was_renewed && !h->is_waiting))
        return false;
    h->was_renewed = true;
    if (!h->is_waiting && start_credentials(h, buf_str(&h->token), NULL) < 0)
        return false;
    net_stream_unref(TAKE_PTR(x->stream));
    x->due_ms = INT64_MAX;
    return true;
}

/* 403: what the token may do is not enough. */
static bool exchange_wants_scope(struct http_exchange *x, struct buf *ret_text)
{
    CLEANUP(buf_release) struct buf error = BUF_INIT(8192);
    CLEANUP(buf_release) struct buf scope = BUF_INIT(sizeof(x->wire->wire.scope) - 1);
    struct str challenge = buf_str(&x->challenge);

    oauth_challenge(challenge, "error", &error);
    oauth_challenge(challenge, "scope", &scope);
    if (!str_is(buf_str(&error), "insufficient_scope"))
        return false;
    memcpy(x->wire->wire.scope, buf_cstr(&scope), scope.len + 1);
    buf_addf(ret_text, "the login does not cover this; the server wants the scope %s",
             buf_cstr(&scope));
    return true;
}

static void become_older(struct wire_http *h, struct http_exchange *x)
{
    struct err err = {0};
    struct http_exchange *get;

    h->is_older = true;
    net_stream_unref(TAKE_PTR(x->stream));
    x->due_ms = INT64_MAX; /* until the address is known */
    get = http_exchange_new(h, 0, /*is_get=*/true);
    if (http_start(get, "GET", h->wire.spec.server->url, STR(""), &err) < 0)
        http_lost(h, err.code, "%s", err.text);
}

static void take_end(struct http_exchange *x, const struct net_mail *m)
{
    struct wire_http *h = x->wire;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    int status = x->status;

    if (x->sse) {
        if (!m->end.code)
            (void)sse_end(x->sse, NULL);
        if (sse_last_id(x->sse).len) {
            buf_clear(&x->last_id);
            buf_add(&x->last_id, sse_last_id(x->sse));
        }
        if (sse_retry_ms(x->sse) >= 0)
            x->retry_ms = sse_retry_ms(x->sse);
        sse_free(TAKE_PTR(x->sse));
    }
    if (status == 401) {
        if (exchange_awaits_credentials(x))
            return;
        http_lost(h, ERR_AUTH, "the server wants a login: tenax mcp login %s",
                  h->wire.spec.server->name);
    } else if (m->end.code && !x->is_stream) {
        if (x->is_get && exchange_waits(x))
            return;
        http_lost(h, m->end.code, "%s", m->end.text);
    } else if (status >= 400 && status < 500 && !h->wire.version[0] && !x->is_get && x->id &&
               !h->is_older && !h->wire.is_modern && status != 403 && status != 429) {
        become_older(h, x);
        return;
    } else if (status == 404 && h->session.len && !x->is_get) {
        h->wire.has_ended_session = true;
        h->wire.refused_id = x->id;
        http_lost(h, ERR_NETWORK, "the server has ended the session");
    } else if (x->is_stream) {
        if (exchange_waits(x))
            return;
        if (h->is_older && x->is_get)
            http_lost(h, ERR_NETWORK, "the server has closed the connection");
        exchange_undone(x, ERR_NETWORK, "the stream ended without an answer");
    } else if (x->is_get && h->is_older) {
        http_lost(h, ERR_PROTOCOL,
                  "the server answered with HTTP %d, and speaks no older protocol either", status);
    } else if (x->is_get && !x->id) {
        ; /* 405: the server says nothing by itself */
    } else if (x->body.len && x->body.ptr[0] == '{' &&
               h->wire.spec.message(h->wire.spec.arg, buf_str(&x->body)) == x->id) {
        x->is_answered = true;
    } else if (status >= 300 || (x->id && !h->is_older)) {
        struct str body = str_clip(str_trim(buf_str(&x->body)), 200);
        bool wants_scope = status == 403 && exchange_wants_scope(x, &text);

        if (!wants_scope)
            buf_addf(&text, "the server answered with HTTP %d%s%.*s", status, body.len ? ": " : "",
                     STR_ARG(body));
        exchange_undone(x,
                        wants_scope     ? ERR_AUTH
                        : status == 403 ? ERR_DENIED
                                        : ERR_PROTOCOL,
                        buf_cstr(&text));
    }
    http_drop(h, x);
}

static int http_post(struct wire_http *h, struct http_exchange *x, struct err *err)
{
    const char *url = h->is_older ? h->post_url : h->wire.spec.server->url;

    x->is_get = false;
    return http_start(x, "POST", url, buf_str(&x->sent), err);
}

static void take_credentials(struct wire_http *h, struct credentials_mail *m)
{
    struct err err = {0};

    if (m->from != h->credentials)
        return; /* of an older wire */
    h->is_waiting = false;
    if (m->err.code) {
        http_lost(h, (enum err_code)m->err.code, "%s", m->err.text);
        return;
    }
    strv_release(&h->headers);
    strv_add_all(&h->headers, &m->headers);
    buf_move(&h->token, &m->token);
    for (size_t i = 0; i < h->exchanges.len && !h->is_over; i++) {
        struct http_exchange *x = h->exchanges.ptr[i];
        int r = 0;

        if (x->stream || x->due_ms != INT64_MAX)
            continue;
        if (x->is_get)
            r = http_start(x, "GET", h->wire.spec.server->url, STR(""), &err);
        else if (!h->is_older || h->post_url)
            r = http_post(h, x, &err);
        if (r < 0)
            http_lost(h, (enum err_code)err.code, "%s", err.text);
    }
}

static bool http_mail(struct wire *w, struct mail *mail)
{
    struct wire_http *h = (struct wire_http *)w;
    struct net_mail *m = (struct net_mail *)mail;
    struct http_exchange *x = NULL;
    struct err err = {0};

    if (mail->kind == &credentials_mail_kind) {
        take_credentials(h, (struct credentials_mail *)mail);
        return true;
    }
    if (mail->kind != &net_mail_kind)
        return false;
    VEC_EACH(&h->exchanges, it) {
        if ((*it)->stream == m->stream)
            x = *it;
    }
    if (!x)
        return true; /* of one that was dropped */
    switch (m->what) {
    case NET_HEAD:
        take_head(x, m);
        break;
    case NET_BYTES:
        net_used(m->stream, m->bytes.len);
        if (!x->is_stream)
            buf_add(&x->body, buf_str(&m->bytes));
        else if (sse_feed(x->sse, buf_str(&m->bytes), &err) < 0)
            http_lost(h, err.code, "%s", err.text);
        break;
    default:
        take_end(x, m);
        break;
    }
    return true;
}

/* ---- What goes ---- */

static int http_send(struct wire *w, struct str message, int64_t id, const struct strv *headers,
                     struct err *err)
{
    struct wire_http *h = (struct wire_http *)w;
    struct http_exchange *x = http_exchange_new(h, id, /*is_get=*/false);

    if (headers)
        strv_add_all(&x->headers, headers);
    buf_add(&x->sent, message);
    if (buf_check(&x->sent, err) < 0) {
        http_drop(h, x);
        return -1;
    }
    if (h->is_waiting || (h->is_older && !h->post_url)) {
        x->due_ms = INT64_MAX;
        return 0;
    }
    if (http_post(h, x, err) < 0) {
        http_drop(h, x);
        return -1;
    }
    return 0;
}

/* Streams whose time has come, and messages that waited for an address. */
static void http_tick(struct wire *w)
{
    struct wire_http *h = (struct wire_http *)w;
    int64_t now_ms = clock_mono_ms();

    w->due_ms = 0;
    for (size_t i = 0; i < h->exchanges.len && !h->is_over; i++) {
        struct http_exchange *x = h->exchanges.ptr[i];
        struct err err = {0};
        int r = 0;

        if (x->stream || h->is_waiting)
            continue;
        if (!x->is_get && h->post_url)
            r = http_post(h, x, &err);
        else if (x->is_get && x->due_ms <= now_ms)
            r = http_start(x, "GET", h->wire.spec.server->url, STR(""), &err);
        else if (x->is_get && x->due_ms != INT64_MAX && (!w->due_ms || x->due_ms < w->due_ms))
            w->due_ms = x->due_ms;
        if (r < 0)
            http_lost(h, err.code, "%s", err.text);
    }
}

static void http_ready(struct wire *w)
{
    struct wire_http *h = (struct wire_http *)w;
    struct http_exchange *x;

    if (h->is_older || w->is_modern)
        return;
    x = http_exchange_new(h, 0, /*is_get=*/true);
    if (http_start(x, "GET", w->spec.server->url, STR(""), NULL) < 0)
        http_drop(h, x);
}

/* Closing its stream is what cancels a request, where requests stand for themselves. */
static bool http_drop_request(struct wire *w, int64_t id)
{
    struct wire_http *h = (struct wire_http *)w;

    if (!w->is_modern)
        return false;
    for (size_t i = 0; i < h->exchanges.len; i++) {
        if (h->exchanges.ptr[i]->id == id) {
            http_drop(h, h->exchanges.ptr[i]);
            break;
        }
    }
    return true;
}

static bool is_goodbye(struct wire *w, const struct mail *mail)
{
    const struct wire_http *h = (const struct wire_http *)w;
    const struct net_mail *m = (const struct net_mail *)mail;

    return mail->kind == &net_mail_kind && m->stream == h->exchanges.ptr[0]->stream &&
           m->what == NET_END;
}

static void http_free(struct wire *w)
{
    struct wire_http *h = (struct wire_http *)w;

    credentials_free(TAKE_PTR(h->credentials));
    while (h->exchanges.len)
        http_drop(h, h->exchanges.ptr[0]);
    if (h->session.len && !h->is_over &&
        http_start(http_exchange_new(h, 0, /*is_get=*/false), "DELETE", w->spec.server->url,
                   STR(""), NULL) == 0)
        wire_await(w, clock_mono_ms() + HTTP_LEAVE_MS, is_goodbye);
    while (h->exchanges.len)
        http_drop(h, h->exchanges.ptr[0]);
    vec_release(&h->exchanges);
    strv_release(&h->headers);
    buf_release(&h->session);
    buf_release(&h->token);
    mem_freep(&h->post_url);
    free(h);
}

static const struct wire_kind http_kind = {
    .send = http_send,
    .mail = http_mail,
    .ready = http_ready,
    .tick = http_tick,
    .drop = http_drop_request,
    .free = http_free,
};

struct wire *wire_http_new(const struct wire_spec *spec, struct err *err)
{
    struct wire_http *h = mem_zalloc(sizeof(*h));

    h->wire.kind = &http_kind;
    h->wire.spec = *spec;
    buf_init(&h->session, 1024);
    buf_init(&h->token, TOKEN_MAX);
    strv_add_all(&h->headers, &spec->server->headers);
    if (credentials_are_needed(
            &(struct credentials_spec){.server = spec->server, .home = spec->home}) &&
        start_credentials(h, STR(""), err) < 0) {
        h->is_over = true;
        http_free(&h->wire);
        return NULL;
    }
    if (spec->server->type == MCP_SSE && h->is_waiting) {
        struct http_exchange *x = http_exchange_new(h, 0, /*is_get=*/true);

        h->is_older = true;
        x->due_ms = INT64_MAX;
    } else if (spec->server->type == MCP_SSE) {
        struct http_exchange *x = http_exchange_new(h, 0, /*is_get=*/true);

        h->is_older = true;
        if (http_start(x, "GET", spec->server->url, STR(""), err) < 0) {
            h->is_over = true;
            http_free(&h->wire);
            return NULL;
        }
    }
    return &h->wire;
}
