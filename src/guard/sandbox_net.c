/*
 * sandbox_net: which hosts commands reach, and the proxies that see to it. Rules and answers of the
 * user may allow a job more hosts than the settings: then it has a proxy of its own. Any thread.
 */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "conf/conf.h"
#include "guard/sandbox_state.h"
#include "json/json.h"
#include "net/host_list.h"
#include "net/proxy.h"

/* ---- settings ---- */

static char *dup_or_empty(const char *text)
{
    return mem_dup(text ? text : "", text ? strlen(text) : 0);
}

/* Of rules some are no hosts. */
static void add_hosts(struct host_list *to, const struct strv *patterns)
{
    for (size_t i = 0; patterns && i < patterns->len; i++)
        (void)host_list_add(to, str_of(patterns->ptr[i]), /*err=*/NULL);
}

void sandbox_net_begin(const struct sandbox *s, struct proxy_spec *ret)
{
    *ret = (struct proxy_spec){
        .allowed = host_list_new(HOST_WEB_PORTS),
        .denied = host_list_new(HOST_ALL_PORTS),
        .upstream = s->upstream,
        .upstream_plain = s->upstream_plain,
        .no_proxy = s->no_proxy,
    };
    add_hosts(ret->denied, &s->denied_hosts);
}

static void read_hosts(const struct conf *conf, const char *key, enum host_ports ports,
                       bool only_managed, struct strv *ret_kept, struct strv *ret_warnings)
{
    struct host_list *list = host_list_new(ports);
    size_t i = 0;

    JSON_EACH(conf_get(conf, key), v) {
        CLEANUP(buf_release) struct buf where = BUF_INIT(200);
        struct err err = {0};

        buf_addf(&where, "%s.%zu", key, i++);
        if (only_managed && !conf_is_managed(conf, buf_cstr(&where))) {
            strv_addf(ret_warnings, "%.*s: this host is left out: only managed settings name hosts",
                      STR_ARG(conf_origin(conf, buf_cstr(&where))));
            continue;
        }
        if (host_list_add(list, json_str(v), &err) < 0)
            strv_addf(ret_warnings, "%s: a host is left out: %s", key, err.text);
        else
            strv_add(ret_kept, json_str(v));
    }
    host_list_free(list);
}

/* Names of this machine, which programs in the sandbox reach without the proxy: they mean
 * themselves. Allowed names mean the ones outside. */
static char *direct_hosts(const struct strv *hosts)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    CLEANUP(buf_release) struct buf list = BUF_INIT(200);

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str name = str_of(names[i]);
        bool is_outside = false;

        for (size_t k = 0; k < hosts->len; k++) {
            struct str host = str_of(hosts->ptr[k]);

            is_outside = is_outside || str_eq_nocase(host, name) ||
                         (str_eq_nocase(str_first(host, name.len), name) && host.len > name.len &&
                          host.ptr[name.len] == ':');
        }
        if (!is_outside)
            buf_addf(&list, "%s%s", list.len ? "," : "", i == 2 ? "::1" : names[i]);
    }
    return buf_take(&list);
}

void sandbox_net_read(struct sandbox *s, const struct sandbox_spec *spec, struct strv *ret_warnings)
{
    const struct conf *conf = spec->conf;
    struct proxy_spec proxy;

    s->upstream = dup_or_empty(spec->upstream);
    s->upstream_plain = dup_or_empty(spec->upstream_plain);
    s->no_proxy = dup_or_empty(spec->no_proxy);
    s->only_managed_hosts = conf_get_bool(conf, "sandbox.network.allowManagedDomainsOnly", false);
    read_hosts(conf, "sandbox.network.allowedDomains", HOST_WEB_PORTS, s->only_managed_hosts,
               &s->hosts, ret_warnings);
    read_hosts(conf, "sandbox.network.deniedDomains", HOST_ALL_PORTS, /*only_managed=*/false,
               &s->denied_hosts, ret_warnings);
    sandbox_net_begin(s, &proxy);
    add_hosts(proxy.allowed, &s->hosts);
    proxy.http_port = (int)conf_get_i64(conf, "sandbox.network.httpProxyPort", 0);
    proxy.socks_port = (int)conf_get_i64(conf, "sandbox.network.socksProxyPort", 0);
    s->unix_sockets = conf_get_bool(conf, "sandbox.network.allowAllUnixSockets", false);
    s->direct = direct_hosts(&s->hosts);
    s->own_http = proxy.http_port;
    s->own_socks = proxy.socks_port;
    s->net = CONFINE_NET_NONE;
    /* If there is a network at all, programs of a job may connect to each other. */
    if (s->hosts.len || s->own_http || s->own_socks ||
        conf_get_bool(conf, "sandbox.network.allowLocalBinding", false)) {
        s->net = CONFINE_NET_PROXY;
        s->proxy = proxy_new(&proxy);
        return;
    }
    host_list_free(proxy.allowed);
    host_list_free(proxy.denied);
}

