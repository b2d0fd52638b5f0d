/*
 * The parts of a URL that the network code looks at. The slices point into the URL.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct err;

struct url {
    bool tls;
    struct str host; /* as written: an IPv6 address keeps its brackets */
    int port;
};

/* http or https, a host, no credentials, no fragment; else ERR_BAD_INPUT. */
int url_parse(struct str text, struct url *ret, struct err *err);

/* A proxy as curl takes it: "host", "host:port", "http://name:password@host:port/" (also https and
 * socks). Else ERR_BAD_INPUT, whose text shows nothing of it. */
int url_check_proxy(struct str text, struct err *err);

/* The password in such a URL, also in one that is wrong; empty when there is none. */
struct str url_proxy_password(struct str text);

/* 1 to 65535, in digits; else ERR_BAD_INPUT. */
int url_port_parse(struct str text, int *ret, struct err *err);
