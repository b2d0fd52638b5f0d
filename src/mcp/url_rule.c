/*
 * Both sides are split in scheme, host and path, and compared part by part. Pure; any thread.
 */
#include "mcp/url_rule.h"

#include "base/buf.h"

#define MAX_URL 8192

struct parts {
    struct buf scheme, host; /* in lower case; host without a port that goes without saying */
    struct str path;         /* with the query */
};

static bool glob(struct str pattern, struct str text)
{
    size_t p = 0, t = 0, star = pattern.len, from = 0;

    while (t < text.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.len && pattern.ptr[p] == text.ptr[t]) {
            p++;
            t++;
        } else if (star < pattern.len) { /* the last star takes one more */
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}

static void add_lower(struct buf *ret, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        buf_addc(ret, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
    }
}

static void parts_of(struct str text, struct parts *ret)
{
    size_t at = str_find(text, STR("://"));
    struct str rest = str_from(text, at + 3);
    struct str own;
    size_t end = 0;

    *ret = (struct parts){.scheme = BUF_INIT(MAX_URL), .host = BUF_INIT(MAX_URL)};
    add_lower(&ret->scheme, str_first(text, at));
    while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?' && rest.ptr[end] != '#')
        end++;
    add_lower(&ret->host, str_first(rest, end));
    own = str_is(buf_str(&ret->scheme), "http") ? STR(":80") : STR(":443");
    if (str_ends(buf_str(&ret->host), own))
        ret->host.len -= own.len;
    if (str_ends(buf_str(&ret->host), STR("."))) /* the same host, written out */
        ret->host.len--;
    ret->path = str_from(rest, end);
}

static void parts_release(struct parts *p)
{
    buf_release(&p->scheme);
    buf_release(&p->host);
}

bool url_rule_matches(struct str pattern, struct str url)
{
    CLEANUP(parts_release) struct parts want = {0};
    CLEANUP(parts_release) struct parts is = {0};
    struct str want_host, host;

    parts_of(url, &is);
    if (str_find(pattern, STR("://")) >= pattern.len) { /* of the whole URL: "*" */
        CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_URL);

        buf_addf(&text, "%s://%s", buf_cstr(&is.scheme), buf_cstr(&is.host));
        buf_add(&text, is.path.len ? is.path : STR("/"));
        return !text.over && glob(pattern, buf_str(&text));
    }
    parts_of(pattern, &want);
    want_host = buf_str(&want.host);
    host = buf_str(&is.host);
    if (str_ends(want_host, STR(":*"))) {
        size_t colon = host.len;

        while (colon && host.ptr[colon - 1] >= '0' && host.ptr[colon - 1] <= '9')
            colon--;
        if (colon && colon < host.len && host.ptr[colon - 1] == ':')
            host = str_first(host, colon - 1);
        want_host.len -= 2;
    }
    if (!glob(buf_str(&want.scheme), buf_str(&is.scheme)) || !glob(want_host, host))
        return false;
    if (!want.path.len) /* a star at the end takes the path, too */
        return str_ends(pattern, STR("*")) || is.path.len <= 1;
    return glob(want.path, is.path.len ? is.path : STR("/"));
}
