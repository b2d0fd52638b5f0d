/*
 * Distinguishes public addresses from those of this machine, its neighbourhood and its provider's
 * network.
 *
 * What counts is where a connection really goes: a name may resolve to anything, and differently
 * each time it is asked for. So the check is made on the socket address at the moment of connecting
 * (net_request.public_only), never on a lookup of our own before.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct sockaddr;

/* Not: loopback, private, link-local, shared (CGNAT), multicast, unspecified, reserved, unique
 * local, documentation; nor an IPv6 address that stands for such an IPv4 one (mapped, 64:ff9b::,
 * 6to4). Other families are not public. */
bool address_is_public(const struct sockaddr *address);

/* The same for an address as text; false for other text. */
bool address_text_is_public(const char *ip);

/* A host as a URL writes it: false for the literal address of a private place, in any spelling
 * (127.1, 0x7f000001, [::1]), and for names that only ever mean one: localhost, *.localhost,
 * *.local, *.internal. True says nothing about where another name leads. */
bool address_host_may_be_public(struct str host);
