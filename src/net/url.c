/*
 * URLs, checked by hand: telling a user about a bad base URL must not load libcurl. Stricter than
 * the standard where a lenient reading would send a key somewhere unexpected. Error texts show a
 * URL only up to its query, where keys live. Pure; any thread.
 */
#include "net/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/net.h"

#define URL_MAX 8192

/* With an '@' the part after the first ':' may be a password. */
static struct str shown(struct str url)
{
    char stop = str_chr(url, '@') < url.len ? ':' : '?';

    return str_clip(str_first(url, str_chr(url, stop)), 120);
}

static bool is_host_char(char c)
{
    return str_is_alnum(c) || c == '-' || c == '.' || c == '_' ||
           (unsigned char)c >= 0x80; /* international names: curl encodes */
}

/* "[::1]", with an optional zone: "[fe80::1%25eth0]". */
static bool is_ipv6_literal(struct str host)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    struct str inner = str_first(str_from(host, 1), host.len - 2);
    struct str plain = str_first(inner, str_chr(inner, '%'));

    if (plain.len >= sizeof(text))
        return false;
    memcpy(text, plain.ptr, plain.len);
    text[plain.len] = '\0';
    return inet_pton(AF_INET6, text, &address) == 1;
}

static int check_host(struct str url, struct str host, struct err *err)
{
    if (!host.len)
        return err_set(err, ERR_BAD_INPUT, "the URL '%.*s' names no host", STR_ARG(shown(url)));
    if (host.ptr[0] == '[') {
        if (host.ptr[host.len - 1] != ']' || !is_ipv6_literal(host))
            return err_set(err, ERR_BAD_INPUT, "'%.*s' is not an IPv6 address",
                           STR_ARG(str_clip(host, 80)));
        return 0;
    }
    if (host.len > 253)
        return err_set(err, ERR_BAD_INPUT, "the host of the URL is longer than 253 characters");
    for (size_t i = 0; i < host.len; i++) {
        if (!is_host_char(host.ptr[i]))
            return err_set(err, ERR_BAD_INPUT, "'%.*s' is not a host name",
                           STR_ARG(str_clip(host, 80)));
    }
    return 0;
}

int url_port_parse(struct str text, int *ret, struct err *err)
{
    int port = 0;
    bool ok = text.len >= 1 && text.len <= 5;

    for (size_t i = 0; ok && i < text.len; i++) {
        ok = text.ptr[i] >= '0' && text.ptr[i] <= '9';
        port = port * 10 + (text.ptr[i] - '0');
    }
    if (!ok || port < 1 || port > 65535)
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is not a port (1 to 65535)",
                       STR_ARG(str_clip(text, 40)));
    *ret = port;
    return 0;
}

int url_parse(struct str text, struct url *ret, struct err *err)
{
    struct url url = {0};
    struct str rest;
    size_t end = 0;
    size_t host_len;

    if (!text.len)
        return err_set(err, ERR_BAD_INPUT, "the URL is empty");
    if (text.len > URL_MAX)
        return err_set(err, ERR_BAD_INPUT, "the URL is longer than %d bytes", URL_MAX);
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] <= ' ' || text.ptr[i] == 0x7f || text.ptr[i] == '\\')
            return err_set(err, ERR_BAD_INPUT, "the URL has %s in it",
                           text.ptr[i] == ' '    ? "a space"
                           : text.ptr[i] == '\\' ? "a backslash"
                                                 : "a control character");
    }

    if (str_eq_nocase(str_first(text, 8), STR("https://")))
        url.tls = true;
    else if (!str_eq_nocase(str_first(text, 7), STR("http://")))
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is not an http:// or https:// URL",
                       STR_ARG(shown(text)));
    rest = str_from(text, url.tls ? 8 : 7);
    while (end < rest.len && !strchr("/?#", rest.ptr[end]))
        end++;
    if (str_chr(text, '#') < text.len)
        return err_set(err, ERR_BAD_INPUT, "the URL has a fragment ('#…'), which is never sent");
    rest = str_first(rest, end);
    if (str_chr(rest, '@') < rest.len)
        return err_set(err, ERR_BAD_INPUT,
                       "the URL has a user name or password in it; use a header or a key variable");

    host_len = rest.len && rest.ptr[0] == '[' ? str_chr(rest, ']') + 1 : str_chr(rest, ':');
    url.host = str_first(rest, host_len);
    url.port = url.tls ? 443 : 80;
    if (check_host(text, url.host, err) < 0)
        return -1;
    rest = str_from(rest, host_len);
    if (rest.len && url_port_parse(str_from(rest, 1), &url.port, err) < 0)
        return -1;
    *ret = url;
    return 0;
}

/* Parts "scheme://name:password@rest"; the user ends at the last '@', so that one that should have
 * been encoded is still hidden. */
static void split_proxy(struct str text, struct str *ret_scheme, struct str *ret_user,
                        struct str *ret_rest)
{
    size_t scheme = str_find(text, STR("://"));
    struct str rest = scheme < text.len ? str_from(text, scheme + 3) : text;
    size_t at = rest.len;

    while (at && rest.ptr[at - 1] != '@')
        at--;
    *ret_scheme = scheme < text.len ? str_first(text, scheme) : STR("http");
    *ret_user = str_first(rest, at ? at - 1 : 0);
    *ret_rest = str_from(rest, at);
}

struct str url_proxy_password(struct str text)
{
    struct str scheme, user, rest;

    split_proxy(text, &scheme, &user, &rest);
    return str_from(user, str_chr(user, ':') + 1);
}

static bool is_proxy_scheme(struct str scheme)
{
    static const char *const known[] = {"http", "https", "socks4", "socks4a", "socks5", "socks5h"};

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_eq_nocase(scheme, str_of(known[i])))
            return true;
    }
    return false;
}

int url_check_proxy(struct str text, struct err *err)
{
    struct str scheme, user, rest;
    size_t host_len;
    int port;

    split_proxy(text, &scheme, &user, &rest);
    if (!is_proxy_scheme(scheme))
        return err_set(err, ERR_BAD_INPUT, "its scheme is none of http, https, socks4 and socks5");
    for (size_t i = 0; i < user.len; i++) {
        if ((unsigned char)user.ptr[i] <= ' ' || strchr("/?#@", user.ptr[i]))
            return err_set(err, ERR_BAD_INPUT,
                           "a space, '/', '?', '#' or '@' in its user name or password must be "
                           "written as %%20, %%2F, %%3F, %%23 or %%40");
    }
    rest = str_first(rest, str_chr(rest, '/'));
    host_len = rest.len && rest.ptr[0] == '[' ? str_chr(rest, ']') + 1 : str_chr(rest, ':');
    if (check_host(text, str_first(rest, host_len), /*err=*/NULL) < 0)
        return err_set(err, ERR_BAD_INPUT, "it names no host");
    rest = str_from(rest, host_len);
    if (rest.len && url_port_parse(str_from(rest, 1), &port, /*err=*/NULL) < 0)
        return err_set(err, ERR_BAD_INPUT, "its port is not a number from 1 to 65535");
    return 0;
}

int net_check_url(struct str url, struct err *err)
{
    struct url parsed;

    return url_parse(url, &parsed, err);
}
