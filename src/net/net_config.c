/*
 * What all streams of a net have in common: options, the environment, and where this system keeps
 * its certificates. Made once, on the thread that calls net_new().
 */
#include <dirent.h>

#include "base/err.h"
#include "base/file.h"
#include "base/secret.h"
#include "net/net_stream.h"

static char *dup_or_null(const char *text)
{
    return text && *text ? mem_dup(text, strlen(text)) : NULL;
}

/* Empty means something here. */
static char *dup_or_none(const char *text)
{
    return text ? mem_dup(text, strlen(text)) : NULL;
}

/* "1f3fc17b.0": a certificate that OpenSSL finds by the hash of its subject. */
static bool is_hashed_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == 8 && strcmp(name + 8, ".0") == 0;
}

static bool has_hashed_names(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    bool found = false;

    if (!dir)
        return false;
    for (entry = readdir(dir); entry && !found; entry = readdir(dir))
        found = is_hashed_name(entry->d_name);
    closedir(dir);
    return found;
}

void net_config_find_certificates(struct net_config *c, const char *chosen)
{
    static const char system_dir[] = "/etc/ssl/certs";
    static const char *const system_files[] = {
        "/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
        "/etc/ssl/ca-bundle.pem",             /* openSUSE */
        "/etc/ssl/cert.pem",
    };

    c->ca_file = dup_or_null(chosen ? chosen : getenv("SSL_CERT_FILE"));
    c->ca_dir = dup_or_null(chosen ? NULL : getenv("SSL_CERT_DIR"));
    if (!c->ca_file && !c->ca_dir && has_hashed_names(system_dir))
        c->ca_dir = dup_or_null(system_dir);
    for (size_t i = 0; !c->ca_file && i < ARRAY_LEN(system_files); i++) {
        if (file_exists(system_files[i]))
            c->ca_file = dup_or_null(system_files[i]);
    }
}

/* curl's rule: lower case first; HTTP_PROXY does not count, because a CGI's client could set it. */
static const char *environment_proxy(bool tls)
{
    static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    const char *proxy = tls ? NULL : getenv("http_proxy");

    for (size_t i = tls ? 0 : 2; !(proxy && *proxy) && i < ARRAY_LEN(names); i++)
        proxy = getenv(names[i]);
    return proxy ? proxy : "";
}

/* It comes with the URL, so it may come with any text about it. */
static void hide_password(const char *proxy)
{
    secret_add(url_proxy_password(str_of(proxy)));
}

void net_config_init(struct net_config *c, const struct net_options *options)
{
    *c = (struct net_config){.http2 = options->http2};
    c->proxy = dup_or_none(options->proxy);
    c->plain_proxy = dup_or_none(options->plain_proxy ? options->plain_proxy : options->proxy);
    c->no_proxy = dup_or_null(options->no_proxy);
    hide_password(c->proxy ? c->proxy : environment_proxy(/*tls=*/true));
    hide_password(c->plain_proxy ? c->plain_proxy : environment_proxy(/*tls=*/false));
}

/* "*", or a list of hosts and domains, parted by commas or spaces. */
static bool is_exempt(struct str host, struct str list)
{
    struct str entry;

    if (str_is(str_trim(list), "*"))
        return true;
    while (list.len) {
        size_t len = 0;

        while (len < list.len && list.ptr[len] != ',' && list.ptr[len] != ' ')
            len++;
        entry = str_first(list, len);
        list = str_from(list, len + 1);
        if (entry.len && entry.ptr[0] == '.')
            entry = str_from(entry, 1);
        if (!entry.len || entry.len > host.len ||
            !str_eq_nocase(str_from(host, host.len - entry.len), entry))
            continue;
        if (entry.len == host.len || host.ptr[host.len - entry.len - 1] == '.')
            return true;
    }
    return false;
}

const char *net_config_proxy(const struct net_config *c, const struct url *url)
{
    const char *proxy = url->tls ? c->proxy : c->plain_proxy;
    const char *exempt = c->no_proxy ? c->no_proxy : getenv("no_proxy");
    struct str host = url->host;

    if (!proxy)
        proxy = environment_proxy(url->tls);
    if (!exempt)
        exempt = getenv("NO_PROXY");
    if (host.ptr[0] == '[')
        host = str_first(str_from(host, 1), host.len - 2);
    return is_exempt(host, str_of(exempt)) ? "" : proxy;
}

int net_config_check_proxy(const struct net_config *c, const struct url *url, struct err *err)
{
    const char *proxy = net_config_proxy(c, url);

    if (!*proxy || url_check_proxy(str_of(proxy), err) == 0)
        return 0;
    return err_prefix(err, "the URL of the proxy (see https_proxy, http_proxy and all_proxy)");
}

void net_config_release(struct net_config *c)
{
    mem_freep(&c->ca_file);
    mem_freep(&c->ca_dir);
    mem_freep(&c->proxy);
    mem_freep(&c->plain_proxy);
    mem_freep(&c->no_proxy);
}
