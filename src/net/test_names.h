/*
 * For tests: names below TEST_NAMES lead to loopback, and no test asks a real name server. Include
 * it in one file of a program.
 */
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/str.h"

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **res)
{
    struct addrinfo *found;
    struct sockaddr_in *address;

    (void)hints;
    if (!node || !str_ends(str_of(node), STR(TEST_NAMES)))
        return EAI_NONAME;
    found = calloc(1, sizeof(*found) + sizeof(*address));
    address = (struct sockaddr_in *)(found + 1);
    address->sin_family = AF_INET;
    address->sin_port = htons((uint16_t)strtoul(service ? service : "0", NULL, 10));
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    found->ai_family = AF_INET;
    found->ai_socktype = SOCK_STREAM;
    found->ai_addrlen = sizeof(*address);
    found->ai_addr = (struct sockaddr *)address;
    *res = found;
    return 0;
}

void freeaddrinfo(struct addrinfo *res)
{
    free(res);
}
