/*
 * control_request lines of a client, answered: one row per subtype (control.c).
 *
 * To add a subtype: one function, one row. What is not in the table is answered with
 * "Unsupported control request subtype: <s>" and the code unsupported_request.
 */
#pragma once

#include "base/str.h"

struct buf;
struct err;
struct json;
struct jw;
struct peer;
struct peer_session;

/* What a request can see and do; peer.c is behind it. */
struct control_call {
    struct peer_session *session;
    struct peer *peer;
    bool owner;
    const struct json *request; /* {"subtype",…} */
};

/* Appends the whole control_response line. */
void control_answer(struct control_call *call, struct str request_id, struct buf *out);
