/*
 * Lists of hosts, as settings write them.
 *
 *   example.com         that name          *.example.com     names below it, at any depth
 *   *                   any name           10.0.0.7, [::1]   that address
 *   example.com:8443    at that port only
 *
 * Names are compared without regard to case, addresses by what they mean, however they are spelled
 * (127.1, 0x7f000001). A pattern of names never matches an address. Made by one thread, then
 * immutable.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct err;
struct host_list;
struct sockaddr;

#define HOST_NAME_MAX_TEXT 254

/* A host that can be compared: lower case, without the dot at the end, addresses in their usual
 * spelling and without brackets. */
struct host_name {
    char text[HOST_NAME_MAX_TEXT];
    bool is_address;
    bool is_ipv6;
};
/* ERR_BAD_INPUT if it is neither a name nor an address. */
int host_name_parse(struct str text, struct host_name *ret, struct err *err);
/* An address of the internet, v4 or v6; false for others. */
bool host_name_of(const struct sockaddr *address, struct host_name *ret);

/* "host:port"; the port is *ret_port already when there is none. */
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
