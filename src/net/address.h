/*
 * Distinguishes public addresses from those of this machine, the local network and the provider's
 * network.
 *
 * What counts is where a connection actually goes: a name may resolve to anything, and differently
 * each time. So the check is made on the socket address at connect time (net_request.public_only),
 * never on an earlier lookup.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct sockaddr;

/* False for loopback, private, link-local, shared (CGNAT), multicast, unspecified, reserved, unique
 * local and documentation addresses, and for IPv6 addresses that embed one of these (mapped,
 * 64:ff9b::, 6to4). Other families are not public. */
bool address_is_public(const struct sockaddr *address);

/* The same for an address as text; false for other text. */
bool address_text_is_public(const char *ip);

/* Checks a host as written in a URL: false for a literal private address in any spelling (127.1,
 * 0x7f000001, [::1]) and for names that always mean one: localhost, *.localhost, *.local,
 * *.internal. True says nothing about where another name resolves to. */
bool address_host_may_be_public(struct str host);
