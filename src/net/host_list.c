/*
 * host_list: both sides of a comparison are brought into one spelling first, so that comparing is
 * strcmp(). Pure; any thread.
 */
#include "net/host_list.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "net/url.h"

#define HOST_LIST_MAX 10000

struct host_pattern {
    struct host_name name; /* of "*.example.com": "example.com"; of "*": empty */
    bool below;            /* names below it; of the empty name: all */
    int port;              /* 0: none was written */
};

struct host_list {
    enum host_ports without;
    VEC(struct host_pattern) patterns;
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_name_char(char c)
{
    return str_is_alnum(c) || c == '-' || c == '.' || c == '_';
}

static int host_is_bad(struct str text, struct err *err)
{
    return err_set(err, ERR_BAD_INPUT, "'%.*s' is not a host", STR_ARG(str_clip(text, 80)));
}

/* One of IPv4 in the clothes of IPv6 (::ffff:10.0.0.1) leads to the same host, and is spelt as
 * that.
 */
static bool host_set_ipv6(const struct in6_addr *v6, struct host_name *ret)
{
    *ret = (struct host_name){.is_address = true, .is_ipv6 = !IN6_IS_ADDR_V4MAPPED(v6)};
    if (!ret->is_ipv6)
        return inet_ntop(AF_INET, &v6->s6_addr[12], ret->text, sizeof(ret->text));
    return inet_ntop(AF_INET6, v6, ret->text, sizeof(ret->text));
}

static int host_parse_ipv6(struct str text, struct host_name *ret, struct err *err)
{
    char inner[INET6_ADDRSTRLEN];
    struct in6_addr v6;

    if (text.len < 4 || text.len - 2 >= sizeof(inner) || text.ptr[text.len - 1] != ']')
        return host_is_bad(text, err);
    memcpy(inner, text.ptr + 1, text.len - 2);
    inner[text.len - 2] = '\0';
    if (strlen(inner) != text.len - 2 || inet_pton(AF_INET6, inner, &v6) != 1)
        return host_is_bad(text, err);
    (void)host_set_ipv6(&v6, ret);
    return 0;
}

int host_name_parse(struct str text, struct host_name *ret, struct err *err)
{
    struct host_name host = {0};
    struct in_addr v4;

    if (text.len && text.ptr[0] == '[')
        return host_parse_ipv6(text, ret, err);
    if (text.len > 1 && text.ptr[text.len - 1] == '.')
        text.len--;
    if (!text.len || text.len >= sizeof(host.text) || text.ptr[0] == '.' ||
        text.ptr[text.len - 1] == '.')
        return host_is_bad(text, err);
    for (size_t i = 0; i < text.len; i++) {
        if (!is_name_char(text.ptr[i]) || (i && text.ptr[i] == '.' && text.ptr[i - 1] == '.'))
            return host_is_bad(text, err);
        host.text[i] = lower(text.ptr[i]);
    }
    /* Takes the old spellings too, as the connecting code would. */
    if (inet_aton(host.text, &v4)) {
        host.is_address = true;
        inet_ntop(AF_INET, &v4, host.text, sizeof(host.text));
    }
    *ret = host;
    return 0;
}

bool host_name_of(const struct sockaddr *address, struct host_name *ret)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

    *ret = (struct host_name){.is_address = true};
    if (address->sa_family == AF_INET)
        return inet_ntop(AF_INET, &v4->sin_addr, ret->text, sizeof(ret->text));
    return address->sa_family == AF_INET6 && host_set_ipv6(&v6->sin6_addr, ret);
}

/* Where the host ends: after the bracket, or at the colon. */
static size_t host_len(struct str text)
{
    if (text.len && text.ptr[0] == '[') {
        size_t end = str_chr(text, ']');

        return end < text.len ? end + 1 : end;
    }
    return str_chr(text, ':');
}

int host_port_parse(struct str text, struct host_name *ret_host, int *ret_port, struct err *err)
{
    struct str rest = str_from(text, host_len(text));
    int port = *ret_port;

    if (rest.len && rest.ptr[0] != ':')
        return host_is_bad(text, err);
    if (rest.len && url_port_parse(str_from(rest, 1), &port, err) < 0)
        return -1;
    if (host_name_parse(str_first(text, host_len(text)), ret_host, err) < 0)
        return -1;
    *ret_port = port;
    return 0;
}

struct host_list *host_list_new(enum host_ports without)
{
    struct host_list *l = mem_zalloc(sizeof(*l));

    l->without = without;
    return l;
}

void host_list_free(struct host_list *l)
{
    if (!l)
        return;
    vec_release(&l->patterns);
    mem_freep(&l);
}

int host_list_add(struct host_list *l, struct str pattern, struct err *err)
{
    struct host_pattern p = {0};
    struct str rest = str_trim(pattern);

    if (l->patterns.len >= HOST_LIST_MAX)
        return err_set(err, ERR_TOO_BIG, "there are more than %d hosts", HOST_LIST_MAX);
    if (str_has(rest, STR("://")))
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is a URL: only its host is wanted",
                       STR_ARG(str_clip(rest, 80)));
    p.below = rest.len && rest.ptr[0] == '*';
    if (p.below) {
        rest = str_from(rest, 1);
        if (rest.len && rest.ptr[0] == '.')
            rest = str_from(rest, 1);
        else if (rest.len && rest.ptr[0] != ':')
            return err_set(err, ERR_BAD_INPUT,
                           "'%.*s': a star stands alone, or as in *.example.com",
                           STR_ARG(str_clip(pattern, 80)));
    }
    if (p.below && (!rest.len || rest.ptr[0] == ':')) {
        if (rest.len && url_port_parse(str_from(rest, 1), &p.port, err) < 0)
            return -1;
    } else if (host_port_parse(rest, &p.name, &p.port, err) < 0) {
        return -1;
    }
    if (p.below && p.name.is_address)
        return err_set(err, ERR_BAD_INPUT, "'%.*s': there is nothing below an address",
                       STR_ARG(str_clip(pattern, 80)));
    vec_push(&l->patterns, p);
    return 0;
}

static bool pattern_names(const struct host_pattern *p, const struct host_name *host)
{
    size_t len = strlen(p->name.text);
    size_t host_text_len = strlen(host->text);

    if (!p->below)
        return p->name.is_address == host->is_address && strcmp(p->name.text, host->text) == 0;
    if (host->is_address)
        return false;
    if (!len)
        return true;
    return host_text_len > len + 1 && host->text[host_text_len - len - 1] == '.' &&
           strcmp(host->text + host_text_len - len, p->name.text) == 0;
}

static bool pattern_takes_port(const struct host_list *l, const struct host_pattern *p, int port)
{
    if (p->port)
        return p->port == port;
    return l->without == HOST_ALL_PORTS || port == 80 || port == 443;
}

bool host_list_has(const struct host_list *l, const struct host_name *host, int port)
{
    if (!l)
        return false;
    VEC_EACH(&l->patterns, p) {
        if (pattern_takes_port(l, p, port) && pattern_names(p, host))
            return true;
    }
    return false;
}

bool host_list_is_empty(const struct host_list *l)
{
    return !l || !l->patterns.len;
}
