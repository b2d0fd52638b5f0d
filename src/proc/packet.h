/*
 * Descriptors from one process to another, over a SOCK_SEQPACKET socket. Plain system calls only,
 * for use in the zygote and in wardens, too. Elsewhere only the proxy needs it (confine.h).
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

#define PACKET_MAX_FDS 4

/* Never waits. -1: errno says why. */
int packet_send(int socket, const int *fds, size_t count);
int packet_send_with(int socket, struct str bytes, const int *fds, size_t count);

/* Waits for a packet of exactly so many. They come in order, each with the lowest free number, and
 * stay open over exec. -1: errno says why, or is 0 when the other end is closed. */
int packet_receive(int socket, int *ret_fds, size_t count);
/* The same for one with up to so many bytes and descriptors; gives the bytes' length, and in *count
 * how many of them came. */
ssize_t packet_receive_with(int socket, char *bytes, size_t size, int *ret_fds, size_t *count);
