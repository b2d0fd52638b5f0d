/*
 * Parses the parts of a URL that the network code needs. The slices point into the URL.
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

/* http or https, with a host, without credentials and fragment; else ERR_BAD_INPUT. */
int url_parse(struct str text, struct url *ret, struct err *err);

/* Checks a proxy as curl accepts it: "host", "host:port", "http://name:password@host:port/" (also
 * https and socks). The text of ERR_BAD_INPUT has no part of it. */
int url_check_proxy(struct str text, struct err *err);

/* The password in such a URL, even if it is invalid; may be empty. */
struct str url_proxy_password(struct str text);

/* 1 to 65535, in digits; else ERR_BAD_INPUT. */
int url_port_parse(struct str text, int *ret, struct err *err);
