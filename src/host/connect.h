/*
 * Network options from settings and environment: proxies, certificates, HTTP/2.
 */
#pragma once

struct conf;
struct err;
struct net;
struct net_options;

/* The options; strings belong to conf. */
void connect_options(const struct conf *conf, struct net_options *ret);
/* Starts the network thread, with proxy and certificates from the environment, overridden by the
 * settings' env. NULL with the reason on failure. */
struct net *connect_net(const struct conf *conf, struct err *err);
