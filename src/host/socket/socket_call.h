/*
 * One request to another process's control socket (socket.h), and its answer.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

struct buf;
struct cancel;
struct err;

/* Sends {"type":"control_request",…,"request":request} and waits for its response. session: the one
 * it is for of that process; NULL: the first. ret gets the response object, or the call fails with
 * its error (ERR_DENIED). ERR_NOT_FOUND: no listener; ERR_TIMEOUT; ERR_PROTOCOL; ERR_CANCELLED. */
int socket_call(const char *path, const char *session, struct str request, int64_t timeout_ms,
                struct cancel *cancel, struct buf *ret, struct err *err);
