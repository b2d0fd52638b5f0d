/*
 * proxy_head: a request line and its fields, taken apart and put together again. Nothing of the
 * client's bytes goes on but names and values that were looked at. Pure; any thread.
 */
#include "net/proxy_head.h"

#include "base/buf.h"
#include "base/err.h"
#include "net/net.h"

/* Between a client and us alone, or said anew by us. */
static const char dropped_fields[] =
    "host connection keep-alive proxy-connection proxy-authorization proxy-authenticate te trailer "
    "upgrade content-length";

size_t proxy_head_len(struct str bytes)
{
    for (size_t i = 0; i + 1 < bytes.len; i++) {
        if (bytes.ptr[i] != '\n')
            continue;
        if (bytes.ptr[i + 1] == '\n')
            return i + 2;
        if (i + 2 < bytes.len && bytes.ptr[i + 1] == '\r' && bytes.ptr[i + 2] == '\n')
            return i + 3;
    }
    return 0;
}

/* The next line without its end; false when there is none. */
static bool next_line(struct str *rest, struct str *ret)
{
    if (!str_cut(rest, '\n', ret))
        return false;
    if (ret->len && ret->ptr[ret->len - 1] == '\r')
        ret->len--;
    return true;
}

static bool is_clean(struct str line)
{
    for (size_t i = 0; i < line.len; i++) {
        unsigned char c = (unsigned char)line.ptr[i];

        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static int bad(struct err *err, const char *what)
{
    err_set(err, ERR_BAD_INPUT, "%s", what);
    return 400;
}

static bool is_version(struct str text)
{
    return str_is(text, "HTTP/1.1") || str_is(text, "HTTP/1.0");
}

/* "http://host:port/path" */
static int parse_plain(struct str target, struct proxy_head *h, struct err *err)
{
    struct str rest = str_from(target, 7);
    size_t len = 0;

    if (!str_eq_nocase(str_first(target, 7), STR("http://"))) {
        err_set(err, ERR_BAD_INPUT, "this proxy takes CONNECT and http:// alone");
        return 501;
    }
    while (len < rest.len && rest.ptr[len] != '/' && rest.ptr[len] != '?')
        len++;
    if (str_chr(target, '#') < target.len)
        return bad(err, "the target has a fragment");
    h->port = 80;
    if (host_port_parse(str_first(rest, len), &h->host, &h->port, err) < 0)
        return 400;
    h->path = str_from(rest, len);
    return 0;
}

static int parse_line(struct str line, struct proxy_head *h, struct err *err)
{
    struct str target;
    struct str version;

    if (!is_clean(line) || !str_cut(&line, ' ', &h->method) || !str_cut(&line, ' ', &target) ||
        !str_cut(&line, ' ', &version) || line.len || !is_version(version) ||
        !net_is_token(h->method))
        return bad(err, "this is not a request of HTTP/1.1");
    h->is_tunnel = str_is(h->method, "CONNECT");
    if (!h->is_tunnel)
        return parse_plain(target, h, err);
    h->port = -1;
    if (host_port_parse(target, &h->host, &h->port, err) < 0)
        return 400;
    return h->port < 0 ? bad(err, "CONNECT names no port") : 0;
}

/* A field's name and its value; the value is trimmed. */
static bool split_field(struct str line, struct str *ret_name, struct str *ret_value)
{
    if (!is_clean(line) || str_chr(line, ':') == line.len || !str_cut(&line, ':', ret_name))
        return false;
    *ret_value = str_trim(line);
    return net_is_token(*ret_name);
}

static int parse_length(struct str value, int64_t *ret, struct err *err)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9')
            return bad(err, "Content-Length is not a number");
    }
    if (value.len > 18 || str_to_i64(value, ret, err) < 0)
        return bad(err, "Content-Length is not a number");
    return 0;
}

static int parse_fields(struct proxy_head *h, struct err *err)
{
    struct str rest = h->fields;
    bool has_length = false;
    struct str line;

    while (next_line(&rest, &line) && line.len) {
        struct str name;
        struct str value;

        if (!split_field(line, &name, &value))
            return bad(err, "a header field cannot be read");
        if (h->is_tunnel)
            continue;
        if (str_eq_nocase(name, STR("transfer-encoding"))) {
            err_set(err, ERR_BAD_INPUT, "a plain request has to say the length of its body");
            return 411;
        }
        if (!str_eq_nocase(name, STR("content-length")))
            continue;
        if (has_length)
            return bad(err, "there are two lengths");
        has_length = true;
        if (parse_length(value, &h->body_bytes, err))
            return 400;
    }
    return 0;
}

int proxy_head_parse(struct str head, struct proxy_head *ret, struct err *err)
{
    struct proxy_head h = {0};
    struct str rest = head;
    struct str line;
    int status;

    if (!next_line(&rest, &line))
        return bad(err, "there is no request");
    status = parse_line(line, &h, err);
    if (status)
        return status;
    h.fields = rest;
    status = parse_fields(&h, err);
    if (!status)
        *ret = h;
    return status;
}

void proxy_head_target(const struct proxy_head *h, struct buf *to)
{
    buf_addf(to, h->host.is_ipv6 ? "[%s]:%d" : "%s:%d", h->host.text, h->port);
}

static void write_host(const struct proxy_head *h, struct buf *to)
{
    if (h->port != 80)
        proxy_head_target(h, to);
    else
        buf_addf(to, h->host.is_ipv6 ? "[%s]" : "%s", h->host.text);
}

static bool is_dropped(struct str name)
{
    struct str rest = STR(dropped_fields);
    struct str word;

    while (str_cut(&rest, ' ', &word)) {
        if (str_eq_nocase(word, name))
            return true;
    }
    return false;
}

void proxy_head_write(const struct proxy_head *h, bool by_proxy, struct buf *to)
{
    struct str rest = h->fields;
    struct str line;

    buf_addf(to, "%.*s ", STR_ARG(h->method));
    if (by_proxy) {
        buf_adds(to, "http://");
        write_host(h, to);
    }
    if (!h->path.len || h->path.ptr[0] != '/')
        buf_addc(to, '/');
    buf_add(to, h->path);
    buf_adds(to, " HTTP/1.1\r\nHost: ");
    write_host(h, to);
    buf_adds(to, "\r\n");
    while (next_line(&rest, &line) && line.len) {
        struct str name;
        struct str value;

        if (split_field(line, &name, &value) && !is_dropped(name))
            buf_addf(to, "%.*s: %.*s\r\n", STR_ARG(name), STR_ARG(value));
    }
    if (h->body_bytes || str_is(h->method, "POST") || str_is(h->method, "PUT"))
        buf_addf(to, "Content-Length: %lld\r\n", (long long)h->body_bytes);
    buf_adds(to, "Connection: close\r\n");
}

int proxy_answer_status(struct str head)
{
    struct str digits = str_first(str_from(head, 9), 3);
    int64_t status;

    if (!str_starts(head, STR("HTTP/1.")) || head.len < 12 || head.ptr[8] != ' ' ||
        str_to_i64(digits, &status, /*err=*/NULL) < 0 || status < 100)
        return -1;
    return (int)status;
}