void sandbox_net_release(struct sandbox *s)
{
    proxy_free(s->proxy);
    VEC_EACH(&s->nets, net) {
        mem_freep(&net->key);
        proxy_free(net->proxy);
    }
    vec_release(&s->nets);
    strv_release(&s->hosts);
    strv_release(&s->denied_hosts);
    mem_freep(&s->direct);
    mem_freep(&s->upstream);
    mem_freep(&s->upstream_plain);
    mem_freep(&s->no_proxy);
}

bool sandbox_has_network(const struct sandbox *s)
{
    return !s || s->net != CONFINE_NET_NONE;
}

bool sandbox_hosts_are_managed(const struct sandbox *s)
{
    return s && s->only_managed_hosts;
}

static bool lists_host(const struct strv *patterns, enum host_ports ports, struct str host)
{
    struct host_list *list = host_list_new(ports);
    struct host_name name;
    int port = 443;
    bool has;

    add_hosts(list, patterns);
    has =
        host_port_parse(host, &name, &port, /*err=*/NULL) == 0 && host_list_has(list, &name, port);
    host_list_free(list);
    return has;
}

enum sandbox_host sandbox_host(const struct sandbox *s, const struct strv *more, struct str host)
{
    if (lists_host(&s->denied_hosts, HOST_ALL_PORTS, host))
        return SANDBOX_HOST_DENIED;
    return lists_host(&s->hosts, HOST_WEB_PORTS, host) ||
                   (more && lists_host(more, HOST_WEB_PORTS, host))
               ? SANDBOX_HOST_ALLOWED
               : SANDBOX_HOST_UNKNOWN;
}

/* ---- one job ---- */

void sandbox_hosts_release(struct sandbox_hosts *h)
{
    strv_release(&h->allow);
    strv_release(&h->refuse);
    strv_release(&h->refused);
}

/* The proxy of the settings does, or the user's own proxies decide. */
static bool is_usual(const struct sandbox *s, const struct sandbox_hosts *h)
{
    return !h || s->own_http || s->own_socks ||
           (!h->allow.len && (s->proxy ? !h->refuse.len : !h->is_asked));
}

static void write_key(const struct sandbox_hosts *h, struct buf *ret)
{
    const struct strv *lists[] = {&h->allow, &h->refuse};

    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        for (size_t i = 0; i < lists[l]->len; i++)
            buf_addf(ret, "%s\n", lists[l]->ptr[i]);
        buf_addc(ret, '\n');
    }
}

struct proxy *sandbox_net_proxy(struct sandbox *s, const struct sandbox_hosts *h)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);
    struct proxy *found = NULL;
    struct proxy_spec spec;

    if (is_usual(s, h))
        return s->proxy;
    write_key(h, &key);
    lock_take(&s->lock);
    VEC_EACH(&s->nets, net) {
        if (strcmp(net->key, buf_cstr(&key)) == 0)
            found = net->proxy;
    }
    if (!found) {
        sandbox_net_begin(s, &spec);
        add_hosts(spec.denied, &h->refuse);
        add_hosts(spec.allowed, &s->hosts);
        add_hosts(spec.allowed, &h->allow);
        found = proxy_new(&spec);
        vec_push(&s->nets, ((struct sandbox_net){buf_take(&key), found}));
    }
    lock_give(&s->lock);
    return found;
}
