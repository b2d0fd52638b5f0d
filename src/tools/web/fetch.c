/*
 * Fetching a page. The network thread does the work; the tool thread waits on a separate mailbox.
 * Redirects are followed here, because this code knows which host the permission was for.
 */
#include "tools/web/fetch.h"

#include "base/err.h"
#include "base/mem.h"
#include "net/net.h"
#include "net/url.h"
#include "tools/web/html.h"

#define CONNECT_MS (10 * 1000)
#define IDLE_MS (20 * 1000)
#define TOTAL_MS (60 * 1000)

void fetch_release(struct fetch *f)
{
    buf_release(&f->url);
    buf_release(&f->moved);
    buf_release(&f->type);
    buf_release(&f->body);
}

/* Addresses. */

static bool has_port(const struct url *u, struct str text)
{
    return u->host.ptr + u->host.len < text.ptr + text.len && u->host.ptr[u->host.len] == ':';
}

/* "example.com", but neither "localhost" nor an address. */
static bool is_domain(struct str host)
{
    char last = host.len ? host.ptr[host.len - 1] : '\0';

    return str_chr(host, '.') < host.len && host.ptr[0] != '[' && !(last >= '0' && last <= '9');
}

int fetch_address(struct str url, struct buf *ret, struct err *err)
{
    struct url parsed;

    url = str_trim(url);
    url = str_first(url, str_chr(url, '#'));
    if (url.len > FETCH_MAX_URL)
        return err_set(err, ERR_BAD_INPUT, "the URL is longer than %d bytes", FETCH_MAX_URL);
    if (url_parse(url, &parsed, err) < 0)
        return -1;
    buf_adds(ret, parsed.tls || (is_domain(parsed.host) && !has_port(&parsed, url)) ? "https://"
                                                                                    : "http://");
    buf_add(ret, str_make(parsed.host.ptr, (size_t)(url.ptr + url.len - parsed.host.ptr)));
    return buf_check(ret, err);
}

struct str fetch_host(struct str url)
{
    struct url parsed;

    url = str_trim(url);
    url = str_first(url, str_chr(url, '#'));
    return url_parse(url, &parsed, /*err=*/NULL) == 0 ? parsed.host : STR("");
}

static struct str without_www(struct str host)
{
    return str_eq_nocase(str_first(host, 4), STR("www.")) ? str_from(host, 4) : host;
}

/* A permission for one holds for the other. */
static bool is_same_place(struct str a, struct str b)
{
    struct url from;
    struct url to;

    if (url_parse(a, &from, NULL) < 0 || url_parse(b, &to, NULL) < 0)
        return false;
    if (from.tls && !to.tls)
        return false;
    return str_eq_nocase(without_www(from.host), without_www(to.host)) &&
           (from.port == to.port || (from.port == 80 && to.port == 443));
}

/* Answers. */

static bool is_one_of(struct str type, const char *const *list)
{
    for (; *list; list++) {
        if (str_eq_nocase(type, str_of(*list)))
            return true;
    }
    return false;
}

static bool ends_nocase(struct str s, struct str end)
{
    return s.len >= end.len && str_eq_nocase(str_from(s, s.len - end.len), end);
}

/* Without a type it is known only when the body is here. */
static enum fetch_kind kind_of(struct str content_type)
{
    static const char *const html[] = {"text/html", "application/xhtml+xml", NULL};
    static const char *const text[] = {
        "application/json",        "application/xml",
        "application/javascript",  "application/ecmascript",
        "application/x-ndjson",    "application/x-sh",
        "application/yaml",        "application/x-yaml",
        "application/toml",        "application/sql",
        "application/graphql",     "application/x-tex",
        "application/x-httpd-php", NULL,
    };
    struct str type = str_trim(str_first(content_type, str_chr(content_type, ';')));

    if (is_one_of(type, html))
        return FETCH_HTML;
    if (!type.len || is_one_of(type, text) || str_eq_nocase(str_first(type, 5), STR("text/")) ||
        ends_nocase(type, STR("+json")) || ends_nocase(type, STR("+xml")))
        return FETCH_TEXT;
    return FETCH_OTHER;
}

static enum fetch_kind look_at(struct str body)
{
    struct str start = str_first(str_trim(str_first(body, 2000)), 1000);

