/*
 * connect: reads network options from environment and settings. Any thread.
 */
#include "host/connect.h"

#include "conf/conf.h"
#include "net/net.h"

/* The first of these variables that is set and not empty, or NULL. */
static const char *connect_first_env(const struct conf *conf, const char *const *names)
{
    for (; *names; names++) {
        const char *value = conf_env(conf, *names);

        if (value && *value)
            return value;
    }
    return NULL;
}

void connect_options(const struct conf *conf, struct net_options *ret)
{
    /* HTTP_PROXY in upper case is ignored: a web server sets it from a request header. */
    static const char *const plain[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
    static const char *const tls[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", NULL};
    static const char *const none[] = {"no_proxy", "NO_PROXY", NULL};
    static const char *const cert[] = {"SSL_CERT_FILE", NULL};
    const char *proxy = connect_first_env(conf, tls);
    const char *plain_proxy = connect_first_env(conf, plain);

    *ret = (struct net_options){
        .proxy = proxy ? proxy : "",
        .plain_proxy = plain_proxy ? plain_proxy : "",
        .no_proxy = connect_first_env(conf, none),
        .ca_file = connect_first_env(conf, cert),
        .http2 = conf_get_bool(conf, "http2", false),
    };
}

struct net *connect_net(const struct conf *conf, struct err *err)
{
    struct net_options options;

    connect_options(conf, &options);
    return net_new(&options, err);
}
