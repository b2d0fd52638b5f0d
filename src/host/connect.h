/*
 * The network as settings and environment want it: proxies, certificates, HTTP/2.
 */
#pragma once

struct conf;
struct err;
struct net;

/* The network thread, with proxy and certificates from the environment and the settings' env over
 * it. NULL with the reason on failure. */
struct net *connect_net(const struct conf *conf, struct err *err);