    if (str_chr(start, '\0') < start.len)
        return FETCH_OTHER;
    return str_eq_nocase(str_first(start, 9), STR("<!doctype")) ||
                   str_find_nocase(start, STR("<html")) < start.len
               ? FETCH_HTML
               : FETCH_TEXT;
}

static struct net_stream *start(struct net *net, const char *url, bool allow_private,
                                struct mailbox *to, struct err *err)
{
    struct net_request r = {
        .method = "GET",
        .url = url,
        .connect_ms = CONNECT_MS,
        .idle_ms = IDLE_MS,
        .total_ms = TOTAL_MS,
        .max_bytes = FETCH_MAX_BYTES,
        .public_only = !allow_private,
    };
    struct net_stream *s;

    strv_adds(&r.headers, "user-agent: tenax/" TENAX_VERSION);
    strv_adds(&r.headers, "accept: text/markdown, text/html;q=0.9, text/plain;q=0.9, "
                          "application/json;q=0.9, */*;q=0.5");
    s = net_start(net, &r, to, err);
    net_request_release(&r);
    return s;
}

/* 1: this mail was the end, or enough. */
static int take_mail(struct net_mail *m, struct fetch *f, struct buf *location, struct err *err)
{
    switch (m->what) {
    case NET_HEAD:
        f->status = m->status;
        buf_add(&f->type, str_clip(net_mail_header(&m->headers, "content-type"), 200));
        buf_add(location, net_mail_header(&m->headers, "location"));
        f->kind = kind_of(buf_str(&f->type));
        return f->kind == FETCH_OTHER || (f->status >= 300 && f->status < 400);
    case NET_BYTES:
        buf_add(&f->body, buf_str(&m->bytes));
        net_used(m->stream, m->bytes.len);
        return 0;
    default:
        if (m->end.code)
            return err_set(err, m->end.code, "%s", m->end.text);
        return 1;
    }
}

/* One request, without following. */
static int fetch_once(struct net *net, bool allow_private, struct cancel *cancel, struct fetch *f,
                      struct buf *location, struct err *err)
{
    struct mailbox *mb = mailbox_new();
    struct net_stream *s = start(net, buf_cstr(&f->url), allow_private, mb, err);
    int done = s ? 0 : -1;

    while (done == 0) {
        struct mail *m = NULL;

        done = mailbox_take(mb, cancel, /*deadline_ms=*/-1, &m, err);
        if (done == 0)
            done = take_mail((struct net_mail *)m, f, location, err);
        if (m)
            mail_free(m);
    }
    net_stream_unref(s);
    mailbox_close(mb);
    mailbox_unref(mb);
    if (done < 0)
        return -1;
    if (!f->type.len)
        f->kind = look_at(buf_str(&f->body));
    return 0;
}

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static void forget_answer(struct fetch *f)
{
    buf_clear(&f->type);
    buf_clear(&f->body);
}

int fetch_run(struct net *net, struct str url, bool allow_private, struct cancel *cancel,
              struct fetch *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf location = BUF_INIT(8 * FETCH_MAX_URL);
    CLEANUP(buf_release) struct buf absolute = BUF_INIT(8 * FETCH_MAX_URL);
    CLEANUP(buf_release) struct buf next = BUF_INIT(8 * FETCH_MAX_URL);

    if (!net)
        return err_set(err, ERR_UNSUPPORTED, "this run has no network");
    buf_add(&ret->url, url);
    for (int moves = 0;; moves++) {
        buf_clear(&location);
        buf_clear(&absolute);
        buf_clear(&next);
        if (fetch_once(net, allow_private, cancel, ret, &location, err) < 0)
            return -1;
        if (!is_redirect(ret->status) || !location.len)
            return 0;
        html_resolve(buf_str(&ret->url), buf_str(&location), &absolute);
        if (fetch_address(buf_str(&absolute), &next, err) < 0)
            return err_prefix(err, "the page has moved to an address that cannot be used");
        if (!is_same_place(buf_str(&ret->url), buf_str(&next))) {
            buf_add(&ret->moved, buf_str(&next));
            return 0;
        }
        if (moves == FETCH_MAX_MOVES)
            return err_set(err, ERR_PROTOCOL, "the page has moved more than %d times",
                           FETCH_MAX_MOVES);
        forget_answer(ret);
        buf_clear(&ret->url);
        buf_add(&ret->url, buf_str(&next));
    }
}
