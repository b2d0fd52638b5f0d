/*
 * Sockets that never block, plain or under TLS.
 */
#pragma once

#include <sys/types.h>

#include "base/str.h"

struct err;
struct ssl_st;

/* On a numeric address, v4 or v6; port 0 takes any free one. The descriptor, or -1. */
int socket_listen(const char *address, int port, int *ret_port, struct err *err);

/* Bytes moved, 0 when it would block, -1 when the connection is over. ssl is NULL on plain ones. */
ssize_t socket_read(int fd, struct ssl_st *ssl, char *out, size_t n);
ssize_t socket_write(int fd, struct ssl_st *ssl, struct str bytes);
