/*
 * Descriptors from one process to another, over a SOCK_SEQPACKET socket. Plain system calls only,
 * for use in the zygote and in wardens, too. Elsewhere only the proxy needs it (confine.h).
 */
#pragma once

#include <stddef.h>

#define PACKET_MAX_FDS 4

/* Never waits. -1: errno says why. */
int packet_send(int socket, const int *fds, size_t count);

/* Waits for a packet of exactly so many. They come in order, each with the lowest free number, and
 * stay open over exec. -1: errno says why, or is 0 when the other end is closed. */
int packet_receive(int socket, int *ret_fds, size_t count);
