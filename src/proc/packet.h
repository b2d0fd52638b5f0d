/*
 * Passes descriptors between processes over a SOCK_SEQPACKET socket. Plain system calls only, also
 * for the zygote and wardens. Elsewhere only the proxy needs it (confine.h).
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

#define PACKET_MAX_FDS 4

/* Never waits. -1: see errno. */
int packet_send(int socket, const int *fds, size_t count);
int packet_send_with(int socket, struct str bytes, const int *fds, size_t count);

/* Waits for a packet with exactly `count` descriptors. They arrive in order, each with the lowest
 * free number, and stay open over exec. -1: see errno, which is 0 if the other end is closed. */
int packet_receive(int socket, int *ret_fds, size_t count);
/* The same for up to so many bytes and descriptors; returns the number of bytes, and in *count the
 * number of descriptors. */
ssize_t packet_receive_with(int socket, char *bytes, size_t size, int *ret_fds, size_t *count);
