/*
 * Lists of hosts as written in settings.
 *
 *   example.com      that name        *.example.com      names below it, at any depth
 *   *                any name         10.0.0.7, [::1]    that address
 *   example.com:8443 only that port
 *
 * Names are compared ignoring case, addresses by value in any spelling (127.1, 0x7f000001). A name
 * pattern never matches an address. Built by one thread, then immutable.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct err;
struct host_list;
struct sockaddr;

#define HOST_NAME_MAX_TEXT 254

/* A normalized host: lower case, no trailing dot, addresses in canonical form without brackets. */
struct host_name {
    char text[HOST_NAME_MAX_TEXT];
    bool is_address;
    bool is_ipv6;
};
/* ERR_BAD_INPUT if it is neither a name nor an address. */
int host_name_parse(struct str text, struct host_name *ret, struct err *err);
/* From an IPv4 or IPv6 address; false for other families. */
bool host_name_of(const struct sockaddr *address, struct host_name *ret);

/* Parses "host:port"; without a port *ret_port is unchanged. */
int host_port_parse(struct str text, struct host_name *ret_host, int *ret_port, struct err *err);

enum host_ports {
    HOST_WEB_PORTS, /* a pattern without a port means 80 and 443 */
    HOST_ALL_PORTS,
};
struct host_list *host_list_new(enum host_ports without);
void host_list_free(struct host_list *l); /* NULL is fine */

/* ERR_BAD_INPUT with the reason. At most 10,000 of them: ERR_TOO_BIG. */
int host_list_add(struct host_list *l, struct str pattern, struct err *err);
bool host_list_has(const struct host_list *l, const struct host_name *host, int port);
bool host_list_is_empty(const struct host_list *l);
